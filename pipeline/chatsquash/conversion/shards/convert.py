"""Converts one shard: reads its logs, and writes a part and a marker.

A shard can be converted on any machine, repeatedly, and by several processes at the same time.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from chatsquash.conversion.convert import vanish
from chatsquash.conversion.inputs import forget_documents
from chatsquash.conversion.progress import Observer
from chatsquash.conversion.shards import listing as listings
from chatsquash.conversion.shards import marker as markers
from chatsquash.conversion.shards import place_in
from chatsquash.conversion.shards.listing import Job, Listing
from chatsquash.conversion.shards.marker import Marker
from chatsquash.conversion.shards.parts import PartWriter
from chatsquash.conversion.shards.place import Place, Shard
from chatsquash.conversion.workers import outcomes
from chatsquash.core.errors import ChatsquashError, UsageError
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome
from chatsquash.core.overview import Headline, Overview
from chatsquash.core.text import pluralize, throughput
from chatsquash.dataset.attention import next_step
from chatsquash.dataset.choice import stop_for
from chatsquash.dataset.manifest import RecordsMade
from chatsquash.dataset.summary import summary_of
from chatsquash.reading.sessions import expanded_copy, remove_finished
from chatsquash.redaction.privacy import Privacy
from chatsquash.redaction.pseudonyms import fingerprint
from chatsquash.session.private_texts import rejected_lines
from chatsquash.sources.compression import ExpandedFile
from chatsquash.sources.logs import Logs
from chatsquash.sources.open import open_file
from chatsquash.storage.folder import Folder


@dataclass(frozen=True)
class ShardReport:
    """The result of converting a shard."""

    shard: Shard
    marker: Marker
    size: int
    """Bytes of its logs; 0 if it was converted before."""
    seconds: float
    is_known: bool
    """Whether it was already converted, and is skipped."""

    def overview(self) -> Overview:
        """Return one line and the next step; the counts of all shards are printed by the merge."""
        records = pluralize(self.marker.records_made["count"], "record")
        sessions = pluralize(self.marker.counts["sessions"]["seen"], "session")
        if self.is_known:
            parts = (f"shard {self.shard}: already converted ({records});", "--full converts it again")
        else:
            parts = (f"shard {self.shard}: {records} of {sessions},", throughput(self.size, self.seconds))
        return Overview((Headline(parts),), next_step=next_step(self.marker.counts))

    def as_json(self) -> dict[str, object]:
        """Return the report as JSON values."""
        members = {"shard": str(self.shard), "known": self.is_known, "seconds": round(self.seconds, 3)}
        return {**members, **self.marker.counts, "records_made": self.marker.records_made}


def convert_shard(
    out: Path | str, shard: Shard, run_options: Options, observer: Observer | None = None, processes: int | None = None
) -> ShardReport:
    """Convert the logs of a shard, as listed under an output folder.

    Args:
        out: The output folder, or its URL in a store.
        shard: The shard to convert.
        run_options: Only ``workers``, ``full`` and ``anonymize_key`` are used; the other options are in the listing.
        observer: Called after each session.
        processes: Number of worker processes, which may die without ending this one; by default as many as are
            worthwhile.

    Raises:
        UsageError: The listing or shard does not exist, or the key is missing or not that of the listing.
        ChatsquashError: None of the logs can be read, or as ``chatsquash.convert``.
        OSError: As ``chatsquash.convert``.
    """
    started = time.monotonic()
    forget_documents()
    with closing(place_in(out)) as place:
        listing = listings.read(place)
        options, expected = _request(listing, shard, run_options)
        try:
            if not options.full and (existing := markers.read_any(place, shard)) and _fits(place, existing, expected):
                return ShardReport(shard, existing, 0, 0.0, is_known=True)
            with listing.place():
                logs = _logs(place, listing, shard, options)
                marker, size = _ShardConversion(place, options, processes).convert(logs, expected, observer)
            marker = markers.write(
                place, shard, marker, lambda existing: not options.full and _fits(place, existing, expected)
            )
        except IsADirectoryError as problem:
            name = place.display_path(str(problem.filename or shard.marker))
            raise UsageError(f"{name}: folder instead of a file; remove it and run the same command again") from None
        except OSError as problem:
            if _is_obsolete(place, listing):
                hint = "the result of this shard was discarded; after a merge, nothing remains to be done"
                raise UsageError(
                    f"shard {shard}: the listing was merged or regenerated in the meantime; {hint}"
                ) from None
            problem.filename = problem.filename or place.display_path("")
            problem.add_note(f"shard {shard} was not saved; run the same command again")
            raise
        return ShardReport(shard, marker, size, time.monotonic() - started, is_known=False)


def _is_obsolete(place: Place, listing: Listing) -> bool:
    """Return whether a listing was removed or replaced."""
    try:
        return listings.read(place).digest != listing.digest
    except UsageError:
        return True


def _request(listing: Listing, shard: Shard, run_options: Options) -> tuple[Options, Marker]:
    """Return the options of a shard, and its expected marker without results."""
    if shard.count != listing.shards:
        raise UsageError(f"--shard {shard}: the listing has {pluralize(listing.shards, 'shard')}")
    listing_options = listing.options_of_run()
    key = run_options.anonymize_key if listing_options.has_key else None
    if listing_options.has_key and key is None:
        hint = "pass the same key to all shards with --anonymize-key-file"
        raise UsageError(f"--shard {shard}: replacing e-mail addresses requires a key; {hint}")
    key_fingerprint = fingerprint(key) if key else None
    if listing.key_fingerprint not in (None, key_fingerprint):
        hint = "pass that key with --anonymize-key-file"
        raise UsageError(
            f"--shard {shard}: the key does not match the listing's key, {listing.key_fingerprint}; {hint}"
        )
    options = replace(listing_options, anonymize_key=key, workers=run_options.workers, full=run_options.full)
    return options, markers.expectation(listing, shard, key_fingerprint)


def _fits(place: Place, marker: Marker, expected: Marker) -> bool:
    """Return whether a shard was converted as expected, all of its logs could be read, and its files are complete."""
    return marker.first_difference(expected) is None and not marker.unreadable and markers.is_complete(place, marker)


class _Logs:
    """The logs of a shard, with the number of the job of each."""

    def __init__(self, logs: Sequence[Log], jobs: array[int]) -> None:
        self.logs, self.jobs = logs, jobs
        self.size = logs.size if isinstance(logs, Logs) else sum(log.size for log in logs)


def _logs(place: Place, listing: Listing, shard: Shard, options: Options) -> _Logs:
    """Return the logs of a shard; with ``--sessions-by chain``, its sessions, which may span several files."""
    jobs = array("Q")
    rows = listings.jobs(place, listing, shard)
    if options.sessions_by == "chain":
        copies = _Copies(options, place.work)
        sessions = [copies.session(row.log(number)) for number, row in enumerate(_note_jobs(rows, jobs))]
        return _Logs(sessions, jobs)
    logs = Logs()
    for row in _note_jobs(rows, jobs):
        logs.append(row.log(0))
    return _Logs(logs, jobs)


def _note_jobs(rows: Iterator[Job], jobs: array[int]) -> Iterator[Job]:
    """Yield the jobs, and append their numbers to a list."""
    for row in rows:
        jobs.append(row.number)
        yield row


class _Copies:
    """Expanded copies of compressed logs, since single lines cannot be read from compressed ones."""

    def __init__(self, options: Options, work: Folder) -> None:
        self._options, self._work = options, work
        self._paths: dict[str, str] = {}

    def session(self, log: Log) -> Log:
        """Return a session with paths of files in which single lines can be read."""
        if log.spans is None:
            return log
        pieces = tuple(structs.replace(each, path=self._path(each.path, log)) for each in log.pieces)
        return structs.replace(log, path=self._path(log.path, log), pieces=pieces)

    def _path(self, path: str, log: Log) -> str:
        if path not in self._paths:
            try:
                with open_file(path, self._options) as file:
                    is_compressed = isinstance(file, ExpandedFile)
                container = structs.replace(log, path=path)
                self._paths[path] = expanded_copy(container, self._options, self._work) if is_compressed else path
            except OSError:  # the conversion will report the reason
                self._paths[path] = path
        return self._paths[path]


class _ShardConversion:
    """Converts logs, and writes their outcomes in order."""

    def __init__(self, place: Place, options: Options, processes: int | None) -> None:
        self._place, self._options, self._processes = place, options, processes
        self._names = Privacy(options)

    def convert(self, inputs: _Logs, expected: Marker, observer: Observer | None) -> tuple[Marker, int]:
        """Convert the logs of a shard; return its marker, and the bytes of the logs."""
        summary, records_made = summary_of(self._options), RecordsMade()
        writer = PartWriter(self._place)
        try:
            for log, outcome in self._outcomes(inputs):
                stop_for(outcome, log.display_path, self._options)
                outcome = self._write(writer, inputs.jobs[log.number], log, outcome)  # noqa: PLW2901
                summary.add(log, outcome)
                records_made.add(outcome.records)
                if observer:
                    observer(log, outcome, inputs.size)
            part, rejected = writer.close()
        finally:
            writer.discard()
        summary.close()
        unreadable = summary.left_out["unreadable-log"]
        if unreadable and unreadable == summary.sessions and not self._options.full:
            # Probably a missing mount. Without a marker, the merge reports the shard as not converted.
            hint = "check that this machine can read them; if they no longer exist, use --full to continue without them"
            raise ChatsquashError(
                f"shard {expected.shard}: none of its logs can be read, for example {log.display_path}; {hint}"
            )
        marker = structs.replace(
            expected,
            part=part,
            rejected=rejected,
            records_made=records_made.as_json(),
            counts=summary.counts(),
            unreadable=unreadable,
            complete=summary.complete,
        )
        return marker, inputs.size

    def _outcomes(self, inputs: _Logs) -> Iterator[tuple[Log, Outcome]]:
        work = self._place.work
        if not inputs.logs:
            return iter(())
        if self._options.sessions_by == "chain":
            return outcomes(inputs.logs, self._options, None, work, inputs.logs, processes=self._processes)
        return remove_finished(outcomes(inputs.logs, self._options, None, work, processes=self._processes), work)

    def _write(self, writer: PartWriter, job: int, log: Log, outcome: Outcome) -> Outcome:
        """Write an outcome; add a finding if its malformed lines must be copied, but the log was removed."""
        if not (self._options.keep_rejected and outcome.report.rejected):
            writer.add(job, log, outcome, iter(()))
            return outcome
        try:
            writer.add(job, log, outcome, rejected_lines(log, outcome, self._options, self._names))
        except FileNotFoundError:
            outcome = vanish(log, outcome)
            writer.add(job, log, outcome, iter(()))
        return outcome
