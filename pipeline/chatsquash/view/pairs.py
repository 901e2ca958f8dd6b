"""The preference pairs of a result, by their number over all of its files."""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.dataset.shards import PAIRS
from chatsquash.records.datasets import is_dataset
from chatsquash.records.places import rows
from chatsquash.view.result import Result


class Pair(NamedTuple):
    """A pair, and where it stands."""

    value: dict[str, Any]
    number: int
    """From 1, over all files."""
    file: str
    row: int
    has_next: bool
    total: int
    """How many there are, as the run counted."""


def files(result: Result) -> list[str]:
    """The files of pairs, in their order."""
    return [name for name in result.outputs if name.startswith(f"{PAIRS}/") and is_dataset(result.path / name)]


def pair(result: Result, number: int) -> Pair | None:
    """A pair; ``None`` where there are not so many. All before it are read."""
    found = [(name, row) for name, row in islice(_rows(result), number - 1, number + 1)] if number > 0 else []
    if not found:
        return None
    name, row = found[0]
    try:
        value = jsonio.loads(row.data)
    except (ValueError, RecursionError):
        raise UsageError(f"{name}:{row.number}: is no JSON") from None
    return Pair(
        value if isinstance(value, dict) else {},
        number,
        name,
        row.number,
        len(found) > 1,
        sum(result.counts["pairs"].values()),
    )


def _rows(result: Result) -> Any:
    for name in files(result):
        for row in rows(result.folder, name, None):
            yield name, row
