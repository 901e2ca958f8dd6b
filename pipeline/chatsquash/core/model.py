"""The types that rooms exchange: entries, responses, conversations and findings.

The types are immutable tuples or structs. Content of logs stays plain JSON; its ``TypedDict`` types exist only for
readers and type checkers. This module imports nothing from chatsquash except the blocks of turns and scores.
"""

# No ``from __future__ import annotations``: tuples compile annotations that are texts, which takes 1 % of a small run.
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

from msgspec import Struct

from chatsquash.core.blocks import Native, Turn
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.scores import Score

if TYPE_CHECKING:
    from chatsquash.core.score_rows import ScoreRow
    from chatsquash.core.token_ids import TokenIds

Json = Any
"""A JSON value: dict, list, str, int, float, bool or None."""

Severity = Literal["error", "warning", "info"]

OURS = ".chatsquash"
"""The name of the journal folder, which marks its parent as an output folder."""
STAGING_FOLDER = lazy_compile(rf"{re.escape(OURS)}-[0-9a-f]{{16}}")
"""The names of folders in which translations stage their files."""


class Message(TypedDict, total=False):
    """A message of OpenAI chat completions; unknown keys are kept."""

    role: str
    content: Json
    name: str
    tool_calls: list[Json]
    tool_call_id: str
    function_call: Json


Tool = Json
"""A tool definition: as logged in an ``Entry``, flattened to its function in a ``Conversation``."""


class KeptRun(Struct, frozen=True, gc=False):
    """A run of the previous entry's messages, from ``start`` up to but not including ``stop``."""

    start: int
    stop: int


class AddedRun(Struct, frozen=True, gc=False):
    """A run of messages that the previous entry does not have."""

    messages: tuple[Message, ...]


Edits = tuple[KeptRun | AddedRun, ...]


class WrongType(Struct, frozen=True):
    """A member with the wrong type, which is treated as missing."""

    what: str
    """Its path, for example ``response.choices``."""
    seen: str
    """The actual type, in words."""


class Tokens(NamedTuple):
    """Token counts reported by responses, or ``None`` for a count that was not reported."""

    prompt: int | None = None
    completion: int | None = None


class Response(Struct, frozen=True, gc=False):
    """A response: the message of its first choice, the number of choices, and the finish reason of the first one."""

    message: Message | None = None
    choices: int = 0
    finish_reason: str | None = None
    problem: str | None = None
    """The reason why the message is missing, in words."""
    wrong: WrongType | None = None
    included: bool = False
    """Whether the messages already contain the reply, as in a document."""
    cut: bool = False
    """Whether it was a stream that ended early."""
    foreign: bool = False
    """Whether its format recognizes nothing in the response."""
    model: str | None = None
    """The model given in the response."""
    id: str | None = None
    """The id of the response; empty if it has none, ``None`` if it was not read."""
    body: Json = None
    """The parsed response, if later requests may refer to it."""
    raw: bytes = b""
    """The logged response."""
    requested_model: bytes = b""
    """The model in the request, as raw JSON."""
    tokens: Tokens = Tokens()
    """The token counts of the exchange."""
    compacted: Json = None
    """The turn with which the service replaced the request before replying, in the format of the request."""
    cleared: str = ""
    """The content that the service removed from the request before the model saw it, in words."""


class Violation(Struct, frozen=True, array_like=True):
    """A violation of a rule: the message, the rule's code and severity, and the position."""

    severity: Severity
    text: str
    at: int | None = None
    """The 0-based index of the message in the record, if one is concerned."""
    code: str = ""
    """The rule's name."""
    conversation: str = ""
    """The id of the conversation concerned; empty if there is only one, or if all are concerned."""
    log_index: int | None = None
    """The index of the message in the log, if it differs from ``at``."""


class RepeatedViolation(Struct, frozen=True, array_like=True):
    """A violation in many lines, which is reported once per session at the first line, with a count."""

    code: str
    values: tuple[str, ...] = ()
    """The arguments of its rule other than the count; each combination is reported separately."""


class Compacted(Struct, frozen=True, array_like=True):
    """A history that a service replaced with a summary."""

    summary: Message
    """The summary as an assistant message, like the reply to a separate request for a summary."""
    last: Message | None
    """The last assistant message before the summary, if the request still contains one."""


class Entry(Struct, frozen=True, gc=False):  # creating a frozen dataclass takes ten times as long
    """One request and its response, as an edit of the previous entry."""

    line: int
    """The 1-based line number in its file."""
    at: int | None
    """The time of the entry, in nanoseconds since the epoch, UTC."""
    session_id: str | None
    messages: list[Message]
    """The messages of the complete request, shared with neighboring entries; the list must not be changed."""
    edits: Edits
    """The difference from the previous entry's ``messages``."""
    tools: list[Tool]
    """The logged tools; the same object while they are unchanged."""
    reply: Response
    cleanup_counts: dict[str, int] = {}
    """The number of messages that each cleaning rule changed or removed."""
    size: int = 0
    """The size of its line in bytes, including the line feed."""
    findings: tuple[Violation | RepeatedViolation, ...] = ()
    """The findings at its line, in order."""
    has_private: bool = False
    """Whether messages may have private members because they were converted from another format."""
    limit: bytes = b""
    """The token limit in the request, as raw JSON."""
    output_format: bytes = b""
    """The requested output format, as raw JSON."""
    origin: "Origin | None" = None
    """Data about a conversation in a document; ``None`` for other logs."""
    compacted: Compacted | None = None
    """The history that the service replaced with a summary; ``messages`` begins with that summary."""
    is_translated: bool = False
    """Whether its response was logged in a different format from its request."""
    known: int = 0
    """The number of leading messages shared with an earlier entry; 0 if it continues the previous one."""
    continued: list[Message] | None = None
    """The messages of that earlier entry."""
    lines: int = 1
    """The number of lines that it represents; for a document, all lines of the file."""
    scores: tuple[Score, ...] = ()
    """The logged scores of its reply, and of its session."""

    @property
    def messages_with_reply(self) -> list[Message]:
        """The messages of the request, and the reply if there is one; the list must not be changed."""
        reply = self.reply.message
        return self.messages if reply is None else [*self.messages, reply]

    @property
    def shared_prefix(self) -> int:
        """The number of leading messages shared with the previous entry."""
        if self.edits and isinstance(self.edits[0], KeptRun) and self.edits[0].start == 0:
            return self.edits[0].stop
        return 0


class RejectedLine(Struct, frozen=True, array_like=True):
    """A line that could not be read."""

    line: int
    offset: int
    """Byte offset in the file."""
    length: int
    """The length in bytes, excluding the line feed."""
    code: str
    reason: str


class SkippedLine(Struct, frozen=True, gc=False):
    """A line that does not become an entry, or findings about the entire log."""

    line: int | None = None
    """The 1-based line number in its file; ``None`` for the entire log."""
    why: Literal["blank", "unreadable", "cleaned"] | None = None
    """The reason; ``None`` for a valid line without an entry."""
    size: int = 0
    """The size of the line in bytes, including the line feed."""
    lines: int = 1
    rejected: RejectedLine | None = None
    """The position of a line that cannot be read, and the reason."""
    rule: str = ""
    """The cleaning rule that dropped its entry."""
    replied: bool = False
    """Whether the dropped entry had a reply."""
    findings: tuple[Violation | RepeatedViolation, ...] = ()
    scores: tuple["ScoreRow", ...] = ()
    """The scores of other lines in it."""


class Branch(Struct, frozen=True, array_like=True):
    """The place of a conversation in a branching history."""

    id: str
    name: str | None = None
    parent: str | None = None
    """The id of the parent branch, which may have been deleted since; ``None`` for a root."""
    point: int = 0
    """The number of messages shared with the parent."""
    current: bool = False
    """Whether it was the active branch."""


ConversationKind = Literal["main", "compacted", "branch", "subagent", "side"]
"""The kinds of conversations in a session, described in ``docs/conversations.md``."""


class OriginReply(Struct, frozen=True, array_like=True):
    """A sampled reply with the data that its file contains about it."""

    at: int | None
    """The 0-based index of its message in the conversation; ``None`` if cleaning removed it."""
    line: int | None = None
    """The 1-based line in the file."""
    time: int | None = None
    """The time in nanoseconds since the epoch, UTC."""
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str | None = None
    response_id: str | None = None
    logged_id: str | None = None
    """The id of the message or its turn in the file, which copies in other files have as well."""
    lacks_context: bool = False
    """Whether the model saw a preceding message that no file contains."""
    token_ids: "TokenIds | None" = None
    """Its token ids, if the file contains them and the options need them."""
    scores: tuple[Score, ...] = ()
    """Its logged scores."""


class Origin(Struct, frozen=True):
    """The data about a conversation in a file of an agent or a client, other than its messages."""

    id: str = ""
    """The id of the conversation in its file; empty if the file contains only one."""
    session_id: str | None = None
    kind: ConversationKind = "main"
    parent: str | None = None
    """The id of the parent conversation."""
    call: str | None = None
    """The id of the call that started it, possibly in another file of the session."""
    began: dict[str, str] = {}
    """The ids of calls that started conversations, in this file or another, by the ids of these conversations."""
    started_at: int | None = None
    ended_at: int | None = None
    """The first and last time in it, in nanoseconds since the epoch, UTC."""
    replies: tuple[OriginReply, ...] = ()
    """The sampled replies among its messages, in order. Replies shared with the parent are included, but not replies
    copied from a conversation with a different beginning.
    """
    findings: tuple[tuple[int | None, Violation | RepeatedViolation], ...] = ()
    """Findings of the reader, each with a line of the file, or ``None`` for the entire conversation."""
    lines: tuple[int | None, ...] = ()
    """The 1-based line of the file at which each message begins; empty if no line is known."""
    is_undone: bool = False
    """Whether the user undid everything that it does not share with its parent."""
    lacks_context: bool = False
    """Whether its replies saw messages that no file contains."""
    reward: float | None = None
    reward_evidence: str | None = None
    """The reward in the file or a file next to it, and where the reward is located."""
    scores: tuple[Score, ...] = ()
    """The scores of the conversation as a whole."""
    unread: dict[str, int] = {}
    """Content of the file outside any conversation: counts by name, in the first conversation."""


class Mark(NamedTuple):
    """An assistant message on its way to a record: its sources, and whether it is trained on."""

    at: tuple[int, ...]
    """The 0-based numbers of the assistant messages in the snapshot that it consists of; none if a stage added it."""
    why: str = ""
    """The reason why it is not trained on, a code from ``trees.loss``; empty if it is trained on."""
    place: int = 0
    """The 0-based index in the record, once the record exists."""
    model: str = ""
    """The model that wrote it, as logged; empty if unknown."""
    weight: float = 1.0
    """Its weight between 0 and 1, if it is trained on."""


class Conversation(Struct, frozen=True):
    """A conversation to be written or translated: messages as in OpenAI chat, and tool definitions."""

    messages: list[Message]
    tools: list[Tool]
    branch: Branch | None = None
    """Its place in the history from which it was read, if the history has several branches."""
    encoded_messages: list[bytes] | None = None
    """The JSON of the messages in one or more pieces, if a stage already encoded it."""
    has_private: bool = False
    """Whether messages may have private members for content that OpenAI chat cannot express."""
    source: str | None = None
    """The format of the log."""
    origin: Origin | None = None
    """Data from the file of an agent or a client."""
    version: str | None = None
    """The version of the agent, if its file contains one."""
    marks: list[Mark] | None = None
    """One mark per assistant message, in order, if marks are needed."""
    turns: tuple[Turn, ...] | None = None
    """Its turns, if it was read from a document or another format; ``turns_of`` derives them for any conversation."""
    native: Native = {}
    """Members of the conversation that only the provider of its document supports."""


StageResult = tuple[Conversation, Iterable[Violation]]
"""The conversation and the findings that a stage returns."""


class Finding(NamedTuple):
    """A fact about a session, as shown in reports."""

    code: str
    severity: Severity
    session: str
    file: str
    line: int | None
    """The 1-based line in the log."""
    message: int | None
    """The 0-based index in the record."""
    text: str
    conversation: str = ""
    """The id of the conversation concerned, as in ``Violation``."""


class LogHead(Struct, frozen=True):
    """The format of a log, detected from its first lines."""

    format: str | None
    """The format; ``None`` if none was recognized."""
    envelope: str
    why: str
    """The evidence for the format, or a description of the actual content; empty if there is no evidence."""
    conflict: bool = False
    """Whether the lines contradict each other, so that the log cannot be read."""
    version: str | None = None
    """The version of the agent, if its file contains one."""
