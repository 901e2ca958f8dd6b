"""Datasets that exist, written once more with placeholders in the place of what is private in them."""

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
from chatsquash.dataset.reports.redactions import REDACTIONS
from chatsquash.dataset.shards import packer_of
from chatsquash.records.datasets import PARQUET, rows_whole, session
from chatsquash.records.line import NotARecordError
from chatsquash.records.reading import parse
from chatsquash.redaction import lists
from chatsquash.redaction.hits import Hit
from chatsquash.redaction.lists import hash_list
from chatsquash.redaction.placeholders import Placeholders
from chatsquash.redaction.privacy import Privacy
from chatsquash.redaction.redactor import Redactor, UnsearchedError
from chatsquash.redaction.texts import Texts
from chatsquash.results.redact import tables
from chatsquash.results.redact.places import FilePlacement, Places, places, refuse_taken, rename
from chatsquash.results.redact.record import RedactedRecord, RedactionSummary, hides, redact_record
from chatsquash.results.redact.tables import Cells, ParquetTable, Row
from chatsquash.session.session import finding
from chatsquash.storage.staging import StagedFiles, write_elsewhere


class Watch(NamedTuple):
    """What is told of a run while it goes on."""

    say: Callable[[Finding], None]
    """Told what is wrong with records."""
    observe: Callable[[int, int], None] | None = None
    """Told the bytes of each file that is done, and those of all."""


def redact(
    inputs: Iterable[str], output: str, options: Options, watch: Watch, *, force: bool = False
) -> RedactionSummary:
    """Write datasets to a folder, or one to a file, without what the options name.

    All files appear at the end, or none.  Raises ``UsageError`` for what cannot be read or written.
    """
    if not (options.replaces or options.anonymize):
        raise UsageError("nothing is to be replaced: say what, as in --redact secrets,emails")
    privacy = Privacy(options)
    where = places(list(inputs), output, privacy.text)
    for each in where.files:
        if each.source.suffix.lower() != PARQUET:
            packer_of(Path(each.name))
    if options.write_known:
        _refuse_dataset(Path(options.write_known), where)
    with _stage(where, force=force) as staged:
        run = _Run(privacy, options, where, watch)
        run.write(staged)
        put = run.settled(staged)
        if not force:
            refuse_taken(where.folder, put)
        if options.write_known:
            _write_known(staged, options.write_known, hash_list(run.done.hashes))
        staged.put(put)
    return run.done


def _refuse_dataset(known: Path, where: Places) -> None:
    """Refuse hashes in the place of a dataset that is read or written."""
    for each in where.files:
        for dataset in (each.source, where.folder / each.name):
            if known.exists() and dataset.exists() and known.samefile(dataset):
                raise UsageError(f"--write-known {known}: is a dataset; name another file")


def _write_known(staged: StagedFiles, path: str, data: bytes) -> None:
    try:
        write_elsewhere(staged.staging, Path(path).absolute(), data)
    except OSError as problem:
        raise UsageError(f"{path}: cannot be written ({problem.strerror})") from None


@contextmanager
def _stage(where: Places, *, force: bool) -> Iterator[StagedFiles]:
    """The folder beside the output; what is not put in its place goes."""
    staged = StagedFiles(where.folder, force=force)
    try:
        staged.begin()
        if not force:
            reports = [] if where.is_file else [REDACTIONS]
            refuse_taken(where.folder, [*(each.name for each in where.files), *reports])
        yield staged
    except OSError as problem:
        raise UsageError(f"{where.folder}: cannot be written ({problem.strerror})") from None
    finally:
        with platform.uninterrupted():
            staged.discard()


class _Run:
    """Writes the files of a run, one after the other."""

    def __init__(self, privacy: Privacy, options: Options, where: Places, watch: Watch) -> None:
        self._privacy, self._where, self._watch = privacy, where, watch
        self._hide = privacy.text
        self._shown = cache(self._session_and_path)
        shown = str(where.folder / where.files[0].name) if where.is_file else str(where.folder)
        self.done = RedactionSummary(shown, "secrets" in options.redacts, files=len(where.files), others=where.others)
        sources = [each.source for each in where.files]
        self._known = SessionValues(privacy.redactor, privacy.placeholders, sources) if privacy.redactor else None

    def write(self, staged: StagedFiles) -> None:
        """Write all files."""
        sizes = [each.source.stat().st_size for each in self._where.files]
        for each, size in zip(self._where.files, sizes, strict=True):
            with os.fdopen(staged.staging.create(each.name), "wb") as file:
                self._file(each, file, staged.staging.path)
                file.flush()
                platform.sync(file.fileno())
            if self._watch.observe:
                self._watch.observe(size, sum(sizes))

    def settled(self, staged: StagedFiles) -> list[str]:
        """The names of all files; those that hold what was found in records are changed once more."""
        also = self._privacy.value_finder(self.done.values)

        def hide(text: str) -> str:
            return self._hide(text, also)

        if self._where.is_file:
            return [each.name for each in self._where.files]
        files = rename(self._where.files, hide)
        for before, after in zip(self._where.files, files, strict=True):
            if before.name != after.name:
                staged.staging.move(before.name, staged.staging, after.name)
        with os.fdopen(staged.staging.create(REDACTIONS), "wb") as file:
            file.write(self.done.report(hide))
        return [*(each.name for each in files), REDACTIONS]

    def _file(self, placed: FilePlacement, file: BinaryIO, beside: Path) -> None:
        if placed.source.suffix.lower() == PARQUET:
            table = ParquetTable(placed.source, self._hide)
            table.write(file, beside, lambda row: self._row(placed.source, table, row))
            return
        packer = packer_of(Path(placed.name))
        for row in rows_whole(str(placed.source)):
            line = self._line(row.file, row.number, row.data.removeprefix(BOM_UTF8))
            file.write(packer.compress(line + b"\n") if line is not None else b"")
        file.write(packer.flush())

    def _line(self, source: Path, number: int, data: bytes) -> bytes | None:
        """A line without what is private; ``None`` for one that cannot be searched."""
        try:
            value = parse(data)
        except NotARecordError as problem:
            self._leave_out(source, number, stored_records.unsearched_line(str(problem)))
            return None
        is_hiding = hides(data, value)
        done = self._replace(source, number, value)
        if done is None:
            return None
        self._take(source, number, done)
        if not (done.is_changed or is_hiding):
            return data
        line, rounded = jsonio.encode(done.value)
        if rounded:
            self._tell(source, number, reading.number_changed(rounded, len(rounded)))
        return line

    def _row(self, source: Path, table: ParquetTable, row: Row) -> Cells | None:
        """The cells of a row without what is private; ``None`` for one that cannot be searched or held."""
        done = self._replace(source, row.number, row.value)
        if done is None:
            return None
        cells = row.cells
        if done.is_changed or not row.is_same:
            changed = table.cells(row, done.value)
            if changed is None:
                self._leave_out(
                    source, row.number, private.redaction_failed("a column has no place for what replaces", "record")
                )
                return None
            cells = changed
        self._take(source, row.number, done)
        return cells

    def _replace(self, source: Path, number: int, value: Any) -> RedactedRecord | None:
        try:
            return redact_record(self._privacy, value, self._known.of(value) if self._known else None)
        except UnsearchedError as problem:
            self._leave_out(source, number, private.redaction_failed(str(problem), "record"))
            return None

    def _take(self, source: Path, number: int, done: RedactedRecord) -> None:
        self.done.take(done, self._privacy.placeholders, f"{self._shown(source)[1]}:{number}")
        if done.unflagged:
            self._tell(source, number, private.placeholder_in_reply(len(done.unflagged), done.unflagged[0], ""))

    def _session_and_path(self, source: Path) -> tuple[str, str]:
        """What stands for a session in findings on a file, and its path."""
        return self._hide(session(source)), self._hide(printable(str(source)))

    def _leave_out(self, source: Path, number: int, why: Violation) -> None:
        self.done.left_out += 1
        self._tell(source, number, why)

    def _tell(self, source: Path, number: int, fact: Violation) -> None:
        self._watch.say(finding(fact, *self._shown(source), number))


SESSION = "session_id"
"""The column that names a record's session, as ``--metadata`` writes it."""


class _SessionName(msgspec.Struct):
    session_id: Any = None


_named = msgspec.json.Decoder(_SessionName)


class SessionValues:
    """What is found in the records of sessions that have several."""

    def __init__(self, redactor: Redactor, placeholders: Placeholders, files: Iterable[Path]) -> None:
        self._redactor, self._placeholders = redactor, placeholders
        self._hits: dict[str, set[Hit]] = {}
        self._last: tuple[str, Redactor | None] | None = None
        files = list(files)
        if several := _several(files):
            for file in files:
                for value in _values(file):
                    if isinstance(value, dict) and isinstance(name := value.get(SESSION), str) and name in several:
                        self._note(name, value)

    def _note(self, name: str, value: dict[str, Any]) -> None:
        try:
            hits = self._redactor.hits(Texts([value]).joined)
        except UnsearchedError:
            return  # the record is left out when its turn comes
        if hits:
            self._hits.setdefault(name, set()).update(hit._replace(start=0, end=0) for hit in hits)

    def of(self, value: Any) -> Redactor | None:
        """Replaces what is known of the session of a record; ``None`` where that is nothing."""
        name = value.get(SESSION) if isinstance(value, dict) else None
        if not isinstance(name, str) or name not in self._hits:
            return None
        if self._last is None or self._last[0] != name:
            finder = self._redactor.find_everywhere(sorted(self._hits[name]))
            self._last = name, Redactor([finder], self._placeholders, known=lists.values) if finder else None
        return self._last[1]


def _several(files: Iterable[Path]) -> set[str]:
    """The sessions that several records name."""
    seen, several = set[str](), set[str]()
    for file in files:
        for name in _sessions(file):
            (several if name in seen else seen).add(name)
    return several


def _sessions(file: Path) -> Iterator[str]:
    if file.suffix.lower() == PARQUET:
        yield from (each for each in tables.column(file, SESSION) if isinstance(each, str))
        return
    for row in rows_whole(str(file)):
        if SESSION.encode() in row.data:
            try:
                named = _named.decode(row.data).session_id
            except (msgspec.MsgspecError, ValueError, RecursionError):
                continue  # no object, or one that another parser reads: its records are looked through one by one
            if isinstance(named, str):
                yield named


def _values(file: Path) -> Iterator[Any]:
    if file.suffix.lower() == PARQUET:
        yield from (row.value for row in tables.rows(file))
        return
    for row in rows_whole(str(file)):
        if SESSION.encode() in row.data:
            try:
                yield parse(row.data)
            except NotARecordError:
                continue
