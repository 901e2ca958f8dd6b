"""Shards to one dataset: the parts in the order of the logs, written as a run on one machine writes them."""

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
from chatsquash.conversion.convert import Conversion, old_result, refuse_misplaced
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
_NO_KEY = "--anonymize-key-file has no effect here: nothing is replaced by these shards"
_NAMED = 20
"""Shards that are missing, in an error."""


class _Key(NamedTuple):
    """A key, and whether it was named for the shards."""

    key: bytes | None
    is_named: bool

    def fitting(self, recorded: str | None) -> bytes | None:
        """The key, if it is that of the shards; raises ``UsageError`` where it is another one and was named."""
        if self.key is None or fingerprint(self.key) == recorded:
            return self.key
        if self.is_named:
            raise UsageError(f"the key is not that of the shards, {recorded}; name that one" if recorded else _NO_KEY)
        return None


def merge(
    out: Path | str,
    observer: Observer | None = None,
    started: float | None = None,
    key: bytes | None = None,
    *,
    is_named: bool = True,
) -> Summary:
    """Write the dataset of all shards into their output folder; what they gave is removed then.

    ``started`` is when the whole conversion began, by the monotonic clock.  ``key`` is that of the shards; it is needed
    where an option, or the path of a log that nobody could read, holds what is to be replaced.  Another key is passed
    over unless ``is_named`` says that it was named for this.  Raises ``UsageError``
    for shards that are missing, differ in what they must have alike, or are damaged, and as ``convert``.
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
        options = replace(options, anonymize_key=key.fitting(shard_markers[0].key_fingerprint))
        summary = summary_of(options)
        refuse_misplaced(options, output, listing.discovery())
        old = None if options.replace else old_result(output)
        if old and not _is_known(output, listing, shard_markers):
            hint = "make the listing again, or allow it there with --replace"
            raise UsageError(f"{place.out}: holds a result that is newer than the listing; {hint}")
        options_json = {**describe(options), "anonymize_key_fingerprint": shard_markers[0].key_fingerprint}
        run = Conversion(options, output, observer, summary, options_json)
        run.all(Merging(place, listing, shard_markers, options))
        if old:
            old.refuse_nothing(summary)
        run.close(listing.discovery(), started)
        run.write_named()
        output.commit()
        place.clear()
        output.clear(output.journal)
    except OSError as problem:
        name_full_folder(problem, output.path)
        raise
    finally:
        output.discard()
    return summary


def _is_known(output: Output, listing: Listing, recorded: list[Marker]) -> bool:
    """Whether the result in an output was there when the listing was made, or is what these shards gave."""
    if (left := output.result()) is None or xxh3_128_hexdigest(left[0]) == listing.result:
        return True
    made = RecordsMade()
    for marker in recorded:
        made.add_counts(marker.records_made)
    written = jsonio.value(left[0])
    return isinstance(written, dict) and written.get("records_made") == made.as_json()


def _markers(place: Place, listing: Listing) -> list[Marker]:
    """The markers of all shards, which go together."""
    shards = [Shard(number + 1, listing.shards) for number in range(listing.shards)]
    pairs = [(shard, markers.read(place, shard)) for shard in shards]
    missing = [shard.number for shard, marker in pairs if marker is None]
    if missing:
        command = f"chatsquash convert --shard K/{listing.shards} -o {command_argument(place.out)}{listing.key_option}"
        hint = f"convert each with: {command}"
        raise UsageError(
            f"{pluralize(len(missing), 'shard')} of {listing.shards} not converted: {_runs(missing)}; {hint}"
        )
    known = [marker for _, marker in pairs if marker]
    first = next((each for each in known if each.listing == listing.digest), None)
    for marker in known:
        if first is None or marker.listing != listing.digest:
            raise UsageError(f"shard {marker.shard}: was converted by another listing; convert it again")
        if what := first.other(marker):
            again = f"convert one of them again with --full, so that {what} is the same"
            raise UsageError(f"shards {first.shard} and {marker.shard} differ in {what}; {again}")
        if not markers.is_complete(place, marker):
            raise UsageError(f"shard {marker.shard}: what it gave is gone or was cut; convert it again with --full")
    return known


def _runs(numbers: list[int]) -> str:
    """Numbers in order, those in a row as one: ``1, 3-5``."""
    runs = list[str]()
    for _, run in groupby(enumerate(numbers), lambda each: each[1] - each[0]):
        members = [number for _, number in run]
        runs.append(str(members[0]) if len(members) == 1 else f"{members[0]}-{members[-1]}")
    return ", ".join([*runs[:_NAMED], *(["..."] if len(runs) > _NAMED else [])])


class Merging:
    """The outcomes that shards gave, in the order of the logs, see ``SessionInputs``."""

    def __init__(self, place: Place, listing: Listing, recorded: list[Marker], options: Options) -> None:
        self.logs, self.size = Logs(), listing.size
        self._place, self._listing = place, listing
        self._readers = [PartReader(place, at, each.part) for at, each in enumerate(recorded)]
        self._beside = [each.rejected.name if each.rejected else "" for each in recorded]
        self._looks = options.inspects_lines or not place.can_copy
        self._measures = options.max_chars is not None
        """Whether lines are looked at by filters."""
        self._shown = ""
        self._read: tuple[Outcome, Outcome] | None = None
        """The last outcome that was asked for with its lines, without and with them."""
        self._rejected: tuple[str, list[RejectedPlace]] = "", []
        """The lines of the last session that could not be read, and the file that they stand in."""

    def ahead(self) -> Iterator[tuple[Log, Outcome]]:
        """See ``SessionInputs``."""
        for log, outcome, _, _ in self._read_parts():
            yield log, self.fill(outcome) if self._measures else outcome

    def sessions(self) -> Iterator[tuple[Log, Outcome]]:
        """See ``SessionInputs``; raises ``UsageError`` for parts that are damaged."""
        for log, outcome, shard, rejected in self._read_parts():
            if log.display_path != self._shown:
                self._shown = log.display_path
                self.logs.append(log)
            self._rejected = self._beside[shard], rejected
            filled = self.fill(outcome)
            yield log, filled if self._looks else outcome  # whose lines are copied from where they stand

    def _read_parts(self) -> Iterator[tuple[Log, Outcome, int, list[RejectedPlace]]]:
        """The sessions in the order of the logs, with their shards and the lines that could not be read."""
        readers = [reader.restart() for reader in self._readers]
        for job, shard in enumerate(listings.order(self._place, self._listing)):
            if shard >= len(readers):
                raise listings.damage(self._place, ORDER)
            for log, outcome, rejected in readers[shard].session(job):
                yield log, outcome, shard, rejected
        for reader in readers:
            reader.end()

    def acknowledge(self, log: Log, outcome: Outcome) -> None:
        """See ``SessionInputs``: there is nothing to remember."""

    def inputs(self) -> Iterator[tuple[Log, str]]:
        """See ``SessionInputs``."""
        for path, size, digest in listings.inputs(self._place, self._listing):
            yield Log(path, path, path, size), digest

    def fill(self, outcome: Outcome) -> Outcome:
        """See ``SessionInputs``."""
        if self._read and any(outcome is each for each in self._read):
            return self._read[1]
        filled = frames.fill(outcome, self._line)
        for before, record in zip(outcome.records, filled.records, strict=True):
            if xxh3_128_digest(record.line) != record.digest:
                shard = int(before.line_place.journal) + 1 if before.line_place else 0
                raise UsageError(
                    f"shard {shard}: {self._place.display_path(self._readers[shard - 1].part.name)}: {DAMAGE_HINT}"
                )
        self._read = outcome, filled
        return filled

    def descriptor(self, place: LinePlace) -> int:
        """See ``SessionInputs``."""
        return self._place.descriptor(self._part(place))

    def rejected(self, log: Log, outcome: Outcome) -> Iterator[Iterable[bytes]]:
        """See ``SessionInputs``; they are those of the session that was given last."""
        del log, outcome
        name, places = self._rejected
        return (self._pieces(name, each) for each in places)

    def _pieces(self, name: str, rejected: RejectedPlace) -> Iterator[bytes]:
        offset, left, digest = rejected.offset, rejected.size, xxh3_64()
        while left and (piece := self._place.read_at(name, min(left, _PIECE), offset)):
            offset, left = offset + len(piece), left - len(piece)
            digest.update(piece)
            yield piece
        if digest.digest() != rejected.digest:
            raise UsageError(f"{self._place.display_path(name)}: {DAMAGE_HINT}")

    def _part(self, place: LinePlace) -> str:
        return self._readers[int(place.journal)].part.name

    def _line(self, place: LinePlace) -> bytes:
        return self._place.read_at(self._part(place), place.size, place.offset)
