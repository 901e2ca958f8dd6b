"""List the agents with files on this machine, with the command that converts them."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from chatsquash.core.errors import UsageError
from chatsquash.core.text import align_columns, hint, pluralize
from chatsquash.formats import documents
from chatsquash.formats.retention import UNKNOWN
from chatsquash.inspect.retention import DAYS_SOON, deletions, is_soon, read_periods
from chatsquash.sources.agent_files import AgentFile, expand_pattern, files
from chatsquash.sources.compression import uncompressed


class AgentFiles(Struct, frozen=True):
    """The files of an agent on this machine."""

    name: str
    """As in ``chatsquash formats``."""
    files: list[AgentFile]
    """Each file once."""
    copies: list[AgentFile]
    """Second copies of these, written by an agent that compresses old files."""

    @property
    def size(self) -> int:
        """The size of its files in bytes, without copies."""
        return sum(each.size for each in self.files)

    @property
    def command(self) -> str:
        """The command that converts them."""
        return f"chatsquash convert --agent {self.name} -o out-{self.name.replace('_', '-')}"


def agents() -> list[AgentFiles]:
    """Return the agents with files on this machine."""
    agents_here = (
        AgentFiles(name, *_separate_copies(files(documents.get_format(name).LOCATIONS))) for name in documents.names()
    )
    return [each for each in agents_here if each.files]


def _separate_copies(files: list[AgentFile]) -> tuple[list[AgentFile], list[AgentFile]]:
    """Separate files from compressed copies of them; a run converts the uncompressed file."""
    first = dict[str, AgentFile]()
    copies = list[AgentFile]()
    for each in files:
        if first.setdefault(uncompressed(each.path), each) is not each:
            copies.append(each)
    return list(first.values()), copies


def known_agents() -> tuple[str, ...]:
    """Return the agents with known file locations."""
    return tuple(name for name in documents.names() if documents.get_format(name).LOCATIONS)


def paths(names: tuple[str, ...]) -> list[str]:
    """Return the files of agents; raise ``UsageError`` for an agent without files or with unknown locations."""
    paths_of_agents: list[str] = []
    known = known_agents()
    for name in names:
        if name not in known:
            raise UsageError(f"--agent {name}: {_unknown(name, known)}")
        agent_files = files(documents.get_format(name).LOCATIONS)
        if not agent_files:
            folders = ", ".join(filter(None, map(expand_pattern, documents.get_format(name).LOCATIONS)))
            raise UsageError(f"--agent {name}: no files found; searched {folders}{_elsewhere(name)}")
        paths_of_agents += [each.path for each in agent_files]
    return paths_of_agents


def _unknown(name: str, known: tuple[str, ...]) -> str:
    """Return why the files of an agent cannot be found, and what to do."""
    if name not in documents.names():
        return f"unknown agent; {hint(name, known)}"
    if documents.get_format(name).IN_PROJECTS:
        return f"has no single folder for all sessions{_elsewhere(name)}"
    return "has no fixed folder: pass its files as LOGS"


def _elsewhere(name: str) -> str:
    """Return where an agent keeps files that are not searched for."""
    folders = documents.get_format(name).IN_PROJECTS
    return f"; its files are in projects ({', '.join(folders)}): pass them as LOGS" if folders else ""


def as_text() -> str:
    """Return the table for a terminal."""
    agents_here = agents()
    if not agents_here:
        return (
            "no files of known agents found; pass your logs: chatsquash convert LOGS"
            " (`chatsquash formats` lists the supported formats)"
        )
    rows = [("agent", "files", "MB", "first", "last", "command"), *map(_row, agents_here)]
    lines = [line.rstrip() for line in align_columns(rows)]
    notes = [line for each in agents_here if (line := _deletion_notice(each, time.time()))]
    return "\n".join([*lines, *notes])


def as_json() -> str:
    """Return the table as JSON."""
    return json.dumps([_as_dict(each) for each in agents()], indent=1)


def _as_dict(agent: AgentFiles) -> dict[str, Any]:
    databases = sum(each.is_database for each in agent.files)
    times = [each.changed for each in agent.files]
    return {
        "agent": agent.name,
        "files": len(agent.files),
        "copies": len(agent.copies),
        "databases": databases,
        "bytes": agent.size,
        "first": _day(min(times)),
        "last": _day(max(times)),
        "command": agent.command,
    }


def _row(agent: AgentFiles) -> tuple[str, ...]:
    databases = sum(each.is_database for each in agent.files)
    plain_files = len(agent.files) - databases
    contents = [f"{plain_files:,}"] if plain_files else []
    contents += [f"in {pluralize(databases, 'database')}"] if databases else []
    times = [each.changed for each in agent.files]
    return (
        agent.name,
        " + ".join(contents),
        f"{agent.size / 1e6:,.1f}",
        _day(min(times)),
        _day(max(times)),
        agent.command,
    )


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def _deletion_notice(agent: AgentFiles, now: float) -> str:
    """Return which files an agent deletes next, or an empty string if it keeps them."""
    retention = documents.get_format(agent.name).RETENTION or UNKNOWN
    periods = read_periods(retention)
    period = periods.general
    if period.days is None:
        return ""
    coming = deletions([*agent.files, *agent.copies], periods, now)
    due = [each.file for each in coming if each.time <= now]
    soon = [each.file for each in coming if now < each.time and is_soon(each, now)]
    origin = f"{retention.setting} in {period.source}" if period.source else f"default of {retention.setting}"
    notice = f"{retention.program} deletes files {period.days:g} days after their last change ({origin}): "
    parts = []
    if due:
        parts.append(f"{pluralize(len(due), 'file')} ({_megabytes(due)} MB) when it next starts")
    if soon:
        parts.append(f"{pluralize(len(soon), 'file')} ({_megabytes(soon)} MB) within {DAYS_SOON} days")
    return notice + (" and ".join(parts) if parts else f"none within {DAYS_SOON} days")


def _megabytes(files: list[AgentFile]) -> str:
    return f"{sum(each.size for each in files) / 1e6:,.1f}"
