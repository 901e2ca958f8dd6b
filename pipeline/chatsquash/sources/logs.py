"""The logs of a run, stored as bytes and numbers, and those among them that exist twice.

Of a log in several compression formats, only the first is converted, which in a folder is the uncompressed one.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Sequence
from itertools import count
from typing import overload

from chatsquash.checks import coverage as checks
from chatsquash.core.log import Log
from chatsquash.core.model import Finding
from chatsquash.core.options import Options
from chatsquash.sources.compression import stem, uncompressed
from chatsquash.sources.names import MARK, container
from chatsquash.sources.open import open_file

_NUMBERS = 4
"""The count of numbers per log: end of its path, length of its name, size and modification time."""
_NEVER = -1
_PIECE = 1 << 19


# Objects for very many logs would take ten times the memory.
class Logs(Sequence[Log]):
    """Discovered logs; the name of each log is the end of its path."""

    def __init__(self) -> None:
        self._paths = bytearray()
        self._numbers = array("q")
        self._queries: dict[int, str] = {}
        """Query strings of URLs, which are not displayed, by the number of the log."""
        self._copies: dict[str, str] = {}
        """Copies that are opened instead of archives, by the paths of the archives."""

    def append(self, log: Log) -> None:
        """Add a log."""
        inside = container(log.display_path) if log.is_copy else None
        if inside:
            self._copies[inside[0]] = log.path.removesuffix(f"{MARK}{inside[1]}")
        elif log.path != log.display_path:
            self._queries[len(self)] = log.path.removeprefix(log.display_path)
        self._paths += os.fsencode(log.display_path)
        modified = _NEVER if log.modified is None else log.modified
        self._numbers.extend((len(self._paths), len(log.name), log.size, modified))

    @property
    def size(self) -> int:
        """The total size in bytes."""
        return sum(self._numbers[2::_NUMBERS])

    @property
    def largest(self) -> int:
        """The size of the largest log in bytes."""
        return max(self._numbers[2::_NUMBERS], default=0)

    def __len__(self) -> int:
        return len(self._numbers) // _NUMBERS

    def __iter__(self) -> Iterator[Log]:
        return map(self._log, range(len(self)))

    @overload
    def __getitem__(self, at: int) -> Log: ...
    @overload
    def __getitem__(self, at: slice) -> list[Log]: ...
    def __getitem__(self, at: int | slice) -> Log | list[Log]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        return self._log(range(len(self))[at])

    def _log(self, number: int) -> Log:
        first = number * _NUMBERS
        start = self._numbers[first - _NUMBERS] if first else 0
        stop, name, size, modified = self._numbers[first : first + _NUMBERS]
        display_path = os.fsdecode(bytes(self._paths[start:stop]))
        path, when = display_path + self._queries.get(number, ""), None if modified == _NEVER else modified
        if self._copies and (inside := container(display_path)) and inside[0] in self._copies:
            path = f"{self._copies[inside[0]]}{MARK}{inside[1]}"
        return Log(path, display_path, display_path[-name:], size, modified=when, number=number)


class Copies:
    """An index of discovered logs by name without compression suffix, built once a compressed log is discovered."""

    def __init__(self, logs: Logs) -> None:
        self._logs = logs
        self._places: dict[int, int] = {}  # by hash of the name, because names take too much memory
        self._known = 0
        self._compressed = False

    def earlier_copy(self, log: Log) -> Log | None:
        """Return the earlier log of which this log is a copy according to its name.

        In a folder, the uncompressed file comes first.
        """
        plain = uncompressed(log.path)
        self._compressed |= plain != log.path
        if not self._compressed:
            return None
        for at in range(self._known, len(self._logs)):
            self._places.setdefault(hash(uncompressed(self._logs[at].path)), at)
        self._known = len(self._logs)
        first = self._logs[place] if (place := self._places.get(hash(plain))) is not None else None
        return first if first and uncompressed(first.path) == plain else None


def duplicate_log(first: Log, second: Log, options: Options) -> Finding:
    """Compare a copy with the log that is converted, and return the finding about their difference."""
    try:
        at = _first_difference(first, second, options)
    except OSError as problem:
        violation = checks.duplicate_log_differs(first.display_path, None, problem.strerror or type(problem).__name__)
    else:
        violation = (
            checks.duplicate_log(first.display_path)
            if at is None
            else checks.duplicate_log_differs(first.display_path, at)
        )
    return Finding(violation.code, violation.severity, stem(second), second.display_path, None, None, violation.text)


def _first_difference(first: Log, second: Log, options: Options) -> int | None:
    """Return the offset of the first byte that differs, or ``None`` if the content is equal."""
    with open_file(first.path, options) as one, open_file(second.path, options) as other:
        for at in count(0, _PIECE):
            first_piece, second_piece = one.read(_PIECE), other.read(_PIECE)
            if first_piece != second_piece:
                same = (number for number, (a, b) in enumerate(zip(first_piece, second_piece, strict=False)) if a != b)
                return at + next(same, min(len(first_piece), len(second_piece)))
            if not first_piece:
                return None
    raise AssertionError
