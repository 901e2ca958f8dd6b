"""Read a file of ``--loss-labels``, JSON lines or Parquet, and validate its rows."""

from __future__ import annotations

from collections.abc import Iterator

from chatsquash.core import jsonio, labels
from chatsquash.core.errors import UsageError
from chatsquash.core.labels import LabelRow
from chatsquash.core.model import Json
from chatsquash.core.options import Options
from chatsquash.core.scores import BAD_LABELS, GOOD_LABELS, label_weight
from chatsquash.core.text import error_text, pluralize, quote

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
    return labels.pack(result)


def _lines(data: bytes, place: str) -> Iterator[tuple[int, Json]]:
    """Yield the objects in JSON lines with their line numbers."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = jsonio.loads(line)
        except (ValueError, RecursionError) as problem:
            raise UsageError(f"{place}:{number}: not valid JSON ({error_text(problem)})") from None
        if not isinstance(value, dict):
            raise UsageError(f"{place}:{number}: expected an object with an id and a weight or label")
        yield number, value


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
        return LabelRow(number, name if isinstance(name, str) else None, problem="no-verdict")
    if all(value.get(member) is not None for member in _MEMBERS):
        raise UsageError(f"{place}: the row has both a weight and a label; use only one of them")
    weight = _weight(value, place)
    has_place = isinstance(file, str) and type(line) is int
    is_plain = isinstance(name, str | None) and isinstance(file, str | None) and type(line) in (int, type(None))
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
        return float(weight)
    label = row["label"]
    if isinstance(label, bool):
        return float(label)
    if isinstance(label, int | float):
        known = _NUMBERS.get(float(label))
    elif isinstance(label, str):
        known = _NUMERALS.get(label.strip(), label_weight(label))
    else:
        return None
    if known is None:
        good, bad = (", ".join(sorted(labels)) for labels in (GOOD_LABELS, BAD_LABELS))
        raise UsageError(f"{place}: label {quote(label)} is unknown; good labels are 1, {good}; bad are 0, -1, {bad}")
    return known
