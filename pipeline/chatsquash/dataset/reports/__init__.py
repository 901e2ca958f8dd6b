"""The reports of a run: their files, and the lines that each session adds to them.

The modules that declare them are discovered in this folder. Lines with places of records are buffered until these
places are known.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from msgspec import Struct

from chatsquash.core.accounting import Usage
from chatsquash.core.log import Log
from chatsquash.core.model import Finding
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome, Place
from chatsquash.core.registry import Room
from chatsquash.dataset.choice import Selection

if TYPE_CHECKING:
    from chatsquash.dataset.store import Output

_PIECE = 1 << 20
ReportLine = tuple[str, bytes]
"""A file of a report, as a path under the output folder, and a line without its line feed."""


class ProcessedSession(Struct, frozen=True):
    """A session whose records have been written."""

    log: Log
    selection: Selection
    """The session after filters and duplicates."""
    outcome: Outcome
    """Its outcome as written, without removed records."""
    places: list[Place]
    """The places of its records."""
    group: str
    """The label of its group by ``--group-by``."""
    kept_lines: int = 0
    """Number of its malformed lines that were copied."""
    usages: Sequence[Usage] = ()
    """The use of tools in each of its records; a call in several of them counts once."""

    @property
    def turns(self) -> int | None:
        """Assistant turns of its first record, even if that was filtered."""
        return self.selection.turns

    @property
    def filtered(self) -> str | None:
        """The first option that filtered its records, or ``None`` if any remain."""
        return self.selection.why


class Report:
    """The base of reports; its methods add nothing."""

    def add(self, session: ProcessedSession) -> Iterable[ReportLine]:
        """Return the lines of a session."""
        del session
        return ()

    def note(self, finding: Finding) -> Iterable[ReportLine]:
        """Return the lines of a finding that is not about a session."""
        del finding
        return ()

    def render(self) -> Iterable[ReportLine]:
        """Return the content that depends on all sessions: complete files, or the last lines of others."""
        return ()


class ReportDeclaration(Struct, frozen=True, eq=False):
    """The declaration of a report."""

    files: tuple[str, ...]
    """Paths under the output folder."""
    report: Callable[[Options], Report | None]
    """Returns the report of a run, or ``None`` if the options request none."""
    is_complete: bool = False
    """Whether the files are written completely by ``render`` instead of line by line."""
    has_places: bool = False
    """Whether its lines contain places of records, which may only be known at the end of the run."""


class ReportModule(Struct, frozen=True, eq=False):
    """The declarations of a module."""

    REPORTS: tuple[ReportDeclaration, ...]


_ROOM: Room[ReportModule] = Room(ReportModule, sys.modules[__name__])


def declarations() -> list[ReportDeclaration]:
    """Return the declarations of all reports, by module."""
    return [each for module in _ROOM.all().values() for each in module.REPORTS]


_Write = Callable[[str, bytes], None]
R = TypeVar("R", bound=Report)


class Reports:
    """Passes the sessions of a run to every report, in order."""

    def __init__(self, out: Output, options: Options) -> None:
        self._out = out
        self._buffer = _LineBuffer(out) if options.folder else None
        self._reports: list[tuple[Report, _Write, _Write]] = []
        for each in declarations():
            out.refuse_foreign(*each.files)  # checked now to fail before the conversion rather than after it
            report = each.report(options)
            if report is None:
                continue
            if not each.is_complete:
                for name in each.files:
                    out.write(name, b"")
            append = self._buffer.append if self._buffer and each.has_places else out.append
            self._reports.append((report, append, out.write if each.is_complete else append))

    def add(self, session: ProcessedSession) -> None:
        """Add a processed session."""
        for report, append, _ in self._reports:
            for name, line in report.add(session):
                append(name, line)

    def note(self, finding: Finding) -> None:
        """Add a finding that is not about a session."""
        for report, append, _ in self._reports:
            for name, line in report.note(finding):
                append(name, line)

    def render(self) -> None:
        """Write the reports that depend on all sessions."""
        for report, _, write in self._reports:
            for name, data in report.render():
                write(name, data)

    def find(self, kind: type[R]) -> R | None:
        """Return the report of a kind, or ``None`` if the options do not request it."""
        return next((report for report, _, _ in self._reports if isinstance(report, kind)), None)

    def close(self, final: dict[str, str]) -> None:
        """Write the buffered lines, with placeholders in places replaced as in ``final``."""
        if self._buffer:
            self._buffer.close(final)


class _LineBuffer:
    """Lines buffered in temporary files, because they may need too much memory."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._files: dict[str, BinaryIO] = {}

    def append(self, name: str, line: bytes) -> None:
        if name not in self._files:
            self._files[name] = self._out.scratch()
        self._files[name].write(line + b"\n")

    def close(self, final: dict[str, str]) -> None:
        for name, file in self._files.items():
            with file:
                file.seek(0)
                while piece := file.read(_PIECE):
                    # Completes the last line, so that no placeholder is divided.
                    piece += b"" if piece.endswith(b"\n") else file.readline()
                    for unknown, known in final.items():
                        piece = piece.replace(unknown.encode(), known.encode())
                    self._out.write(name, piece)
