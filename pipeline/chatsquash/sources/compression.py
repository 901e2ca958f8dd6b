"""What logs are compressed with, a row each, and what is in a compressed one."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from errno import ENOTSUP
from pathlib import PurePath
from sys import modules
from typing import Any

from msgspec import Struct

from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.storage import decoders

HEAD = 10
"""Bytes with which a stream begins and by which its kind is told."""
_PIECE = 1 << 16
_STEP = 1 << 18
"""Bytes that a decoder makes at a time, however many are read: what it gives of a damaged stream depends on them."""
_CAREFUL_STEP = 1 << 9
"""The same near the damage."""
_SKIPPED = rb"[\x50-\x5f]\x2a\x4d\x18"  # a frame of zstd that holds no data
_ENDS_EARLY = "the compressed data ends early"
_DAMAGED = "the compressed data is damaged"
_GARBAGE = "something else follows the compressed data"


class Compression(Struct, frozen=True):
    """A way to compress."""

    begins: bytes
    """A pattern of at most ``HEAD`` bytes, compiled when a file begins like no ordinary log."""
    decoder: Callable[[], Any]
    """Makes what expands one stream: with ``decompress(data, most)``, ``needs_input``, ``eof``, ``unused_data``."""
    raises: tuple[str, ...] = ()
    """The errors beside ``OSError`` by which a decoder tells of damage, with their modules."""
    needs: str = ""
    """What is said where the library is missing that the decoder imports."""
    piece: int = _PIECE
    """Bytes that are expanded at a time."""

    def stream(self) -> Any:
        """A decoder for a stream; raises ``OSError`` where its library is not at hand."""
        try:
            return self.decoder()
        except ImportError:
            raise OSError(ENOTSUP, self.needs) from None

    def errors(self) -> tuple[type[Exception], ...]:
        """What a decoder raises; of its libraries the one that is used is loaded by now, and no other."""
        named = (name.rpartition(".") for name in self.raises)
        libraries = (getattr(modules[module], error) for module, _, error in named if module in modules)
        return (OSError, *decoders.PARSER_ERRORS, *libraries)


KINDS = {
    ".gz": Compression(rb"\x1f\x8b\x08", decoders.Gzip, ("zlib.error",)),
    ".bz2": Compression(
        rb"BZh[1-9](1AY&SY|\x17rE8P\x90)", decoders.bzip2, needs="bzip2 needs a Python that was built with it"
    ),
    ".xz": Compression(
        rb"\xfd7zXZ\0", decoders.xz, ("lzma.LZMAError",), needs="xz needs a Python that was built with it"
    ),
    ".zst": Compression(
        rb"\x28\xb5\x2f\xfd|" + _SKIPPED,
        decoders.zstd,
        ("compression.zstd.ZstdError", "zstandard.ZstdError"),
        needs="zstd needs Python 3.14, or pip install 'chatsquash[zstd]'",
        piece=1 << 9,  # a block of four bytes may make 128 KiB
    ),
}
"""What is read, by the suffix that stands behind that of what is in a file."""


def recognise(first: bytes) -> Compression | None:
    """How a file is compressed, by its first bytes; ``None`` for a plain one."""
    if first[:1] == b"{":  # as nearly all logs begin
        return None
    return next((kind for kind in KINDS.values() if re.match(kind.begins, first)), None)


def uncompressed(name: str) -> str:
    """A file's name without the suffix of its compression."""
    stem, dot, suffix = name.rpartition(".")
    return stem if stem and f"{dot}{suffix.lower()}" in KINDS else name


def stem(log: Log) -> str:
    """The name of a log's file without its suffix, and without that of its compression."""
    name = uncompressed(log.name.rpartition("/")[2])
    return name.rpartition(".")[0] or name


class PositionedFile(io.RawIOBase):
    """A file that keeps count of where it stands."""

    _at = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is, of what is compressed at some cost."""
        return True

    def tell(self) -> int:
        """How many bytes lie before the next one."""
        return self._at


class ExpandedFile(PositionedFile):
    """What is in a compressed file; going back expands it once more from its beginning."""

    def __init__(self, file: io.FileIO, kind: Compression, options: Options) -> None:
        self._file, self._kind = file, kind
        self.name = file.name
        size = getattr(file, "size", None) or file.seek(0, os.SEEK_END)
        self._most, self._beyond = min(
            (size * options.max_expansion, f"{options.max_expansion:,} times its size (--max-expansion allows more)"),
            (options.max_expanded, f"{options.max_expanded:,} bytes (--max-expanded allows more)"),
        )
        self.hashed: Callable[[memoryview], object] | None = None
        """Is given all bytes of the file as it stands on the disk, in turn."""
        self._hashed_to = 0
        self._restart()

    def _restart(self) -> None:
        self._made = self._at = 0
        self._file.seek(0)
        self._begin()
        self._rest = memoryview(b"")
        """What was expanded and not yet read."""
        self.problem: str | None = None
        """Why what was read is not all of it, once its end is reached."""
        self._ended = False

    def _begin(self, given: bytes = b"", known: int = 0, careful: int | None = None) -> None:
        """Expand a stream that begins where the file stands, or with what was read before that.

        ``known`` are bytes of it that were made before; from ``careful`` on the decoder is given a byte at a time.
        """
        self._decoder = self._kind.stream()
        self._given = given
        self._stream = self._piece = self._file.tell() - len(given)
        """Where the stream begins in the file, and the last piece of it that the decoder was given."""
        self._of_stream, self._known, self._careful = 0, known, careful

    @property
    def identity(self) -> tuple[object, ...] | None:
        """That of the compressed file, where it lies in a store."""
        return getattr(self._file, "identity", None)

    def fileno(self) -> int:
        """The descriptor of the compressed file."""
        return self._file.fileno()

    def close(self) -> None:
        """Close the compressed file."""
        self._file.close()
        super().close()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place, by expanding all that lies before it."""
        if whence == os.SEEK_SET and offset < self._at:
            self._restart()
        left = offset - self._at if whence == os.SEEK_SET else None
        while left is None or left:
            piece = self._next(_PIECE if left is None else min(left, _PIECE))
            if not piece:
                break
            left = None if left is None else left - len(piece)
        return self._at

    def readinto(self, into: Any) -> int:
        """As many bytes as there is room for, fewer at the end only."""
        view = memoryview(into)
        filled = 0
        while filled < len(view) and (piece := self._next(len(view) - filled)):
            view[filled : filled + len(piece)] = piece
            filled += len(piece)
        return filled

    def finish(self) -> None:
        """Have what is left of the file hashed."""
        while self._raw():
            pass

    def _next(self, most: int) -> memoryview:
        """Some of what comes next; nothing at the end."""
        while not self._rest and not self._ended:
            self._rest = memoryview(self._expand())
        piece, self._rest = self._rest[:most], self._rest[most:]
        self._at += len(piece)
        return piece

    def _expand(self) -> bytes:
        if self._decoder.eof and not self._next_stream():
            return b""
        data, self._given = (self._given or self._raw()) if self._decoder.needs_input else b"", b""
        if self._decoder.needs_input and not data:
            return self._end(_ENDS_EARLY)
        self._piece = self._file.tell() - len(data) if data else self._piece
        try:
            made: bytes = self._decoder.decompress(data, self._step)
        except self._kind.errors() as problem:
            return self._damaged(problem)
        made = self._new(made)
        allowed = self._most - self._made
        if len(made) > allowed:
            self._end(f"it expands to more than {self._beyond}")
            made = made[:allowed]
        self._made += len(made)
        return made

    @property
    def _step(self) -> int:
        is_near = self._careful is not None and self._file.tell() > self._careful
        return _CAREFUL_STEP if is_near else _STEP

    def _damaged(self, problem: Exception) -> bytes:
        """The end; but before it what the piece gives that holds the damage, which the decoder does not hand out.

        So that is expanded once more, in steps so small that nothing whole stands before the damage within the last.
        """
        if "memory" in str(problem).lower():
            return self._end(f"it takes more than {decoders.MEMORY >> 20} MiB of memory to expand")
        if self._careful is not None:
            return self._end(_DAMAGED)
        self._file.seek(self._stream)
        self._begin(known=self._of_stream, careful=self._piece)
        return b""

    def _new(self, made: bytes) -> bytes:
        """What of the next bytes of a stream was not made before."""
        self._of_stream += len(made)
        if not self._known:
            return made
        again = min(len(made), self._known)
        self._known -= again
        return made[again:]

    def _next_stream(self) -> bool:
        """Whether another stream follows the one that ended; zeros, with which some files are filled up, may."""
        rest: bytes = self._decoder.unused_data
        while len(rest) < HEAD and (more := self._raw()):
            rest += more
        while rest and not rest.strip(b"\0"):
            rest = self._raw()
        if rest and re.match(self._kind.begins, rest):
            self._begin(rest)
            return True
        self._end(_GARBAGE if rest else None)
        return False

    def _end(self, problem: str | None) -> bytes:
        self._ended, self.problem, self._careful = True, problem, None
        return b""

    def _raw(self) -> bytes:
        """The next bytes of the file as it stands on the disk."""
        at, size = self._file.tell(), self._kind.piece
        if self._careful is not None:
            size = max(1, min(size, self._careful - at))
        data = self._file.read(size) or b""
        if self.hashed and at + len(data) > self._hashed_to:
            self.hashed(memoryview(data)[max(0, self._hashed_to - at) :])
            self._hashed_to = at + len(data)
        return data


def suffixes(name: str) -> str:
    """Return the suffixes that determine how a file is read: its own, and that of its compression."""
    return PurePath(uncompressed(name)).suffix + name[len(uncompressed(name)) :]
