"""The entries of a zip file that may be compressed with zstd, which Python's own library expands only since 3.14."""

from __future__ import annotations

import struct
import zipfile
import zlib
from typing import Any, BinaryIO

from chatsquash.formats.base import TurnError
from chatsquash.storage import decoders

BEGINS = b"PK\3\4"
"""What a zip file begins with."""
_LOCAL = struct.Struct("<4s22xHH")
"""What stands before an entry: a mark, and how long its name and its extra field are."""
_STORED, _DEFLATED, _ZSTD = 0, 8, 93
_LONGEST = 256 << 20
"""Bytes of an entry, expanded."""
_BROKEN = (zipfile.BadZipFile, ValueError, RuntimeError, NotImplementedError, struct.error, EOFError)


def directory(file: BinaryIO) -> dict[str, zipfile.ZipInfo] | None:
    """The entries of a zip file by their names; ``None`` for any other file.

    Raises ``TurnError`` for one that is damaged.
    """
    file.seek(0)
    if file.read(len(BEGINS)) != BEGINS:
        return None
    try:
        with zipfile.ZipFile(file) as archive:
            return {info.filename: info for info in archive.infolist()}
    except _BROKEN as problem:
        raise TurnError(f"is a zip file that is damaged ({problem})") from None


def entry(file: BinaryIO, info: zipfile.ZipInfo) -> bytes:
    """What an entry holds; raises ``TurnError`` for one that is damaged, encrypted, or larger than is read."""
    file.seek(info.header_offset)
    head = file.read(_LOCAL.size)
    if len(head) < _LOCAL.size or not head.startswith(BEGINS) or info.flag_bits & 1:
        raise TurnError(f"{info.filename} cannot be read")
    _, name, extra = _LOCAL.unpack(head)
    file.seek(info.header_offset + int(_LOCAL.size) + int(name) + int(extra))
    if info.compress_size > _LONGEST:
        raise TurnError(f"{info.filename} has more than {_LONGEST:,} bytes")
    data = _read(file, info.compress_size)
    try:
        return data if info.compress_type == _STORED else decoders.whole(_stream(info), data, _LONGEST)
    except ImportError:
        needs = "pip install 'chatsquash[zstd]', or Python 3.14"
        raise TurnError(f"{info.filename} is compressed with zstd, which needs {needs}") from None
    except decoders.problems() as problem:
        raise TurnError(f"{info.filename} is damaged ({problem})") from None


def _read(file: BinaryIO, size: int) -> bytes:
    pieces = list[bytes]()
    while size > 0 and (piece := file.read(min(size, 1 << 20))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _stream(info: zipfile.ZipInfo) -> Any:
    if info.compress_type == _DEFLATED:
        return decoders.Gzip(-zlib.MAX_WBITS)
    if info.compress_type == _ZSTD:
        return decoders.zstd()
    raise TurnError(f"{info.filename} is compressed by method {info.compress_type}, which is not known")
