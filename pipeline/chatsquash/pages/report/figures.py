"""Describe a run, and summarize it in figures."""

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

_MODELS = 5
"""Maximum number of models listed."""
_CODES = 3
"""Maximum number of finding codes listed."""
_VALUE = 60
"""Maximum bytes of an option's value."""


def title(counts: Counts, table: pl.DataFrame) -> str:
    """Return a page title with the number of sessions and the dates."""
    dates = " to ".join(_date_range(table))
    return f"chatsquash report: {pluralize(counts.sessions.seen, 'session')}{f', {dates}' if dates else ''}"


def run(result: ResultFolder, table: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield names and values that identify the run."""
    yield "written by", f"chatsquash {bounded(result.version)}"
    if dates := _date_range(table):
        yield "requests", " to ".join(dates)
    yield "options", ", ".join(_changed_options(result.options)) or "defaults"
    models = Counter(table["model"].drop_nulls().to_list())
    ranking = sorted(models.items(), key=lambda each: (-each[1], each[0]))
    names = [f"{bounded(name)} ({count:,})" for name, count in ranking[:_MODELS]]
    more = [f"{len(ranking) - _MODELS:,} more"] if len(ranking) > _MODELS else []
    yield "models", ", ".join([*names, *more]) or "none recorded"


def _date_range(table: pl.DataFrame) -> list[str]:
    dates = days(table["start"])
    return sorted({min(dates), max(dates)}) if dates else []


def _changed_options(options: dict[str, Any]) -> Iterator[str]:
    """Yield the options with non-default values, as on a command line."""
    defaults = describe(Options())
    for option in list_options():
        if option.name not in options or option.secret or options[option.name] == defaults.get(option.name):
            continue
        yield _option_text(option.flag, options[option.name], is_hash=option.content)


def _option_text(flag: str, value: Any, *, is_hash: bool) -> str:
    if isinstance(value, bool):
        return flag if value else flag.replace("--", "--no-", 1)
    if is_hash:
        return f"{flag} (a file)"
    values = value if isinstance(value, list) else [value]
    texts = (each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in values)
    return f"{flag} {bounded(' '.join(texts), _VALUE)}".rstrip()


def figures(result: ResultFolder, counts: Counts, table: pl.DataFrame) -> Iterator[Figure]:
    """Yield the totals of the run."""
    sessions, replies = counts.sessions, counts.replies
    others = {
        "skipped": sum(sessions.left_out.values()),
        "filtered": sum(sessions.filtered.values()),
        "duplicates": sessions.duplicates,
        "joined": sessions.joined,
    }
    yield Figure("sessions seen", _number(sessions.seen), _sum({"with a record": sessions.written, **others}))
    yield Figure("records", _number(counts.conversations.written), f"in {pluralize(len(result.record_files), 'file')}")
    lines = {name: count for name, count in counts.lines.items() if name != "seen"}
    yield Figure("lines seen", _number(counts.lines["seen"]), _sum(lines))
    elsewhere = replies.lost.get(ELSEWHERE, 0)
    parts = {
        "in records": replies.carried,
        "rewritten": replies.rewritten,
        "lost": sum(replies.lost.values()) - elsewhere,
        "in another session's record": elsewhere,
    }
    yield Figure("logged replies", _number(replies.logged), _sum(parts))
    if (reasoning := counts.reasoning).logged:
        yield Figure(
            "replies with reasoning", _number(reasoning.logged), f"{reasoning.carried:,} with reasoning in a record"
        )
    token_sums = [
        sum(_one_row_per_session(table)[f"usage_{name}_tokens"].drop_nulls()) for name in ("prompt", "completion")
    ]
    yield Figure("logged tokens", _number(sum(token_sums)), f"{token_sums[0]:,} in, {token_sums[1]:,} out")
    for severity, codes in counts.findings.items():
        yield Figure(f"findings: {severity}", _number(sum(codes.values())), _top_codes(codes), severity)
    secret_severity = "error" if counts.secrets.found > counts.secrets.replaced else ""
    yield Figure("secrets found", _number(counts.secrets.found), secrets(counts), secret_severity)
    yield Figure("e-mail addresses replaced", _number(counts.addresses))


def _top_codes(codes: dict[str, int]) -> str:
    """Return the most frequent codes with their counts."""
    ranking = sorted(codes.items(), key=lambda each: (-each[1], each[0]))
    rest = sum(count for _, count in ranking[_CODES:])
    return _sum({**{bounded(code): count for code, count in ranking[:_CODES]}, "others": rest})


def _one_row_per_session(table: pl.DataFrame) -> pl.DataFrame:
    """Return one row per session."""
    return table.filter(table["record"].is_null() | (table["record"] == 1))


def _number(value: int) -> str:
    return f"{value:,}"


def _sum(parts: dict[str, int]) -> str:
    terms = [f"{count:,} {name.replace('_', ' ')}" for name, count in parts.items() if count]
    return ", ".join(terms)
