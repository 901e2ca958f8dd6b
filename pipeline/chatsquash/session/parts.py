"""The sessions in a file: by their ids, else by what its requests go on from."""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import BinaryIO

from msgspec import structs

from chatsquash.core.log import Log
from chatsquash.core.model import Entry
from chatsquash.core.options import Options
from chatsquash.reading import recognise, sessions
from chatsquash.reading.reader import Reader
from chatsquash.reading.sessions import SPAN
from chatsquash.session.order import UNKNOWN, behind, carried, packed
from chatsquash.sources.open import opened
from chatsquash.storage.folder import Folder
from chatsquash.trees.growth_tracking import Followed
from chatsquash.trees.selection import are_unrelated


def parts(log: Log, options: Options, expanded: Folder | None = None) -> list[Log]:
    """The sessions in a file, as ``split`` gives them; a session that was found, with its lines in order.

    Where no line has an id and no request goes on from another, each exchange is one, unless the user said what is.
    """
    return sessions.split(log, options, expanded, _parts) if log.spans is None else [_in_order(log, options)]


def _parts(log: Log, file: BinaryIO, options: Options) -> list[Log]:
    places = sessions.places_by_id(file, options)
    found = [sessions.part(log, spans) for spans in places.values()] or [log]
    if options.sessions_by is not None or None not in places:
        return found
    nameless = list(places).index(None)
    file.seek(0)
    if recognise.look(file, options.from_format, options.max_memory)[0].envelope.MIXES:
        found[nameless : nameless + 1] = _by_tree(found[nameless], log, file, options, is_mixed=True)
        return found
    return found if len(found) > 1 else _by_tree(found[0], log, file, options, is_mixed=False)


def _by_tree(whole: Log, log: Log, file: BinaryIO, options: Options, *, is_mixed: bool) -> list[Log]:
    """The sessions among lines that name none, whose places ``whole`` has.

    Of a log that mixes sessions these are the requests that go on from one another; of any other one each exchange is
    one if none goes on from another, and else all are one.
    """
    followed = Followed()
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
    trees_of |= {each.line: each.by.tree for each in trees.again}
    spans = whole.spans or array("Q")
    places: dict[int, array[int]] = {}
    session = 0
    for at in range(0, len(spans), SPAN):
        session = trees_of.get(spans[at], session)
        places.setdefault(session, array("Q")).extend(spans[at : at + SPAN])
    logs = [structs.replace(whole, size=sum(each[2::SPAN]), spans=each) for each in places.values()]
    return logs if is_mixed else [structs.replace(logs[0], apart=len(logs)), *logs[1:]]


def _in_order(log: Log, options: Options) -> Log:
    """A session of one file with its lines in the order of their times; those without one go with the line before."""
    spans = log.spans or array("Q")
    known: dict[int, int] = {}
    with opened(log.path, options) as file:
        for item in Reader(replace(options, sessions_by="file")).read(file, log).items:
            if isinstance(item, Entry):
                known[item.line] = packed(item.at)
    times = carried(array("q", (known.get(line, UNKNOWN) for line in spans[::SPAN])))
    found = array("Q")
    for number in sorted(range(len(times)), key=times.__getitem__):
        found.extend(spans[SPAN * number : SPAN * (number + 1)])
    return structs.replace(log, spans=found, reordered=behind(times))
