"""The page of a preference pair: its prompt, and the two replies side by side."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Message
from chatsquash.core.text import escape, pluralize
from chatsquash.dataset.shards import PAIRS
from chatsquash.pages.html.markup import Child, Html, tag, together
from chatsquash.pages.html.record import Showing, fitting
from chatsquash.records import NotARecordError, StoredRecord
from chatsquash.records.datasets import is_dataset
from chatsquash.records.places import rows
from chatsquash.records.reading import record
from chatsquash.view.pages import code
from chatsquash.view.pages.code import tools
from chatsquash.view.pages.layout import address, facts, page, short, spaced, url
from chatsquash.view.result import ViewerResult

_MOST = 1_500_000
"""Bytes of HTML of a prompt or a reply."""


def pair(result: ViewerResult, current: Pair) -> Html:
    """Return the page for a pair."""
    reason, replies = _evidence(result, current.value.get("evidence"))
    place = f"{current.file}:{current.row}"
    prompt = _messages(current.value, "prompt")
    count = len(prompt) if isinstance(prompt, list) else 0
    sides = [
        tag(
            "section",
            tag("h2", name),
            replies.get(name),
            *_articles(_messages(current.value, name), name, place, count),
            class_="side conversation",
        )
        for name in ("chosen", "rejected")
    ]
    body = [
        tag("h1", "Preference pair"),
        _links(result, current),
        facts({"why": reason, "place": escape(place)}),
        tag("section", tag("h2", "prompt"), *_prompt(current.value, prompt, place), class_="conversation"),
        tag("div", *sides, class_="sides"),
    ]
    return page(f"Pair {current.number:,}", result, *body, modules=("conversation.js",))


def _links(result: ViewerResult, current: Pair) -> Html:
    before, behind = current.number - 1, current.number + 1 if current.has_next else 0
    links: list[Child] = [
        tag("a", "Previous pair", href=url(result, "pairs", before), rel="prev") if before else None,
        f"{current.number:,} of {current.total:,}" if current.total >= current.number else f"pair {current.number:,}",
        tag("a", "Next pair", href=url(result, "pairs", behind), rel="next") if behind else None,
    ]
    return tag("nav", spaced(*links), class_="pages", aria_label="Pairs")


def _evidence(result: ViewerResult, evidence: Any) -> tuple[str | None, dict[str, Html]]:
    """Return the evidence for the better reply as text, and links to the logs of both replies by name."""
    if not isinstance(evidence, str):
        return None, {}
    kind, _, places = evidence.partition("; chosen ")
    preferred, _, rejected = places.rpartition("; rejected ")
    if not preferred:
        return escape(evidence[:500]), {}
    return escape(kind[:500]), {"chosen": _log_link(result, preferred), "rejected": _log_link(result, rejected)}


def _log_link(result: ViewerResult, place: str) -> Html:
    """Render where a reply was logged, with a link to its session or to all sessions of its log."""
    log = place.rpartition(":")[0]
    frame = result.sessions
    rows = frame.filter((frame["log"] == log) | frame["log"].str.ends_with(f"/{log}"))
    parts: list[Child] = [f"logged at {short(place, 200)}"]
    if rows["nth"].n_unique() == 1:
        row = rows.row(0, named=True)
        name = short(row["session"] or "the session", 48)
        parts += [": ", tag("a", name, href=url(result, "s", row["at"]), dir="auto"), ", "]
        parts.append(tag("a", "with its log", href=url(result, "s", row["at"], "log")))
    elif rows.height:
        many = pluralize(rows["nth"].n_unique(), "session")
        parts += [": ", tag("a", f"{many} of logs with this name", href=address("/", text=log[:200]))]
    return tag("p", together(parts), class_="quiet")


def _messages(value: dict[str, Any], name: str) -> list[Message] | str:
    """Return messages of a pair, or the reason why they cannot be shown."""
    try:
        return record({"messages": value.get(name)}).messages
    except NotARecordError as problem:
        return str(problem)


def _prompt(value: dict[str, Any], messages: list[Message] | str, place: str) -> Iterator[Html | None]:
    """Render the prompt: the last message of the user expanded, everything before it collapsed."""
    yield tools(value.get("tools"))
    if isinstance(messages, str):
        yield tag("p", escape(messages))
        return
    last = max((at for at, message in enumerate(messages) if message["role"] == "user"), default=0)
    if last:
        summary = tag("summary", pluralize(last, "message") + " before")
        yield tag("details", summary, *_articles(messages[:last], "prompt", place, 0), class_="about")
    yield from _articles(messages[last:], "prompt", place, last)


def _articles(messages: list[Message] | str, name: str, place: str, first: int) -> list[Html]:
    """Render messages, numbered from ``first`` on."""
    if isinstance(messages, str):
        return [tag("p", escape(messages))]
    showing = Showing(place=escape(place), text=16_000, prefix=f"{name}-", body=code.body)
    return fitting(StoredRecord(messages, None, [*range(first, first + len(messages))]), showing, _MOST)


def nothing(result: ViewerResult) -> Html:
    """Return the page for a pair that does not exist."""
    return page("Preference pairs", result, tag("h1", "Preference pairs"), tag("p", "There is no such pair."))


class Pair(NamedTuple):
    """A pair and its location."""

    value: dict[str, Any]
    number: int
    """From 1, over all files."""
    file: str
    row: int
    has_next: bool
    total: int
    """The number of pairs that the run counted."""


def files(result: ViewerResult) -> list[str]:
    """Return the files of pairs, in order."""
    return [name for name in result.outputs if name.startswith(f"{PAIRS}/") and is_dataset(result.path / name)]


def read_pair(result: ViewerResult, number: int) -> Pair | None:
    """Read a pair by its number; return ``None`` if there are fewer. All pairs before it are read as well."""
    matches = [(name, row) for name, row in islice(_rows(result), number - 1, number + 1)] if number > 0 else []
    if not matches:
        return None
    name, row = matches[0]
    try:
        value = jsonio.loads(row.data)
    except (ValueError, RecursionError):
        raise UsageError(f"{name}:{row.number}: not valid JSON") from None
    return Pair(
        value if isinstance(value, dict) else {},
        number,
        name,
        row.number,
        len(matches) > 1,
        sum(result.counts["pairs"].values()),
    )


def _rows(result: ViewerResult) -> Any:
    for name in files(result):
        for row in rows(result.folder, name, None):
            yield name, row
