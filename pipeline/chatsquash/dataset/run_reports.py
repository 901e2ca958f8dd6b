"""The reports of a run. Lines with places of records are buffered until these places are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, TypeVar

from chatsquash.core.model import Finding
from chatsquash.core.options import Options
from chatsquash.dataset.reports import ProcessedSession, Report, all_modules
from chatsquash.dataset.store import Output

_PIECE = 1 << 20
_Write = Callable[[str, bytes], None]
R = TypeVar("R", bound=Report)


class Reports:
    """Passes the sessions of a run to every report, in order."""

    def __init__(self, out: Output, options: Options) -> None:
        self._out = out
        self._buffer = _LineBuffer(out) if options.folder else None
        self._reports: list[tuple[Report, _Write, _Write]] = []
        for module in all_modules():
            out.refuse_foreign(*module.FILES)  # checked now to fail before the conversion rather than after it
            report = module.report(options)
            if report is None:
                continue
            if not module.WHOLE:
                for name in module.FILES:
                    out.write(name, b"")
            append = self._buffer.append if self._buffer and module.PLACES else out.append
            self._reports.append((report, append, out.write if module.WHOLE else append))

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
