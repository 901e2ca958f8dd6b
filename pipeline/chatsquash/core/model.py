"""Every type that travels through chatsquash.

What is ours is a frozen dataclass, or a ``Struct`` where many are made; what came out of a log stays plain JSON values,
typed as ``TypedDict`` for readers and for mypy only.  This module imports nothing of ours but the blocks of turns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, TypedDict

from msgspec import Struct

from chatsquash.core.blocks import Native, Turn

Json = Any
"""A JSON value: dict, list, str, int, float, bool or None."""

Severity = Literal["error", "warning", "info"]

OURS = ".chatsquash"
"""The folder that marks the folder around it as one that we write to."""
STAGING_FOLDER = re.compile(rf"{re.escape(OURS)}-[0-9a-f]{{16}}")
"""The name of a folder in which a translation stages its files."""


class Message(TypedDict, total=False):
    """One message as OpenAI chat completions have it; unknown keys travel along."""

    role: str
    content: Json
    name: str
    tool_calls: list[Json]
    tool_call_id: str
    function_call: Json


Tool = Json
"""A tool definition: in an ``Entry`` as logged, in a ``Conversation`` flattened to its function."""


class KeptRun(Struct, frozen=True, gc=False):
    """A run of the previous entry's messages: those from ``start`` up to, not including, ``stop``."""

    start: int
    stop: int


class AddedRun(Struct, frozen=True, gc=False):
    """A run of messages that the previous entry does not have."""

    messages: tuple[Message, ...]


Edits = tuple[KeptRun | AddedRun, ...]


class WrongType(NamedTuple):
    """A member that is there and counts as missing."""

    what: str
    """Its path, as in ``response.choices``."""
    seen: str
    """What is there instead, in words."""


class Tokens(NamedTuple):
    """Numbers of tokens as responses report them; ``None`` if none does."""

    prompt: int | None = None
    completion: int | None = None


class Response(Struct, frozen=True, gc=False):
    """A response: the message of its first choice, the number of choices, and why the first one stopped."""

    message: Message | None = None
    choices: int = 0
    finish_reason: str | None = None
    problem: str | None = None
    """Why there is no message, in words."""
    wrong: WrongType | None = None
    included: bool = False
    """Whether it is already among the messages, as in a document."""
    cut: bool = False
    """Whether it was streamed and the stream ended early."""
    foreign: bool = False
    """Whether the response has nothing that its format knows."""
    model: str | None = None
    """The model that the response names."""
    id: str | None = None
    """The id of the response, empty if it has none; ``None`` if it was not read."""
    body: Json = None
    """The response, where later requests may refer to it."""
    raw: bytes = b""
    """The response as logged."""
    requested_model: bytes = b""
    """The model that the request names, as logged."""
    tokens: Tokens = Tokens()
    """Those of the exchange."""
    compacted: Json = None
    """The turn of its request's format by which the service replaced the whole request before it replied."""
    cleared: str = ""
    """What the service removed from the request before the model saw it, in words."""


class Violation(NamedTuple):
    """A violation of a rule: a fact with the code and severity of the rule, and the message that it is about."""

    severity: Severity
    text: str
    at: int | None = None
    """0-based index of the message in the record, if it is about one."""
    code: str = ""
    """The rule's name."""
    conversation: str = ""
    """The id of the conversation that it is about; empty where the session may have one only, or it is about all."""
    log_index: int | None = None
    """Where that message was logged, if that is another index."""


class RepeatedViolation(NamedTuple):
    """A violation that many lines may have: it is reported once for a session, at its first line, with a count."""

    code: str
    values: tuple[str, ...] = ()
    """What its rule takes before the count; facts with other values are others."""


class Compacted(NamedTuple):
    """A history that a service replaced with a summary."""

    summary: Message
    """The summary as an assistant message, as it is if its response was logged alone."""
    last: Message | None
    """The last assistant message that it replaced, if the request still contains one."""


class Entry(Struct, frozen=True, gc=False):  # a frozen dataclass takes ten times as long to make
    """One request and its response, as an edit of the entry before it."""

    line: int
    """1-based line number in its file."""
    at: int | None
    """When it was logged: nanoseconds since the epoch, UTC."""
    session_id: str | None
    messages: list[Message]
    """The whole request; elements are shared with the neighbours, the list is never changed."""
    edits: Edits
    """How ``messages`` come out of the previous entry's."""
    tools: list[Tool]
    """As logged; the same object while unchanged."""
    reply: Response
    cleanup_counts: dict[str, int] = {}
    """How many of its messages each cleaning rule changed or took out."""
    size: int = 0
    """Bytes of its line, with the line feed."""
    findings: tuple[Violation | RepeatedViolation, ...] = ()
    """The findings at its line, in order."""
    has_private: bool = False
    """Whether its format had to be loaded, so that messages may carry something privately."""
    limit: bytes = b""
    """The member of its request that says how many tokens the reply may have, raw."""
    output_format: bytes = b""
    """The member that says what form the reply has to have, raw."""
    origin: Origin | None = None
    """Of a conversation in a document: what the file says of it."""
    compacted: Compacted | None = None
    """The history that the service replaced with a summary, with which ``messages`` begin."""
    is_translated: bool = False
    """Whether its response is logged in another format than its request."""
    known: int = 0
    """How many of its first messages an earlier entry has; 0 unless it continues another entry than the last one."""
    continued: list[Message] | None = None
    """The messages of that entry."""
    lines: int = 1
    """The lines of the file that it stands for; those of a document are all lines of its file."""

    @property
    def shared_prefix(self) -> int:
        """How many leading messages are the previous entry's."""
        if self.edits and isinstance(self.edits[0], KeptRun) and self.edits[0].start == 0:
            return self.edits[0].stop
        return 0


class RejectedLine(NamedTuple):
    """A line that could not be read."""

    line: int
    offset: int
    """Byte offset in the file."""
    length: int
    """Bytes, without the line feed."""
    code: str
    reason: str


class SkippedLine(Struct, frozen=True, gc=False):
    """A line that does not become an entry, or findings on a log as a whole."""

    line: int | None = None
    """1-based line number in its file; ``None``: it is about the whole log."""
    why: Literal["blank", "unreadable", "cleaned"] | None = None
    """``None``: nothing is wrong with it, and there is no entry in it."""
    size: int = 0
    """Bytes of the line, with the line feed."""
    lines: int = 1
    rejected: RejectedLine | None = None
    """Where and why, for a line that cannot be read."""
    rule: str = ""
    """The cleaning rule that dropped its entry."""
    replied: bool = False
    """Whether that had a reply."""
    findings: tuple[Violation | RepeatedViolation, ...] = ()


class Branch(NamedTuple):
    """The place of a conversation in a history that branches."""

    id: str
    name: str | None = None
    parent: str | None = None
    """The id of the branch that it comes from, which may have been deleted since; ``None`` for a first one."""
    point: int = 0
    """How many of the parent's messages it began with."""
    current: bool = False
    """Whether it was the one in use."""


ConversationKind = Literal["main", "compacted", "branch", "subagent", "side"]
"""What a conversation of a session is; ``docs/conversations.md`` says what each means."""


class OriginReply(NamedTuple):
    """A reply that a model gave, and what its file says of it."""

    at: int | None
    """0-based index of its message in the conversation; ``None``: cleaning took that out."""
    line: int | None = None
    """1-based line in the file."""
    time: int | None = None
    """Nanoseconds since the epoch, UTC."""
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str | None = None
    response_id: str | None = None
    logged_id: str | None = None
    """An id of the message or of its turn in the file, which copies in other files share."""
    lacks_context: bool = False
    """Whether the model saw a message before it that is in no file."""


class Origin(Struct, frozen=True):
    """What the file of an agent or a client says of a conversation in it, beside the messages."""

    id: str = ""
    """Of the conversation, in its file; empty where the file has one only."""
    session_id: str | None = None
    kind: ConversationKind = "main"
    parent: str | None = None
    """The id of the conversation that it comes from."""
    call: str | None = None
    """The id of the call that began it; the call may stand in another file of the session."""
    began: dict[str, str] = {}
    """The conversations that calls in it began, in this file or another, by their ids, with the ids of the calls."""
    started_at: int | None = None
    ended_at: int | None = None
    """The first and the last time in it, in nanoseconds since the epoch, UTC."""
    replies: tuple[OriginReply, ...] = ()
    """Those of its messages that a model gave here, in order, and on the way to where it branched off; of what was
    copied from a conversation that begins otherwise there is none."""
    findings: tuple[tuple[int | None, Violation | RepeatedViolation], ...] = ()
    """Findings of the reader, with the line of the file; ``None``: about the conversation as a whole."""
    lines: tuple[int | None, ...] = ()
    """Of each message the 1-based line in the file at which it begins; empty where that is not known of any."""
    is_undone: bool = False
    """Whether the user took back what it does not share with its parent."""
    lacks_context: bool = False
    """Whether its replies saw messages that are in no file."""
    reward: float | None = None
    reward_evidence: str | None = None
    """What the file, or one beside it, says of how well it went, and where it says so."""
    unread: dict[str, int] = {}
    """Content of the file that is not part of any conversation: counts by name, with the first conversation."""


class Mark(NamedTuple):
    """An assistant message on its way to a record: what it is made of, and whether it is to be trained on."""

    at: tuple[int, ...]
    """The assistant messages of the snapshot that it consists of, from 0; none for one that a stage added."""
    why: str = ""
    """Why it is not to be trained on, a word of ``tree.loss``; empty: it is."""
    place: int = 0
    """0-based index in the record, once it is made."""
    model: str = ""
    """The model that wrote it, as logged; empty if it is not known."""


class Conversation(Struct, frozen=True):
    """What becomes a record, or is translated: messages as OpenAI chat has them, and definitions of tools."""

    messages: list[Message]
    tools: list[Tool]
    branch: Branch | None = None
    """Its place among the branches of the history that it was read from, if that has several."""
    encoded_messages: list[bytes] | None = None
    """The JSON of the messages, of one or some at a time, where a stage wrote it on its way."""
    has_private: bool = False
    """Whether its messages may carry privately what their format has and OpenAI chat has no place for."""
    source: str | None = None
    """The format of the log that it was read from."""
    origin: Origin | None = None
    """What its file says of it, if that is an agent's or a client's."""
    version: str | None = None
    """That of the agent, as far as its file says it."""
    marks: list[Mark] | None = None
    """One for each assistant message, in order, where somebody asks for them."""
    turns: tuple[Turn, ...] | None = None
    """Its turns, if it was loaded from a document or another format; ``turns_of`` derives them for any conversation."""
    native: Native = {}
    """What only the provider of its document knows of it as a whole."""


StageResult = tuple[Conversation, Iterable[Violation]]
"""The conversation that a stage returns, and its findings."""


class Finding(NamedTuple):
    """One fact about a session, as it is in the reports."""

    code: str
    severity: Severity
    session: str
    file: str
    line: int | None
    """1-based line in the log."""
    message: int | None
    """0-based index in the record."""
    text: str
    conversation: str = ""
    """The id of the conversation that it is about, as in ``Violation``."""


class LogHead(NamedTuple):
    """What the first lines of a log show about its format."""

    format: str | None
    """``None`` where nothing known was seen."""
    envelope: str
    why: str
    """The evidence, or what was seen instead; empty if the lines show nothing."""
    conflict: bool = False
    """Whether the lines contradict each other, so that the log cannot be read."""
    version: str | None = None
    """That of the agent, as far as its file says it."""
