"""What the charts of a result show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from chatsquash.core.logged import ELSEWHERE, WHY
from chatsquash.core.model import Severity
from chatsquash.core.text import counted
from chatsquash.dataset.reports.redactions import REDACTIONS
from chatsquash.dataset.reports.tool_usage import TOOLS
from chatsquash.pages.report.charts import Bar, Chart
from chatsquash.pages.result import bins
from chatsquash.pages.result.figures import secrets
from chatsquash.results.output import ResultFolder, damaged
from chatsquash.results.types import Counts

if TYPE_CHECKING:
    import polars as pl

_SOURCES = ("blue", "teal", "violet", "pink", "olive", "brown", "sky", "plum")
"""Colours of sources: none that says how grave something is."""
_OTHERS = "others"
_TOOLS, _CODES, _KINDS = 15, 25, 20
_DIGITS = 18
"""Digits of a number in a table, at most."""
_SEVERITIES: dict[Severity, str] = {"error": "red", "warning": "amber", "info": "blue"}


class _Tool(NamedTuple):
    """How a tool was used."""

    tool: str
    calls: int
    failed: int
    unanswered: int


def charts(result: ResultFolder, told: Counts, table: pl.DataFrame) -> Iterator[Chart]:
    """What the charts show; ``table`` has the characters of records, too."""
    yield _by_day(table)
    written = table.filter(table["file"].is_not_null())
    yield _spread("Turns per record", "turns of the assistant", written["turns"], "green")
    yield _spread("Characters per record", "characters of all texts", written["characters"], "blue")
    yield from _tokens(result, table)
    yield _tools(result)
    yield _codes(told)
    yield _became(told)
    yield _kinds(result, told)


def _by_day(table: pl.DataFrame) -> Chart:
    rows = table.filter(table["file"].is_not_null())
    pairs = [(day[:10], source or "?") for day, source in rows.select("start", "format").iter_rows() if day]
    pairs = [(day, source) for day, source in pairs if bins.is_day(day)]
    period = bins.periods(day for day, _ in pairs)
    most = [source for source, _ in Counter(source for _, source in pairs).most_common(len(_SOURCES))]
    parts = dict(zip(sorted(most), _SOURCES, strict=False))
    sources = {source: source if source in parts else _OTHERS for _, source in pairs}
    if _OTHERS in sources.values():
        parts[_OTHERS] = "grey"  # which is last, and stands on top of the others
    counts = Counter((period.of(day), sources[source]) for day, source in pairs)
    undated = len(rows) - len(pairs)
    told = f"By source, and by {period.name} of the first request."
    told += (
        f" A label such as … {period.label(period.gap)} stands for all before it that have none." if period.gap else ""
    )
    told += f" {counted(undated, 'record')} without a time." if undated else ""
    bars = [
        Bar(label, source, counts[at, source])
        for at, label in period.axis()
        for source in parts
        if counts[at, source] or source == next(iter(parts))
    ]
    return Chart(f"Records per {period.name}", told, parts, bars, "records")


def _spread(title: str, what: str, values: pl.Series, colour: str) -> Chart:
    known = values.drop_nulls().sort()
    if known.is_empty():
        return Chart(title, "There are no records.", {}, [], "records")
    told = f"{what}: half of the records have {int(known[len(known) // 2]):,} or fewer, the longest {int(known[-1]):,}."
    bars = [Bar(label, "records", count) for label, count in bins.sizes(known.to_list())]
    return Chart(title, told[0].upper() + told[1:], {"records": colour}, bars, "records")


def _tokens(result: ResultFolder, table: pl.DataFrame) -> Iterator[Chart]:
    known = table["tokens"].drop_nulls()
    most = result.options.get("max_tokens")
    if not isinstance(most, int) or most < 1:
        most = None
    if known.is_empty():
        told = "No tokens were counted: convert with --tokenizer."
        yield Chart("Tokens per record", told, {}, [], "records")
        return
    yield _spread("Tokens per record", "tokens as the tokenizer counts them", known, "violet")
    if most:
        rows = bins.shares(known.to_list(), most)
        over = rows[-1][1]
        told = f"How much of {most:,} tokens the records have; {counted(over, 'record')} over it."
        parts = {"fits": "green", "over": "red"}
        bars = [Bar(label, "over" if label == "over" else "fits", count) for label, count in rows]
        yield Chart("Lengths against --max-tokens", told, parts, bars, "records")


def _tools(result: ResultFolder) -> Chart:
    rows = result.rows(TOOLS, "tool", "calls", "failed", "unanswered")
    name = "Tools"
    if TOOLS not in result.outputs:
        return Chart(name, "The run counted no tools (--no-tool-report).", {}, [], "calls")
    known = [_Tool(row["tool"], *(_int(result, TOOLS, row[name]) for name in _Tool._fields[1:])) for row in rows]
    known = sorted((each for each in known if each.calls), key=lambda each: (-each.calls, each.tool))
    calls, failed = sum(each.calls for each in known), sum(each.failed for each in known)
    if not known:
        return Chart(name, "No record calls a tool.", {}, [], "calls")
    told = f"{counted(calls, 'call')} of {counted(len(known), 'tool')}; {failed:,} failed."
    told += f" The {_TOOLS} that are called most." if len(known) > _TOOLS else ""
    parts = {"answered": "green", "failed": "red", "unanswered": "grey"}
    bars = [
        Bar(each.tool, part, number)
        for each in known[:_TOOLS]
        for part, number in zip(
            parts, (each.calls - each.failed - each.unanswered, each.failed, each.unanswered), strict=True
        )
    ]
    return Chart(name, told, parts, bars, "calls", lies=True)


def _codes(told: Counts) -> Chart:
    ranked = [
        Bar(code, severity, count)
        for severity in _SEVERITIES
        for code, count in sorted(told.findings.get(severity, {}).items(), key=lambda each: (-each[1], each[0]))
    ]
    words = "The findings of the dataset, the gravest first." if ranked else "There are none."
    words += f" {len(ranked) - _CODES:,} codes more." if len(ranked) > _CODES else ""
    shown = {bar.part for bar in ranked[:_CODES]}
    parts = {str(name): colour for name, colour in _SEVERITIES.items() if name in shown}
    return Chart("Findings by code", words, parts, ranked[:_CODES], "findings", lies=True)


def _became(told: Counts) -> Chart:
    replies = told.replies
    lost = sorted(replies.lost.items(), key=lambda each: (-each[1], each[0]))
    elsewhere = replies.lost.get(ELSEWHERE, 0)
    bars = [
        Bar("in a record", "in a record", replies.carried),
        Bar("rewritten", "rewritten", replies.rewritten, "a record has it in another wording"),
        Bar("in another session's record", "elsewhere", elsewhere, WHY[ELSEWHERE]),
        *(Bar(why, "lost", count, WHY.get(why, "")) for why, count in lost[:_KINDS] if why != ELSEWHERE),
    ]
    bars = [bar for bar in bars if bar.number]
    colours = {"in a record": "green", "rewritten": "amber", "elsewhere": "grey", "lost": "red"}
    parts = {name: colour for name, colour in colours.items() if any(bar.part == name for bar in bars)}
    gone = sum(replies.lost.values()) - elsewhere
    words = f"{counted(replies.logged, 'reply', 'replies')} logged, {gone:,} lost."
    words += f" For {elsewhere:,} another record stands." if elsewhere else ""
    return Chart("What became of the logged replies", words, parts, bars, "replies", lies=True)


def _kinds(result: ResultFolder, told: Counts) -> Chart:
    counts: Counter[str] = Counter()
    for row in result.rows(REDACTIONS, "kind", "count"):
        counts[row["kind"]] += _int(result, REDACTIONS, row["count"])
    bars = [Bar(kind, "found", count) for kind, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))]
    words = secrets(told)
    return Chart("Secrets and what else is private", words, {"found": "red"}, bars[:_KINDS], "found", lies=True)


def _int(result: ResultFolder, name: str, value: str) -> int:
    if not value.isdecimal() or not value.isascii() or len(value) > _DIGITS:
        raise damaged(result.folder, name)
    return int(value)
