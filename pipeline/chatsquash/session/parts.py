"""Split a file into its sessions, by id or by history, and determine the order and the days of its lines."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import replace
from typing import BinaryIO

from msgspec import structs

from chatsquash.core.log import Log
from chatsquash.core.model import Entry
from chatsquash.core.options import Options
from chatsquash.core.times import day
from chatsquash.reading import sessions
from chatsquash.reading.identify import document_in, identify
from chatsquash.reading.reader import Reader
from chatsquash.reading.sessions import SPAN
from chatsquash.session.plan import plan
from chatsquash.sources.open import open_file
from chatsquash.storage.folder import Folder
from chatsquash.trees.growth_tracking import GrowthTracker
from chatsquash.trees.kinds import are_unrelated


def parts(log: Log, options: Options, expanded: Folder | None = None) -> list[Log]:
    """Return the sessions in a file; a log that is already a session is returned with its lines sorted by time.

    If no line has an id and no request continues another, each exchange is a session unless the user set
    ``--sessions-by``. If only the ids show that a file is mixed, the first session records the number of sessions.
    """
    return sessions.split(log, options, expanded, parts_in) if log.spans is None else [_in_order(log, options)]


def parts_in(log: Log, file: BinaryIO, options: Options) -> list[Log]:
    """Return the sessions in an open file."""
    places = sessions.places_by_id(file, options)
    logs = [sessions.part_of(log, spans) for spans in places.values()] or [log]
    if options.sessions_by is not None:
        return logs
    file.seek(0)
    may_mix = identify(file, options).may_mix
    if not may_mix and len(logs) > 1:
        return [structs.replace(logs[0], grouped_sessions=len(logs)), *logs[1:]]
    if None not in places:
        return logs
    nameless = list(places).index(None)
    if may_mix:
        logs[nameless : nameless + 1] = _by_tree(logs[nameless], log, file, options, is_mixed=True)
        return logs
    return _by_tree(logs[0], log, file, options, is_mixed=False)


def _by_tree(lines_log: Log, log: Log, file: BinaryIO, options: Options, *, is_mixed: bool) -> list[Log]:
    """Return the sessions among lines without ids; ``lines_log`` has their positions.

    In a log that mixes sessions, requests that continue one another form a session. In any other log, each exchange is
    a session if none continues another one; otherwise all of them are one session.
    """
    growth = GrowthTracker()
    file.seek(0)
    reader = Reader(replace(options, sessions_by="file"))
    for item in reader.read(file, lines_log if is_mixed else log).items:
        if isinstance(item, Entry):
            if item.session_id is not None:
                return [lines_log]
            growth.add(item)
    trees = growth.branch()
    if not (is_mixed or are_unrelated(trees)):
        return [lines_log]
    trees_of = {reply.line: reply.tree for reply in trees.replies}
    trees_of |= {each.line: each.by.tree for each in trees.repeats}
    spans = lines_log.spans or array("Q")
    places: dict[int, array[int]] = {}
    session = 0
    for at in range(0, len(spans), SPAN):
        session = trees_of.get(spans[at], session)
        places.setdefault(session, array("Q")).extend(spans[at : at + SPAN])
    logs = [structs.replace(lines_log, size=sum(each[2::SPAN]), spans=each) for each in places.values()]
    return logs if is_mixed else [structs.replace(logs[0], separate_sessions=len(logs)), *logs[1:]]


def _in_order(log: Log, options: Options) -> Log:
    """Sort the lines of a session in one file by time; lines without a time stay after the line before."""
    spans = log.spans or array("Q")
    known: dict[int, int] = {}
    with open_file(log.path, options) as file:
        for item in Reader(replace(options, sessions_by="file")).read(file, log).items:
            if isinstance(item, Entry):
                known[item.line] = pack_time(item.at)
    times = fill_unknown(array("q", (known.get(line, UNKNOWN) for line in spans[::SPAN])))
    sorted_spans = array("Q")
    for number in sorted(range(len(times)), key=times.__getitem__):
        sorted_spans.extend(spans[SPAN * number : SPAN * (number + 1)])
    return structs.replace(log, spans=sorted_spans, reordered_lines=count_out_of_order(times))


_MAX_TIME = (1 << 63) - 1
UNKNOWN = -_MAX_TIME - 1
"""A placeholder for an unknown number."""


def pack_time(at: int | None) -> int:
    """Clamp a time to 64 bits; return ``UNKNOWN`` for ``None``."""
    return UNKNOWN if at is None else max(-_MAX_TIME, min(at, _MAX_TIME))


def fill_unknown(numbers: array[int], default: int = 0) -> array[int]:
    """Replace each unknown number with the one before it; unknown numbers at the start become the first known one."""
    last = next((number for number in numbers if number != UNKNOWN), default)
    result = array("q")
    for number in numbers:
        last = last if number == UNKNOWN else number
        result.append(last)
    return result


def count_out_of_order(times: Iterable[int]) -> int:
    """Count the times that are after a later one."""
    count, latest = 0, UNKNOWN
    for at in times:
        count += at < latest
        latest = max(at, latest)
    return count


def days_logged(options: Options, log: Log) -> list[str]:
    """Return the UTC dates for grouping a log: usually the date of its first readable time after cleaning.

    A document with several sessions has the dates of all of them. A log whose conversations may each become a record
    has the dates of all its entries.
    """
    with open_file(log.path, options) as file:
        items = Reader(replace(options, sessions_by="file")).read(file, log).items
        entries = (entry for entry in plan(options, None).clean_entries(items) if isinstance(entry, Entry))
        first = next((entry for entry in entries if entry.origin or entry.at is not None), None)
        times = [first.at if first else None]
        if options.divides and first and not first.origin:
            times += [entry.at for entry in entries]  # any line may begin a conversation
        if first and first.origin and options.sessions_by != "file":
            document = document_in(file, options)  # already parsed above
            times = [each.origin.started_at for each in document.conversations if each.origin] if document else []
        return list(dict.fromkeys(day(at) for at in times if at is not None))
