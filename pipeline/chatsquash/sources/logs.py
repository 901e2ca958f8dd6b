"""The logs of a run, stored as bytes and numbers."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Sequence
from typing import overload

from chatsquash.core.log import Log
from chatsquash.sources.names import MARK, container

_NUMBERS = 4
"""The count of numbers per log: end of its path, length of its name, size and modification time."""
_NEVER = -1


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
