"""Envelopes: the structures in which loggers wrap a request, its response, its time and its session id.

Every envelope is converted to the standard one, ``plain``, by joining raw slices in one pass over the bytes, without
parsing. An envelope is a module in this folder and need not be registered elsewhere.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct
from xxhash import xxh3_128_digest

from chatsquash.core import jsonio
from chatsquash.core.registry import Room, declaration, items
from chatsquash.core.scores import Score
from chatsquash.reading.members import Members, first_present, join_members, members, object_members

if TYPE_CHECKING:
    from chatsquash.core.score_rows import ScoreRow, ScoreSubject


class Envelope(Struct, frozen=True, eq=False, kw_only=True):
    """An envelope as declared by its module."""

    NAME: str
    WHAT: str
    """A description of its lines."""
    NEEDS: tuple[frozenset[str], ...]
    """Sets of members; a line in this envelope has all members of at least one set.

    A set that ``plain`` also has only identifies lines whose request does not have a list of turns.
    """
    SESSION: tuple[str, ...]
    """The members that may contain the session id of a line, best first."""
    MIXES: bool
    """Whether loggers with this envelope are known to write several sessions to one file."""
    unwrap: Callable[[Members], Members] | None
    """Returns ``request``, ``response``, ``status``, ``timestamp`` and ``session_id``; ``None`` if the line has these.

    It also returns, in words, ``cut`` if the logger truncated any of them and ``problem`` if there is no request.
    """

    fits: Callable[[Members], bool]
    """Whether a line with the required members has this envelope."""
    describe_non_exchange: Callable[[Members], str | None] | None = None
    """Describes a line that repeats the content of other lines and is not an exchange."""
    session: Callable[[Members], bytes | None] | None = None
    """Returns the raw session id of a line if no member in ``SESSION`` contains it."""
    scores: Callable[[Members], tuple[Score, ...]] | None = None
    """Returns the scores of a line's reply, and of its session."""
    SCORES: tuple[bytes, ...] = ()
    """The quoted names of members with scores; ``scores`` is not called for lines without any of them."""
    score_rows: Callable[[Members], list[ScoreRow]] | None = None
    """Returns the scores of other lines in a line that is not an exchange."""
    SCORE_ROWS: tuple[bytes, ...] = ()
    """The quoted names of members with such scores, as in ``SCORES``."""
    SCORE_FILES: tuple[str, ...] = ()
    """Globs for files with such scores, relative to the folder of the log."""
    TRACE_FILES: tuple[str, ...] = ()
    """Globs for files with the session of each trace, relative to the folder of the log."""
    session_of_trace: Callable[[Members], ScoreSubject | None] | None = None
    """Returns the ids of a trace and its session in a line of such a file."""
    subject: Callable[[Members], ScoreSubject] | None = None
    """Returns the ids of an exchange by which such scores refer to it."""
    step: Callable[[Members], ScoreSubject | None] | None = None
    """Returns the ids of a line that is not an exchange but may contain some, if exchanges only name one parent."""


_ROOM: Room[Envelope] = Room(Envelope, sys.modules[__name__])
PLAIN = _ROOM.get("plain")


def envelopes() -> list[Envelope]:
    """Return all envelopes, ordered by module name."""
    return list(_ROOM.all().values())


_LONG, _MOST_KNOWN = 1 << 16, 64
_known: dict[bytes, Envelope | None] = {}
"""The envelopes of long lines, by digest."""
_MEMBER = re.compile(r'"([^"]+)"')


def required_members(folders: tuple[str, ...]) -> frozenset[str]:
    """Return all members in ``NEEDS`` of the envelopes in some folders, from the source texts of their modules."""
    return frozenset(name for item in items(folders) for name in _MEMBER.findall(declaration(item, "NEEDS")))


@cache
def _by_precedence(folders: tuple[str, ...]) -> list[tuple[frozenset[str], Envelope]]:
    """Return each set of required members with its envelope, in the order in which the envelopes are tried.

    Those that require the most members are first.
    """
    del folders
    # Otherwise an envelope with few required members would match the lines of more specific envelopes.
    by_size = sorted(envelopes(), key=lambda each: (each is PLAIN, -min(map(len, each.NEEDS))))
    return [(needed, each) for each in by_size for needed in each.NEEDS]


@lru_cache(maxsize=1024)  # the lines of a log have few combinations of members
def _candidates(names: tuple[str, ...], folders: tuple[str, ...]) -> list[Envelope]:
    """Return the envelopes of which a line with these members has all that are required, in order of precedence."""
    line = frozenset(names)
    return [each for needed, each in _by_precedence(folders) if line >= needed]


def _of_members(line: Members) -> Envelope | None:
    """Return the envelope of a line with these members, or ``None``."""
    for each in _candidates(tuple(line), tuple(__path__)):
        if each.fits(line):
            return each
    return None


def recognise(line: bytes) -> Envelope | None:
    """Return the envelope of a line, or ``None`` if it has none or is not a JSON object."""
    if len(line) < _LONG:
        raw = members(line)
        return _of_members(raw) if raw else None
    # A document that is one long line is examined several times while its format is detected.
    key = xxh3_128_digest(line)
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        raw = members(line)
        _known[key] = _of_members(raw) if raw else None
    return _known[key]


def exchange_members(line: bytes) -> Members | None:
    """Return the members of a line in the standard envelope, or ``None`` for a line without an envelope."""
    raw = members(line)
    envelope = _of_members(raw) if raw else None
    if envelope is None or envelope.unwrap is None:
        return raw if envelope else None
    return members(unwrap(line, envelope))


def unwrap(line: bytes, envelope: Envelope) -> bytes:
    """Return the line in the standard envelope; unchanged if it already is, or if the envelope does not fit."""
    if envelope.unwrap is None:
        return line
    raw = members(line)
    if not raw:
        return line
    own = _of_members(raw)
    if own is not envelope and not _fits(envelope, raw):
        return line
    exchange = {} if _is_non_exchange(raw, own) else dict(envelope.unwrap(raw))
    exchange.pop("problem", None)
    if cut := exchange.pop("cut", None):
        exchange["truncated_by_logger"] = cut
    return join_members(exchange)


def describe_non_exchange(line: bytes, envelope: Envelope) -> str | None:
    """Describe a line that is not an exchange, if its envelope recognizes such lines."""
    raw = members(line) if envelope.describe_non_exchange else None
    return (
        envelope.describe_non_exchange(raw) if envelope.describe_non_exchange and raw and _fits(envelope, raw) else None
    )


def problem(line: bytes, envelope: Envelope) -> str | None:
    """Return why a line has no request, if its envelope provides the reason."""
    raw = members(line) if envelope.unwrap else None
    if not (envelope.unwrap and raw and _fits(envelope, raw)):
        return None
    reason = envelope.unwrap(raw).get("problem")
    return str(jsonio.loads(reason)) if reason else None


def _fits(envelope: Envelope, line: Members) -> bool:
    names = line.keys()
    for needed in envelope.NEEDS:
        if names >= needed:
            return envelope.fits(line)
    return False


def scores_of(line: bytes, envelope: Envelope) -> tuple[Score, ...]:
    """Return the scores in a line; it is parsed only if it contains a name of scores."""
    if envelope.scores is None or not any(name in line for name in envelope.SCORES):
        return ()
    raw = members(line)
    return envelope.scores(raw) if raw and _fits(envelope, raw) else ()


def score_rows_of(line: bytes, envelope: Envelope) -> list[ScoreRow]:
    """Return the scores of other lines in a line."""
    if envelope.score_rows is None or not any(name in line for name in envelope.SCORE_ROWS):
        return []
    raw = members(line)
    return envelope.score_rows(raw) if raw and _fits(envelope, raw) else []


def session_of(line: Members) -> tuple[str | None, bool]:
    """Return the session id of a line, or ``None``, and whether it may be an exchange according to its envelope."""
    envelope = _of_members(line)
    return (None, False) if _is_non_exchange(line, envelope) else (_session_id(line, envelope or PLAIN), True)


def _is_non_exchange(line: Members, envelope: Envelope | None) -> bool:
    return (
        envelope is not None
        and envelope.describe_non_exchange is not None
        and envelope.describe_non_exchange(line) is not None
    )


def _session_id(line: Members, envelope: Envelope) -> str | None:
    raw = (
        (envelope.session(line) if envelope.session else first_present(line, envelope.SESSION))
        or object_members(line.get("request")).get("session_id")
        or b""
    )
    if raw[:1] != b'"' and not raw.removeprefix(b"-").isdigit():
        return None
    try:
        return str(jsonio.loads(raw))
    except ValueError:  # such a line is unreadable
        return None
