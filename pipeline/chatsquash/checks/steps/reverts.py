"""Edits that later edits of the same files revert."""

from __future__ import annotations

from collections.abc import Iterable

from chatsquash.checks.steps.changes import Change, Segment
from chatsquash.checks.steps.edits import Edit

_CANDIDATES = 8
"""The maximum number of earlier changes with the same texts whose contexts are compared."""
Key = tuple[tuple[tuple[bytes, bytes], ...], str]
"""The old and the new texts of a change, and which occurrences it replaces."""


class _FileHistory:
    """The changes of a file, and its known contents."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.live: list[int] = []
        """The numbers of the changes that are not reverted by writing the file, in order."""
        self.by_key: dict[Key, list[int]] = {}
        self.contents: dict[bytes, int] = {}
        """The number of changes before the file last had a content, by its digest."""
        self.reverted: set[int] = set()
        self.partners: dict[int, int] = {}
        """The change that a replacement reverts, by the number of the replacement."""

    def add(self, change: Change) -> None:
        """Add a change, and mark the changes that it reverts."""
        if change.kind == "undo":
            self._revert_last()
            return
        if change.kind == "edit":
            if change.content is not None:
                self._restore(change.content)
            elif change.segments:
                self._swap_all(change)
            number = len(self.changes)
            self.changes.append(change)
            self.live.append(number)
            if change.segments:
                self.by_key.setdefault(_key(change.segments, change.mode), []).append(number)
        if change.content is not None:
            self.contents[change.content] = len(self.changes)

    def _revert_last(self) -> None:
        while self.live:
            number = self.live.pop()
            if number not in self.reverted:
                self.reverted.add(number)
                return

    def _restore(self, content: bytes) -> None:
        """Mark the changes since the file had the same content."""
        since = self.contents.get(content)
        while since is not None and self.live and self.live[-1] >= since:
            number = self.live.pop()
            if self.partners.get(number, -1) < since:  # otherwise, it reverted a change that is also gone
                self.reverted.add(number)

    def _swap_all(self, change: Change) -> None:
        """Mark the change that has exactly the opposite replacements, or else one for each replacement."""
        if not self._swap(change.segments, change.mode) and len(change.segments) > 1:
            for segment in change.segments:
                self._swap((segment,), change.mode)

    def _swap(self, segments: tuple[Segment, ...], mode: str) -> bool:
        """Mark the latest change that replaced the new texts with the old ones."""
        swapped = tuple(sorted((segment.new, segment.old) for segment in segments))
        numbers = self.by_key.get((swapped, mode), [])
        for place in range(len(numbers) - 1, max(-1, len(numbers) - 1 - _CANDIDATES), -1):
            number = numbers[place]
            if number not in self.reverted and _reverts(segments, self.changes[number].segments):
                self.reverted.add(number)
                self.partners[len(self.changes)] = number
                del numbers[place]
                return True
        return False


def _reverts(segments: tuple[Segment, ...], others: tuple[Segment, ...]) -> bool:
    """Return whether each replacement reverts one of the others, which replace the same texts."""
    remaining = sorted(others, key=lambda each: (each.old, each.new))
    for segment in sorted(segments, key=lambda each: (each.new, each.old), reverse=True):
        last = range(len(remaining) - 1, max(-1, len(remaining) - 1 - _CANDIDATES), -1)
        place = next((at for at in last if segment.reverts(remaining[at])), None)
        if place is None:
            return False
        del remaining[place]
    return True


def _key(segments: tuple[Segment, ...], mode: str) -> Key:
    return tuple(sorted((segment.old, segment.new) for segment in segments)), mode


def reverted_edits(edits: Iterable[Edit]) -> set[int]:
    """Return the messages with an edit of which later edits revert all changes exactly."""
    files: dict[str, _FileHistory] = {}
    places: list[tuple[int, list[tuple[_FileHistory, int]]]] = []
    for edit in edits:
        numbers: list[tuple[_FileHistory, int]] = []
        for change in edit.changes:
            file = files.setdefault(change.file, _FileHistory())
            if change.kind == "edit" and (change.segments or change.content is not None):
                numbers.append((file, len(file.changes)))
            file.add(change)
        places.append((edit.at, numbers))
    return {at for at, numbers in places if numbers and all(number in file.reverted for file, number in numbers)}
