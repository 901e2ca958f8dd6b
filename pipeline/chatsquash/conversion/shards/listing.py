"""The listing of a conversion in shards: the logs of each shard, and the options."""

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

from chatsquash.conversion.shards.place import INPUTS, LISTING, MAX_SHARDS, ORDER, Place, Shard, command_argument
from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log, Piece
from chatsquash.core.model import Finding
from chatsquash.core.options import Options
from chatsquash.core.version import __version__, code_digest
from chatsquash.dataset.option_rules import refuse_wrong
from chatsquash.results.output import is_result
from chatsquash.sources.find import Discovery

_LOG_FIELDS = {
    **{name: name for name in ("part", "unit", "unit_lines", "cut")},
    "whole": "container_size",
    "reordered": "reordered_lines",
}
"""Members of ``Job`` and fields of ``Log`` that describe a session in a file with several."""


_Count = Annotated[int, Meta(ge=0, le=(1 << 62))]


class Listing(Struct):
    """The data that all shards of a conversion share."""

    options: dict[str, Any]
    """The options, without the key."""
    shards: Annotated[int, Meta(ge=1, le=MAX_SHARDS)]
    jobs: int
    """Number of jobs: logs, or sessions if these may span several logs."""
    size: int
    """Bytes of all logs."""
    digests: dict[str, str]
    """The 128-bit XXH3 hashes of the other files."""
    folder: str | None = None
    """The directory to which paths of logs are relative; ``None`` if all are absolute."""
    key_fingerprint: str | None = None
    """The fingerprint of the key, if one was passed."""
    version: str = __version__
    code: str = field(default_factory=code_digest)
    others: dict[str, int] = {}
    passed_over: int = 0
    findings: list[Finding] = []
    result: str | None = None
    """The 128-bit XXH3 hash of the ``run.json`` that existed."""
    digest: str = ""
    """The hash of this listing; empty unless it was read from a file."""

    @property
    def key_option(self) -> str:
        """The option for the key that the commands for its shards need."""
        return " --anonymize-key-file KEY" if self.options.get("anonymize") else ""

    def options_of_run(self) -> Options:
        """Return the options; raise ``UsageError`` if they are invalid."""
        try:
            options = msgspec.convert(self.options, Options)
        except (msgspec.ValidationError, ValueError) as problem:  # also for text that UTF-8 cannot represent
            raise UsageError(f"{LISTING}: contains invalid options ({problem}); regenerate it") from None
        refuse_wrong(options)
        return options

    def place(self) -> AbstractContextManager[object]:
        """Change to the directory to which paths of logs are relative; raise ``UsageError`` if it does not exist."""
        if self.folder is None:
            return nullcontext()
        if not Path(self.folder).is_dir():
            hint = "pass absolute paths of the logs instead"
            raise UsageError(
                f"{self.folder}: no such folder on this machine, but the paths of the logs are relative to it; {hint}"
            )
        return chdir(self.folder)

    def discovery(self) -> Discovery:
        """Return the files that were not read, and the findings about files."""
        return Discovery(others=Counter(self.others), passed_over=self.passed_over, findings=self.findings)


class Job(Struct, omit_defaults=True):
    """A log in a listing, or a session that may span several logs."""

    number: _Count
    path: Annotated[str, Meta(pattern="^[^\\x00]+$")]
    name: str
    size: _Count
    modified: int | None
    part: int | None = None
    unit: bytes | None = None
    """Encoded as base64 in the file."""
    unit_lines: int = 1
    whole: int | None = None
    cut: str | None = None
    reordered: int | None = None
    spans: list[int] | None = None
    pieces: list[tuple[str, int, int, int, int | None]] = []
    """The path, preceding lines, preceding bytes, size and modification time of each."""

    def log(self, number: int) -> Log:
        """Return the log with its number within the shard."""
        pieces = tuple(Piece(path, path, *rest) for path, *rest in self.pieces)  # type: ignore[arg-type]
        spans = None if self.spans is None else array("Q", self.spans)
        fields = {field: getattr(self, name) for name, field in _LOG_FIELDS.items()}
        log = Log(self.path, self.path, self.name, self.size, spans, modified=self.modified, **fields)
        return msgspec.structs.replace(log, pieces=pieces, number=number)


def job(log: Log, number: int) -> Job:
    """Return a log as a job of the listing."""
    pieces = [(each.display_path, each.line, each.offset, each.size, each.modified) for each in log.pieces]
    spans = None if log.spans is None else list(log.spans)
    fields = {name: getattr(log, field) for name, field in _LOG_FIELDS.items()}
    return Job(number, log.display_path, log.name, log.size, log.modified, spans=spans, pieces=pieces, **fields)


# Writing


def publish(place: Place, listing: Listing) -> None:
    """Move the staged files of a listing to their final names, and write the listing last.

    If the same listing exists, byte for byte, converted shards are kept; otherwise all existing files are removed.
    """
    data, existing = dump_line(listing), b""
    with suppress(OSError):
        existing = place.read(LISTING)
    if data != existing:
        place.clear()
    place.keep_all(listing.digests)
    place.stage(LISTING, [data])
    place.keep(LISTING, LISTING)


def write_lines(place: Place, name: str, rows: Iterable[Any]) -> str:
    """Write a file of JSON lines, and return its hash."""
    return place.stage(name, map(dump_line, rows))


def write_order(place: Place, order: array[int]) -> str:
    """Write the number of the shard of each job, and return the hash of the file."""
    if sys.byteorder == "big":
        order.byteswap()
    return place.stage(ORDER, [order.tobytes()])


def dump_line(value: Any) -> bytes:
    """Return a value as a line of JSON; file names may contain any bytes."""
    return jsonio.dumps(msgspec.to_builtins(value)) + b"\n"


def describe(options: Options) -> dict[str, Any]:
    """Return options for a listing: without the key, and without the options that each shard gets separately."""
    common = replace(options, anonymize_key=None, workers=1, full=False, resume=False)
    members: dict[str, Any] = msgspec.to_builtins(common)
    return members


# Reading


def read(place: Place) -> Listing:
    """Read the listing under an output folder.

    Raises:
        UsageError: The listing is missing, cannot be read, is invalid, or was written by another build of chatsquash.
    """
    try:
        data = place.read(LISTING)
    except (FileNotFoundError, NotADirectoryError):
        argument = command_argument(place.out)
        hint = f"create one with: chatsquash shards LOGS -o {argument} -n 64"
        if is_result(Path(place.out)):
            hint += f", or merge this result with another: chatsquash merge {argument} OTHER -o BOTH"
        raise UsageError(f"{place.out}: no listing in this folder, or its shards were already merged; {hint}") from None
    except OSError as problem:
        raise _unreadable(place, LISTING, problem) from None
    try:
        listing = msgspec.convert(jsonio.loads(data), Listing)
    except (ValueError, RecursionError):
        listing = None
    if listing is None or listing.options.get("limit") is not None:
        raise UsageError(f"{place.display_path(LISTING)}: not a valid listing; regenerate it")
    if (listing.version, listing.code) != (__version__, code_digest()):
        hint = "use that build, or regenerate the listing"
        raise UsageError(
            f"{place.display_path(LISTING)}: written by another build of chatsquash ({listing.version}); {hint}"
        )
    listing.digest = xxh3_128_hexdigest(data)
    return listing


def jobs(place: Place, listing: Listing, shard: Shard) -> Iterator[Job]:
    """Yield the jobs of a shard, in the order of the logs."""
    return _rows(place, listing, shard.logs, Job)


def inputs(place: Place, listing: Listing) -> Iterator[tuple[str, int, str]]:
    """Yield the path, size and hash of each log, if sessions may span several logs."""
    if INPUTS in listing.digests:
        yield from _rows(place, listing, INPUTS, tuple[str, int, str])


def order(place: Place, listing: Listing) -> array[int]:
    """Return the 0-based number of the shard of each job."""
    data = b"".join(_check_lines(place, listing, ORDER))
    numbers = array("I", data[: len(data) // 4 * 4])
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _rows(place: Place, listing: Listing, name: str, kind: Any) -> Iterator[Any]:
    """Yield the lines of a file as values of a type."""
    for line in _check_lines(place, listing, name):
        try:
            yield msgspec.convert(jsonio.loads(line), kind)
        except (ValueError, RecursionError):
            raise damage_error(place, name) from None


def _check_lines(place: Place, listing: Listing, name: str) -> Iterator[bytes]:
    """Yield the lines of a file; raise ``UsageError`` at the end if its hash differs from the listing."""
    digest = xxh3_128()
    try:
        for line in place.lines(name):
            digest.update(line)
            yield line
    except OSError as problem:
        raise _unreadable(place, name, problem) from None
    if digest.hexdigest() != listing.digests.get(name):
        raise damage_error(place, name)


def _unreadable(place: Place, name: str, problem: OSError) -> UsageError:
    return UsageError(
        f"{place.display_path(name)}: cannot be read ({problem.strerror}); remove it, and regenerate the listing"
    )


def damage_error(place: Place, name: str) -> UsageError:
    """Return the error for a file that was changed."""
    return UsageError(f"{place.display_path(name)}: was changed since it was written; regenerate the listing")
