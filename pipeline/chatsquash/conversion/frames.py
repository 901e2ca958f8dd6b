"""Frames of outcomes: the payload of a session and the lines of its records, in journals, parts of shards and spools.

A payload is MessagePack, or JSON if a file name in it is not valid text. It contains no record lines: they follow it
in the frame, so that they never pass through another process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from errno import EIO
from functools import partial
from itertools import accumulate
from struct import Struct
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import msgspec
from msgspec.structs import replace

from chatsquash.core import jsonio
from chatsquash.core.lazy import LazyModule
from chatsquash.core.log import Log
from chatsquash.core.outcome import LinePlace, Outcome

if TYPE_CHECKING:
    import pickle

    from chatsquash.storage import line_spool
else:
    pickle = LazyModule("pickle")
    line_spool = LazyModule("chatsquash.storage.line_spool")

T = TypeVar("T")
_MANY = 1000
"""More pieces than this are joined, since the system writes at most 1024 at once."""
_decoders: dict[Any, msgspec.msgpack.Decoder[Any]] = {}
"""The decoders of types, each built on first use because that takes time."""
_SIZES = Struct("<QQ")
"""The bytes of a log and of its outcome."""


# Payloads


def pack(value: object) -> bytes:
    """Encode a value as a payload; its first byte is the encoding."""
    try:
        return b"m" + msgspec.msgpack.encode(value, enc_hook=bytes)  # spooled lines
    except UnicodeEncodeError:  # a file name need not be valid text
        return b"j" + jsonio.dumps(msgspec.to_builtins(value, enc_hook=bytes))


def unpack(data: bytes, kind: type[T]) -> T:
    """Decode a payload; raise ``ValueError`` or ``RecursionError`` if it is damaged."""
    if data[:1] == b"m":
        return decode(memoryview(data)[1:], kind)
    return msgspec.convert(jsonio.loads(data[1:]), kind)


def decode(data: bytes | memoryview, kind: type[T]) -> T:
    """Decode MessagePack; raise ``msgspec.MsgspecError`` if it is damaged."""
    decoder = _decoders.get(kind) or _decoders.setdefault(kind, msgspec.msgpack.Decoder(kind))
    value: T = decoder.decode(data)
    return value


# Lines of records


def without_lines(outcome: Outcome) -> Outcome:
    """Replace the lines of records by their lengths."""
    records = [
        replace(each, content=b"", line_place=LinePlace("", 0, len(each.content) + 1)) for each in outcome.records
    ]
    return outcome.with_records(records) if records else outcome


def lines(outcome: Outcome) -> list[bytes]:
    """Return the lines of an outcome's records, with line feeds."""
    pieces: list[bytes] = []
    for each in outcome.records:
        pieces += (each.line, b"\n")
    return pieces if len(pieces) < _MANY else [b"".join(pieces)]


def are_spooled(outcome: Outcome) -> bool:
    """Return whether lines of an outcome's records are outside of memory."""
    return any(type(each.content) is not bytes for each in outcome.records)


def place_lines(outcome: Outcome, journal: str, offset: int) -> Outcome:
    """Refer the records of an outcome without lines to consecutive lines in a journal."""
    if not outcome.records:
        return outcome
    sizes = [each.line_place.size if each.line_place else 0 for each in outcome.records]
    places = zip(accumulate(sizes, initial=offset), sizes, strict=False)
    records = [replace(each, line_place=LinePlace(journal, *next(places))) for each in outcome.records]
    return outcome.with_records(records)


def fill(outcome: Outcome, read: Callable[[LinePlace], bytes]) -> Outcome:
    """Read the lines of an outcome's records from their places; raise ``OSError`` if one is incomplete.

    Many lines are read when they are needed.
    """
    records = []
    size = sum([each.line_place.size for each in outcome.records if each.line_place])
    for record in outcome.records:
        place = record.line_place
        if place is not None and size > line_spool.MOST:
            content = line_spool.SpooledLine(partial(_read, read, place), place.size - 1)
            record = replace(record, content=content, line_place=None)  # noqa: PLW2901
        elif place is not None:
            line = read(place)
            if len(line) != place.size:
                raise OSError(EIO, "the journal of this run is incomplete")
            record = replace(record, content=line.removesuffix(b"\n"), line_place=None)  # noqa: PLW2901
        records.append(record)
    return outcome.with_records(records)


def _read(read: Callable[[LinePlace], bytes], place: LinePlace) -> bytes:
    return read(place).removesuffix(b"\n")


class Spool:
    """Outcomes in order, with their logs, in an unnamed file to which no other process can write."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def add(self, log: Log, outcome: Outcome) -> None:
        """Add an outcome."""
        packed_log, packed_outcome = pickle.dumps(log), pack(outcome)
        self._file.write(_SIZES.pack(len(packed_log), len(packed_outcome)))
        self._file.write(packed_log)
        self._file.write(packed_outcome)

    def read(self) -> Iterator[tuple[Log, Outcome]]:
        """Read all outcomes, with their logs."""
        self._file.seek(0)
        while sizes := self._file.read(_SIZES.size):
            log, outcome = map(self._file.read, _SIZES.unpack(sizes))
            yield pickle.loads(log), unpack(outcome, Outcome)
