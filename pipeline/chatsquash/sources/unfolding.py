"""The lines that are made of what is in a file: an export of exchanges becomes a log as it is read."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

from chatsquash.core.options import Options
from chatsquash.sources.compression import ExpandedFile
from chatsquash.sources.unfold import Unfolding
from chatsquash.storage import decoders

_PIECE = 1 << 18


class UnfoldedFile(ExpandedFile):
    """The lines of an export, as if it were compressed; going back makes them once more from its beginning."""

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
        self._made = self._at = 0
        self._inner.seek(0)
        self._rest = memoryview(b"")
        self.problem = None
        self._ended = False
        self._lines: Iterator[bytes] = self.unfolding.lines(_FoldedSource(self))

    def _expand(self) -> bytes:
        made = bytearray()
        try:
            while len(made) < _PIECE and (line := next(self._lines, None)) is not None:
                made += line
                made += b"\n"
        except ValueError as problem:
            self._end(f"the {self.unfolding.NAME} {problem}")
        except decoders.PARSER_ERRORS as problem:
            self._end(f"the {self.unfolding.NAME} is damaged ({type(problem).__name__})")
        if not made and not self._ended:
            self._end(getattr(self._inner, "problem", None))
        allowed = self._most - self._made
        if len(made) > allowed:
            self._end(f"it unfolds to more than {self._beyond}")
            del made[allowed:]
        self._made += len(made)
        return bytes(made)

    def _end(self, problem: str | None) -> bytes:
        self._ended, self.problem = True, problem
        return b""

    def finish(self) -> None:
        """Have what is left of the file hashed."""
        if isinstance(self._inner, ExpandedFile):
            self._inner.hashed = self.hashed
            self._inner.finish()
            return
        while self.raw_bytes(_PIECE):
            pass

    def raw_head(self, size: int) -> bytes:
        """What the export itself begins with."""
        self._restart()
        return self._inner.read(size) or b""

    def raw_bytes(self, most: int) -> bytes:
        """The next bytes of the file."""
        if isinstance(self._inner, ExpandedFile):
            self._inner.hashed = self.hashed
            return self._inner.read(most) or b""
        at = self._inner.tell()
        data = self._inner.read(most) or b""
        if self.hashed and at + len(data) > self._hashed_to:
            self.hashed(memoryview(data)[max(0, self._hashed_to - at) :])
            self._hashed_to = at + len(data)
        return data


class _FoldedSource:
    """The file as the module that unfolds it reads it."""

    def __init__(self, unfolded: UnfoldedFile) -> None:
        self._unfolded = unfolded
        self.options = unfolded.options
        """What bounds how a file is read."""

    def read(self, size: int) -> bytes:
        """So many bytes, fewer at the end only."""
        pieces = []
        while size > 0 and (piece := self._unfolded.raw_bytes(min(size, 1 << 20))):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)
