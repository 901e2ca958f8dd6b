"""Sessions that parts of are in other files, each taken for one of its own: told by ids, and by what they repeat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chatsquash.checks import dataset
from chatsquash.log import Log
from chatsquash.model import Found
from chatsquash.outcome import Meeting, Outcome
from chatsquash.tree.index import Index


class Meetings:
    """Holds the sessions of a run to those that came before; of each it keeps three numbers."""

    def __init__(self, logs: Sequence[Log]) -> None:
        self._logs = logs
        self._file = -1
        self._shown = ""
        self._ids, self._begins, self._ends = Index(), Index(), Index()

    def take(self, log: Log, outcome: Outcome) -> Iterator[Found]:
        """What a session has in common with one of another file."""
        if log.shown != self._shown:
            self._file, self._shown = self._file + 1, log.shown
        met = outcome.meeting
        if met is None:
            return
        if met.id and (other := self._other(self._ids, met.id)) is not None:
            yield dataset.divided_session("has the session_id of", self._logs[other].shown)
        elif met.begin and (other := self._other(self._ends, met.begin)) is not None:
            yield dataset.divided_session("goes on from", self._logs[other].shown)
        elif met.end and (other := self._other(self._begins, met.end)) is not None:
            yield dataset.divided_session("goes on in", self._logs[other].shown)
        self._keep(met)

    def _other(self, index: Index, key: int) -> int | None:
        found = index.get(key)
        return None if found == self._file else found

    def _keep(self, met: Meeting) -> None:
        for index, key in ((self._ids, met.id), (self._begins, met.begin), (self._ends, met.end)):
            if key:
                index.put(key, self._file)
