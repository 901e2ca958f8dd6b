"""Outcomes of the lines, logged replies, tool calls and tokens of a session."""

# No ``from __future__ import annotations``: tuples compile annotations that are texts, which takes 1 % of a small run.
from collections.abc import Iterable
from operator import add
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import astuple, replace

from chatsquash.core import jsonio
from chatsquash.core.model import Entry, OriginReply, Response, Tokens
from chatsquash.core.scores import Score

WHY = {
    "compacted": "it was replaced by a summary",
    "branch": "it is on a branch, which --conversations all writes",
    "subagent": "it belongs to a sub-agent, which --conversations all writes",
    "side-request": "it answers one of the client's own requests, which --conversations all may write",
    "retry": "it was interrupted and requested again, or a later line logs it again",
    "short-tail": "another conversation in the log is the record; --conversations main or all writes it",
    "cut": "--unpaired cut or --too-long ends the record before it, or begins it after it",
    "filtered": "a filter excluded its record",
    "duplicate": "its record duplicates another record, or the same words were sampled again",
    "no-verdict": "it has no evidence of a preference, which --sample-shape kto requires",
    "prompts-only": "--sample-shape prompt writes only the messages before it",
    "not-first": "--samples first writes only the first reply of its conversation",
    "not-last": "--samples last writes only the last reply of its conversation",
    "refused": "its record could not be written; see the findings",
    "no-token-ids": "the log has no token ids of the reply and its prompt",
    "private-text": "its token ids contain text that --no-anonymize would write",
}
"""Reasons why a reply is lost, in words, by code."""
STEP_FACTS = (
    "failed_call",
    "repeated_call",
    "loop",
    "undone",
    "ignored_result",
    "asked_again",
    "interrupted",
    "denied",
    "reads_future",
    "truncated",
)
"""Facts about a logged reply in its conversation, in the order of the columns of ``reports/replies.jsonl``."""
ELSEWHERE = "duplicate"
"""The code for a reply that another record contains, so that its text is not lost."""


class ReplyPlace(Struct, frozen=True, array_like=True):
    """The place of a reply in a record."""

    record: int
    """The index of the record among those of the session."""
    status: Literal["carried", "rewritten"]
    message: int | None
    """The 0-based index in the messages of that record."""
    loss: int
    reasons: bool
    """Whether the record also contains the reasoning of the reply."""


class ReplyEvidence(Struct, frozen=True, array_like=True):
    """The evidence of a logged reply."""

    line: int | None
    """Its line in the file; ``None`` if it is unknown."""
    time: int | None
    """Its time in nanoseconds since the epoch, UTC."""
    model: str
    """Empty if unknown."""


class ReplyOutcome(Struct, frozen=True, array_like=True):
    """The outcome of a logged reply: its row in ``reports/replies.jsonl``, except for values known only to the run."""

    line: int
    """The 1-based line in its file."""
    kind: Literal["main", "compacted", "branch", "subagent", "side", "retry", "copy"]
    """The kind of its conversation. A reply logged twice is a ``retry`` in one log and a ``copy`` in several."""
    status: Literal["carried", "rewritten", "lost"]
    why: str | None
    """The reason why it is lost, a key of ``WHY``."""
    conversation: str
    parent: str | None
    record: int | None = None
    """The index of its record among those of the session."""
    message: int | None = None
    """The 0-based index in the messages of that record."""
    loss: int = 0
    reasoning: Literal["carried", "lost", "withheld"] | None = None
    """The outcome of its reasoning; ``None`` for a reply without reasoning."""
    others: tuple[ReplyPlace, ...] = ()
    """Its other places, in the order of the records."""
    redacted: bool = False
    """Whether it is not trained on because a secret in it was replaced by a placeholder."""
    facts: tuple[str, ...] = ()
    """Its facts, in the order of ``STEP_FACTS``, if an option needs them."""
    id: str = ""
    """The logged id of its response or message; may be empty."""
    nth: int = 0
    """A number that identifies it in its session if it has no id; 0 for a reply that no conversation contains."""
    untrained: str = ""
    """The reason why it is not trained on although a record contains it, a code from ``trees.loss``."""
    labels: tuple[tuple[int, str], ...] = ()
    """The rows of ``--loss-labels`` about it, each with the reason why it is not applied, or an empty string."""
    scores: tuple[Score, ...] = ()
    """Its logged scores."""
    evidence: ReplyEvidence | None = None

    def in_others(self, others: tuple[ReplyPlace, ...]) -> "ReplyOutcome":
        """Return the outcome if its record is not written, but ``others``, which contain it, are."""
        first, *rest = others
        reasoning_status = self.reasoning
        if reasoning_status in ("carried", "lost"):
            reasoning_status = "carried" if first.reasons else "lost"
        return replace(
            self,
            status=first.status,
            record=first.record,
            message=first.message,
            loss=first.loss,
            untrained="" if first.loss else self.untrained,
            reasoning=reasoning_status,
            others=tuple(rest),
        )

    def without_record(self, why: str) -> "ReplyOutcome":
        """Return the outcome if its record is not written after all."""
        reasoning = "lost" if self.reasoning == "carried" else self.reasoning
        return replace(self, status="lost", why=why, record=None, message=None, loss=0, reasoning=reasoning)


class TrainedReplies(Struct, frozen=True, array_like=True):
    """The number of a model's logged replies that are trained on."""

    replies: int = 0
    with_tokens: int = 0
    """Those with a logged number of tokens."""
    tokens: int = 0
    """The sum of these numbers."""

    def plus(self, other: "TrainedReplies") -> "TrainedReplies":
        """Add two counts."""
        return TrainedReplies(*map(add, astuple(self), astuple(other)))


class Coverage(Struct, frozen=True, array_like=True):
    """The number of a session's logged replies that its records contain, with the reasons for the others."""

    carried: int = 0
    """Replies that a record contains without a significant change."""
    rewritten: int = 0
    """Replies that a record contains in different words."""
    lost: dict[str, int] = {}
    """Replies that no record contains, by reason."""
    reasoned: int = 0
    """Replies with reasoning."""
    with_reasoning: int = 0
    """Replies whose reasoning a record contains."""
    withheld: int = 0
    """Replies whose reasoning has no text in the log."""
    conversations: int = 0
    """Conversations in the session."""
    not_chosen: dict[str, int] = {}
    """Conversations that the options exclude, by kind."""
    copied: int = 0
    """Replies that repeat those of other logs. They count there and are not part of the other numbers."""

    @property
    def total(self) -> int:
        """The number of logged replies."""
        in_records = self.carried + self.rewritten
        return in_records + sum(self.lost.values()) if self.lost else in_records

    @property
    def in_records(self) -> int:
        """The number of replies that a record contains, in any wording."""
        return self.carried + self.rewritten

    def without_record(self, why: str) -> "Coverage":
        """Return the coverage if the only record is not written after all."""
        lost_by_reason = {**self.lost, why: self.lost.get(why, 0) + self.in_records} if self.in_records else self.lost
        return replace(self, carried=0, rewritten=0, lost=lost_by_reason, with_reasoning=0)


class LoggedUsage(Struct, frozen=True, array_like=True):
    """The model and the token counts of an exchange."""

    model: str | None = None
    """The model in the response, or else in the request."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


def of_entry(entry: Entry) -> LoggedUsage:
    """Return the usage of an entry; for a conversation in a document, the usage of its last reply."""
    if entry.origin is None:
        return of_reply(entry.reply)
    last = entry.origin.replies[-1] if entry.origin.replies else OriginReply(0)
    return LoggedUsage(last.model, last.prompt_tokens, last.completion_tokens)


def of_reply(reply: Response) -> LoggedUsage:
    """Return the usage reported by a response; the model is that of the request if the response has no model."""
    return LoggedUsage(model_of(reply), *reply.tokens)


def model_of(reply: Response) -> str | None:
    """Return the model in the response, or else in the request."""
    if reply.model:
        return reply.model
    model = jsonio.value(reply.requested_model)
    return model if isinstance(model, str) and model else None


def total(counts: Iterable[Tokens]) -> Tokens:
    """Add token counts; a count that is always missing stays ``None``."""
    prompt: int | None = None
    completion: int | None = None
    for prompted, completed in counts:
        if prompted is not None:
            prompt = prompted + (prompt or 0)
        if completed is not None:
            completion = completed + (completion or 0)
    return Tokens(prompt, completion)


class ToolUse(Struct, frozen=True, array_like=True):
    """The use of a tool in a session."""

    name: str
    calls: int
    failed: int
    """Calls whose result is a failure."""
    unanswered: int
    """Calls without a result."""


class SharedUse(Struct, frozen=True, array_like=True):
    """The calls of a message that several records of a session contain."""

    message: int
    """The number of the message, which is the same in all records."""
    calls: int
    tools: tuple[ToolUse, ...]


class Usage(NamedTuple):
    """The use of tools in a session."""

    calls: int
    tool_names: tuple[str, ...]
    client_turns: int
    assistant_turns: int
    assistant_turns_with_tools: int
    tools: tuple[ToolUse, ...]
    """The use of each tool that is called."""
    shared_uses: tuple[SharedUse, ...] = ()
    """Calls in messages that other records of the session also contain."""

    def once(self, seen: set[int]) -> "Usage":
        """Return the usage without the calls in messages that are in ``seen``."""
        elsewhere = [each for each in self.shared_uses if each.message in seen]
        if not elsewhere:
            return self
        less = {tool.name: tool for tool in self.tools}
        for tool in (tool for each in elsewhere for tool in each.tools):
            use = less[tool.name]
            counts = use.calls - tool.calls, use.failed - tool.failed, use.unanswered - tool.unanswered
            less[tool.name] = ToolUse(tool.name, *counts)
        return self._replace(calls=self.calls - sum(each.calls for each in elsewhere), tools=tuple(less.values()))

    def before_reply(self, number: int | None) -> "Usage":
        """Return the usage before the last reply, which begins a turn; ``number`` is that of its message with calls."""
        if number is None:
            return self._replace(assistant_turns=self.assistant_turns - 1)
        return self.once({number})._replace(
            assistant_turns=self.assistant_turns - 1,
            assistant_turns_with_tools=self.assistant_turns_with_tools - 1,
            shared_uses=tuple(each for each in self.shared_uses if each.message != number),
        )


def count_once(usages: list[Usage]) -> list[Usage]:
    """Return the usage of each record of a session, without calls that an earlier record contains."""
    if len(usages) < 2:
        return usages
    seen: set[int] = set()
    distinct = []
    for usage in usages:
        distinct.append(usage.once(seen))
        seen.update(each.message for each in usage.shared_uses)
    return distinct


class Account(NamedTuple):
    """The lines of a session by outcome; every line is in exactly one count."""

    selected: int = 0
    """Entries that became the record."""
    superseded: int = 0
    """Entries before that one."""
    cut: int = 0
    """Entries after it, with fewer messages."""
    cleaned: int = 0
    """Entries that cleaning removed completely."""
    left_out: int = 0
    """Entries of skipped sessions."""
    unreadable: int = 0
    blank: int = 0
    joined: int = 0
    """Entries of agent conversations that were joined with a gateway's session."""

    def plus(self, other: "Account") -> "Account":
        """Add two accounts."""
        return Account._make(map(add, self, other))

    def without(self, count: int) -> "Account":
        """Return the account if ``count`` selected entries do not become records after all."""
        return self._replace(selected=self.selected - count, left_out=self.left_out + count)

    def unwritten(self) -> "Account":
        """Return the account if no record is written after all."""
        unselected = self.selected + self.superseded + self.cut
        return self._replace(selected=0, superseded=0, cut=0, left_out=self.left_out + unselected)
