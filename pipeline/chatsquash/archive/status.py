"""The sessions on this machine: how many their agents delete soon, and how many are in an archive."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from chatsquash.core.text import align_columns, pluralize, printable
from chatsquash.core.times import utc
from chatsquash.formats import documents
from chatsquash.formats.retention import UNKNOWN, Period, Retention
from chatsquash.inspect.agents import AgentFiles, agents, known_agents
from chatsquash.inspect.retention import (
    DAYS_SOON,
    Deletion,
    Periods,
    deletions,
    is_soon,
    owner,
    read_periods,
)
from chatsquash.sources.agent_files import AgentFile
from chatsquash.storage.archive.files import ArchivedFiles, member_name

_HEADER = ("agent", "sessions", "oldest", "deleted", f"in {DAYS_SOON} days", "next")
_CLOCK = 1e-3
"""The number of seconds by which equal times may differ, because one of them is a floating point number."""

IsArchived = Callable[[AgentFile], bool]
"""Whether an archive contains a file as it is now."""


class Status(NamedTuple):
    """The sessions of an agent on this machine."""

    agent: AgentFiles
    retention: Retention
    periods: Periods
    coming: Sequence[Deletion]
    """The session files that the agent deletes, the next ones first."""
    now: float
    archived: int | None = None
    """The number of files in the archive, or ``None`` without an archive."""
    unsaved: int | None = None
    """The number of files that are deleted soon and not in the archive."""

    @property
    def sessions(self) -> int:
        """The number of sessions in files; files of sub-agents belong to another session."""
        paths = {each.path: each for each in self.agent.files if not each.is_database}
        return sum(owner(path, paths) == path for path in paths)

    @property
    def databases(self) -> int:
        """The number of databases, each of which may contain many sessions."""
        return sum(each.is_database for each in self.agent.files)

    @property
    def oldest(self) -> float:
        """The time of the oldest file's last change."""
        return min(each.changed for each in self.agent.files)

    @property
    def soon(self) -> list[Deletion]:
        """The files that are deleted within seven days."""
        return [each for each in self.coming if is_soon(each, self.now)]


def read_status(now: float, is_archived: IsArchived | None = None) -> list[Status]:
    """Return the status of each agent with files on this machine.

    Args:
        now: the time in seconds since the epoch
        is_archived: looks up a file in an archive, if there is one
    """
    return [_status(each, now, is_archived) for each in agents()]


def lookup(archived: ArchivedFiles, machine: str) -> IsArchived:
    """Return a function that looks up a file of a machine, by size and time of the last change."""
    known = {each.name: each.entry for each in archived.files}

    def is_archived(file: AgentFile) -> bool:
        entry = known.get(member_name(machine, os.fsencode(file.path)))
        if entry is None or entry.deletion or abs(entry.modified / 1e9 - file.changed) > _CLOCK:
            return False
        return entry.is_database or entry.content.size == file.size

    return is_archived


def _status(agent: AgentFiles, now: float, is_archived: IsArchived | None) -> Status:
    retention = documents.get_format(agent.name).RETENTION or UNKNOWN
    periods = read_periods(retention)
    files = [*agent.files, *agent.copies]
    status = Status(agent, retention, periods, deletions(files, periods, now), now)
    if is_archived is None:
        return status
    archived = {each.path for each in files if is_archived(each)}
    unsaved = sum(each.file.path not in archived for each in status.soon)
    return status._replace(archived=sum(each.path in archived for each in agent.files), unsaved=unsaved)


def as_lines(statuses: Sequence[Status], width: int) -> list[str]:
    """Return the table for a terminal, with a note on each agent that deletes sessions."""
    if not statuses:
        return [f"no files of known agents found; known are {', '.join(known_agents())}"]
    has_archive = statuses[0].archived is not None
    rows = [(*_HEADER, *(["archived"] if has_archive else [])), *map(_row, statuses)]
    notes = [note for each in statuses if (note := _note(each))]
    note_lines = [
        line for note in notes for line in textwrap.wrap(printable(note), max(width, 40), subsequent_indent="  ")
    ]
    return [*(line.rstrip() for line in align_columns(rows)), *note_lines]


def _row(status: Status) -> tuple[str, ...]:
    databases = status.databases
    contents = [f"{status.sessions:,}"] if status.sessions or not databases else []
    contents += [f"{databases:,} db"] if databases else []
    row = (
        status.agent.name,
        " + ".join(contents),
        _day(status.oldest),
        _limit(status.retention, status.periods.general),
        f"{len(status.soon):,}" if status.coming else "-",
        _next(status),
    )
    return row if status.archived is None else (*row, f"{status.archived:,}")


def _limit(retention: Retention, period: Period) -> str:
    """Return when sessions are deleted, for the table."""
    if not retention.is_known:
        return "unknown"
    if period.days is not None:
        return f"{period.days:.4g} day" + ("" if period.days == 1 else "s")
    if period.most is not None:
        return f"> {period.most}"
    return f"> {period.size}" if period.size else "never"


def _next(status: Status) -> str:
    """Return the day of the next deletion; ``start`` if it is due when the agent starts."""
    if not status.coming:
        return "-"
    first = status.coming[0].time
    return "start" if first <= status.now else _day(first)


def _note(status: Status) -> str:
    """Return where a period is from and what else applies, in one line."""
    retention, period = status.retention, status.periods.general
    parts = list[str]()
    if not retention.is_known:
        parts.append(f"not known when {retention.program or 'it'} deletes sessions")
    elif retention.period:
        parts.append(_origin(retention, period))
    if period.problem:
        parts.append(period.problem)
    if status.periods.projects:
        parts.append(f"{pluralize(len(status.periods.projects), 'project')} with other settings")
    if retention.remark and (period.has_limit or not retention.period):
        parts.append(retention.remark)
    if status.unsaved:
        parts.append(f"{pluralize(status.unsaved, 'file')} due within {DAYS_SOON} days and not archived")
    return f"{status.agent.name}: {'; '.join(parts)}" if parts else ""


def _origin(retention: Retention, period: Period) -> str:
    place = f"{retention.setting} in {_shorten(period.source)}" if period.source else f"default of {retention.setting}"
    return place if period.has_limit or period.problem else f"{place}: nothing is deleted"


def _shorten(path: str) -> str:
    """Write the home folder as ``~``."""
    home = str(Path.home())
    return f"~{path.removeprefix(home)}" if path.startswith(f"{home}/") else path


def as_dicts(statuses: Sequence[Status]) -> list[dict[str, Any]]:
    """Return the table as JSON values."""
    return [_as_dict(each) for each in statuses]


def _as_dict(status: Status) -> dict[str, Any]:
    period = status.periods.general
    row = {
        "agent": status.agent.name,
        "sessions": status.sessions,
        "databases": status.databases,
        "files": len(status.agent.files),
        "oldest": _day(status.oldest),
        "deletes": (period.has_limit if status.retention.is_known else None),
        "days": period.days,
        "most": period.most,
        "size": period.size or None,
        "source": period.source or None,
        "problem": period.problem or None,
        "evidence": status.retention.evidence or None,
        "soon": len(status.soon),
        "next": _time(status.coming[0].time) if status.coming else None,
    }
    return row if status.archived is None else {**row, "archived": status.archived, "unsaved": status.unsaved}


def _day(seconds: float) -> str:
    return _time(seconds)[:10]


def _time(seconds: float) -> str:
    return f"{utc(seconds):%Y-%m-%dT%H:%M:%SZ}"
