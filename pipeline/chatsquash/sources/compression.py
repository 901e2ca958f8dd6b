"""Supported compression formats, one per row, and a reader for compressed files."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from errno import ENOTSUP
from pathlib import PurePath
from sys import modules
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from chatsquash.core.lazy import LazyModule
from chatsquash.core.log import Log
from chatsquash.core.options import Options

if TYPE_CHECKING:
    from chatsquash.storage import decoders
else:
    decoders = LazyModule("chatsquash.storage.decoders")

HEAD = 10
"""The number of bytes needed to detect the compression of a stream."""
_PIECE = 1 << 16
# Constant, because the output for a damaged stream depends on it.
_STEP = 1 << 18
"""The maximum output of a decoder per call."""
_CAREFUL_STEP = 1 << 9
"""The maximum output per call near damaged data."""
_SKIPPABLE_FRAME = rb"[\x50-\x5f]\x2a\x4d\x18"  # a zstd frame without data
_ENDS_EARLY = "the compressed data ends early"
_DAMAGE = "the compressed data is damaged"
_GARBAGE = "other data follows the compressed data"


class Compression(Struct, frozen=True):
    """A compression format."""

    begins: bytes
    """A pattern of at most ``HEAD`` bytes; compiled only if a file does not look like an ordinary log."""
    decoder: Callable[[], Any]
    """Creates a decoder of a stream, with ``decompress(data, most)``, ``needs_input``, ``eof`` and ``unused_data``."""
    raises: tuple[str, ...] = ()
    """The qualified names of exceptions that the decoder raises for damaged data, apart from ``OSError``."""
    needs: str = ""
    """The error message if the decoder's library is missing."""
    piece: int = _PIECE
    """The number of compressed bytes passed to the decoder at a time."""

    def stream(self) -> Any:
        """Return a decoder for a stream.

        Raises:
            OSError: The library is not installed.
        """
        try:
            return self.decoder()
        except ImportError:
            raise OSError(ENOTSUP, self.needs) from None

    def errors(self) -> tuple[type[Exception], ...]:
        """Return the exceptions that a decoder raises."""
        # A library that is not loaded raises nothing, so none is imported.
        names = (name.rpartition(".") for name in self.raises)
        libraries = (getattr(modules[module], error) for module, _, error in names if module in modules)
        return (OSError, *decoders.PARSER_ERRORS, *libraries)


# The functions delay the import of the decoders, which few runs need.
KINDS = {
    ".gz": Compression(rb"\x1f\x8b\x08", lambda: decoders.Gzip(), ("zlib.error",)),  # noqa: PLW0108
    ".bz2": Compression(
        rb"BZh[1-9](1AY&SY|\x17rE8P\x90)",
        lambda: decoders.bzip2(),  # noqa: PLW0108
        needs="bzip2 requires a Python build that includes it",
    ),
    ".xz": Compression(
        rb"\xfd7zXZ\0",
        lambda: decoders.xz(),  # noqa: PLW0108
        ("lzma.LZMAError",),
        needs="xz requires a Python build that includes it",
    ),
    ".zst": Compression(
        rb"\x28\xb5\x2f\xfd|" + _SKIPPABLE_FRAME,
        lambda: decoders.zstd(),  # noqa: PLW0108
        ("compression.zstd.ZstdError", "zstandard.ZstdError"),
        needs="zstd requires Python 3.14, or pip install 'chatsquash[zstd]'",
        piece=1 << 9,  # a block of four bytes may expand to 128 KiB
    ),
}
"""The supported formats by suffix."""


def recognise(first: bytes) -> Compression | None:
    """Return the compression of a file based on its first bytes, or ``None`` if it is not compressed."""
    if first[:1] == b"{":  # the beginning of nearly all logs
        return None
    return next((kind for kind in KINDS.values() if re.match(kind.begins, first)), None)


def uncompressed(name: str) -> str:
    """Return a file name without its compression suffix."""
    stem, dot, suffix = name.rpartition(".")
    return stem if stem and f"{dot}{suffix.lower()}" in KINDS else name


def stem(log: Log) -> str:
    """Return the file name of a log without its suffixes."""
    name = uncompressed(log.name.rpartition("/")[2])
    return name.rpartition(".")[0] or name


class PositionedFile(io.RawIOBase):
    """A readable file that tracks its own position."""

    _at = 0

    def readable(self) -> bool:
        """Return true."""
        return True

    def seekable(self) -> bool:
        """Return true; seeking in compressed data is slow."""
        return True

    def tell(self) -> int:
        """Return the current position."""
        return self._at


class ExpandedFile(PositionedFile):
    """The decompressed content of a file; seeking backwards decompresses the file from its start."""

    def __init__(self, file: io.FileIO, kind: Compression, options: Options) -> None:
        self._file, self._kind = file, kind
        self.name = file.name
        size = getattr(file, "size", None) or file.seek(0, os.SEEK_END)
        self._most, self._beyond = min(
            (size * options.max_expansion, f"{options.max_expansion:,} times its size (--max-expansion allows more)"),
            (options.max_expanded, f"{options.max_expanded:,} bytes (--max-expanded allows more)"),
        )
        self.hashed: Callable[[memoryview], object] | None = None
        """Callback that receives all compressed bytes of the file in order."""
        self._hashed_to = 0
        self._restart()

    def _restart(self) -> None:
        self._expanded_size = self._at = 0
        self._file.seek(0)
        self._begin()
        self._rest = memoryview(b"")
        """Decompressed bytes that were not read yet."""
        self.problem: str | None = None
        """Reason why the content is incomplete, set at the end."""
        self._is_ended = False

    def _begin(self, data: bytes = b"", to_skip: int = 0, careful: int | None = None) -> None:
        """Start a stream at the file's position, preceded by ``data`` that was already read.

        The first ``to_skip`` bytes of output were already returned. From offset ``careful`` on, the decoder is fed one
        byte at a time.
        """
        self._decoder = self._kind.stream()
        self._pending = data
        self._stream_start = self._piece_start = self._file.tell() - len(data)
        """Offsets in the file of the stream and of the last piece passed to the decoder."""
        self._stream_size, self._to_skip, self._careful = 0, to_skip, careful

    @property
    def identity(self) -> tuple[object, ...] | None:
        """The identity of the compressed file, if it is in a store."""
        return getattr(self._file, "identity", None)

    def fileno(self) -> int:
        """Return the descriptor of the compressed file."""
        return self._file.fileno()

    def close(self) -> None:
        """Close the compressed file."""
        self._file.close()
        super().close()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Seek by decompressing everything up to the offset."""
        if whence == os.SEEK_SET and offset < self._at:
            self._restart()
        remaining = offset - self._at if whence == os.SEEK_SET else None
        while remaining is None or remaining:
            piece = self._take(_PIECE if remaining is None else min(remaining, _PIECE))
            if not piece:
                break
            remaining = None if remaining is None else remaining - len(piece)
        return self._at

    def readinto(self, into: Any) -> int:
        """Fill the buffer; fewer bytes are returned only at the end."""
        view = memoryview(into)
        count = 0
        while count < len(view) and (piece := self._take(len(view) - count)):
            view[count : count + len(piece)] = piece
            count += len(piece)
        return count

    def finish(self) -> None:
        """Hash the remaining bytes of the file."""
        while self._read_raw():
            pass

    def _take(self, most: int) -> memoryview:
        """Return at most ``most`` of the next bytes; empty at the end."""
        while not self._rest and not self._is_ended:
            self._rest = memoryview(self._expand())
        piece, self._rest = self._rest[:most], self._rest[most:]
        self._at += len(piece)
        return piece

    def _expand(self) -> bytes:
        if self._decoder.eof and not self._next_stream():
            return b""
        data, self._pending = (self._pending or self._read_raw()) if self._decoder.needs_input else b"", b""
        if self._decoder.needs_input and not data:
            return self._end(_ENDS_EARLY)
        self._piece_start = self._file.tell() - len(data) if data else self._piece_start
        try:
            expanded: bytes = self._decoder.decompress(data, self._step)
        except self._kind.errors() as problem:
            return self._handle_damage(problem)
        expanded = self._without_repeated(expanded)
        allowed = self._most - self._expanded_size
        if len(expanded) > allowed:
            self._end(f"it expands to more than {self._beyond}")
            expanded = expanded[:allowed]
        self._expanded_size += len(expanded)
        return expanded

    @property
    def _step(self) -> int:
        is_near = self._careful is not None and self._file.tell() > self._careful
        return _CAREFUL_STEP if is_near else _STEP

    def _handle_damage(self, problem: Exception) -> bytes:
        """Restart the damaged stream in small steps, or end if this was already done."""
        if "memory" in str(problem).lower():
            return self._end(f"it takes more than {decoders.MEMORY >> 20} MiB of memory to expand")
        if self._careful is not None:
            return self._end(_DAMAGE)
        # The decoder raised without returning the output of the piece with the damage. The second time, that piece is
        # fed byte by byte, which recovers everything before the damage.
        self._file.seek(self._stream_start)
        self._begin(to_skip=self._stream_size, careful=self._piece_start)
        return b""

    def _without_repeated(self, expanded: bytes) -> bytes:
        """Drop the part of the output that was returned before the stream was restarted."""
        self._stream_size += len(expanded)
        if not self._to_skip:
            return expanded
        repeated_size = min(len(expanded), self._to_skip)
        self._to_skip -= repeated_size
        return expanded[repeated_size:]

    def _next_stream(self) -> bool:
        """Start the next stream and return whether there is one."""
        rest: bytes = self._decoder.unused_data
        while len(rest) < HEAD and (more := self._read_raw()):
            rest += more
        # Some programs pad files with zeros.
        while rest and not rest.strip(b"\0"):
            rest = self._read_raw()
        if rest and re.match(self._kind.begins, rest):
            self._begin(rest)
            return True
        self._end(_GARBAGE if rest else None)
        return False

    def _end(self, problem: str | None) -> bytes:
        self._is_ended, self.problem, self._careful = True, problem, None
        return b""

    def _read_raw(self) -> bytes:
        """Read and hash the next compressed bytes."""
        at, size = self._file.tell(), self._kind.piece
        if self._careful is not None:
            size = max(1, min(size, self._careful - at))
        data = self._file.read(size) or b""
        if self.hashed and at + len(data) > self._hashed_to:
            self.hashed(memoryview(data)[max(0, self._hashed_to - at) :])
            self._hashed_to = at + len(data)
        return data


def suffixes(name: str) -> str:
    """Return the suffixes that determine how a file is read: the file's own suffix and the compression suffix."""
    return PurePath(uncompressed(name)).suffix + name[len(uncompressed(name)) :]
