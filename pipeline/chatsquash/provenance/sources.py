"""The files of a session as sources of its texts: first the line that became the record, then everything."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from chatsquash.core import times
from chatsquash.core.accounting import ReplyEvidence, ReplyOutcome
from chatsquash.core.log import Log, is_elsewhere
from chatsquash.provenance.files import LogFile, Spans
from chatsquash.provenance.index import Copy, Piece, StringIndex
from chatsquash.provenance.replay import replay
from chatsquash.provenance.values import MessageOrigin, SourceReply

_TIMES = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[0-9:.,+Z-]*|\d{9,19}(?:\.\d+)?")
"""Times in ISO 8601, and numbers that may be times."""
_END = 1 << 10
_NEAR = 1 << 16
"""The bytes around a message in which its time is searched, in a file with one value in several lines."""
_SPAN = 4  # the numbers of each line in Log.spans


class Sources:
    """The files of a session."""

    def __init__(self, files: list[LogFile | None], log: Log) -> None:
        self._files, self._log = files, log
        self._own = len(log.pieces) or 1
        self._lines: dict[int, tuple[int, int, int]] = {}
        """For a file with several sessions: the file, offset and length of each line of this one."""
        if log.spans and not (files[0] and files[0].is_unfolded):
            for at in range(0, len(log.spans), _SPAN):
                number, offset, length, _ = log.spans[at : at + _SPAN]
                piece = self._piece(number)
                self._lines[number] = piece, offset - (log.pieces[piece].offset if log.pieces else 0), length
        self._first: tuple[int, StringIndex] | None = None
        self._rewound_indexes: list[StringIndex] = []
        """The indexes that have begun from their first string for this record."""

    @property
    def are_readable(self) -> bool:
        """Whether all files could be read."""
        return all(self._files)

    def select(self, line: int | None) -> None:
        """Select the line that became the next record."""
        place = self._place(line) if line else None
        file = self._files[place[0]] if place else None
        self._first = (place[0], file.index(((place[1], place[1] + place[2]),))) if file and place else None
        self._rewound_indexes.clear()

    def all(self) -> Iterator[tuple[int, StringIndex]]:
        """Yield the indexes of strings, each with the number of its file."""
        if self._first:
            yield self._from_start(*self._first)
        for number, file in enumerate(self._files):
            if file and (spans := self._spans(number)) is not None:
                yield self._from_start(number, file.index(spans))

    def _from_start(self, number: int, index: StringIndex) -> tuple[int, StringIndex]:
        """Return an index, which begins from its first string for each record."""
        if all(index is not each for each in self._rewound_indexes):
            index.rewind()
            self._rewound_indexes.append(index)
        return number, index

    def _spans(self, number: int) -> Spans | None:
        if not self._lines or number >= self._own:
            return ()
        spans = tuple((offset, offset + length) for file, offset, length in self._lines.values() if file == number)
        return spans or None

    def _piece(self, line: int) -> int:
        return max(0, bisect_left(self._log.pieces, line, key=lambda each: each.line) - 1) if self._log.pieces else 0

    def _place(self, line: int) -> tuple[int, int, int] | None:
        """Return the file, the offset and the length of a line of the session, if the file could be read."""
        if line in self._lines:
            place = self._lines[line]
            return place if self._files[place[0]] else None
        if is_elsewhere(line):
            path, number = self._log.at(line)
            agents = [agent.display_path for agent in self._log.agents]
            file = self._own + agents.index(path)
        else:
            file = self._piece(line)
            number = line - (self._log.pieces[file].line if self._log.pieces else 0)
        log_file = self._files[file]
        span = log_file.line(number) if log_file and number and not log_file.is_unfolded else None
        return (file, span[0], span[1] - span[0]) if span else None

    def replay(self, pieces: Iterable[tuple[int, Piece]]) -> bytes | None:
        """Return the text that pieces lead to."""
        parts = []
        for file, piece in pieces:
            if isinstance(piece, Copy):
                log_file = self._files[file]
                part = replay(log_file.data, piece.steps) if log_file else None
                if part is None:
                    return None
                parts.append(part)
            else:
                parts.append(piece.text)
        return b"".join(parts)

    def place(self, origin: MessageOrigin, pieces: list[tuple[int, Piece]]) -> MessageOrigin:
        """Return an origin with the place of its message in the log."""
        copies = [
            (file, piece) for file, piece in pieces if isinstance(piece, Copy) and isinstance(piece.steps[0][0], int)
        ]
        if not copies:
            return origin
        file = copies[0][0]
        log_file = self._files[file]
        assert log_file
        start = min(piece.steps[0][0] for number, piece in copies if number == file)
        stop = max(piece.steps[0][1] for number, piece in copies if number == file)
        line, offset = log_file.line_at(start)
        return replace(origin, file=file, line=line, offset=offset, start=start, stop=stop)

    def reply(self, row: ReplyOutcome, origin: MessageOrigin) -> SourceReply | None:
        """Return the place of a logged reply; if its line is not known, that of its message."""
        evidence = row.evidence or ReplyEvidence(None, None, "")
        place = self._place(evidence.line) if evidence.line else None
        if place is None and origin.file is not None and origin.line is not None:
            log_file = self._files[origin.file]
            span = log_file.line(origin.line) if log_file else None
            place = (origin.file, span[0], span[1] - span[0]) if span else None
        if place is None:
            return None
        file, offset, size = place
        log_file = self._files[file]
        assert log_file
        number = log_file.line_at(offset)[0]
        model_at = _model(log_file.data, evidence.model.encode("utf-8", "surrogatepass"), offset, offset + size)
        time = "" if evidence.time is None else times.stamp(evidence.time)
        time_at: tuple[int, ...] = ()
        if evidence.time is not None:
            ranges = _ranges((offset, offset + size), (origin.start or offset, origin.stop or offset))
            times_at = (_time(log_file.data, evidence.time, *each) for each in ranges)
            time_at = next(filter(None, times_at), ())
        return SourceReply(file, number, evidence.model, time, model_at, time_at)


def _model(data: bytes, model: bytes, start: int, stop: int) -> tuple[int, ...]:
    """Return the range that spells a model: the last one in the line of a reply, or else the first one in the file."""
    if not model:
        return ()
    at = data.rfind(model, start, stop)
    at = data.find(model) if at < 0 else at
    return (at, at + len(model)) if at >= 0 else ()


def _ranges(line: tuple[int, int], message: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Yield where the time of a reply may be: at the ends of its line, within it, or around its message."""
    start, stop = line
    yield start, min(start + _END, stop)
    yield max(start, stop - _END), stop
    yield line
    yield max(0, message[0] - _NEAR), message[1] + _NEAR


def _time(data: bytes, time: int, start: int, stop: int) -> tuple[int, ...]:
    """Return the range that spells a time."""
    for match in _TIMES.finditer(data, start, stop):
        try:
            moment = times.read(json.loads(match[0])) if match[0][:1].isdigit() and b"-" not in match[0] else None
            moment = moment or times.of_text(match[0].decode())
        except ValueError:
            continue
        if moment and moment.at == time:
            return match.span()
    return ()
