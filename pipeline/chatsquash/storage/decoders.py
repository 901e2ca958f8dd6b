"""What expands one stream, with the methods that those of ``bz2`` and ``lzma`` have."""

from __future__ import annotations

import os
import struct
import zlib
from importlib import import_module
from sys import modules
from typing import Any

MEMORY = 256 << 20
"""Bytes that expanding may take beside the data: what ``xz -9`` and ``zstd --ultra`` need and more."""
PARSER_ERRORS = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, LookupError),
    *(RuntimeError, TypeError, ValueError, struct.error),
)
"""What parsers of the standard library and of packages raise on bytes that they do not expect."""
_LITTLE = 1 << 9
"""Bytes that are expanded at a time: a block of zstd that has four may make 128 KiB."""


def bzip2() -> Any:
    """A stream of bzip2."""
    return _library("bz2").BZ2Decompressor()


def xz() -> Any:
    """A stream of xz."""
    lzma = _library("lzma")
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY)


def zstd() -> Any:
    """A frame of zstd, by Python's own library where it has one."""
    try:
        return _library("compression.zstd").ZstdDecompressor()
    except ImportError:
        return Zstandard(_library("zstandard"))


def problems() -> tuple[type[Exception], ...]:
    """What decoders raise for what is damaged, of the libraries that are loaded."""
    named = ("zlib.error", "lzma.LZMAError", "compression.zstd.ZstdError", "zstandard.ZstdError")
    parts = (name.rpartition(".") for name in named)
    return (
        OSError,
        *PARSER_ERRORS,
        *(getattr(modules[module], error) for module, _, error in parts if module in modules),
    )


def whole(stream: Any, data: bytes, most: int) -> bytes:
    """All that a stream expands to, given little at a time; raises ``ValueError`` for more than ``most`` bytes."""
    made = bytearray()
    for at in range(0, len(data), _LITTLE):
        made += stream.decompress(data[at : at + _LITTLE], most)
        while not (stream.eof or stream.needs_input) and len(made) <= most:
            made += stream.decompress(b"", most)
        if len(made) > most:
            raise ValueError(f"it expands to more than {most:,} bytes")
        if stream.eof:
            break
    return bytes(made)


def _library(name: str) -> Any:
    """A module; raises ``OSError`` where there is no descriptor left to load it with, which ``ImportError`` hides."""
    try:
        return import_module(name)
    except ImportError:
        os.close(os.open(os.devnull, os.O_RDONLY))
        raise


class Gzip:
    """A member of gzip, or what else zlib expands, with the methods that the others have."""

    def __init__(self, wbits: int = 31) -> None:
        self._one = zlib.decompressobj(wbits)

    def decompress(self, data: bytes, most: int) -> bytes:
        """At most so many bytes of what is expanded."""
        return self._one.decompress(self._one.unconsumed_tail + data, most)

    @property
    def needs_input(self) -> bool:
        """Whether nothing is left of what it was given."""
        return not self._one.unconsumed_tail

    @property
    def eof(self) -> bool:
        """Whether the member has ended."""
        return self._one.eof

    @property
    def unused_data(self) -> bytes:
        """What stands behind the member."""
        return self._one.unused_data


class Zstandard:
    """A frame of zstd by the library for older Pythons; it knows no bound, so it is given little at a time."""

    needs_input = True

    def __init__(self, library: Any) -> None:
        self._one = library.ZstdDecompressor(max_window_size=MEMORY // 2).decompressobj()

    def decompress(self, data: bytes, most: int) -> bytes:
        """All that can be expanded of what it is given."""
        del most
        made: bytes = self._one.decompress(data)
        return made

    def __getattr__(self, name: str) -> Any:
        return getattr(self._one, name)
