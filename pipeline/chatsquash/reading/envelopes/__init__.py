"""How loggers wrap a request, its response, its time and its session: every wrap becomes the one that is read.

That is the one of ``plain``.  Lines of other wraps are put together anew from raw slices, which costs one pass over
their bytes and no parsing.  An envelope is a module in this folder, and need not be named anywhere else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from chatsquash.core import jsonio
from chatsquash.core.registry import Room
from chatsquash.reading.members import Members, first_present, join_members, members, within


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Envelope:
    """One way to wrap an exchange, as its module declares it."""

    NAME: str
    WHAT: str
    """What a line looks like, in words."""
    NEEDS: tuple[frozenset[str], ...]
    """Members of a line, all of one of these sets: without them it is no such line.

    A set of members that ``plain`` has, too, tells only lines whose request holds no list of turns.
    """
    SESSION: tuple[str, ...]
    """The members that may name a line's session, the best first."""
    MIXES: bool
    """Whether loggers that wrap so are known to write several sessions into a file."""
    unwrap: Callable[[Members], Members] | None
    """Gives ``request``, ``response``, ``status``, ``timestamp`` and ``session_id``; ``None``: they stand there.

    And, in words, ``cut``, where the logger cut something of them, and ``problem``, where there is no request.
    """

    fits: Callable[[Members], bool]
    """Whether a line that has the members is one."""
    aside: Callable[[Members], str | None] | None = None
    """Describe a line that is not an exchange, since others say the same."""
    session: Callable[[Members], bytes | None] | None = None
    """Return the raw id of a line's session if no member of ``SESSION`` names it."""


_ROOM: Room[Envelope] = Room(Envelope, sys.modules[__name__])
PLAIN = _ROOM.get("plain")


def envelopes() -> list[Envelope]:
    """All envelopes, by the names of their modules."""
    return list(_ROOM.all().values())


@cache
def _by_precedence(folders: tuple[str, ...]) -> list[Envelope]:
    """The envelopes in the order in which they are asked: the one that needs the most members first."""
    del folders
    return sorted(envelopes(), key=lambda each: (each is PLAIN, -min(map(len, each.NEEDS))))


def of_members(line: Members) -> Envelope | None:
    """How a line with these members is wrapped; ``None`` for one that wraps nothing."""
    return next((each for each in _by_precedence(tuple(__path__)) if _fits(each, line)), None)


def recognise(line: bytes) -> Envelope | None:
    """How a line is wrapped; ``None`` for what is no JSON object, or wraps nothing."""
    raw = members(line)
    return of_members(raw) if raw else None


def unwrap(line: bytes, envelope: Envelope) -> bytes:
    """The line in the envelope that is read; as it is where it is in that, or does not fit."""
    if envelope.unwrap is None:
        return line
    raw = members(line)
    if not (raw and _fits(envelope, raw)):
        return line
    taken = {} if is_aside(raw) else dict(envelope.unwrap(raw))
    taken.pop("problem", None)
    if cut := taken.pop("cut", None):
        taken["truncated_by_logger"] = cut
    return join_members(taken)


def aside(line: bytes, envelope: Envelope) -> str | None:
    """What a line is that is no exchange, in words, if its envelope knows such."""
    raw = members(line) if envelope.aside else None
    return envelope.aside(raw) if envelope.aside and raw and _fits(envelope, raw) else None


def problem(line: bytes, envelope: Envelope) -> str | None:
    """Why there is no request in a line, as far as its envelope knows."""
    raw = members(line) if envelope.unwrap else None
    if not (envelope.unwrap and raw and _fits(envelope, raw)):
        return None
    reason = envelope.unwrap(raw).get("problem")
    return str(jsonio.loads(reason)) if reason else None


def _fits(envelope: Envelope, line: Members) -> bool:
    return any(line.keys() >= needed for needed in envelope.NEEDS) and envelope.fits(line)


def is_aside(line: Members) -> bool:
    """Whether a line is no exchange, as its envelope tells."""
    envelope = of_members(line)
    return envelope is not None and envelope.aside is not None and envelope.aside(line) is not None


def session_id(line: Members) -> str | None:
    """The session that a line names, wherever its envelope does; ``None`` if it names none."""
    envelope = of_members(line) or PLAIN
    raw = (
        (envelope.session(line) if envelope.session else first_present(line, envelope.SESSION))
        or within(line.get("request")).get("session_id")
        or b""
    )
    if raw[:1] != b'"' and not raw.removeprefix(b"-").isdigit():
        return None
    try:
        return str(jsonio.loads(raw))
    except ValueError:  # which makes the line one that cannot be read
        return None
