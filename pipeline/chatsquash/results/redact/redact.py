"""Rewrites existing datasets with placeholders instead of secrets and personal data."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from chatsquash.checks import private, reading, stored_records
from chatsquash.core import jsonio, platform
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Finding, Violation
from chatsquash.core.options import Options
from chatsquash.core.text import printable
from chatsquash.dataset.reports.tables import REDACTIONS
from chatsquash.dataset.shards import packer_of
from chatsquash.records import NotARecordError
from chatsquash.records.datasets import PARQUET, complete_rows, flat, is_forest, session
from chatsquash.records.reading import parse
from chatsquash.redaction import lists
from chatsquash.redaction.lists import hash_list
from chatsquash.redaction.privacy import Privacy
from chatsquash.redaction.redactor import Redactor
from chatsquash.redaction.texts import Texts
from chatsquash.redaction.values import Hit, Placeholders, UnsearchedError
from chatsquash.results.redact import forests, tables
from chatsquash.results.redact.places import FilePlacement, Places, places, refuse_existing, rename
from chatsquash.results.redact.record import RedactedRecord, RedactionSummary, has_duplicate_members, redact_record
from chatsquash.results.redact.tables import Cells, ParquetTable, Row
from chatsquash.session.session import finding
from chatsquash.storage.staging import StagedFiles, write_elsewhere


class Watch(NamedTuple):
    """Callbacks during a run."""

    report: Callable[[Finding], None]
    """Called with each finding."""
    observe: Callable[[int, int], None] | None = None
    """Called after each file with its bytes and with the bytes of all files."""


def redact(
    inputs: Iterable[str], output: str, options: Options, watch: Watch, *, force: bool = False
) -> RedactionSummary:
    """Write redacted datasets to a folder, or a single one to a file.

    Either all files appear at the end, or none.

    Args:
        inputs: Dataset files, folders and globs.
        output: A folder or a file.
        options: What to replace.
        watch: Callbacks for findings and progress.
        force: Replace existing files.

    Raises:
        UsageError: A file cannot be read or written, or nothing is to be replaced.
    """
    if not (options.replaces or options.anonymize):
        raise UsageError("nothing to replace; add --redact, for example --redact secrets,emails")
    privacy = Privacy(options)
    where = places(list(inputs), output, privacy.text)
    for each in where.files:
        if each.source.suffix.lower() != PARQUET:
            packer_of(Path(each.name))
    if options.write_known:
        _refuse_dataset(Path(options.write_known), where)
    with _stage(where, force=force) as staging:
        run = _Run(privacy, options, where, watch)
        run.write(staging)
        names = run.finish(staging)
        if not force:
            refuse_existing(where.folder, names)
        if options.write_known:
            _write_known(staging, options.write_known, hash_list(run.done.hashes))
        staging.put(names)
    return run.done


def _refuse_dataset(hash_list_path: Path, where: Places) -> None:
    """Raise ``UsageError`` if the list of hashes would replace a dataset that is read or written."""
    for each in where.files:
        for dataset in (each.source, where.folder / each.name):
            if hash_list_path.exists() and dataset.exists() and hash_list_path.samefile(dataset):
                raise UsageError(f"--write-known {hash_list_path}: is a dataset; choose another file")


def _write_known(staging: StagedFiles, path: str, data: bytes) -> None:
    try:
        write_elsewhere(staging.staging, Path(path).absolute(), data)
    except OSError as problem:
        raise UsageError(f"{path}: cannot be written ({problem.strerror})") from None


@contextmanager
def _stage(where: Places, *, force: bool) -> Iterator[StagedFiles]:
    """Stage files next to the output; files not moved into place are discarded."""
    staging = StagedFiles(where.folder, force=force)
    try:
        staging.begin()
        if not force:
            reports = [] if where.is_file else [REDACTIONS]
            refuse_existing(where.folder, [*(each.name for each in where.files), *reports])
        yield staging
    except OSError as problem:
        raise UsageError(f"{where.folder}: cannot be written ({problem.strerror})") from None
    finally:
        with platform.uninterrupted():
            staging.discard()


class _Run:
    """Writes the files of a run one by one."""

    def __init__(self, privacy: Privacy, options: Options, where: Places, watch: Watch) -> None:
        self._privacy, self._where, self._watch = privacy, where, watch
        self._hide = privacy.text
        self._session_and_path_of = cache(self._session_and_path)
        place = str(where.folder / where.files[0].name) if where.is_file else str(where.folder)
        self.done = RedactionSummary(place, "secrets" in options.redacts, others=where.others)
        self.done.traces = sum(each.is_trace for each in where.files)
        self.done.files = len(where.files) - self.done.traces
        self._trace = ""
        """The trace that is written, if any; its lines are not records."""
        sources = [each.source for each in where.files]
        self._known = SessionValues(privacy.redactor, privacy.placeholders, sources) if privacy.redactor else None

    def write(self, staging: StagedFiles) -> None:
        """Write all files."""
        sizes = [each.source.stat().st_size for each in self._where.files]
        for each, size in zip(self._where.files, sizes, strict=True):
            with os.fdopen(staging.staging.create(each.name), "wb") as file:
                self._file(each, file, staging.staging.path)
                file.flush()
                platform.sync(file.fileno())
            if self._watch.observe:
                self._watch.observe(size, sum(sizes))

    def finish(self, staging: StagedFiles) -> list[str]:
        """Write the report and return the names of all files, redacted again with the values detected in records."""
        value_finder = self._privacy.value_finder(self.done.values)

        def hide(text: str) -> str:
            return self._hide(text, value_finder)

        if self._where.is_file:
            return [each.name for each in self._where.files]
        files = rename(self._where.files, hide)
        for before, after in zip(self._where.files, files, strict=True):
            if before.name != after.name:
                staging.staging.move(before.name, staging.staging, after.name)
        with os.fdopen(staging.staging.create(REDACTIONS), "wb") as file:
            file.write(self.done.report(hide))
        return [*(each.name for each in files), REDACTIONS]

    def _file(self, placement: FilePlacement, file: BinaryIO, folder: Path) -> None:
        self._trace = placement.name if placement.is_trace else ""
        if is_forest(placement.source):
            forests.rewrite(placement, file, self._hide, self._line)
            return
        if placement.source.suffix.lower() == PARQUET:
            table = ParquetTable(placement.source, self._hide)
            table.write(file, folder, lambda row: self._row(placement.source, table, row))
            return
        packer = packer_of(Path(placement.name))
        for row in complete_rows(str(placement.source)):
            line = self._line(row.file, row.number, row.data.removeprefix(BOM_UTF8))
            file.write(packer.compress(line + b"\n") if line is not None else b"")
        file.write(packer.flush())

    def _line(self, source: Path, number: int, data: bytes) -> bytes | None:
        """Redact a line; return ``None`` if it cannot be searched."""
        try:
            value = parse(data)
        except NotARecordError as problem:
            self._skip(source, number, stored_records.unsearched_line(str(problem)))
            return None
        is_hiding = has_duplicate_members(data, value)
        done = self._replace(source, number, value)
        if done is None:
            return None
        self._count(source, number, done)
        if not (done.is_changed or is_hiding):
            return data
        line, rounded = jsonio.encode(done.value)
        if rounded:
            self._report(source, number, reading.number_changed(rounded, len(rounded)))
        return line

    def _row(self, source: Path, table: ParquetTable, row: Row) -> Cells | None:
        """Redact a row's cells; return ``None`` if it cannot be searched or the result does not fit the columns."""
        done = self._replace(source, row.number, row.value)
        if done is None:
            return None
        cells = row.cells
        if done.is_changed or not row.is_same:
            changed = table.cells(row, done.value)
            if changed is None:
                self._skip(
                    source, row.number, private.redaction_failed("a column cannot contain the placeholder", "record")
                )
                return None
            cells = changed
        self._count(source, row.number, done)
        return cells

    def _replace(self, source: Path, number: int, value: Any) -> RedactedRecord | None:
        try:
            return redact_record(self._privacy, value, self._known.redactor_of(value) if self._known else None)
        except UnsearchedError as problem:
            self._skip(source, number, private.redaction_failed(str(problem), "record"))
            return None

    def _count(self, source: Path, number: int, done: RedactedRecord) -> None:
        self.done.add(done, self._privacy.placeholders, f"{self._session_and_path_of(source)[1]}:{number}", self._trace)
        if done.unflagged:
            self._report(source, number, private.placeholder_in_reply(len(done.unflagged), done.unflagged[0], ""))

    def _session_and_path(self, source: Path) -> tuple[str, str]:
        """Return the session name for findings about a file, and its path, both redacted."""
        return self._hide(session(source)), self._hide(printable(str(source)))

    def _skip(self, source: Path, number: int, why: Violation) -> None:
        self.done.left_out += 1
        self._report(source, number, why)

    def _report(self, source: Path, number: int, fact: Violation) -> None:
        self._watch.report(finding(fact, *self._session_and_path_of(source), number))


SESSION = "session_id"
"""The column with the session id, as written by ``--metadata``."""


class _SessionName(msgspec.Struct):
    session_id: Any = None


_SESSION_DECODER = msgspec.json.Decoder(_SessionName)


class SessionValues:
    """The values detected in sessions with several records, so that they are replaced in all of them."""

    def __init__(self, redactor: Redactor, placeholders: Placeholders, files: Iterable[Path]) -> None:
        self._redactor, self._placeholders = redactor, placeholders
        self._hits: dict[str, set[Hit]] = {}
        self._last: tuple[str, Redactor | None] | None = None
        files = list(files)
        if several := _repeated_sessions(files):
            for file in files:
                for value in _values(file):
                    if isinstance(value, dict) and isinstance(name := value.get(SESSION), str) and name in several:
                        self._note(name, value)

    def _note(self, name: str, value: dict[str, Any]) -> None:
        try:
            hits = self._redactor.hits(Texts([value]).joined)
        except UnsearchedError:
            return  # the record is skipped and reported when it is written
        if hits:
            self._hits.setdefault(name, set()).update(hit._replace(start=0, end=0) for hit in hits)

    def redactor_of(self, value: Any) -> Redactor | None:
        """Return a redactor for the values detected in the session of a record, or ``None`` if there are none."""
        name = value.get(SESSION) if isinstance(value, dict) else None
        if not isinstance(name, str) or name not in self._hits:
            return None
        if self._last is None or self._last[0] != name:
            finder = self._redactor.find_everywhere(sorted(self._hits[name]))
            self._last = name, Redactor([finder], self._placeholders, known=lists.values) if finder else None
        return self._last[1]


def _repeated_sessions(files: Iterable[Path]) -> set[str]:
    """Return the ids of sessions with several records."""
    seen, several = set[str](), set[str]()
    for file in files:
        for name in _sessions(file):
            (several if name in seen else seen).add(name)
    return several


def _sessions(file: Path) -> Iterator[str]:
    if file.suffix.lower() == PARQUET and not is_forest(file):
        yield from (each for each in tables.column(file, SESSION) if isinstance(each, str))
        return
    for row in flat(complete_rows(str(file))):
        if SESSION.encode() in row.data:
            try:
                session_id = _SESSION_DECODER.decode(row.data).session_id
            except (msgspec.MsgspecError, ValueError, RecursionError):
                continue  # not an object, or only valid for another parser: such records are searched one by one
            if isinstance(session_id, str):
                yield session_id


def _values(file: Path) -> Iterator[Any]:
    if file.suffix.lower() == PARQUET and not is_forest(file):
        yield from (row.value for row in tables.rows(file))
        return
    for row in flat(complete_rows(str(file))):
        if SESSION.encode() in row.data:
            try:
                yield parse(row.data)
            except NotARecordError:
                continue
