"""Join scores that are logged apart from their replies: in files next to a log, or at other lines of the same file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice

from msgspec import structs

from chatsquash.core import footprint
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import Relative
from chatsquash.core.score_rows import ScoreRow, ScoreSubject
from chatsquash.core.scores import MAX_SCORES, Score
from chatsquash.reading import envelopes
from chatsquash.reading.envelopes import Envelope
from chatsquash.reading.members import Members, members
from chatsquash.reading.sidecars import is_linked, resolve
from chatsquash.sources import relatives
from chatsquash.sources.lines import LONGEST, lines
from chatsquash.sources.open import open_file

_LONGEST = 1 << 20
"""The maximum length in bytes of a line with a score in a file next to the log."""
_GLANCE = 16
"""The number of lines of which one must be a score if the file has any."""
_DEEPEST = 1_000
"""The maximum number of steps that contain one another."""


class ScoreIndex:
    """The newest version of each score for the lines of a log, by its subject.

    Args:
        envelope: The envelope of the log.
        log: The log.
        options: The options of the run.
    """

    def __init__(self, envelope: Envelope, log: Log, options: Options) -> None:
        self._envelope, self._options = envelope, options
        self._memory = options.max_memory
        """The bytes that scores may still take."""
        self.relatives: list[Relative] = []
        """The files next to the log."""
        self._parents: dict[str, str] = {}
        """The parents of steps that are not exchanges."""
        self._tables: dict[str, list[ScoreRow]] = defaultdict(list)
        rows: dict[str, ScoreRow] = {}
        for row in self._read_rows(log):
            before = rows.get(row.id)
            if before is None or row.updated_at >= before.updated_at:
                rows[row.id] = row
        for row in rows.values():
            table = self._tables[_key(row.subject)]
            if row.score and len(table) < MAX_SCORES:
                table.append(row)
        self._sessions: dict[str, str] = {}
        """The sessions of traces, by trace."""
        if envelope.session_of_trace and any(_key(each).startswith(_OF_SESSION) for each in _subjects(rows)):
            self._read_traces(log, envelope.session_of_trace)
        if envelope.step and any(each.exchange for each in _subjects(rows)):
            self._read_steps(log, envelope.step)

    @property
    def is_empty(self) -> bool:
        """Whether there are no scores."""
        return not self._tables

    def rows(self, subject: ScoreSubject) -> Iterator[tuple[ScoreRow, bool]]:
        """Yield the scores of an exchange, each with whether it is about more than the exchange."""
        yield from ((row, False) for row in self._about(subject.exchange, subject.trace))
        for name in self._steps_above(subject):
            yield from ((row, True) for row in self._about(name, subject.trace))
        session = subject.session or self._sessions.get(subject.trace, "")
        for about in ScoreSubject(trace=subject.trace), ScoreSubject(session=session):
            yield from ((row, True) for row in self._tables.get(_key(about), ()))

    def _about(self, name: str, trace: str) -> Iterator[ScoreRow]:
        """Yield the scores of an exchange or step; some are logged without the trace."""
        for row in self._tables.get(_key(ScoreSubject(name)), ()) if name else ():
            if trace in (row.subject.trace, "") or not row.subject.trace:
                yield row

    def _steps_above(self, subject: ScoreSubject) -> list[str]:
        """Return the ids of the steps that contain an exchange."""
        above = dict.fromkeys(each for each in subject.parents if each != subject.exchange)
        last = subject.parents[-1] if subject.parents else ""
        while len(above) < _DEEPEST and (last := self._parents.get(last, "")) and last not in above:
            above[last] = None
        return [*above]

    def _read_rows(self, log: Log) -> Iterator[ScoreRow]:
        """Yield the scores in the files next to a log, and at other lines of the log itself."""
        for path in self._files(log, self._envelope.SCORE_FILES):
            is_other = True
            for number, data in self._lines(path, _LONGEST):
                rows = envelopes.score_rows_of(data, self._envelope)
                is_other = is_other and not rows
                if is_other and number == _GLANCE:
                    break
                yield from self._within_memory(data, rows)
        for path in _paths(log):
            for _, data in self._lines(path):
                if any(name in data for name in self._envelope.SCORE_ROWS):
                    yield from self._within_memory(data, envelopes.score_rows_of(data, self._envelope))

    def _within_memory(self, data: bytes, rows: list[ScoreRow]) -> list[ScoreRow]:
        self._memory -= footprint.weigh(data) if rows else 0
        return rows if self._memory > 0 else []

    def _read_steps(self, log: Log, step_of: Callable[[Members], ScoreSubject | None]) -> None:
        for path in _paths(log):
            for _, data in self._lines(path):
                step = step_of(members(data) or {})
                if step and step.parents:
                    self._parents[step.exchange] = step.parents[0]

    def _lines(self, path: str, longest: int = LONGEST) -> Iterator[tuple[int, bytes]]:
        """Yield the lines of a file with their numbers; the conversion reports lines that cannot be read."""
        with suppress(OSError), open_file(path, self._options) as file:
            for line in lines(file, longest):
                data = bytes(line.buffer[line.start : line.stop])
                yield line.number, b"" if footprint.exceeds(data, self._options.max_memory) else data

    def _read_traces(self, log: Log, session_of: Callable[[Members], ScoreSubject | None]) -> None:
        for path in self._files(log, self._envelope.TRACE_FILES):
            for _, data in self._lines(path):
                if ids := session_of(members(data) or {}):
                    self._sessions[ids.trace] = ids.session

    def _files(self, log: Log, patterns: tuple[str, ...]) -> Iterator[str]:
        """Yield the files next to a log that match globs."""
        document = relatives.absolute(log.display_path)
        folder, seen = document.rpartition("/")[0], {document}
        for pattern in filter(None, (resolve(folder, each) for each in patterns)):
            self.relatives.append(relatives.inspect_relatives(pattern))
            for path in relatives.paths_of(pattern):
                if path not in seen and (self._options.follow_links or not is_linked(path, document)):
                    seen.add(path)
                    yield path


_OF_SESSION = "s"


def _subjects(rows: dict[str, ScoreRow]) -> Iterator[ScoreSubject]:
    return (row.subject for row in rows.values())


def _key(subject: ScoreSubject) -> str:
    """Return the key of the subject of a score; empty if it is unknown."""
    for kind, name in zip(("e", "t", _OF_SESSION), subject[:3], strict=True):
        if name:
            return kind + name
    return ""


def _paths(log: Log) -> list[str]:
    return [each.path for each in log.pieces] or [log.path]


_last: tuple[object, ScoreIndex] | None = None
"""The index of the last log, for the other sessions in it."""


def forget() -> None:
    """Release the index of the last log."""
    global _last  # noqa: PLW0603 - only one per process
    _last = None


def _index(envelope: Envelope, log: Log, options: Options) -> ScoreIndex:
    global _last  # noqa: PLW0603 - as above
    key = (envelope.NAME, log.display_path, log.pieces)
    if _last is None or _last[0] != key:
        _last = key, ScoreIndex(envelope, log, options)
    return _last[1]


class ScoreJoin:
    """Joins the exchanges of a session with the scores that are logged apart from them."""

    def __init__(self, envelope: Envelope, log: Log, options: Options) -> None:
        self._envelope, self._log, self._options = envelope, log, options
        self._index: ScoreIndex | None = None
        self.ids: dict[str, None] = {}
        """The ids of the scores of the session's replies."""

    @property
    def relatives(self) -> list[Relative]:
        """The files that were read."""
        return self._index.relatives if self._index else []

    def scores(self, line: bytes) -> tuple[Score, ...]:
        """Return the scores of an exchange."""
        self._index = self._index or _index(self._envelope, self._log, self._options)
        if self._index.is_empty or self._envelope.subject is None:
            return ()
        subject = self._envelope.subject(members(line) or {})
        scores: list[Score] = []
        for row, is_shared in islice(self._index.rows(subject), MAX_SCORES):
            assert row.score
            self.ids[row.id] = None
            scores.append(structs.replace(row.score, is_shared=is_shared))
        return tuple(scores)
