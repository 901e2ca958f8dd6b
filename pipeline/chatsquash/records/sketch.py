"""MinHash sketches of records, which estimate how many word sequences two records have in common.

For each of ``SIZE`` random orders of all sequences of five words, a sketch contains the first sequence of the record.
The share of equal entries estimates the Jaccard similarity of two records. One byte per entry is sufficient: 1 in 256
entries is equal by chance, which ``share`` corrects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from chatsquash.core.errors import UsageError

SIZE = 256
"""The number of orders, and of bytes in a sketch."""
NEAR = 0.8
"""The minimum similarity of near duplicates."""
WORDS = 5
_SEED = 1
_BY_CHANCE = 1 / 256
MIN_EQUAL = 205
"""The minimum number of equal bytes in sketches of near duplicates: ``NEAR``, corrected for chance."""
_BATCH = 1 << 16
_CHARACTERS_AS_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Characters of languages written without spaces, each of which counts as a word."""


def refuse_missing(option: str) -> None:
    """Raise ``UsageError`` if the package that an option requires is not installed."""
    try:
        import rensa  # noqa: F401 - only checks whether it is installed
    except ImportError:
        raise UsageError(f"{option} requires the rensa package: pip install 'chatsquash[near]'") from None


def sketch(texts: Iterable[str], fallback: bytes) -> bytes:
    """Return the sketch of the words in all texts, or of ``fallback`` if they contain none."""
    from rensa import RMinHash  # few runs need it

    minhash = RMinHash(SIZE, _SEED)
    grams = iter(_grams([word for text in texts for word in _words(text)] or [fallback]))
    while some := list(islice(grams, _BATCH)):
        minhash.update(some)
    return bytes([value & 0xFF for value in minhash.digest()])


def common(one: bytes, other: bytes) -> int:
    """Return the number of equal bytes in two sketches."""
    return (int.from_bytes(one) ^ int.from_bytes(other)).to_bytes(SIZE).count(0)


def share(equal: int) -> float:
    """Return the estimated similarity for a number of equal bytes."""
    return max(0.0, (equal / SIZE - _BY_CHANCE) / (1 - _BY_CHANCE))


def _grams(words: list[bytes]) -> Iterable[bytes]:
    if len(words) < WORDS:
        return [b" ".join(words)]
    return map(b" ".join, zip(*(words[at:] for at in range(WORDS)), strict=False))


def _words(text: str) -> Iterator[bytes]:
    lowercase = text.lower() if text.isascii() else _CHARACTERS_AS_WORDS.sub(r" \g<0> ", text.lower())
    yield from lowercase.encode("utf-8", "surrogatepass").split()
