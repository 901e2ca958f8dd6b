"""The listing of a conversation in shards: what is converted, with which options, and which shard has which logs."""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, chdir, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field
from xxhash import xxh3_128, xxh3_128_hexdigest

from chatsquash.conversion.shards.place import INPUTS, LISTING, MOST, ORDER, Place, Shard, command_argument
from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log, Piece
from chatsquash.core.model import Finding
from chatsquash.core.options import Options
from chatsquash.core.version import __version__, code_digest
from chatsquash.dataset.option_rules import refuse_wrong
from chatsquash.results.output import is_result
from chatsquash.sources.find import Discovery

_WHOLE = {
    **{name: name for name in ("part", "unit", "unit_lines", "cut")},
    "whole": "container_size",
    "reordered": "reordered_lines",
}
"""What a log may be beside a whole file, where it is a session of one that holds several."""


_Count = Annotated[int, Meta(ge=0, le=(1 << 62))]


class Listing(Struct):
    """What all shards of a conversion have in common."""

    options: dict[str, Any]
    """Without the key."""
    shards: Annotated[int, Meta(ge=1, le=MOST)]
    jobs: int
    """What is converted: logs, or the sessions in them where these may stand in several."""
    size: int
    """Bytes of all logs."""
    digests: dict[str, str]
    """The XXH3 of the other files, 128 bits."""
    folder: str | None = None
    """Where the listing was made, if the paths of logs count from there."""
    key_fingerprint: str | None = None
    """That of the key, where it was named."""
    version: str = __version__
    code: str = field(default_factory=code_digest)
    others: dict[str, int] = {}
    passed_over: int = 0
    findings: list[Finding] = []
    result: str | None = None
    """The XXH3 of the ``run.json`` that was there."""
    digest: str = ""
    """Of this listing as it was read."""

    @property
    def key_option(self) -> str:
        """What its shards have to be given, for the next commands."""
        return " --anonymize-key-file KEY" if self.options.get("anonymize") else ""

    def options_of_run(self) -> Options:
        """The options; raises ``UsageError`` where they are damaged."""
        try:
            options = msgspec.convert(self.options, Options)
        except (msgspec.ValidationError, ValueError) as problem:  # a text that UTF-8 cannot hold, too
            raise UsageError(f"{LISTING}: holds options that are none ({problem}); make it again") from None
        refuse_wrong(options)
        return options

    def place(self) -> AbstractContextManager[object]:
        """Goes where paths of logs count from; raises ``UsageError`` where this machine has no such folder."""
        if self.folder is None:
            return nullcontext()
        if not Path(self.folder).is_dir():
            hint = "list them by absolute paths"
            raise UsageError(f"{self.folder}: is not here, and the paths of the logs count from there; {hint}")
        return chdir(self.folder)

    def discovery(self) -> Discovery:
        """What lay beside the logs."""
        beside = Counter(self.others), self.passed_over, self.findings
        return Discovery(others=beside[0], passed_over=beside[1], findings=beside[2])


class Job(Struct, omit_defaults=True):
    """A log as a listing has it, or a session that stands in several."""

    number: _Count
    path: Annotated[str, Meta(pattern="^[^\\x00]+$")]
    name: str
    size: _Count
    modified: int | None
    part: int | None = None
    unit: bytes | None = None
    """In base64 where it stands in the file."""
    unit_lines: int = 1
    whole: int | None = None
    cut: str | None = None
    reordered: int | None = None
    spans: list[int] | None = None
    pieces: list[tuple[str, int, int, int, int | None]] = []
    """Of each its path, lines and bytes before it, its size and when it was changed."""

    def log(self, number: int) -> Log:
        """The log, with the number that it has in its shard."""
        pieces = tuple(Piece(path, path, *rest) for path, *rest in self.pieces)  # type: ignore[arg-type]
        spans = None if self.spans is None else array("Q", self.spans)
        whole = {field: getattr(self, name) for name, field in _WHOLE.items()}
        log = Log(self.path, self.path, self.name, self.size, spans, modified=self.modified, **whole)
        return msgspec.structs.replace(log, pieces=pieces, number=number)


def job(log: Log, number: int) -> Job:
    """A log for the listing."""
    pieces = [(each.display_path, each.line, each.offset, each.size, each.modified) for each in log.pieces]
    spans = None if log.spans is None else list(log.spans)
    whole = {name: getattr(log, field) for name, field in _WHOLE.items()}
    return Job(number, log.display_path, log.name, log.size, log.modified, spans=spans, pieces=pieces, **whole)


# Writing


def take(place: Place, listing: Listing) -> None:
    """Put a listing and the files that were written for it in their places, itself last.

    Where the same one is there, byte for byte, what was converted by it stays; else all that stood there goes.
    """
    data, known = dumped(listing), b""
    with suppress(OSError):
        known = place.read(LISTING)
    if data != known:
        place.clear()
    place.keep_all(listing.digests)
    place.stage(LISTING, [data])
    place.keep(LISTING, LISTING)


def write_lines(place: Place, name: str, rows: Iterable[Any]) -> str:
    """Write a file of JSON lines; its hash."""
    return place.stage(name, map(dumped, rows))


def write_order(place: Place, order: array[int]) -> str:
    """Write which shard has each job; the hash of the file."""
    if sys.byteorder == "big":
        order.byteswap()
    return place.stage(ORDER, [order.tobytes()])


def dumped(value: Any) -> bytes:
    """A line of JSON, whatever names of files hold."""
    return jsonio.dumps(msgspec.to_builtins(value)) + b"\n"


def describe(options: Options) -> dict[str, Any]:
    """Options as a listing holds them: without the key, and without what each shard is given anew."""
    shared = replace(options, anonymize_key=None, workers=1, full=False, resume=False)
    members: dict[str, Any] = msgspec.to_builtins(shared)
    return members


# Reading


def read(place: Place) -> Listing:
    """The listing below an output folder; raises ``UsageError`` where there is none, or another version wrote it."""
    try:
        data = place.read(LISTING)
    except (FileNotFoundError, NotADirectoryError):
        argument = command_argument(place.out)
        hint = f"make one with: chatsquash shards LOGS -o {argument} -n 64"
        if is_result(Path(place.out)):
            hint += f", or join this result with another: chatsquash merge {argument} OTHER -o BOTH"
        raise UsageError(f"{place.out}: holds no listing, or one that was merged; {hint}") from None
    except OSError as problem:
        raise _unreadable(place, LISTING, problem) from None
    try:
        listing = msgspec.convert(jsonio.loads(data), Listing)
    except (ValueError, RecursionError):
        listing = None
    if listing is None or listing.options.get("limit") is not None:
        raise UsageError(f"{place.display_path(LISTING)}: is not a listing; make it again")
    if (listing.version, listing.code) != (__version__, code_digest()):
        hint = "run that version, or make the listing again"
        raise UsageError(f"{place.display_path(LISTING)}: was made by another chatsquash, {listing.version}; {hint}")
    listing.digest = xxh3_128_hexdigest(data)
    return listing


def jobs(place: Place, listing: Listing, shard: Shard) -> Iterator[Job]:
    """The jobs of a shard, in the order of the logs."""
    return _rows(place, listing, shard.logs, Job)


def inputs(place: Place, listing: Listing) -> Iterator[tuple[str, int, str]]:
    """Of each log its path, size and hash, where sessions stand in several."""
    if INPUTS in listing.digests:
        yield from _rows(place, listing, INPUTS, tuple[str, int, str])


def order(place: Place, listing: Listing) -> array[int]:
    """The number of the shard that has each job; the first shard is 0."""
    data = b"".join(_check_lines(place, listing, ORDER))
    numbers = array("I", data[: len(data) // 4 * 4])
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _rows(place: Place, listing: Listing, name: str, kind: Any) -> Iterator[Any]:
    """The lines of a file as values of a type."""
    for line in _check_lines(place, listing, name):
        try:
            yield msgspec.convert(jsonio.loads(line), kind)
        except (ValueError, RecursionError):
            raise damage(place, name) from None


def _check_lines(place: Place, listing: Listing, name: str) -> Iterator[bytes]:
    """The lines of a file; raises ``UsageError`` where it is not as it was written."""
    digest = xxh3_128()
    try:
        for line in place.lines(name):
            digest.update(line)
            yield line
    except OSError as problem:
        raise _unreadable(place, name, problem) from None
    if digest.hexdigest() != listing.digests.get(name):
        raise damage(place, name)


def _unreadable(place: Place, name: str, problem: OSError) -> UsageError:
    return UsageError(
        f"{place.display_path(name)}: cannot be read ({problem.strerror}); remove it, and make the listing again"
    )


def damage(place: Place, name: str) -> UsageError:
    """The error for a file that is not as it was written."""
    return UsageError(f"{place.display_path(name)}: is not as it was written; make the listing again")
