"""Divides logs into shards of about the same size; every session is in a single shard."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path

from msgspec import Struct
from xxhash import xxh3_128_hexdigest

from chatsquash.conversion.complete_options import choose_grouping
from chatsquash.conversion.convert import old_result
from chatsquash.conversion.inputs import find
from chatsquash.conversion.shards import listing as listings
from chatsquash.conversion.shards import place_in
from chatsquash.conversion.shards.listing import Listing
from chatsquash.conversion.shards.place import INPUTS, MAX_SHARDS, ORDER, Place, Shard, command_argument
from chatsquash.core.errors import UsageError
from chatsquash.core.index import Sets
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.platform import name_full_folder
from chatsquash.core.text import escape, format_size, pluralize
from chatsquash.dataset import output_in
from chatsquash.dataset.option_rules import refuse_wrong
from chatsquash.dataset.store import place_of
from chatsquash.redaction.privacy import Privacy
from chatsquash.redaction.pseudonyms import fingerprint
from chatsquash.session.chains import chain_logs
from chatsquash.session.lineages import Lineages
from chatsquash.sources.find import Discovery
from chatsquash.storage import is_remote

_SHARD_SIZES = 500_000_000, 2_000_000_000
"""Minimum and maximum bytes of logs per shard, if the number of shards is derived from the bytes."""
_MANY = 1000
"""Number of shards above which shards become larger instead of more numerous."""


class DivisionReport(Struct):
    """A summary of a new listing."""

    output: str
    shards: int
    logs: int
    size: int
    largest: int
    """Bytes of the largest shard."""
    needs_key: bool
    """Whether each shard needs a key, because addresses are replaced."""

    def as_text(self) -> str:
        """Return the summary with the next commands."""
        out, key = command_argument(self.output), " --anonymize-key-file KEY" if self.needs_key else ""
        logs = f"{pluralize(self.logs, 'log')} of {format_size(self.size)}"
        return "\n".join(
            [
                f"{logs} in {pluralize(self.shards, 'shard')}, the largest with {format_size(self.largest)}",
                f"next, for K from 1 to {self.shards}: chatsquash convert --shard K/{self.shards} -o {out}{key}",
                f"then: chatsquash merge {out}",
            ]
        )


def divide(
    logs: str | PathLike[str] | Iterable[str | PathLike[str]],
    output: str | PathLike[str],
    options: Options,
    count: int,
) -> DivisionReport:
    """Divide session logs into shards, and write the listing under an output folder.

    The listing depends only on the logs with their sizes and times, the options and the number of shards. If it equals
    an existing one byte for byte, converted shards are kept; otherwise the existing listing is removed with its shards.

    Args:
        logs: Directories, files, globs or URLs, in order.
        output: The output folder, or its URL in a store.
        options: The options for all shards.
        count: The number of shards.

    Raises:
        UsageError: The number or an option is invalid, or as ``chatsquash.convert``.
        OSError: As ``chatsquash.convert``.
    """
    if not 1 <= count <= MAX_SHARDS:
        raise UsageError(f"-n {count}: the number of shards must be between 1 and {MAX_SHARDS:,}")
    return _divide(_find(logs, output, options), output, options, count)


def divide_by_size(
    logs: str | PathLike[str] | Iterable[str | PathLike[str]], output: str | PathLike[str], options: Options
) -> DivisionReport:
    """Divide logs as ``divide`` does, with a number of shards derived from their bytes."""
    discovery = _find(logs, output, options)
    return _divide(discovery, output, options, shards_for(discovery.logs.size))


def shards_for(size: int) -> int:
    """Return the number of shards for bytes of logs: 0.5 GB per shard, growing to 2 GB when there are many shards."""
    least, most = _SHARD_SIZES
    each = min(max(size // _MANY, least), most)
    return min(max(-(-size // each), 1), MAX_SHARDS)


def _find(
    logs: str | PathLike[str] | Iterable[str | PathLike[str]], output: str | PathLike[str], options: Options
) -> Discovery:
    if options.limit is not None:
        raise UsageError("--limit cannot be used with shards; remove it")
    if options.join:
        hint = "because the files of a joined session may be in different shards; remove it"
        raise UsageError(f"--join cannot be used with shards, {hint}")
    refuse_wrong(options)
    discovery = find(logs, place_of(output), options)
    # Paths are shown without signatures, so the two differ.
    if log := next((each for each in discovery.logs if each.path != each.display_path), None):
        hint = "pass it without the signature"
        raise UsageError(f"{log.display_path}: listings cannot contain signed URLs; {hint}")
    return discovery


def _divide(discovery: Discovery, output: str | PathLike[str], options: Options, count: int) -> DivisionReport:
    where, options = place_of(output), choose_grouping(discovery, options)
    out = output_in(where, force=options.force)
    try:
        if not options.replace and (old := old_result(out)):
            old.refuse_other_logs(discovery.logs, Privacy(options).digest)
        place = place_in(where)
        try:
            return _write(place, discovery, options, count, out.result())
        finally:
            place.close()
    except OSError as problem:
        name_full_folder(problem, out.path)
        raise
    finally:
        out.discard()


def _write(
    place: Place, discovery: Discovery, options: Options, count: int, result: tuple[bytes, float] | None
) -> DivisionReport:
    """Write all files of a listing, and remove the shards of a different one."""
    jobs, inputs = _jobs(discovery, options)
    lineages = Lineages(discovery.logs, options)
    lineages.look_ahead()
    shards = _assign_shards(discovery.logs, jobs, count, lineages.known_groups())
    files: dict[str, str] = {}
    if inputs is not None:
        files[INPUTS] = listings.write_lines(place, INPUTS, inputs)
    sizes = [0] * count
    members: list[array[int]] = [array("I") for _ in range(count)]
    for number, shard in enumerate(shards):
        members[shard].append(number)
        sizes[shard] += jobs[number].size
    for number, units in enumerate(members):
        name = Shard(number + 1, count).logs
        files[name] = listings.write_lines(place, name, (listings.job(jobs[each], each) for each in units))
    files[ORDER] = listings.write_order(place, shards)
    key = options.anonymize_key if options.has_key else None
    listing = Listing(
        listings.describe(options),
        count,
        len(shards),
        discovery.logs.size,
        files,
        str(Path.cwd()) if any(map(_is_relative, discovery.logs)) else None,
        fingerprint(key) if key else None,
        others=dict(discovery.others),
        passed_over=discovery.passed_over,
        findings=discovery.findings,
        result=xxh3_128_hexdigest(result[0]) if result else None,
    )
    listings.publish(place, listing)
    return DivisionReport(
        escape(place.out), count, len(discovery.logs), discovery.logs.size, max(sizes), options.has_key
    )


def _is_relative(log: Log) -> bool:
    return not (is_remote(log.path) or Path(log.path).is_absolute())


def _jobs(discovery: Discovery, options: Options) -> tuple[Sequence[Log], Iterator[tuple[str, int, str]] | None]:
    """Return the jobs; for sessions that may span several logs, also the path, size and hash of each log."""
    if options.sessions_by != "chain":
        return discovery.logs, None
    sessions = chain_logs(discovery.logs, options)
    jobs = list(sessions.sessions())
    read = zip(discovery.logs, sessions.digests, strict=True)
    return jobs, ((log.display_path, log.size, digest) for log, digest in read)


def _assign_shards(logs: Sequence[Log], jobs: Sequence[Log], count: int, lineages: list[list[int]]) -> array[int]:
    """Return the 0-based number of the shard of each job.

    Jobs that share a log are in the same shard, so that no other shard reads it; so are logs that repeat each other.
    """
    if jobs is logs and not lineages:
        sizes = array("Q", (log.size for log in logs))
        return _spread(sizes, count)
    unit = _linked_logs(logs, jobs, lineages)
    sizes = array("Q", bytes(8 * len(logs)))
    for log in logs:
        sizes[unit[log.number]] += log.size
    shard = _spread(sizes, count)
    numbers = {log.display_path: log.number for log in logs}
    return array("I", (shard[unit[numbers[job.display_path]]] for job in jobs))


def _linked_logs(logs: Sequence[Log], jobs: Sequence[Log], lineages: list[list[int]]) -> list[int]:
    """Return, for each log, the first log that is linked to it by shared sessions or lineages, directly or not."""
    numbers = {log.display_path: log.number for log in logs}
    sets = Sets()
    for _ in logs:
        sets.add()
    for job in jobs:
        for piece in job.pieces:
            sets.join(numbers[job.display_path], numbers[piece.display_path])
    for first, *others in lineages:
        for number in others:
            sets.join(first, number)
    return [sets.find(number) for number in range(len(logs))]


def _spread(sizes: array[int], count: int) -> array[int]:
    """Return the shard of each unit: units are assigned by decreasing size, each to the shard with the fewest bytes."""
    heap = [(0, shard) for shard in range(count)]
    spread = array("I", bytes(4 * len(sizes)))
    for unit in sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True):
        size, shard = heap[0]
        spread[unit] = shard
        # An empty log counts as one byte, so that empty logs are spread as well.
        heapq.heapreplace(heap, (size + max(sizes[unit], 1), shard))
    return spread
