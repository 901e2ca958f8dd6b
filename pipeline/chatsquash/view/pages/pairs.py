"""Preference pairs side by side."""

from __future__ import annotations

from typing import Any

from chatsquash.html.markup import Child, Html, tag
from chatsquash.html.record import Showing, fitting, tools
from chatsquash.records.reading import NotARecordError, StoredRecord, record
from chatsquash.text import escaped
from chatsquash.view.pages import code
from chatsquash.view.pages.layout import facts, joined, page, url
from chatsquash.view.pairs import Pair
from chatsquash.view.result import Result

_MOST = 1_500_000
"""Bytes of HTML of a prompt or a reply."""


def pair(result: Result, found: Pair) -> Html:
    """The page of a pair."""
    links: list[Child] = [
        tag("a", "Previous pair", href=url(result, "pairs", found.number - 1), rel="prev")
        if found.number > 1
        else None,
        f"pair {found.number:,}",
        tag("a", "Next pair", href=url(result, "pairs", found.number + 1), rel="next") if found.has_next else None,
    ]
    place = f"{found.file}:{found.row}"
    evidence = found.value.get("evidence")
    told = {"evidence": escaped(str(evidence))[:500] if evidence else None, "place": escaped(place)}
    sides = [
        tag("section", tag("h2", name), *_messages(found.value, name, place), class_="side conversation")
        for name in ("chosen", "rejected")
    ]
    prompt = tag("section", *_messages(found.value, "prompt", place), class_="conversation")
    body = [
        tag("h1", "Preference pair"),
        tag("nav", joined(*links), class_="pages", aria_label="Pairs"),
        facts(told),
        tag("details", tag("summary", "prompt"), prompt, class_="about"),
        tag("div", *sides, class_="sides"),
    ]
    return page(f"Pair {found.number:,}", result, *body, modules=("conversation.js",))


def _messages(value: dict[str, Any], name: str, place: str) -> list[Html]:
    try:
        held = record({"messages": value.get(name)})
    except NotARecordError as problem:
        return [tag("p", escaped(str(problem)))]
    defined = tools(StoredRecord([], value.get("tools"))) if name == "prompt" else None
    showing = Showing(place=escaped(place), text=16_000, prefix=f"{name}-", body=code.body)
    shown = fitting(held, showing, _MOST)
    return [*([defined] if defined else []), *shown]


def nothing(result: Result) -> Html:
    """What is said where there is no such pair."""
    return page("Preference pairs", result, tag("h1", "Preference pairs"), tag("p", "There is no such pair."))
