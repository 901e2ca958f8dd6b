"""Statistics of datasets, as text tables and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from math import ceil
from typing import Any, NamedTuple

from chatsquash.core.overview import Headline, Overview, Row, count_parts
from chatsquash.core.text import escape, pluralize, printable

_BARS = " ▁▂▃▄▅▆▇█"
_MAX_TOOLS = 20
"""Tools in the text table; the JSON has all."""


class Spread(NamedTuple):
    """The distribution of a measure; percentiles are rounded to three digits."""

    total: int
    mean: float
    median: int
    p90: int
    p99: int
    max: int
    histogram: list[int]
    """Number of records per size: 0, 1, 2 to 3, 4 to 7, and so on by powers of two."""


class Long(NamedTuple):
    """One of the longest records."""

    characters: int
    messages: int
    file: str
    record: int
    """The number of its line or row."""


@dataclass(slots=True)
class ToolCount:
    """How often a tool is defined and called."""

    defined_in: int = 0
    """Records that define it."""
    called_in: int = 0
    """Records that call it."""
    calls: int = 0


@dataclass(slots=True)
class ModelCount:
    """The replies of a model that are trained on, as counted by the run that wrote a dataset."""

    records: int = 0
    """Records with messages that are trained on."""
    replies: int = 0
    """Logged replies."""
    with_tokens: int = 0
    """Those with a logged number of tokens."""
    tokens: int = 0
    """The sum of these numbers."""
    tokenizer_tokens: int = 0
    """Tokens of all assistant messages trained on, if the run had a tokenizer."""
    characters: int = 0
    """Characters of all assistant messages trained on, if the run had no tokenizer."""


@dataclass(slots=True)
class SessionStats:
    """Statistics from session tables."""

    sessions: int = 0
    prompt_tokens: int = 0
    """Logged usage, counted once per session."""
    completion_tokens: int = 0
    exit: Counter[str] = field(default_factory=Counter)
    """Records by exit code of the last tests or build: ``0``, ``other`` or ``unknown``."""
    finish: Counter[str] = field(default_factory=Counter)
    """Records by finish reason of the last reply."""
    truncated: Counter[str] = field(default_factory=Counter)
    last_user: Counter[str] = field(default_factory=Counter)
    rewards: int = 0
    """Records with a reward."""
    reward: float | None = None
    """The mean reward."""
    models: dict[str, ModelCount] = field(default_factory=dict)
    """The trained replies, by model; the model is empty if it is not logged."""


@dataclass(slots=True)
class Stats:
    """The statistics of datasets."""

    files: int = 0
    records: int = 0
    unreadable: int = 0
    """Lines that are not records."""
    records_refused: int = 0
    """Records that the template cannot render, so their tokens are not counted."""
    duplicates: int = 0
    """Records that repeat an earlier one exactly."""
    token_samples: int = 0
    """Records that are samples of token ids, without messages."""
    with_tools: int = 0
    """Records that define tools."""
    with_calls: int = 0
    """Records with calls."""
    splits: Counter[str] = field(default_factory=Counter)
    """Records per split, according to file names."""
    roles: Counter[str] = field(default_factory=Counter)
    """Messages per role."""
    spreads: dict[str, Spread] = field(default_factory=dict)
    tools: dict[str, ToolCount] = field(default_factory=dict)
    longest: list[Long] = field(default_factory=list)
    table: SessionStats | None = None
    """Statistics of folders with a session table; ``None`` if no folder has one."""

    def __str__(self) -> str:
        """Return the statistics as the command prints them."""
        return "\n".join(_lines(self))


def as_json(stats: Stats) -> dict[str, Any]:
    """Return the statistics as a JSON value."""
    return {
        **asdict(stats),
        "splits": _splits(stats),
        "roles": {printable(role): count for role, count in stats.roles.most_common()},
        "spreads": {name.replace(" ", "_"): spread._asdict() for name, spread in stats.spreads.items()},
        "tools": {printable(name): asdict(count) for name, count in _rank(stats)},
        "table": _members(stats.table) if stats.table else None,
        "longest": [{**each._asdict(), "file": printable(each.file)} for each in stats.longest],
    }


def _members(table: SessionStats) -> dict[str, Any]:
    """Return the members of ``SessionStats``; ``asdict`` cannot copy a ``Counter``."""
    members = {each.name: getattr(table, each.name) for each in fields(table)}
    counts = {name: dict(value) if isinstance(value, Counter) else value for name, value in members.items()}
    return counts | {"models": {model: asdict(count) for model, count in _rank_models(table)}}


def _lines(stats: Stats) -> Iterator[str]:
    yield _overview(stats).as_text()
    if stats.spreads:
        head = ("per record", "total", "mean", "median", "90%", "99%", "most")
        table = _table(head, [(name, *_numbers(*spread[:-1])) for name, spread in stats.spreads.items()])
        bars = ["records by size", *(sparkline(spread.histogram) for spread in stats.spreads.values())]
        yield from ("", *(f"{line}  {bar}".rstrip() for line, bar in zip(table, bars, strict=True)))
    if stats.tools:
        tools = _rank(stats)
        rows = [
            (escape(name), *_numbers(count.defined_in, count.called_in, count.calls))
            for name, count in tools[:_MAX_TOOLS]
        ]
        yield from ("", *_table(("tool", "defined in", "called in", "calls"), rows))
        if len(tools) > _MAX_TOOLS:
            yield f"and {len(tools) - _MAX_TOOLS} more"
    if stats.table and stats.table.models:
        yield from ("", *_model_table(stats.table))
    if stats.longest:
        places = [(f"{escape(each.file)}:{each.record}", *_numbers(*each[:2])) for each in stats.longest]
        yield from ("", *_table(("longest", "characters", "messages"), places))


def _model_table(table: SessionStats) -> Iterator[str]:
    """Yield the replies and tokens trained on by model, and which tokens are counted."""
    models = _rank_models(table)
    unit, lengths = _unit(table)
    rows = [
        (escape(name) if name else "not logged", *_numbers(count.replies, count.tokens, length))
        for (name, count), length in zip(models, lengths, strict=True)
    ]
    yield from _table(("model", "replies trained on", "logged tokens", unit), rows[:_MAX_TOOLS])
    if len(rows) > _MAX_TOOLS:
        yield f"and {len(rows) - _MAX_TOOLS} more"
    if unlogged := sum(count.replies - count.with_tokens for _, count in models):
        yield f"The logs contain no token count for {pluralize(unlogged, 'reply', 'replies')}."


def _unit(table: SessionStats) -> tuple[str, list[int]]:
    """Return the unit of the lengths of all models, and the lengths in the order of the table."""
    counts = [count for _, count in _rank_models(table)]
    if any(count.tokenizer_tokens for count in counts) and not any(count.characters for count in counts):
        return "tokens (tokenizer)", [count.tokenizer_tokens for count in counts]
    return "characters", [count.characters for count in counts]


def _rank_models(table: SessionStats) -> list[tuple[str, ModelCount]]:
    """Return the models, most replies first."""
    return sorted(table.models.items(), key=lambda item: (-item[1].replies, item[0]))


def sparkline(histogram: list[int]) -> str:
    """Return bars from the smallest size with records to the largest; a nonzero count has at least the lowest bar."""
    most = max(histogram, default=0)
    if not most:
        return ""
    first = next(at for at, count in enumerate(histogram) if count)
    return "".join(_BARS[ceil(count / most * (len(_BARS) - 1))] for count in histogram[first:])


def _overview(stats: Stats) -> Overview:
    """Return the counts of all records as a summary."""
    records = f"{pluralize(stats.records, 'record')} in {pluralize(stats.files, 'file')}"
    headlines = [Headline((records,))]
    if stats.unreadable:
        lines = pluralize(stats.unreadable, "line that is not a record", "lines that are not records")
        headlines.append(Headline((f"{lines}:", "run chatsquash check"), "error"))
    if stats.records_refused:
        rejections = f"{pluralize(stats.records_refused, 'record')} rejected by the template,"
        headlines.append(Headline((rejections, "whose tokens are not counted"), "error"))
    return Overview((*headlines,), (*_rows(stats),))


def _rows(stats: Stats) -> Iterator[Row]:
    if stats.duplicates:
        yield Row("duplicates", stats.duplicates, ("repeat an earlier record",))
    if stats.splits.keys() - {""}:
        yield _row("splits", _splits(stats))
    if stats.token_samples:
        yield Row("tokens", stats.token_samples, ("samples of token ids",))
    if stats.roles:
        yield _row("messages", dict(stats.roles.most_common()))
    if stats.with_tools or stats.with_calls:
        yield Row(
            "tools", None, (f"defined in {stats.with_tools:,},", f"called in {pluralize(stats.with_calls, 'record')}")
        )
    if stats.table:
        yield from _session_rows(stats.table)


def _session_rows(table: SessionStats) -> Iterator[Row]:
    prompts = f"logged tokens: {table.prompt_tokens:,} in prompts,"
    yield Row("sessions", table.sessions, (prompts, f"{table.completion_tokens:,} in replies"))
    for name in ("exit", "finish", "truncated", "last_user"):
        yield _row(name, dict(getattr(table, name).most_common()))
    if table.reward is not None:
        yield Row("reward", table.rewards, (f"{table.reward:.3f} on average",))


def _row(label: str, counts: Mapping[str, int]) -> Row:
    return Row(label, sum(counts.values()), count_parts(counts.items()))


def _splits(stats: Stats) -> dict[str, int]:
    return {printable(name): count for name, count in sorted(stats.splits.items()) if name}


def _rank(stats: Stats) -> list[tuple[str, Any]]:
    """Return the tools, most frequently called first."""
    return sorted(stats.tools.items(), key=lambda item: (-item[1].calls, -item[1].defined_in, item[0]))


def _numbers(*values: float) -> tuple[str, ...]:
    return tuple(f"{value:,}" if isinstance(value, int) else f"{value:,.1f}" for value in values)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Format rows with the first column left-aligned and numbers right-aligned."""
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        )
        for line in lines
    ]
