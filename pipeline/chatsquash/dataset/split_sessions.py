"""Sessions that parts of are in other files, each taken for one of its own: told by ids, and by what they repeat."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chatsquash.checks import dataset
from chatsquash.core.log import Log
from chatsquash.core.model import Violation
from chatsquash.core.outcome import Outcome
from chatsquash.trees.index import Index


class Meetings:
    """Holds the sessions of a run to those that came before; of each it keeps three numbers.

    ``shown`` says how a path is told in findings.
    """

    def __init__(self, logs: Sequence[Log], shown: Callable[[str], str]) -> None:
        self._logs, self._shown_as = logs, shown
        self._file = -1
        self._shown = ""
        self._ids, self._begins, self._ends = Index(), Index(), Index()

    def take(self, log: Log, outcome: Outcome) -> Violation | None:
        """What a session has in common with one of another file."""
        if log.shown != self._shown:
            self._file, self._shown = self._file + 1, log.shown
        met, here = outcome.meeting, self._file
        if met is None:
            return None
        same = self._ids.put(met.id, here) if met.id else None
        before = self._ends.get(met.begin) if met.begin else None
        behind = self._begins.get(met.end) if met.end else None
        if met.begin:
            self._begins.put(met.begin, here)
        if met.end:
            self._ends.put(met.end, here)
        if same is None and before is None and behind is None:
            return None
        found = (("has the session_id of", same), ("goes on from", before), ("goes on in", behind))
        others = ((how, file) for how, file in found if file is not None and file != here)
        return next(
            (dataset.divided_session(how, self._shown_as(self._logs[file].shown)) for how, file in others), None
        )
