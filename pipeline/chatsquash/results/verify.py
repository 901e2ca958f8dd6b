"""Compare an output folder with its ``run.json``, and the logs with what they were when they were converted."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from xxhash import xxh3_128

from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.model import OURS, Json
from chatsquash.core.options import Options
from chatsquash.core.text import pluralize, printable, shorten
from chatsquash.dataset.reports.findings import FINDINGS
from chatsquash.dataset.reports.rejected import REJECTED
from chatsquash.dataset.reports.replies import REPLIES
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.dataset.store import StagedFile
from chatsquash.reading.identify import is_readable
from chatsquash.reading.sessions import SPAN
from chatsquash.redaction.privacy import path_digest
from chatsquash.redaction.pseudonyms import fingerprint
from chatsquash.results.output import OutputSource, manifest, open_output
from chatsquash.session.parts import parts
from chatsquash.sources.find import discover
from chatsquash.sources.lines import lines
from chatsquash.sources.open import open_file, raw
from chatsquash.storage.commit import PLAN, RUN
from chatsquash.storage.folder import validate_name

_PIECE = 1 << 20
_PACKED = (".gz", ".zst", ".parquet", ".png", ".jpg", ".gif", ".webp")
"""Files whose lines, or rows, cannot be counted by their line feeds."""
_DUPLICATE = "duplicate-record"
_RECORDS = re.compile(r"data/.*|[^/]*\.jsonl")


@dataclass(slots=True)
class Verification:
    """What was compared, and what does not agree."""

    files: int = 0
    logs: int = 0
    problems: list[str] = field(default_factory=list)
    """Where and what, a line each."""


def verify(out: Path | str, *, logs: bool = False, known: KnownLogs | None = None) -> Verification:
    """Compare an output folder with its ``run.json``: hashes, counts and sums; with ``logs`` the inputs, too.

    A text is the URL of one in a store.  ``known`` gives the paths of logs that ``run.json`` does not tell.  Raises
    ``UsageError`` for one without a ``run.json`` that can be read, and for another key than that of the run.
    """
    place = open_output(out)
    with closing(place.folder):
        return _verify(place, logs=logs, known=known)


def _verify(out: OutputSource, *, logs: bool, known: KnownLogs | None) -> Verification:
    done = Verification()
    run = manifest(out)
    try:
        if out.folder.status(f"{OURS}/{PLAN}"):
            done.problems.append(f"{out}: a run was killed while its files took their places: convert again")
        for output in run["outputs"]:
            done.files += 1
            done.problems += differences(out, output)
        done.problems += _counts(out, run)
        if logs:
            paths = known.paths(run["options"]["anonymize_key_fingerprint"]) if known else {}
            done.logs, problems = compare(run, out / RUN, paths)
            done.problems += problems
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        raise UsageError(
            f"{out / RUN}: is not one of chatsquash ({type(problem).__name__}: {shorten(str(problem))})"
        ) from None
    return done


def differences(out: OutputSource, entry: dict[str, Json]) -> Iterator[str]:
    """How a file differs from what is told of it; raises ``ValueError`` for a name that leads elsewhere."""
    name = validate_name(entry["path"])
    path = out / name
    staged = StagedFile(name)
    try:
        with out.folder.open_file(name) as file:
            while piece := file.read(_PIECE):
                staged.add(piece)
    except OSError as problem:
        yield f"{path}: cannot be read ({problem.strerror})"
        return
    size, lines, digest = staged.size, staged.lines, staged.digest.hexdigest()
    if (size, digest) != (entry["size"], entry["sha256"]):
        yield f"{path}: has {size:,} bytes and the hash {digest}, not {entry['size']:,} and {entry['sha256']}"
    elif not name.endswith(_PACKED) and lines != entry["lines"]:
        yield f"{path}: has {lines:,} lines, not {entry['lines']:,}"


def _counts(out: OutputSource, run: dict[str, Json]) -> Iterator[str]:
    """Which counts do not agree with each other, or with the files."""
    counts = run["counts"]
    for name in ("sessions", "lines", "bytes", "replies", "conversations"):
        if isinstance(counts.get(name), dict):
            seen, *parts = (_total(value) for value in counts[name].values())
            if seen != sum(parts):
                yield f"{out / RUN}: of {seen:,} {name} {sum(parts):,} are accounted for"
    lines = {recorded["path"]: recorded["lines"] for recorded in run["outputs"]}
    sessions, written = counts["sessions"]["seen"], _count_written(counts)
    if (recorded := counts["sessions"]["written"]) > written:
        yield f"{out / RUN}: tells of {recorded:,} sessions with a record, and of {written:,} records"
    records = [count for path, count in lines.items() if _RECORDS.fullmatch(path)]
    if records and sum(records) != written:
        yield f"{out / RUN}: tells of {written:,} records, the files have {sum(records):,}"
    is_by_file = run["options"].get("sessions_by") == "chain"  # whose sessions may be of several files
    if (inputs := len(run["inputs"])) != sessions and not is_by_file:
        yield f"{out / RUN}: tells of {sessions:,} sessions, {inputs:,} inputs are named"
    pairs = sum(count for path, count in lines.items() if path.startswith("pairs/"))
    if pairs != (recorded := _total(counts.get("pairs", {}))):
        yield f"{out / RUN}: tells of {recorded:,} pairs, the files have {pairs:,}"
    yield from _check_reports(out, counts, lines)


def _check_reports(out: OutputSource, counts: dict[str, Json], lines: dict[str, int]) -> Iterator[str]:
    """Which counts do not agree with the reports."""
    rejected = ("rejected lines", lines[REJECTED], counts["lines"]["unreadable"])
    replies = [("replies", lines[REPLIES], counts["replies"]["logged"])] if REPLIES in lines else []
    for what, there, recorded in (rejected, *replies, *_findings(out, counts)):
        if there != recorded:
            yield f"{out / RUN}: tells of {recorded:,} {what}, the reports have {there:,}"
    if SESSIONS in lines and out.folder.status(SESSIONS):  # else it was said already, or is a run of before
        yield from _table(out, counts["sessions"], _count_written(counts), lines)


def _count_written(counts: dict[str, Json]) -> int:
    """How many records were written: one for each conversation, of a run before that was said one for each session."""
    recorded = counts.get("conversations") or counts["sessions"]
    return int(recorded["written"])


def _table(out: OutputSource, counts: dict[str, Json], written: int, lines: dict[str, int]) -> Iterator[str]:
    """Which sums over the session table do not agree with the counts, or with the files that it names."""
    rows: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    with suppress(OSError), out.folder.open_file(SESSIONS) as file:  # where it cannot be read, that was said
        for session in map(orjson.loads, file):
            kinds[_kind(session)] += 1
            if (name := session["file"]) is not None:
                rows[name] += 1
                if session["row"] != rows[name]:
                    yield f"{out / SESSIONS}: has row {session['row']:,} of {name} in the place of row {rows[name]:,}"
    expected = {
        "written": written,
        f"left out: {_DUPLICATE}": counts["duplicates"],
        **{f"left out: {code}": count for code, count in counts["left_out"].items()},
        **{f"filtered: {option}": count for option, count in counts["filtered"].items()},
    }
    for kind in sorted({*expected, *kinds}):
        if kinds[kind] != expected.get(kind, 0):
            what = "records written" if kind == "written" else f"sessions {kind}"
            yield f"{out / RUN}: tells of {expected.get(kind, 0):,} {what}, {SESSIONS} has {kinds[kind]:,}"
    for name in sorted(rows):
        if rows[name] != lines.get(name, 0):
            yield f"{out / RUN}: tells of {lines.get(name, 0):,} records in {name}, {SESSIONS} has {rows[name]:,}"


def _kind(session: dict[str, Json]) -> str:
    """What became of a session, in words."""
    if session["file"] is not None:
        return "written"
    return f"filtered: {session['filtered']}" if session["filtered"] else f"left out: {session['left_out']}"


def _total(value: Json) -> int:
    return sum(map(_total, value.values())) if isinstance(value, dict) else int(value)


def _findings(out: OutputSource, counts: dict[str, Json]) -> Iterator[tuple[str, int, int]]:
    """Of each severity, in the dataset and in filtered sessions: what it is, how many there are, and are told of."""
    there: Counter[tuple[str, str]] = Counter()
    with suppress(OSError), out.folder.open_file(FINDINGS) as file:  # where it cannot be read, that was said
        for line in map(orjson.loads, file):
            there["filtered_findings" if line.get("filtered") else "findings", line["severity"]] += 1
    recorded = {
        (what, severity): _total(codes)
        for what in ("findings", "filtered_findings")
        for severity, codes in counts.get(what, {}).items()
    }
    for what, severity in sorted({*there, *recorded}):
        yield f"{what.replace('_', ' ')} {severity}", there[what, severity], recorded.get((what, severity), 0)


_ESCAPED = re.compile(r"\\udc([89a-f][0-9a-f])")
_BOUNDS = ("max_line", "max_expansion", "max_expanded", "sessions_by")
"""The options that say how far logs were read, and what was a session."""


class KnownLogs(NamedTuple):
    """Logs as they were given to ``convert``, and the key of that run."""

    logs: Sequence[str]
    key: bytes

    def paths(self, recorded: str | None) -> dict[str, str]:
        """The paths of the logs by their digests; raises ``UsageError`` where the run had another key."""
        if recorded is None:
            return {}
        if fingerprint(self.key) != recorded:
            raise UsageError(f"the key is not that of the run, {recorded}: name that one with --anonymize-key-file")
        discovery = discover(list(self.logs), Options(anonymize=False), is_readable)
        return {path_digest(self.key, printable(log.display_path)): log.display_path for log in discovery.logs}


class Comparison(NamedTuple):
    """How many logs were compared, and what does not agree."""

    logs: int
    problems: list[str]


def compare(run: dict[str, Any], place: str, paths: dict[str, str]) -> Comparison:
    """Compare the logs of a run with their hashes, as ``run.json`` at a place has them.

    ``paths`` has those of logs whose paths are replaced there, by their digests.
    """
    count, problems = 0, list[str]()
    left, hidden = len(run["inputs"]), 0
    bounds = Options(**{name: run["options"][name] for name in _BOUNDS})
    for (path, digest), inputs in groupby(run["inputs"], lambda entries: (entries["path"], entries.get("path_digest"))):
        entries = list(inputs)
        left -= len(entries)
        if digest and digest not in paths:
            hidden += 1
            continue
        count += 1
        is_cut = not left and run["options"].get("limit") == len(run["inputs"])
        digests = [each["xxh3_128"] for each in entries]
        problems += log_differences(paths.get(digest, path), digests, bounds, len(entries) if is_cut else None)
    if hidden:
        which = "are not among LOGS" if paths else "are replaced: give LOGS as they were given to convert"
        problems.append(f"{place}: the paths of {pluralize(hidden, 'log')} {which}")
    return Comparison(count, problems)


def log_differences(path: str, recorded: list[str], options: Options, taken: int | None = None) -> Iterator[str]:
    """How a log differs from its hashes, as one session or several; of these maybe only the first ones."""
    log = Log(spelled(path), path, Path(path).name, 0)
    digests = list(filter(None, recorded))  # empty: it could not be read then, either
    try:
        with raw(log.path) as file:
            whole = {hashlib.file_digest(file, xxh3_128).hexdigest()} if digests else set()
            if set(digests) != whole and sorted(digests) != sorted(islice(_parts(log, options), taken)):
                yield f"{path}: is not what it was when it was converted"
    except OSError as problem:
        if digests:
            yield f"{path}: cannot be read ({problem.strerror})"


def spelled(path: str) -> str:
    """A path as the system has it: bytes that are no text stand escaped in ``run.json``."""
    if os.path.lexists(path):
        return path
    return _ESCAPED.sub(lambda match: chr(0xDC00 + int(match[1], 16)), path)


def _parts(log: Log, options: Options) -> Iterator[str]:
    """The hashes of the sessions that a file holds."""
    with open_file(log.path, options) as file:
        digests = [(xxh3_128(), part.spans or ()) for part in parts(log, options)]
        owners = {number: digest for digest, spans in digests for number in spans[::SPAN]}
        file.seek(0)
        for line in lines(file, options.max_line):  # once, since in a compressed log going back is to begin again
            if owner := owners.get(line.number):  # none: the log grows
                owner.update(line.buffer[line.start : line.stop])
    return (digest.hexdigest() for digest, _ in digests)
