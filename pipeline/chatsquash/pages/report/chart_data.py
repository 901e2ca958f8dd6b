"""Compute the charts of a result, with days and sizes grouped into as few bars as fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from chatsquash.checks import harm
from chatsquash.core.accounting import ELSEWHERE, WHY
from chatsquash.core.model import Severity
from chatsquash.core.text import pluralize
from chatsquash.dataset.reports.tables import REDACTIONS, TOOLS
from chatsquash.pages.report.charts import Bar, Chart
from chatsquash.results.output import ResultFolder, damage
from chatsquash.results.types import Counts

if TYPE_CHECKING:
    import polars as pl

_SOURCES = ("blue", "teal", "violet", "pink", "olive", "brown", "sky", "plum")
"""Colours of sources, without those used for severities."""
_OTHERS = "others"
_TOOLS, _CODES, _KINDS = 15, 25, 20
_DIGITS = 18
"""Maximum digits of a number in a table."""
_SEVERITIES: dict[Severity, str] = {"error": "red", "warning": "amber", "info": "blue"}


class _Tool(NamedTuple):
    """Usage of a tool."""

    tool: str
    calls: int
    failed: int
    unanswered: int


def result_charts(result: ResultFolder, counts: Counts, table: pl.DataFrame) -> Iterator[Chart]:
    """Yield the charts; ``table`` is the session table with the lengths of records."""
    yield _by_day(table)
    records = table.filter(table["file"].is_not_null())
    yield _histogram("Turns per record", "assistant turns", records["turns"], "green")
    yield _histogram("Characters per record", "characters of text", records["characters"], "blue")
    yield from _tokens(result, table)
    yield _tools(result)
    yield _codes(counts)
    yield _replies_chart(counts)
    yield _kinds(result, counts)


def _by_day(table: pl.DataFrame) -> Chart:
    rows = table.filter(table["file"].is_not_null())
    pairs = [(day[:10], source or "?") for day, source in rows.select("start", "format").iter_rows() if day]
    pairs = [(day, source) for day, source in pairs if is_day(day)]
    period = periods(day for day, _ in pairs)
    frequent = [source for source, _ in Counter(source for _, source in pairs).most_common(len(_SOURCES))]
    parts = dict(zip(sorted(frequent), _SOURCES, strict=False))
    sources = {source: source if source in parts else _OTHERS for _, source in pairs}
    if _OTHERS in sources.values():
        parts[_OTHERS] = "grey"  # inserted last, so that it is drawn on top
    counts = Counter((period.of(day), sources[source]) for day, source in pairs)
    undated = len(rows) - len(pairs)
    why = "" if period.name == "day" else ", because there are too many days for one bar each"
    text = f"By source and {period.name} of the first request{why}."
    if period.gap:
        text += f" A label such as … {period.label(period.gap)} stands for all periods without records up to it."
    text += f" Without a time: {pluralize(undated, 'record')}." if undated else ""
    bars = [
        Bar(label, source, counts[at, source])
        for at, label in period.axis()
        for source in parts
        if counts[at, source] or source == next(iter(parts))
    ]
    return Chart(f"Records per {period.name}", text, parts, bars, "records")


def _histogram(title: str, unit: str, values: pl.Series, colour: str) -> Chart:
    known = values.drop_nulls().sort()
    if known.is_empty():
        return Chart(title, "No records.", {}, [], "records")
    half, longest = int(known[len(known) // 2]), int(known[-1])
    text = f"{unit}: half of the records have {half:,} or fewer; the longest has {longest:,}."
    bars = [Bar(label, "records", count) for label, count in sizes(known.to_list())]
    return Chart(title, text[0].upper() + text[1:], {"records": colour}, bars, "records")


def _tokens(result: ResultFolder, table: pl.DataFrame) -> Iterator[Chart]:
    known = table["tokens"].drop_nulls()
    limit = result.options.get("max_tokens")
    if not isinstance(limit, int) or limit < 1:
        limit = None
    if known.is_empty():
        text = "No tokens were counted: convert with --tokenizer."
        yield Chart("Tokens per record", text, {}, [], "records")
        return
    yield _histogram("Tokens per record", "tokens counted by the tokenizer", known, "violet")
    if limit:
        rows = shares(known.to_list(), limit)
        over = rows[-1][1]
        text = f"Record lengths as shares of {limit:,} tokens; {pluralize(over, 'record')} over the limit."
        parts = {"fits": "green", "over": "red"}
        bars = [Bar(label, "over" if label == "over" else "fits", count) for label, count in rows]
        yield Chart("Lengths against --max-tokens", text, parts, bars, "records")


def _tools(result: ResultFolder) -> Chart:
    rows = result.rows(TOOLS, "tool", "calls", "failed", "unanswered")
    name = "Tools"
    if TOOLS not in result.outputs:
        return Chart(name, "The run did not count tool calls (--no-tool-report).", {}, [], "calls")
    known = [_Tool(row["tool"], *(_int(result, TOOLS, row[name]) for name in _Tool._fields[1:])) for row in rows]
    known = sorted((each for each in known if each.calls), key=lambda each: (-each.calls, each.tool))
    calls, failed = sum(each.calls for each in known), sum(each.failed for each in known)
    if not known:
        return Chart(name, "No record calls a tool.", {}, [], "calls")
    text = f"{pluralize(calls, 'call')} to {pluralize(len(known), 'tool')}; {failed:,} failed."
    text += f" The {_TOOLS} most frequent are shown." if len(known) > _TOOLS else ""
    parts = {"answered": "green", "failed": "red", "unanswered": "grey"}
    bars = [
        Bar(each.tool, part, number)
        for each in known[:_TOOLS]
        for part, number in zip(
            parts, (each.calls - each.failed - each.unanswered, each.failed, each.unanswered), strict=True
        )
    ]
    return Chart(name, text, parts, bars, "calls", is_horizontal=True)


def _codes(counts: Counts) -> Chart:
    keys = [(severity, code) for severity, codes in counts.findings.items() for code in codes]
    keys.sort(key=lambda each: (harm.rank(*each), -counts.findings[each[0]][each[1]], each[1]))
    bars = [Bar(code, severity, counts.findings[severity][code]) for severity, code in keys]
    text = "Findings in the dataset, the most harmful first." if bars else "No findings."
    text += f" {len(bars) - _CODES:,} more codes are not shown." if len(bars) > _CODES else ""
    severities = {bar.part for bar in bars[:_CODES]}
    parts = {str(name): colour for name, colour in _SEVERITIES.items() if name in severities}
    return Chart("Findings by code", text, parts, bars[:_CODES], "findings", is_horizontal=True)


def _replies_chart(counts: Counts) -> Chart:
    replies = counts.replies
    losses = sorted(replies.lost.items(), key=lambda each: (-each[1], each[0]))
    elsewhere = replies.lost.get(ELSEWHERE, 0)
    bars = [
        Bar("in a record", "in a record", replies.carried),
        Bar("rewritten", "rewritten", replies.rewritten, "a record contains it with different wording"),
        Bar("in another session's record", "elsewhere", elsewhere, WHY[ELSEWHERE]),
        *(Bar(why, "lost", count, WHY.get(why, "")) for why, count in losses[:_KINDS] if why != ELSEWHERE),
    ]
    bars = [bar for bar in bars if bar.number]
    colours = {"in a record": "green", "rewritten": "amber", "elsewhere": "grey", "lost": "red"}
    parts = {name: colour for name, colour in colours.items() if any(bar.part == name for bar in bars)}
    lost_count = sum(replies.lost.values()) - elsewhere
    text = f"{pluralize(replies.logged, 'reply', 'replies')} logged, {lost_count:,} lost."
    text += f" In another session's record: {elsewhere:,}." if elsewhere else ""
    return Chart("Logged replies", text, parts, bars, "replies", is_horizontal=True)


def _kinds(result: ResultFolder, counts: Counts) -> Chart:
    totals = Counter[str]()
    for row in result.rows(REDACTIONS, "kind", "count"):
        totals[row["kind"]] += _int(result, REDACTIONS, row["count"])
    bars = [Bar(kind, "found", count) for kind, count in sorted(totals.items(), key=lambda each: (-each[1], each[0]))]
    text = secrets(counts)
    return Chart("Secrets and personal data", text, {"found": "red"}, bars[:_KINDS], "found", is_horizontal=True)


def _int(result: ResultFolder, name: str, value: str) -> int:
    if not value.isdecimal() or not value.isascii() or len(value) > _DIGITS:
        raise damage(result.folder, name)
    return int(value)


def secrets(counts: Counts) -> str:
    """Describe how many secrets were found and replaced."""
    if not counts.secrets.found:
        return "No secrets in records."
    records = pluralize(counts.secrets.records, "record")
    return f"{counts.secrets.found:,} in {records}, {counts.secrets.replaced:,} replaced."


_BARS = 120
"""Maximum bars of a chart over time; more days are grouped into longer periods."""
_SHORT_GAP = 4
"""Maximum consecutive empty periods that are shown individually."""
_SINGLE = 12
"""Maximum range of values with one bar per value."""
_SHARES = 10


class Period(NamedTuple):
    """A unit of time, with consecutive numbers for consecutive periods."""

    name: str
    of: Callable[[str], int]
    label: Callable[[int], str]
    known: tuple[int, ...] = ()
    """Sorted numbers of the periods that contain days."""

    @property
    def gap(self) -> int | None:
        """The last period of the first gap, as an example, or ``None`` if there is no gap."""
        return next((last for last in self._gaps() if last is not None), None)

    def _gaps(self) -> Iterator[int | None]:
        """For each period after the first, the last one of the gap before it, or ``None``."""
        for before, at in pairwise(self.known):
            yield at - 1 if at - before - 1 > _SHORT_GAP else None

    def axis(self) -> Iterator[tuple[int, str]]:
        """Yield all periods with labels; a long run of empty ones is combined and labelled with its last."""
        yield from ((at, self.label(at)) for at in self.known[:1])
        for (before, at), gap in zip(pairwise(self.known), self._gaps(), strict=True):
            if gap is None:
                yield from ((each, self.label(each)) for each in range(before + 1, at))
            else:
                yield gap, f"… {self.label(gap)}"
            yield at, self.label(at)


def _week(day: str) -> int:
    """Return the number of the week; day 1 of the proleptic calendar is a Monday."""
    return (date.fromisoformat(day).toordinal() - 1) // 7


_UNITS = (
    Period("day", lambda day: date.fromisoformat(day).toordinal(), lambda at: date.fromordinal(at).isoformat()),
    Period("week", _week, lambda at: date.fromordinal(max(1, at * 7 + 1)).isoformat()),
    Period("month", lambda day: int(day[:4]) * 12 + int(day[5:7]) - 1, lambda at: f"{at // 12:04}-{at % 12 + 1:02}"),
    Period("year", lambda day: int(day[:4]), lambda at: f"{at:04}"),
    Period("decade", lambda day: int(day[:3]), lambda at: f"{at:03}0s"),
    Period("century", lambda day: int(day[:2]), lambda at: f"{at:02}00s"),
)


def periods(days: Iterable[str]) -> Period:
    """Return the shortest period for which the bars fit on a chart."""
    known = set(days)
    for unit in _UNITS:
        period = unit._replace(known=tuple(sorted({unit.of(day) for day in known})))
        if len([*period.axis()]) <= _BARS:
            break
    return period


def days(times: pl.Series) -> list[str]:
    """Return the dates of times, without values that are not dates."""
    return [day[:10] for day in times.drop_nulls().to_list() if is_day(day[:10])]


def is_day(day: str) -> bool:
    """Return whether a text is an ISO date."""
    try:
        date.fromisoformat(day)
    except ValueError:
        return False
    return len(day) == 10


def sizes(values: Iterable[int]) -> list[tuple[str, int]]:
    """Count values, one by one or, for a wide range, in steps of 1, 2, 5, 10, 20, 50 and so on.

    Steps start at the smallest value and end at the largest.
    """
    known = Counter(values)
    if not known:
        return []
    if max(known) - min(known) < _SINGLE:
        return [(f"{value:,}", known[value]) for value in range(min(known), max(known) + 1)]
    counts = Counter[int]()
    for value, count in known.items():
        counts[_step(value)] += count
    return [(_range(at), counts[at]) for at in range(min(counts), max(counts) + 1)]


def shares(values: Iterable[int], limit: int) -> list[tuple[str, int]]:
    """Count the values in each tenth of ``limit``, and above it."""
    counts = Counter(_SHARES if value > limit else max(0, -(-value * _SHARES // limit) - 1) for value in values)
    labels = [f"{10 * at}-{10 * at + 10}%" for at in range(_SHARES)]
    return [*((name, counts[at]) for at, name in enumerate(labels)), ("over", counts[_SHARES])]


def _step(value: int) -> int:
    """Return the index of the largest step (0, 1, 2, 5, 10, 20, 50, ...) that is at most ``value``."""
    at = 0
    while _edge(at + 1) <= value:
        at += 1
    return at


def _edge(at: int) -> int:
    return 0 if at == 0 else (1, 2, 5)[(at - 1) % 3] * 10 ** ((at - 1) // 3)


def _range(at: int) -> str:
    low, high = _edge(at), _edge(at + 1) - 1
    if low == high:
        return str(low)
    return f"{low}-{high}" if high < 1000 else f"{_short(low)}-{_short(high + 1)}"


def _short(value: int) -> str:
    for unit, many in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if value >= many:
            return f"{value // many}{unit}" if value % many == 0 else f"{value / many:g}{unit}"
    return str(value)
