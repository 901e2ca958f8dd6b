"""The content of the report, and its sessions: each conversation next to its log entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chatsquash.core.accounting import ELSEWHERE, WHY
from chatsquash.core.model import Json, Severity
from chatsquash.pages.html.markup import Child, Html, tag
from chatsquash.pages.html.record import Showing, fitting, medium, size, tools
from chatsquash.pages.report.advice import Advice
from chatsquash.pages.report.charts import Chart, bounded
from chatsquash.records import StoredRecord
from chatsquash.results.types import FindingRow

MOST = 60_000
"""Maximum bytes of a session."""
_FINDINGS = 3_000
_SPARE = 600
"""Bytes reserved for the enclosing elements."""
_TEXT, _LONG = 300, 2_000
_OTHERS = 12
"""Maximum number of other records listed per session."""


def session(number: int, item: PageSession) -> Html:
    """Render a session, collapsed, in at most ``MOST`` bytes."""
    facts = item.facts
    labels = (facts.get("format"), facts.get("model"))
    summary = tag(
        "summary",
        tag("h3", f"{number}. ", bounded(facts["session"]), dir="auto"),
        tag("span", bounded(facts["log"]), class_="quiet", dir="auto"),
        tag("span", ", ".join(bounded(each) for each in labels if each), class_="quiet", dir="auto"),
        tag("span", "; ".join(item.reasons), class_="why"),
    )
    log_section = tag("section", *log(item), class_="log")
    header = tag("div", _facts(item), *_findings(item))
    remaining = MOST - _SPARE - sum(len(each.encode()) for each in (summary, log_section, header))
    conversation = tag("section", *_conversation(number, item, remaining), class_="conversation")
    return tag(
        "details",
        summary,
        header,
        tag("div", conversation, log_section, class_="sides"),
        id=f"s{number}",
        class_="session",
    )


def _facts(item: PageSession) -> Html:
    facts = item.facts
    tokens = [facts.get(f"usage_{name}_tokens") or 0 for name in ("prompt", "completion")]
    values = {
        "log": facts["log"],
        "record": item.place or None,
        "time": " to ".join(each for each in (facts.get("start"), facts.get("end")) if each),
        "other records": _others(item),
        "turns": facts.get("turns"),
        "characters": facts.get("characters"),
        "logged tokens": f"{tokens[0]:,} in, {tokens[1]:,} out" if any(tokens) else None,
        "record tokens": facts.get("tokens"),
        "replies": _replies(facts),
        "finish reason": facts.get("finish"),
    }
    pairs: list[Html] = []
    for name, value in values.items():
        if value or value == 0:
            text = (
                f"{value:,}"
                if isinstance(value, int)
                else bounded(str(value), _LONG if name == "other records" else _TEXT)
            )
            pairs.append(tag("div", tag("dt", name), tag("dd", text, dir="auto")))
    return tag("dl", *pairs, class_="facts")


def _replies(facts: dict[str, Any]) -> str:
    logged_count, lost_count, elsewhere = (
        facts.get(f"replies_{name}") or 0 for name in ("logged", "lost", "elsewhere")
    )
    if not logged_count:
        return "none logged"
    summary = f"{logged_count:,} logged, {f'{lost_count:,}' if lost_count else 'none'} lost"
    return f"{summary}; {elsewhere:,} in another session's record" if elsewhere else summary


def _others(item: PageSession) -> str:
    """List the other records of a session with their kinds."""
    names = [f"{bounded(each['file'])}:{each['row']} ({_kind(each)})" for each in item.others[:_OTHERS]]
    more = [f"{len(item.others) - _OTHERS:,} more"] if len(item.others) > _OTHERS else []
    return ", ".join([*names, *more])


def _kind(row: dict[str, Any]) -> str:
    kind = bounded(row["kind"] or "main")
    return f"{kind}, sample {row['sample']:,}" if row["sample"] else kind


def _findings(item: PageSession) -> Iterator[Html]:
    if not item.count:
        return
    rows: list[Html] = []
    remaining = _FINDINGS
    for finding in item.findings:
        row = tag("li", _severity(finding), f" {bounded(finding['text'], _TEXT)}", dir="auto")
        remaining -= len(row.encode())
        if remaining < 0:
            break
        rows.append(row)
    more = item.count - len(rows)
    yield tag("ul", *rows, tag("li", f"{more:,} more") if more else None, class_="found")


def _severity(finding: Mapping[str, Any]) -> Html:
    return tag("b", bounded(finding["code"]), class_=f"severity-{finding['severity']}")


def _conversation(number: int, item: PageSession, limit: int) -> Iterator[Html]:
    yield tag("h4", "Conversation")
    if item.record is None:
        facts = item.facts
        why = f"This session has no record: {bounded(facts.get('filtered') or facts.get('left_out') or 'skipped')}."
        yield tag("p", why, class_="quiet")
        return
    names = tools(item.record)
    if names:
        limit -= len(names.encode())
        if limit > MOST // 3:
            yield names
        else:
            limit += len(names.encode())
    notes: dict[int, Sequence[Child]] = {}
    for finding in item.findings:
        if isinstance(at := finding.get("message"), int) and finding.get("record") == item.place:
            notes[at] = [*notes.get(at, ()), tag("span", _severity(finding), f" {bounded(finding['text'], _TEXT)}")]
    showing = Showing(place=item.place, prefix=f"s{number}-", notes=notes, medium=item.medium)
    yield from fitting(item.record, showing, limit - _SPARE)


_MOST = 12_000
"""Maximum bytes of the table."""
_SMALL_TEXT = 300
_REASONS = 3
"""Maximum number of outcomes of replies listed per entry."""
_OUTCOMES = {
    "selected": "this entry became the record",
    "superseded": "earlier than the entry that became the record",
    "cut": "later than the entry that became the record",
    "cleaned": "removed by cleaning",
}
_WITHOUT = {
    "selected": "this entry would have become the record",
    "superseded": "earlier than the selected entry",
    "cut": "later than the selected entry",
}
"""Outcomes of entries of a session without a record."""
_REPLIES = {"A": "empty", "Ac": "text", "At": "calls", "Act": "text and calls"}
_ROLES = {
    "tool": ("tool result", "tool results"),
    "function": ("tool result", "tool results"),
    "A": ("empty assistant", "empty assistants"),
    "Ac": ("assistant", "assistant"),
    "At": ("assistant with calls", "assistant with calls"),
    "Act": ("assistant with text and calls", "assistant with text and calls"),
}


def log(item: PageSession) -> Iterator[Html]:
    """Render the log entries of a session, or the reason why they are unavailable."""
    entries = item.entries
    yield tag("h4", "Log entries")
    if not entries.rows:
        yield tag("p", bounded(entries.why, _SMALL_TEXT) or "The log has no entries.", class_="quiet", dir="auto")
        return
    rows, remaining = _rows(item, entries)
    names = ("line", "time", "reply", "outcome")
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    yield tag("p", bounded(entries.file), class_="quiet", dir="auto")
    yield tag("table", tag("thead", head), tag("tbody", *rows), class_="entries")
    if remaining:
        yield tag("p", f"… {remaining:,} more entries", class_="cut")


def _rows(item: PageSession, entries: Entries) -> tuple[list[Html], int]:
    rows: list[Html] = []
    remaining = _MOST
    for entry in entries.rows:
        row = _row(item, entry)
        remaining -= len(row.encode())
        if remaining < 0:
            return rows, entries.remaining + len(entries.rows) - len(rows)
        rows.append(row)
    return rows, entries.remaining


def _row(item: PageSession, entry: dict[str, Any]) -> Html:
    sized = size(entry["bytes"] or 0)
    reply = f"{_REPLIES.get(entry['reply'], 'other')}, {sized}" if entry["reply"] else "none"
    if entry["kept"] is None:
        reply = sized
    adds = bounded(f"adds {', '.join(map(_role, entry['roles']))}", _SMALL_TEXT) if entry["roles"] else ""
    outcome = "; ".join(_outcome_sentences(item, entry))
    return tag(
        "tr",
        tag("td", f"{entry['line']:,}"),
        tag("td", (entry["time"] or "-").partition(".")[0], title=entry["time"]),
        tag("td", reply, *_small(adds)),
        tag("td", outcome, dir="auto"),
    )


def _small(text: str) -> list[Child]:
    return [tag("br"), tag("small", text)] if text else []


def _role(token: str) -> str:
    """Spell out a role of a trace, such as ``tool*2``."""
    name, _, count = token.partition("*")
    one, many = _ROLES.get(name, (name, name))
    return f"{count} {many}" if count else one


def _outcome_sentences(item: PageSession, entry: dict[str, Any]) -> Iterator[str]:
    outcome = entry["outcome"]
    words = _OUTCOMES if item.record else _OUTCOMES | _WITHOUT
    if outcome in words:
        yield words[outcome]
    else:
        yield (
            f"skipped ({bounded(outcome)}): {bounded(entry['reason'], _TEXT)}" if entry["reason"] else bounded(outcome)
        )
    if others := entry["others"]:
        more = f" and {len(others) - _OTHERS:,} more" if len(others) > _OTHERS else ""
        yield f"also used for {', '.join(bounded(each) for each in others[:_OTHERS])}{more}"
    outcomes = Counter((each["status"], each["why"], each["record"]) for each in entry["replies"])
    for (status, why, record), count in outcomes.most_common(_REASONS):
        yield _loss_sentence(why or "", count) if status == "lost" else _record_sentence(item, status, record, count)


def _loss_sentence(why: str, count: int) -> str:
    """Return why replies are not in any record of their session."""
    where = "not in any record of this session" if why == ELSEWHERE else "lost"
    text = f"its reply is {where}" if count == 1 else f"{count:,} replies are {where}"
    return f"{text}: {bounded(WHY.get(why, why))}"


def _record_sentence(item: PageSession, status: str, record: str | None, count: int) -> str:
    """Return which record contains replies."""
    where = "the record" if record in (None, item.place) else bounded(record or "")
    text = f"{where} contains {'its reply' if count == 1 else f'{count:,} replies'}"
    return f"{text} with different wording" if status == "rewritten" else text


class Figure(NamedTuple):
    """A figure of the summary."""

    name: str
    value: str
    details: str = ""
    """Breakdown of the value."""
    severity: str = ""
    """Severity of the findings it counts, if any."""


@dataclass(frozen=True, slots=True)
class Entries:
    """The log entries of a session."""

    rows: Sequence[dict[str, Any]] = ()
    """Entries in the form of ``inspect``, with outcomes relative to the displayed record.

    ``replies`` contains the outcomes of its replies if they were traced, ``others`` the other records made from the
    same entry, and ``reason`` the reason why a line could not be read.
    """
    remaining: int = 0
    """Number of entries that are not shown."""
    why: str = ""
    """Reason why there are no entries."""
    file: str = ""
    """File name of the log."""


@dataclass(frozen=True, slots=True)
class PageSession:
    """A session worth a look."""

    facts: dict[str, Any]
    """Its row of the session table."""
    reasons: Sequence[str]
    """Reasons for the selection."""
    record: StoredRecord | None
    findings: Sequence[Mapping[str, Any]] = ()
    count: int = 0
    """Number of its findings."""
    entries: Entries = field(default_factory=Entries)
    others: Sequence[dict[str, Any]] = ()
    """Session table rows of its other records."""
    medium: Callable[[Json], Html] = medium
    """Renders a non-text part."""

    @property
    def place(self) -> str:
        """The place of its record as ``FILE:ROW``, or an empty string without a record."""
        return f"{self.facts['file']}:{self.facts['row']}" if self.facts["file"] else ""


@dataclass(frozen=True, slots=True)
class Content:
    """The content of the page."""

    title: str
    first: Sequence[Advice]
    """Findings to fix first."""
    run: Sequence[tuple[str, str]]
    """Names and values that identify the run."""
    figures: Sequence[Figure]
    charts: Sequence[Chart]
    findings: Sequence[FindingRow]
    """The findings on the page, as in ``reports/findings.jsonl``."""
    code_counts: Mapping[tuple[Severity, str], int]
    """Numbers of all findings by severity and code."""
    sessions: Sequence[PageSession]
    total: int
    """Number of sessions in the result."""
