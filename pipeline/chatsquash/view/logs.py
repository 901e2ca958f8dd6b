"""What the log of a session says: its entries, what became of each reply, and single requests, read from it anew."""

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
from chatsquash.core.urls import is_remote
from chatsquash.dataset.manifest import parse_options
from chatsquash.results.types import Input
from chatsquash.results.verify import spelled
from chatsquash.sources.compression import uncompressed
from chatsquash.sources.joined_files import open_log
from chatsquash.sources.lines import lines
from chatsquash.sources.names import LOGS
from chatsquash.view.result import ReplacedError, ViewerResult
from chatsquash.view.watching import EntryRow, EntryWatch, LoggedRequest, MessageRow, RequestReadError, Seeker

if TYPE_CHECKING:
    from chatsquash.session.converter import Converter
    from chatsquash.view.pages.template import Model

_GROUPS = ("cleaning", "sessions", "shape", "reading", "bounds")
"""The options of a run that say what its logs hold.

The others need files, choose among records or hide what is private, and pages about a log show it as it is.
"""
_KEPT = 4
"""Sessions whose entries stay in memory."""
_NAMESAKES = 10_000
"""Rows of sessions with one name in one log that are looked through."""
_PATH = 1_000
"""Characters of a path that are told."""
_RELATED = 50
"""Parts of an agent's session that are looked at."""
RAW = 64 << 20
"""Bytes of a line of a log that are shown."""
_SMALL = 20 << 20
"""Bytes of a log that is read for what it says of the replies of a record."""
_SEARCHES = 2
"""Searches that run at once; others wait."""


@dataclass(frozen=True, slots=True)
class Looked:
    """A session as its log tells of it."""

    log: Log
    outcome: Outcome
    rows: tuple[EntryRow, ...]
    messages: tuple[MessageRow, ...]
    """Of an agent's or a client's file, which holds no requests."""
    format: str
    """The evidence for its format, in words."""
    changed: bool
    """Whether the log is not what it was when it was converted."""

    @property
    def replies(self) -> list[ReplyOutcome]:
        """What became of each reply."""
        return self.outcome.replies.rows

    @property
    def is_in_lines(self) -> bool:
        """Whether a line of the file can be shown by its number."""
        return not self.log.is_copy and PurePosixPath(uncompressed(self.log.name)).suffix.lower() in LOGS


Rows = dict[int, int]
"""Rows of the session table by the index of the record among those that its session comes to, from 0."""


class NoLogError(ChatsquashError):
    """Why a log cannot be read, in words."""


class SessionLogs:
    """Reads the logs of a result; what was read last stays in memory."""

    def __init__(self, result: ViewerResult) -> None:
        self._result = result
        self._lock = Lock()
        self._last: OrderedDict[int, Looked] = OrderedDict()
        self._same: list[list[int]] = []
        """The rows of the sessions of one log and name, looked up last."""

    @cached_property
    def _options(self) -> Options:
        """Those of the run that say what its logs hold; raises ``UsageError`` where ``run.json`` has others."""
        options = {**parse_options(self._result.options, _GROUPS), "join": False}  # the log alone is read
        return Options(**options, anonymize=False, integrity_analysis=False, trace_replies=True)

    def look(self, at: int) -> Looked:
        """The session of a row of the session table; raises ``NoLogError``."""
        with self._lock:  # one at a time: each may take all of a core and much memory
            if at not in self._last:
                looked = self._look(self._log(at), [at]).get(at)
                if looked is None:
                    raise NoLogError("the log does not hold this session any more")
                self._last[at] = looked
                if len(self._last) > _KEPT:
                    self._last.popitem(last=False)
            self._last.move_to_end(at)
            return self._last[at]

    def is_near(self, at: int) -> bool:
        """Whether the log of a row was looked at, or is small enough to be looked at unasked."""
        if at in self._last:
            return True
        try:
            return os.path.getsize(spelled(self._log(at) or "")) <= _SMALL  # noqa: PTH202 - which takes any name
        except (OSError, ValueError):
            return False

    def look_at_each(self, rows: list[int]) -> dict[int, Looked]:
        """The sessions of some rows, as far as their logs can be read; each log is read once."""
        by_log: dict[str | None, list[int]] = {}
        for at in rows:
            by_log.setdefault(self._log(at), []).append(at)
        looked: dict[int, Looked] = {}
        with self._lock:
            for log, of_log in by_log.items():
                with suppress(NoLogError):
                    looked |= self._look(log, of_log)
        return looked

    def records(self, at: int, looked: Looked) -> Rows:
        """The rows of the session table on the records that a row's session comes to; those left out have none."""
        named: dict[str | None, int] = {}
        for each in next(rows for rows in self._namesakes(at) if at in rows):
            named.setdefault(self._result.session_lines[each].get("conversation"), each)
        made = [record.conversation or None for record in looked.outcome.records]
        return {number: named[name] for number, name in enumerate(made) if name in named}

    def related(self, at: int) -> list[int]:
        """First rows of sessions with the id and the format of a row's, which agents divide among files and parts."""
        frame = self._result.sessions
        row = frame.row(at, named=True)
        same = (frame["session"] == row["session"]) & (frame["format"].cast(str) == row["format"])
        rows = frame.filter(same)["at"].head(_NAMESAKES).to_list()
        return list(islice(filter(self._begins, rows), _RELATED))

    def request(self, looked: Looked, line: int) -> LoggedRequest:
        """A request and the one before it; raises ``NoLogError``."""
        from chatsquash.session.converter import Converter

        seeker = Seeker(line)
        try:
            Converter(self._options).convert(looked.log, seeker)
        except RequestReadError:
            pass
        except OSError as problem:
            raise NoLogError(f"the log cannot be read ({problem.strerror})") from None
        if seeker.request is None:
            raise NoLogError(f"the log has no entry on line {line:,}")
        return seeker.request

    def raw(self, looked: Looked, line: int) -> bytes:
        """A line of the log as it stands there; raises ``NoLogError``."""
        if not looked.is_in_lines:
            raise NoLogError("the log is not a file of lines")
        try:
            with open_log(looked.log, self._options) as file:
                for each in lines(file, RAW):
                    if each.number == line:
                        return bytes(each.buffer[each.start : each.stop])
        except OSError as problem:
            raise NoLogError(f"the log cannot be read ({problem.strerror})") from None
        raise NoLogError(f"the log has no line {line:,}")

    def _log(self, at: int) -> str | None:
        log: str | None = self._result.sessions["log"][at]
        return log

    def _look(self, log: str | None, rows: list[int]) -> dict[int, Looked]:
        """The sessions of rows about one log, as far as it still has them."""
        from chatsquash.dataset.option_rules import refuse_wrong
        from chatsquash.session.chains import each_session  # which takes time to import
        from chatsquash.session.converter import Converter

        known = self._result.inputs([log])[log] if log else []
        path = _log_path(log, known)
        work = partial(_looked, Converter(self._options), {each.xxh3_128 for each in known})
        refuse_wrong(self._options)
        names = self._result.sessions["session"]
        wanted = {(names[at], self._before(at)): at for at in rows}
        looked: dict[int, Looked] = {}
        passed: Counter[str] = Counter()
        try:
            for each in each_session([path], self._options, work):
                name = printable(each.outcome.session)
                if (at := wanted.get((name, passed[name]))) is not None:
                    looked[at] = each
                    if len(looked) == len(wanted):
                        break
                passed[name] += 1
        except (ChatsquashError, OSError) as problem:
            raise NoLogError(f"the log cannot be read: {problem}") from None
        return looked

    def _before(self, at: int) -> int:
        """How many sessions of a log stand before a row's that are called as it."""
        return next(number for number, rows in enumerate(self._namesakes(at)) if at in rows)

    def _namesakes(self, at: int) -> list[list[int]]:
        """The rows of each session of a log that is called as a row's."""
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
        """Whether a row is the first one of a session."""
        line = self._result.session_lines[at]
        return line.get("record") in (None, 1) and line.get("sample") in (None, 1)


def _log_path(log: str | None, known: list[Input]) -> str:
    """The path of a log, as the system has it; raises ``NoLogError`` for one that cannot be read here."""
    if not log:
        raise NoLogError("the session table names no log")
    shown = log if len(log) <= _PATH else f"{log[:_PATH]}…"
    if is_remote(log):
        raise NoLogError(f"the log lies in a store, from which the viewer fetches nothing: {shown}")
    if any(each.path_digest for each in known):
        raise NoLogError(f"the run replaced what is private in the path of the log, and does not tell it: {shown}")
    path = spelled(log)
    if not os.path.isfile(path):  # noqa: PTH113 - which takes any name
        hint = "run chatsquash view where the conversion ran, if its path is a relative one"
        raise NoLogError(f"the log is not there: {shown} ({hint})")
    return path


def _looked(converter: Converter, digests: set[str], log: Log) -> Looked | None:
    watch = EntryWatch()
    outcome = converter.convert(log, watch)
    if outcome is None:
        return None
    rejected = [
        EntryRow(each.line, None, each.length, 0, 0, 0, "", None, None, each.reason, each.code)
        for each in outcome.report.rejected
    ]
    rows = sorted([*watch.settled(), *rejected])
    why = watch.seen.why if watch.seen else ""
    is_changed = bool(digests) and outcome.account.digest not in digests
    return Looked(log, outcome, tuple(rows), tuple(watch.messages), why, is_changed)


class Viewer:
    """The result that is shown, and its logs; a replaced result is reopened when the list is requested."""

    def __init__(self, path: Path, model: Model | None = None, title: str = "") -> None:
        """``title`` is what is shown, in words.  Raises ``UsageError`` for a folder without a result."""
        self.path = path
        self.title = title or escape(str(path))
        self.model = model
        self.searching = CapacityLimiter(_SEARCHES)
        """Lets searches go on, so many at once."""
        self._lock = Lock()
        self._result = ViewerResult(path, self.title)
        self._logs = SessionLogs(self._result)

    def page_of(self, which: str) -> str:
        """The page of the session whose id is this, or begins so; raises ``UsageError`` if it is not one."""
        from chatsquash.results.show import one_session  # which few runs need

        sessions = self._result.sessions
        id_ = one_session(sessions["session"].drop_nulls(), which, self.title)
        if id_ is None:
            raise UsageError(f"{self.title}: no session begins with {quote(which)}, and there is no such file")
        return f"/r/{self.tag}/s/{sessions.filter(sessions['session'] == id_)['at'][0]}"

    def prepare(self) -> None:
        """Read what the list needs ahead of its first request, which reports errors."""
        with suppress(ChatsquashError):
            _ = self._result.facets

    @property
    def result(self) -> ViewerResult:
        """The result as it was opened; raises ``ReplacedError`` where another run wrote to the folder since."""
        if self._result.is_replaced():
            raise ReplacedError(f"{self.title} was replaced since it was opened")
        return self._result

    @property
    def is_replaced(self) -> bool:
        """Whether another run wrote there since."""
        return self._result.is_replaced()

    @property
    def tag(self) -> str:
        """That of the result which is shown."""
        return self._result.tag

    def newest(self) -> tuple[ViewerResult, bool]:
        """The result as it is now, and whether it is another one than before."""
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
