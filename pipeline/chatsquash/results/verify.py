"""Verifies an output folder against its ``run.json``, and logs against the hashes recorded at conversion."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from xxhash import xxh3_128

from chatsquash.core.errors import UsageError
from chatsquash.core.model import OURS, Json
from chatsquash.core.text import pluralize, printable, shorten
from chatsquash.dataset.claim import FINDINGS, REJECTED, REPLIES
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.results.output import OutputSource, manifest, open_output
from chatsquash.storage.commit import PLAN, RUN
from chatsquash.storage.folder import validate_name

if TYPE_CHECKING:
    from chatsquash.core.log import Log
    from chatsquash.core.options import Options

_PIECE = 1 << 18
_SAMPLE, _MANY = 1 << 12, 32
"""Lines are short if so many bytes have more line feeds than this."""
_OPAQUE_SUFFIXES = (".gz", ".zst", ".parquet", ".png", ".jpg", ".gif", ".webp")
"""Suffixes of files whose lines cannot be counted by line feeds."""
_DUPLICATE = "duplicate-record"
_RECORDS = re.compile(r"data/.*|[^/]*\.jsonl")


@dataclass(slots=True)
class Verification:
    """The numbers of compared files and logs, and the differences."""

    files: int = 0
    logs: int = 0
    problems: list[str] = field(default_factory=list)
    """Each difference with its location, in one line."""


def verify(out: Path | str, *, logs: bool = False, known: KnownLogs | None = None) -> Verification:
    """Compare an output folder with its ``run.json``: hashes, counts and sums.

    Args:
        out: The folder, or the URL of an output in a store.
        logs: Also compare the inputs with their hashes.
        known: Paths of logs and the key of the run, if ``run.json`` contains replaced paths.

    Raises:
        UsageError: ``run.json`` cannot be read, or the key is not that of the run.
    """
    place = open_output(out)
    with closing(place.folder):
        return _verify(place, logs=logs, known=known)


def _verify(out: OutputSource, *, logs: bool, known: KnownLogs | None) -> Verification:
    done = Verification()
    run = manifest(out)
    try:
        if out.folder.status(f"{OURS}/{PLAN}"):
            done.problems.append(f"{out}: a run was killed while moving files into place; convert again")
        for output in run["outputs"]:
            done.files += 1
            done.problems += differences(out, output)
        done.problems += _counts(out, run)
        if run["options"].get("provenance"):
            done.problems += _statement(out, run)
        if logs:
            paths = known.paths(run["options"]["anonymize_key_fingerprint"]) if known else {}
            done.logs, problems = compare(run, out / RUN, paths)
            done.problems += problems
    except (KeyError, TypeError, AttributeError, ValueError, msgspec.MsgspecError) as problem:
        raise UsageError(
            f"{out / RUN}: not a run.json of chatsquash ({type(problem).__name__}: {shorten(str(problem))})"
        ) from None
    return done


def differences(out: OutputSource, entry: dict[str, Json]) -> Iterator[str]:
    """Yield the differences of a file from its entry; raise ``ValueError`` for a name outside the folder."""
    name = validate_name(entry["path"])
    path = out / name
    digest, size, lines = hashlib.sha256(), 0, 0
    has_lines = not name.endswith(_OPAQUE_SUFFIXES)
    try:
        with out.folder.open_file(name) as file, memoryview(_BUFFER) as view:
            while count := file.readinto(view):  # type: ignore[attr-defined]
                digest.update(view[:count])
                size += count
                lines += _count_lines(count) if has_lines else 0
    except OSError as problem:
        yield f"{path}: cannot be read ({problem.strerror})"
        return
    if (size, digest.hexdigest()) != (entry["size"], entry["sha256"]):
        actual = f"{size:,} bytes with the hash {digest.hexdigest()}"
        yield f"{path}: {actual}, expected {entry['size']:,} bytes with {entry['sha256']}"
    elif has_lines and lines != entry["lines"]:
        yield f"{path}: {pluralize(lines, 'line')}, expected {entry['lines']:,}"


def _statement(out: OutputSource, run: dict[str, Json]) -> Iterator[str]:
    """Yield a difference between the statement of the provenance and ``run.json``, which it names with its hash."""
    from chatsquash.provenance import statement  # only needed for outputs with a provenance

    path = out / statement.STATEMENT
    try:
        with out.folder.open_file(statement.STATEMENT) as file, out.folder.open_file(RUN) as manifest_file:
            data, run_digest = file.read(), hashlib.sha256(manifest_file.read()).hexdigest()
    except OSError as problem:
        yield f"{path}: cannot be read ({problem.strerror})"
        return
    hashes = {each["path"]: each["sha256"] for each in run["outputs"]}
    if statement.subjects(data) != {**hashes, RUN: run_digest}:
        yield f"{path}: its hashes are not those of {RUN} and its outputs"


def _count_lines(size: int) -> int:
    """Return the number of line feeds in the first bytes of the buffer."""
    if _BUFFER.count(b"\n", 0, min(size, _SAMPLE)) > _MANY:
        return _BUFFER.count(b"\n", 0, size)
    # Looking for the next one is much faster than counting if lines are long.
    count, at = 0, _BUFFER.find(b"\n", 0, size)
    while at >= 0:
        count, at = count + 1, _BUFFER.find(b"\n", at + 1, size)
    return count


def _counts(out: OutputSource, run: dict[str, Json]) -> Iterator[str]:
    """Yield counts that are inconsistent with each other or with the files."""
    counts = run["counts"]
    for name in ("sessions", "lines", "bytes", "replies", "conversations"):
        if isinstance(counts.get(name), dict):
            # Copies of replies count in other logs.
            seen, *parts = (_total(value) for part, value in counts[name].items() if part != "copied")
            if seen != sum(parts):
                yield f"{out / RUN}: {sum(parts):,} of {seen:,} {name} are accounted for"
    lines = {output["path"]: output["lines"] for output in run["outputs"]}
    sessions, records_written = counts["sessions"]["seen"], _count_written(counts)
    if (count := counts["sessions"]["written"]) > records_written:
        records_text = pluralize(records_written, "record")
        yield f"{out / RUN}: counts {pluralize(count, 'session')} with a record, but {records_text}"
    if run["options"].get("samples") == "forest":  # the rows of its files are messages
        lines |= _samples_by_file(out)
    records = [count for path, count in lines.items() if _RECORDS.fullmatch(path)]
    if records and sum(records) != records_written:
        yield f"{out / RUN}: counts {pluralize(records_written, 'record')}, but the files have {sum(records):,}"
    is_by_file = run["options"].get("sessions_by") == "chain"  # sessions may span several files
    if (inputs := len(run["inputs"])) != sessions and not is_by_file:
        yield f"{out / RUN}: counts {pluralize(sessions, 'session')}, but lists {pluralize(inputs, 'input')}"
    pairs = sum(count for path, count in lines.items() if path.startswith("pairs/"))
    if pairs != (count := _total(counts.get("pairs", {}))):
        yield f"{out / RUN}: counts {pluralize(count, 'pair')}, but the files have {pairs:,}"
    yield from _check_reports(out, counts, lines)


def _samples_by_file(out: OutputSource) -> dict[str, int]:
    """Return the number of samples in each data file according to the session table."""
    if not out.folder.status(SESSIONS):
        return {}
    with suppress(OSError), out.folder.open_file(SESSIONS) as file:
        names = (session.file for session in map(msgspec.json.Decoder(_OutcomeLine).decode, file))
        return dict(Counter(name for name in names if name is not None))
    return {}


def _check_reports(out: OutputSource, counts: dict[str, Json], lines: dict[str, int]) -> Iterator[str]:
    """Yield counts that are inconsistent with the reports."""
    rejected = (("rejected line",), lines[REJECTED], counts["lines"]["unreadable"])
    reply_count = counts["replies"]["logged"] + counts["replies"].get("copied", 0) if REPLIES in lines else 0
    replies = [(("reply", "replies"), lines[REPLIES], reply_count)] if REPLIES in lines else []
    for words, actual, expected in (rejected, *replies, *_findings(out, counts)):
        if actual != expected:
            yield f"{out / RUN}: counts {pluralize(expected, *words)}, but the reports have {actual:,}"
    if SESSIONS in lines and out.folder.status(SESSIONS):  # otherwise reported above, or the output of an older version
        yield from _table(out, counts["sessions"], _count_written(counts), lines)


def _count_written(counts: dict[str, Json]) -> int:
    """Return the number of records; older versions only counted sessions, each with one record."""
    written_counts = counts.get("conversations") or counts["sessions"]
    return int(written_counts["written"])


def _table(out: OutputSource, counts: dict[str, Json], records_written: int, lines: dict[str, int]) -> Iterator[str]:
    """Yield sums over the session table that are inconsistent with the counts or the record files."""
    rows: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    count = 0
    with suppress(OSError), out.folder.open_file(SESSIONS) as file:  # an unreadable file is reported above
        for session in map(msgspec.json.Decoder(_OutcomeLine).decode, file):
            if (name := session.file) is None:
                kinds[_kind(session)] += 1
                continue
            count += 1
            rows[name] = expected_row = rows.get(name, 0) + 1
            if session.row != expected_row:
                yield f"{out / SESSIONS}: row {session.row:,} of {name} instead of row {expected_row:,}"
    if count:
        kinds["written"] = count
    expected = {
        "written": records_written,
        f"skipped: {_DUPLICATE}": counts["duplicates"],
        **{f"skipped: {code}": count for code, count in counts["left_out"].items()},
        **{f"filtered: {option}": count for option, count in counts["filtered"].items()},
        "filtered: --join": counts.get("joined", 0),
    }
    for kind in sorted({*expected, *kinds}):
        if kinds[kind] != expected.get(kind, 0):
            noun, state = ("record", " written") if kind == "written" else ("session", f" {kind}")
            total = pluralize(expected.get(kind, 0), noun)
            yield f"{out / RUN}: counts {total}{state}, but {SESSIONS} has {kinds[kind]:,}"
    for name in sorted(rows):
        if rows[name] != lines.get(name, 0):
            total = pluralize(lines.get(name, 0), "record")
            yield f"{out / RUN}: counts {total} in {name}, but {SESSIONS} has {rows[name]:,}"


class _OutcomeLine(msgspec.Struct, gc=False):
    """The members of a line of the session table that are counted."""

    file: str | None
    row: int | None = None
    left_out: str | None = None
    filtered: str | None = None


def _kind(session: _OutcomeLine) -> str:
    """Return the outcome of a session without a record, in words."""
    return f"filtered: {session.filtered}" if session.filtered else f"skipped: {session.left_out}"


def _total(value: Json) -> int:
    return sum(map(_total, value.values())) if isinstance(value, dict) else int(value)


class _FindingLine(msgspec.Struct, gc=False):
    severity: str
    filtered: Any = None


def _findings(out: OutputSource, counts: dict[str, Json]) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Yield for each severity a noun, the number of findings in the report, and the number in ``run.json``."""
    in_report: Counter[tuple[str, str]] = Counter()
    with suppress(OSError), out.folder.open_file(FINDINGS) as file:  # an unreadable file is reported above
        for line in map(msgspec.json.Decoder(_FindingLine).decode, file):
            in_report["filtered_findings" if line.filtered else "findings", line.severity] += 1
    expected = {
        (what, severity): _total(codes)
        for what in ("findings", "filtered_findings")
        for severity, codes in counts.get(what, {}).items()
    }
    for what, severity in sorted({*in_report, *expected}):
        noun = f"{severity} finding"
        yield (
            (noun if what == "findings" else f"filtered {noun}",),
            in_report[what, severity],
            expected.get((what, severity), 0),
        )


_ESCAPED = re.compile(r"\\udc([89a-f][0-9a-f])")
_BOUNDS = ("max_line", "max_expansion", "max_expanded", "sessions_by")
"""Options that determine how far logs were read and how lines were grouped into sessions."""


class KnownLogs(NamedTuple):
    """The logs as passed to ``convert``, and the key of that run."""

    logs: Sequence[str]
    key: bytes

    def paths(self, fingerprint_of_run: str | None) -> dict[str, str]:
        """Return the paths of the logs by digest; raise ``UsageError`` if the run had another key."""
        if fingerprint_of_run is None:
            return {}
        from chatsquash.core.options import Options  # these are only needed for logs with replaced paths
        from chatsquash.reading.identify import is_readable
        from chatsquash.redaction.privacy import path_digest
        from chatsquash.redaction.pseudonyms import fingerprint
        from chatsquash.sources.find import discover

        if fingerprint(self.key) != fingerprint_of_run:
            raise UsageError(
                f"the key does not match the run's key, {fingerprint_of_run}; pass that key with --anonymize-key-file"
            )
        discovery = discover(list(self.logs), Options(anonymize=False), is_readable)
        return {path_digest(self.key, printable(log.display_path)): log.display_path for log in discovery.logs}


class Comparison(NamedTuple):
    """The number of compared logs, and the differences."""

    logs: int
    problems: list[str]


def compare(run: dict[str, Any], place: str, paths: dict[str, str]) -> Comparison:
    """Compare the logs of a run with their hashes.

    Args:
        run: The content of ``run.json``.
        place: Its path, for messages.
        paths: The paths of logs that are replaced in ``run.json``, by digest.
    """
    from chatsquash.core.options import Options  # only needed for logs

    count, problems = 0, list[str]()
    remaining, hidden = len(run["inputs"]), 0
    bounds = Options(**{name: run["options"][name] for name in _BOUNDS})
    for (path, digest), inputs in groupby(run["inputs"], lambda entries: (entries["path"], entries.get("path_digest"))):
        entries = list(inputs)
        remaining -= len(entries)
        if digest and digest not in paths:
            hidden += 1
            continue
        count += 1
        is_cut = not remaining and run["options"].get("limit") == len(run["inputs"])
        digests = [each["xxh3_128"] for each in entries]
        problems += log_differences(paths.get(digest, path), digests, bounds, len(entries) if is_cut else None)
    if hidden:
        which = (
            "are not among LOGS"
            if paths
            else "are replaced: pass LOGS in the form in which they were passed to convert"
        )
        problems.append(f"{place}: the paths of {pluralize(hidden, 'log')} {which}")
    return Comparison(count, problems)


def log_differences(path: str, expected: list[str], options: Options, limit: int | None = None) -> Iterator[str]:
    """Yield the difference of a log from its hashes: that of the file, or those of its (first ``limit``) sessions."""
    from chatsquash.sources.open import raw  # only needed for logs

    place = filesystem_path(path)
    digests = list(filter(None, expected))  # empty if it was unreadable at conversion, too
    try:
        with raw(place) as file:
            of_file = {_digest(file)} if digests else set()
        if set(digests) != of_file:
            from chatsquash.core.log import Log

            log = Log(place, path, Path(path).name, 0)
            if sorted(digests) != sorted(islice(_parts(log, options), limit)):
                yield f"{path}: file has changed since it was converted"
    except OSError as problem:
        if digests:
            yield f"{path}: cannot be read ({problem.strerror})"


def _digest(file: io.FileIO) -> str:
    """Return the hash of a file."""
    digest = xxh3_128()
    with memoryview(_BUFFER) as view:
        while count := file.readinto(view):
            digest.update(view[:count])
    return digest.hexdigest()


_BUFFER = bytearray(_PIECE)
"""Reused, since allocating memory takes longer than hashing a small log."""


def filesystem_path(path: str) -> str:
    """Return a path as the file system has it; bytes that are not UTF-8 are escaped in ``run.json``."""
    if "\\udc" not in path or os.path.lexists(path):
        return path
    return _ESCAPED.sub(lambda match: chr(0xDC00 + int(match[1], 16)), path)


def _parts(log: Log, options: Options) -> Iterator[str]:
    """Yield the hashes of the sessions in a file."""
    from chatsquash.reading.sessions import SPAN  # only needed for files with several sessions
    from chatsquash.session.parts import parts
    from chatsquash.sources.lines import lines
    from chatsquash.sources.open import open_file

    with open_file(log.path, options) as file:
        digests = [(xxh3_128(), part.spans or ()) for part in parts(log, options)]
        owners = {number: digest for digest, spans in digests for number in spans[::SPAN]}
        file.seek(0)
        for line in lines(file, options.max_line):  # in one pass, since seeking back in a compressed log starts over
            if owner := owners.get(line.number):  # no owner if the log has grown
                owner.update(line.buffer[line.start : line.stop])
    return (digest.hexdigest() for digest, _ in digests)
