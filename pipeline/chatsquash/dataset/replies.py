"""What a run's records hold of the logged replies, and what became of the conversations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct, field

from chatsquash.checks.coverage import by_why
from chatsquash.core.outcome import Outcome
from chatsquash.core.text import pluralize


class Replies(Struct):
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

    def add(self, outcome: Outcome, filtered: int, duplicates: int, made: int | None) -> None:
        """Count one session more; of ``made`` records some were filtered, or those of others."""
        covered = outcome.replies.coverage
        made = len(outcome.records) if made is None else made
        self.logged += covered.total
        self.carried += covered.carried
        self.rewritten += covered.rewritten
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

    def lines(self) -> Iterator[str]:
        """What is said to people: one line, and one on reasoning where some is missing."""
        lost = "".join(f" + {part}" for part in by_why(dict(sorted(self.lost.items()))))
        rewritten = f" + {self.rewritten:,} rewritten" if self.rewritten else ""
        replies = pluralize(self.logged, "reply", "replies")
        yield f"{replies} logged = {self.carried:,} carried{rewritten}{lost}"
        if self.with_reasoning < self.reasoned or self.withheld:
            withheld = f", that of {self.withheld:,} withheld at the source" if self.withheld else ""
            yield f"reasoning: {self.with_reasoning:,} of {self.reasoned:,} in the records{withheld}"
