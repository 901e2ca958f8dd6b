"""Whether records hold what an evaluation set asks: words in a row that both have."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator

import polars as pl

from chatsquash.checks import existing
from chatsquash.errors import UsageError
from chatsquash.jsonio import leaves
from chatsquash.model import Found
from chatsquash.records.datasets import files, rows_whole
from chatsquash.records.reading import NotARecordError, StoredRecord, parsed
from chatsquash.templates.counting import said
from chatsquash.text import printable

WORDS = 13
"""So many words in a row make an overlap, as published evaluations of leaks count it."""
_BATCH = 8 << 20
"""Characters of texts that are taken apart at once."""
_PRIME = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


class Evaluation:
    """The words in a row of evaluation sets, as hashes: 12 bytes for each word."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Reads all texts of JSONL or Parquet files, or folders of them; raises ``UsageError`` for what is none."""
        self.rows = 0
        self.short = 0
        """Rows without so many words in a row, which nothing can be held to."""
        self._names: list[str] = []
        self._firsts = array("Q")
        """The number of the first row of each file."""
        grams = [self._read(path) for path in paths]
        found = pl.concat(grams).unique("gram", keep="first", maintain_order=True).sort("gram")
        self._grams, self._places = found["gram"], found["at"]

    def _read(self, path: str) -> pl.DataFrame:
        found = [_grams([])]
        for file in files(path):
            self._names.append(printable(str(file)))
            self._firsts.append(self.rows)
            waiting: list[tuple[int, str]] = []
            size = 0
            for row in rows_whole(str(file)):
                texts = [leaf for leaf in leaves(_value(row.data)) if isinstance(leaf, str)]
                waiting += [(self.rows, text) for text in texts]
                size += sum(map(len, texts))
                self.rows += 1
                if size > _BATCH:
                    found.append(self._counted(waiting))
                    waiting, size = [], 0
            found.append(self._counted(waiting))
        return pl.concat(found)

    def _counted(self, texts: list[tuple[int, str]]) -> pl.DataFrame:
        grams = _grams(texts)
        self.short += len({at for at, _ in texts}) - grams["at"].n_unique()
        return grams

    def look(self, held: StoredRecord) -> Iterator[Found]:
        """The first message of a record that holds words of a row, and that row; nothing where none does."""
        texts = [(at, text) for at, message in enumerate(held.messages) for text in said(message)]
        grams = _grams(texts)
        if not len(grams) or not len(self._grams):
            return
        near = self._grams.search_sorted(grams["gram"]).clip(0, len(self._grams) - 1)
        is_met = self._grams.gather(near) == grams["gram"]
        met, places = grams["at"].filter(is_met), self._places.gather(near).filter(is_met)
        if len(met):
            messages = met.n_unique()
            yield existing.eval_overlap(self._place(int(places[0])), WORDS, messages, int(met[0]))

    def _place(self, row: int) -> str:
        file = bisect_right(self._firsts, row) - 1
        return f"{self._names[file]}:{row - self._firsts[file] + 1}"

    def told(self) -> str:
        """What was read, for people."""
        short = f", {self.short:,} of them too short to be looked for" if self.short else ""
        return f"{self.rows:,} rows of evaluation sets{short}"


def _value(data: bytes) -> object:
    try:
        return parsed(data)
    except NotARecordError as problem:
        raise UsageError(f"--against: {problem}") from None


def _grams(texts: list[tuple[int, str]]) -> pl.DataFrame:
    """The hash of each so many words in a row of texts, with the number that stands beside the text."""
    clean = [(at, text.encode("utf-8", "replace").decode()) for at, text in texts]
    frame = pl.DataFrame(clean, schema={"at": pl.UInt32, "text": pl.String}, orient="row").with_row_index("of")
    spoken = pl.col("text").str.to_lowercase().str.replace_all(r"[^\p{L}\p{M}\p{N}\s]+", "")
    words = frame.select("at", "of", spoken.str.extract_all(r"\S+").alias("word")).explode("word").drop_nulls()
    hashed = words.with_columns(pl.col("word").hash(0))
    rolled = pl.col("word")
    for number in range(1, WORDS):
        factor = pl.lit(pow(_PRIME, number, _MASK + 1), dtype=pl.UInt64)
        rolled = rolled + pl.col("word").shift(-number) * factor
    is_whole = pl.col("of") == pl.col("of").shift(1 - WORDS)
    return hashed.select("at", rolled.alias("gram"), is_whole.alias("whole")).filter("whole").drop("whole")
