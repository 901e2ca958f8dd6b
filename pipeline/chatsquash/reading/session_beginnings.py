"""Read files that contain the beginning of another file's session: agents omit inherited messages from forks."""

from __future__ import annotations

from collections.abc import Iterator
from errno import EFBIG
from io import BufferedReader
from typing import Any, NamedTuple

from msgspec import MsgspecError

from chatsquash.core import footprint, jsonio
from chatsquash.core.model import Json
from chatsquash.core.options import Options
from chatsquash.formats import documents
from chatsquash.formats.base import Continuation
from chatsquash.reading.ancestry import BLANK
from chatsquash.reading.sidecars import is_linked
from chatsquash.sources import relatives
from chatsquash.sources.compression import uncompressed
from chatsquash.sources.open import open_file

_LONGEST = 256 << 20
"""The maximum total size of the files in bytes."""
_DEEPEST = 100
"""The maximum depth of forks of forks."""
_PIECE = 1 << 20
_decode = jsonio.decoder(Any).decode


class Beginning(NamedTuple):
    """The beginning of a session."""

    files: list[list[Json]] | None
    """The lines of each file, oldest file first; ``None`` if a file is missing."""
    patterns: list[str]
    """The file name patterns that were searched."""


def read(form: str, path: object, objects: list[Json], options: Options) -> Beginning | None:
    """Return the beginning of a session that is in other files, or ``None``.

    Files in linked folders are read only with ``--follow-links``.
    """
    if form not in documents.names() or not isinstance(path, str) or not path:
        return None
    continued = documents.get_format(form).continues_from(relatives.absolute(path), objects)
    if continued is None:
        return None
    lineage = _Lineage(form, relatives.absolute(path), options)
    # Each file is read once, so files that refer to each other do not loop forever.
    while continued and lineage.add(continued):
        continued = documents.get_format(form).continues_from(lineage.path, lineage.files[-1])
    return Beginning(None if continued else lineage.files[::-1], lineage.patterns)


class _Lineage:
    """The files that precede a file."""

    def __init__(self, form: str, path: str, options: Options) -> None:
        self.form, self.path, self.options = form, path, options
        self.files: list[list[Json]] = []
        """Newest first."""
        self.patterns: list[str] = []
        self._seen = {uncompressed(path)}
        self._end: int | None = None
        self._remaining, self._memory = _LONGEST, options.max_memory
        """Bytes that may still be read, and bytes that their parsed form may take."""

    def add(self, continued: Continuation) -> bool:
        """Read the file that a session continues; return false if it is missing or was already read."""
        end = continued.end if self._end is None else min(continued.end, self._end)
        path = self._find(continued.patterns)
        if path is None or len(self.files) == _DEEPEST:
            return False
        self._seen.add(uncompressed(path))
        self.path, self._end = path, end
        try:
            self.files.append(list(self._lines(continued, end)))
        except OSError:
            return False
        return bool(self.files[-1])

    def _lines(self, continued: Continuation, end: int) -> Iterator[Json]:
        """Yield the lines up to a number or the first line of another session; ``None`` for a line that is not JSON."""
        with open_file(self.path, self.options) as raw, BufferedReader(raw, _PIECE) as file:  # type: ignore[type-var]
            place = 0
            while raw_line := file.readline(self._remaining + 1):
                self._remaining -= len(raw_line)
                self._memory -= footprint.weigh(raw_line)
                if self._remaining < 0 or self._memory < 0:
                    raise OSError(EFBIG, footprint.refusal(self.options.max_memory))
                if not (line := raw_line.strip(BLANK)):
                    continue
                try:
                    value = _decode(line)
                except (MsgspecError, ValueError, RecursionError):
                    value = None
                number = continued.number(value, place, continued.session)
                if number is None or number >= end:
                    return
                yield value
                place += 1

    def _find(self, patterns: tuple[str, ...]) -> str | None:
        for pattern in patterns:
            self.patterns.append(pattern)
            for path in relatives.paths_of(pattern):
                if uncompressed(path) in self._seen:
                    return None
                if self.options.follow_links or not is_linked(path, self.path):
                    return path
        return None
