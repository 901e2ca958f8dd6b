"""Computes statistics of datasets: counts, turns, lengths, use of tools, duplicates."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import fields
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from chatsquash.core import chat, jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.index import Index
from chatsquash.core.memo import Recent
from chatsquash.core.model import Json, Message
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.records import NotARecordError, StoredRecord
from chatsquash.records.datasets import DatasetRow, files, rows
from chatsquash.records.reading import RowParser, message_texts, native, record
from chatsquash.records.stored_tokens import StoredTokens, is_token_row, read_tokens
from chatsquash.results import output as outputs
from chatsquash.results.frame import table_lines
from chatsquash.results.stats_table import Long, ModelCount, SessionStats, Spread, Stats, ToolCount
from chatsquash.session.select import flatten
from chatsquash.storage.commit import RUN
from chatsquash.storage.folder import Folder

MEASURES = ("messages", "assistant messages", "tool calls", "characters", "characters of tools", "tokens")
"""Measures of every record; tokens only with a tokenizer."""
TOKEN_MEASURES = ("token ids", "trained ids")
"""Measures of samples of token ids."""
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
    if not (tokenizer or template):
        return None
    from chatsquash.results import template as rendering  # few runs count tokens
    from chatsquash.templates import counting

    tokenizer = tokenizer or (counting.of_template(template) if template else None)
    if template and not tokenizer:
        raise UsageError("--template has no effect without --tokenizer; add it because the model has no tokenizer.json")
    chat_template = rendering.template(template, **bounds) if template else None
    return counting.Counter(counting.Tokenizer(counting.pack(str(tokenizer))), chat_template)


class _Counting:
    """Counts records one by one.  Memory grows by about 20 bytes per record, for the digest that detects duplicates."""

    def __init__(self, tokens: Tokens | None) -> None:
        self.stats = Stats()
        self._tokens = tokens
        self._parser = RowParser()
        self._tools = Recent(_read_tools)
        self._measures = MEASURES if tokens else MEASURES[:-1]
        self._definers: Counter[frozenset[str]] = Counter()
        """The records of the batch, by the names of their tools."""
        self._batch: list[tuple[int | None, ...]] = []
        self._places: list[tuple[str, int]] = []
        self._digests = Index()
        self._token_batch: list[StoredTokens] = []
        all_measures = (*self._measures, *TOKEN_MEASURES)
        self._sums = dict.fromkeys(all_measures, 0)
        self._maxima = dict.fromkeys(all_measures, 0)
        self._counts: dict[str, Counter[int]] = {name: Counter() for name in all_measures}

    def table(self, dataset: str) -> None:
        """Count the session table of a dataset, if it has one."""
        if not Path(dataset, *SESSIONS.split("/")).is_file():
            return
        totals = self.stats.table = self.stats.table or SessionStats()
        reward = (totals.reward or 0.0) * totals.rewards
        for line in table_lines(dataset, _TableLine):
            if line.record is None or line.record == 1:
                totals.sessions += 1
                totals.prompt_tokens += line.usage.prompt_tokens or 0
                totals.completion_tokens += line.usage.completion_tokens or 0
            if line.record is None:
                continue
            totals.exit["unknown" if line.exit is None else "other" if line.exit else "0"] += 1
            totals.finish["unknown" if line.finish is None else line.finish] += 1
            totals.truncated["unknown" if line.truncated is None else "true" if line.truncated else "false"] += 1
            totals.last_user["unknown" if line.last_user is None else line.last_user] += 1
            if line.reward is not None:
                totals.rewards += 1
                reward += line.reward
        totals.reward = reward / totals.rewards if totals.rewards else None
        self._count_models(dataset, totals)

    def _count_models(self, dataset: str, totals: SessionStats) -> None:
        """Add the trained replies of a run, by model."""
        if not Path(dataset, RUN).is_file():
            return
        with closing(Folder(Path(dataset))) as folder:
            manifest = outputs.manifest(outputs.OutputSource(folder, Path(dataset)))
            run = outputs.convert_value(folder, RUN, manifest, _Run)
        for model, count in run.counts.models.items():
            known = totals.models.setdefault(model, ModelCount())
            for each in fields(ModelCount):
                setattr(known, each.name, getattr(known, each.name) + getattr(count, each.name))

    def add(self, row: DatasetRow) -> None:
        """Count a row."""
        try:
            value = self._parser.parse(row.data.removeprefix(BOM_UTF8))
            if is_token_row(value):
                self._add_tokens(row, read_tokens(value))
            else:
                self._add_record(row, record(value))
        except NotARecordError:
            self.stats.unreadable += 1
            return
        split = _SPLIT.match(row.file.name)
        self.stats.splits[split[1] if split else ""] += 1
        if self._digests.put(xxh3_64_intdigest(row.data.strip()) or 1, 0) is not None:  # 0 cannot be a key
            self.stats.duplicates += 1
        if len(self._batch) + len(self._token_batch) >= _BATCH:
            self._fold()

    def _add_tokens(self, row: DatasetRow, tokens: StoredTokens) -> None:
        """Count a sample of token ids."""
        if self._tokens:
            raise UsageError(
                f"{row.file}:{row.number}: its token ids are counted as they are; remove --tokenizer and --template"
            )
        self._token_batch.append(tokens)

    def _add_record(self, row: DatasetRow, row_record: StoredRecord) -> None:
        """Count a record."""
        native_record = native(row_record)
        measures = _measure(native_record.messages)
        length = (measures if native_record is row_record else _measure(row_record.messages)).length
        for role in measures.roles:
            self.stats.roles[role] += 1
        self._batch.append(
            (
                len(measures.roles),
                measures.roles.count("assistant"),
                self._count_tools(native_record.tools, measures.calls),
                length,
                self._tools(row_record.tools).length,
                *([self._count(row_record)] if self._tokens else []),
            )
        )
        self._places.append((str(row.file), row.number))

    def _count(self, record: StoredRecord) -> int | None:
        """Return the tokens of a record, or ``None`` if the template cannot render it."""
        from chatsquash.templates.counting import RefusedError  # few runs count tokens

        assert self._tokens
        try:
            return self._tokens(record)
        except RefusedError:
            self.stats.records_refused += 1
            return None

    def finish(self) -> Stats:
        """Return the statistics."""
        self._fold()
        self.stats.spreads = {name: self._spread(name) for name, counts in self._counts.items() if counts}
        return self.stats

    def _count_tools(self, definitions: Json, calls: list[str]) -> int:
        """Count the tools that a record defines and those that it calls, by name; return the number of calls."""
        self._definers[self._tools(definitions).names] += 1
        for name in {*calls} if len(calls) > 1 else calls:
            count = self._tool(name)
            count.called_in += 1
            count.calls += calls.count(name)
        self.stats.with_tools += isinstance(definitions, list) and bool(definitions)
        self.stats.with_calls += bool(calls)
        return len(calls)

    def _tool(self, name: str) -> ToolCount:
        count = self.stats.tools.get(name)
        if count is None:
            count = self.stats.tools[name] = ToolCount()
        return count

    def _fold(self) -> None:
        """Add the batch to the sums, the counts of rounded values and the longest records."""
        self.stats.records += len(self._batch) + len(self._token_batch)
        self.stats.token_samples += len(self._token_batch)
        columns: dict[str, tuple[int | None, ...]] = dict(
            zip(self._measures, zip(*self._batch, strict=True), strict=False)
        )
        columns |= zip(TOKEN_MEASURES, zip(*self._token_batch, strict=True), strict=False)
        for name, column in columns.items():
            counts = self._counts[name]
            for value, count in Counter(column).items():
                if value is not None:
                    self._sums[name] += count * value
                    self._maxima[name] = max(self._maxima[name], value)
                    counts[_round(value)] += count
        lengths = columns.get("characters", ())
        longest = sorted(range(len(lengths)), key=lambda at: -(lengths[at] or 0))[:MAX_LONGEST]
        rows = [Long(lengths[at] or 0, self._batch[at][0] or 0, *self._places[at]) for at in longest]
        candidates = sorted([*self.stats.longest, *rows], key=lambda each: (-each.characters, each.file, each.record))
        self.stats.longest = candidates[:MAX_LONGEST]
        for names, records in self._definers.items():
            for name in names:
                self._tool(name).defined_in += records
        self._batch, self._places, self._token_batch, self._definers = [], [], [], Counter()

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


class _Measures(NamedTuple):
    """The messages of a record."""

    roles: list[str]
    length: int
    """The number of characters of all their texts."""
    calls: list[str]
    """The names of the called tools; empty for a call without a name."""


def _measure(messages: list[Message]) -> _Measures:
    roles, calls, length = [], list[str](), 0
    for message in messages:
        roles.append(message["role"])
        length += sum(map(len, message_texts(message)))
        if "tool_calls" in message:
            calls += [chat.call_name(call) or "" for call in chat.calls(message)]
    return _Measures(roles, length, calls)


class _Tools(NamedTuple):
    """The definitions of a record."""

    names: frozenset[str]
    length: int
    """Their number of characters as JSON; 0 if there are none."""


def _read_tools(tools: Json) -> _Tools:
    names = map(chat.tool_name, map(flatten, tools)) if isinstance(tools, list) else ()
    length = len(jsonio.dumps(tools).decode()) if tools else 0
    return _Tools(frozenset(filter(None, names)), length)


class _TableUsage(Struct, frozen=True):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _TableLine(Struct, frozen=True):
    """The members of a line of the session table that are counted."""

    record: int | None = None
    usage: _TableUsage = _TableUsage()
    exit: int | None = None
    finish: str | None = None
    truncated: bool | None = None
    last_user: str | None = None
    reward: float | None = None


class _ModelCounts(Struct, frozen=True):
    models: dict[str, ModelCount] = {}


class _Run(Struct, frozen=True):
    """The members of ``run.json`` that are counted."""

    counts: _ModelCounts = _ModelCounts()


def _round(value: int) -> int:
    """Return a number rounded to three significant digits, halves away from zero."""
    if value < 1000:
        return value
    unit: int = 10 ** (len(str(value)) - 3)
    return (value + unit // 2) // unit * unit
