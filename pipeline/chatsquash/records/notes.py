"""What presets note while they shape a conversation: what was dropped, what was changed, and what cannot be held."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from chatsquash.checks import reading, shapes
from chatsquash.core.jsonio import Rounded
from chatsquash.core.model import Violation
from chatsquash.records import rounding


class CannotHoldError(Exception):
    """A preset has no place for something that cannot be left out; the finding says what."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(violation.text)
        self.violation = violation


@dataclass(slots=True)
class Notes:
    """Counts by kind, in words, and the floats that were met."""

    dropped: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    floats: list[float] = field(default_factory=list)
    behind: int = 0
    """How often the user speaks right behind a result, in the shape of trainers that do not take that."""

    def add(self, other: Notes) -> None:
        """What was noted elsewhere."""
        self.dropped.update(other.dropped)
        self.changed.update(other.changed)
        self.floats += other.floats

    def findings(self, *, as_text: bool = False) -> list[Violation]:
        """At most one finding for each sort; ``as_text`` says that no float is a number of the record's JSON."""
        findings = [shapes.shape_dropped(self.dropped)] if self.dropped else []
        findings += [shapes.shape_changed(self.changed)] if self.changed else []
        findings += [shapes.user_behind_result(self.behind)] if self.behind else []
        if lost := [each.spelled for each in self.floats if isinstance(each, Rounded)]:
            findings.append(reading.number_changed(lost, len(lost)))
        if not as_text and (hasty := [rounding.spelled(each) for each in self.floats if rounding.changes(each)]):
            findings.append(shapes.float_rounded(hasty, len(hasty)))
        return findings
