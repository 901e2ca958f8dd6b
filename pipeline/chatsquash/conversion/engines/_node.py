"""Functions that run on the nodes of a cluster.

They take and return plain data, and return errors instead of raising them.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TypedDict

from chatsquash.conversion.shards import listing as listings
from chatsquash.conversion.shards import place_in
from chatsquash.conversion.shards.convert import convert_shard
from chatsquash.conversion.shards.listing import Listing
from chatsquash.conversion.shards.place import Place, Shard
from chatsquash.core.errors import ChatsquashError
from chatsquash.core.options import Options
from chatsquash.core.platform import collect_less
from chatsquash.core.version import __version__, code_digest
from chatsquash.sources.open import open_file
from chatsquash.storage import is_remote


def ray_version() -> str:
    """Return the version of Ray on this machine."""
    return version("ray")


@dataclass(frozen=True)
class Run:
    """The data that all tasks of a conversion receive."""

    token: str
    """A random id of this run."""
    out: Path | str
    """The absolute path of the output folder, or its URL in a store."""
    shards: int
    listing: str
    """The hash of the listing."""
    samples: tuple[tuple[str, int], ...]
    """Some of the logs that exist on the machine that started the run, with their sizes."""
    full: bool
    key: bytes | None = field(repr=False)
    ray: str
    version: str = __version__
    code: str = field(default_factory=code_digest)

    @property
    def place(self) -> Place:
        """The shared folder of the shards."""
        return place_in(self.out)

    def trial(self, node: str) -> str:
        """Return the name of the file that a node writes to the shared folder as a test."""
        return f"trial-{self.token}-{node}"


class Problem(TypedDict):
    """An error that ends the run; ``kind`` is the name of its class."""

    kind: str
    text: str


class ShardDone(TypedDict):
    """The counts of a converted shard."""

    size: int
    known: bool
    complete: bool
    records_made: dict[str, object]


# Before the first task


def check(run: Run, node: str) -> Problem | str:
    """Check that this node can take part in a run; return a problem, or the content of the file that it wrote."""
    try:
        _refuse_other_code(run)
        place = run.place
        try:
            missing = [path for path, is_visible in _check_logs(run, place) if not is_visible]
            if missing:
                raise _inaccessible_log(missing[0])
            contents = f"{run.token} {node}"
            place.create(run.trial(node), contents.encode())
            return contents
        finally:
            place.close()
    except (ChatsquashError, OSError) as problem:
        return _problem(problem)


def _refuse_other_code(run: Run) -> None:
    host = socket.gethostname()
    if (ray := ray_version()) != run.ray:
        raise ChatsquashError(f"{host}: the node runs Ray {ray}, not {run.ray}; install the same version on all nodes")
    if (__version__, code_digest()) != (run.version, run.code):
        if __version__ != run.version:
            other = f"chatsquash {__version__}, not {run.version}"
        else:
            other = "another build of chatsquash"
        raise ChatsquashError(f"{host}: the node runs {other}; install the same build on all nodes")


def _check_logs(run: Run, place: Place) -> list[tuple[str, bool]]:
    """Return the sample logs, and whether this node can access each.

    Raises:
        ChatsquashError: This node cannot read the listing.
    """
    try:
        listing = listings.read(place)
    except (ChatsquashError, OSError):
        listing = None
    if listing is None or listing.digest != run.listing:
        hint = "--engine ray requires an OUT that all nodes can access: the same path, or a store"
        raise ChatsquashError(f"{socket.gethostname()}: cannot read the listing in {run.out}; {hint}")
    sizes = dict(visible_logs(listing, [path for path, _ in run.samples]))
    return [(path, sizes.get(path) == size) for path, size in run.samples]


def visible_logs(listing: Listing, paths: list[str]) -> tuple[tuple[str, int], ...]:
    """Return the logs of a listing that this machine can access, with their sizes."""
    sizes = []
    with listing.place():
        for path in paths:
            with suppress(OSError):
                sizes.append((path, _size(path)))
    return tuple(sizes)


def _size(path: str) -> int:
    """Return the bytes of a log; 0 for a log in a store, which only has to be readable."""
    if not is_remote(path):
        return Path(path).stat().st_size
    with open_file(path):
        return 0


def _inaccessible_log(path: str) -> ChatsquashError:
    hint = "--engine ray requires LOGS that all nodes can access: the same paths, or a store"
    return ChatsquashError(
        f"{socket.gethostname()}: {path} is missing or differs from the log where the run was started; {hint}"
    )


# A task


def convert(run: Run, number: int) -> Problem | ShardDone:
    """Convert a shard; return its counts, or the problem."""
    shard = Shard(number, run.shards)
    try:
        _prepare(run)
        return _convert(run, shard)
    except (ChatsquashError, OSError) as problem:
        return _problem(problem)
    except MemoryError:
        why = "out of memory; give tasks more memory, or exclude the largest log"
        return Problem(kind="ChatsquashError", text=f"shard {shard} on {socket.gethostname()}: {why}")


@cache
def _prepare(run: Run) -> None:
    """Check a node that may have joined after the others were checked; some logs may be missing, but not all."""
    collect_less()
    _refuse_other_code(run)
    place = run.place
    try:
        samples = _check_logs(run, place)
    finally:
        place.close()
    if samples and not any(is_visible for _, is_visible in samples):
        raise _inaccessible_log(samples[0][0])


def _convert(run: Run, shard: Shard) -> ShardDone:
    """Convert a shard; if an earlier attempt did not finish, convert it in a separate process."""
    # If a session kills its process, only the separate process dies, and the session is skipped as on one machine.
    place = run.place
    options = Options(anonymize_key=run.key, full=run.full)
    attempt = f"begun-{shard.number}"
    try:
        try:
            place.create(attempt, b"")
            processes = None
        except FileExistsError:
            processes = 1
        try:
            report = convert_shard(run.out, shard, options, processes=processes)
        finally:
            place.remove(attempt)
        size = report.size
        if report.is_known:
            size = sum(job.size for job in listings.jobs(place, listings.read(place), shard))
    finally:
        place.close()
    marker = report.marker
    return ShardDone(size=size, known=report.is_known, complete=marker.complete, records_made=marker.records_made)


def _problem(problem: ChatsquashError | OSError) -> Problem:
    if isinstance(problem, ChatsquashError):
        return Problem(kind=type(problem).__name__, text=str(problem))
    where = f"{problem.filename}: " if problem.filename else ""
    return Problem(kind="ChatsquashError", text=f"{socket.gethostname()}: {where}{problem.strerror}")
