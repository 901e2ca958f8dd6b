"""Report files of unknown formats once instead of line by line; files that belong to agent sessions are counted."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from msgspec.structs import replace

from chatsquash.core.model import Entry, LogHead, RepeatedViolation, SkippedLine
from chatsquash.formats import documents
from chatsquash.reading.identify import PART
from chatsquash.sources import relatives
from chatsquash.sources.lines import Line

_Items = Generator[Entry | SkippedLine, None, str | None]


def describe(head: LogHead, path: str) -> LogHead:
    """Return the head of a file for reports, without a reason if the file belongs to an agent's session."""
    is_part = not head.conflict and any(map(relatives.exists, documents.owners(path)))
    return replace(head, why="") if is_part else head


def items(lines: _Items, rest: Iterator[Line], *, is_part: bool) -> _Items:
    """Yield the items of a file that probably has no exchanges, with its unreadable lines combined into one item.

    If a later line is an exchange after all, or a call to another endpoint, each line is reported.

    Args:
        lines: The items of the lines.
        rest: The lines that were not read yet.
        is_part: Whether the file is part of another one.
    """
    pending: list[SkippedLine] = []
    stop_reason: str | None = None
    while True:
        try:
            item = next(lines)
        except StopIteration as stop:
            stop_reason = stop.value
            break
        if isinstance(item, Entry) or (item.findings and item.why != "unreadable"):
            yield from pending
            yield item
            return (yield from lines)
        pending.append(item)
    unread = [each for each in pending if each.why == "unreadable"]
    yield from (each for each in pending if each.why != "unreadable")
    count, size = len(unread), sum(each.size for each in unread)
    if stop_reason:
        for line in rest:
            count += 1
            size += line.size
    if count:
        yield _combine(count, size, is_part=is_part)
    return None


def _combine(lines: int, size: int, *, is_part: bool) -> SkippedLine:
    if not is_part:
        return SkippedLine(lines=lines, size=size)
    return SkippedLine(why="blank", lines=lines, size=size, findings=(RepeatedViolation("no-exchange", (PART,)),))
