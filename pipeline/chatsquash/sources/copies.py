"""Logs that exist twice, compressed and uncompressed or in two compression formats; only the first is converted."""

from __future__ import annotations

from itertools import count

from chatsquash.checks import coverage as checks
from chatsquash.core.log import Log
from chatsquash.core.model import Finding
from chatsquash.core.options import Options
from chatsquash.sources.compression import stem, uncompressed
from chatsquash.sources.logs import Logs
from chatsquash.sources.open import open_file

_PIECE = 1 << 19


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
