"""Preference pairs: read by their number over all files, and shown side by side."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Message
from chatsquash.core.text import counted, escaped
from chatsquash.dataset.shards import PAIRS
from chatsquash.pages.html.markup import Child, Html, tag, together
from chatsquash.pages.html.record import Showing, fitting
from chatsquash.records.datasets import is_dataset
from chatsquash.records.places import rows
from chatsquash.records.reading import NotARecordError, StoredRecord, record
from chatsquash.view.pages import code
from chatsquash.view.pages.code import tools
from chatsquash.view.pages.layout import address, facts, joined, page, short, url
from chatsquash.view.result import Result

_MOST = 1_500_000
"""Bytes of HTML of a prompt or a reply."""


def pair(result: Result, found: Pair) -> Html:
    """The page of a pair."""
    told, replies = _evidence(result, found.value.get("evidence"))
    place = f"{found.file}:{found.row}"
    prompt = _messages(found.value, "prompt")
    count = len(prompt) if isinstance(prompt, list) else 0
    sides = [
        tag(
            "section",
            tag("h2", name),
            replies.get(name),
            *_shown(_messages(found.value, name), name, place, count),
            class_="side conversation",
        )
        for name in ("chosen", "rejected")
    ]
    body = [
        tag("h1", "Preference pair"),
        _links(result, found),
        facts({"why": told, "place": escaped(place)}),
        tag("section", tag("h2", "prompt"), *_prompt(found.value, prompt, place), class_="conversation"),
        tag("div", *sides, class_="sides"),
    ]
    return page(f"Pair {found.number:,}", result, *body, modules=("conversation.js",))


def _links(result: Result, found: Pair) -> Html:
    before, behind = found.number - 1, found.number + 1 if found.has_next else 0
    links: list[Child] = [
        tag("a", "Previous pair", href=url(result, "pairs", before), rel="prev") if before else None,
        f"{found.number:,} of {found.total:,}" if found.total >= found.number else f"pair {found.number:,}",
        tag("a", "Next pair", href=url(result, "pairs", behind), rel="next") if behind else None,
    ]
    return tag("nav", joined(*links), class_="pages", aria_label="Pairs")


def _evidence(result: Result, evidence: Any) -> tuple[str | None, dict[str, Html]]:
    """What tells the better reply, in words, and by the names of both where each was logged."""
    if not isinstance(evidence, str):
        return None, {}
    kind, _, places = evidence.partition("; chosen ")
    chosen, _, rejected = places.rpartition("; rejected ")
    if not chosen:
        return escaped(evidence[:500]), {}
    return escaped(kind[:500]), {"chosen": _logged(result, chosen), "rejected": _logged(result, rejected)}


def _logged(result: Result, place: str) -> Html:
    """Where a reply was logged, and what leads to its session, or to all sessions of its log."""
    log = place.rpartition(":")[0]
    frame = result.sessions
    rows = frame.filter((frame["log"] == log) | frame["log"].str.ends_with(f"/{log}"))
    parts: list[Child] = [f"logged at {short(place, 200)}"]
    if rows["nth"].n_unique() == 1:
        row = rows.row(0, named=True)
        name = short(row["session"] or "the session", 48)
        parts += [": ", tag("a", name, href=url(result, "s", row["at"]), dir="auto"), ", "]
        parts.append(tag("a", "beside its log", href=url(result, "s", row["at"], "log")))
    elif rows.height:
        many = counted(rows["nth"].n_unique(), "session")
        parts += [": ", tag("a", f"{many} of logs with this name", href=address("/", text=log[:200]))]
    return tag("p", together(parts), class_="quiet")


def _messages(value: dict[str, Any], name: str) -> list[Message] | str:
    """Messages of a pair, or why they cannot be shown."""
    try:
        return record({"messages": value.get(name)}).messages
    except NotARecordError as problem:
        return str(problem)


def _prompt(value: dict[str, Any], messages: list[Message] | str, place: str) -> Iterator[Html | None]:
    """The prompt: what its last user says stands open, and folded what was said before."""
    yield tools(value.get("tools"))
    if isinstance(messages, str):
        yield tag("p", escaped(messages))
        return
    last = max((at for at, message in enumerate(messages) if message["role"] == "user"), default=0)
    if last:
        told = tag("summary", counted(last, "message") + " before")
        yield tag("details", told, *_shown(messages[:last], "prompt", place, 0), class_="about")
    yield from _shown(messages[last:], "prompt", place, last)


def _shown(messages: list[Message] | str, name: str, place: str, first: int) -> list[Html]:
    """Messages, of which the first has a number in the conversation that the prompt begins."""
    if isinstance(messages, str):
        return [tag("p", escaped(messages))]
    showing = Showing(place=escaped(place), text=16_000, prefix=f"{name}-", body=code.body)
    return fitting(StoredRecord(messages, None, [*range(first, first + len(messages))]), showing, _MOST)


def nothing(result: Result) -> Html:
    """What is said where there is no such pair."""
    return page("Preference pairs", result, tag("h1", "Preference pairs"), tag("p", "There is no such pair."))


class Pair(NamedTuple):
    """A pair, and where it stands."""

    value: dict[str, Any]
    number: int
    """From 1, over all files."""
    file: str
    row: int
    has_next: bool
    total: int
    """How many there are, as the run counted."""


def files(result: Result) -> list[str]:
    """The files of pairs, in their order."""
    return [name for name in result.outputs if name.startswith(f"{PAIRS}/") and is_dataset(result.path / name)]


def read_pair(result: Result, number: int) -> Pair | None:
    """A pair; ``None`` where there are not so many. All before it are read."""
    found = [(name, row) for name, row in islice(_rows(result), number - 1, number + 1)] if number > 0 else []
    if not found:
        return None
    name, row = found[0]
    try:
        value = jsonio.loads(row.data)
    except (ValueError, RecursionError):
        raise UsageError(f"{name}:{row.number}: is no JSON") from None
    return Pair(
        value if isinstance(value, dict) else {},
        number,
        name,
        row.number,
        len(found) > 1,
        sum(result.counts["pairs"].values()),
    )


def _rows(result: Result) -> Any:
    for name in files(result):
        for row in rows(result.folder, name, None):
            yield name, row
