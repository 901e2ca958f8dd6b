"""Whether an output folder is what its ``run.json`` says, and the logs what they were."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from chatsquash.core.errors import UsageError
from chatsquash.core.model import OURS, Json
from chatsquash.dataset.claim import inside
from chatsquash.dataset.commit import PLAN, RUN
from chatsquash.dataset.reports.findings import FINDINGS
from chatsquash.dataset.reports.rejected import REJECTED
from chatsquash.dataset.reports.replies import REPLIES
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.dataset.store import StagedFile
from chatsquash.results.output import Output, manifest, open_output
from chatsquash.results.verify_logs import Known, compare

_PIECE = 1 << 20
_PACKED = (".gz", ".zst", ".parquet", ".png", ".jpg", ".gif", ".webp")
"""Files whose lines, or rows, cannot be counted by their line feeds."""
_DUPLICATE = "duplicate-record"
_RECORDS = re.compile(r"data/.*|[^/]*\.jsonl")


@dataclass(slots=True)
class Verified:
    """What was compared, and what does not agree."""

    files: int = 0
    logs: int = 0
    problems: list[str] = field(default_factory=list)
    """Where and what, a line each."""


def verify(out: Path | str, *, logs: bool = False, known: Known | None = None) -> Verified:
    """Compare an output folder with its ``run.json``: hashes, counts and sums; with ``logs`` the inputs, too.

    A text is the URL of one in a store.  ``known`` gives the paths of logs that ``run.json`` does not tell.  Raises
    ``UsageError`` for one without a ``run.json`` that can be read, and for another key than that of the run.
    """
    place = open_output(out)
    with closing(place.folder):
        return _verified(place, logs=logs, known=known)


def _verified(out: Output, *, logs: bool, known: Known | None) -> Verified:
    done = Verified()
    run = manifest(out)
    try:
        if out.folder.status(f"{OURS}/{PLAN}"):
            done.problems.append(f"{out}: a run was killed while its files took their places: convert again")
        for told in run["outputs"]:
            done.files += 1
            done.problems += differences(out, told)
        done.problems += _counts(out, run)
        if logs:
            paths = known.paths(run["options"]["anonymize_key_fingerprint"]) if known else {}
            done.logs, problems = compare(run, out / RUN, paths)
            done.problems += problems
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        raise UsageError(f"{out / RUN}: is not one of chatsquash ({type(problem).__name__}: {problem})") from None
    return done


def differences(out: Output, told: dict[str, Json]) -> Iterator[str]:
    """How a file differs from what is told of it; raises ``ValueError`` for a name that leads elsewhere."""
    name = inside(told["path"])
    path = out / name
    staged = StagedFile(name)
    try:
        with out.folder.reading(name) as file:
            while piece := file.read(_PIECE):
                staged.add(piece)
    except OSError as problem:
        yield f"{path}: cannot be read ({problem.strerror})"
        return
    size, lines, digest = staged.size, staged.lines, staged.digest.hexdigest()
    if (size, digest) != (told["size"], told["sha256"]):
        yield f"{path}: has {size:,} bytes and the hash {digest}, not {told['size']:,} and {told['sha256']}"
    elif not name.endswith(_PACKED) and lines != told["lines"]:
        yield f"{path}: has {lines:,} lines, not {told['lines']:,}"


def _counts(out: Output, run: dict[str, Json]) -> Iterator[str]:
    """Which counts do not agree with each other, or with the files."""
    counts = run["counts"]
    for name in ("sessions", "lines", "bytes", "replies", "conversations"):
        if isinstance(counts.get(name), dict):
            seen, *parts = (_total(value) for value in counts[name].values())
            if seen != sum(parts):
                yield f"{out / RUN}: of {seen:,} {name} {sum(parts):,} are accounted for"
    lines = {told["path"]: told["lines"] for told in run["outputs"]}
    sessions, written = counts["sessions"]["seen"], _written(counts)
    if (told := counts["sessions"]["written"]) > written:
        yield f"{out / RUN}: tells of {told:,} sessions with a record, and of {written:,} records"
    records = [count for path, count in lines.items() if _RECORDS.fullmatch(path)]
    if records and sum(records) != written:
        yield f"{out / RUN}: tells of {written:,} records, the files have {sum(records):,}"
    is_by_file = run["options"].get("sessions_by") == "chain"  # whose sessions may be of several files
    if (inputs := len(run["inputs"])) != sessions and not is_by_file:
        yield f"{out / RUN}: tells of {sessions:,} sessions, {inputs:,} inputs are named"
    pairs = sum(count for path, count in lines.items() if path.startswith("pairs/"))
    if pairs != (told := _total(counts.get("pairs", {}))):
        yield f"{out / RUN}: tells of {told:,} pairs, the files have {pairs:,}"
    yield from _reported(out, counts, lines)


def _reported(out: Output, counts: dict[str, Json], lines: dict[str, int]) -> Iterator[str]:
    """Which counts do not agree with the reports."""
    rejected = ("rejected lines", lines[REJECTED], counts["lines"]["unreadable"])
    replies = [("replies", lines[REPLIES], counts["replies"]["logged"])] if REPLIES in lines else []
    for what, there, told in (rejected, *replies, *_findings(out, counts)):
        if there != told:
            yield f"{out / RUN}: tells of {told:,} {what}, the reports have {there:,}"
    if SESSIONS in lines and out.folder.status(SESSIONS):  # else it was said already, or is a run of before
        yield from _table(out, counts["sessions"], _written(counts), lines)


def _written(counts: dict[str, Json]) -> int:
    """How many records were written: one for each conversation, of a run before that was said one for each session."""
    told = counts.get("conversations") or counts["sessions"]
    return int(told["written"])


def _table(out: Output, told: dict[str, Json], written: int, lines: dict[str, int]) -> Iterator[str]:
    """Which sums over the session table do not agree with the counts, or with the files that it names."""
    rows: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    with out.folder.reading(SESSIONS) as file:
        for session in map(orjson.loads, file):
            kinds[_kind(session)] += 1
            if (name := session["file"]) is not None:
                rows[name] += 1
                if session["row"] != rows[name]:
                    yield f"{out / SESSIONS}: has row {session['row']:,} of {name} in the place of row {rows[name]:,}"
    expected = {
        "written": written,
        f"left out: {_DUPLICATE}": told["duplicates"],
        **{f"left out: {code}": count for code, count in told["left_out"].items()},
        **{f"filtered: {option}": count for option, count in told["filtered"].items()},
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


def _findings(out: Output, counts: dict[str, Json]) -> Iterator[tuple[str, int, int]]:
    """Of each severity, in the dataset and in filtered sessions: what it is, how many there are, and are told of."""
    there: Counter[tuple[str, str]] = Counter()
    with suppress(OSError), out.folder.reading(FINDINGS) as file:  # where it cannot be read, that was said
        for line in map(orjson.loads, file):
            there["filtered_findings" if line.get("filtered") else "findings", line["severity"]] += 1
    told = {
        (what, severity): _total(codes)
        for what in ("findings", "filtered_findings")
        for severity, codes in counts.get(what, {}).items()
    }
    for what, severity in sorted({*there, *told}):
        yield f"{what.replace('_', ' ')} {severity}", there[what, severity], told.get((what, severity), 0)
