"""The sessions in a file, by their ids or by their histories; the order and the days of its lines."""

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
    """The sessions in a file, as ``split`` gives them; a session that was found, with its lines in order.

    Where no line has an id and no request goes on from another, each exchange is one, unless the user said what is.
    The first session of a file that only its ids tell to be mixed has the number of all.
    """
    return sessions.split(log, options, expanded, _parts) if log.spans is None else [_in_order(log, options)]


def _parts(log: Log, file: BinaryIO, options: Options) -> list[Log]:
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


def _by_tree(whole: Log, log: Log, file: BinaryIO, options: Options, *, is_mixed: bool) -> list[Log]:
    """The sessions among lines that name none, whose places ``whole`` has.

    Of a log that mixes sessions these are the requests that go on from one another; of any other one each exchange is
    one if none goes on from another, and else all are one.
    """
    followed = GrowthTracker()
    file.seek(0)
    reader = Reader(replace(options, sessions_by="file"))
    for item in reader.read(file, whole if is_mixed else log).items:
        if isinstance(item, Entry):
            if item.session_id is not None:
                return [whole]
            followed.add(item)
    trees = followed.branch()
    if not (is_mixed or are_unrelated(trees)):
        return [whole]
    trees_of = {reply.line: reply.tree for reply in trees.replies}
    trees_of |= {each.line: each.by.tree for each in trees.repeats}
    spans = whole.spans or array("Q")
    places: dict[int, array[int]] = {}
    session = 0
    for at in range(0, len(spans), SPAN):
        session = trees_of.get(spans[at], session)
        places.setdefault(session, array("Q")).extend(spans[at : at + SPAN])
    logs = [structs.replace(whole, size=sum(each[2::SPAN]), spans=each) for each in places.values()]
    return logs if is_mixed else [structs.replace(logs[0], separate_sessions=len(logs)), *logs[1:]]


def _in_order(log: Log, options: Options) -> Log:
    """A session of one file with its lines in the order of their times; those without one go with the line before."""
    spans = log.spans or array("Q")
    known: dict[int, int] = {}
    with open_file(log.path, options) as file:
        for item in Reader(replace(options, sessions_by="file")).read(file, log).items:
            if isinstance(item, Entry):
                known[item.line] = pack_time(item.at)
    times = fill_unknown(array("q", (known.get(line, UNKNOWN) for line in spans[::SPAN])))
    ordered = array("Q")
    for number in sorted(range(len(times)), key=times.__getitem__):
        ordered.extend(spans[SPAN * number : SPAN * (number + 1)])
    return structs.replace(log, spans=ordered, reordered_lines=behind(times))


_FARTHEST = (1 << 63) - 1
UNKNOWN = -_FARTHEST - 1
"""What stands for a number that is not known."""


def pack_time(at: int | None) -> int:
    """A time as far as it fits into 64 bits."""
    return UNKNOWN if at is None else max(-_FARTHEST, min(at, _FARTHEST))


def fill_unknown(numbers: array[int], otherwise: int = 0) -> array[int]:
    """Numbers of which each unknown one is that before it, and those at the beginning are the first known one."""
    last = next((number for number in numbers if number != UNKNOWN), otherwise)
    filled = array("q")
    for number in numbers:
        last = last if number == UNKNOWN else number
        filled.append(last)
    return filled


def behind(times: Iterable[int]) -> int:
    """How many times stand behind later ones."""
    count, latest = 0, UNKNOWN
    for at in times:
        count += at < latest
        latest = max(at, latest)
    return count


def days_logged(options: Options, log: Log) -> list[str]:
    """The UTC date of the first readable time that cleaning leaves in a log: that by which it is grouped.

    Of a document that holds several sessions, the dates of all of them; of a log each of whose conversations may become
    a record, all dates.
    """
    with open_file(log.path, options) as file:
        items = Reader(replace(options, sessions_by="file")).read(file, log).items
        left = (entry for entry in plan(options, None).clean_entries(items) if isinstance(entry, Entry))
        first = next((entry for entry in left if entry.origin or entry.at is not None), None)
        times = [first.at if first else None]
        if options.divides and first and not first.origin:
            times += [entry.at for entry in left]  # since any line may begin a conversation
        if first and first.origin and options.sessions_by != "file":
            document = document_in(file, options)  # which was read just now
            times = [each.origin.started_at for each in document.conversations if each.origin] if document else []
        return list(dict.fromkeys(day(at) for at in times if at is not None))
