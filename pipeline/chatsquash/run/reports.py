"""The reports on findings, rejected lines and sessions, which name records by where they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from chatsquash.model import Finding, Log, Outcome, Place
from chatsquash.report import findings, sessions
from chatsquash.write.store import Output

REPORT, FINDINGS, REJECTED, SESSIONS = (
    f"reports/{name}" for name in ("integrity-report.txt", "findings.jsonl", "rejected.jsonl", "sessions.jsonl")
)
_PIECE = 1 << 20


class Reports:
    """Takes what became of sessions in order.

    ``later``: parts of places are known at the end only, so lines wait for them in files of their own.
    """

    def __init__(self, out: Output, *, later: bool) -> None:
        self._out = out
        for name in (REPORT, FINDINGS, REJECTED, SESSIONS):
            out.write(name, b"")
        self._waiting = _Waiting(out) if later else None
        self._append: Callable[[str, bytes], None] = self._waiting.append if self._waiting else out.append

    def add(self, log: Log, outcome: Outcome, place: Place | None, turns: int | None, filtered: str | None) -> None:
        """What became of a session: where its record stands, its assistant's turns, and what filtered it."""
        if outcome.findings:
            record = str(place) if place else None
            for finding in outcome.findings:
                self._finding(finding, record, filtered)
        for rejected in outcome.rejected:
            self._out.append(REJECTED, findings.rejected_as_json(log.shown, rejected))
        self._append(SESSIONS, sessions.as_json(log, outcome, place, turns, filtered))

    def note(self, finding: Finding) -> None:
        """A finding about no session."""
        self._finding(finding, None, None)

    def close(self, final: dict[str, str]) -> None:
        """Write what waits; ``final`` says what takes the place of parts of places."""
        if self._waiting:
            self._waiting.close(final)

    def _finding(self, finding: Finding, record: str | None, filtered: str | None) -> None:
        text = findings.as_text(finding, "filtered" if filtered else record or "")
        self._append(REPORT, text.encode("utf-8", "backslashreplace"))
        self._append(FINDINGS, findings.as_json(finding, record, filtered))


class _Waiting:
    """Lines that wait in files without names, since there may be more than memory should hold."""

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
                for piece in _lines(file):
                    for unknown, known in final.items():
                        piece = piece.replace(unknown.encode(), known.encode())  # noqa: PLW2901
                    self._out.write(name, piece)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """What was written to a file, in pieces of whole lines."""
    file.seek(0)
    while piece := file.read(_PIECE):
        yield piece + (file.readline() if not piece.endswith(b"\n") else b"")
