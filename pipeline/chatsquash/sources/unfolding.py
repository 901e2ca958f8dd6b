"""Read an export of exchanges as a log, converting it to lines while it is read."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

from chatsquash.core.options import Options
from chatsquash.sources.compression import ExpandedFile
from chatsquash.sources.unfold import Unfolding
from chatsquash.storage import decoders

_PIECE = 1 << 18


class UnfoldedFile(ExpandedFile):
    """The lines of an export, treated as decompressed data; seeking backwards regenerates them from the start."""

    def __init__(self, file: io.FileIO | ExpandedFile, kind: Unfolding, options: Options) -> None:
        self.unfolding, self.options = kind, options
        self._inner = file
        self.name = file.name
        self.hashed: Callable[[memoryview], object] | None = None
        self._hashed_to = 0
        self._file = file  # type: ignore[assignment]
        self._most, self._beyond = options.max_expanded, f"{options.max_expanded:,} bytes (--max-expanded allows more)"
        self._restart()

    def _restart(self) -> None:
        self._expanded_size = self._at = 0
        self._inner.seek(0)
        self._rest = memoryview(b"")
        self.problem = None
        self._is_ended = False
        self._lines: Iterator[bytes] = self.unfolding.lines(_ExportFile(self))

    def _expand(self) -> bytes:
        data = bytearray()
        try:
            while len(data) < _PIECE and (line := next(self._lines, None)) is not None:
                data += line
                data += b"\n"
        except ValueError as problem:
            self._end(f"the {self.unfolding.NAME} {problem}")
        except decoders.PARSER_ERRORS as problem:
            self._end(f"the {self.unfolding.NAME} is damaged ({type(problem).__name__})")
        if not data and not self._is_ended:
            self._end(getattr(self._inner, "problem", None))
        allowed = self._most - self._expanded_size
        if len(data) > allowed:
            self._end(f"it expands to more than {self._beyond}")
            del data[allowed:]
        self._expanded_size += len(data)
        return bytes(data)

    def _end(self, problem: str | None) -> bytes:
        self._is_ended, self.problem = True, problem
        return b""

    def finish(self) -> None:
        """Hash the remaining bytes of the file."""
        if isinstance(self._inner, ExpandedFile):
            self._inner.hashed = self.hashed
            self._inner.finish()
            return
        while self.read_raw(_PIECE):
            pass

    def raw_head(self, size: int) -> bytes:
        """Return the first bytes of the export itself."""
        self._restart()
        return self._inner.read(size) or b""

    def read_raw(self, most: int) -> bytes:
        """Read and hash the next bytes of the export."""
        if isinstance(self._inner, ExpandedFile):
            self._inner.hashed = self.hashed
            return self._inner.read(most) or b""
        at = self._inner.tell()
        data = self._inner.read(most) or b""
        if self.hashed and at + len(data) > self._hashed_to:
            self.hashed(memoryview(data)[max(0, self._hashed_to - at) :])
            self._hashed_to = at + len(data)
        return data


class _ExportFile:
    """The export as the module that unfolds it reads it."""

    def __init__(self, file: UnfoldedFile) -> None:
        self._file = file
        self.options = file.options
        """Limits for reading the file."""

    def read(self, size: int) -> bytes:
        """Read ``size`` bytes; fewer are returned only at the end."""
        pieces = []
        while size > 0 and (piece := self._file.read_raw(min(size, 1 << 20))):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)
