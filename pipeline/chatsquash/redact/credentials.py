"""Credentials are removed from lines that could not be read, in time linear in the bytes.

Nothing is parsed, since such a line may be anything. A credential is known by what stands before it (``_start``), and
its end is looked for from there on, once: a piece that ends within it leaves nothing of it to the next but how it ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

START_MAX = 1 << 16
"""Bytes that stand before a credential at most: its name, and what is between the two."""
_NAMES = (b"authorization", b"cookie", b"apikey", b"api-key", b"api_key", b"token", b"secret")
_REMOVED = b"[removed]"
# No part of these patterns may begin where an earlier one began and failed later on.
_NAMED = (
    # A member, a pair, or a name and a value; within JSON that is text its quotes have backslashes.
    rb'"[\w-]*+(?:' + b"|".join(b"(?<=%b)" % name for name in _NAMES) + rb")"
    rb'\\*+"\s*+[:,]\s*+(?:\\*+"value\\*+"\s*+:\s*+)?(?P<opening>\\*+"|\[)'
)
_SENT = b"(?P<sent>(?:" + b"|".join(_NAMES) + rb'):[ \t]*+)(?=[^"\\\r\n])'
_QUERY = rb'(?P<query>[?&](?:api_?)?key=)(?=[^&"\\\s])'
_START = b"|".join((_NAMED, _SENT, _QUERY))
_QUOTE = rb'(?<!\\)(?P<slashes>\\*+)"'
_SENT_END, _QUERY_END = rb'["\\\r\n]', rb'[&"\\\s]'


@cache
def compiled(pattern: bytes) -> re.Pattern[bytes]:
    """A pattern, compiled when first needed, which takes longer than converting a small log."""
    return re.compile(pattern, re.IGNORECASE)


class _Credential(NamedTuple):
    """A credential that has begun: what opened it, and how far the end of its bytes was looked for."""

    opening: bytes
    """Its quote with the backslashes before it, a bracket, or the pattern of the byte that ends it."""
    quoted: bool = False

    def end(self, data: bytes, at: int) -> tuple[int, bool]:
        """Where it ends, and whether it does; else from where on the next piece has to be looked at with it."""
        if self.quoted:
            return self._quoted_end(data, at)
        match = compiled(self.opening).search(data, at)
        return (match.start(), True) if match else (len(data), False)

    def _quoted_end(self, data: bytes, at: int) -> tuple[int, bool]:
        """Behind the quote that closes it, or before the one that ends the text that all of this stands in."""
        depth = len(self.opening) - 1
        for quote in compiled(_QUOTE).finditer(data, at):
            slashes = len(quote["slashes"])
            if slashes % 2 == 0 if depth == 0 else slashes <= depth:
                return (quote.end() if slashes or depth == 0 else quote.start()), True
        slashes = len(data) - max(at, len(data.rstrip(b"\\")))
        return len(data) - (min(slashes, depth + 1) if depth else slashes % 2), False


def without_credentials(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Bytes without credentials, however they are cut into pieces; no more is kept than a piece and ``START_MAX``."""
    rest = b""
    begun: _Credential | None = None
    for piece in pieces:
        plain, rest, begun = _removed(rest + piece, begun, START_MAX)
        yield plain
    yield _removed(rest, begun, 0)[0]


def _removed(data: bytes, begun: _Credential | None, ahead: int) -> tuple[bytes, bytes, _Credential | None]:
    """What may be written, what has to be looked at with the next piece, and the credential that this goes on with.

    What starts within the last bytes (``ahead``) is left for the next piece.
    """
    pieces: list[bytes] = []
    at = 0
    while True:
        if begun:
            at, ended = begun.end(data, at)
            if not ended:
                return b"".join(pieces), data[at:], begun
        match = compiled(_START).search(data, at)
        last = max(at, len(data) - ahead)
        if not match or match.start() >= last:
            return b"".join((*pieces, data[at:last])), data[last:], None
        opening = match["opening"] or b""
        quote = opening if opening.endswith(b'"') else b'"' if opening else b""
        pieces += (data[at : match.end() - len(opening)], quote, _REMOVED, quote)
        at, begun = match.end(), _opened(match)


def _opened(match: re.Match[bytes]) -> _Credential:
    if match["sent"]:
        return _Credential(_SENT_END)
    if match["query"]:
        return _Credential(_QUERY_END)
    return _Credential(rb"(?<=\])") if match["opening"] == b"[" else _Credential(match["opening"], quoted=True)
