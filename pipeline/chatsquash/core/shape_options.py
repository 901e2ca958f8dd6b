"""The options that determine how logs are divided into sessions, and the shape of records."""

# No ``from __future__ import annotations``: the declarations need the types of the fields at run time.
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
    """Options for how logs are divided into sessions and for the shape of records."""

    cleanup_goose: bool = option(
        True,
        "Remove the text that Goose adds to conversations: info messages, its system prompt, empty "
        "replies and title requests.",
        group="cleaning",
    )
    cleanup: tuple[str, ...] = option(
        (),
        "Also remove the text that this agent writes as the user, such as reminders. Can be repeated.",
        group="cleaning",
        choices_of=("chatsquash.session.cleaning",),
        metavar="AGENT",
    )
    on_invalid: OnInvalid | None = option(
        None,
        "What to do with a session whose timestamps go backwards or whose session id changes: skip it, "
        "keep it (two ids also require --sessions-by file), or abort the run.",
        group="sessions",
        usually="skip",
        conflicts=(Conflict("strict", one_of(True), only="abort"),),
    )
    keep_cut: bool = option(
        False,
        "Write sessions even if the logger truncated their text. The chat preset always does.",
        group="sessions",
    )
    json_tool_calls: bool = option(
        False,
        "Inline tool calls into the text as <tool_call> elements.",
        group="sessions",
        short="-j/-J",
        conflicts=(Conflict("preset", none_of("chat")),),
    )
    reasoning: Reasoning = option(
        "keep",
        "Keep reasoning in a separate member, inline it into the text as <think>, or drop it.",
        group="sessions",
    )
    preset: Preset = _shape(
        "chat",
        "Shape of the records. chat is the default; each other preset suits a family of trainers. openai is for "
        "Together, Fireworks and Azure; OpenAI itself ends fine-tuning in January 2027.",
        choices_of=("chatsquash.records.presets",),
    )
    system: System = _shape("keep", "Keep or drop system messages.")
    tools: Tools = _shape(
        "first",
        "If a tool is defined more than once, keep the first or the last definition; used keeps the first "
        "and drops tools that the record never calls.",
    )
    merge_consecutive: bool = _shape(False, "Merge consecutive messages of the same role.")
    split_parallel: bool = _shape(False, "Write parallel tool calls as separate messages.")
    split_text_and_calls: bool = _shape(
        False,
        "Write text next to tool calls as a separate message.",
        conflicts=(
            Conflict("preset", one_of("sharegpt")),
            Conflict("preset", one_of("mistral")),
            Conflict("drop_text_beside_calls", one_of(True)),
        ),
    )
    drop_text_beside_calls: bool = _shape(
        False,
        "Drop text next to tool calls.",
        conflicts=(Conflict("preset", one_of("mistral")),),
    )
    bridge_results: BridgeResults = _shape(
        "keep",
        "A user message right after a tool result: keep it, or join it to the result.",
    )
    mark_failed_results: bool = _shape(False, "Prefix failed tool results with 'ERROR: '.")
    enums: Enums = _shape("keep", "Keep the enum values of tool definitions as logged, or write each as text.")
    tool_ids: ToolIds = _shape(
        "keep",
        "Keep the ids of tool calls as logged, or replace them with nine alphanumeric characters (short9).",
        conflicts=(Conflict("preset", one_of("mistral", "sharegpt", "text")),),
    )
    media: Media = _shape(
        "text",
        "Images, audio and files: write a placeholder such as [image] (text), drop them, exclude the "
        "record, or keep images next to it (with --preset hf).",
        needs=(Need("preset", one_of("chat"), "hf"),),
        conflicts=(Conflict("preset", none_of("chat", "hf"), only="keep"),),
    )
    keep: Keep = _shape(
        "none", "Write log probabilities of tokens into messages if they were logged (with --preset hf)."
    )
    unpaired: Unpaired = _shape(
        "refuse",
        "Tool calls without a result: exclude the record, cut it before the call, or close the call with a result.",
        needs=(Need("preset", one_of("chat"), "hf"),),
    )
    unpaired_text: str | None = _shape(
        None,
        "Text of the result that --unpaired close adds.",
        metavar="TEXT",
        usually="[no result]",
        needs=(Need("unpaired", none_of("close"), "close"),),
    )
    """``None`` uses ``NO_RESULT`` of ``records.presets``."""
    tools_file: bytes | None = _supplied(
        None,
        "Tool definitions for logs without any, in the form that inspect --definitions prints; agent: "
        "those that open-source agents send by default.",
    )
    """The content of the file (see ``stages.supplied``)."""
    system_file: bytes | None = _supplied(
        None,
        "A system prompt for logs without one, in the form that inspect --definitions prints.",
        conflicts=(Conflict("system", one_of("drop")),),
    )
    """The content of the file."""
    from_format: str | None = option(
        None,
        "Read all logs in this format instead of detecting it.",
        group="reading",
        choices_of=("chatsquash.formats", "chatsquash.formats.documents"),
        metavar="FORMAT",
        flag_name="--from",
        usually="detected",
    )
    sessions_by: SessionsBy | None = option(
        None,
        "How lines are grouped into sessions: by file, by session id, or by chains of requests that "
        "build on each other, across files.",
        group="reading",
        usually="file; id for files and formats that mix sessions",
    )

    @property
    def cleanups(self) -> tuple[str, ...]:
        """The sets of cleaning rules to apply."""
        first = ("goose",) if self.cleanup_goose else ()
        return tuple(dict.fromkeys((*first, *self.cleanup)))

    @property
    def splits_mixed(self) -> bool:
        """Whether a file that clearly mixes sessions is grouped by id, because no option decides otherwise."""
        return self.sessions_by is None and self.on_invalid is None

    @property
    def merges(self) -> bool:
        """Whether a file is one session even if it has several session ids, because the options request it."""
        return self.on_invalid == "keep" and self.sessions_by == "file"
