"""The options that determine how logs are divided into sessions, how sessions become records, and their shape."""

# No ``from __future__ import annotations``: the declarations need the types of the fields at run time.
import re
from dataclasses import dataclass
from functools import partial
from typing import Literal

from chatsquash.core.accounting import STEP_FACTS
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
Conversations = Literal["last", "main", "all"]
Restore = Literal["none", "reasoning", "results", "all"]
Loss = Literal["none", "weight", "training", "loss", "trainable"]
Samples = Literal["session", "reply", "first", "last", "auto", "tokens", "forest"]
TooLong = Literal["drop", "cut", "front"]
Pairs = Literal["none", "logged", "counterfactual"]
SampleShape = Literal["prompt-completion", "messages", "kto", "prompt"]
KINDS = ("secrets", "kingfisher", "phones", "ips", "paths", "names")
"""The kinds of private values that can be replaced, in addition to e-mail addresses."""
_USUAL_FLAGS: dict[str, Loss] = {
    "chat": "weight",
    "hf": "training",
    "mistral": "weight",
    "openai": "weight",
    "text": "weight",
}
"""The default flags of samples in which only the last reply is trained on; sharegpt does not support flags."""

_shape = partial(option, group="shape")
_supplied = partial(option, group="supplied", metavar="FILE", content=True)
_session = partial(option, group="sessions")
_sample = partial(option, group="sampling")
_privacy = partial(option, group="privacy")


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class RecordOptions:
    """Options for sessions, their records and the shape of these, for private values, and for checks."""

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
    join: bool = option(
        False,
        "Combine a gateway's log with the agent's own session file, and write the main conversation.",
        group="sessions",
    )
    conversations: Conversations | None = option(
        None,
        "Which conversations of a session to write: the last one (with the longest request), the "
        "user's main one, or all.",
        group="sessions",
        usually="last; all for agents' files",
    )
    """``None`` writes the last conversation of a log and all conversations of an agent's file."""
    subagents: bool = option(
        True,
        "With --conversations all: also write the conversations of sub-agents.",
        group="sessions",
        needs=(Need("conversations", none_of("all"), "all"),),
    )
    side: bool = option(
        True,
        "With --conversations all: also write the client's own requests, such as titles.",
        group="sessions",
        needs=(Need("conversations", none_of("all"), "all"),),
    )
    restore: Restore = option(
        "none",
        "Restore what the client removed from the history if the log still has it: reasoning, results, or all.",
        group="sessions",
        conflicts=(
            Conflict("reasoning", one_of("drop"), only="reasoning"),
            Conflict("reasoning", one_of("drop"), only="all"),
            Conflict("preset", one_of("openai", "mistral"), only="reasoning"),
            Conflict("preset", one_of("openai", "mistral"), only="all"),
        ),
    )
    loss: Loss = _session(
        "none",
        "Add a member with this name to each assistant message (trainable: to every message), stating whether to train "
        "on it.",
    )
    restored_loss: int = _session(
        0,
        "With 1, also train on replies whose requests did not contain the restored parts.",
        least=0,
        most=1,
        why_most="which means yes",
        needs=(Need("loss", one_of("none"), "weight"),),
        conflicts=(Conflict("samples", none_of("session")),),
    )
    loss_model: tuple[str, ...] = _session(
        (),
        "Only train on replies from a matching model. Other replies remain as context.",
        metavar="GLOB",
        needs=(Need("loss", one_of("none"), "weight"),),
    )
    loss_skip: str | None = _session(
        None,
        f"Do not train on replies with these facts: {', '.join(STEP_FACTS)}.",
        metavar="KIND,...",
        needs=(Need("loss", one_of("none"), "weight"),),
    )
    loss_skip_failed: bool = _session(
        False,
        "Same as --loss-skip failed_call: do not train on failed calls that the model then corrected.",
        needs=(Need("loss", one_of("none"), "weight"),),
    )
    loss_skip_side: bool = _session(
        False,
        "Do not train on the client's own requests, such as titles.",
        needs=(Need("loss", one_of("none"), "weight"),),
    )
    loss_labels: bytes | None = _session(
        None,
        "Do not train on replies that this JSONL or Parquet file labels as bad. Rows have a reply id and a weight or "
        "label.",
        metavar="FILE",
        content=True,
        needs=(Need("loss", one_of("none"), "weight"),),
    )
    """The content that ``session.label_files.pack`` reads."""
    samples: Samples = _sample(
        "session",
        "Content of a sample: a conversation (session), a reply with the context that the model was sent "
        "(reply), only the first or last such reply of each conversation (first, last), as few samples as "
        "--template allows without changing that context (auto), the logged token ids (tokens), or replies as "
        "rows that share their context, which flatten returns (forest).",
    )
    sample_shape: SampleShape | None = _sample(
        None,
        "How samples of a reply mark what to train on: as prompt and completion, with a member in each message, as "
        "completions with a label for KTO, or as prompts with the outcome for reinforcement learning.",
        usually="by preset",
        needs=(Need("samples", one_of("session"), "reply"),),
    )
    pairs: Pairs = _sample(
        "none",
        "Also write preference pairs of replies to the same request: those in the logs, or also failed calls "
        "with their corrections (counterfactual).",
    )
    template: bytes | None = _sample(
        None,
        "The model's chat template: a file, the model's folder, or its name if it is in the local Hugging Face cache. "
        "--samples auto requires it, --samples tokens is compared with it, and --tokenizer counts the text that it "
        "renders.",
        metavar="MODEL",
        content=True,
        needs=(Need("samples", none_of("auto", "tokens"), "auto"),),
    )
    """The content that ``templates.source.pack`` reads."""
    tokenizer: bytes | None = _sample(
        None,
        "Count tokens with a tokenizer.json: the file, a model's folder, or the name of a model in the local Hugging "
        "Face cache.",
        metavar="MODEL",
        content=True,
    )
    """The content that ``templates.counting.pack`` reads."""
    max_tokens: int | None = _sample(None, "Only write records with at most N tokens.", least=1)
    too_long: TooLong = _sample(
        "drop",
        "Records above --max-tokens: drop them, remove exchanges from their end (cut), or remove those that follow the "
        "system prompt of a sample (front).",
        needs=(Need("max_tokens", one_of(None), "8192"),),
    )
    anonymize: bool = option(True, "Replace e-mail addresses with pseudonyms.", group="addresses")
    anonymize_key: bytes | None = option(
        None,
        "File with the key of the pseudonyms.",
        group="addresses",
        metavar="FILE",
        flag_name="--anonymize-key-file",
        usually="created on first use",
        secret=True,
        conflicts=(Conflict("anonymize", one_of(False)),),
    )
    """The key itself; ``None`` uses the key file (see ``redaction.pseudonyms``)."""
    redact: str | None = _privacy(
        None,
        "Replace with placeholders: secrets (or secrets+kingfisher, with a second scanner), phones, ips, "
        "paths, names:FILE, emails; or none.",
        metavar="KINDS",
        usually="emails",
    )
    redact_names: bytes | None = _privacy(
        None, "File with names, as in --redact names:FILE.", metavar="FILE", content=True
    )
    redact_rules: bytes | None = _privacy(
        None, "Your own rules for detecting secrets, as TOML.", metavar="FILE", content=True
    )
    redact_pattern: tuple[str, ...] = _privacy(
        (), "Also replace matches of this regular expression.", metavar="NAME=REGEX"
    )
    redact_known: bytes | None = _privacy(
        None,
        "Also replace the values in this file, or values whose hashes it lists, wherever they occur.",
        metavar="FILE",
        content=True,
    )
    allow: bytes | None = _privacy(
        None,
        "Never replace the values in this file. A line is a value, re:PATTERN or sha256:HASH.",
        metavar="FILE",
        content=True,
    )
    deny: bytes | None = _privacy(
        None,
        "Always replace the values in this file. Lines have the same format as for --allow.",
        metavar="FILE",
        content=True,
    )
    phone_region: str | None = _privacy(
        None,
        "Country assumed for phone numbers without a country code, for example DE.",
        metavar="REGION",
        needs=(Need("redact", lambda kinds: "phones" not in (kinds or "").split(","), "phones"),),
    )
    write_known: str | None = _privacy(
        None, "Write the hashes of detected secrets to this file, for --redact-known.", metavar="FILE"
    )
    integrity_analysis: bool = option(True, "Check the records.", group="checks")
    check_arguments: bool = option(
        False,
        "Check the arguments of tool calls against the tool definitions.",
        group="checks",
        conflicts=(Conflict("integrity_analysis", one_of(False)),),
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

    @property
    def skipped_facts(self) -> frozenset[str]:
        """The facts of the replies that are not trained on."""
        kinds = {kind.strip() for kind in (self.loss_skip or "").split(",")} - {""}
        return frozenset(kinds | {"failed_call"} if self.loss_skip_failed else kinds)

    @property
    def shape(self) -> SampleShape:
        """The effective value of ``--sample-shape``."""
        return self.sample_shape or ("prompt-completion" if self.preset == "hf" else "messages")

    @property
    def sample_columns(self) -> SampleShape:
        """The shape that determines the columns of records; ``messages`` if they are not samples of messages."""
        return "messages" if self.samples in ("session", "tokens") else self.shape

    @property
    def redacts(self) -> tuple[str, ...]:
        """The kinds of values that placeholders replace, except e-mail addresses, in order."""
        kinds = {part.strip().partition(":")[0] for part in re.split("[,+]", self.redact or "")}
        kinds |= {"names"} if self.redact_names is not None else set()
        return tuple(kind for kind in KINDS if kind in kinds)

    @property
    def replaces(self) -> bool:
        """Whether any values other than e-mail addresses are replaced."""
        return bool(self.redacts or self.redact_pattern or self.deny or self.redact_known)

    @property
    def has_key(self) -> bool:
        """Whether any values are replaced, for which a key is required."""
        return self.anonymize or self.replaces

    @property
    def flag(self) -> Loss:
        """The member that marks the messages to train on; ``none`` if records have no such member."""
        if self.samples == "session" or self.loss != "none":
            return self.loss
        return _USUAL_FLAGS.get(self.preset, "none") if self.shape == "messages" else "none"

    @property
    def cuts(self) -> bool:
        """Whether a record may end before its conversation does."""
        return self.unpaired == "cut" or (self.max_tokens is not None and self.too_long != "drop")

    @property
    def divides(self) -> bool:
        """Whether a session may become several records."""
        return self.conversations in ("main", "all") or self.samples != "session"

    @property
    def writes_last(self) -> bool:
        """Whether the record of a log is made from the last of its longest requests."""
        return self.conversations in (None, "last")
