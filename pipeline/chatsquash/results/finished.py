"""Reads a finished output completely, so that it can be written again together with others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from msgspec import Meta, Struct, structs
from xxhash import xxh3_128_digest

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.labels import LabelRow
from chatsquash.core.model import Finding
from chatsquash.core.options import Options
from chatsquash.core.outcome import Place, Record
from chatsquash.core.version import __version__
from chatsquash.dataset.claim import FORGOTTEN, LABELS
from chatsquash.dataset.columns import IMAGES, additions, record_fields
from chatsquash.dataset.shards import PAIRS
from chatsquash.dataset.stored_sessions import OUTCOMES, StoredLine, StoredSession, decode
from chatsquash.dataset.summary import summary_of
from chatsquash.records import places
from chatsquash.records.datasets import PARQUET
from chatsquash.results import output as outputs
from chatsquash.results.verify import verify
from chatsquash.sources.names import LOGS
from chatsquash.storage import refuse_remote
from chatsquash.storage.commit import RUN
from chatsquash.storage.decoders import PARSER_ERRORS
from chatsquash.storage.folder import Folder

REJECTED_LINES = "reports/rejected-lines.jsonl"
_NO_INPUT: dict[str, Any] = {"size": 0, "xxh3_128": ""}
_SPLIT = re.compile(r"data/(.+)-\d{5}-of-\d{5}\..*")
_SUMMED_COUNTS = (
    *("sessions", "lines", "bytes", "replies", "reasoning", "conversations", "loss", "samples", "models"),
    *("pairs", "cleaned", "addresses", "secrets", "private"),
)
"""The counts of ``run.json`` that are sums over sessions."""
_IMAGE = re.compile(r"images/[0-9A-Za-z_-]+\.[0-9a-z]+")
"""The name of an image file of a dataset folder."""
_Number = Annotated[int, Meta(ge=0)]


class _RecordsMade(Struct):
    count: _Number
    xxh3_128_sum: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]


class _Input(Struct):
    path: str
    size: _Number
    xxh3_128: str


class _Counts(Struct):
    addresses: _Number
    secrets: dict[str, _Number]
    private: dict[str, _Number]
    other_files: dict[str, _Number]
    passed_over: _Number


class _LabelLine(Struct):
    row: _Number
    id: str | None
    weight: float | None
    outcome: str
    repeats: int = 0


class _Run(Struct):
    """The members of ``run.json`` that merging needs."""

    counts: _Counts
    records_made: _RecordsMade
    inputs: list[_Input]


class FinishedResult:
    """A finished output, open for reading until ``close``."""

    def __init__(self, path: str) -> None:
        """Open an output; raise ``UsageError`` if it is not one, or was changed since it was written."""
        refuse_remote(path)
        self.path = path
        if not outputs.is_result(Path(path)):
            raise UsageError(f"{path}: not a result of chatsquash convert; use its output folder")
        if problems := verify(Path(path)).problems:
            raise UsageError(f"{path}: the output was changed since it was written ({problems[0]}); convert again")
        self._folder = Folder(Path(path))
        self._result = outputs.ResultFolder(self._folder)
        self.run: dict[str, Any] = outputs.manifest(outputs.OutputSource(self._folder, Path(path)))
        self.options, self.counts = self._result.options, self._result.counts
        if self._result.version != __version__ or OUTCOMES not in self._result.outputs:
            raise UsageError(f"{path}: the output was written by another version of chatsquash; convert again")
        outputs.convert_value(self._folder, RUN, self.run, _Run)

    @property
    def is_keyed(self) -> bool:
        """Whether anything in the output was replaced with the run's key."""
        replacements = self.counts["addresses"] or self.counts["secrets"]["replaced"] or self.counts["private"]
        return bool(replacements) or any(each.get("path_digest") for each in self.run["inputs"])

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """The inputs of ``run.json``: a session each, or a log each if sessions can span several logs."""
        inputs: list[dict[str, Any]] = self.run["inputs"]
        return inputs

    @property
    def records_made(self) -> dict[str, Any]:
        """The number and the checksum of its records before filters, as in ``run.json``."""
        return dict(self.run["records_made"])

    @property
    def outputs(self) -> dict[str, int]:
        """Its files, with their sizes in bytes."""
        return self._result.outputs

    def close(self) -> None:
        """Close its files."""
        self._folder.close()

    def stored_lines(self) -> Iterator[StoredLine]:
        """Yield the sessions without their contents, in order, and the findings about files."""
        for line in outputs.text_lines(self._folder, OUTCOMES):
            try:
                yield decode(line)
            except PARSER_ERRORS:
                raise outputs.damage(self._folder, OUTCOMES) from None

    def receipts(self) -> bytes:
        """Return the receipts of ``forget``; empty if nothing was forgotten."""
        return self._folder.read(FORGOTTEN) if FORGOTTEN in self._result.outputs else b""

    def sessions(self, options: Options) -> Iterator[StoredSession | Finding]:
        """Yield the sessions with their records, in order, and the findings about files.

        Raises ``UsageError`` if the sums over the sessions differ from ``run.json``.
        """
        summary, logs = summary_of(options), _InputLogs(self.run["inputs"], options)
        with closing(_Contents(self._result, options)) as contents:
            for outcome in self.stored_lines():
                try:
                    each = outcome.session
                    if each is not None:
                        summary.add(each.log.log(0), each.outcome, each.filtered, each.duplicates, each.record_count)
                        each = contents.fill(logs.fill(each))
                except PARSER_ERRORS:
                    raise outputs.damage(self._folder, OUTCOMES) from None
                if outcome.finding:
                    yield outcome.finding
                if each is not None:
                    yield each
        counts = jsonio.loads(jsonio.dumps(summary.counts()))
        for name in _SUMMED_COUNTS:
            if counts[name] != self.counts.get(name):
                raise UsageError(f"{self.path}: the {name} of its sessions do not add up to run.json; convert again")

    def labels(self) -> Iterator[LabelRow]:
        """Yield the rows of ``--loss-labels``, which are the same in all results with the same options."""
        for row in self._result.objects(LABELS, _LabelLine) if LABELS in self._result.outputs else ():
            problem = row.outcome if row.outcome in ("no-verdict", "wrong-type") else ""
            yield LabelRow(row.row, row.id, weight=row.weight, problem=problem, repeats=row.repeats)

    def rejected_lines(self) -> Iterator[bytes]:
        """Yield the copies of malformed lines, in order."""
        if REJECTED_LINES in self._result.outputs:
            yield from (line.removesuffix(b"\n") for line in outputs.text_lines(self._folder, REJECTED_LINES))


class _InputLogs:
    """Adds the sizes and hashes of logs from ``run.json`` to sessions; they must come in order."""

    def __init__(self, inputs: list[dict[str, Any]], options: Options) -> None:
        self._inputs = iter(inputs)
        self._hashes = {}
        if options.sessions_by == "chain":  # here, the inputs in run.json are logs, not sessions
            self._hashes = {each["path"]: each["xxh3_128"] for each in inputs}

    def fill(self, session: StoredSession) -> StoredSession:
        """Return a session with the size and the hash of its log."""
        log, account = session.log, session.outcome.account
        if self._hashes:
            paths = (log.path, *(path for path, *_ in log.pieces))
            size, digest = 0, " ".join(self._hashes.get(path, "") for path in paths)
        else:
            entry = next(self._inputs, _NO_INPUT)
            size, digest = entry["size"], entry["xxh3_128"]
        outcome = structs.replace(session.outcome, account=structs.replace(account, digest=digest))
        return structs.replace(session, log=structs.replace(log, size=size), outcome=outcome)


class _Contents:
    """Adds records, images and pairs to sessions; they must come in order, since the files are read once."""

    def __init__(self, result: outputs.ResultFolder, options: Options) -> None:
        self._folder, self._options = result.folder, options
        self._columns = record_fields(options)
        self._pair_files = sorted(name for name in result.outputs if name.startswith(f"{PAIRS}/"))
        self._rows: dict[str, Iterator[bytes]] = {}
        self._lines = places.LinesInOrder(self._folder)

    def close(self) -> None:
        """Close the files with records."""
        self._lines.close()

    def fill(self, session: StoredSession) -> StoredSession:
        """Return a session with its contents."""
        output = session.outcome.output
        records = [self._record(*each) for each in zip(output.records, session.places, strict=True)]
        pairs = output.pairs
        if records and pairs:
            split = _SPLIT.sub(r"\1", session.places[-1].file)
            pairs = [structs.replace(each, line=self._next(split, self._pairs_of)) for each in pairs]
        output_with_contents = structs.replace(output, records=records, pairs=pairs)
        return structs.replace(session, outcome=structs.replace(session.outcome, output=output_with_contents))

    def _record(self, record: Record, place: Place) -> Record:
        if not all(map(_IMAGE.fullmatch, record.images)):
            raise outputs.damage(self._folder, OUTCOMES)
        is_in_forest = self._options.samples == "forest"
        is_plain = place.file.endswith(LOGS) and not is_in_forest
        line = self._lines.read(place) if is_plain else self._next(place.file, self._records_of)
        images: dict[str, bytes] = {}
        if place.file.endswith(PARQUET) and not is_in_forest:
            if IMAGES in self._columns:
                line, images = self._with_images(line, record, place)
        else:
            line = self._without_additions(line, record)
            images = {name: places.image_file(self._folder, name) for name in record.images}
        if xxh3_128_digest(line) != record.digest:
            raise outputs.damage(self._folder, place.file)
        return structs.replace(record, content=line, images=images)

    def _without_additions(self, line: bytes, record: Record) -> bytes:
        extra = additions(record, self._options)
        return line.removesuffix(b"," + jsonio.dumps(extra)[1:]) + b"}" if extra else line

    def _with_images(self, line: bytes, record: Record, place: Place) -> tuple[bytes, dict[str, bytes]]:
        """Return the line of a Parquet row with the names of its images, and the images."""
        names = {PurePosixPath(name).name: name for name in record.images}
        images = [(names.get(name, name), data) for name, data in places.named_images(self._folder, place)]
        member = jsonio.dumps({IMAGES.name: [name for name, _ in images]})
        return line[:-1] + b"," + member[1:], dict(images)

    def _next(self, name: str, rows_of: Callable[[str], Iterator[bytes]]) -> bytes:
        """Return the next line of a record file, or of the pairs of a split."""
        if name not in self._rows:
            self._rows[name] = rows_of(name)
        line = next(self._rows[name], None)
        if line is None:
            raise outputs.damage(self._folder, name)
        return line

    def _records_of(self, name: str) -> Iterator[bytes]:
        columns = [each for each in self._columns if each != IMAGES]
        has_nulls = name.endswith(PARQUET) and any(each.has_structs for each in columns)
        for row in places.rows(self._folder, name, tuple(each.name for each in columns)):
            yield _without_nulls(row.data) if has_nulls else row.data

    def _pairs_of(self, split: str) -> Iterator[bytes]:
        for name in self._pair_files:
            if name.startswith(f"{PAIRS}/{split}-"):
                yield from (row.data for row in places.rows(self._folder, name, None))


def _without_nulls(row: bytes) -> bytes:
    """Return a row without the null members that Parquet adds to items of a list."""
    members = jsonio.loads(row)
    for name, items in members.items():
        if isinstance(items, list):
            members[name] = [{key: value for key, value in each.items() if value is not None} for each in items]
    return jsonio.dumps(members)
