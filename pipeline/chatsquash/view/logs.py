"""The logs of a result: entries, the outcome of each reply, and single requests, read again from the log."""

from __future__ import annotations

import os
from collections import Counter, OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import TYPE_CHECKING

from anyio import CapacityLimiter

from chatsquash.core.accounting import ReplyOutcome
from chatsquash.core.errors import ChatsquashError, UsageError
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome
from chatsquash.core.text import escape, printable, quote
from chatsquash.dataset.manifest import parse_options
from chatsquash.results.types import Input
from chatsquash.results.verify import filesystem_path
from chatsquash.sources.compression import uncompressed
from chatsquash.sources.lines import lines
from chatsquash.sources.names import ARCHIVE_SCHEME, LOGS
from chatsquash.sources.open import open_log
from chatsquash.storage import is_remote
from chatsquash.view.result import ReplacedError, ViewerResult
from chatsquash.view.watching import EntryRow, EntryWatch, LoggedRequest, MessageRow, RequestReadError, Seeker

if TYPE_CHECKING:
    from chatsquash.session.converter import Converter
    from chatsquash.view.against import Against
    from chatsquash.view.pages.template import Model

_GROUPS = ("cleaning", "sessions", "shape", "reading", "bounds")
"""The groups of options that affect how logs are read.

Other options need files, select records or hide private data, while pages about a log show it unchanged.
"""
_CACHE_SIZE = 4
"""Sessions whose entries are cached."""
_NAMESAKES = 10_000
"""Rows of sessions with the same name in one log that are searched."""
_PATH = 1_000
"""Characters of a path in an error."""
_RELATED = 50
"""Parts of an agent's session that are read."""
RAW = 64 << 20
"""Bytes of the longest line of a log that is shown."""
_SMALL = 20 << 20
"""Bytes of a log that is read without being requested, for the facts about the replies of a record."""
_SEARCHES = 2
"""Searches that run at the same time; others wait."""


@dataclass(frozen=True, slots=True)
class LoggedSession:
    """A session as read from its log."""

    log: Log
    outcome: Outcome
    rows: tuple[EntryRow, ...]
    messages: tuple[MessageRow, ...]
    """The messages of an agent's or a client's file, which contains no requests."""
    format: str
    """The evidence for the format, as text."""
    changed: bool
    """Whether the log has changed since it was converted."""

    @property
    def replies(self) -> list[ReplyOutcome]:
        """The outcome of each reply."""
        return self.outcome.replies.rows

    @property
    def is_in_lines(self) -> bool:
        """Whether the lines of the file can be shown by number."""
        return not self.log.is_copy and PurePosixPath(uncompressed(self.log.name)).suffix.lower() in LOGS


Rows = dict[int, int]
"""Rows of the session table by the index of the record within its session, from 0."""


class NoLogError(ChatsquashError):
    """A log cannot be read; the message is shown on the page."""


class SessionLogs:
    """Reads the logs of a result, with a small cache."""

    def __init__(self, result: ViewerResult) -> None:
        self._result = result
        self._lock = Lock()
        self._last: OrderedDict[int, LoggedSession] = OrderedDict()
        self._same: list[list[int]] = []
        """The rows of the sessions with the same log and name as the last one that was requested."""

    @cached_property
    def _options(self) -> Options:
        """The options of the run that affect reading; raises ``UsageError`` if ``run.json`` has unknown ones."""
        options = {**parse_options(self._result.options, _GROUPS), "join": False}  # only this log is read
        return Options(**options, anonymize=False, integrity_analysis=False, trace_replies=True)

    def look(self, at: int) -> LoggedSession:
        """Return the session of a row of the session table; raise ``NoLogError`` if it cannot be read."""
        with self._lock:  # one at a time: each may take all of a core and much memory
            if at not in self._last:
                session_log = self._look(self._log(at), [at]).get(at)
                if session_log is None:
                    raise NoLogError("the log no longer contains this session")
                self._last[at] = session_log
                if len(self._last) > _CACHE_SIZE:
                    self._last.popitem(last=False)
            self._last.move_to_end(at)
            return self._last[at]

    def is_near(self, at: int) -> bool:
        """Return whether the log of a row is cached, or small enough to be read without a request for it."""
        if at in self._last:
            return True
        try:
            return os.path.getsize(filesystem_path(self._log(at) or "")) <= _SMALL  # noqa: PTH202 - which takes any name
        except (OSError, ValueError):
            return False

    def look_at_each(self, rows: list[int]) -> dict[int, LoggedSession]:
        """Return the sessions of these rows whose logs can be read; each log is read once."""
        by_log: dict[str | None, list[int]] = {}
        for at in rows:
            by_log.setdefault(self._log(at), []).append(at)
        session_log: dict[int, LoggedSession] = {}
        with self._lock:
            for log, of_log in by_log.items():
                with suppress(NoLogError):
                    session_log |= self._look(log, of_log)
        return session_log

    def records(self, at: int, session_log: LoggedSession) -> Rows:
        """Return the rows of the records of a session, by the index of the record; none for omitted records."""
        rows_by_conversation: dict[str | None, int] = {}
        for each in next(rows for rows in self._namesakes(at) if at in rows):
            rows_by_conversation.setdefault(self._result.session_lines[each].get("conversation"), each)
        conversation_ids = [record.conversation or None for record in session_log.outcome.records]
        return {
            number: rows_by_conversation[name]
            for number, name in enumerate(conversation_ids)
            if name in rows_by_conversation
        }

    def related(self, at: int) -> list[int]:
        """Return the first rows of sessions with the same id and format, since agents split sessions into parts."""
        frame = self._result.sessions
        row = frame.row(at, named=True)
        same = (frame["session"] == row["session"]) & (frame["format"].cast(str) == row["format"])
        rows = frame.filter(same)["at"].head(_NAMESAKES).to_list()
        return list(islice(filter(self._begins, rows), _RELATED))

    def request(self, session_log: LoggedSession, line: int) -> LoggedRequest:
        """Return a request and the one before it; raise ``NoLogError`` if it cannot be read."""
        from chatsquash.session.converter import Converter

        seeker = Seeker(line)
        try:
            Converter(self._options).convert(session_log.log, seeker)
        except RequestReadError:
            pass
        except OSError as problem:
            raise NoLogError(f"the log cannot be read ({problem.strerror})") from None
        if seeker.request is None:
            raise NoLogError(f"the log has no entry on line {line:,}")
        return seeker.request

    def raw(self, session_log: LoggedSession, line: int) -> bytes:
        """Return a line of the log unchanged; raise ``NoLogError`` if it cannot be read."""
        if not session_log.is_in_lines:
            raise NoLogError("the log is not line-based")
        try:
            with open_log(session_log.log, self._options) as file:
                for each in lines(file, RAW):
                    if each.number == line:
                        return bytes(each.buffer[each.start : each.stop])
        except OSError as problem:
            raise NoLogError(f"the log cannot be read ({problem.strerror})") from None
        raise NoLogError(f"the log has no line {line:,}")

    def _log(self, at: int) -> str | None:
        log: str | None = self._result.sessions["log"][at]
        return log

    def _look(self, log: str | None, rows: list[int]) -> dict[int, LoggedSession]:
        """Return the sessions of rows of one log that the log still contains."""
        from chatsquash.dataset.option_rules import refuse_wrong
        from chatsquash.session.chains import each_session  # which takes time to import
        from chatsquash.session.converter import Converter

        known = self._result.inputs([log])[log] if log else []
        path = _log_path(log, known)
        work = partial(_looked, Converter(self._options), {each.xxh3_128 for each in known})
        refuse_wrong(self._options)
        names = self._result.sessions["session"]
        rows_by_key = {(names[at], self._before(at)): at for at in rows}
        session_log: dict[int, LoggedSession] = {}
        seen: Counter[str] = Counter()
        try:
            for each in each_session([path], self._options, work):
                name = printable(each.outcome.session)
                if (at := rows_by_key.get((name, seen[name]))) is not None:
                    session_log[at] = each
                    if len(session_log) == len(rows_by_key):
                        break
                seen[name] += 1
        except (ChatsquashError, OSError) as problem:
            raise NoLogError(f"the log cannot be read: {problem}") from None
        return session_log

    def _before(self, at: int) -> int:
        """Return how many sessions with the same name precede that of a row in its log."""
        return next(number for number, rows in enumerate(self._namesakes(at)) if at in rows)

    def _namesakes(self, at: int) -> list[list[int]]:
        """Return the rows of each session with the same log and name as a row."""
        known = self._same
        if any(at in rows for rows in known):
            return known
        frame = self._result.sessions
        same = frame.filter(frame["key"] == frame["key"][at])["at"].head(_NAMESAKES).to_list()
        sessions: list[list[int]] = []
        for each in [*same, *([] if at in same else [at])]:
            if not sessions or self._begins(each):
                sessions.append([])
            sessions[-1].append(each)
        self._same = sessions
        return sessions

    def _begins(self, at: int) -> bool:
        """Return whether a row is the first of its session."""
        line = self._result.session_lines[at]
        return line.get("record") in (None, 1) and line.get("sample") in (None, 1)


def _log_path(log: str | None, known: list[Input]) -> str:
    """Return the path of a log in the file system; raise ``NoLogError`` if it cannot be read here."""
    if not log:
        raise NoLogError("the session table does not contain the path of the log")
    short_path = log if len(log) <= _PATH else f"{log[:_PATH]}…"
    if is_remote(log.removeprefix(ARCHIVE_SCHEME)):
        raise NoLogError(f"the log is in remote storage, which the viewer does not access: {short_path}")
    if any(each.path_digest for each in known):
        raise NoLogError(f"the run replaced private parts of the path, so the log cannot be located: {short_path}")
    path = filesystem_path(log)
    is_file = _is_archived(path) if path.startswith(ARCHIVE_SCHEME) else os.path.isfile(path)  # noqa: PTH113 - takes any name
    if not is_file:
        hint = "if the path is relative, run chatsquash view in the folder where the conversion ran"
        raise NoLogError(f"the log does not exist: {short_path} ({hint})")
    return path


def _is_archived(path: str) -> bool:
    from chatsquash.sources import relatives  # few results need it

    try:
        return relatives.exists(path)
    except ChatsquashError as problem:
        raise NoLogError(f"the log cannot be read: {problem}") from None


def _looked(converter: Converter, digests: set[str], log: Log) -> LoggedSession | None:
    watch = EntryWatch()
    outcome = converter.convert(log, watch)
    if outcome is None:
        return None
    rejected = [
        EntryRow(each.line, None, each.length, 0, 0, 0, "", None, None, each.reason, each.code)
        for each in outcome.report.rejected
    ]
    rows = sorted([*watch.final_rows(), *rejected])
    why = watch.head.why if watch.head else ""
    is_changed = bool(digests) and outcome.account.digest not in digests
    return LoggedSession(log, outcome, tuple(rows), tuple(watch.messages), why, is_changed)


class Viewer:
    """The result on display and its logs; a replaced result is reopened when the list is requested."""

    def __init__(self, path: Path, model: Model | None = None, title: str = "") -> None:
        """Open a result; ``title`` is its display name. Raises ``UsageError`` if the folder contains no result."""
        self.path = path
        self.title = title or escape(str(path))
        self.model = model
        self.against: Against | None = None
        """An earlier result with which this one is compared."""
        self.searching = CapacityLimiter(_SEARCHES)
        """Limits the number of concurrent searches."""
        self._lock = Lock()
        self._result = ViewerResult(path, self.title)
        self._logs = SessionLogs(self._result)

    def page_of(self, which: str) -> str:
        """Return the URL of a session by its id or a unique prefix; raise ``UsageError`` if it is unknown."""
        from chatsquash.results.show import one_session  # which few runs need

        sessions = self._result.sessions
        id_ = one_session(sessions["session"].drop_nulls(), which, self.title)
        if id_ is None:
            raise UsageError(f"{self.title}: no session id begins with {quote(which)}, and no such file exists")
        return f"/r/{self.tag}/s/{sessions.filter(sessions['session'] == id_)['at'][0]}"

    def prepare(self) -> None:
        """Read the data of the list before its first request; errors are left for that request to report."""
        with suppress(ChatsquashError):
            _ = self._result.facets

    @property
    def result(self) -> ViewerResult:
        """The result as opened; raises ``ReplacedError`` if another run has written to the folder since."""
        if self._result.is_replaced():
            raise ReplacedError(f"{self.title} was replaced since it was opened")
        return self._result

    @property
    def is_replaced(self) -> bool:
        """Whether another run has written to the folder since the result was opened."""
        return self._result.is_replaced()

    @property
    def tag(self) -> str:
        """The tag of the result on display."""
        return self._result.tag

    def newest(self) -> tuple[ViewerResult, bool]:
        """Return the current result, and whether it replaced the one on display."""
        with self._lock:
            is_new = self._result.is_replaced()
            if is_new:
                result = ViewerResult(self.path, self.title)
                self._result, self._logs = result, SessionLogs(result)
            return self._result, is_new

    @property
    def logs(self) -> SessionLogs:
        """The logs of the result."""
        return self._logs
