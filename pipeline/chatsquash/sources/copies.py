"""Logs that lie there twice, compressed and not, or compressed in two ways: the first that is met counts."""

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
    """Knows the logs that were met, once one of them is compressed."""

    def __init__(self, logs: Logs) -> None:
        self._jobs = logs
        self._places: dict[int, int] = {}  # by the hash of the name, since names take much memory
        self._known = 0
        self._compressed = False

    def met(self, log: Log) -> Log | None:
        """The log of which another one is a copy, by its name; in a folder the plain one is met first."""
        plain = uncompressed(log.path)
        self._compressed |= plain != log.path
        if not self._compressed:
            return None
        for at in range(self._known, len(self._jobs)):
            self._places.setdefault(hash(uncompressed(self._jobs[at].path)), at)
        self._known = len(self._jobs)
        first = self._jobs[place] if (place := self._places.get(hash(plain))) is not None else None
        return first if first and uncompressed(first.path) == plain else None


def duplicate_log(first: Log, second: Log, options: Options) -> Finding:
    """What is reported about a copy: whether it holds what the log that counts holds, and from where on it does not."""
    try:
        at = _differ(first, second, options)
    except OSError as problem:
        violation = checks.duplicate_log_differs(first.display_path, None, problem.strerror or type(problem).__name__)
    else:
        violation = (
            checks.duplicate_log(first.display_path)
            if at is None
            else checks.duplicate_log_differs(first.display_path, at)
        )
    return Finding(violation.code, violation.severity, stem(second), second.display_path, None, None, violation.text)


def _differ(first: Log, second: Log, options: Options) -> int | None:
    """The first byte in which two logs differ."""
    with open_file(first.path, options) as one, open_file(second.path, options) as other:
        for at in count(0, _PIECE):
            left, right = one.read(_PIECE), other.read(_PIECE)
            if left != right:
                same = (number for number, (a, b) in enumerate(zip(left, right, strict=False)) if a != b)
                return at + next(same, min(len(left), len(right)))
            if not left:
                return None
    raise AssertionError
