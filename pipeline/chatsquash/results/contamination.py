"""Whether records hold what an evaluation set asks: words in a row that both have."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator

import polars as pl

from chatsquash.checks import stored_records
from chatsquash.core.errors import UsageError
from chatsquash.core.jsonio import leaves
from chatsquash.core.model import Violation
from chatsquash.core.text import printable
from chatsquash.records.datasets import files, rows_whole
from chatsquash.records.line import NotARecordError, StoredRecord
from chatsquash.records.reading import parse, said

WORDS = 13
"""So many words in a row make an overlap, as published evaluations of leaks count it."""
_BATCH = 8 << 20
"""Characters of texts that are taken apart at once."""
_BLOCK = 7
"""Words in a row of which one run begins at every seventh word of a text within any ``WORDS`` in a row."""
_BITS = 64
"""Bits of the map for each word of evaluation sets: of the texts that none of them shares anything with, nearly all are
told by it alone."""
_SHIFTS = (0, 17, 34)
_PUNCTUATION = {code: None for code in range(128) if not chr(code).isalnum() and chr(code) not in " \t\n\v\f\r"}
_PRIME = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


class Evaluation:
    """The words in a row of evaluation sets, as hashes: about 20 bytes for each word."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Reads all texts of JSONL or Parquet files, or folders of them; raises ``UsageError`` for what is none."""
        self.rows = 0
        self.short = 0
        """Rows without so many words in a row, which nothing can be held to."""
        self._names: list[str] = []
        self._firsts = array("Q")
        """The number of the first row of each file."""
        self._blocks = array("q")
        grams = [self._read(path) for path in paths]
        self._map = _BloomFilter(self._blocks)
        del self._blocks
        unique = pl.concat(grams).unique("gram", keep="first", maintain_order=True).sort("gram")
        self._grams, self._places = unique["gram"], unique["at"]

    def _read(self, path: str) -> pl.DataFrame:
        frames = [_grams(_words([]))]
        for file in files(path):
            self._names.append(printable(str(file)))
            self._firsts.append(self.rows)
            pending: list[tuple[int, str]] = []
            size = 0
            for row in rows_whole(str(file)):
                texts = [leaf for leaf in leaves(_value(row.data)) if isinstance(leaf, str)]
                pending += [(self.rows, text) for text in texts]
                size += sum(map(len, texts))
                self.rows += 1
                if size > _BATCH:
                    frames.append(self._count(pending))
                    pending, size = [], 0
            frames.append(self._count(pending))
        return pl.concat(frames)

    def _count(self, texts: list[tuple[int, str]]) -> pl.DataFrame:
        words = _words(texts)
        for (words_of_text,) in words.group_by("of", maintain_order=True).agg("word").select("word").iter_rows():
            self._blocks.extend(hash(tuple(words_of_text[at : at + _BLOCK])) for at in range(len(words_of_text) - _BLOCK + 1))
        grams = _grams(words)
        self.short += len({at for at, _ in texts}) - grams["at"].n_unique()
        return grams

    def look(self, record: StoredRecord) -> Iterator[Violation]:
        """The first message of a record that holds words of a row, and that row; nothing where none does."""
        texts = [
            (at, text) for at, message in enumerate(record.messages) for text in said(message) if self._may_overlap(text)
        ]
        if not texts or not len(self._grams):
            return
        grams = _grams(_words(texts))
        if not len(grams):
            return
        nearest = self._grams.search_sorted(grams["gram"]).clip(0, len(self._grams) - 1)
        is_match = self._grams.gather(nearest) == grams["gram"]
        messages_with_match, places = grams["at"].filter(is_match), self._places.gather(nearest).filter(is_match)
        if len(messages_with_match):
            messages = messages_with_match.n_unique()
            yield stored_records.eval_overlap(self._place(int(places[0])), WORDS, messages, int(messages_with_match[0]))

    def _may_overlap(self, text: str) -> bool:
        """Whether a text may have so many words in a row in common with a row."""
        if not text.isascii():
            return True
        words = text.lower().translate(_PUNCTUATION).split()
        return any(self._map.may_contain(words[at : at + _BLOCK]) for at in range(0, len(words) - _BLOCK + 1, _BLOCK))

    def _place(self, row: int) -> str:
        file = bisect_right(self._firsts, row) - 1
        return f"{self._names[file]}:{row - self._firsts[file] + 1}"

    def summary(self) -> str:
        """What was read, for people."""
        short = f", {self.short:,} of them too short to be looked for" if self.short else ""
        return f"{self.rows:,} rows of evaluation sets{short}"


def _value(data: bytes) -> object:
    try:
        return parse(data)
    except NotARecordError as problem:
        raise UsageError(f"--against: {problem}") from None


class _BloomFilter:
    """Tells of most runs of words that none of the rows holds them: a Bloom filter."""

    def __init__(self, blocks: array[int]) -> None:
        self._mask = (1 << max(_BITS * len(blocks), 1).bit_length()) - 1
        self._bits = bytearray((self._mask >> 3) + 1)
        for block in blocks:
            for shift in _SHIFTS:
                bit = block >> shift & self._mask
                self._bits[bit >> 3] |= 1 << (bit & 7)

    def may_contain(self, words: list[str]) -> bool:
        """Whether a row may hold these."""
        block, bits, mask = hash(tuple(words)), self._bits, self._mask
        return all(bits[(bit := block >> shift & mask) >> 3] & 1 << (bit & 7) for shift in _SHIFTS)


def _words(texts: list[tuple[int, str]]) -> pl.DataFrame:
    """The words of texts, lower case and without punctuation, with the number that stands beside the text."""
    clean = [(at, text.encode("utf-8", "replace").decode()) for at, text in texts]
    frame = pl.DataFrame(clean, schema={"at": pl.UInt32, "text": pl.String}, orient="row").with_row_index("of")
    without_punctuation = pl.col("text").str.to_lowercase().str.replace_all(r"[^\p{L}\p{M}\p{N}\s]+", "")
    return frame.select("at", "of", without_punctuation.str.extract_all(r"\S+").alias("word")).explode("word").drop_nulls()


def _grams(words: pl.DataFrame) -> pl.DataFrame:
    """The hash of each so many words in a row of a text, with the number that stands beside it."""
    hashed = words.with_columns(pl.col("word").hash(0))
    rolled = pl.col("word")
    for number in range(1, WORDS):
        factor = pl.lit(pow(_PRIME, number, _MASK + 1), dtype=pl.UInt64)
        rolled = rolled + pl.col("word").shift(-number) * factor
    is_complete = pl.col("of") == pl.col("of").shift(1 - WORDS)
    return hashed.select("at", rolled.alias("gram"), is_complete.alias("whole")).filter("whole").drop("whole")
