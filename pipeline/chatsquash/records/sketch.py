"""Sketches of the words of records, by which it is told how many of them two records have in common.

A sketch is a MinHash: for each of many orders of all that five words in a row can be, the first of them that a record
holds.  Two records hold the same one in as many of these orders as is the share of what both hold (Jaccard).  One byte
of each is kept: that is as good as four, but for one in 256 that is equal by chance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from chatsquash.core.errors import UsageError

SIZE = 256
"""Orders, and bytes of a sketch."""
NEAR = 0.8
"""The share of words in common from which on records are near."""
WORDS = 5
_SEED = 1
_BY_CHANCE = 1 / 256
MIN_EQUAL = 205
"""Equal bytes of near sketches: ``NEAR`` without what is equal by chance."""
_BATCH = 1 << 16
_CHARACTERS_AS_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Characters of languages that are written without spaces between words."""


def refuse_missing(option: str) -> None:
    """Raise ``UsageError`` where the package is not installed that an option needs."""
    try:
        import rensa  # noqa: F401 - looks whether it is there
    except ImportError:
        raise UsageError(f"{option} needs the package rensa: pip install 'chatsquash[near]'") from None


def sketch(texts: Iterable[str], fallback: bytes) -> bytes:
    """The sketch of the words of texts, one behind the other; of ``otherwise`` where they have none."""
    from rensa import RMinHash  # which few runs need

    minhash = RMinHash(SIZE, _SEED)
    grams = iter(_grams([word for text in texts for word in _words(text)] or [fallback]))
    while some := list(islice(grams, _BATCH)):
        minhash.update(some)
    return bytes([value & 0xFF for value in minhash.digest()])


def common(one: bytes, other: bytes) -> int:
    """How many bytes of two sketches are equal."""
    return (int.from_bytes(one) ^ int.from_bytes(other)).to_bytes(SIZE).count(0)


def share(equal: int) -> float:
    """The share of words that is in common where so many bytes are equal."""
    return max(0.0, (equal / SIZE - _BY_CHANCE) / (1 - _BY_CHANCE))


def _grams(words: list[bytes]) -> Iterable[bytes]:
    if len(words) < WORDS:
        return [b" ".join(words)]
    return map(b" ".join, zip(*(words[at:] for at in range(WORDS)), strict=False))


def _words(text: str) -> Iterator[bytes]:
    lowercase = text.lower() if text.isascii() else _CHARACTERS_AS_WORDS.sub(r" \g<0> ", text.lower())
    yield from lowercase.encode("utf-8", "surrogatepass").split()
