"""Computes statistics of datasets: counts, turns, lengths, use of tools, duplicates."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterable
from math import ceil
from pathlib import Path
from typing import Any

import polars as pl
from xxhash import xxh3_64_intdigest

from chatsquash.core import chat
from chatsquash.core.errors import UsageError
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.records.datasets import DatasetRow, files, rows
from chatsquash.records.line import NotARecordError, StoredRecord
from chatsquash.records.reading import definitions, native, parse, record, texts
from chatsquash.results import template as rendering
from chatsquash.results.frame import frame
from chatsquash.results.stats_table import Long, SessionStats, Spread, Stats, ToolCount
from chatsquash.session.select import flatten
from chatsquash.templates import counting
from chatsquash.templates.counting import RefusedError

MEASURES = ("messages", "assistant messages", "tool calls", "characters", "characters of tools", "tokens")
"""Measures of every record; tokens only with a tokenizer."""
MAX_LONGEST = 5
_BATCH = 4096
_SPLIT = re.compile(r"([^/\\]+?)-\d{5}-of-\d{5}\.")

Tokens = Callable[[StoredRecord], int]
"""Counts the tokens of a record; raises ``RefusedError`` if the template cannot render it."""


def stats(datasets: Iterable[str], tokens: Tokens | None = None) -> Stats:
    """Return the statistics of datasets; raise ``UsageError`` for a file that cannot be read."""
    counting = _Counting(tokens)
    for dataset in datasets:
        counting.stats.files += len(files(dataset))
        counting.table(dataset)
        for row in rows(dataset):
            counting.add(row)
    return counting.finish()


def token_counter(tokenizer: str | None, template: str | None, **bounds: Any) -> Tokens | None:
    """Return a token counter for a tokenizer and an optional chat template, or ``None`` without a tokenizer."""
    tokenizer = tokenizer or (counting.of_template(template) if template else None)
    if template and not tokenizer:
        raise UsageError("--template has no effect without --tokenizer; add it because the model has no tokenizer.json")
    chat_template = rendering.template(template, **bounds) if template else None
    return counting.Counter(counting.Tokenizer(counting.pack(tokenizer)), chat_template) if tokenizer else None


class _Counting:
    """Counts records one by one.  Memory grows by eight bytes per record, the digest that detects duplicates."""

    def __init__(self, tokens: Tokens | None) -> None:
        self.stats = Stats()
        self._tokens = tokens
        self._measures = MEASURES if tokens else MEASURES[:-1]
        self._batch: list[tuple[int | None, ...]] = []
        self._places: list[tuple[str, int]] = []
        self._digests: list[pl.Series] = []
        self._sums = dict.fromkeys(self._measures, 0)
        self._maxima = dict.fromkeys(self._measures, 0)
        self._counts: dict[str, Counter[int]] = {name: Counter() for name in self._measures}

    def table(self, dataset: str) -> None:
        """Count the session table of a dataset, if it has one."""
        if not Path(dataset, *SESSIONS.split("/")).is_file():
            return
        totals = self.stats.table = self.stats.table or SessionStats()
        rows = frame(dataset)
        once = rows.filter(pl.col("record").is_null() | (pl.col("record") == 1))
        totals.sessions += len(once)
        totals.prompt_tokens += sum(
            once["usage_prompt_tokens"].drop_nulls()
        )  # Python's sum, since that of polars wraps at 64 bits
        totals.completion_tokens += sum(once["usage_completion_tokens"].drop_nulls())
        with_record = rows.filter(pl.col("record").is_not_null())
        exit_status = pl.when(pl.col("exit") == 0).then(pl.lit("0")).when(pl.col("exit") != 0).then(pl.lit("other"))
        totals.exit.update(with_record.select(exit_status)["literal"].fill_null("unknown").to_list())
        for name in ("finish", "truncated", "last_user"):
            getattr(totals, name).update(with_record[name].cast(pl.String).fill_null("unknown").to_list())
        rewards = with_record["reward"].drop_nulls()
        total = (totals.reward or 0.0) * totals.rewards + float(rewards.sum())
        totals.rewards += len(rewards)
        totals.reward = total / totals.rewards if totals.rewards else None

    def add(self, row: DatasetRow) -> None:
        """Count a row."""
        try:
            row_record = record(parse(row.data.removeprefix(BOM_UTF8)))
        except NotARecordError:
            self.stats.unreadable += 1
            return
        native_record = native(row_record)
        calls = self._count_tools(native_record)
        split = _SPLIT.match(row.file.name)
        self.stats.splits[split[1] if split else ""] += 1
        self.stats.roles.update(message["role"] for message in native_record.messages)
        turns = sum(message["role"] == "assistant" for message in native_record.messages)
        lengths = sum(map(len, texts(row_record))), len(definitions(row_record))
        measures = (
            len(native_record.messages),
            turns,
            calls,
            *lengths,
            *([self._count(row_record)] if self._tokens else []),
        )
        self._batch.append((*measures, xxh3_64_intdigest(row.data.strip())))
        self._places.append((str(row.file), row.number))
        if len(self._batch) == _BATCH:
            self._fold()

    def _count(self, record: StoredRecord) -> int | None:
        """Return the tokens of a record, or ``None`` if the template cannot render it."""
        assert self._tokens
        try:
            return self._tokens(record)
        except RefusedError:
            self.stats.records_refused += 1
            return None

    def finish(self) -> Stats:
        """Return the statistics."""
        self._fold()
        digests = pl.concat(self._digests) if self._digests else pl.Series(dtype=pl.UInt64)
        self.stats.duplicates = len(digests) - digests.n_unique()
        self.stats.spreads = {name: self._spread(name) for name in self._measures if self._counts[name]}
        return self.stats

    def _count_tools(self, record: StoredRecord) -> int:
        """Count the tools of a record; return the number of calls."""
        definitions = record.tools if isinstance(record.tools, list) else []
        for name in {name for tool in definitions if (name := chat.tool_name(flatten(tool)))}:
            self.stats.tools.setdefault(name, ToolCount()).defined_in += 1
        calls_by_tool = Counter(
            chat.call_name(call) or "" for message in record.messages for call in chat.calls(message)
        )
        for name, calls in calls_by_tool.items():
            count = self.stats.tools.setdefault(name, ToolCount())
            count.called_in += 1
            count.calls += calls
        self.stats.with_tools += bool(definitions)
        self.stats.with_calls += bool(calls_by_tool)
        return calls_by_tool.total()

    def _fold(self) -> None:
        """Add the batch to the sums, the counts of rounded values and the longest records."""
        schema = {**dict.fromkeys(self._measures, pl.Int64), "digest": pl.UInt64}
        frame = pl.DataFrame(self._batch, schema=schema, orient="row")
        self.stats.records += len(frame)
        self._digests.append(frame["digest"])
        for name in self._measures:
            column = frame[name].drop_nulls()
            self._sums[name] += int(column.sum())
            self._maxima[name] = max(self._maxima[name], int(column.max() or 0))  # type: ignore[arg-type]
            rounded = column.cast(pl.Float64).round_sig_figs(3).cast(pl.Int64)
            self._counts[name].update(dict(rounded.value_counts().iter_rows()))
        longest = frame.with_row_index().sort("characters", "index", descending=[True, False]).head(MAX_LONGEST)
        rows = [Long(row["characters"], row["messages"], *self._places[row["index"]]) for row in longest.to_dicts()]
        candidates = sorted([*self.stats.longest, *rows], key=lambda each: (-each.characters, each.file, each.record))
        self.stats.longest = candidates[:MAX_LONGEST]
        self._batch, self._places = [], []

    def _spread(self, name: str) -> Spread:
        count, total = self._counts[name].total(), self._sums[name]
        median, p90, p99 = (min(self._at(name, ceil(count * share)), self._maxima[name]) for share in (0.5, 0.9, 0.99))
        return Spread(total, total / count, median, p90, p99, self._maxima[name], self._histogram(name))

    def _histogram(self, name: str) -> list[int]:
        """Return the number of records per size, by powers of two."""
        sizes: Counter[int] = Counter()
        for value, count in self._counts[name].items():
            sizes[value.bit_length()] += count
        return [sizes[size] for size in range(max(sizes) + 1)]

    def _at(self, name: str, rank: int) -> int:
        """Return the value at a rank, counted from the smallest."""
        seen = 0
        for value, count in sorted(self._counts[name].items()):
            seen += count
            if seen >= rank:
                return value
        return 0
