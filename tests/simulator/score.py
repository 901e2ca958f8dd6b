"""How much of what a conversion made is true, and the goals for that."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

GOALS = {"kinds": 0.995, "conversations": 0.995, "loss": 0.995}
"""The least share of replies with the right kind, of conversations found whole, of replies with loss exactly once."""
ALONE = dict.fromkeys(GOALS, 0.98)
"""The least share of each behaviour that a log decides."""
DAY_GOALS = {"kinds": 0.995, "conversations": 0.99, "loss": 0.995}
"""The same of whole days of agents."""
HARD_GOALS = {**GOALS, "kinds": 0.99, "conversations": 0.99}
FAULTS = ("mixed", "unknown", "results", "loss never", "rows")
"""What never happens: a record that mixes conversations, a message that the truth lacks, the result of another call, loss
where none belongs, a row that is not as the contract has it."""


class Miss(NamedTuple):
    """Something that is not as it should be."""

    seed: int
    score: str
    behaviour: str
    file: str
    line: int
    why: str

    def __str__(self) -> str:
        return f"seed {self.seed}  {self.score}: {self.why}  ({self.behaviour}, {self.file}:{self.line})"


class Score(NamedTuple):
    """How often something was so, of how many, by score and behaviour; and what was not."""

    right: Counter[tuple[str, str]]
    of: Counter[tuple[str, str]]
    misses: list[Miss]

    def plus(self, other: Score) -> Score:
        """The sums of both."""
        return Score(self.right + other.right, self.of + other.of, self.misses + other.misses)

    def share(self, score: str, behaviour: str | None = None) -> float:
        """The share of a score, of a behaviour or of all; 1 where there was nothing."""
        chosen = [key for key in self.of if key[0] == score and behaviour in (None, key[1])]
        total = sum(self.of[key] for key in chosen)
        return sum(self.right[key] for key in chosen) / total if total else 1.0

    def faults(self, fault: str) -> int:
        """How often something happened that never should."""
        return sum(miss.score == fault for miss in self.misses)

    def failed(self, goals: dict[str, float]) -> list[str]:
        """Which goals are missed, in words."""
        short = [
            f"{name} {self.share(name):.2%} < {goal:.1%}" for name, goal in goals.items() if self.share(name) < goal
        ]
        return short + [f"{fault}: {count}" for fault in FAULTS if (count := self.faults(fault))]


NOTHING = Score(Counter(), Counter(), [])


def table(score: Score, goals: dict[str, float]) -> str:
    """The scores of each behaviour and of all, with the goals."""
    columns = (*goals, "status", "parents")

    def row(behaviour: str | None, title: str) -> str:
        return "".join(f"{score.share(name, behaviour):>15.2%}" for name in columns) + f"   {title}"

    lines = ["".join(f"{name:>15}" for name in columns) + "   behaviour"]
    lines += [row(each, each) for each in sorted({behaviour for _, behaviour in score.of})]
    lines.append(row(None, "all"))
    lines.append("".join(f"{goal:>15.2%}" for goal in goals.values()) + f"{'':>30}   goal")
    return "\n".join(lines)
