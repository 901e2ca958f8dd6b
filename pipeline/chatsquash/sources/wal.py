"""The write-ahead log of an SQLite database: committed pages that are not yet in the database file."""

from __future__ import annotations

import struct
import sys
from array import array

_HEAD = struct.Struct(">IIIIIIII")
_FRAME = struct.Struct(">IIIIII")
_BIG, _LITTLE = 0x377F0683, 0x377F0682
_MASK = 0xFFFFFFFF
_PAGES = (512, 65536)


def committed_pages(log: bytes) -> tuple[dict[int, memoryview], int] | None:
    """Return the pages of a log up to its last commit, by page number, and the number of pages in the database.

    Pages after the last commit, or left over from an earlier generation of the log, are ignored. Returns ``None`` if
    nothing was committed.
    """
    if len(log) < _HEAD.size:
        return None
    magic, _, size, _, *salts, one, two = _HEAD.unpack_from(log)
    is_big = magic == _BIG
    if magic not in (_BIG, _LITTLE) or not _PAGES[0] <= size <= _PAGES[1] or size & (size - 1):
        return None
    view = memoryview(log)
    sums = _checksums(view[: _HEAD.size - 8], (0, 0), is_big=is_big)
    if sums != (one, two):
        return None
    pages, uncommitted = dict[int, memoryview](), dict[int, memoryview]()
    count = 0
    for at in range(_HEAD.size, len(log) - size - _FRAME.size + 1, size + _FRAME.size):
        number, total, *numbers, one, two = _FRAME.unpack_from(log, at)
        page = view[at + _FRAME.size : at + _FRAME.size + size]
        sums = _checksums(page, _checksums(view[at : at + 8], sums, is_big=is_big), is_big=is_big)
        if numbers != salts or sums != (one, two) or number == 0:
            break
        uncommitted[number] = page
        if total:
            pages |= uncommitted
            uncommitted, count = {}, total
    return (pages, count) if count else None


def _checksums(data: memoryview, sums: tuple[int, int], *, is_big: bool) -> tuple[int, int]:
    """Continue the two running checksums of a log."""
    words = array("I", bytes(data))
    if is_big != (sys.byteorder == "big"):
        words.byteswap()
    one, two = sums
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & _MASK
        two = (two + second + one) & _MASK
    return one, two


def apply(data: bytearray, log: bytes, most: int) -> None:
    """Apply the committed pages of a log to the bytes of a database.

    Raises:
        ValueError: The database would be larger than ``most`` bytes.
    """
    commit = committed_pages(log)
    if commit is None:
        return
    pages, count = commit
    size = len(next(iter(pages.values())))
    if count * size > most:
        raise ValueError(f"is larger than {most:,} bytes including its changes")
    full_size = count * size
    if len(data) < full_size:
        data.extend(bytes(full_size - len(data)))
    del data[full_size:]
    for number, page in pages.items():
        if number <= count:
            data[(number - 1) * size : number * size] = page
