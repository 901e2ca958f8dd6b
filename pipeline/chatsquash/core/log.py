"""A session log among the inputs, and the files that contain its lines."""

from __future__ import annotations

from array import array
from bisect import bisect_left

from msgspec import Struct

_ELSEWHERE = 1 << 63
"""The bit that marks line numbers in agents' files with which a session is joined."""
_LINE, _NTH = 26, 24
"""The number of bits for the line, and for the number of the reply in the line; the other bits identify the file."""
MOST_AGENTS = 1 << 63 - _LINE - _NTH
"""The maximum number of conversations that a session may be joined with."""


def line_elsewhere(agent: int, line: int, nth: int) -> int:
    """Return the number for a line (0 if unknown) in the file of one of a session's agents."""
    return _ELSEWHERE | agent << _LINE + _NTH | min(line, (1 << _LINE) - 1) << _NTH | nth


def is_elsewhere(line: int) -> bool:
    """Return whether a number refers to a line in an agent's file."""
    return line >= _ELSEWHERE


class Piece(Struct, frozen=True):
    """A file with some of a session's lines, which are numbered as if the files were concatenated."""

    path: str
    """The path or URL to open."""
    display_path: str
    line: int
    """The number of lines in the preceding files."""
    offset: int
    """The number of bytes in the preceding files."""
    size: int
    """The size of the file in bytes when the inputs were listed."""
    modified: int | None
    """As in ``Log``."""


class Join(Struct, frozen=True):
    """The files with which a session is joined."""

    agents: tuple[Log, ...] = ()
    """The conversations in agents' files that belong to the gateway's session."""
    elsewhere: tuple[int, ...] = ()
    """The keys of their replies that another gateway session contains, as in ``session.join.files``."""
    gateway: str = ""
    """For an agent's conversation: the log of the session to which it belongs, as shown in reports."""


class Log(Struct, frozen=True):
    """One session log to convert."""

    path: str
    """The path or URL to open."""
    display_path: str
    """The path as shown in reports."""
    name: str
    """The path under its LOGS argument, with parts joined by ``/``."""
    size: int
    """The size in bytes."""
    spans: array[int] | None = None
    """The lines of the session, if the file also contains others: for each line its number, offset, length in bytes and
    line feed length.
    """
    part: int | None = None
    """The index of the conversation in a document with several."""
    unit: bytes | None = None
    """The position of the session in a file with many sessions that are read one at a time."""
    unit_lines: int = 1
    """The number of lines that such a unit counts as."""
    modified: int | None = None
    """The modification time in nanoseconds since the epoch; ``None`` if it was not determined.

    For a file in a store, a 63-bit hash of its tag.
    """
    container_size: int | None = None
    """The size of the file in bytes, if ``size`` counts only the session's own lines."""

    @property
    def identity(self) -> str:
        """The identity of a session without an id: the name, and the first line unless that is line 1."""
        first = self.spans[0] if self.spans else 1
        return self.name if first == 1 else f"{self.name}:{first}"

    @property
    def is_part(self) -> bool:
        """Whether the file contains more than this session."""
        return self.spans is not None or self.part is not None or self.unit is not None

    @property
    def file_size(self) -> int:
        """The size of the file in bytes when the inputs were listed."""
        return self.size if self.container_size is None else self.container_size

    @property
    def is_copy(self) -> bool:
        """Whether ``path`` is a copy of the displayed file; a URL that is displayed without its query is not a copy."""
        return self.path != self.display_path and not self.path.startswith(
            (f"{self.display_path}?", f"{self.display_path}#")
        )

    cut: str | None = None
    """The reason why the rest of the file was not read; set for its last session."""
    separate_sessions: int = 0
    """The number of unrelated sessions in the file; set for the first of them, 0 for the others."""
    grouped_sessions: int = 0
    """The number of sessions in the file that were grouped by id by default; set for the first, 0 for the others."""
    reordered_lines: int | None = None
    """The number of lines logged after later ones, if ``spans`` are sorted by time; ``None`` if in file order."""
    pieces: tuple[Piece, ...] = ()
    """The files with its lines, if there are several; numbers and offsets in ``spans`` count across all of them."""
    number: int = 0
    """The 0-based number in the run, of the log or of the log that contains it."""
    join: Join | None = None
    """The files with which the session is joined, if joining is requested."""

    @property
    def other_files(self) -> tuple[str, ...]:
        """The other files with parts of the session, as shown in reports."""
        if not (self.pieces or self.join):
            return ()
        return (*(piece.display_path for piece in self.pieces), *(agent.display_path for agent in self.agents))

    @property
    def agents(self) -> tuple[Log, ...]:
        """The conversations in agents' files with which the session is joined."""
        return self.join.agents if self.join else ()

    def at(self, line: int | None) -> tuple[str, int | None]:
        """Return the file of a line as shown in reports, and the line number in that file."""
        if line is None:
            return self.display_path, None
        if is_elsewhere(line):
            agent = self.agents[(line ^ _ELSEWHERE) >> _LINE + _NTH]
            return agent.display_path, (line >> _NTH) % (1 << _LINE) or None
        return self.place(line, 0)[:2]

    def place(self, line: int, offset: int) -> tuple[str, int, int]:
        """Return the file of a line of the session, with the line number and the byte offset in that file."""
        if not self.pieces:
            return self.display_path, line, offset
        piece = self.pieces[max(0, bisect_left(self.pieces, line, key=lambda each: each.line) - 1)]
        return piece.display_path, line - piece.line, offset - piece.offset
