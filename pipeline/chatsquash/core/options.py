"""Every option of a conversion, declared once.

The command, its help and variables, the checks of values, ``run.json``, what a rerun may reuse and the docs are derived
from the declarations.  An option is added by a field of ``Options`` alone; its rules that need more than its own value
stand in ``option_rules``.
"""

import re
from dataclasses import dataclass, field, fields
from functools import cache, partial
from importlib import import_module
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin

OnInvalid = Literal["skip", "keep", "abort"]
Reasoning = Literal["keep", "inline", "drop"]
Conversations = Literal["last", "main", "all"]
Restore = Literal["none", "reasoning", "results", "all"]
Loss = Literal["none", "weight", "training", "loss"]
Samples = Literal["session", "reply", "auto"]
TooLong = Literal["drop", "cut"]
Keep = Literal["none", "logprobs"]
Pairs = Literal["none", "logged", "counterfactual"]
SampleShape = Literal["prompt-completion", "messages"]
SessionsBy = Literal["file", "id", "chain"]
GroupBy = Literal["date", "scenario", "none"]
Packing = Literal["jsonl", "jsonl.gz", "jsonl.zst", "parquet"]
SplitBy = Literal["prompt", "session", "scenario", "day", "cluster"]
Duplicates = Literal["keep", "exact", "ids", "prefix", "near"]
ToolIds = Literal["keep", "short9"]
System = Literal["keep", "drop"]
BridgeResults = Literal["keep", "join"]
Enums = Literal["keep", "text"]
Tools = Literal["first", "last", "used"]
Unpaired = Literal["refuse", "cut", "close"]
Media = Literal["refuse", "drop", "keep"]
KINDS = ("secrets", "kingfisher", "phones", "ips", "paths", "names")
"""What may be replaced beside e-mail addresses."""
ERRORS = "errors"
"""What stands among codes of findings for every finding that is an error."""
_USUAL_FLAGS: dict[str, Loss] = {
    "chat": "weight",
    "hf": "training",
    "mistral": "weight",
    "openai": "weight",
    "text": "weight",
}
"""The flags of samples in which the last reply is trained on, where no others are asked for; sharegpt has no place."""
FLAGGED = ("context limit was reached",)
"""Phrases that are reported unless others are named."""

Decides = Literal["records", "output", "nothing"]
"""What an option decides: what becomes of a session; which sessions are taken and what is written of them; no byte."""


class Declared(NamedTuple):
    """What is known of an option."""

    name: str
    """The field of ``Options``."""
    kind: Any
    """Its type, without ``None``."""
    default: Any
    """``None`` for an option that may be left open; it is then no wrong value."""
    help: str
    group: str
    """Options of a group stand together in ``--help``, in the order of their fields."""
    decides: Decides
    choices_of: tuple[str, ...] = ()
    """Modules whose ``names()`` are the choices; they are imported when the choices are first asked for."""
    least: int | None = None
    most: int | None = None
    why_most: str = ""
    metavar: str | None = None
    """What ``--help`` shows for the value; the command does not look at the choices of an option that has one."""
    named: str = ""
    """The option on the command line, where it is not called as the field."""
    short: str = ""
    """Its short forms."""
    usually: str = ""
    """What ``--help`` shows as default where that is no value; the command then leaves the option open."""
    content: bool = False
    """Whether its value is what a file holds, which the command is given the name of."""
    on_card: bool = True
    """Whether the dataset card names it."""
    secret: bool = False

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return self.named or f"--{self.name.replace('_', '-')}"

    @property
    def has_choices(self) -> bool:
        """Whether its values are counted, for which no module is imported."""
        return bool(self.choices_of) or get_origin(self.kind) is Literal

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that it may have; empty for one whose values are not counted."""
        if get_origin(self.kind) is Literal:
            return get_args(self.kind)
        return tuple(name for module in self.choices_of for name in import_module(module).names())


def option(default: Any, text: str, *, group: str, decides: Decides = "records", **more: Any) -> Any:
    """A field with its declaration; ``more`` are other members of ``Declared``."""
    metadata = {"help": text, "group": group, "decides": decides, **more}
    return field(default=default, repr=not {"secret", "content"} & more.keys(), metadata=metadata)


_session = partial(option, group="sessions")
_shape = partial(option, group="shape")
_supplied = partial(option, group="supplied", metavar="FILE", content=True)
_sample = partial(option, group="sampling")
_privacy = partial(option, group="privacy")
_dataset = partial(option, group="dataset")
_filter = partial(option, group="filters")
_bound = partial(option, group="bounds", least=1)
_report = partial(option, group="reports", decides="output", on_card=False)
_path = partial(option, group="paths", decides="output", on_card=False, metavar="GLOB")
_day = partial(option, group="days", decides="output")
_run = partial(option, group="run", decides="nothing")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Options:
    """What the user asked of a conversion; the defaults are the command's. ``run.json`` has them in this order."""

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
        choices_of=("chatsquash.session.cleaning._sets",),
        metavar="AGENT",
    )
    on_invalid: OnInvalid = option(
        "skip",
        "A session whose clock goes back or whose id changes: skip leaves it out, keep converts it (with two "
        "ids only under --sessions-by file), abort ends the run.",
        group="sessions",
    )
    keep_cut: bool = option(
        False,
        "Let presets write sessions whose texts the logger cut off. chat always writes them.",
        group="sessions",
    )
    json_tool_calls: bool = option(
        False, "Write tool calls into the text, as <tool_call> elements.", group="sessions", short="-j/-J"
    )
    reasoning: Reasoning = option(
        "keep",
        "keep leaves reasoning in a member of its own, inline writes it into the text as <think>, drop removes it.",
        group="sessions",
    )
    preset: str = _shape(
        "chat",
        "The shape of the records. chat is the one that this project specifies; each other one suits a family"
        " of trainers.",
        choices_of=("chatsquash.records.presets",),
    )
    system: System = _shape("keep", "keep writes system messages, drop leaves them out.")
    tools: Tools = _shape(
        "first",
        "Of several definitions of one tool keep the first or the last; used keeps the first, and only of "
        "tools that the record calls.",
    )
    merge_consecutive: bool = _shape(False, "Join messages of one role that follow each other.")
    split_parallel: bool = _shape(False, "Give each of several calls in a message a message of its own.")
    split_text_and_calls: bool = _shape(False, "Give the text that stands beside calls a message of its own.")
    drop_text_beside_calls: bool = _shape(False, "Leave out the text that stands beside calls.")
    bridge_results: BridgeResults = _shape(
        "keep",
        "Where the user speaks right after a tool result: keep writes a user message, join adds the text to "
        "the result.",
    )
    enums: Enums = _shape(
        "keep", "keep leaves the values of enum in tool definitions as logged, text writes each as a string."
    )
    tool_ids: ToolIds = _shape(
        "keep", "keep leaves the ids of tool calls as logged, short9 replaces them with nine letters and digits."
    )
    media: Media = _shape(
        "refuse",
        "Images, sounds and files: refuse leaves the record out, drop writes it without them, keep writes "
        "images beside it (with --preset hf).",
    )
    keep: Keep = _shape(
        "none", "logprobs writes what responses say of their tokens as a member of the messages (with --preset hf)."
    )
    unpaired: Unpaired = _shape(
        "refuse",
        "A call without a result: refuse leaves the record out, cut ends it before that call, close adds a result.",
    )
    unpaired_text: str | None = _shape(
        None, "The text of the result that --unpaired close adds.", metavar="TEXT", usually="[no result]"
    )
    """``None``: ``NO_RESULT`` of ``records.presets``."""
    tools_file: bytes | None = _supplied(
        None, "Tool definitions for logs that have none, as inspect --definitions prints them."
    )
    """What the file holds, as in ``stages.supplied``."""
    system_file: bytes | None = _supplied(
        None, "A system prompt for logs that have none, as inspect --definitions prints it."
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
    join: bool = option(
        False,
        "Make one session of a gateway's log and the agent's own file about it. --conversations last then means main.",
        group="sessions",
    )
    conversations: Conversations = option(
        "last",
        "Write one conversation of each session: last is that of its last longest request, main the user's "
        "own. Or write all.",
        group="sessions",
    )
    subagents: bool = option(
        True, "With --conversations all, also write the conversations of sub-agents.", group="sessions"
    )
    side: bool = option(
        True, "With --conversations all, also write what the client asked for itself, such as titles.", group="sessions"
    )
    restore: Restore = option(
        "none",
        "Put back what the client took out of the history and the log still has: reasoning, results, or all.",
        group="sessions",
    )
    loss: Loss = _session(
        "none", "Add a member of this name to each assistant message. It says whether to train on the message."
    )
    restored_loss: int = _session(
        0,
        "1 also trains on replies whose requests lacked what --restore put back.",
        least=0,
        most=1,
        why_most="for yes",
    )
    loss_skip_failed: bool = _session(False, "Do not train on calls that failed and that the model then corrected.")
    samples: Samples = _sample(
        "session",
        "session writes one sample a conversation; reply one for each reply, with what the model was sent "
        "before it; auto as few as --template allows without changing that.",
    )
    sample_shape: SampleShape | None = _sample(
        None,
        "How a sample of a reply says what to train on: as prompt and completion, or by a member of its messages.",
        usually="by preset",
    )
    pairs: Pairs = _sample(
        "none",
        "Also write pairs of a preferred and a rejected reply to one request: those in the logs; or, with "
        "counterfactual, also a failed call and its correction.",
    )
    template: bytes | None = _sample(
        None,
        "The model's chat template, a file or the folder of the model. --samples auto needs it; --tokenizer "
        "counts tokens of what it renders.",
        metavar="MODEL",
        content=True,
    )
    """What ``templates.source.packed`` reads of it."""
    tokenizer: bytes | None = _sample(
        None,
        "Count the tokens of records with a tokenizer.json, or with that of a model's folder.",
        metavar="FILE",
        content=True,
    )
    """What ``templates.counting.packed`` reads of it."""
    max_tokens: int | None = _sample(None, "Only write records with at most so many tokens.", least=1)
    too_long: TooLong = _sample(
        "drop", "A record with more tokens: drop leaves it out, cut leaves out the exchanges at its end."
    )
    anonymize: bool = option(True, "Replace e-mail addresses with pseudonyms.", group="addresses")
    anonymize_key: bytes | None = option(
        None,
        "The file with the key of the pseudonyms.",
        group="addresses",
        metavar="FILE",
        named="--anonymize-key-file",
        usually="one made for you once",
        secret=True,
    )
    """The key itself; ``None``: that of the key file, see ``redact.pseudonyms``."""
    redact: str | None = _privacy(
        None,
        "Replace these with placeholders: secrets (or secrets+kingfisher, which adds a second scanner), "
        "phones, ips, paths, names:FILE, emails; or none.",
        metavar="KINDS",
        usually="emails",
    )
    redact_names: bytes | None = _privacy(
        None, "The file with the names, as in --redact names:FILE.", metavar="FILE", content=True
    )
    redact_rules: bytes | None = _privacy(
        None, "Your own rules that find secrets, as TOML.", metavar="FILE", content=True
    )
    redact_pattern: tuple[str, ...] = _privacy(
        (), "Also find what this pattern matches, in linear time.", metavar="NAME=REGEX"
    )
    redact_known: bytes | None = _privacy(
        None,
        "Also find the values in this file, or those with its hashes, wherever they stand.",
        metavar="FILE",
        content=True,
    )
    allow: bytes | None = _privacy(
        None,
        "Pass over the values in this file. A line is a value, re:PATTERN or sha256:HASH.",
        metavar="FILE",
        content=True,
    )
    deny: bytes | None = _privacy(
        None,
        "Take the values in this file for secrets. Its lines are as for --allow.",
        metavar="FILE",
        content=True,
    )
    phone_region: str | None = _privacy(
        None, "The country of phone numbers that have no country code, as in DE.", metavar="REGION"
    )
    write_known: str | None = _privacy(
        None, "Write the hashes of the secrets that are found here, for --redact-known.", metavar="FILE"
    )
    integrity_analysis: bool = option(True, "Check the records.", group="checks")
    check_arguments: bool = option(
        False, "Check whether the arguments of tool calls fit the tool definitions.", group="checks"
    )
    group_by: GroupBy = option(
        "date", "Write one file a day, one a scenario, or one for all (none).", group="grouping", decides="output"
    )
    tool_report: bool = _report(True, "Write reports on tool usage.")
    trace_replies: bool = option(
        False,
        "Write reports/replies.jsonl, which says what became of each logged reply.",
        group="reports",
        on_card=False,
    )
    keep_rejected: bool = _report(False, "Copy lines that cannot be read to reports/rejected-lines.jsonl.")
    workers: int = _run(1, "How many processes convert at the same time.", least=1, usually="the cores")
    full: bool = _run(False, "Convert all logs, not only those that are new or changed since the last run.")
    resume: bool = _run(False, "Continue an interrupted run, and keep what it finished.")
    strict: bool = _run(
        False, "Stop at the first session or line that would be left out.", decides="output", on_card=False
    )
    force: bool = _run(False, "Write to a folder that holds other files. They stay as they are.")
    replace: bool = _run(
        False, "Replace the result in the folder, even if it is of other logs or this run makes no records."
    )
    follow_links: bool = option(False, "Also read linked folders.", group="links", decides="output")
    since: str | None = _day(None, "Only convert sessions from this day on, YYYY-MM-DD.", metavar="DATE")
    until: str | None = _day(None, "Only convert sessions up to this day, YYYY-MM-DD.", metavar="DATE")
    limit: int | None = _day(None, "Convert at most so many sessions.", least=1)
    format: Packing | None = _dataset(
        None, "Write a dataset folder, with files of this kind.", usually="jsonl where other options ask for a folder"
    )
    """``None``: grouped files."""
    shard_size: int | None = _dataset(
        None, "How much text a file of a dataset folder holds.", least=1, metavar="SIZE", usually="256MB"
    )
    split: str | None = _dataset(
        None, "Divide the dataset into splits, as in train=0.98,validation=0.02.", metavar="SHARES"
    )
    """``None``: all is ``train``."""
    split_by: SplitBy = _dataset(
        "prompt",
        "Keep in one split: what begins with the same prompt; what is of one session, scenario or day; or "
        "what is alike (cluster).",
    )
    seed: int = _dataset(0, "The seed of --split. Another seed puts other sessions into each split.")
    metadata: bool = _dataset(False, "Add columns to a dataset folder: session, source, model, time, tokens and more.")
    min_turns: int | None = _filter(None, "Only write sessions with at least so many assistant turns.", least=0)
    max_turns: int | None = _filter(None, "Only write sessions with at most so many assistant turns.", least=0)
    max_chars: int | None = _filter(None, "Only write records with at most so many characters.", least=1)
    drop: tuple[str, ...] = _filter(
        (), "Leave out sessions with this finding. errors leaves out those with any error.", metavar="CODE"
    )
    duplicates: Duplicates | None = option(
        None,
        "Leave out records that repeat another: exact, byte for byte; ids, but for the ids of calls and the "
        "order of keys; prefix, also beginnings of another; near, with nearly the same words. keep leaves out"
        " none.",
        group="alike",
        usually="exact in a dataset folder, else keep",
    )
    drop_duplicates: bool | None = option(
        None, "The same as --duplicates exact; --no-drop-duplicates is --duplicates keep.", group="alike"
    )
    max_line: int = _bound(256 << 20, "Leave out lines with more bytes.", metavar="SIZE")
    max_nesting: int = _bound(
        500,
        "Leave out lines whose messages nest deeper.",
        most=800,  # whatever the depth of the calls that lead to the parser, of which Python allows 1000
        why_most="since Python's own parser reads no more",
    )
    max_messages: int = _bound(100_000, "Leave out lines with more messages in the request.")
    max_rejected: int = _bound(10_000, "Stop reading a log once more lines than this cannot be read.")
    max_expansion: int = _bound(200, "Refuse a compressed log that grows to more than so many times its size.")
    max_expanded: int = _bound(16 << 30, "Refuse a compressed log that grows to more bytes.", metavar="SIZE")
    max_memory: int = _bound(
        2_000_000_000, "Leave out a line, a file or a database that takes more memory once it is read.", metavar="SIZE"
    )
    max_database_time: int = _bound(60, "Give up a database that takes longer to read.", metavar="SECONDS")
    include: tuple[str, ...] = _path((), "Only read logs whose path, or a part of it, matches.")
    exclude: tuple[str, ...] = _path((), "Read no logs whose path, or a part of it, matches.")
    where: str | None = _filter(
        None, "Only write records that meet this condition on the columns of the session table.", metavar="SQL"
    )
    only_model: tuple[str, ...] = _filter(
        (), "Only write sessions whose last reply is of a model that matches.", metavar="GLOB"
    )
    flag_phrase: tuple[str, ...] = option(
        FLAGGED,
        "Report messages that contain this text, in upper or lower case. '' reports none.",
        group="checks",
        metavar="TEXT",
    )

    # Written by hand, since what a dataclass writes of so many fields takes a hundredth of a start to compile.

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    def cleanups(self) -> tuple[str, ...]:
        """The sets of cleaning rules that are applied."""
        first = ("goose",) if self.cleanup_goose else ()
        return tuple(dict.fromkeys((*first, *self.cleanup)))

    @property
    def folder(self) -> bool:
        """Whether a dataset folder is written, in place of grouped files."""
        return bool(self.format or self.split or self.preset != "chat")

    @property
    def shape(self) -> SampleShape:
        """How a sample of a reply says what is trained on."""
        return self.sample_shape or ("prompt-completion" if self.preset == "hf" else "messages")

    @property
    def redacts(self) -> tuple[str, ...]:
        """The kinds that placeholders take the place of, e-mail addresses aside, in order."""
        asked = {part.strip().partition(":")[0] for part in re.split("[,+]", self.redact or "")}
        asked |= {"names"} if self.redact_names is not None else set()
        return tuple(kind for kind in KINDS if kind in asked)

    @property
    def replaces(self) -> bool:
        """Whether anything but e-mail addresses is replaced."""
        return bool(self.redacts or self.redact_pattern or self.deny or self.redact_known)

    @property
    def has_key(self) -> bool:
        """Whether anything is replaced, for which a key is needed."""
        return self.anonymize or self.replaces

    @property
    def flag(self) -> Loss:
        """The member that says which messages are trained on, where records have one."""
        if self.samples == "session" or self.loss != "none":
            return self.loss
        return _USUAL_FLAGS.get(self.preset, "none") if self.shape == "messages" else "none"

    @property
    def cuts(self) -> bool:
        """Whether a record may end before its conversation does."""
        return self.unpaired == "cut" or (self.max_tokens is not None and self.too_long == "cut")

    @property
    def divides(self) -> bool:
        """Whether a session may become several records."""
        return self.conversations != "last" or self.samples != "session"

    @property
    def merges(self) -> bool:
        """Whether a file is one session also where it has several session ids, since the user said both."""
        return self.on_invalid == "keep" and self.sessions_by == "file"

    @property
    def told_apart(self) -> Duplicates:
        """Which records another one stands for."""
        is_exact = self.folder if self.drop_duplicates is None else self.drop_duplicates
        return self.duplicates or ("exact" if is_exact else "keep")

    @property
    def clusters(self) -> bool:
        """Whether records that are alike are kept in one split."""
        return self.split is not None and self.split_by == "cluster"

    @property
    def compares(self) -> bool:
        """Whether records are compared by more than their bytes."""
        return self.clusters or self.told_apart in ("ids", "prefix", "near")

    @property
    def looks(self) -> bool:
        """Whether the lines of records are looked at where they are put together."""
        return self.folder or self.told_apart != "keep" or self.max_chars is not None

    @property
    def foresees(self) -> bool:
        """Whether all records are looked at before one is written."""
        return self.clusters or self.told_apart == "prefix"


def declared(options: Any = Options) -> tuple[Declared, ...]:
    """The declarations of all options of a class, in the order of its fields."""
    return _declared(options)


@cache
def _declared(options: Any) -> tuple[Declared, ...]:
    return tuple(Declared(each.name, _kind(each.type), each.default, **each.metadata) for each in fields(options))


def _kind(annotated: Any) -> Any:
    """A type without ``None``."""
    members = get_args(annotated)
    return next(each for each in members if each is not NoneType) if NoneType in members else annotated


def _as_parameters(text: str) -> str:
    """A help text with options as Python has them."""
    text = re.sub(r"--no-([a-z][a-z-]*)", lambda found: f"{found[1].replace('-', '_')}=False", text)
    return re.sub(r"--([a-z][a-z-]*)", lambda found: found[1].replace("-", "_"), text)


Options.__doc__ = "\n\n".join(
    [Options.__doc__ or "", *(f"{each.name}: {_as_parameters(each.help)}" for each in declared())]
)
