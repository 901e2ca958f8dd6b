"""A session log that was found."""

from __future__ import annotations

from array import array
from bisect import bisect_left

from msgspec import Struct

_ELSEWHERE = 1 << 63
"""Set in numbers that stand for lines of agents' files that a session is joined with."""
_LINE, _NTH = 26, 24
"""Bits of such a number for the line, and for what tells several replies of a line apart; the rest are the file's."""
MOST_AGENTS = 1 << 63 - _LINE - _NTH
"""Conversations that a session may be joined with."""


def line_elsewhere(agent: int, line: int, nth: int) -> int:
    """The number of a line, 0 where that is not known, in the file of one of the agents of a session."""
    return _ELSEWHERE | agent << _LINE + _NTH | min(line, (1 << _LINE) - 1) << _NTH | nth


def is_elsewhere(line: int) -> bool:
    """Whether a number is that of a line in the file of an agent."""
    return line >= _ELSEWHERE


class Piece(Struct, frozen=True):
    """A file that holds some of a session's lines, which are numbered as if its files stood behind one another."""

    path: str
    """What to open."""
    display_path: str
    line: int
    """How many lines are counted before its first one."""
    offset: int
    """How many bytes are."""
    size: int
    """Its own, as it was found."""
    modified: int | None
    """As in ``Log``."""


class Join(Struct, frozen=True):
    """What a session is joined with."""

    agents: tuple[Log, ...] = ()
    """The conversations in agents' files that are of a gateway's session."""
    elsewhere: tuple[int, ...] = ()
    """The keys of replies in these that another session of a gateway has, as in ``session.join.files``."""
    gateway: str = ""
    """Of an agent's conversation the log, as reports show it, of the session that it is of."""


class Log(Struct, frozen=True):
    """One session log to convert."""

    path: str
    """What to open."""
    display_path: str
    """The path as reports show it."""
    name: str
    """The path below the LOGS argument it came from, parts joined by ``/``."""
    size: int
    """Bytes."""
    spans: array[int] | None = None
    """Its lines, where the file holds other sessions, too: of each its number, its offset, its length in bytes, and
    that of its line feed."""
    part: int | None = None
    """Which conversation of a document it is, where there are several."""
    unit: bytes | None = None
    """Where in a file of many sessions, which are read one at a time, the one stands that it is."""
    unit_lines: int = 1
    """The lines that such a unit counts for."""
    modified: int | None = None
    """When the file was last changed, as it was found, in nanoseconds since the epoch; ``None`` if nobody looked.

    Of one in a store what its tag comes to in 63 bits."""
    container_size: int | None = None
    """Bytes of the file, where ``size`` is that of the session's own lines."""

    @property
    def identity(self) -> str:
        """What identifies a session without an id: its name, and its first line if it is not that of the file."""
        first = self.spans[0] if self.spans else 1
        return self.name if first == 1 else f"{self.name}:{first}"

    @property
    def is_part(self) -> bool:
        """Whether it is a part of what its file holds."""
        return self.spans is not None or self.part is not None or self.unit is not None

    @property
    def file_size(self) -> int:
        """Bytes of the file, as it was found."""
        return self.size if self.container_size is None else self.container_size

    @property
    def is_copy(self) -> bool:
        """Whether what is opened is a copy of what is in it; of a URL only the query is not shown."""
        return self.path != self.display_path and not self.path.startswith(
            (f"{self.display_path}?", f"{self.display_path}#")
        )

    cut: str | None = None
    """Why the rest of a file was not read, of which this is the last session."""
    separate_sessions: int = 0
    """How many sessions its file holds of which no request goes on from another; 0 but for the first of them."""
    grouped_sessions: int = 0
    """How many sessions its file has that were grouped by id without an option; 0 but for the first of them."""
    reordered_lines: int | None = None
    """How many of its lines stood behind later ones, which ``spans`` have in the order of their times; ``None``: they
    are in the order of the file."""
    pieces: tuple[Piece, ...] = ()
    """The files that hold its lines, where these are several; numbers and offsets in ``spans`` count over all."""
    number: int = 0
    """Which of the logs of a run it is, or is of; from 0."""
    join: Join | None = None
    """What it is joined with, where that is asked for."""

    @property
    def other_files(self) -> tuple[str, ...]:
        """The other files that hold some of the session, as reports show them."""
        return (*(piece.display_path for piece in self.pieces), *(agent.display_path for agent in self.agents))

    @property
    def agents(self) -> tuple[Log, ...]:
        """The conversations in agents' files that it is joined with."""
        return self.join.agents if self.join else ()

    def at(self, line: int | None) -> tuple[str, int | None]:
        """The file of a line as reports show it, and the number of the line there."""
        if line is None:
            return self.display_path, None
        if is_elsewhere(line):
            agent = self.agents[(line ^ _ELSEWHERE) >> _LINE + _NTH]
            return agent.display_path, (line >> _NTH) % (1 << _LINE) or None
        return self.place(line, 0)[:2]

    def place(self, line: int, offset: int) -> tuple[str, int, int]:
        """The same, and a place in that file."""
        if not self.pieces:
            return self.display_path, line, offset
        piece = self.pieces[max(0, bisect_left(self.pieces, line, key=lambda each: each.line) - 1)]
        return piece.display_path, line - piece.line, offset - piece.offset
