"""Content-defined chunks: equal content is cut at the same places, whatever precedes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from chatsquash.core.errors import UsageError

DATA, LISTS = 2048, 512
"""The average sizes in bytes of chunks of files, and of chunks of lists of ids and files."""
_LARGEST = 8
"""The largest chunk in average sizes."""
_PIECE = 16 << 20
"""The number of bytes that are cut at once."""


def chunks(read: Callable[[int], bytes], average: int = DATA) -> Iterator[memoryview]:
    """Cut the bytes that a call returns, until it returns none; each call gets the number of bytes to read."""
    cutter = _cutter(average)
    rest = b""
    while True:
        piece = read(_PIECE)
        data = rest + piece if rest else piece
        view = memoryview(data)
        start = 0
        # Without a list, the chunks of a piece would be views whose objects stay in memory together.
        sizes = [each.length for each in cutter.cut_buf(data)] if data else []
        # The end of a piece is not a place at which the content would be cut.
        for size in sizes[:-1] if piece else sizes:
            yield view[start : start + size]
            start += size
        if not piece:
            return
        rest = data[start:]


@lru_cache(maxsize=4)
def _cutter(average: int) -> Any:
    try:
        from pyfastcdc import FastCDC
    except ImportError:
        raise missing("pyfastcdc") from None
    return FastCDC(average, min_size=average // 4, max_size=average * _LARGEST)


def missing(package: str) -> UsageError:
    """Return the error for a package that archives require."""
    return UsageError(f"archives require the {package} package: pip install 'chatsquash[archive]'")
