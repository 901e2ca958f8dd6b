"""What a log holds of a session: an entry each as a row of a table, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from chatsquash.core.logged import ELSEWHERE, WHY
from chatsquash.pages.html.markup import Child, Html, tag
from chatsquash.pages.html.record import size
from chatsquash.pages.report.bounds import bounded
from chatsquash.pages.report.data import Entries, Shown

_MOST = 12_000
"""Bytes of the table."""
_TEXT = 300
_OTHERS = 3
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


def log(shown: Shown) -> Iterator[Html]:
    """The entries of a session's log, or why there are none."""
    entries = shown.entries
    yield tag("h4", "Log entries")
    if not entries.rows:
        yield tag("p", bounded(entries.why, _TEXT) or "The log has none.", class_="quiet", dir="auto")
        return
    rows, left = _rows(shown, entries)
    names = ("line", "time", "reply", "what became of it")
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    yield tag("p", bounded(entries.file), class_="quiet", dir="auto")
    yield tag("table", tag("thead", head), tag("tbody", *rows), class_="entries")
    if left:
        yield tag("p", f"… {left:,} entries more", class_="cut")


def _rows(shown: Shown, entries: Entries) -> tuple[list[Html], int]:
    rows: list[Html] = []
    left = _MOST
    for told in entries.rows:
        row = _row(shown, told)
        left -= len(row.encode())
        if left < 0:
            return rows, entries.left + len(entries.rows) - len(rows)
        rows.append(row)
    return rows, entries.left


def _row(shown: Shown, told: dict[str, Any]) -> Html:
    sized = size(told["bytes"] or 0)
    reply = f"{_REPLIES.get(told['reply'], 'other')}, {sized}" if told["reply"] else "none"
    if told["kept"] is None:
        reply = sized
    adds = bounded(f"adds {', '.join(map(_role, told['roles']))}", _TEXT) if told["roles"] else ""
    became = "; ".join(_became(shown, told))
    return tag(
        "tr",
        tag("td", f"{told['line']:,}"),
        tag("td", (told["time"] or "-").partition(".")[0], title=told["time"]),
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


def _became(shown: Shown, told: dict[str, Any]) -> Iterator[str]:
    outcome = told["outcome"]
    words = _OUTCOMES if shown.held else _OUTCOMES | _WITHOUT
    if outcome in words:
        yield words[outcome]
    else:
        yield f"left out ({bounded(outcome)}): {bounded(told['reason'], _TEXT)}" if told["reason"] else bounded(outcome)
    if others := told["others"]:
        more = f" and {len(others) - _OTHERS:,} more" if len(others) > _OTHERS else ""
        yield f"made of it, too: {', '.join(bounded(each) for each in others[:_OTHERS])}{more}"
    fates = Counter((each["status"], each["why"], each["record"]) for each in told["replies"])
    for (status, why, record), count in fates.most_common(_OTHERS):
        yield _lost(why or "", count) if status == "lost" else _held(shown, status, record, count)


def _lost(why: str, count: int) -> str:
    """Why replies stand in no record of their session."""
    where = "in no record of this session" if why == ELSEWHERE else "lost"
    said = f"its reply is {where}" if count == 1 else f"{count:,} replies are {where}"
    return f"{said}: {bounded(WHY.get(why, why))}"


def _held(shown: Shown, status: str, record: str | None, count: int) -> str:
    """Which record holds replies."""
    where = "the record" if record in (None, shown.place) else bounded(record or "")
    said = f"{where} holds {'its reply' if count == 1 else f'{count:,} replies'}"
    return f"{said} in another wording" if status == "rewritten" else said
