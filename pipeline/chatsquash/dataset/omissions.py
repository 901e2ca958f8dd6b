"""The logged replies and conversations missing from a dataset, and the reasons, for the summary of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from chatsquash.core.outcome import Outcome
from chatsquash.core.text import pluralize

_COMPLETE = ("unanswered-session", "no-verdict")
"""Reasons for sessions without a record from which nothing is missing."""
COMPLETE = "--complete"
_UNREADABLE = ("bad-line", "bad-entry")
"""The findings that are reported once per unreadable line."""
_IN_PART = {
    "unrelated-conversations": ("most replies of ", "log"),
    "cut-short": ("the rest of ", "log"),
    "archive-member": ("", "archive member"),
    "truncated-archive": ("the rest of ", "archive"),
    "unreadable-archive": ("", "archive"),
}
"""Errors about missing content without a skipped session, each with its unit."""


class Omission(Struct, frozen=True):
    """Missing content, with the reasons."""

    what: str
    """The kind of content, with its number."""
    why: Mapping[str, int]
    """Numbers of the findings that are the reasons, by code."""

    def __str__(self) -> str:
        """Format the content with the reasons in parentheses."""
        return f"{self.what}{reasons(self.why)}"


def list_omissions(counts: Mapping[str, Any]) -> list[Omission]:
    """List the missing content from the counts in ``run.json``; filtered content does not count as missing."""
    return list(_omissions(counts))


def _omissions(counts: Mapping[str, Any]) -> Iterator[Omission]:
    sessions = {code: count for code, count in counts["sessions"]["left_out"].items() if code not in _COMPLETE}
    unreadable = counts["lines"]["unreadable"]
    if sessions:
        yield Omission(pluralize(sum(sessions.values()), "session"), sessions)
    if unreadable:
        yield Omission(pluralize(unreadable, "line"), {code: _errors(counts, code) for code in _UNREADABLE})
    for code, (of, one) in _IN_PART.items():
        if count := _errors(counts, code):
            yield Omission(f"{of}{pluralize(count, one)}", {code: count})


def option_for_more(conversations: str | None, sessions_by: str | None, *, join: bool) -> str:
    """Return the option that also writes the replies of other conversations, or an empty string if all are written."""
    is_open = conversations is None and sessions_by is None and not join
    return COMPLETE if is_open else "--conversations all" if conversations != "all" else ""


def most_frequent(missing: list[Omission]) -> str:
    """Return the most frequent reason of the first omission that has a reason, or an empty string if none has."""
    return next((code for lack in missing for code in _most_first(lack.why)), "")


def _errors(counts: Mapping[str, Any], code: str) -> int:
    numbers = (counts[where].get("error", {}).get(code, 0) for where in ("findings", "filtered_findings"))
    return sum(numbers)


def _most_first(why: Mapping[str, int]) -> list[str]:
    return sorted((code for code, count in why.items() if code and count), key=lambda code: (-why[code], code))


def reasons(why: Mapping[str, int]) -> str:
    """Format codes in parentheses, with their numbers if there are several codes."""
    codes = _most_first(why)
    reasons = codes if len(codes) == 1 else [f"{why[code]:,} {code}" for code in codes]
    return f" ({', '.join(reasons)})" if reasons else ""


def add_counts(totals: Counter[str], counts: Mapping[str, int]) -> None:
    """Add counts to totals."""
    for name, count in counts.items():
        totals[name] += count


class ReplyTotals(Struct):
    """Counts of the replies and conversations of a run.

    ``total == carried + rewritten + sum(lost.values())`` and
    ``seen == written + sum(not_chosen.values()) + left_out + filtered + duplicates``.
    """

    total: int = 0
    carried: int = 0
    rewritten: int = 0
    lost: Counter[str] = field(default_factory=Counter)
    """Logged replies that no record contains, by reason."""
    reasoned: int = 0
    """Replies with reasoning."""
    with_reasoning: int = 0
    """Replies whose reasoning is in a record."""
    withheld: int = 0
    """Replies whose reasoning is missing from the log."""
    seen: int = 0
    """Conversations of all kinds."""
    written: int = 0
    not_chosen: Counter[str] = field(default_factory=Counter)
    """Conversations that were not requested, by kind."""
    left_out: int = 0
    filtered: int = 0
    duplicates: int = 0
    copied: int = 0
    """Copies of replies that are counted in other logs; not part of any other number."""

    def add(self, outcome: Outcome, filtered: int, duplicates: int, record_count: int | None) -> None:
        """Add a session.

        Args:
            outcome: The outcome after filters and duplicates.
            filtered: Number of filtered records.
            duplicates: Number of duplicate records.
            record_count: Number of records before filters and duplicates, or ``None`` if nothing was removed.
        """
        totals, written_count = outcome.replies.coverage, len(outcome.output.records)
        record_count = written_count if record_count is None else record_count
        self.total += totals.total
        self.carried += totals.carried
        self.rewritten += totals.rewritten
        self.copied += totals.copied
        if totals.lost:
            add_counts(self.lost, totals.lost)
        self.reasoned += totals.reasoned
        self.with_reasoning += totals.with_reasoning
        self.withheld += totals.withheld
        missing = 0
        if totals.not_chosen:
            missing = sum(totals.not_chosen.values())
            add_counts(self.not_chosen, totals.not_chosen)
        # A record of a request without a logged reply counts as a conversation as well.
        seen = max(totals.conversations, record_count + missing)
        self.seen += seen
        self.written += written_count
        self.filtered += filtered
        self.duplicates += duplicates
        self.left_out += seen - missing - record_count

    def close(self) -> None:
        """Assert that every reply and every conversation is accounted for."""
        assert self.total == self.carried + self.rewritten + self.lost.total(), self
        without_record = self.not_chosen.total() + self.left_out + self.filtered + self.duplicates
        assert self.seen == self.written + without_record, self

    def counts(self) -> dict[str, object]:
        """Return the counts as JSON values."""
        return {
            "replies": {
                "logged": self.total,
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
