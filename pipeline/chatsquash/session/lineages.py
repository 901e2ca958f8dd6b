"""Which logs of a run repeat one another, and which of their replies count in another log.

A fork or a resumed session may begin with the messages of its parent.  Logs with the same first message, and those that
name a parent, are a lineage.  The index is built when the first file of an agent is converted, so that a run on other
logs does not open any of them twice.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence

from xxhash import xxh3_128

from chatsquash.core import jsonio
from chatsquash.core.index import Index, Sets
from chatsquash.core.log import Log
from chatsquash.core.model import Json
from chatsquash.core.options import Options
from chatsquash.formats.ancestry import Ancestry, of_objects
from chatsquash.formats.base import TurnError
from chatsquash.reading import envelopes
from chatsquash.reading.documents import LogDocument
from chatsquash.reading.identify import read_document
from chatsquash.sources.beginnings import complete, read
from chatsquash.sources.open import open_file
from chatsquash.trees.copies import Member, SampledReply, copies, sampled_replies
from chatsquash.trees.documents import paths_of

_GLANCES = (1 << 16, 1 << 20)
"""Bytes of a log in which its first message is looked for."""
_OBJECTS = 200
"""Lines in which it is looked for."""
MOST = 1_000
"""Logs of a lineage that are compared."""
_RECENT = 4
"""Lineages whose copies are remembered: forks are usually next to their parents."""


class Lineages:
    """The lineages among the logs of a run."""

    def __init__(self, logs: Sequence[Log], options: Options) -> None:
        self._logs, self._options = logs, options
        self._members: dict[str, list[int]] | None = None
        """The numbers of the logs of a lineage, by the shown paths of all of them; others are missing."""
        self._copies: OrderedDict[int, dict[str, frozenset[int]]] = OrderedDict()

    def members(self, log: Log) -> list[Log]:
        """The logs of the lineage of a log; empty if it is alone."""
        if self._members is None:
            self._members = self._find()
        return [self._logs[number] for number in self._members.get(log.shown, ())]

    def groups(self) -> list[list[int]]:
        """The numbers of the logs of each lineage."""
        if self._members is None:
            self._members = self._find()
        return list({id(each): each for each in self._members.values()}.values())

    def state(self, log: Log) -> bytes:
        """A fingerprint of the other logs of a lineage; empty if there are none."""
        others = [each for each in self.members(log) if each.shown != log.shown]
        digest = xxh3_128()
        for each in others:
            digest.update(f"{each.shown}\n{each.size} {each.modified}\n".encode("utf-8", "surrogatepass"))
        return digest.digest() if others else b""

    def mark(self, document: LogDocument, log: Log) -> None:
        """Mark the replies of a document that count in another log."""
        members = self.members(log)
        if not members or len(members) > MOST or log.unit is not None:
            return
        paths = paths_of(document)
        first = members[0].number
        if first not in self._copies:
            known = {log.shown: sampled_replies(paths)}
            read_members = [self._read(each, known) for each in members]
            names = [each.shown for each in members]
            self._copies[first] = dict(zip(names, copies(read_members), strict=True))
            if len(self._copies) > _RECENT:
                self._copies.popitem(last=False)
        copied = self._copies[first][log.shown]
        for reply in (reply for path in paths for reply in path.replies):
            reply.is_copy = reply.number in copied

    def _read(self, log: Log, known: dict[str, list[SampledReply]]) -> Member:
        """A log of a lineage; ``known`` are the replies of logs that are open."""
        origin = ancestry(log, self._options)
        replies = known.get(log.shown)
        if replies is None:
            replies = _replies(log, self._options)
        return Member(f"{log.name}\n{log.shown}", origin.session, origin.parents, origin.begun, replies)

    def _find(self) -> dict[str, list[int]]:
        """Join the logs that have a first message in common, and those of which one names the other."""
        sets, keys = Sets(), Index()
        sessions: dict[str, list[int]] = {}
        named: list[tuple[int, str]] = []
        places: list[int] = []
        for log in self._logs:
            origin = ancestry(log, self._options)
            if not origin.keys:
                continue
            place = sets.add()
            places.append(log.number)
            for key in origin.keys:
                before = keys.get(key)
                if before is None:
                    keys.put(key, place)
                else:
                    sets.join(before, place)
            sessions.setdefault(origin.session, []).append(place)
            named += [(place, parent) for parent in origin.parents]
        for place, parent in named:
            for other in sessions.get(parent, ()):
                sets.join(place, other)
        groups: dict[int, list[int]] = {}
        for place, number in enumerate(places):
            groups.setdefault(sets.find(place), []).append(number)
        return {self._logs[each].shown: group for group in groups.values() if len(group) > 1 for each in group}


def ancestry(log: Log, options: Options) -> Ancestry:
    """What a log says of its own session and of the one that it repeats; nothing for a log of exchanges."""
    for most in _GLANCES:
        try:
            with open_file(log.path, options) as file:
                data = read(file, most)
        except OSError:
            return Ancestry()
        found = of_objects(_objects(data, is_all=len(data) < most))
        if found.keys or len(data) < most or envelopes.recognise(data.partition(b"\n")[0]) is not None:
            return found
    return Ancestry()


def _objects(data: bytes, *, is_all: bool) -> Iterator[Json]:
    """The first values of a file, which may be cut."""
    first, feed, _ = data.partition(b"\n")
    if not feed or jsonio.value(first) is None:
        value = jsonio.value(data if is_all else complete(data))
        yield from value if isinstance(value, list) else [value]
        return
    lines = data.split(b"\n", _OBJECTS)
    for line in lines if is_all and len(lines) <= _OBJECTS else lines[:-1]:
        if (value := jsonio.value(line)) is not None:
            yield value


def _replies(log: Log, options: Options) -> list[SampledReply]:
    try:
        with open_file(log.path, options) as file:
            document = read_document(file, options)
    except (OSError, TurnError, MemoryError):
        return []
    return sampled_replies(paths_of(document)) if document else []
