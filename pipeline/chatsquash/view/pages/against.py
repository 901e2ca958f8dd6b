"""The pages that compare a result with an earlier one: the sessions that differ, and a record side by side."""

from __future__ import annotations

from collections.abc import Iterator

from chatsquash.core import jsonio
from chatsquash.core.model import Message
from chatsquash.core.text import escape, pluralize, printable_json, shorten
from chatsquash.pages.html.markup import Child, Html, tag
from chatsquash.pages.html.record import Showing, fitting
from chatsquash.records import StoredRecord
from chatsquash.results.diff.comparison import Difference
from chatsquash.view.against import Against
from chatsquash.view.conversation import Conversation
from chatsquash.view.difference import DiffStep, steps
from chatsquash.view.pages import code
from chatsquash.view.pages.conversation import head
from chatsquash.view.pages.layout import facts, page, short, table, url
from chatsquash.view.result import ViewerResult

_MOST = 1_500_000
"""Bytes of HTML of all differences."""
_NAMES = ["session", "change", "reason", "before", "now", "log"]


def differences(result: ViewerResult, against: Against) -> Html:
    """Return the page with the sessions that differ."""
    options = {name: " -> ".join(map(_value, values)) for name, values in against.options.items()}
    rows = [_row(result, each) for each in against.differences]
    total = sum(sum(against.counts[kind].values()) for kind in ("added", "changed", "removed"))
    body: list[Child] = [
        tag("h1", "Differences"),
        tag("p", f"from {short(against.title, 200)}: {pluralize(total, 'session')} differ,", class_="quiet"),
        tag("p", f"{against.counts['unchanged']:,} do not.", class_="quiet"),
        facts(options),
        table([tag("th", name) for name in _NAMES], rows, _NAMES) if rows else None,
        tag("p", f"… and {total - len(rows):,} more", class_="cut") if total > len(rows) else None,
    ]
    return page("Differences", result, *body)


def _value(value: object) -> str:
    return "none" if value is None else shorten(printable_json(value).decode())


def _row(result: ViewerResult, difference: Difference) -> list[Child]:
    name: Child = short(difference.state.session or "without an id", 48)
    if difference.now:
        name = tag("a", name, href=url(result, "s", difference.now.line, "against"), dir="auto")
    states = [escape(str(each)) if each else "" for each in (difference.before, difference.now)]
    return [name, difference.kind, difference.reason, *states, short(difference.state.log, 80)]


def versions(conversation: Conversation, against: Against) -> Html:
    """Return the page with a record next to its earlier version."""
    earlier, place = against.record(conversation)
    now = f"{conversation.place.file}:{conversation.place.row}" if conversation.place else "no record"
    body: list[Child] = [
        *head(conversation, "against"),
        facts({"before": f"{short(against.title, 200)}, {escape(place) or 'no record'}", "now": escape(now)}),
    ]
    before, after = earlier.messages if earlier else [], conversation.record.messages
    body += _steps(steps(before, after))
    if earlier and jsonio.dumps(earlier.tools) != jsonio.dumps(conversation.record.tools):
        body.append(tag("p", "The tool definitions differ.", class_="changed"))
    title = f"compared: {conversation.title}"[:80]
    return page(title, conversation.result, tag("section", *body, class_="conversation differences"))


def _steps(changes: list[DiffStep]) -> Iterator[Html]:
    remaining, at = _MOST, 0
    for step in changes:
        if remaining < 0:
            yield tag("p", "… more differences", class_="cut")
            return
        if step.kind == "kept":
            yield tag("p", f"{pluralize(len(step.now), 'equal message')}", class_="kept")
        else:
            html = tag("div", _side(step.before, "before", at), _side(step.now, "now", at), class_="sides")
            remaining -= len(html)
            yield html
        at += max(len(step.before), len(step.now))


def _side(messages: list[Message], name: str, at: int) -> Html:
    showing = Showing(place="", text=16_000, prefix=f"{name}-{at}-", body=code.body)
    record = StoredRecord(messages, None, [*range(at, at + len(messages))])
    articles = fitting(record, showing, _MOST // 4) if messages else [tag("p", "nothing", class_="quiet")]
    return tag("section", tag("h2", name), *articles, class_="side conversation")
