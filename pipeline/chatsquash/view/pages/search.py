"""The search over all records: lines are screened as bytes, then parsed; hits are streamed to the page."""

from __future__ import annotations

import io
import re
from collections.abc import Generator, Iterator
from typing import NamedTuple

from chatsquash.core import jsonio
from chatsquash.core.errors import ChatsquashError, UsageError
from chatsquash.core.text import escape
from chatsquash.pages.html.markup import Html, tag
from chatsquash.records import NotARecordError
from chatsquash.records.datasets import PARQUET
from chatsquash.records.places import LONGEST, open_records, rows
from chatsquash.records.reading import native, parse, record
from chatsquash.results.titles import title
from chatsquash.view.needle import Needle
from chatsquash.view.pages.layout import page, short, url
from chatsquash.view.result import ReplacedError, ViewerResult

MOST = 500
"""Matching records that are listed."""


def search(result: ViewerResult, query: str) -> Html:
    """Return the page of a search."""
    form = tag(
        "form",
        tag("label", "Search all text ", tag("input", type="search", name_="q", id="q", value=query, autofocus=True)),
        tag("button", "Search"),
        tag("button", "Stop", type="button", id="stop", disabled=True),
        class_="filters",
        role="search",
    )
    note = (
        "Searches text, reasoning, calls and results of all records. A lower-case query also matches capitalized and "
        "upper-case words; a query with a capital letter is case-sensitive."
    )
    body = [
        tag("h1", "Search"),
        form,
        tag("progress", id="progress", value=0, max=1, aria_label="Progress of the search", hidden=True),
        tag("p", id="told", role="status"),
        tag("ol", id="hits", class_="hits"),
        tag("p", note, class_="quiet"),
        tag("noscript", tag("p", "Search requires JavaScript.")),
    ]
    stream = url(result, "search", "stream")
    return page("Search", result, *body, modules=("search.js",), data_stream=stream)


def lines(result: ViewerResult, query: str) -> Generator[bytes]:
    """Yield the hits and the progress of a search as lines of JSON."""
    needle = Needle(query)
    count = 0
    try:
        for each in _checked_hits(result, needle):
            if isinstance(each, Progress):
                yield _line({"done": each.done, "total": each.total, "found": count})
                continue
            count += 1
            yield _line(_hit(result, each, query))
            if count == MOST:
                yield _line({"end": "first", "found": count})
                return
    except Exception as problem:
        is_replaced = result.is_replaced()
        if not is_replaced and not isinstance(problem, (ChatsquashError, OSError)):
            raise
        problem_text = f"{result.title} was replaced while being searched" if is_replaced else escape(str(problem))
        yield _line({"problem": problem_text})
        return
    yield _line({"end": "all", "found": count})


def _checked_hits(result: ViewerResult, needle: Needle) -> Iterator[Hit | Progress]:
    """Yield hits; raise ``ReplacedError`` once another run has replaced the result."""
    for each in hits(result, needle) if needle else ():
        if result.is_replaced():
            raise ReplacedError
        yield each


def _line(value: dict[str, object]) -> bytes:
    return jsonio.dumps(value) + b"\n"


def _hit(result: ViewerResult, hit: Hit, query: str) -> dict[str, object]:
    at = _row(result, hit)
    session = result.sessions.row(at, named=True)["session"] if at is not None else None
    where = url(result, "s", at, m=hit.message, find=query, fragment=f"m{hit.message}") if at is not None else None
    name = short(session or hit.file, 200)
    around = (" ".join(text.split("\n")) for text in (hit.before, hit.match, hit.after))
    before, match, after = map(escape, around)
    return {
        "href": where,
        "title": escape(hit.title or "") or name,
        "session": name,
        "message": hit.message,
        "count": hit.times,
        "before": before,
        "hit": match,
        "after": after,
    }


def _row(result: ViewerResult, hit: Hit) -> int | None:
    """Return the row of a record in the session table."""
    column, value = ("offset", hit.offset) if hit.row is None else ("row", hit.row)
    frame = result.sessions
    rows = frame.filter((frame["file"] == hit.file) & (frame[column] == value))
    return int(rows["at"][0]) if rows.height else None


_CHUNK = 1 << 20
"""Bytes that are searched at once."""
_STEP_BYTES = 32 << 20
"""Bytes between reports of progress."""
_ROWS = 256
AROUND = 80
"""Characters of context on each side of a match."""


class Hit(NamedTuple):
    """A record that contains the search text."""

    file: str
    row: int | None
    """The row from 1; ``None`` if the record is located by offset."""
    offset: int | None
    message: int
    """The index of the first matching message."""
    times: int
    """The number of matches in the record."""
    before: str
    match: str
    after: str
    title: str | None
    """The first prompt of the record."""


class Progress(NamedTuple):
    """The progress of a search."""

    done: int
    total: int
    """In bytes; for compressed files, their size on disk."""


def hits(result: ViewerResult, needle: Needle) -> Iterator[Hit | Progress]:
    """Yield every matching record of a result in the order of the files, and the progress."""
    sizes = result.record_files
    total = sum(sizes.values())
    done = last = 0
    yield Progress(0, total)
    for name, size in sizes.items():
        if name.lower().endswith(PARQUET):
            yield from _parquet(result, name, needle, Progress(done, total))
        else:
            yield from _lines(result, name, needle, done, total)
        done += size
        if done - last >= _STEP_BYTES or done == total:
            last = done
            yield Progress(done, total)


def _lines(result: ViewerResult, name: str, needle: Needle, done: int, total: int) -> Iterator[Hit | Progress]:
    size = result.outputs[name]
    with open_records(result.folder, name) as file:
        last = 0
        for offset, line in _candidates(file, needle.raw):
            if line is None:
                if offset - last >= _STEP_BYTES:
                    last = offset
                    yield Progress(done + min(offset, size), total)
            elif needle.may_match(line) and (hit := _match_in(line, needle)):
                yield Hit(name, None, offset, *hit)


def _candidates(file: io.FileIO, needles: list[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """Yield the offsets and contents of lines that contain one of ``needles``; without a line, the current offset."""
    screen = "|".join(re.escape(each.decode()) for each in needles)
    buffer = bytearray(_CHUNK)
    origin = length = 0
    while True:
        if length == len(buffer):  # a line is longer
            buffer += bytes(min(len(buffer), LONGEST))
        with memoryview(buffer) as view:
            count = file.readinto(view[length:])
        length += count or 0
        stop = buffer.rfind(b"\n", 0, length) + 1 if count else length
        if stop:
            if _may_contain(bytes(buffer[:stop]), screen):
                yield from _in_lines(buffer, stop, origin, needles)
            buffer[: length - stop] = buffer[stop:length]
            origin, length = origin + stop, length - stop
        if not count:
            return
        if length > LONGEST:
            raise UsageError(f"a line is longer than {LONGEST >> 20} MiB")
        yield origin, None


def _may_contain(data: bytes, screen: str) -> bool:
    """Return whether bytes may match a pattern; polars is faster than a Python search for each spelling."""
    import polars as pl  # which takes time

    text = pl.Series([data], dtype=pl.Binary).cast(pl.String, strict=False)
    return text.str.contains(screen)[0] is not False  # null: not UTF-8


def _in_lines(buffer: bytearray, stop: int, origin: int, needles: list[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines up to ``stop`` that contain one of ``needles``."""
    at = 0
    places = {each: buffer.find(each, 0, stop) for each in needles}
    while offsets := [place for place in places.values() if place >= 0]:
        first = min(offsets)
        begin = buffer.rfind(b"\n", at, first) + 1 or at
        end = buffer.find(b"\n", first, stop)
        end = stop if end < 0 else end
        yield origin + begin, bytes(buffer[begin:end])
        at = end
        for each, place in places.items():
            if 0 <= place < end:
                places[each] = buffer.find(each, end, stop)


def _parquet(result: ViewerResult, name: str, needle: Needle, progress: Progress) -> Iterator[Hit | Progress]:
    for row in rows(result.folder, name):
        if row.number % _ROWS == 0:
            yield progress  # gives the server an opportunity to stop the search
        if needle.may_match(row.data) and (hit := _match_in(row.data, needle)):
            yield Hit(name, row.number, None, *hit)


def _match_in(line: bytes, needle: Needle) -> tuple[int, int, str, str, str, str | None] | None:
    """Return the first match in a record with its context, the number of matches, and the title.

    ``None`` means that only the JSON syntax matches, not a text.
    """
    try:
        conversation = native(record(parse(line)))
    except NotARecordError:
        return None
    counts = list(needle.counts(conversation.messages))
    if not counts or not (first := needle.first(conversation.messages[counts[0][0]])):
        return None
    text, begin, end = first
    around = text[max(0, begin - AROUND) : begin], text[begin:end], text[end : end + AROUND]
    return (counts[0][0], sum(count for _, count in counts), *around, title(conversation.messages))
