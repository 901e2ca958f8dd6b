"""Files of no known format: reported once, not line by line; those that an agent keeps beside sessions are counted."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from chatsquash.core.model import Entry, LogHead, RepeatedViolation, SkippedLine
from chatsquash.formats import documents
from chatsquash.reading.identify import PART
from chatsquash.sources import relatives
from chatsquash.sources.lines import Line

_Items = Generator[Entry | SkippedLine, None, str | None]


def describe(head: LogHead, path: str) -> LogHead:
    """What reports show of a file: nothing of one that is located where an agent keeps parts of a session."""
    is_part = not head.conflict and any(map(relatives.is_there, documents.owners(path)))
    return head._replace(why="") if is_part else head


def items(lines: _Items, rest: Iterator[Line], *, is_part: bool) -> _Items:
    """The items of a file of which no line may be an exchange: its lines that cannot be read, as one item.

    If a later line is an exchange after all, or one of another endpoint, each line is reported. ``rest`` are the lines
    that follow those that are read.
    """
    waiting: list[SkippedLine] = []
    ended: str | None = None
    while True:
        try:
            item = next(lines)
        except StopIteration as stop:
            ended = stop.value
            break
        if isinstance(item, Entry) or (item.findings and item.why != "unreadable"):
            yield from waiting
            yield item
            return (yield from lines)
        waiting.append(item)
    unread = [each for each in waiting if each.why == "unreadable"]
    yield from (each for each in waiting if each.why != "unreadable")
    counted, size = len(unread), sum(each.size for each in unread)
    if ended:
        for line in rest:
            counted += 1
            size += line.size
    if counted:
        yield _together(counted, size, is_part=is_part)
    return None


def _together(lines: int, size: int, *, is_part: bool) -> SkippedLine:
    if not is_part:
        return SkippedLine(lines=lines, size=size)
    return SkippedLine(why="blank", lines=lines, size=size, findings=(RepeatedViolation("no-exchange", (PART,)),))
