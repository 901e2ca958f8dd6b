"""The search over all texts; a module asks for what it finds and shows it while it goes on."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from chatsquash.core import jsonio
from chatsquash.core.errors import ChatsquashError
from chatsquash.core.text import escaped
from chatsquash.pages.html.markup import Html, tag
from chatsquash.view.needle import Needle
from chatsquash.view.pages.layout import page, short, url
from chatsquash.view.result import ReplacedError, Result
from chatsquash.view.search import Hit, Progress
from chatsquash.view.search import search as run

MOST = 500
"""Records that are shown."""


def search(result: Result, asked: str) -> Html:
    """The page of a search."""
    form = tag(
        "form",
        tag("label", "Find in all texts ", tag("input", type="search", name_="q", id="q", value=asked, autofocus=True)),
        tag("button", "Search"),
        tag("button", "Stop", type="button", id="stop", disabled=True),
        class_="filters",
        role="search",
    )
    told = (
        "Texts, reasoning, calls and results of all records are searched. Small letters also find words that begin "
        "with a capital, and capitals; a capital letter finds itself alone."
    )
    body = [
        tag("h1", "Search"),
        form,
        tag("progress", id="progress", value=0, max=1, aria_label="How much was searched", hidden=True),
        tag("p", id="told", role="status"),
        tag("ol", id="hits", class_="hits"),
        tag("p", told, class_="quiet"),
        tag("noscript", tag("p", "Searching needs JavaScript.")),
    ]
    stream = url(result, "search", "stream")
    return page("Search", result, *body, modules=("search.js",), data_stream=stream)


def lines(result: Result, asked: str) -> Generator[bytes]:
    """What a search finds, a line of JSON each, as it is found."""
    needle = Needle(asked)
    count = 0
    try:
        for each in _found(result, needle):
            if isinstance(each, Progress):
                yield _line({"done": each.done, "total": each.total, "found": count})
                continue
            count += 1
            yield _line(_hit(result, each, asked))
            if count == MOST:
                yield _line({"end": "first", "found": count})
                return
    except Exception as problem:
        is_replaced = result.is_replaced()
        if not is_replaced and not isinstance(problem, (ChatsquashError, OSError)):
            raise
        told = f"{result.title} was replaced while it was searched" if is_replaced else escaped(str(problem))
        yield _line({"problem": told})
        return
    yield _line({"end": "all", "found": count})


def _found(result: Result, needle: Needle) -> Iterator[Hit | Progress]:
    """What is found, as long as the result is the one that was opened."""
    for each in run(result, needle) if needle else ():
        if result.is_replaced():
            raise ReplacedError
        yield each


def _line(value: dict[str, object]) -> bytes:
    return jsonio.dumps(value) + b"\n"


def _hit(result: Result, hit: Hit, asked: str) -> dict[str, object]:
    at = _row(result, hit)
    session = result.sessions.row(at, named=True)["session"] if at is not None else None
    where = url(result, "s", at, m=hit.message, find=asked, fragment=f"m{hit.message}") if at is not None else None
    around = (" ".join(text.split("\n")) for text in (hit.before, hit.found, hit.after))
    before, found, after = map(escaped, around)
    return {
        "href": where,
        "session": short(session or hit.file, 200),
        "message": hit.message,
        "count": hit.times,
        "before": before,
        "hit": found,
        "after": after,
    }


def _row(result: Result, hit: Hit) -> int | None:
    """The row of the session table that a record is told of in."""
    column, value = ("offset", hit.offset) if hit.row is None else ("row", hit.row)
    frame = result.sessions
    found = frame.filter((frame["file"] == hit.file) & (frame[column] == value))
    return int(found["at"][0]) if found.height else None
