"""The sessions worth a look: each with its conversation, and beside it what its log holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from chatsquash.html.markup import Child, Html, tag
from chatsquash.html.record import Showing, cut, fitting, size, tools
from chatsquash.report.page.data import Entries, Shown

MOST = 60_000
"""Bytes of a session."""
_ENTRIES = 12_000
_FINDINGS = 3_000
_SPARE = 600
"""Bytes of what encloses it."""
_TEXT = 300
_NAME = 120
_OUTCOMES = {
    "selected": "the record is made of it",
    "superseded": "a later line has all of it",
    "cut": "it stands behind that of the record",
    "cleaned": "cleaning left it out",
}
_ROLES = {
    "Ac": "the assistant says something",
    "At": "it calls tools",
    "Act": "it does both",
    "+": "messages that it adds",
}


def session(number: int, shown: Shown) -> Html:
    """A session, folded; no more than ``MOST`` bytes."""
    facts = shown.facts
    known = (facts.get("format"), facts.get("model"))
    summary = tag(
        "summary",
        tag("h3", f"{number}. ", _bounded(facts["session"]), dir="auto"),
        tag("span", ", ".join(_bounded(each) for each in known if each), class_="quiet", dir="auto"),
        tag("span", "; ".join(shown.chosen), class_="why"),
    )
    beside = tag("section", *_log(shown), class_="log")
    above = tag("div", _facts(shown), *_findings(shown))
    left = MOST - _SPARE - sum(len(each.encode()) for each in (summary, beside, above))
    said = tag("section", *_conversation(number, shown, left), class_="conversation")
    return tag("details", summary, above, tag("div", said, beside, class_="sides"), id=f"s{number}", class_="session")


def _facts(shown: Shown) -> Html:
    facts = shown.facts
    tokens = [facts.get(f"usage_{name}_tokens") or 0 for name in ("prompt", "completion")]
    told = {
        "log": facts["log"],
        "record": shown.place or None,
        "time": " to ".join(each for each in (facts.get("start"), facts.get("end")) if each),
        "turns": facts.get("turns"),
        "tokens as logged": f"{tokens[0]:,} in, {tokens[1]:,} out" if any(tokens) else None,
        "tokens of the record": facts.get("tokens"),
        "replies": _replies(facts),
        "ended": facts.get("finish"),
    }
    pairs: list[Html] = []
    for name, value in told.items():
        if value or value == 0:
            said = f"{value:,}" if isinstance(value, int) else _bounded(str(value), _TEXT)
            pairs.append(tag("div", tag("dt", name), tag("dd", said, dir="auto")))
    return tag("dl", *pairs, class_="facts")


def _replies(facts: dict[str, Any]) -> str:
    logged, lost = facts.get("replies_logged") or 0, facts.get("replies_lost") or 0
    if not logged:
        return "none logged"
    return f"{logged:,} logged, {lost:,} lost" if lost else f"{logged:,} logged, none lost"


def _findings(shown: Shown) -> Iterator[Html]:
    if not shown.count:
        return
    items: list[Html] = []
    left = _FINDINGS
    for finding in shown.findings:
        item = tag("li", _severity(finding), f" {_bounded(finding['text'], _TEXT)}", dir="auto")
        left -= len(item.encode())
        if left < 0:
            break
        items.append(item)
    more = shown.count - len(items)
    yield tag("ul", *items, tag("li", f"{more:,} more") if more else None, class_="found")


def _severity(finding: dict[str, Any]) -> Html:
    return tag("b", str(finding["code"]), class_=f"severity-{finding['severity']}")


def _conversation(number: int, shown: Shown, most: int) -> Iterator[Html]:
    yield tag("h4", "Conversation")
    if shown.held is None:
        facts = shown.facts
        why = f"There is no record: {facts.get('filtered') or facts.get('left_out') or 'left out'}."
        yield tag("p", why, class_="quiet")
        return
    named = tools(shown.held)
    if named:
        most -= len(named.encode())
        if most > MOST // 3:
            yield named
        else:
            most += len(named.encode())
    notes: dict[int, Sequence[Child]] = {}
    for finding in shown.findings:
        if isinstance(at := finding.get("message"), int) and finding.get("record") == shown.place:
            notes[at] = [*notes.get(at, ()), tag("span", _severity(finding), f" {_bounded(finding['text'], _TEXT)}")]
    showing = Showing(place=shown.place, prefix=f"s{number}-", notes=notes, medium=shown.medium)
    yield from fitting(shown.held, showing, most - _SPARE)


def _log(shown: Shown) -> Iterator[Html]:
    entries = shown.entries
    yield tag("h4", "Log entries")
    if not entries.rows:
        yield tag("p", entries.why or "The log has none.", class_="quiet")
        return
    rows, left = _rows(entries)
    names = ("line", "time", "reply", "what became of it")
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    yield tag("table", tag("thead", head), tag("tbody", *rows), class_="entries")
    if left:
        yield tag("p", f"… {left:,} entries more", class_="cut")
    outcomes = {name: told for name, told in _OUTCOMES.items() if any(each["outcome"] == name for each in entries.rows)}
    words = "; ".join(f"{name}: {told}" for name, told in (outcomes | _ROLES).items())
    yield tag("p", words, class_="legend quiet")


def _rows(entries: Entries) -> tuple[list[Html], int]:
    rows: list[Html] = []
    left = _ENTRIES
    for told in entries.rows:
        row = _row(told)
        left -= len(row.encode())
        if left < 0:
            return rows, entries.left + len(entries.rows) - len(rows)
        rows.append(row)
    return rows, entries.left


def _row(told: dict[str, Any]) -> Html:
    reply = f"{told['reply']}, {size(told['bytes'])}" if told["reply"] else "none"
    if told["kept"] is None:
        reply = size(told["bytes"] or 0)
    roles = f"+{told['added']}: {told['roles']}" if told["added"] else ""
    why = f": {_bounded(told['reason'], _TEXT)}" if told.get("reason") else ""
    became = f"; its reply is {told['traced']}" if told.get("traced") else ""
    return tag(
        "tr",
        tag("td", str(told["at"]), dir="auto"),
        tag("td", (told["time"] or "-").partition(" ")[2].partition(".")[0] or "-", title=told["time"]),
        tag("td", reply, *([tag("br"), tag("small", roles)] if roles else [])),
        tag("td", f"{told['outcome']}{why}{became}", dir="auto"),
    )


def _bounded(text: str, most: int = _NAME) -> str:
    kept, left = cut(text, most)
    return f"{kept}…" if left else kept
