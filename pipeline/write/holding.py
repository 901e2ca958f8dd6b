"""What presets note while they shape a conversation: what was dropped, what was changed, and what cannot be held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from pipeline.checks import shapes
from pipeline.model import Found


class CannotHoldError(Exception):
    """A preset has no place for something that cannot be left out; the finding says what."""

    def __init__(self, found: Found) -> None:
        super().__init__(found.text)
        self.found = found


@dataclass(slots=True)
class Notes:
    """Counts by kind, in words."""

    dropped: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)

    def drop(self, kinds: Iterable[str]) -> None:
        """These have no place in the record."""
        self.dropped.update(kinds)

    def add(self, other: Notes) -> None:
        """What was noted elsewhere."""
        self.dropped.update(other.dropped)
        self.changed.update(other.changed)

    def findings(self) -> list[Found]:
        """At most one finding for each sort."""
        found = [shapes.shape_dropped(self.dropped)] if self.dropped else []
        return [*found, shapes.shape_changed(self.changed)] if self.changed else found
