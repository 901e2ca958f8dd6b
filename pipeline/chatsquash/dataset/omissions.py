"""Logged replies and conversations that a dataset lacks and why, as its summary reports them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import Struct, field

from chatsquash.core.outcome import Outcome
from chatsquash.core.text import pluralize

UNANSWERED = "unanswered-session"
"""Sessions without a record of which nothing is missing."""
COMPLETE = "--complete"
_UNREADABLE = ("bad-line", "bad-entry")
"""The findings of which each is a line that could not be read."""
_IN_PART = {
    "unrelated-conversations": ("most replies of ", "log"),
    "cut-short": ("the rest of ", "log"),
    "archive-member": ("", "archive member"),
    "truncated-archive": ("the rest of ", "archive"),
    "unreadable-archive": ("", "archive"),
}
"""Errors about what is missing, though no session was left out; what each is one of."""


class Lack(NamedTuple):
    """What is missing, and why."""

    what: str
    """With its number."""
    why: Mapping[str, int]
    """The codes of the findings that say why, with their numbers."""

    def __str__(self) -> str:
        """With the reasons in brackets."""
        return f"{self.what}{reasons(self.why)}"


def lacks(counts: Mapping[str, Any]) -> list[Lack]:
    """What was left out, by the counts of ``run.json``; what filters took out was asked for, and is not missing."""
    return list(_lacks(counts))


def _lacks(counts: Mapping[str, Any]) -> Iterator[Lack]:
    sessions = {code: count for code, count in counts["sessions"]["left_out"].items() if code != UNANSWERED}
    unreadable = counts["lines"]["unreadable"]
    if sessions:
        yield Lack(pluralize(sum(sessions.values()), "session"), sessions)
    if unreadable:
        yield Lack(pluralize(unreadable, "line"), {code: _errors(counts, code) for code in _UNREADABLE})
    for code, (of, one) in _IN_PART.items():
        if count := _errors(counts, code):
            yield Lack(f"{of}{pluralize(count, one)}", {code: count})


def option_for_more(conversations: str | None, sessions_by: str | None, *, join: bool) -> str:
    """Return the option that writes the replies of other conversations; empty if all are written."""
    is_open = conversations is None and sessions_by is None and not join
    return COMPLETE if is_open else "--conversations all" if conversations != "all" else ""


def most_frequent(missing: list[Lack]) -> str:
    """The most frequent reason of the first of them that has one; empty if none has."""
    return next((code for lack in missing for code in _most_first(lack.why)), "")


def _errors(counts: Mapping[str, Any], code: str) -> int:
    numbers = (counts[where].get("error", {}).get(code, 0) for where in ("findings", "filtered_findings"))
    return sum(numbers)


def _most_first(why: Mapping[str, int]) -> list[str]:
    return sorted((code for code, count in why.items() if code and count), key=lambda code: (-why[code], code))


def reasons(why: Mapping[str, int]) -> str:
    """Codes in brackets; their numbers stand there where they differ from that of all."""
    codes = _most_first(why)
    reasons = codes if len(codes) == 1 else [f"{why[code]:,} {code}" for code in codes]
    return f" ({', '.join(reasons)})" if reasons else ""


class ReplyTotals(Struct):
    """Counts of a run.

    ``logged == carried + rewritten + sum(lost.values())`` and
    ``seen == written + sum(not_chosen.values()) + left_out + filtered + duplicates``.
    """

    logged: int = 0
    carried: int = 0
    rewritten: int = 0
    lost: Counter[str] = field(default_factory=Counter)
    """Logged replies that no record holds, by why."""
    reasoned: int = 0
    """Replies with reasoning."""
    with_reasoning: int = 0
    """Those of them whose record has it."""
    withheld: int = 0
    """Replies whose reasoning the log has no text of."""
    seen: int = 0
    """Conversations."""
    written: int = 0
    not_chosen: Counter[str] = field(default_factory=Counter)
    """Conversations that were not asked for, by their kinds."""
    left_out: int = 0
    filtered: int = 0
    duplicates: int = 0
    copied: int = 0
    """Replies that count in other logs, which no other number contains."""

    def add(self, outcome: Outcome, filtered: int, duplicates: int, made: int | None) -> None:
        """Count one session more; of ``made`` records some were filtered, or those of others."""
        covered = outcome.replies.coverage
        made = len(outcome.records) if made is None else made
        self.logged += covered.total
        self.carried += covered.carried
        self.rewritten += covered.rewritten
        self.copied += covered.copied
        for why, count in covered.lost.items():
            self.lost[why] += count
        self.reasoned += covered.reasoned
        self.with_reasoning += covered.with_reasoning
        self.withheld += covered.withheld
        missing = sum(covered.not_chosen.values()) if covered.not_chosen else 0
        # A record of a request without any logged reply is one of a conversation all the same.
        seen = max(covered.conversations, made + missing)
        self.seen += seen
        for kind, count in covered.not_chosen.items():
            self.not_chosen[kind] += count
        self.written += len(outcome.records)
        self.filtered += filtered
        self.duplicates += duplicates
        self.left_out += seen - missing - made

    def close(self) -> None:
        """Assert that every reply and every conversation is accounted for."""
        assert self.logged == self.carried + self.rewritten + self.lost.total(), self
        aside = self.not_chosen.total() + self.left_out + self.filtered + self.duplicates
        assert self.seen == self.written + aside, self

    def counts(self) -> dict[str, object]:
        """The counts as JSON values."""
        return {
            "replies": {
                "logged": self.logged,
                "carried": self.carried,
                "rewritten": self.rewritten,
                "lost": dict(sorted(self.lost.items())),
                **({"copied": self.copied} if self.copied else {}),
            },
            "reasoning": {"logged": self.reasoned, "carried": self.with_reasoning, "withheld": self.withheld},
            "conversations": {
                "seen": self.seen,
                "written": self.written,
                "not_chosen": dict(sorted(self.not_chosen.items())),
                "left_out": self.left_out,
                "filtered": self.filtered,
                "duplicates": self.duplicates,
            },
        }
