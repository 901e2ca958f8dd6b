"""The summary of a run as figures, and what its charts show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from chatsquash.report.files.redactions import REDACTIONS
from chatsquash.report.files.tool_usage import TOOLS
from chatsquash.report.page.charts import Bar, Chart
from chatsquash.report.page.data import Figure
from chatsquash.report.reading import damaged
from chatsquash.run.page import bins
from chatsquash.run.result import ResultFolder
from chatsquash.text import counted

if TYPE_CHECKING:
    import polars as pl

_SOURCES = ("blue", "green", "amber", "violet", "red")
_OTHERS = "others"
_TOOLS, _CODES, _KINDS = 15, 25, 20
_SEVERITIES = {"error": "red", "warning": "amber", "info": "blue"}


class _Tool(NamedTuple):
    """How a tool was used."""

    tool: str
    calls: int
    failed: int
    unanswered: int


def title(result: ResultFolder, table: pl.DataFrame) -> str:
    """What tells the pages of several results apart."""
    days = _days(table)
    between = f", {min(days)} to {max(days)}" if days else ""
    return f"chatsquash report: {counted(result.counts['sessions']['seen'], 'session')}{between}"


def figures(result: ResultFolder, table: pl.DataFrame) -> Iterator[Figure]:
    """The sums of the run."""
    counts = result.counts
    sessions, replies = counts["sessions"], counts["replies"]
    aside = {
        name: _total(sessions[name]) for name in ("left_out", "filtered", "duplicates", "joined") if name in sessions
    }
    yield Figure("sessions seen", _number(sessions["seen"]), _sum({"with a record": sessions["written"], **aside}))
    yield Figure("records", _number(counts["conversations"]["written"]), counted(len(result.record_files), "file"))
    lines = {name: count for name, count in counts["lines"].items() if name != "seen"}
    yield Figure("lines seen", _number(counts["lines"]["seen"]), _sum(lines))
    lost = _total(replies["lost"])
    yield Figure(
        "replies logged",
        _number(replies["logged"]),
        _sum({"in records": replies["carried"], "rewritten": replies["rewritten"], "lost": lost}),
    )
    if (reasoning := counts["reasoning"])["logged"]:
        yield Figure(
            "replies with reasoning", _number(reasoning["logged"]), f"{reasoning['carried']:,} have it in a record"
        )
    used = [sum(_once(table)[f"usage_{name}_tokens"].drop_nulls()) for name in ("prompt", "completion")]
    yield Figure("tokens as logged", _number(sum(used)), f"{used[0]:,} in, {used[1]:,} out")
    for severity, told in counts["findings"].items():
        codes = max(told, key=lambda code: (told[code], code))
        yield Figure(f"findings: {severity}", _number(_total(told)), f"most of them {codes}", severity)
    secrets = counts["secrets"]
    yield Figure("secrets found", _number(secrets["found"]), _secrets(secrets))
    yield Figure("e-mail addresses replaced", _number(counts["addresses"]))


def charts(result: ResultFolder, table: pl.DataFrame) -> Iterator[Chart]:
    """What the charts show; ``table`` has the characters of records, too."""
    yield _by_day(table)
    written = table.filter(table["file"].is_not_null())
    yield _spread("Turns per record", "turns of the assistant", written["turns"], "green")
    yield _spread("Characters per record", "characters of all texts", written["characters"], "blue")
    yield from _tokens(result, table)
    yield _tools(result)
    yield _codes(result)
    yield _became(result)
    yield _kinds(result)


def _by_day(table: pl.DataFrame) -> Chart:
    rows = table.filter(table["file"].is_not_null())
    pairs = [(day[:10], source or "?") for day, source in rows.select("start", "format").iter_rows() if day]
    pairs = [(day, source) for day, source in pairs if bins.is_day(day)]
    period, name = bins.periods(day for day, _ in pairs)
    most = [source for source, _ in Counter(source for _, source in pairs).most_common(len(_SOURCES))]
    parts = dict(zip(sorted(most), _SOURCES, strict=False))
    sources = {source: source if source in parts else _OTHERS for _, source in pairs}
    if _OTHERS in sources.values():
        parts[_OTHERS] = "grey"
    counts = Counter((period(day), sources[source]) for day, source in pairs)
    undated = len(rows) - len(pairs)
    told = f"By source, and by {name} of the first request; each {name} without records is left out."
    told += f" {counted(undated, 'record')} without a time." if undated else ""
    bars = [Bar(day, source, count) for (day, source), count in sorted(counts.items())]
    return Chart(f"Records per {name}", told, parts, bars, "records")


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


def _codes(result: ResultFolder) -> Chart:
    told = result.counts["findings"]
    ranked = [
        Bar(code, severity, count)
        for severity in _SEVERITIES
        for code, count in sorted(told.get(severity, {}).items(), key=lambda each: (-each[1], each[0]))
    ]
    words = (
        f"{counted(len(ranked), 'code')}; chatsquash explain CODE says what each means." if ranked else "No findings."
    )
    parts = {name: colour for name, colour in _SEVERITIES.items() if any(bar.part == name for bar in ranked[:_CODES])}
    return Chart("Findings by code", words, parts, ranked[:_CODES], "findings", lies=True)


def _became(result: ResultFolder) -> Chart:
    replies = result.counts["replies"]
    lost = sorted(replies["lost"].items(), key=lambda each: (-each[1], each[0]))
    bars = [
        Bar("in a record", "in a record", replies["carried"]),
        Bar("rewritten", "rewritten", replies["rewritten"]),
        *(Bar(f"lost: {why}", "lost", count) for why, count in lost),
    ]
    bars = [bar for bar in bars if bar.number]
    colours = {"in a record": "green", "rewritten": "amber", "lost": "red"}
    parts = {name: colour for name, colour in colours.items() if any(bar.part == name for bar in bars)}
    words = f"{counted(replies['logged'], 'reply', 'replies')} logged, {_total(replies['lost']):,} in no record."
    return Chart("What became of the logged replies", words, parts, bars, "replies", lies=True)


def _kinds(result: ResultFolder) -> Chart:
    counts: Counter[str] = Counter()
    for row in result.rows(REDACTIONS, "kind", "count"):
        counts[row["kind"]] += _int(result, REDACTIONS, row["count"])
    bars = [Bar(kind, "found", count) for kind, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))]
    words = _secrets(result.counts["secrets"])
    return Chart("Secrets and what else is private", words, {"found": "red"}, bars[:_KINDS], "found", lies=True)


def _secrets(told: dict[str, int]) -> str:
    if not told["found"]:
        return "No secret in a record."
    return f"{told['found']:,} in {counted(told['records'], 'record')}, {told['replaced']:,} replaced."


def _int(result: ResultFolder, name: str, value: str) -> int:
    if not value.isdecimal() or not value.isascii():
        raise damaged(result.folder, name)
    return int(value)


def _days(table: pl.DataFrame) -> list[str]:
    return [day[:10] for day in table["start"].drop_nulls().to_list() if bins.is_day(day[:10])]


def _once(table: pl.DataFrame) -> pl.DataFrame:
    """A row for each session."""
    return table.filter(table["record"].is_null() | (table["record"] == 1))


def _total(value: Any) -> int:
    return sum(map(_total, value.values())) if isinstance(value, dict) else int(value)


def _number(value: int) -> str:
    return f"{value:,}"


def _sum(parts: dict[str, int]) -> str:
    told = [f"{count:,} {name.replace('_', ' ')}" for name, count in parts.items() if count]
    return ", ".join(told)
