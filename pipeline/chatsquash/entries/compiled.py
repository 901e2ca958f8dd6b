"""Plain logs with nothing unusual, as what is compiled reads them: their record is written, and told in columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from msgspec import Raw, Struct

from chatsquash import jsonio
from chatsquash.entries import envelopes
from chatsquash.entries.exchange import LIMITS, claims
from chatsquash.entries.lines import Buffers
from chatsquash.formats.openai_chat.members import RESPONSE

ROLES = ("system", "user", "assistant", "tool")
"""Those of messages, in the order of the tables that say which messages rules may touch."""
MEMBERS = ("role", "content", "name", "tool_calls", "tool_call_id", "annotations")
"""Those of messages, in the order of their bits."""


class Told(Struct):
    """What is told of the lines, and of the messages of the record."""

    size: int
    """Bytes of all lines."""
    last_size: int
    """Those of the last one, with the line feed."""
    members: int
    """Which of ``MEMBERS`` messages have, as bits."""
    session_id: str
    model: str
    finish_reason: str | None
    """Why the last reply ended."""
    counts: list[int]
    """How many messages each request has."""
    lines: list[int]
    """The 1-based numbers of the lines."""
    times: list[str]
    """As logged."""
    roles: list[str]
    """Those of the messages, the last reply among them; so are the others."""
    ends: list[int]
    """Where in what is written each message ends."""
    looks: list[int]
    """The messages that cleaning rules may touch."""
    signs: list[int]
    """The messages that may have an address."""
    calls: list[tuple[int, int]]
    """The messages with calls, and how many each has."""
    ids: list[str]
    names: list[str]
    arguments: list[str]
    results: list[int]
    result_ids: list[str]
    result_texts: list[Any]
    usages: list[Raw]
    """What the responses have for their use of tokens, those that have it."""


class Compiled(NamedTuple):
    """A plain log with nothing unusual."""

    told: Told
    tools: bytes
    """The tools of every request, raw; empty where there are none."""
    written: bytes
    """The JSON of the messages of the record, without the brackets."""


_told = jsonio.decoder(Told)


def transcribe(
    compiled: Any,
    more: Callable[[bytearray, int, int], tuple[bytearray, int]],
    longest: int,
    room: Buffers,
    looks: bytes,
) -> Compiled | None:
    """Read a log; ``None`` for one with anything unusual.

    ``more`` moves what there is of a line in a buffer to the front, reads what comes next of the file behind it, and
    gives the buffer, which may be another one, and how far it is filled.  ``longest`` bounds the bytes of a line.
    ``looks`` has a byte for each of ``ROLES`` and each first byte of a content: whether rules may touch the message.
    """
    names = looks, *_names(tuple(envelopes.__path__))
    found = compiled.transcribe(room.take(), more, longest, names)
    if found is None:
        return None
    told, tools, written, buffer = found
    room.leave(buffer)
    return Compiled(_told.decode(told), tools, written)


@cache
def _names(folders: tuple[str, ...]) -> tuple[bytes, ...]:
    """The members that no plain line has, those that its request has not, those of a response, and the limits."""
    lists = claims(folders), ["functions", *LIMITS[3:]], RESPONSE
    told = [b"\0%b\0" % b"\0".join([name.encode() for name in names]) for names in lists]
    return *told, *[name.encode() for name in LIMITS[:3]]
