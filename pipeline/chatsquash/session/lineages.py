"""Find logs of a run that repeat one another, and replies in them that are counted in another log.

A fork or a resumed session may begin with the messages of its parent. Logs with the same first message form a lineage,
as do a log and the parent it refers to. Lineages are not searched for until the first agent file is converted, so that
a run on other logs opens none of them twice.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from xxhash import xxh3_128

from chatsquash.core.index import Index, Sets
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.storage import is_remote

if TYPE_CHECKING:
    from chatsquash.formats.ancestry import Ancestry
    from chatsquash.reading.documents import LogDocument
    from chatsquash.trees.copies import LineageMember, SampledReply

MOST = 1_000
"""The maximum number of logs compared in a lineage."""
_SAMPLE = 16
"""The number of logs sampled to decide whether a run contains agent files."""
_RECENT = 256
"""The number of lineages whose copies are cached, as a few numbers for each file."""


class Lineages:
    """The lineages among the logs of a run."""

    def __init__(self, logs: Sequence[Log], options: Options) -> None:
        self._logs, self._options = logs, options
        self._members: dict[str, list[int]] | None = None
        """The numbers of the logs in a lineage, by the display path of each of them; other logs are absent."""
        self._copies: OrderedDict[str, dict[str, frozenset[int]]] = OrderedDict()

    def look_ahead(self) -> None:
        """Search for lineages now if a sample of the logs contains agent files, to save workers from doing so."""
        from chatsquash.reading.ancestry import ancestry  # imported here because not every process needs it

        step = max(1, len(self._logs) // _SAMPLE)
        if self._logs and is_remote(self._logs[0].path):
            step = len(self._logs)  # each remote log costs a request
        if any(ancestry(self._logs[at], self._options).keys for at in range(0, len(self._logs), step)):
            self.groups()

    def known_groups(self) -> list[list[int]]:
        """Return the groups if lineages were already searched for, else an empty list."""
        return self.groups() if self._members is not None else []

    def groups(self) -> list[list[int]]:
        """Return the numbers of the logs in each lineage."""
        return list({id(each): each for each in self._by_path().values()}.values())

    def state(self, log: Log) -> bytes:
        """Return a fingerprint of the other logs in a log's lineage, or empty bytes if there is no other log."""
        others = [each for each in self._lineage(log) if each.display_path != log.display_path]
        digest = xxh3_128()
        for each in others:
            digest.update(f"{each.display_path}\n{each.size} {each.modified}\n".encode("utf-8", "surrogatepass"))
        return digest.digest() if others else b""

    def excess(self, log: Log) -> int:
        """Return the number of logs in a log's lineage if there are too many to compare, else 0."""
        count = len(self._by_path().get(log.display_path, ())) - 1
        return count if count >= MOST else 0

    def mark(self, document: LogDocument, log: Log) -> None:
        """Mark the replies of a document that are counted in another log."""
        members = self._lineage(log)
        if not members or len(members) > MOST or log.unit is not None:
            return  # the format itself relates the sessions of a database
        from chatsquash.trees.documents import paths_of

        paths = paths_of(document)
        copy_numbers = self._copies_in(members, document, log)
        for reply in (reply for path in paths for reply in path.replies):
            reply.is_copy = reply.number in copy_numbers

    def _copies_in(self, members: list[Log], document: LogDocument, log: Log) -> frozenset[int]:
        """Return the numbers of the replies that are counted in another log."""
        from chatsquash.trees.copies import copies, sampled_replies
        from chatsquash.trees.documents import paths_of

        first = members[0].display_path
        if first not in self._copies:
            known = {log.display_path: sampled_replies(paths_of(document))}
            paths = [each.display_path for each in members]
            self._copies[first] = dict(zip(paths, copies([self._read(each, known) for each in members]), strict=True))
            if len(self._copies) > _RECENT:
                self._copies.popitem(last=False)
        return self._copies[first][log.display_path]

    def _read(self, log: Log, known: dict[str, list[SampledReply]]) -> LineageMember:
        """Read a log of a lineage; ``known`` contains the replies of logs already read."""
        from chatsquash.reading.ancestry import ancestry
        from chatsquash.trees.copies import LineageMember

        origin = ancestry(log, self._options)
        replies = known.get(log.display_path)
        if replies is None:
            replies = _replies(log, self._options)
        return LineageMember(f"{log.name}\n{log.display_path}", origin.session, origin.parents, origin.started, replies)

    def _lineage(self, log: Log) -> list[Log]:
        """Return the logs in the lineage of a log, or an empty list if it has no lineage."""
        return [self._logs[number] for number in self._by_path().get(log.display_path, ())]

    def _by_path(self) -> dict[str, list[int]]:
        if self._members is None:
            self._members = self._find()
        return self._members

    def _find(self) -> dict[str, list[int]]:
        """Join logs with a common first message, and logs that refer to or contain another."""
        known = [*self._ancestries()]
        sets, keys = Sets(), Index()
        sessions: dict[str, list[int]] = {}
        for place, (_, origin) in enumerate(known):
            sets.add()
            sessions.setdefault(origin.session, []).append(place)
            for key in origin.keys:
                if (before := keys.put(key, place)) is not None:
                    sets.join(before, place)
        for place, (_, origin) in enumerate(known):
            for other in (each for parent in origin.parents for each in sessions.get(parent, ())):
                sets.join(place, other)
        numbers = [number for number, _ in known]
        later = {
            origin.summary: place for place, (_, origin) in enumerate(known) if origin.summary and not origin.parents
        }
        for place, other in self._with_summaries(later, numbers):
            sets.join(place, other)
        groups: dict[int, list[int]] = {}
        for place, number in enumerate(numbers):
            groups.setdefault(sets.find(place), []).append(number)
        return {self._logs[each].display_path: group for group in groups.values() if len(group) > 1 for each in group}

    def _ancestries(self) -> Iterator[tuple[int, Ancestry]]:
        """Yield the number of each agent file once, with the origin of its session."""
        from chatsquash.reading.ancestry import ancestry

        seen: set[str] = set()
        for number, log in enumerate(self._logs) if len(self._logs) > 1 else ():
            if log.display_path in seen:
                continue  # another conversation of the same file
            if (origin := ancestry(log, self._options)).keys:
                seen.add(log.display_path)
                yield number, origin

    def _with_summaries(self, summaries: dict[str, int], numbers: list[int]) -> Iterator[tuple[int, int]]:
        """Find files that contain the summary at the beginning of another file in the same folders.

        ``summaries`` maps the ids of these summaries to the positions of the other files in ``numbers``.
        """
        if not summaries:
            return
        from chatsquash.reading.ancestry import ids_in

        folders = {_folder(self._logs[numbers[place]]) for place in summaries.values()}
        for other, number in enumerate(numbers):
            log = self._logs[number]
            for name in ids_in(log, summaries, self._options) if _folder(log) in folders else ():
                yield summaries[name], other


def _folder(log: Log) -> str:
    return log.display_path.rpartition("/")[0]


def _replies(log: Log, options: Options) -> list[SampledReply]:
    """Return the identifying data of a log's replies, or an empty list if it cannot be read."""
    from chatsquash.formats.base import TurnError
    from chatsquash.reading.identify import read_document
    from chatsquash.sources.open import open_file
    from chatsquash.trees.copies import sampled_replies
    from chatsquash.trees.documents import paths_of

    try:
        with open_file(log.path, options) as file:
            document = read_document(file, options)
    except (OSError, TurnError, MemoryError):
        return []
    return sampled_replies(paths_of(document)) if document else []
