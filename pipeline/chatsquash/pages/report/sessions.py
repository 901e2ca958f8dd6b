"""The content of the report as plain values, and its sessions: each a conversation beside its log entries."""

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
from chatsquash.records.line import StoredRecord
from chatsquash.results.types import FindingRow

MOST = 60_000
"""Bytes of a session."""
_FINDINGS = 3_000
_SPARE = 600
"""Bytes of what encloses it."""
_TEXT, _LONG = 300, 2_000
_OTHERS = 12
"""Other records of a session that are named."""


def session(number: int, shown: PageSession) -> Html:
    """A session, folded; no more than ``MOST`` bytes."""
    facts = shown.facts
    known = (facts.get("format"), facts.get("model"))
    summary = tag(
        "summary",
        tag("h3", f"{number}. ", bounded(facts["session"]), dir="auto"),
        tag("span", bounded(facts["log"]), class_="quiet", dir="auto"),
        tag("span", ", ".join(bounded(each) for each in known if each), class_="quiet", dir="auto"),
        tag("span", "; ".join(shown.chosen), class_="why"),
    )
    beside = tag("section", *log(shown), class_="log")
    above = tag("div", _facts(shown), *_findings(shown))
    left = MOST - _SPARE - sum(len(each.encode()) for each in (summary, beside, above))
    said = tag("section", *_conversation(number, shown, left), class_="conversation")
    return tag("details", summary, above, tag("div", said, beside, class_="sides"), id=f"s{number}", class_="session")


def _facts(shown: PageSession) -> Html:
    facts = shown.facts
    tokens = [facts.get(f"usage_{name}_tokens") or 0 for name in ("prompt", "completion")]
    values = {
        "log": facts["log"],
        "record": shown.place or None,
        "time": " to ".join(each for each in (facts.get("start"), facts.get("end")) if each),
        "other records": _others(shown),
        "turns": facts.get("turns"),
        "characters": facts.get("characters"),
        "tokens as logged": f"{tokens[0]:,} in, {tokens[1]:,} out" if any(tokens) else None,
        "tokens of the record": facts.get("tokens"),
        "replies": _replies(facts),
        "ended": facts.get("finish"),
    }
    pairs: list[Html] = []
    for name, value in values.items():
        if value or value == 0:
            said = (
                f"{value:,}"
                if isinstance(value, int)
                else bounded(str(value), _LONG if name == "other records" else _TEXT)
            )
            pairs.append(tag("div", tag("dt", name), tag("dd", said, dir="auto")))
    return tag("dl", *pairs, class_="facts")


def _replies(facts: dict[str, Any]) -> str:
    logged, lost, elsewhere = (facts.get(f"replies_{name}") or 0 for name in ("logged", "lost", "elsewhere"))
    if not logged:
        return "none logged"
    summary = f"{logged:,} logged, {f'{lost:,}' if lost else 'none'} lost"
    return f"{summary}; another record stands for {elsewhere:,}" if elsewhere else summary


def _others(shown: PageSession) -> str:
    """The other records of a session, and what each is of."""
    named = [f"{bounded(each['file'])}:{each['row']} ({_kind(each)})" for each in shown.others[:_OTHERS]]
    more = [f"{len(shown.others) - _OTHERS:,} more"] if len(shown.others) > _OTHERS else []
    return ", ".join([*named, *more])


def _kind(row: dict[str, Any]) -> str:
    kind = bounded(row["kind"] or "main")
    return f"{kind}, sample {row['sample']:,}" if row["sample"] else kind


def _findings(shown: PageSession) -> Iterator[Html]:
    if not shown.count:
        return
    items: list[Html] = []
    left = _FINDINGS
    for finding in shown.findings:
        item = tag("li", _severity(finding), f" {bounded(finding['text'], _TEXT)}", dir="auto")
        left -= len(item.encode())
        if left < 0:
            break
        items.append(item)
    more = shown.count - len(items)
    yield tag("ul", *items, tag("li", f"{more:,} more") if more else None, class_="found")


def _severity(finding: Mapping[str, Any]) -> Html:
    return tag("b", bounded(finding["code"]), class_=f"severity-{finding['severity']}")


def _conversation(number: int, shown: PageSession, most: int) -> Iterator[Html]:
    yield tag("h4", "Conversation")
    if shown.record is None:
        facts = shown.facts
        why = f"There is no record: {bounded(facts.get('filtered') or facts.get('left_out') or 'left out')}."
        yield tag("p", why, class_="quiet")
        return
    named = tools(shown.record)
    if named:
        most -= len(named.encode())
        if most > MOST // 3:
            yield named
        else:
            most += len(named.encode())
    notes: dict[int, Sequence[Child]] = {}
    for finding in shown.findings:
        if isinstance(at := finding.get("message"), int) and finding.get("record") == shown.place:
            notes[at] = [*notes.get(at, ()), tag("span", _severity(finding), f" {bounded(finding['text'], _TEXT)}")]
    showing = Showing(place=shown.place, prefix=f"s{number}-", notes=notes, medium=shown.medium)
    yield from fitting(shown.record, showing, most - _SPARE)


_MOST = 12_000
"""Bytes of the table."""
_SMALL_TEXT = 300
_REASONS = 3
"""Other records of one entry that are named."""
_OUTCOMES = {
    "selected": "the record is made of it",
    "superseded": "earlier than the entry of the record",
    "cut": "later than the entry of the record",
    "cleaned": "cleaning left it out",
}
_WITHOUT = {
    "selected": "a record would be made of it",
    "superseded": "earlier than the last entry that counts",
    "cut": "later than the last entry that counts",
}
"""What became of an entry of a session without a record."""
_REPLIES = {"A": "empty", "Ac": "text", "At": "calls", "Act": "text and calls"}
_ROLES = {
    "tool": ("tool result", "tool results"),
    "function": ("tool result", "tool results"),
    "A": ("empty assistant", "empty assistants"),
    "Ac": ("assistant", "assistant"),
    "At": ("assistant with calls", "assistant with calls"),
    "Act": ("assistant with text and calls", "assistant with text and calls"),
}


def log(shown: PageSession) -> Iterator[Html]:
    """The entries of a session's log, or why there are none."""
    entries = shown.entries
    yield tag("h4", "Log entries")
    if not entries.rows:
        yield tag("p", bounded(entries.why, _SMALL_TEXT) or "The log has none.", class_="quiet", dir="auto")
        return
    rows, left = _rows(shown, entries)
    names = ("line", "time", "reply", "what became of it")
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    yield tag("p", bounded(entries.file), class_="quiet", dir="auto")
    yield tag("table", tag("thead", head), tag("tbody", *rows), class_="entries")
    if left:
        yield tag("p", f"… {left:,} entries more", class_="cut")


def _rows(shown: PageSession, entries: Entries) -> tuple[list[Html], int]:
    rows: list[Html] = []
    left = _MOST
    for entry in entries.rows:
        row = _row(shown, entry)
        left -= len(row.encode())
        if left < 0:
            return rows, entries.left + len(entries.rows) - len(rows)
        rows.append(row)
    return rows, entries.left


def _row(shown: PageSession, entry: dict[str, Any]) -> Html:
    sized = size(entry["bytes"] or 0)
    reply = f"{_REPLIES.get(entry['reply'], 'other')}, {sized}" if entry["reply"] else "none"
    if entry["kept"] is None:
        reply = sized
    adds = bounded(f"adds {', '.join(map(_role, entry['roles']))}", _SMALL_TEXT) if entry["roles"] else ""
    became = "; ".join(_became(shown, entry))
    return tag(
        "tr",
        tag("td", f"{entry['line']:,}"),
        tag("td", (entry["time"] or "-").partition(".")[0], title=entry["time"]),
        tag("td", reply, *_small(adds)),
        tag("td", became, dir="auto"),
    )


def _small(text: str) -> list[Child]:
    return [tag("br"), tag("small", text)] if text else []


def _role(token: str) -> str:
    """A role of a trace, such as ``tool*2``, in words."""
    name, _, count = token.partition("*")
    one, many = _ROLES.get(name, (name, name))
    return f"{count} {many}" if count else one


def _became(shown: PageSession, entry: dict[str, Any]) -> Iterator[str]:
    outcome = entry["outcome"]
    words = _OUTCOMES if shown.record else _OUTCOMES | _WITHOUT
    if outcome in words:
        yield words[outcome]
    else:
        yield (
            f"left out ({bounded(outcome)}): {bounded(entry['reason'], _TEXT)}" if entry["reason"] else bounded(outcome)
        )
    if others := entry["others"]:
        more = f" and {len(others) - _OTHERS:,} more" if len(others) > _REASONS else ""
        yield f"made of it, too: {', '.join(bounded(each) for each in others[:_OTHERS])}{more}"
    fates = Counter((each["status"], each["why"], each["record"]) for each in entry["replies"])
    for (status, why, record), count in fates.most_common(_REASONS):
        yield _loss_sentence(why or "", count) if status == "lost" else _record_sentence(shown, status, record, count)


def _loss_sentence(why: str, count: int) -> str:
    """Why replies stand in no record of their session."""
    where = "in no record of this session" if why == ELSEWHERE else "lost"
    said = f"its reply is {where}" if count == 1 else f"{count:,} replies are {where}"
    return f"{said}: {bounded(WHY.get(why, why))}"


def _record_sentence(shown: PageSession, status: str, record: str | None, count: int) -> str:
    """Which record holds replies."""
    where = "the record" if record in (None, shown.place) else bounded(record or "")
    said = f"{where} holds {'its reply' if count == 1 else f'{count:,} replies'}"
    return f"{said} in another wording" if status == "rewritten" else said


class Figure(NamedTuple):
    """A number of the summary."""

    name: str
    value: str
    details: str = ""
    """What it is made of."""
    severity: str = ""
    """Of findings."""


@dataclass(frozen=True, slots=True)
class Entries:
    """What the log of a session holds."""

    rows: Sequence[dict[str, Any]] = ()
    """An entry each, as ``inspect`` tells of it, as seen from the record that is shown.

    ``replies`` tell what became of its replies, where that was traced;
    ``others`` are the records that are made of the same entry, and ``reason`` says why a line could not be read.
    """
    left: int = 0
    """Entries that are not shown."""
    why: str = ""
    """Why there are none."""
    file: str = ""
    """The name of the log."""


@dataclass(frozen=True, slots=True)
class PageSession:
    """A session worth a look."""

    facts: dict[str, Any]
    """Its line of the session table."""
    chosen: Sequence[str]
    """Why it is worth that."""
    record: StoredRecord | None
    findings: Sequence[Mapping[str, Any]] = ()
    count: int = 0
    """How many findings it has."""
    entries: Entries = field(default_factory=Entries)
    others: Sequence[dict[str, Any]] = ()
    """The lines of the session table about its other records."""
    medium: Callable[[Json], Html] = medium
    """Makes HTML of a part that is no text."""

    @property
    def place(self) -> str:
        """Where its record stands; empty where it has none."""
        return f"{self.facts['file']}:{self.facts['row']}" if self.facts["file"] else ""


@dataclass(frozen=True, slots=True)
class Content:
    """All that the page shows."""

    title: str
    first: Sequence[Advice]
    """What to do first."""
    run: Sequence[tuple[str, str]]
    """What tells this run from others, in words."""
    figures: Sequence[Figure]
    charts: Sequence[Chart]
    findings: Sequence[FindingRow]
    """Those that are shown, as ``reports/findings.jsonl`` has them."""
    code_counts: Mapping[tuple[Severity, str], int]
    """How many there are, by severity and code."""
    sessions: Sequence[PageSession]
    total: int
    """How many sessions there are."""
