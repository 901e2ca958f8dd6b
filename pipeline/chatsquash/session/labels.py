"""Match the replies of a session with the rows of ``--loss-labels``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

from msgspec.structs import replace

from chatsquash.core.accounting import ReplyOutcome
from chatsquash.core.labels import LabelRow, Labels, unpack
from chatsquash.core.log import Log
from chatsquash.core.text import numbered_id, printable
from chatsquash.reading.documents import LogDocument
from chatsquash.session.session import Session
from chatsquash.sources.compression import stem
from chatsquash.trees.documents import paths_of
from chatsquash.trees.paths import LoggedReply

_Place = tuple[str, int]


class _Occurrence(NamedTuple):
    """A reply with everything by which a row may name it."""

    number: int
    replies: list[LoggedReply]
    """The reply, once for each conversation of a file that contains it."""
    ids: list[str]
    places: list[_Place]


class LabelMatcher:
    """Sets the weights of replies.

    Args:
        labels: The rows.
        hide: Returns a name without private values, as reports show it.
    """

    def __init__(self, labels: Labels, hide: Callable[[str], str]) -> None:
        self._labels = labels
        self._names = cache(lambda name: tuple({printable(name): None, printable(hide(name)): None}))
        self._document: LogDocument | None = None
        """The last document, whose replies need not be matched again for its other conversations."""

    def match(self, session: Session, document: LogDocument | None, log: Log) -> None:
        """Set the labels and weights of the replies of a session, or of all conversations of a document."""
        if document and document.conversations:
            if document is not self._document:
                self._document = document
                self._set(self._in_document(document, session, log))
        elif session.growth.last is not None:
            self._set(self._in_log(session, log))

    def complete(self, rows: list[ReplyOutcome], name: str, log: Log) -> list[ReplyOutcome]:
        """Return outcomes with the labels of replies that no conversation contains, or that count in another file."""
        return [
            replace(row, labels=tuple(sorted((each.number, "") for each in self._about(row, name, log))))
            if not row.labels and (row.nth == 0 or row.kind == "copy")
            else row
            for row in rows
        ]

    def _about(self, row: ReplyOutcome, name: str, log: Log) -> set[LabelRow]:
        ids = [row.id] if row.id else self._other_ids(name, row.nth) if row.nth else []
        return {*self._labels.about(ids, self._places(log, row.line))}

    def _in_log(self, session: Session, log: Log) -> Iterator[_Occurrence]:
        trees = session.growth.branch()
        repeats: dict[int, list[int]] = {}
        for each in trees.repeats:
            if each.is_same_response:
                repeats.setdefault(each.by.number, []).append(each.line)
        name = session.id or stem(log)
        for reply in trees.replies:
            ids = [reply.logged_id] if reply.logged_id else self._other_ids(name, reply.nth)
            lines = [reply.line, *repeats.get(reply.number, ())]
            yield _Occurrence(reply.number, [reply], ids, [place for at in lines for place in self._places(log, at)])

    def _in_document(self, document: LogDocument, session: Session, log: Log) -> Iterator[_Occurrence]:
        every: dict[int, _Occurrence] = {}
        own_name = [session.id or stem(log)] if log.part is None else []
        for path in paths_of(document):
            names = dict.fromkeys([path.origin.session_id or stem(log), *own_name])
            for reply in path.replies:
                occurrence = every.setdefault(reply.number, _Occurrence(reply.number, [], [], []))
                occurrence.replies.append(reply)
                other_ids = [each for name in names for each in self._other_ids(name, reply.nth)]
                occurrence.ids.extend([reply.logged_id] if reply.logged_id else other_ids)
            for reply in path.own:
                every[reply.number].places.extend(self._places(log, reply.line))
        return (each for each in every.values() if not any(reply.is_copy for reply in each.replies))

    def _other_ids(self, name: str, number: int) -> list[str]:
        """Return the ids of a reply without a logged id, as in reports."""
        return [numbered_id(each, number) for each in self._names(name)]

    def _places(self, log: Log, line: int) -> list[_Place]:
        file, at = log.at(line)
        return [(each, at) for each in self._names(file)] if at is not None else []

    def _set(self, occurrences: Iterable[_Occurrence]) -> None:
        """Set the labels of replies; rows about several replies and contradicting rows change nothing."""
        pairs = [(each, {*self._labels.about(each.ids, each.places)}) for each in occurrences]
        times: dict[int, int] = {}
        for row in (row for _, rows in pairs for row in rows):
            times[row.number] = times.get(row.number, 0) + 1
        for occurrence, rows in pairs:
            if not rows:
                continue
            clear = sorted(row for row in rows if times[row.number] == 1)
            notes = {row.number: "ambiguous" for row in rows if times[row.number] > 1}
            weight = clear[0].weight if len({row.weight for row in clear}) == 1 else None
            for place, row in enumerate(clear):
                notes[row.number] = "contradiction" if weight is None else "duplicate" if place else ""
            for reply in occurrence.replies:
                reply.labels, reply.weight = tuple(sorted(notes.items())), weight


def matcher(content: bytes, hide: Callable[[str], str]) -> LabelMatcher:
    """Return the matcher for the content of the option."""
    return LabelMatcher(unpack(content), hide)
