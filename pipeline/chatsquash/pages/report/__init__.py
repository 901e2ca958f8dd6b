"""Create the report page of a result from its folder and the logs that it was converted from."""

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
from chatsquash.dataset.claim import REJECTED, REPLIES
from chatsquash.dataset.manifest import parse_options
from chatsquash.dataset.option_rules import refuse_wrong
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
from chatsquash.records import NotARecordError, StoredRecord
from chatsquash.records.media import FOLDER
from chatsquash.records.places import read_all
from chatsquash.records.reading import native, parse, record
from chatsquash.results.output import ResultFolder, damage
from chatsquash.results.types import Input, RejectedRow, ReplyRow
from chatsquash.results.verify import filesystem_path, log_differences
from chatsquash.storage import is_remote, refuse_remote
from chatsquash.storage.commit import RUN

PAGE = "report.html"
_PACKAGES = ("altair", "vl_convert")


def refuse(output: str | PathLike[str]) -> None:
    """Raise ``UsageError`` if no report can be written: chart packages are missing, or another file has its name."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise UsageError(f"a report requires {' and '.join(missing)}: pip install 'chatsquash[report]'")
    refuse_remote(fspath(output))
    refuse_foreign(Path(fspath(output)), PAGE)


def refuse_tokens(samples: object) -> None:
    """Raise ``UsageError`` for a result with token ids, since a report shows messages."""
    if samples == "tokens":
        raise UsageError("a report shows messages, which --samples tokens does not write; use --samples reply")


def report(output: str | PathLike[str], observe: Observer | None = None) -> Path:
    """Write ``report.html`` into an output folder, readable only by its owner, and return its path.

    The page depends only on the folder and on the logs that are named in ``run.json``.

    Args:
        output: The output folder of a finished run.
        observe: Called with the number of bytes read since the last call, and the bytes of all record files.

    Raises:
        UsageError: The folder contains no result, a run is writing to it, or the packages of the ``report`` extra are
            missing.
    """
    refuse(output)
    out = Path(fspath(output))
    with locked_result(out) as place:
        result = ResultFolder(place.folder)
        refuse_tokens(result.options.get("samples"))
        place.put(PAGE, page(content(result, observe)))
    return out / PAGE


def content(result: ResultFolder, observe: Observer | None = None) -> Content:
    """Return the content of the page of a result."""
    counts = result.typed_counts("seen")
    rows = table(result, observe)
    findings = Findings(result)
    picks = pick_sessions(rows, findings.secrets)
    return Content(
        title=figures.title(counts, rows),
        first=advice(result, counts),
        run=[*figures.run(result, rows)],
        figures=[*figures.figures(result, counts, rows)],
        charts=[*result_charts(result, counts, rows)],
        findings=findings.selected,
        code_counts=findings.codes,
        sessions=[*sessions(result, picks, findings)],
        total=counts.sessions.seen,
    )


def sessions(result: ResultFolder, picks: list[Pick], findings: Findings) -> Iterator[PageSession]:
    """Yield the page content of the selected sessions."""
    session_records = records(result, [each.facts for each in picks])
    findings_of, counts = findings.of({each.key for each in picks}, set(map(str, session_records)))
    entries_of = entries(result, picks)
    for each in picks:
        place = place_of(each.facts)
        yield PageSession(
            facts=each.facts,
            reasons=each.why,
            record=session_records[place] if place else None,
            findings=findings_of.get(each.key, []),
            count=counts[each.key],
            entries=entries_of[each.key],
            others=each.others,
            medium=describe_part,
        )


_IMAGE = re.compile(rf"{FOLDER}/[A-Za-z0-9]+\.[a-z]+")


def records(result: ResultFolder, places: Iterable[dict[str, Any]]) -> dict[Place, StoredRecord]:
    """Read records by their rows of the session table; raise ``UsageError`` if one is not in its place."""
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
    """Return the place of the record of a session table row, or ``None`` if it has no record."""
    return None if facts["file"] is None else Place(facts["file"], facts["row"], facts["offset"])


def _read(result: ResultFolder, place: Place, data: bytes) -> StoredRecord:
    try:
        value = parse(data)
        session_record = record(value)
    except NotARecordError:
        raise damage(result.folder, place.file) from None
    _add_sizes(result, value, session_record)
    return native(session_record)


def _add_sizes(result: ResultFolder, value: Json, session_record: StoredRecord) -> None:
    """Add file sizes to the placeholders of images that are in separate files."""
    images = value.get("images")
    if not isinstance(images, list):
        return
    number = count()
    for message in session_record.messages:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if part == {"type": "image"}:
                part[_SIZE] = _size_of(result, images, next(number))


_SIZE = "file size"


def _size_of(result: ResultFolder, images: list[Json], at: int) -> int | None:
    name = images[at] if at < len(images) else None
    if not isinstance(name, str) or not _IMAGE.fullmatch(name):
        return None
    status = result.folder.status(name)
    return status.st_size if status else None


def describe_part(part: Json) -> Html:
    """Render a non-text part as its size, even if it is in a separate file."""
    if isinstance(part, dict) and isinstance(part.get(_SIZE), int):
        return tag("p", f"image, {size(part[_SIZE])}", class_="medium")
    return medium(part)


_LARGEST = 64 << 20
"""Maximum bytes of a log."""
_ALL = 512 << 20
"""Maximum bytes of all logs together."""
_LAST, _OTHERS = 40, 20
"""Maximum number of entries shown: the last ones, and earlier ones that are not in the record."""
_READING = ("cleaning", "reading", "bounds", "sessions")
"""The groups of options that affect how a log is read."""
_UNREADABLE = ("unreadable-log", "unreadable-archive")
_EXPANSION = ("max_expansion", "max_expanded")
_ROLES = ("system", "user", "tool", "function", "A", "Ac", "At", "Act")
_READ_OUTCOMES = ("selected", "superseded", "cut")
_INSPECT_HINT = "list its entries with chatsquash inspect"


class _Traces(NamedTuple):
    """Entries of reports about log lines, by file and line."""

    replies: dict[tuple[str, int | None], list[ReplyRow]]
    """Several per line, because an agent may write a complete session on one line."""
    rejected: dict[tuple[str, int | None], RejectedRow]


def entries(result: ResultFolder, picks: Iterable[Pick]) -> dict[Key, Entries]:
    """Return the log entries of sessions, or the reason why they are unavailable."""
    by_log: dict[str, list[Pick]] = defaultdict(list)
    for each in picks:
        by_log[each.key[0]].append(each)
    traces = _read_traces(result, set(by_log))
    options = _reading_options(result)
    inputs, remaining = result.inputs(by_log), _ALL
    entries_of: dict[Key, Entries] = {}
    for log, sessions in by_log.items():
        path, size, why = _check_log(log, inputs[log], options, remaining)
        rows_of: dict[str, list[dict[str, Any]]] = {}
        if path:
            remaining -= size
            rows_of, why = _inspect_entries(path, options, {each.key[1] for each in sessions})
        for each in sessions:
            rows = [_row(each, row, traces) for row in rows_of.get(each.key[1], [])]
            selected = _select_rows(rows)
            reason = why or "The log does not contain this session."
            entries_of[each.key] = Entries(selected, len(rows) - len(selected), reason, log.rpartition("/")[2])
    return entries_of


def _reading_options(result: ResultFolder) -> Options:
    """Return the options that the logs were read with; raise ``UsageError`` if they are invalid."""
    try:
        options = Options(**parse_options(result.options, _READING), anonymize=False)
        refuse_wrong(options)
    except UsageError:
        raise damage(result.folder, RUN) from None
    return options


def _check_log(log: str, inputs: list[Input], options: Options, remaining: int) -> tuple[str, int, str]:
    """Return the path and size of a log, or an empty path and the reason why it is not read."""
    path = Path(filesystem_path(log))
    if why := _skip_reason(log, inputs, options):
        return "", 0, f"{why}: {_INSPECT_HINT}."
    if not path.is_file():
        return "", 0, "The log was not found relative to the current folder."
    size = path.stat().st_size
    if size > min(remaining, _LARGEST):
        return "", 0, f"The log is too large for this page: {_INSPECT_HINT}."
    if any(log_differences(log, [each.xxh3_128 for each in inputs], options)):
        return "", 0, "The log has changed since it was converted."
    return str(path), size, ""


def _skip_reason(log: str, inputs: list[Input], options: Options) -> str:
    """Return the reason why a log is not opened, or an empty string if it may be."""
    if is_remote(log):
        return "The log is in a store"
    if not inputs or any(each.path_digest for each in inputs):
        return "The run did not record the path of the log"
    # With raised limits, a small compressed log could expand almost without end.
    if any(getattr(options, name) > getattr(Options(), name) for name in _EXPANSION):
        return "The run raised the limits for decompressed logs"
    return ""


def _inspect_entries(path: str, options: Options, sessions: set[str]) -> tuple[dict[str, list[dict[str, Any]]], str]:
    """Return the entries of these sessions in a log, and the reason if it cannot be read."""
    entries_of: dict[str, list[dict[str, Any]]] = {}
    try:
        for session in inspect_as_json([path], options):
            if session["left_out"] in _UNREADABLE:
                return entries_of, f"The log cannot be read ({session['findings'][-1]['text']})."
            if session["session"] in sessions:
                entries_of[session["session"]] = session["entries"]
            if len(entries_of) == len(sessions):
                break
    except (ChatsquashError, OSError) as problem:
        return entries_of, f"The log cannot be read ({problem})."
    return entries_of, ""


def _row(pick: Pick, entry: dict[str, Any], traces: _Traces) -> dict[str, Any]:
    log, line = pick.key[0], entry["line"]
    roles = [each if each.partition("*")[0] in _ROLES else "other" for each in entry["roles"]]
    reply = entry["reply"] if entry["reply"] in (None, *_ROLES) else "other"
    rejected = traces.rejected.get((log, line))
    return {
        **entry,
        "roles": roles,
        "reply": reply,
        "outcome": _outcome(pick, line, entry["outcome"]),
        "others": [_place(each) for each in pick.others if each["line"] == line],
        "replies": traces.replies.get((log, line), []),
        "reason": rejected["reason"] if rejected else None,
    }


def _outcome(pick: Pick, line: int, outcome: str) -> str:
    """Return the outcome of an entry relative to the displayed record; other records may use other lines."""
    own = pick.facts["line"]
    if outcome not in _READ_OUTCOMES or own is None or own == line or not pick.others:
        return "selected" if outcome in _READ_OUTCOMES and own == line else outcome
    return "superseded" if line < own else "cut"


def _place(row: dict[str, Any]) -> str:
    return f"{row['file']}:{row['row']}"


def _select_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Select the last entries, and before them those with replies missing from the record."""
    first, last = rows[:-_LAST], rows[-_LAST:]
    others = [each for each in first if each["outcome"] != "superseded" or any(map(_is_missing, each["replies"]))]
    return [*others[:_OTHERS], *last]


def _is_missing(reply: ReplyRow) -> bool:
    return reply["status"] != "carried"


def _read_traces(result: ResultFolder, logs: set[str]) -> _Traces:
    """Read the outcomes of replies and the reasons of rejected lines for these logs."""
    replies: dict[tuple[str, int | None], list[ReplyRow]] = defaultdict(list)
    for row in result.objects(REPLIES, ReplyRow):
        if row["file"] in logs:
            replies[row["file"], row["line"]].append(row)
    rejected = {
        (each["file"], each["line"]): each for each in result.objects(REJECTED, RejectedRow) if each["file"] in logs
    }
    return _Traces(replies, rejected)
