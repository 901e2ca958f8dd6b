"""Merges converted shards into one dataset, which equals that of a single run."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from xxhash import xxh3_64, xxh3_128_digest, xxh3_128_hexdigest

from chatsquash.conversion import frames
from chatsquash.conversion.convert import Conversion, old_result, refuse_misplaced, refusing
from chatsquash.conversion.progress import Observer
from chatsquash.conversion.shards import listing as listings
from chatsquash.conversion.shards import marker as markers
from chatsquash.conversion.shards import place_in
from chatsquash.conversion.shards.listing import Listing
from chatsquash.conversion.shards.marker import Marker
from chatsquash.conversion.shards.parts import DAMAGE_HINT, PartReader, RejectedPlace
from chatsquash.conversion.shards.place import ORDER, Place, Shard, command_argument
from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import LinePlace, Outcome
from chatsquash.core.platform import name_full_folder
from chatsquash.core.text import pluralize
from chatsquash.dataset import output_in
from chatsquash.dataset.manifest import RecordsMade, describe
from chatsquash.dataset.store import Output
from chatsquash.dataset.summary import Summary, summary_of
from chatsquash.redaction.pseudonyms import fingerprint
from chatsquash.sources.logs import Logs

_PIECE = 1 << 20
_NO_KEY = "--anonymize-key-file has no effect: these shards were converted without a key"
_MAX_RUNS = 20
"""Maximum number of ranges of missing shards in an error message."""


class _Key(NamedTuple):
    """A key, and whether it was passed explicitly for the shards."""

    key: bytes | None
    is_named: bool

    def matching(self, key_fingerprint: str | None) -> bytes | None:
        """Return the key if it is that of the shards; raise ``UsageError`` if another key was passed explicitly."""
        if self.key is None or fingerprint(self.key) == key_fingerprint:
            return self.key
        if self.is_named:
            if key_fingerprint is None:
                raise UsageError(_NO_KEY)
            hint = "pass that key with --anonymize-key-file"
            raise UsageError(f"the key does not match the shards' key, {key_fingerprint}; {hint}")
        return None


def merge(
    out: Path | str,
    observer: Observer | None = None,
    started: float | None = None,
    key: bytes | None = None,
    *,
    is_named: bool = True,
) -> Summary:
    """Write the dataset of all shards into their output folder, and remove the shards.

    Args:
        out: The output folder, or its URL in a store.
        observer: Called after each session.
        started: The start of the conversion, as a time of the monotonic clock; by default now.
        key: The key of the shards. It is required if an option, or the path of an unreadable log, contains a value
            that must be replaced.
        is_named: Whether a key that is not that of the shards is an error; otherwise it is ignored.

    Raises:
        UsageError: Shards are missing, damaged, or differ in listing, version, code or key; or as
            ``chatsquash.convert``.
        OSError: As ``chatsquash.convert``.
    """
    started = time.monotonic() if started is None else started
    with closing(place_in(out)) as place:
        return _merge(place, out, observer, started, _Key(key, is_named))


def _merge(place: Place, out: Path | str, observer: Observer | None, started: float, key: _Key) -> Summary:
    listing = listings.read(place)
    options = listing.options_of_run()
    output = output_in(out, force=options.force)
    try:
        shard_markers = _markers(place, listing)
        options = replace(options, anonymize_key=key.matching(shard_markers[0].key_fingerprint))
        summary = summary_of(options)
        refuse_misplaced(options, output, listing.discovery())
        old = None if options.replace else old_result(output)
        if old and not _is_known(output, listing, shard_markers):
            hint = "regenerate the listing, with --replace if the result may be replaced"
            raise UsageError(f"{place.out}: the result in this folder is newer than the listing; {hint}")
        options_json = {**describe(options), "anonymize_key_fingerprint": shard_markers[0].key_fingerprint}
        run = Conversion(options, output, observer, summary, options_json)
        run.receipts = b"" if options.replace else output.receipts()
        run.all(refusing(Merging(place, listing, shard_markers, options), run.receipts))
        if old:
            old.refuse_nothing(summary)
        run.close(listing.discovery(), started)
        run.write_named()
        output.commit()
        # Only after the commit: a merge that is killed before this line can be repeated.
        place.clear()
        output.clear(output.journal)
    except OSError as problem:
        name_full_folder(problem, output.path)
        raise
    finally:
        output.discard()
    return summary


def _is_known(output: Output, listing: Listing, shard_markers: list[Marker]) -> bool:
    """Return whether the result in an output existed when the listing was written, or was merged from these shards."""
    if (result := output.result()) is None or xxh3_128_hexdigest(result[0]) == listing.result:
        return True
    # A merge that was killed after its commit leaves the shards in place.
    records_made = RecordsMade()
    for marker in shard_markers:
        records_made.add_counts(marker.records_made)
    run = jsonio.value(result[0])
    return isinstance(run, dict) and run.get("records_made") == records_made.as_json()


def _markers(place: Place, listing: Listing) -> list[Marker]:
    """Read the markers of all shards; raise ``UsageError`` if one is missing, or if they do not match."""
    shards = [Shard(number + 1, listing.shards) for number in range(listing.shards)]
    pairs = [(shard, markers.read(place, shard)) for shard in shards]
    missing = [shard.number for shard, marker in pairs if marker is None]
    if missing:
        command = f"chatsquash convert --shard K/{listing.shards} -o {command_argument(place.out)}{listing.key_option}"
        hint = f"convert each with: {command}"
        raise UsageError(
            f"{len(missing)} of {pluralize(listing.shards, 'shard')} not converted: {_runs(missing)}; {hint}"
        )
    known = [marker for _, marker in pairs if marker]
    first = next((each for each in known if each.listing == listing.digest), None)
    for marker in known:
        if first is None or marker.listing != listing.digest:
            raise UsageError(f"shard {marker.shard}: converted from another listing; convert it again")
        if difference := first.first_difference(marker):
            hint = f"convert one of them again with --full, so that {difference} is the same"
            raise UsageError(f"shards {first.shard} and {marker.shard} differ in {difference}; {hint}")
        if not markers.is_complete(place, marker):
            raise UsageError(f"shard {marker.shard}: the output is missing or truncated; convert it again with --full")
    return known


def _runs(numbers: list[int]) -> str:
    """Format sorted numbers as ranges, such as ``1, 3-5``."""
    runs = list[str]()
    for _, run in groupby(enumerate(numbers), lambda each: each[1] - each[0]):
        members = [number for _, number in run]
        runs.append(str(members[0]) if len(members) == 1 else f"{members[0]}-{members[-1]}")
    return ", ".join([*runs[:_MAX_RUNS], *(["..."] if len(runs) > _MAX_RUNS else [])])


class Merging:
    """Reads the outcomes of all shards in the order of the logs, see ``SessionInputs``."""

    def __init__(self, place: Place, listing: Listing, shard_markers: list[Marker], options: Options) -> None:
        self.logs, self.size = Logs(), listing.size
        self._place, self._listing = place, listing
        self._readers = [PartReader(place, shard, each.part) for shard, each in enumerate(shard_markers)]
        self._rejected_files = [each.rejected.name if each.rejected else "" for each in shard_markers]
        self._needs_lines = options.inspects_lines or not place.can_copy
        self._needs_lines_ahead = options.max_chars is not None
        """Whether filters need the lines before the first session is written."""
        self._last_path = ""
        self._last_filled: tuple[Outcome, Outcome] | None = None
        """The last outcome that was filled, without and with its lines."""
        self._rejected: tuple[str, list[RejectedPlace]] = "", []
        """The file of the malformed lines of the last session, and their places."""

    def ahead(self) -> Iterator[tuple[Log, Outcome]]:
        """See ``SessionInputs``."""
        for log, outcome, _, _ in self._read_parts():
            yield log, self.fill(outcome) if self._needs_lines_ahead else outcome

    def sessions(self) -> Iterator[tuple[Log, Outcome]]:
        """See ``SessionInputs``. Raises ``UsageError`` if a part is damaged."""
        for log, outcome, shard, rejected in self._read_parts():
            if log.display_path != self._last_path:
                self._last_path = log.display_path
                self.logs.append(log)
            self._rejected = self._rejected_files[shard], rejected
            with_lines = self.fill(outcome)  # in any case, since this checks the hashes
            yield log, with_lines if self._needs_lines else outcome  # without them, lines are copied between files

    def _read_parts(self) -> Iterator[tuple[Log, Outcome, int, list[RejectedPlace]]]:
        """Yield the sessions in the order of the logs, with their shards and the places of malformed lines."""
        readers = [reader.restart() for reader in self._readers]
        for job, shard in enumerate(listings.order(self._place, self._listing)):
            if shard >= len(readers):
                raise listings.damage_error(self._place, ORDER)
            for log, outcome, rejected in readers[shard].session(job):
                yield log, outcome, shard, rejected
        for reader in readers:
            reader.end()

    def acknowledge(self, log: Log, outcome: Outcome) -> None:
        """See ``SessionInputs``; does nothing."""

    def inputs(self) -> Iterator[tuple[Log, str]]:
        """See ``SessionInputs``."""
        for path, size, digest in listings.inputs(self._place, self._listing):
            yield Log(path, path, path, size), digest

    def fill(self, outcome: Outcome) -> Outcome:
        """See ``SessionInputs``."""
        if self._last_filled and any(outcome is each for each in self._last_filled):
            return self._last_filled[1]
        with_lines = frames.fill(outcome, self._line)
        for before, record in zip(outcome.records, with_lines.records, strict=True):
            if xxh3_128_digest(record.line) != record.digest:
                shard = int(before.line_place.journal) + 1 if before.line_place else 0
                raise UsageError(
                    f"shard {shard}: {self._place.display_path(self._readers[shard - 1].part.name)}: {DAMAGE_HINT}"
                )
        self._last_filled = outcome, with_lines
        return with_lines

    def descriptor(self, place: LinePlace) -> int:
        """See ``SessionInputs``."""
        return self._place.descriptor(self._part(place))

    def rejected(self, log: Log, outcome: Outcome) -> Iterator[Iterable[bytes]]:
        """See ``SessionInputs``; the session must be the one that was yielded last."""
        del log, outcome
        name, places = self._rejected
        return (self._pieces(name, each) for each in places)

    def _pieces(self, name: str, rejected: RejectedPlace) -> Iterator[bytes]:
        """Yield a malformed line in pieces; raise ``UsageError`` at the end if its hash differs."""
        offset, remaining, digest = rejected.offset, rejected.size, xxh3_64()
        while remaining and (piece := self._place.read_at(name, min(remaining, _PIECE), offset)):
            offset, remaining = offset + len(piece), remaining - len(piece)
            digest.update(piece)
            yield piece
        if digest.digest() != rejected.digest:
            raise UsageError(f"{self._place.display_path(name)}: {DAMAGE_HINT}")

    def _part(self, place: LinePlace) -> str:
        return self._readers[int(place.journal)].part.name

    def _line(self, place: LinePlace) -> bytes:
        return self._place.read_at(self._part(place), place.size, place.offset)
