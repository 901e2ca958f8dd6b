"""The options that decide what a session is and which shape its records have."""

# No annotation is a string here, since the declarations read the types of the fields.
from dataclasses import dataclass
from functools import partial
from typing import Literal

from chatsquash.core.option_declarations import Conflict, Need, none_of, one_of, option

OnInvalid = Literal["skip", "keep", "abort"]
Reasoning = Literal["keep", "inline", "drop"]
Keep = Literal["none", "logprobs"]
Preset = Literal["chat", "hf", "mistral", "openai", "sharegpt", "text"]
SessionsBy = Literal["file", "id", "chain"]
ToolIds = Literal["keep", "short9"]
System = Literal["keep", "drop"]
BridgeResults = Literal["keep", "join"]
Enums = Literal["keep", "text"]
Tools = Literal["first", "last", "used"]
Unpaired = Literal["refuse", "cut", "close"]
Media = Literal["text", "drop", "refuse", "keep"]
_shape = partial(option, group="shape")
_supplied = partial(option, group="supplied", metavar="FILE", content=True)


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class ShapeOptions:
    """What a session is, and the shape of its records."""

    cleanup_goose: bool = option(
        True,
        "Remove the texts that Goose itself adds to a conversation: its info messages, its system prompt, "
        "empty replies and title requests.",
        group="cleaning",
    )
    cleanup: tuple[str, ...] = option(
        (),
        "Also remove the texts that this agent writes in the user's name, as in claude-code. For several "
        "agents, give it once each.",
        group="cleaning",
        choices_of=("chatsquash.session.cleaning",),
        metavar="AGENT",
    )
    on_invalid: OnInvalid = option(
        "skip",
        "A session whose clock goes back or whose id changes: skip leaves it out, keep converts it (with two "
        "ids only under --sessions-by file), abort ends the run.",
        group="sessions",
        conflicts=(
            Conflict(
                "strict", one_of(True), "`--on-invalid abort` with `--strict`, which stops for more", only="abort"
            ),
        ),
    )
    keep_cut: bool = option(
        False,
        "Let presets write sessions whose texts the logger cut off. chat always writes them.",
        group="sessions",
    )
    json_tool_calls: bool = option(
        False,
        "Write tool calls into the text, as <tool_call> elements.",
        group="sessions",
        short="-j/-J",
        conflicts=(
            Conflict(
                "preset",
                none_of("chat"),
                "`--json-tool-calls` with a `--preset` other than `chat`; `text` writes calls as text",
            ),
        ),
    )
    reasoning: Reasoning = option(
        "keep",
        "keep leaves reasoning in a member of its own, inline writes it into the text as <think>, drop removes it.",
        group="sessions",
    )
    preset: Preset = _shape(
        "chat",
        "The shape of the records. chat is the one that this project specifies; each other one suits a family"
        " of trainers.",
    )
    system: System = _shape("keep", "keep writes system messages, drop leaves them out.")
    tools: Tools = _shape(
        "first",
        "Of several definitions of one tool keep the first or the last; used keeps the first, and only of "
        "tools that the record calls.",
    )
    merge_consecutive: bool = _shape(False, "Join messages of one role that follow each other.")
    split_parallel: bool = _shape(False, "Give each of several calls in a message a message of its own.")
    split_text_and_calls: bool = _shape(
        False,
        "Give the text that stands beside calls a message of its own.",
        conflicts=(
            Conflict(
                "preset",
                one_of("sharegpt"),
                "`--split-text-and-calls` with `--preset sharegpt`, which joins messages in a row",
            ),
            Conflict(
                "preset",
                one_of("mistral"),
                "`--split-text-and-calls` with `--preset mistral`, which has no place for text beside calls",
            ),
            Conflict(
                "drop_text_beside_calls",
                one_of(True),
                "`--split-text-and-calls` with `--drop-text-beside-calls`, which leaves nothing to split",
            ),
        ),
    )
    drop_text_beside_calls: bool = _shape(
        False,
        "Leave out the text that stands beside calls.",
        conflicts=(
            Conflict(
                "preset",
                one_of("mistral"),
                "`--drop-text-beside-calls` with `--preset mistral`, which has no place for text beside calls",
            ),
        ),
    )
    bridge_results: BridgeResults = _shape(
        "keep",
        "Where the user speaks right after a tool result: keep writes a user message, join adds the text to "
        "the result.",
    )
    mark_failed_results: bool = _shape(
        False, "Begin the text of each tool result that the log marks as an error with 'ERROR: '."
    )
    enums: Enums = _shape(
        "keep", "keep leaves the values of enum in tool definitions as logged, text writes each as a string."
    )
    tool_ids: ToolIds = _shape(
        "keep",
        "keep leaves the ids of tool calls as logged, short9 replaces them with nine letters and digits.",
        conflicts=(
            Conflict(
                "preset",
                one_of("mistral", "sharegpt", "text"),
                "`--tool-ids short9` with `--preset mistral`, which has such ids, and `sharegpt` and `text`, which "
                "have none",
            ),
        ),
    )
    media: Media = _shape(
        "text",
        "Images, sounds and files: text puts a placeholder such as [image] in the text, drop writes the record without "
        "them, refuse leaves it out, keep writes images beside it (with --preset hf).",
        needs=(Need("preset", one_of("chat"), "hf", "`--media` without a `--preset`; `chat` keeps media as they are"),),
        conflicts=(
            Conflict(
                "preset",
                none_of("chat", "hf"),
                "`--media keep` with a `--preset` other than `hf`; the others have texts only",
                only="keep",
            ),
        ),
    )
    keep: Keep = _shape(
        "none", "logprobs writes what responses say of their tokens as a member of the messages (with --preset hf)."
    )
    unpaired: Unpaired = _shape(
        "refuse",
        "A call without a result: refuse leaves the record out, cut ends it before that call, close adds a result.",
        needs=(
            Need("preset", one_of("chat"), "hf", "`--unpaired` without a `--preset`; `chat` keeps calls as they are"),
        ),
    )
    unpaired_text: str | None = _shape(
        None,
        "The text of the result that --unpaired close adds.",
        metavar="TEXT",
        usually="[no result]",
        needs=(Need("unpaired", none_of("close"), "close", "`--unpaired-text` without `--unpaired close`"),),
    )
    """``None``: ``NO_RESULT`` of ``records.presets``."""
    tools_file: bytes | None = _supplied(
        None,
        "Tool definitions for logs that have none, as inspect --definitions prints them; agent: those that open-source "
        "agents send by default.",
    )
    """What the file holds, as in ``stages.supplied``."""
    system_file: bytes | None = _supplied(
        None,
        "A system prompt for logs that have none, as inspect --definitions prints it.",
        conflicts=(Conflict("system", one_of("drop"), "`--system-file` with `--system drop`"),),
    )
    """What the file holds."""
    from_format: str | None = option(
        None,
        "Read all logs as this format.",
        group="reading",
        choices_of=("chatsquash.formats", "chatsquash.formats.documents"),
        metavar="FORMAT",
        named="--from",
        usually="told by each log",
    )
    sessions_by: SessionsBy | None = option(
        None,
        "A session is all of a file; or the lines with one id; or a chain of requests that continue each "
        "other, in whatever files.",
        group="reading",
        usually="file; id for logs known to mix sessions",
    )

    @property
    def cleanups(self) -> tuple[str, ...]:
        """The sets of cleaning rules that are applied."""
        first = ("goose",) if self.cleanup_goose else ()
        return tuple(dict.fromkeys((*first, *self.cleanup)))

    @property
    def merges(self) -> bool:
        """Whether a file is one session also where it has several session ids, since the user said both."""
        return self.on_invalid == "keep" and self.sessions_by == "file"
