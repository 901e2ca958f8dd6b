"""Edits that a later edit of the same file reverts."""

from __future__ import annotations

from collections.abc import Iterable

from chatsquash.checks.steps.edits import Edit, Segment

_CANDIDATES = 8
"""The maximum number of earlier edits with the same texts whose contexts are compared."""
Key = tuple[tuple[tuple[bytes, bytes], ...], str]
"""The old and the new texts of an edit, and which occurrences it replaces."""


class _File:
    """The edits of a file that are not reverted, and its known contents."""

    def __init__(self) -> None:
        self.edits: list[Edit] = []
        self.live: list[int] = []
        """The numbers of the edits that are not reverted, in order."""
        self.by_key: dict[Key, list[int]] = {}
        self.contents: dict[bytes, int] = {}
        """The number of edits before the file last had a content, by its digest."""
        self.reverted: set[int] = set()
        self.partners: dict[int, int] = {}
        """The edit that a replacement reverts, by the number of the replacement."""

    def add(self, edit: Edit) -> None:
        """Add an edit, and mark the edits that it reverts."""
        if edit.is_undo:
            self._revert_last()
            return
        if edit.content is not None:
            self._restore(edit.content)
        elif edit.segments:
            self._swap_all(edit)
        number = len(self.edits)
        self.edits.append(edit)
        self.live.append(number)
        if edit.segments:
            self.by_key.setdefault(_key(edit.segments, edit.mode), []).append(number)
        if edit.content is not None:
            self.contents[edit.content] = len(self.edits)

    def _revert_last(self) -> None:
        while self.live:
            number = self.live.pop()
            if number not in self.reverted:
                self.reverted.add(number)
                return

    def _restore(self, content: bytes) -> None:
        """Mark the edits since the file had the same content."""
        since = self.contents.get(content)
        while since is not None and self.live and self.live[-1] >= since:
            number = self.live.pop()
            if self.partners.get(number, -1) < since:  # otherwise, it reverted an edit that is also gone
                self.reverted.add(number)

    def _swap_all(self, edit: Edit) -> None:
        """Mark the edit that has exactly the opposite replacements, or else one for each replacement."""
        if not self._swap(edit.segments, edit.mode) and len(edit.segments) > 1:
            for segment in edit.segments:
                self._swap((segment,), edit.mode)

    def _swap(self, segments: tuple[Segment, ...], mode: str) -> bool:
        """Mark the latest edit that replaced the new texts with the old ones."""
        swapped = tuple(sorted((segment.new, segment.old) for segment in segments))
        numbers = self.by_key.get((swapped, mode), [])
        by_texts = {(segment.old, segment.new): segment for segment in segments}
        for place in range(len(numbers) - 1, max(-1, len(numbers) - 1 - _CANDIDATES), -1):
            number = numbers[place]
            if number in self.reverted:
                continue
            if all(by_texts[each.new, each.old].reverts(each) for each in self.edits[number].segments):
                self.reverted.add(number)
                self.partners[len(self.edits)] = number
                del numbers[place]
                return True
        return False


def _key(segments: tuple[Segment, ...], mode: str) -> Key:
    return tuple((segment.old, segment.new) for segment in segments), mode


def undone(edits: Iterable[Edit]) -> set[int]:
    """Return the messages with an edit that a later edit reverts exactly."""
    files: dict[str, _File] = {}
    for edit in edits:
        files.setdefault(edit.file, _File()).add(edit)
    return {file.edits[number].at for file in files.values() for number in file.reverted}
