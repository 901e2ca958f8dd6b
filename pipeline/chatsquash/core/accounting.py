"""What happened to the lines of a session, its logged replies, its tool calls and its tokens."""

from __future__ import annotations

from collections.abc import Iterable
from operator import add
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.core import jsonio
from chatsquash.core.model import Entry, OriginReply, Response, Tokens

WHY = {
    "compacted": "a summary stands for it",
    "branch": "it is on a branch, which --conversations all writes",
    "subagent": "it is of a sub-agent, which --conversations all writes",
    "side-request": "it answers a request of the client's own, which --conversations all may write",
    "retry": "it broke off and was asked for again, or a later line logs it again",
    "short-tail": "another conversation of the log is the record; --conversations main or all writes it",
    "cut": "--unpaired cut or --too-long cut ends the record before it",
    "filtered": "a filter left its record out",
    "duplicate": "another record stands for its own, or the same words were sampled again",
    "refused": "its record could not be written; a finding says why",
}
"""Why a reply is lost, in words; the keys are codes."""
ELSEWHERE = "duplicate"
"""The code of a reply that is in another record instead, so that nothing is lost."""


class ReplyPlace(NamedTuple):
    """The place of a reply in a record."""

    record: int
    """The index of the record among the session's."""
    status: Literal["carried", "rewritten"]
    message: int | None
    """0-based, in that record's messages."""
    loss: int
    reasons: bool
    """Whether its reasoning is there, too."""


class ReplyOutcome(Struct, frozen=True, array_like=True):
    """The outcome of a logged reply: its row in ``reports/replies.jsonl``, without what only the run knows."""

    line: int
    """1-based, in its file."""
    kind: Literal["main", "compacted", "branch", "subagent", "side", "retry", "copy"]
    """The kind of its conversation; of a reply that was logged twice, ``retry`` in one log and ``copy`` in several."""
    status: Literal["carried", "rewritten", "lost"]
    why: str | None
    """Why it is lost."""
    conversation: str
    parent: str | None
    record: int | None = None
    """The index of its record among the session's."""
    message: int | None = None
    """0-based, in that record's messages."""
    loss: int = 0
    reasoning: Literal["carried", "lost", "withheld"] | None = None
    """The outcome of its reasoning; ``None`` if it had none."""
    others: tuple[ReplyPlace, ...] = ()
    """Its other places, in the order of the records."""
    redacted: bool = False
    """Whether it is not trained on because a placeholder replaced a secret in it."""

    def in_others(self, others: tuple[ReplyPlace, ...]) -> ReplyOutcome:
        """The outcome if its record is not written after all, but others that contain it are."""
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
            reasoning=reasoning_status,
            others=tuple(rest),
        )

    def without_record(self, why: str) -> ReplyOutcome:
        """The outcome if its record is not written after all."""
        lost = "lost" if self.reasoning == "carried" else self.reasoning
        return replace(self, status="lost", why=why, record=None, message=None, loss=0, reasoning=lost)


class Coverage(Struct, frozen=True, array_like=True):
    """How many of a session's logged replies are in its records."""

    carried: int = 0
    """Replies that are in a record as they were logged, in all that counts."""
    rewritten: int = 0
    """Replies that are in a record with another wording."""
    lost: dict[str, int] = {}
    """Replies that are in no record, by the reason."""
    reasoned: int = 0
    """Replies with reasoning."""
    with_reasoning: int = 0
    """Replies whose reasoning is in a record."""
    withheld: int = 0
    """Replies whose reasoning has no text in the log."""
    conversations: int = 0
    """Conversations in the session."""
    not_chosen: dict[str, int] = {}
    """Conversations that were not requested, by kind."""
    copied: int = 0
    """Replies of other logs that this one repeats, which count there; the other numbers are without them."""

    @property
    def total(self) -> int:
        """All logged replies."""
        return self.carried + self.rewritten + sum(self.lost.values())

    @property
    def in_records(self) -> int:
        """The replies that are in a record, in whatever wording."""
        return self.carried + self.rewritten

    def without_record(self, why: str) -> Coverage:
        """The coverage if the only record is not written after all."""
        lost = {**self.lost, why: self.lost.get(why, 0) + self.in_records} if self.in_records else self.lost
        return replace(self, carried=0, rewritten=0, lost=lost, with_reasoning=0)


class LoggedUsage(NamedTuple):
    """The model and the tokens of an exchange."""

    model: str | None = None
    """As the response names it, else the request."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


def of_entry(entry: Entry) -> LoggedUsage:
    """The usage of an entry; for a conversation in a document that of its last reply."""
    if entry.origin is None:
        return of_reply(entry.reply)
    last = entry.origin.replies[-1] if entry.origin.replies else OriginReply(0)
    return LoggedUsage(last.model, last.prompt_tokens, last.completion_tokens)


def of_reply(reply: Response) -> LoggedUsage:
    """The usage that a response reports; the model is that of the request if the response does not name one."""
    return LoggedUsage(model_of(reply), *reply.tokens)


def model_of(reply: Response) -> str | None:
    """The model that a response names, else the request."""
    if reply.model:
        return reply.model
    model = jsonio.value(reply.requested_model)
    return model if isinstance(model, str) and model else None


def total(counts: Iterable[Tokens]) -> Tokens:
    """The sum of counts; ``None`` for what none of them names."""
    prompt: int | None = None
    completion: int | None = None
    for prompted, completed in counts:
        if prompted is not None:
            prompt = prompted + (prompt or 0)
        if completed is not None:
            completion = completed + (completion or 0)
    return Tokens(prompt, completion)


class ToolUse(NamedTuple):
    """The use of a tool in a session."""

    name: str
    calls: int
    failed: int
    """Calls with a result that failed."""
    unanswered: int
    """Calls without a result."""


class SharedUse(NamedTuple):
    """The calls of a message that is in several records of a session."""

    message: int
    """The number of the message, the same in all of them."""
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
    """One for each tool that was called."""
    shared: tuple[SharedUse, ...] = ()
    """Calls of messages that are also in other records of the session."""

    def once(self, seen: set[int]) -> Usage:
        """The usage without the calls of messages seen before."""
        elsewhere = [each for each in self.shared if each.message in seen]
        if not elsewhere:
            return self
        less = {tool.name: tool for tool in self.tools}
        for tool in (tool for each in elsewhere for tool in each.tools):
            name, calls, failed, unanswered = less[tool.name]
            less[tool.name] = ToolUse(name, calls - tool.calls, failed - tool.failed, unanswered - tool.unanswered)
        return self._replace(calls=self.calls - sum(each.calls for each in elsewhere), tools=tuple(less.values()))


def count_once(usages: Iterable[Usage]) -> list[Usage]:
    """The usages of a session's records, each without the calls of messages that an earlier record contains."""
    seen: set[int] = set()
    distinct = []
    for usage in usages:
        distinct.append(usage.once(seen))
        seen.update(each.message for each in usage.shared)
    return distinct


class Account(NamedTuple):
    """How many lines of a session ended which way; every line is in exactly one count."""

    selected: int = 0
    """The entry that became the record."""
    superseded: int = 0
    """Entries before it."""
    cut: int = 0
    """Entries after it, which have fewer messages."""
    cleaned: int = 0
    """Entries that cleaning dropped completely."""
    left_out: int = 0
    """Entries of skipped sessions."""
    unreadable: int = 0
    blank: int = 0
    joined: int = 0
    """Entries of agents' conversations that were joined with a gateway's session."""

    def plus(self, other: Account) -> Account:
        """Add two accounts."""
        return Account(*map(add, self, other))

    def without(self, count: int) -> Account:
        """The account if some selected entries do not become records after all."""
        return self._replace(selected=self.selected - count, left_out=self.left_out + count)

    def unwritten(self) -> Account:
        """The account if no record is written after all."""
        unselected = self.selected + self.superseded + self.cut
        return self._replace(selected=0, superseded=0, cut=0, left_out=self.left_out + unselected)
