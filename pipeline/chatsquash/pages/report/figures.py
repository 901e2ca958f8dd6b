"""What tells a run from others, and its summary as figures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from chatsquash.core.accounting import ELSEWHERE
from chatsquash.core.options import Options, list_options
from chatsquash.core.text import pluralize
from chatsquash.dataset.manifest import describe
from chatsquash.pages.report.chart_data import days, secrets
from chatsquash.pages.report.charts import bounded
from chatsquash.pages.report.sessions import Figure
from chatsquash.results.output import ResultFolder
from chatsquash.results.types import Counts

if TYPE_CHECKING:
    import polars as pl

_NAMED = 5
"""Models that are named."""
_CODES = 3
"""Codes of findings that are named."""
_VALUE = 60
"""Bytes of an option's value."""


def title(counts: Counts, table: pl.DataFrame) -> str:
    """What tells the pages of several results apart."""
    between = " to ".join(_between(table))
    return f"chatsquash report: {pluralize(counts.sessions.seen, 'session')}{f', {between}' if between else ''}"


def run(result: ResultFolder, table: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """What tells this run from others, in words."""
    yield "written by", f"chatsquash {bounded(result.version)}"
    if between := _between(table):
        yield "requests", " to ".join(between)
    yield "options", ", ".join(_changed_options(result.options)) or "as by default"
    models = Counter(table["model"].drop_nulls().to_list())
    ranked = sorted(models.items(), key=lambda each: (-each[1], each[0]))
    named = [f"{bounded(name)} ({count:,})" for name, count in ranked[:_NAMED]]
    more = [f"{len(ranked) - _NAMED:,} more"] if len(ranked) > _NAMED else []
    yield "models", ", ".join([*named, *more]) or "none named"


def _between(table: pl.DataFrame) -> list[str]:
    dates = days(table["start"])
    return sorted({min(dates), max(dates)}) if dates else []


def _changed_options(options: dict[str, Any]) -> Iterator[str]:
    """The options that are not as by default, as they are typed."""
    usual = describe(Options())
    for option in list_options():
        if option.name not in options or option.secret or options[option.name] == usual.get(option.name):
            continue
        yield _option_text(option.flag, options[option.name], is_hash=option.content)


def _option_text(flag: str, value: Any, *, is_hash: bool) -> str:
    if isinstance(value, bool):
        return flag if value else flag.replace("--", "--no-", 1)
    if is_hash:
        return f"{flag} (a file)"
    values = value if isinstance(value, list) else [value]
    spelled = (each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in values)
    return f"{flag} {bounded(' '.join(spelled), _VALUE)}".rstrip()


def figures(result: ResultFolder, counts: Counts, table: pl.DataFrame) -> Iterator[Figure]:
    """The sums of the run."""
    sessions, replies = counts.sessions, counts.replies
    aside = {
        "left out": sum(sessions.left_out.values()),
        "filtered": sum(sessions.filtered.values()),
        "duplicates": sessions.duplicates,
        "joined": sessions.joined,
    }
    yield Figure("sessions seen", _number(sessions.seen), _sum({"with a record": sessions.written, **aside}))
    yield Figure("records", _number(counts.conversations.written), f"in {pluralize(len(result.record_files), 'file')}")
    lines = {name: count for name, count in counts.lines.items() if name != "seen"}
    yield Figure("lines seen", _number(counts.lines["seen"]), _sum(lines))
    elsewhere = replies.lost.get(ELSEWHERE, 0)
    parts = {
        "in records": replies.carried,
        "rewritten": replies.rewritten,
        "lost": sum(replies.lost.values()) - elsewhere,
        "for which another record stands": elsewhere,
    }
    yield Figure("replies logged", _number(replies.logged), _sum(parts))
    if (reasoning := counts.reasoning).logged:
        yield Figure("replies with reasoning", _number(reasoning.logged), f"{reasoning.carried:,} have it in a record")
    used = [sum(_once(table)[f"usage_{name}_tokens"].drop_nulls()) for name in ("prompt", "completion")]
    yield Figure("tokens as logged", _number(sum(used)), f"{used[0]:,} in, {used[1]:,} out")
    for severity, codes in counts.findings.items():
        yield Figure(f"findings: {severity}", _number(sum(codes.values())), _most(codes), severity)
    grave = "error" if counts.secrets.found > counts.secrets.replaced else ""
    yield Figure("secrets found", _number(counts.secrets.found), secrets(counts), grave)
    yield Figure("e-mail addresses replaced", _number(counts.addresses))


def _most(codes: dict[str, int]) -> str:
    """The most frequent codes, each with how often it is there."""
    ranked = sorted(codes.items(), key=lambda each: (-each[1], each[0]))
    rest = sum(count for _, count in ranked[_CODES:])
    return _sum({**{bounded(code): count for code, count in ranked[:_CODES]}, "others": rest})


def _once(table: pl.DataFrame) -> pl.DataFrame:
    """A row for each session."""
    return table.filter(table["record"].is_null() | (table["record"] == 1))


def _number(value: int) -> str:
    return f"{value:,}"


def _sum(parts: dict[str, int]) -> str:
    terms = [f"{count:,} {name.replace('_', ' ')}" for name, count in parts.items() if count]
    return ", ".join(terms)
