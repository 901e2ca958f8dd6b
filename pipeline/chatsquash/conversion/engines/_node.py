"""What is done on a node of a cluster: plain data in, plain data out, no exceptions."""

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
from chatsquash.core.urls import is_remote
from chatsquash.core.version import __version__, code_digest
from chatsquash.sources.open import open_file


def ray_version() -> str:
    """That of the Ray which is installed here."""
    return version("ray")


@dataclass(frozen=True)
class Run:
    """What all tasks of a conversion are given."""

    token: str
    """What tells this run from others."""
    out: Path | str
    """The output folder, as an absolute path, or the URL of one in a store."""
    shards: int
    listing: str
    """The hash of the listing."""
    samples: tuple[tuple[str, int], ...]
    """Some of the logs that are there where the run began, with their sizes."""
    full: bool
    key: bytes | None = field(repr=False)
    ray: str
    version: str = __version__
    code: str = field(default_factory=code_digest)

    @property
    def place(self) -> Place:
        """Where the shards meet."""
        return place_in(self.out)

    def trial(self, node: str) -> str:
        """The file that a node writes there."""
        return f"trial-{self.token}-{node}"


class Problem(TypedDict):
    """What stops a run; ``kind`` is the name of the error's class."""

    kind: str
    text: str


class ShardDone(TypedDict):
    """A shard that is converted, in numbers."""

    size: int
    known: bool
    complete: bool
    records_made: dict[str, object]


# Before the first task


def look(run: Run, name: str) -> Problem | str:
    """What is wrong with this node; else what it wrote to a file of a name."""
    try:
        _refuse_other_code(run)
        place = run.place
        try:
            missing = [path for path, is_there in _check_logs(run, place) if not is_there]
            if missing:
                raise _unseen_logs(missing[0])
            contents = f"{run.token} {name}"
            place.create(run.trial(name), contents.encode())
            return contents
        finally:
            place.close()
    except (ChatsquashError, OSError) as problem:
        return _problem(problem)


def _refuse_other_code(run: Run) -> None:
    here = socket.gethostname()
    if (ray := ray_version()) != run.ray:
        raise ChatsquashError(f"{here}: has Ray {ray}, not {run.ray}; install one version on all nodes")
    if (__version__, code_digest()) != (run.version, run.code):
        other = f"chatsquash {__version__}, not {run.version}" if __version__ != run.version else "other code"
        raise ChatsquashError(f"{here}: has {other} of chatsquash; install one build on all nodes")


def _check_logs(run: Run, place: Place) -> list[tuple[str, bool]]:
    """Some logs, and whether this node sees each; raises ``ChatsquashError`` where it does not see the listing."""
    try:
        listing = listings.read(place)
    except (ChatsquashError, OSError):
        listing = None
    if listing is None or listing.digest != run.listing:
        hint = "--engine ray needs an OUT that every node sees: one path, or a store"
        raise ChatsquashError(f"{socket.gethostname()}: does not see what was written to {run.out}; {hint}")
    sizes = dict(visible_logs(listing, [path for path, _ in run.samples]))
    return [(path, sizes.get(path) == size) for path, size in run.samples]


def visible_logs(listing: Listing, paths: list[str]) -> tuple[tuple[str, int], ...]:
    """Those logs of a listing that this machine sees, with their sizes."""
    sizes = []
    with listing.place():
        for path in paths:
            with suppress(OSError):
                sizes.append((path, _size(path)))
    return tuple(sizes)


def _size(path: str) -> int:
    """The bytes of a log; of one in a store it is enough that it can be opened."""
    if not is_remote(path):
        return Path(path).stat().st_size
    with open_file(path):
        return 0


def _unseen_logs(path: str) -> ChatsquashError:
    hint = "--engine ray needs LOGS that every node sees: the same paths, or a store"
    return ChatsquashError(f"{socket.gethostname()}: does not see {path} as it is where the run began; {hint}")


# A task


def convert(run: Run, number: int) -> Problem | ShardDone:
    """Convert a shard."""
    shard = Shard(number, run.shards)
    try:
        _prepared(run)
        return _convert(run, shard)
    except (ChatsquashError, OSError) as problem:
        return _problem(problem)
    except MemoryError:
        why = "memory ran out; give tasks more of it, or leave out the largest log"
        return Problem(kind="ChatsquashError", text=f"shard {shard} on {socket.gethostname()}: {why}")


@cache
def _prepared(run: Run) -> None:
    """Refuse a node that was not there when the others were tried; logs may be gone since, but not all of them."""
    collect_less()
    _refuse_other_code(run)
    place = run.place
    try:
        visible_logs = _check_logs(run, place)
    finally:
        place.close()
    if visible_logs and not any(is_there for _, is_there in visible_logs):
        raise _unseen_logs(visible_logs[0][0])


def _convert(run: Run, shard: Shard) -> ShardDone:
    """Convert a shard; in a process beside this one where an attempt at it did not come to its end.

    A session that kills the process that converts it is found so, and left out, as on one machine.
    """
    place = run.place
    options = Options(anonymize_key=run.key, full=run.full)
    begun = f"begun-{shard.number}"
    try:
        try:
            place.create(begun, b"")
            processes = None
        except FileExistsError:
            processes = 1
        try:
            done = convert_shard(run.out, shard, options, processes=processes)
        finally:
            place.remove(begun)
        size = done.size
        if done.is_known:
            size = sum(job.size for job in listings.jobs(place, listings.read(place), shard))
    finally:
        place.close()
    marker = done.marker
    return ShardDone(size=size, known=done.is_known, complete=marker.complete, records_made=marker.records_made)


def _problem(problem: ChatsquashError | OSError) -> Problem:
    if isinstance(problem, ChatsquashError):
        return Problem(kind=type(problem).__name__, text=str(problem))
    where = f"{problem.filename}: " if problem.filename else ""
    return Problem(kind="ChatsquashError", text=f"{socket.gethostname()}: {where}{problem.strerror}")
