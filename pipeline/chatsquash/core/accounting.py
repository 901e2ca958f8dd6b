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
"""Why a reply is lost, in words."""
ELSEWHERE = "duplicate"
"""Why a reply stands in no record of its session though another record stands for it, so that nothing is lost."""


class Stands(NamedTuple):
    """Where a reply stands in a record."""

    record: int
    """The index of the record among the session's."""
    status: Literal["carried", "rewritten"]
    message: int | None
    """0-based, in that record's messages."""
    loss: int
    reasons: bool
    """Whether it has its reasoning there."""


class ReplyOutcome(Struct, frozen=True, array_like=True):
    """What became of a logged reply, as ``reports/replies.jsonl`` has it but for what the run knows."""

    line: int
    """1-based, in its file."""
    kind: Literal["main", "compacted", "branch", "subagent", "side", "retry"]
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
    """What became of its reasoning; ``None``: it had none."""
    others: tuple[Stands, ...] = ()
    """Where else it stands, in the order of the records."""
    redacted: bool = False
    """Whether it is not trained on since a placeholder stands in it for a secret."""

    def in_others(self, others: tuple[Stands, ...]) -> ReplyOutcome:
        """The same where its record is not written after all, but others are that hold it."""
        first, *rest = others
        fate = self.reasoning
        if fate in ("carried", "lost"):
            fate = "carried" if first.reasons else "lost"
        return replace(
            self,
            status=first.status,
            record=first.record,
            message=first.message,
            loss=first.loss,
            reasoning=fate,
            others=tuple(rest),
        )

    def without_record(self, why: str) -> ReplyOutcome:
        """The same where its record is not written after all."""
        lost = "lost" if self.reasoning == "carried" else self.reasoning
        return replace(self, status="lost", why=why, record=None, message=None, loss=0, reasoning=lost)


class Coverage(Struct, frozen=True, array_like=True):
    """How many of a session's logged replies its records hold.

    All that were logged are ``carried + rewritten + sum(lost.values())``.
    """

    carried: int = 0
    """Replies that stand in a record as they were logged, by what counts."""
    rewritten: int = 0
    """Those that stand there in another wording."""
    lost: dict[str, int] = {}
    """Those that stand in none, by why."""
    reasoned: int = 0
    """Replies with reasoning."""
    with_reasoning: int = 0
    """Those of them that have it in a record."""
    withheld: int = 0
    """Replies whose reasoning the log has no text of."""
    conversations: int = 0
    """Conversations that were seen."""
    not_chosen: dict[str, int] = {}
    """Those that were not asked for, by their kinds."""

    @property
    def total(self) -> int:
        """All logged replies."""
        return self.carried + self.rewritten + sum(self.lost.values())

    @property
    def in_records(self) -> int:
        """The replies that a record holds, in whatever wording."""
        return self.carried + self.rewritten

    def without_record(self, why: str) -> Coverage:
        """The same where the one record is not written after all."""
        lost = {**self.lost, why: self.lost.get(why, 0) + self.in_records} if self.in_records else self.lost
        return replace(self, carried=0, rewritten=0, lost=lost, with_reasoning=0)


class LoggedUsage(NamedTuple):
    """What is known of one exchange."""

    model: str | None = None
    """As the response names it, else the request."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


def of_entry(entry: Entry) -> LoggedUsage:
    """What is known of an entry; of a document's conversation that of its last reply."""
    if entry.origin is None:
        return of_reply(entry.reply)
    last = entry.origin.replies[-1] if entry.origin.replies else OriginReply(0)
    return LoggedUsage(last.model, last.prompt_tokens, last.completion_tokens)


def of_reply(reply: Response) -> LoggedUsage:
    """What the response says, and the request where that says nothing of the model; nothing of what is no exchange."""
    model = reply.model
    if not model:
        try:
            requested = jsonio.loads(reply.asked)
        except (ValueError, RecursionError):
            requested = None
        model = requested if isinstance(requested, str) and requested else None
    return LoggedUsage(model, *reply.tokens)


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
    """How one session used one tool."""

    name: str
    calls: int
    failed: int
    """Calls with a result that failed."""
    unanswered: int
    """Calls without a result."""


class SharedUse(NamedTuple):
    """The calls of a message that stands in several records of a session."""

    message: int
    """What the message has for a number in all of them."""
    calls: int
    tools: tuple[ToolUse, ...]


class Usage(NamedTuple):
    """How one session used its tools."""

    calls: int
    tool_names: tuple[str, ...]
    client_turns: int
    assistant_turns: int
    assistant_turns_with_tools: int
    tools: tuple[ToolUse, ...]
    """Of the tools that it called."""
    shared: tuple[SharedUse, ...] = ()
    """Those of messages that other records of the session hold, too."""

    def once(self, seen: set[int]) -> Usage:
        """The same without the calls of messages that were seen."""
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
    """What became of each line of a session; every line is in exactly one of these."""

    selected: int = 0
    """The entry that became the record."""
    superseded: int = 0
    """Entries before it."""
    cut: int = 0
    """Entries behind it, which have fewer messages."""
    cleaned: int = 0
    """Entries that cleaning dropped whole."""
    left_out: int = 0
    """Entries of sessions that were left out."""
    unreadable: int = 0
    blank: int = 0
    joined: int = 0
    """Entries of agents' conversations that were joined with a gateway's session."""

    def plus(self, other: Account) -> Account:
        """The sums of both."""
        return Account(*map(add, self, other))

    def without(self, count: int) -> Account:
        """The same where some of the selected entries become no record after all."""
        return self._replace(selected=self.selected - count, left_out=self.left_out + count)

    def unwritten(self) -> Account:
        """The same where no record is written after all."""
        gone = self.selected + self.superseded + self.cut
        return self._replace(selected=0, superseded=0, cut=0, left_out=self.left_out + gone)
