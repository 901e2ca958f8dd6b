"""Read and validate the rows of ``--loss-labels``, JSON lines or Parquet, and match replies with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from math import isfinite
from typing import NamedTuple

from msgspec.structs import replace

from chatsquash.core import jsonio, labels
from chatsquash.core.accounting import ReplyOutcome
from chatsquash.core.errors import UsageError
from chatsquash.core.labels import LabelRow, Labels
from chatsquash.core.log import Log
from chatsquash.core.model import Json
from chatsquash.core.options import Options
from chatsquash.core.scores import BAD_LABELS, GOOD_LABELS, label_weight
from chatsquash.core.text import error_text, is_text, numbered_id, pluralize, printable, quote
from chatsquash.reading.documents import LogDocument
from chatsquash.session.session import Session
from chatsquash.sources.compression import stem
from chatsquash.trees.documents import paths_of
from chatsquash.trees.paths import LoggedReply

_LARGEST = 256 << 20
"""The maximum size of a file in bytes."""
_PARQUET = b"PAR1"
_MEMBERS = "weight", "label"
_COLUMNS = (frozenset(("weight",)), frozenset(("label",)))
"""The sets of columns of which a Parquet file has one."""
_NUMBERS = {1.0: 1.0, 0.0: 0.0, -1.0: 0.0}
_NUMERALS = {"1": 1.0, "+1": 1.0, "0": 0.0, "-1": 0.0}
"""Numbers as labels, also as text: 1 is good, and 0 and -1 are bad."""


def read(path: str, options: Options) -> bytes:
    """Read a file; return its rows as the content of the option.

    Raises:
        UsageError: The file cannot be read, or a row is malformed.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as problem:
        raise UsageError(f"{path}: cannot be read ({problem.strerror})") from None
    return pack(data, path, options)


def pack(data: bytes, place: str, options: Options) -> bytes:
    """Return the rows in the bytes of a file as the content of the option; unchanged if they are that already."""
    if labels.is_packed(data):
        return data
    if len(data) > _LARGEST:
        raise UsageError(f"{place}: has more than {pluralize(_LARGEST >> 20, 'MiB', 'MiB')}; split it")
    rows = _parquet(data, place, options) if data.startswith(_PARQUET) else _lines(data, place)
    result = [_row(number, value, f"{place}:{number}") for number, value in rows]
    if not result:
        raise UsageError(f"{place}: no row has a weight or label; each row needs an id and a weight or label")
    return labels.pack([*labels.mark_repeats(result)])


def _lines(data: bytes, place: str) -> Iterator[tuple[int, Json]]:
    """Yield the objects in JSON lines with their line numbers."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = jsonio.loads(line)
        except jsonio.NotFiniteError:
            value = _without_infinite(line)
        except (ValueError, RecursionError) as problem:
            raise UsageError(
                f"{place}:{number}: not valid JSON ({error_text(problem)}); use JSON Lines or Parquet"
            ) from None
        if not isinstance(value, dict):
            raise UsageError(f"{place}:{number}: expected an object with an id and a weight or label")
        yield number, value


def _without_infinite(line: bytes) -> Json:
    """Parse a line in which numbers such as NaN are null, as in the rows of a Parquet file."""
    text = line.decode("utf-8", "surrogatepass")
    return json.loads(text, parse_constant=lambda _: None, parse_float=_finite)


def _finite(spelled: str) -> float | None:
    return value if isfinite(value := float(spelled)) else None


def _parquet(data: bytes, place: str, options: Options) -> Iterator[tuple[int, Json]]:
    from chatsquash.sources.unfold.parquet_rows import table_rows  # few runs need it

    try:
        yield from enumerate(table_rows(data, _COLUMNS, options), 1)
    except ValueError as problem:
        raise UsageError(f"{place}: {problem}") from None


def _row(number: int, value: Json, place: str) -> LabelRow:
    """Return a row, whose identity and verdict may have any type."""
    name, file, line = value.get("id"), value.get("file"), value.get("line")
    name = value.get("reply") if name is None else name
    if all(value.get(member) is None for member in _MEMBERS):
        return LabelRow(number, name if is_text(name) else None, problem="no-verdict")
    if all(value.get(member) is not None for member in _MEMBERS):
        raise UsageError(f"{place}: the row has both a weight and a label; use only one of them")
    weight = _weight(value, place)
    has_place = isinstance(file, str) and type(line) is int
    is_plain = all(each is None or is_text(each) for each in (name, file)) and type(line) in (int, type(None))
    if weight is None or not is_plain or not (name or has_place):
        return LabelRow(number, problem="wrong-type")
    return LabelRow(number, name or None, file if has_place else None, line if has_place else None, weight)


def _weight(row: Json, place: str) -> float | None:
    """Return the weight of a row, or ``None`` for a wrong type.

    Raises:
        UsageError: The label is unknown, or the weight is not between 0 and 1.
    """
    if (weight := row.get("weight")) is not None:
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            return None
        if not 0 <= weight <= 1:
            raise UsageError(f"{place}: weight {quote(weight)} is not between 0 and 1")
        return abs(float(weight))  # -0.0 is 0
    label = row["label"]
    if isinstance(label, bool):
        return float(label)
    if isinstance(label, int | float):
        known = _NUMBERS.get(label)  # as a float, a huge integer would be an error
    elif isinstance(label, str):
        known = _NUMERALS.get(label.strip(), label_weight(label))
    else:
        return None
    if known is None:
        good, bad = (", ".join(sorted(labels)) for labels in (GOOD_LABELS, BAD_LABELS))
        raise UsageError(f"{place}: label {quote(label)} is unknown; good labels are 1, {good}; bad are 0, -1, {bad}")
    return known


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
        rows: The rows.
        hide: Returns a name without private values, as reports show it.
    """

    def __init__(self, rows: Labels, hide: Callable[[str], str]) -> None:
        self._labels = rows
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
    return LabelMatcher(labels.unpack(content), hide)
