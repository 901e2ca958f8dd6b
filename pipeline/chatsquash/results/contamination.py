"""Finds records that overlap with evaluation sets: sequences of words that both contain."""

from __future__ import annotations

import csv
import io
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from chatsquash.checks import stored_records
from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.jsonio import leaves
from chatsquash.core.model import Json, Violation
from chatsquash.core.text import error_text, pluralize, printable
from chatsquash.records import NotARecordError, StoredRecord
from chatsquash.records.datasets import PARQUET, UNBOUNDED, complete_rows, files
from chatsquash.records.reading import message_texts, parse
from chatsquash.records.stored_tokens import is_token_row
from chatsquash.results.benchmark_matches import find_tasks
from chatsquash.results.benchmark_tasks import TaskList
from chatsquash.sources.compression import uncompressed
from chatsquash.sources.open import open_file

WORDS = 13
"""The length of a common sequence that counts as overlap, as in published contamination analyses."""
_BATCH = 8 << 20
"""Characters of text that are split into words at once."""
_BLOCK = 7
"""Words per block.  Any ``WORDS`` consecutive words contain a complete block that begins at a multiple of this."""
_BITS = 64
"""Bits of the Bloom filter per word of evaluation sets, enough to reject nearly all texts without overlap."""
_SHIFTS = (0, 17, 34)
_PUNCTUATION = {code: None for code in range(128) if not chr(code).isalnum() and chr(code) not in " \t\n\v\f\r"}
_PRIME = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_CSV = {".csv": ",", ".tsv": "\t"}
_LONGEST_FIELD = 1 << 27
_ROWS = 1024


class Evaluation:
    """The word sequences of evaluation sets as hashes: about 20 bytes per word."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Read JSONL, JSON, CSV or Parquet files, or folders; raise ``UsageError`` for others and sets without rows."""
        self.rows = 0
        self.tasks = TaskList()
        self.short = 0
        """Rows with fewer words than ``WORDS``, which cannot be compared."""
        self._names: list[str] = []
        self._firsts = array("Q")
        """The index of the first row of each file."""
        self._blocks = array("q")
        grams = [self._read(path) for path in paths]
        self._map = _BloomFilter(self._blocks)
        del self._blocks
        unique = pl.concat(grams).unique("gram", keep="first", maintain_order=True).sort("gram")
        self._grams, self._places = unique["gram"], unique["at"]

    def _read(self, path: str) -> pl.DataFrame:
        frames, before = [_grams(_words([]))], self.rows
        for file in files(path):
            self._names.append(printable(str(file)))
            self._firsts.append(self.rows)
            pending: list[tuple[int, str]] = []
            size = 0
            for number, value in evaluation_rows(file):
                if is_token_row(value):
                    raise UsageError(f"--against {file}:{number}: token ids have no words to compare; use texts")
                self.tasks.add(value)
                texts = [leaf for leaf in leaves(value) if isinstance(leaf, str)]
                pending += [(self.rows, text) for text in texts]
                size += sum(map(len, texts))
                self.rows += 1
                if size > _BATCH:
                    frames.append(self._count(pending))
                    pending, size = [], 0
            frames.append(self._count(pending))
        if self.rows == before:
            raise UsageError(f"--against {path}: no rows; use an evaluation set with at least one row")
        return pl.concat(frames)

    def _count(self, texts: list[tuple[int, str]]) -> pl.DataFrame:
        words = _words(texts)
        for (words_of_text,) in words.group_by("of", maintain_order=True).agg("word").select("word").iter_rows():
            self._blocks.extend(
                hash(tuple(words_of_text[at : at + _BLOCK])) for at in range(len(words_of_text) - _BLOCK + 1)
            )
        grams = _grams(words)
        self.short += len({at for at, _ in texts}) - grams["at"].n_unique()
        return grams

    def look(self, record: StoredRecord, value: Json) -> Iterator[Violation]:
        """Report tasks in a record and its row, and the first message that overlaps with a row of a set."""
        if self.tasks:
            yield from find_tasks(self.tasks, record, value)
        yield from self._overlaps(record)

    def _overlaps(self, record: StoredRecord) -> Iterator[Violation]:
        texts = [
            (at, text)
            for at, message in enumerate(record.messages)
            for text in message_texts(message)
            if self._may_overlap(text)
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
        """Return whether a text may overlap with a row; texts with non-ASCII characters always may."""
        if not text.isascii():
            return True
        words = text.lower().translate(_PUNCTUATION).split()
        return any(self._map.may_contain(words[at : at + _BLOCK]) for at in range(0, len(words) - _BLOCK + 1, _BLOCK))

    def _place(self, row: int) -> str:
        file = bisect_right(self._firsts, row) - 1
        return f"{self._names[file]}:{row - self._firsts[file] + 1}"

    def summary(self) -> str:
        """Return a line about the evaluation sets for the user."""
        short = f", {self.short:,} too short to compare" if self.short else ""
        tasks = f"; {self.tasks.summary()}" if self.tasks or self.tasks.unusable else ""
        return f"{pluralize(self.rows, 'row')} of evaluation sets{short}{tasks}"


class _BloomFilter:
    """A Bloom filter of blocks of words: most blocks that no row contains are rejected."""

    def __init__(self, blocks: array[int]) -> None:
        self._mask = (1 << max(_BITS * len(blocks), 1).bit_length()) - 1
        self._bits = bytearray((self._mask >> 3) + 1)
        for block in blocks:
            for shift in _SHIFTS:
                bit = block >> shift & self._mask
                self._bits[bit >> 3] |= 1 << (bit & 7)

    def may_contain(self, words: list[str]) -> bool:
        """Return whether a row may contain a block of words."""
        block, bits, mask = hash(tuple(words)), self._bits, self._mask
        return all(bits[(bit := block >> shift & mask) >> 3] & 1 << (bit & 7) for shift in _SHIFTS)


def _words(texts: list[tuple[int, str]]) -> pl.DataFrame:
    """Return the lower-case words of texts without punctuation, each with the number of its text."""
    clean = [(at, text.encode("utf-8", "replace").decode()) for at, text in texts]
    frame = pl.DataFrame(clean, schema={"at": pl.UInt32, "text": pl.String}, orient="row").with_row_index("of")
    without_punctuation = pl.col("text").str.to_lowercase().str.replace_all(r"[^\p{L}\p{M}\p{N}\s]+", "")
    return (
        frame.select("at", "of", without_punctuation.str.extract_all(r"\S+").alias("word")).explode("word").drop_nulls()
    )


def _grams(words: pl.DataFrame) -> pl.DataFrame:
    """Return the hashes of all sequences of ``WORDS`` words, each with the number of its text."""
    hashed = words.with_columns(pl.col("word").hash(0))
    rolled = pl.col("word")
    for number in range(1, WORDS):
        factor = pl.lit(pow(_PRIME, number, _MASK + 1), dtype=pl.UInt64)
        rolled = rolled + pl.col("word").shift(-number) * factor
    is_complete = pl.col("of") == pl.col("of").shift(1 - WORDS)
    return hashed.select("at", rolled.alias("gram"), is_complete.alias("whole")).filter("whole").drop("whole")


def evaluation_rows(file: Path) -> Iterator[tuple[int, Json]]:
    """Yield the rows of a file with their numbers; raise ``UsageError`` if it cannot be read."""
    suffix = Path(uncompressed(file.name)).suffix.lower()
    try:
        if file.suffix.lower() == PARQUET:
            yield from _parquet_rows(file)
        elif suffix in _CSV:
            yield from _csv_rows(file, _CSV[suffix])
        elif suffix == ".json" and (rows := _json_rows(file)) is not None:
            yield from enumerate(rows, 1)
        else:
            yield from _lines(file)
    except OSError as problem:
        raise UsageError(f"--against {file}: cannot be read ({problem.strerror})") from None


def _lines(file: Path) -> Iterator[tuple[int, Json]]:
    for row in complete_rows(str(file)):
        try:
            yield row.number, parse(row.data)
        except NotARecordError as problem:
            raise UsageError(f"--against {file}:{row.number}: {problem}") from None


def _json_rows(file: Path) -> list[Json] | None:
    """Return the items of a list, or an object as the only row; ``None`` if the file has several lines of JSON."""
    data = _text(file)
    value = jsonio.value(data)
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return [value]
    if jsonio.value(data.lstrip().partition("\n")[0]) is None:
        raise UsageError(f"--against {file}: not valid JSON; use a list of tasks, an object, or JSON Lines")
    return None


def _csv_rows(file: Path, delimiter: str) -> Iterator[tuple[int, Json]]:
    limit = csv.field_size_limit(_LONGEST_FIELD)
    try:
        reader = csv.DictReader(io.StringIO(_text(file), newline=""), delimiter=delimiter, restkey="")
        yield from enumerate(({name: cell for name, cell in row.items() if name and cell} for row in reader), 1)
    except csv.Error as problem:
        raise UsageError(f"--against {file}: not valid CSV ({problem})") from None
    finally:
        csv.field_size_limit(limit)


def _text(file: Path) -> str:
    with open_file(file, UNBOUNDED) as stream:
        data = b"".join(iter(lambda: stream.read(1 << 20), b""))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UsageError(f"--against {file}: not UTF-8 ({problem.reason} at byte {problem.start:,})") from None


def _parquet_rows(file: Path) -> Iterator[tuple[int, Json]]:
    try:
        frame = pl.scan_parquet(file, glob=False)
        total: int = frame.select(pl.len()).collect().item()
        for start in range(0, total, _ROWS):
            batch = frame.slice(start, _ROWS).collect()
            yield from enumerate(map(_plain, batch.iter_rows(named=True, buffer_size=32)), start + 1)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as problem:
        raise UsageError(f"--against {file}: cannot be read ({error_text(problem)})") from None


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}
