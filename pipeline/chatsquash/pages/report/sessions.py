"""The sessions worth a look: each with its conversation, and beside it what its log holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chatsquash.pages.html.markup import Child, Html, tag
from chatsquash.pages.html.record import Showing, fitting, tools
from chatsquash.pages.report.bounds import bounded
from chatsquash.pages.report.data import Shown
from chatsquash.pages.report.log import log

MOST = 60_000
"""Bytes of a session."""
_FINDINGS = 3_000
_SPARE = 600
"""Bytes of what encloses it."""
_TEXT, _LONG = 300, 2_000
_OTHERS = 12
"""Other records of a session that are named."""


def session(number: int, shown: Shown) -> Html:
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


def _facts(shown: Shown) -> Html:
    facts = shown.facts
    tokens = [facts.get(f"usage_{name}_tokens") or 0 for name in ("prompt", "completion")]
    told = {
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
    for name, value in told.items():
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
    told = f"{logged:,} logged, {f'{lost:,}' if lost else 'none'} lost"
    return f"{told}; another record stands for {elsewhere:,}" if elsewhere else told


def _others(shown: Shown) -> str:
    """The other records of a session, and what each is of."""
    named = [f"{bounded(each['file'])}:{each['row']} ({_kind(each)})" for each in shown.others[:_OTHERS]]
    more = [f"{len(shown.others) - _OTHERS:,} more"] if len(shown.others) > _OTHERS else []
    return ", ".join([*named, *more])


def _kind(row: dict[str, Any]) -> str:
    kind = bounded(row["kind"] or "main")
    return f"{kind}, sample {row['sample']:,}" if row["sample"] else kind


def _findings(shown: Shown) -> Iterator[Html]:
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


def _conversation(number: int, shown: Shown, most: int) -> Iterator[Html]:
    yield tag("h4", "Conversation")
    if shown.held is None:
        facts = shown.facts
        why = f"There is no record: {bounded(facts.get('filtered') or facts.get('left_out') or 'left out')}."
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
            notes[at] = [*notes.get(at, ()), tag("span", _severity(finding), f" {bounded(finding['text'], _TEXT)}")]
    showing = Showing(place=shown.place, prefix=f"s{number}-", notes=notes, medium=shown.medium)
    yield from fitting(shown.held, showing, most - _SPARE)
