"""Compare two results session by session."""

from __future__ import annotations

import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from chatsquash.core.errors import UsageError
from chatsquash.core.outcome import Place
from chatsquash.core.text import pluralize
from chatsquash.dataset.claim import FORGOTTEN
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.results import output as outputs
from chatsquash.results.diff.sessions import SessionRows, Side
from chatsquash.results.output import Lines, OutputSource, ResultFolder
from chatsquash.results.receipts import Receipts
from chatsquash.results.types import SessionRow
from chatsquash.storage import refuse_remote
from chatsquash.storage.folder import Folder

Kind = Literal["added", "removed", "changed"]
_COLUMNS = ("session", "log", "hash", "why", "records", "digest", "file", "row", "offset", "line")
_SELECT = ", ".join(f"{side}.{name}" for side in ("a", "b") for name in _COLUMNS)
_QUERIES: dict[Kind, str] = {
    "added": "b.side = 1 AND a.side IS NULL ORDER BY b.at",
    "changed": "b.side = 1 AND a.side = 0 AND a.digest != b.digest ORDER BY b.at",
    "removed": "a.side = 0 AND b.side IS NULL ORDER BY a.at",
}
_PAIRS = "FROM paired AS {0} LEFT JOIN paired AS {1} ON {1}.side = {2} AND {1}.key = {0}.key AND {1}.nth = {0}.nth"


_SESSION_AT = "SELECT key, nth, line FROM paired WHERE side = 1 AND line <= ? ORDER BY line DESC LIMIT 1"
_SESSION_BEFORE = "SELECT line, records FROM paired WHERE side = 0 AND key = ? AND nth = ?"


class SessionState(NamedTuple):
    """A session in one of the results."""

    session: str
    log: str
    hash: str
    """The hash of its log."""
    why: str
    """The reason why it has no record; empty if it has one."""
    records: int
    digest: bytes
    """The digest of its records."""
    file: str | None
    row: int | None
    """The place of its first record."""
    offset: int | None
    line: int
    """The 0-based line of the session table with its first record."""

    def as_json(self) -> dict[str, Any]:
        """Return its records as a JSON value."""
        place = {"file": self.file, "row": self.row}
        return {"log": self.log, "records": self.records, "why": self.why or None, **place}

    def __str__(self) -> str:
        """Describe its records."""
        return self.why or pluralize(self.records, "record")


class Difference(NamedTuple):
    """A session in which the results differ."""

    kind: Kind
    reason: str
    before: SessionState | None
    """The session in the first result."""
    now: SessionState | None

    @property
    def state(self) -> SessionState:
        """The session in the second result, or else in the first."""
        state = self.now or self.before
        assert state is not None
        return state

    def as_json(self) -> dict[str, Any]:
        """Return the difference as a JSON value."""
        sides = {"before": self.before, "now": self.now}
        states = {name: each.as_json() for name, each in sides.items() if each}
        return {"session": self.state.session, "kind": self.kind, "reason": self.reason, **states}


class Comparison:
    """Two results, open for comparison until ``close``."""

    def __init__(self, first: str, second: str) -> None:
        """Compare two output folders; raise ``UsageError`` if one is not a result."""
        self._stack = ExitStack()
        try:
            self.sides = self._side(first), self._side(second)
            self.options = self._option_differences()
            """The options that differ, with both values."""
            folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="chatsquash-"))
            self._database = sqlite3.connect(
                Path(folder) / "sessions",
                isolation_level=None,
                check_same_thread=False,  # the viewer has several threads, and queries one at a time
            )
            self._stack.callback(self._database.close)
            self._database.execute("PRAGMA journal_mode = OFF")
            self._database.execute("PRAGMA synchronous = OFF")
            SessionRows(self._database, self.sides).load()
            self._receipts = [Receipts(_receipts(side.result)) for side in self.sides]
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the results, and remove the temporary database."""
        self._stack.close()

    def _side(self, path: str) -> Side:
        refuse_remote(path)
        if not outputs.is_result(Path(path)):
            raise UsageError(f"{path}: not a result of chatsquash convert; use its output folder")
        folder = self._stack.enter_context(closing(Folder(Path(path))))
        return Side(path, ResultFolder(folder), outputs.manifest(OutputSource(folder, Path(path))))

    def _option_differences(self) -> dict[str, tuple[Any, Any]]:
        before, now = (side.result.options for side in self.sides)
        names = dict.fromkeys((*before, *now))
        return {name: (before.get(name), now.get(name)) for name in names if before.get(name) != now.get(name)}

    @property
    def versions(self) -> tuple[str, str]:
        """The versions of chatsquash that wrote the results."""
        return self.sides[0].result.version, self.sides[1].result.version

    def counts(self) -> dict[str, Any]:
        """Return the number of sessions by kind and reason, and of those without a difference."""
        reasons: dict[str, Counter[str]] = {kind: Counter() for kind in _QUERIES}
        for each in self.differences():
            reasons[each.kind][each.reason] += 1
        total = self._database.execute("SELECT COUNT(*) FROM session WHERE side = 1").fetchone()[0]
        unchanged = total - reasons["added"].total() - reasons["changed"].total()
        return {**{kind: dict(counter.most_common()) for kind, counter in reasons.items()}, "unchanged": unchanged}

    def differences(self) -> Iterator[Difference]:
        """Yield the sessions that differ: added, changed, then removed ones, each in the order of the results."""
        for kind, condition in _QUERIES.items():
            names = ("a", "b", 1) if kind == "removed" else ("b", "a", 0)
            query = f"SELECT {_SELECT} {_PAIRS.format(*names)} WHERE {condition}"
            for row in self._database.execute(query):
                before, now = row[: len(_COLUMNS)], row[len(_COLUMNS) :]
                states = tuple(SessionState(*each) if each[0] is not None else None for each in (before, now))
                yield Difference(kind, self._reason(*states), *states)

    def place_before(self, line: int) -> Place | None:
        """Return the place in the first result of a record, by its line in the second one's session table."""
        now = self._database.execute(_SESSION_AT, (line,)).fetchone()
        before = self._database.execute(_SESSION_BEFORE, now[:2]).fetchone() if now else None
        if before is None or (number := line - now[2]) >= before[1]:
            return None
        facts = self._lines[before[0] + number]
        return Place(facts["file"], facts["row"], facts["offset"])

    @cached_property
    def _lines(self) -> Lines:
        """The session table of the first result."""
        return Lines(self.sides[0].result.folder, SESSIONS, SessionRow)

    def _reason(self, before: SessionState | None, now: SessionState | None) -> str:
        """Return the first reason that applies."""
        if before and now:
            return "log changed" if before.hash != now.hash else self._general_reason()
        state, other = (now, 0) if now else (before, 1)
        assert state is not None
        if self._receipts[other].find(state.session, state.log):
            return "forgotten"
        hashes = {row[0] for row in self._logs("path", other, state.log)}
        if hashes:
            return self._general_reason() if state.hash in hashes else "log changed"
        if state.hash and next(iter(self._logs("hash", other, state.hash)), None):
            return "log renamed"
        if self._receipts[other].find_request(state.session):  # its log was read from elsewhere, such as an archive
            return "forgotten"
        return "new log" if now else "log removed"

    def _logs(self, column: str, side: int, value: str) -> sqlite3.Cursor:
        query = f"SELECT hash FROM log WHERE side = ? AND {column} = ? LIMIT 1000"  # noqa: S608 - constants
        return self._database.execute(query, (side, value))

    def _general_reason(self) -> str:
        if self.options:
            return "options"
        return "version" if self.versions[0] != self.versions[1] else "other sessions"


def _receipts(result: ResultFolder) -> bytes:
    return result.folder.read(FORGOTTEN) if FORGOTTEN in result.outputs else b""
