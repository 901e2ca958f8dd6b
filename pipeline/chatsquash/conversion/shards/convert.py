"""One shard of a conversion: its logs in, a part and a marker out, wherever and as often as it runs."""

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
    """What a shard gave, for people."""

    shard: Shard
    marker: Marker
    size: int
    """Bytes of its logs."""
    seconds: float
    is_known: bool
    """Whether it was converted before, so that nothing was done."""

    def overview(self) -> Overview:
        """One line, and what to do next; merging the shards prints the counts of all."""
        made = pluralize(self.marker.records_made["count"], "record")
        sessions = pluralize(self.marker.counts["sessions"]["seen"], "session")
        if self.is_known:
            parts = (f"shard {self.shard}: converted before ({made});", "--full converts it again")
        else:
            parts = (f"shard {self.shard}: {made} of {sessions},", throughput(self.size, self.seconds))
        return Overview((Headline(parts),), next_step=next_step(self.marker.counts))

    def as_json(self) -> dict[str, object]:
        """The same as JSON values."""
        members = {"shard": str(self.shard), "known": self.is_known, "seconds": round(self.seconds, 3)}
        return {**members, **self.marker.counts, "records_made": self.marker.records_made}


def convert_shard(
    out: Path | str, shard: Shard, requested: Options, observer: Observer | None = None, processes: int | None = None
) -> ShardReport:
    """Convert the logs of a shard that a listing below an output folder gives it.

    Of the options only ``workers``, ``full`` and ``anonymize_key`` are looked at; the listing has the others.
    ``processes`` is how many convert beside this one, which then outlives them; else as many as are worth it.  Raises
    ``UsageError`` where there is no such listing or shard, or no key though addresses are replaced, and as ``convert``.
    """
    started = time.monotonic()
    forget_documents()
    with closing(place_in(out)) as place:
        listing = listings.read(place)
        options, expected = _request(listing, shard, requested)
        try:
            if not options.full and (known := markers.read_any(place, shard)) and _fits(place, known, expected):
                return ShardReport(shard, known, 0, 0.0, is_known=True)
            with listing.place():
                logs = _logs(place, listing, shard, options)
                marker, size = _ShardConversion(place, options, processes).convert(logs, expected, observer)
            marker = markers.write(
                place, shard, marker, lambda there: not options.full and _fits(place, there, expected)
            )
        except IsADirectoryError as problem:
            name = place.display_path(str(problem.filename or shard.marker))
            raise UsageError(f"{name}: is a folder; remove it, and run the same command again") from None
        except OSError as problem:
            if _is_over(place, listing):
                hint = "nothing of it is kept, and nothing is left to do where it was merged"
                raise UsageError(f"shard {shard}: its listing was merged or regenerated meanwhile; {hint}") from None
            problem.filename = problem.filename or place.display_path("")
            problem.add_note(f"nothing of shard {shard} is kept, and the same command converts it")
            raise
        return ShardReport(shard, marker, size, time.monotonic() - started, is_known=False)


def _is_over(place: Place, listing: Listing) -> bool:
    """Whether a listing is not there any more."""
    try:
        return listings.read(place).digest != listing.digest
    except UsageError:
        return True


def _request(listing: Listing, shard: Shard, requested: Options) -> tuple[Options, Marker]:
    """The options of a shard, and its marker as far as that is known before."""
    if shard.count != listing.shards:
        raise UsageError(f"--shard {shard}: the listing is of {pluralize(listing.shards, 'shard')}")
    chosen = listing.options_of_run()
    key = requested.anonymize_key if chosen.has_key else None
    if chosen.has_key and key is None:
        hint = "name the one key that all shards have with --anonymize-key-file"
        raise UsageError(f"--shard {shard}: e-mail addresses are replaced, so it needs a key; {hint}")
    own = fingerprint(key) if key else None
    if listing.key_fingerprint not in (None, own):
        raise UsageError(
            f"--shard {shard}: the key is not that of the listing, {listing.key_fingerprint}; name that one"
        )
    options = replace(chosen, anonymize_key=key, workers=requested.workers, full=requested.full)
    return options, markers.expectation(listing, shard, own)


def _fits(place: Place, marker: Marker, expected: Marker) -> bool:
    """Whether a shard was converted so, of all of its logs, and all that it gave is there."""
    return marker.other(expected) is None and not marker.unreadable and markers.is_complete(place, marker)


class _Logs:
    """The logs of a shard, and which job each of them is."""

    def __init__(self, logs: Sequence[Log], jobs: array[int]) -> None:
        self.logs, self.jobs = logs, jobs
        self.size = logs.size if isinstance(logs, Logs) else sum(log.size for log in logs)


def _logs(place: Place, listing: Listing, shard: Shard, options: Options) -> _Logs:
    """The logs of a shard, sessions that stand in several files as such."""
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
    for row in rows:
        jobs.append(row.number)
        yield row


class _Copies:
    """Expanded copies of compressed logs, of which sessions have some lines only."""

    def __init__(self, options: Options, work: Folder) -> None:
        self._options, self._work = options, work
        self._paths: dict[str, str] = {}

    def session(self, log: Log) -> Log:
        """A session whose lines can be read one by one."""
        if log.spans is None:
            return log
        pieces = tuple(structs.replace(each, path=self._path(each.path, log)) for each in log.pieces)
        return structs.replace(log, path=self._path(log.path, log), pieces=pieces)

    def _path(self, path: str, log: Log) -> str:
        if path not in self._paths:
            try:
                with open_file(path, self._options) as file:
                    is_compressed = isinstance(file, ExpandedFile)
                whole = structs.replace(log, path=path)
                self._paths[path] = expanded_copy(whole, self._options, self._work) if is_compressed else path
            except OSError:  # converting it will say what is wrong
                self._paths[path] = path
        return self._paths[path]


class _ShardConversion:
    """Converts logs and writes what they gave, in order."""

    def __init__(self, place: Place, options: Options, processes: int | None) -> None:
        self._place, self._options, self._processes = place, options, processes
        self._names = Privacy(options)

    def convert(self, inputs: _Logs, expected: Marker, observer: Observer | None) -> tuple[Marker, int]:
        """The marker of a shard with these logs, and their bytes."""
        summary, made = summary_of(self._options), RecordsMade()
        writer = PartWriter(self._place)
        try:
            for log, outcome in self._outcomes(inputs):
                stop_for(outcome, log.display_path, self._options)
                outcome = self._write(writer, inputs.jobs[log.number], log, outcome)  # noqa: PLW2901
                summary.add(log, outcome)
                made.add(outcome.records)
                if observer:
                    observer(log, outcome, inputs.size)
            part, rejected = writer.close()
        finally:
            writer.discard()
        summary.close()
        unreadable = summary.left_out["unreadable-log"]
        if unreadable and unreadable == summary.sessions and not self._options.full:
            hint = (
                "see whether this machine has them and may read them; where they are gone, --full goes on without them"
            )
            raise ChatsquashError(
                f"shard {expected.shard}: none of its logs can be read, such as {log.display_path}; {hint}"
            )
        marker = structs.replace(
            expected,
            part=part,
            rejected=rejected,
            records_made=made.as_json(),
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
        """Write an outcome; it has one finding more where lines are to be kept that are gone."""
        if not (self._options.keep_rejected and outcome.report.rejected):
            writer.add(job, log, outcome, iter(()))
            return outcome
        try:
            writer.add(job, log, outcome, rejected_lines(log, outcome, self._options, self._names))
        except FileNotFoundError:
            outcome = vanish(log, outcome)
            writer.add(job, log, outcome, iter(()))
        return outcome
