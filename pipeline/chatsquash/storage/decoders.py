"""Decompressors for a single stream, with the same interface as those in ``bz2`` and ``lzma``."""

from __future__ import annotations

import os
import struct
import zlib
from importlib import import_module
from sys import modules
from typing import Any

MEMORY = 256 << 20
"""The memory limit of a decompressor in bytes, which is more than ``xz -9`` and ``zstd --ultra`` require."""
PARSER_ERRORS = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, LookupError),
    *(RuntimeError, TypeError, ValueError, struct.error),
)
"""The errors that parsers in the standard library and in packages raise for unexpected bytes."""
# Four bytes of zstd can expand to a block of 128 KiB.
_CHUNK_SIZE = 1 << 9
"""The number of bytes to expand at a time."""


def bzip2() -> Any:
    """Return a decompressor for bzip2."""
    return _library("bz2").BZ2Decompressor()


def xz() -> Any:
    """Return a decompressor for xz."""
    lzma = _library("lzma")
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY)


def zstd() -> Any:
    """Return a decompressor for a zstd frame, from Python's own library if available."""
    try:
        return _library("compression.zstd").ZstdDecompressor()
    except ImportError:
        return Zstandard(_library("zstandard"))


def error_types() -> tuple[type[Exception], ...]:
    """Return the errors that the loaded libraries raise for damaged data."""
    error_names = ("zlib.error", "lzma.LZMAError", "compression.zstd.ZstdError", "zstandard.ZstdError")
    parts = (name.rpartition(".") for name in error_names)
    return (
        OSError,
        *PARSER_ERRORS,
        *(getattr(modules[module], error) for module, _, error in parts if module in modules),
    )


def expand(stream: Any, data: bytes, most: int) -> bytes:
    """Expand a stream in small steps; raise ``ValueError`` if it has more than ``most`` bytes."""
    output = bytearray()
    for at in range(0, len(data), _CHUNK_SIZE):
        output += stream.decompress(data[at : at + _CHUNK_SIZE], most)
        while not (stream.eof or stream.needs_input) and len(output) <= most:
            output += stream.decompress(b"", most)
        if len(output) > most:
            raise ValueError(f"it expands to more than {most:,} bytes")
        if stream.eof:
            break
    return bytes(output)


def _library(name: str) -> Any:
    """Import a module; raise ``OSError`` if no file descriptor is available."""
    try:
        return import_module(name)
    except ImportError:
        # Python reports missing file descriptors as ImportError; in that case, this call raises OSError.
        os.close(os.open(os.devnull, os.O_RDONLY))
        raise


class Gzip:
    """A decompressor for a gzip member or another zlib format, with the same interface as the others."""

    def __init__(self, wbits: int = 31) -> None:
        self._one = zlib.decompressobj(wbits)

    def decompress(self, data: bytes, most: int) -> bytes:
        """Expand data to at most ``most`` bytes."""
        return self._one.decompress(self._one.unconsumed_tail + data, most)

    @property
    def needs_input(self) -> bool:
        """Whether all input was consumed."""
        return not self._one.unconsumed_tail

    @property
    def eof(self) -> bool:
        """Whether the member has ended."""
        return self._one.eof

    @property
    def unused_data(self) -> bytes:
        """The data after the member."""
        return self._one.unused_data


class Zstandard:
    """A decompressor for a zstd frame on older Python versions."""

    # The output is not limited, so ``expand`` passes small chunks.
    needs_input = True

    def __init__(self, library: Any) -> None:
        self._one = library.ZstdDecompressor(max_window_size=MEMORY // 2).decompressobj()

    def decompress(self, data: bytes, most: int) -> bytes:
        """Expand all data; ``most`` is ignored."""
        del most
        output: bytes = self._one.decompress(data)
        return output

    def __getattr__(self, name: str) -> Any:
        return getattr(self._one, name)
