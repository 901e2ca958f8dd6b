"""The page of a result: what its sessions show is read from its folder and its logs, and the page written beside it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import count
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from chatsquash.core.errors import ChatsquashError, UsageError
from chatsquash.core.model import Json
from chatsquash.core.options import Options
from chatsquash.core.outcome import Place
from chatsquash.core.urls import is_remote, refuse_remote
from chatsquash.dataset.manifest import parse_options
from chatsquash.dataset.option_rules import refuse_wrong
from chatsquash.dataset.reports.rejected import REJECTED
from chatsquash.dataset.reports.replies import REPLIES
from chatsquash.dataset.sidecar import locked_result, refuse_foreign
from chatsquash.inspect.inspect import inspect_as_json
from chatsquash.pages.html.markup import Html, tag
from chatsquash.pages.html.record import medium, size
from chatsquash.pages.report import figures
from chatsquash.pages.report.advice import advice
from chatsquash.pages.report.chart_data import result_charts
from chatsquash.pages.report.page import page
from chatsquash.pages.report.selection import Findings, Key, Observer, Pick, pick_sessions, table
from chatsquash.pages.report.sessions import Content, Entries, PageSession
from chatsquash.records.line import NotARecordError, StoredRecord
from chatsquash.records.media import FOLDER
from chatsquash.records.places import read_all
from chatsquash.records.reading import native, parse, record
from chatsquash.results.output import ResultFolder, damage
from chatsquash.results.types import Input, RejectedRow, ReplyRow
from chatsquash.results.verify import filesystem_path, log_differences
from chatsquash.storage.commit import RUN

PAGE = "report.html"
_NEEDED = ("altair", "vl_convert")


def refuse(output: str | PathLike[str]) -> None:
    """Raise ``UsageError`` where no report can be written: what draws charts is missing, or its place is taken."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(f"a report needs {' and '.join(missing)}: pip install 'chatsquash[report]'")
    refuse_remote(fspath(output))
    refuse_foreign(Path(fspath(output)), PAGE)


def report(output: str | PathLike[str], observe: Observer | None = None) -> Path:
    """Write ``report.html`` into an output folder, for its owner alone; gives its path.

    It follows from the folder and from the logs that ``run.json`` names.  ``observe`` is told how much of the records
    is read.  Raises ``UsageError`` for a folder without a
    result, for one that a run is writing to, and where the packages of the extra ``report`` are missing.
    """
    refuse(output)
    out = Path(fspath(output))
    with locked_result(out) as place:
        place.put(PAGE, page(content(ResultFolder(place.folder), observe)))
    return out / PAGE


def content(result: ResultFolder, observe: Observer | None = None) -> Content:
    """What the page of a result shows."""
    counts = result.typed_counts("seen")
    rows = table(result, observe)
    findings = Findings(result)
    picked = pick_sessions(rows, findings.secrets)
    return Content(
        title=figures.title(counts, rows),
        first=advice(result, counts),
        run=[*figures.run(result, rows)],
        figures=[*figures.figures(result, counts, rows)],
        charts=[*result_charts(result, counts, rows)],
        findings=findings.shown,
        code_counts=findings.codes,
        sessions=[*sessions(result, picked, findings)],
        total=counts.sessions.seen,
    )


def sessions(result: ResultFolder, picked: list[Pick], findings: Findings) -> Iterator[PageSession]:
    """What the page shows of the sessions that were chosen."""
    stored = records(result, [each.facts for each in picked])
    findings_of, counts = findings.of({each.key for each in picked}, set(map(str, stored)))
    logged = entries(result, picked)
    for each in picked:
        place = place_of(each.facts)
        yield PageSession(
            facts=each.facts,
            chosen=each.why,
            record=stored[place] if place else None,
            findings=findings_of.get(each.key, []),
            count=counts[each.key],
            entries=logged[each.key],
            others=each.others,
            medium=sized,
        )


_IMAGE = re.compile(rf"{FOLDER}/[A-Za-z0-9]+\.[a-z]+")


def records(result: ResultFolder, places: Iterable[dict[str, Any]]) -> dict[Place, StoredRecord]:
    """The records at places of the session table; raises ``UsageError`` where one does not stand there."""
    by_file: dict[str, list[Place]] = defaultdict(list)
    for facts in places:
        if (place := place_of(facts)) is not None:
            by_file[place.file].append(place)
    return {
        place: _read(result, place, data)
        for name, of_file in by_file.items()
        for place, data in read_all(result.folder, name, of_file)
    }


def place_of(facts: dict[str, Any]) -> Place | None:
    """Where the record of a line of the session table stands; ``None`` for one without."""
    return None if facts["file"] is None else Place(facts["file"], facts["row"], facts["offset"])


def _read(result: ResultFolder, place: Place, data: bytes) -> StoredRecord:
    try:
        value = parse(data)
        stored = record(value)
    except NotARecordError:
        raise damage(result.folder, place.file) from None
    _with_sizes(result, value, stored)
    return native(stored)


def _with_sizes(result: ResultFolder, value: Json, stored: StoredRecord) -> None:
    """Put sizes into the parts that stand for images in files of their own."""
    images = value.get("images")
    if not isinstance(images, list):
        return
    number = count()
    for message in stored.messages:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if part == {"type": "image"}:
                part[_SIZE] = _size_of(result, images, next(number))


_SIZE = "size of the file"


def _size_of(result: ResultFolder, images: list[Json], at: int) -> int | None:
    name = images[at] if at < len(images) else None
    if not isinstance(name, str) or not _IMAGE.fullmatch(name):
        return None
    status = result.folder.status(name)
    return status.st_size if status else None


def sized(part: Json) -> Html:
    """A part that is no text as its size, also where a file holds it."""
    if isinstance(part, dict) and isinstance(part.get(_SIZE), int):
        return tag("p", f"image, {size(part[_SIZE])}", class_="medium")
    return medium(part)


_LARGEST = 64 << 20
"""Bytes of a log that is read."""
_ALL = 512 << 20
"""Bytes of all logs that are read."""
_LAST, _OTHERS = 40, 20
"""Entries that are shown: the last ones, and others that are not in the record."""
_READING = ("cleaning", "reading", "bounds", "sessions")
"""The groups of options that say how a log was read."""
_UNREAD = ("unreadable-log", "unreadable-archive")
_EXPANSION = ("max_expansion", "max_expanded")
_ROLES = ("system", "user", "tool", "function", "A", "Ac", "At", "Act")
_READ = ("selected", "superseded", "cut")
_ASK = "chatsquash inspect shows them"


class _Traces(NamedTuple):
    """What reports tell of lines, by file and line."""

    replies: dict[tuple[str, int | None], list[ReplyRow]]
    """A file of an agent may have all replies on one line."""
    rejected: dict[tuple[str, int | None], RejectedRow]


def entries(result: ResultFolder, picked: Iterable[Pick]) -> dict[Key, Entries]:
    """The entries of sessions; of those that cannot be told, why."""
    by_log: dict[str, list[Pick]] = defaultdict(list)
    for each in picked:
        by_log[each.key[0]].append(each)
    traced = _traces(result, set(by_log))
    options = _reading_options(result)
    inputs, left = result.inputs(by_log), _ALL
    entries_of: dict[Key, Entries] = {}
    for log, sessions in by_log.items():
        path, size, why = _readable(log, inputs[log], options, left)
        rows_of: dict[str, list[dict[str, Any]]] = {}
        if path:
            left -= size
            rows_of, why = _inspected(path, options, {each.key[1] for each in sessions})
        for each in sessions:
            rows = [_row(each, row, traced) for row in rows_of.get(each.key[1], [])]
            shown = _select_rows(rows)
            told_why = why or "The log does not hold this session."
            entries_of[each.key] = Entries(shown, len(rows) - len(shown), told_why, log.rpartition("/")[2])
    return entries_of


def _reading_options(result: ResultFolder) -> Options:
    """The options by which the logs were read; raises ``UsageError`` for what are none."""
    try:
        options = Options(**parse_options(result.options, _READING), anonymize=False)
        refuse_wrong(options)
    except UsageError:
        raise damage(result.folder, RUN) from None
    return options


def _readable(log: str, inputs: list[Input], options: Options, left: int) -> tuple[str, int, str]:
    """The path of a log that can be read, and its bytes; empty where it cannot, and why."""
    path = Path(filesystem_path(log))
    if why := _untouched(log, inputs, options):
        return "", 0, f"{why}: {_ASK}."
    if not path.is_file():
        return "", 0, "The log is not there any more, seen from this folder."
    size = path.stat().st_size
    if size > min(left, _LARGEST):
        return "", 0, f"The log is large: {_ASK}."
    if any(log_differences(log, [each.xxh3_128 for each in inputs], options)):
        return "", 0, "The log is not what it was when it was converted."
    return str(path), size, ""


def _untouched(log: str, inputs: list[Input], options: Options) -> str:
    """Why a log is not so much as looked for; empty where it is."""
    if is_remote(log):
        return "The log is in a store"
    if not inputs or any(each.path_digest for each in inputs):
        return "The run does not tell the path of the log"
    if any(getattr(options, name) > getattr(Options(), name) for name in _EXPANSION):  # a small file may be endless
        return "The run let logs expand further than is usual"
    return ""


def _inspected(path: str, options: Options, sessions: set[str]) -> tuple[dict[str, list[dict[str, Any]]], str]:
    """The entries of these sessions of a log."""
    entries_of: dict[str, list[dict[str, Any]]] = {}
    try:
        for session in inspect_as_json([path], options):
            if session["left_out"] in _UNREAD:
                return entries_of, f"The log cannot be read ({session['findings'][-1]['text']})."
            if session["session"] in sessions:
                entries_of[session["session"]] = session["entries"]
            if len(entries_of) == len(sessions):
                break
    except (ChatsquashError, OSError) as problem:
        return entries_of, f"The log cannot be read ({problem})."
    return entries_of, ""


def _row(picked: Pick, entry: dict[str, Any], traced: _Traces) -> dict[str, Any]:
    log, line = picked.key[0], entry["line"]
    roles = [each if each.partition("*")[0] in _ROLES else "other" for each in entry["roles"]]
    reply = entry["reply"] if entry["reply"] in (None, *_ROLES) else "other"
    rejected = traced.rejected.get((log, line))
    return {
        **entry,
        "roles": roles,
        "reply": reply,
        "outcome": _outcome(picked, line, entry["outcome"]),
        "others": [_place(each) for each in picked.others if each["line"] == line],
        "replies": traced.replies.get((log, line), []),
        "reason": rejected["reason"] if rejected else None,
    }


def _outcome(picked: Pick, line: int, outcome: str) -> str:
    """What became of an entry, as seen from the record that is shown: others may be made of other lines."""
    own = picked.facts["line"]
    if outcome not in _READ or own is None or own == line or not picked.others:
        return "selected" if outcome in _READ and own == line else outcome
    return "superseded" if line < own else "cut"


def _place(row: dict[str, Any]) -> str:
    return f"{row['file']}:{row['row']}"


def _select_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries that are shown: the last ones, and before them those that are not simply in the record."""
    first, last = rows[:-_LAST], rows[-_LAST:]
    others = [each for each in first if each["outcome"] != "superseded" or any(map(_is_not_carried, each["replies"]))]
    return [*others[:_OTHERS], *last]


def _is_not_carried(reply: ReplyRow) -> bool:
    return reply["status"] != "carried"


def _traces(result: ResultFolder, logs: set[str]) -> _Traces:
    """What became of the replies of logs, where that was traced, and why lines could not be read."""
    replies: dict[tuple[str, int | None], list[ReplyRow]] = defaultdict(list)
    for row in result.objects(REPLIES, ReplyRow):
        if row["file"] in logs:
            replies[row["file"], row["line"]].append(row)
    rejected = {
        (each["file"], each["line"]): each for each in result.objects(REJECTED, RejectedRow) if each["file"] in logs
    }
    return _Traces(replies, rejected)
