"""How long the agents on this machine keep their sessions, from their settings, and which ones are deleted next."""

from __future__ import annotations

import glob
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from chatsquash.core.model import Json
from chatsquash.formats.retention import Period, Retention, Setting
from chatsquash.inspect.settings_files import UnreadableError, read_settings
from chatsquash.sources.agent_files import AgentFile, expand_pattern

DAYS_SOON = 7
_DAY = 86_400
_PROJECT = "<project>/"
_PROJECTS = 10_000
"""The maximum number of projects whose settings are read."""


class Periods(NamedTuple):
    """The periods of an agent on this machine."""

    general: Period
    """The period for sessions of other projects."""
    projects: Mapping[str, Period] = {}
    """The periods of projects with their own settings, by the folder of their sessions, which ends with a slash."""
    folder: str = ""
    """The folder that the periods apply to, which ends with a slash; empty for all folders."""

    def of(self, path: str) -> Period:
        """Return the period of a session file."""
        if not path.startswith(self.folder):
            return Period()
        folders = (folder for folder in _folders(path) if folder in self.projects)
        return self.projects[folder] if (folder := next(folders, "")) else self.general


class Deletion(NamedTuple):
    """A session file that its agent will delete, with the earliest time in seconds since the epoch."""

    file: AgentFile
    time: float


def read_periods(retention: Retention) -> Periods:
    """Read the settings of an agent, and those of its projects."""
    folder = f"{expand_pattern(retention.folder)}/" if retention.folder else ""
    try:
        general = _period(retention, None)
    except UnreadableError as problem:
        default = retention.period(lambda *_: None) if retention.period else Period()
        reason = f"{problem.reason}, so nothing is deleted until that is fixed"
        return Periods(Period(default.days, source=problem.path, problem=reason), folder=folder)
    if general.problem:
        return Periods(general, folder=folder)
    periods = {project: period for project in _projects(retention) if (period := _project_period(retention, project))}
    if retention.project_folder:
        return Periods(general, {_session_folder(retention, each): period for each, period in periods.items()}, folder)
    return Periods(min((general, *periods.values()), key=_length), folder=folder)


class _Project(NamedTuple):
    folder: str
    value: Json
    """The agent's own value for the project."""


def _projects(retention: Retention) -> Iterator[_Project]:
    """Return the known projects of an agent."""
    if not retention.projects:
        return
    try:
        known = read_settings(expand_pattern(retention.projects))
    except UnreadableError:
        return
    projects = known.get("projects") if known else None
    for folder, value in [*projects.items()][:_PROJECTS] if isinstance(projects, dict) else ():
        if Path(folder).is_absolute() and "\0" not in folder and (not retention.project_folder or _is_name(value)):
            yield _Project(folder, value if _is_name(value) else None)


def _is_name(value: Json) -> bool:
    return isinstance(value, str) and value not in ("", ".", "..") and not set(value) & set("/\\\0")


def _session_folder(retention: Retention, project: _Project) -> str:
    return f"{expand_pattern(retention.project_folder.replace('*', str(project.value)))}/"


def _project_period(retention: Retention, project: _Project) -> Period | None:
    """Return the period in a project, or ``None`` without settings that apply there."""
    own_files = [each for each in _files(retention, project.folder) if each.startswith(f"{project.folder}/")]
    if not any(map(os.path.lexists, own_files)):
        return None
    try:
        period = _period(retention, project.folder)
    except UnreadableError:
        return None  # the agent does not delete anything when it starts there
    return None if period.problem else period


def _period(retention: Retention, project: str | None) -> Period:
    """Return the period from the settings; raise ``UnreadableError`` if a file is malformed."""
    if retention.period is None:
        return Period()
    read = partial(read_settings, allows_comments=retention.allows_comments)
    files = [(path, values) for path in _files(retention, project) if (values := read(path)) is not None]
    return retention.period(partial(_setting, files))


def _files(retention: Retention, project: str | None) -> Iterator[str]:
    """Return the paths of the settings files that may exist, the strongest first."""
    for pattern in retention.settings:
        if not pattern.startswith(_PROJECT):
            expanded = expand_pattern(pattern)
            yield from sorted(glob.glob(expanded), reverse=True) if "*" in pattern else [expanded]
        elif project is not None:
            yield f"{project}/{pattern.removeprefix(_PROJECT)}"


def _setting(files: Sequence[tuple[str, Json]], *names: str) -> Setting | None:
    """Return the value of the first file that contains a setting."""
    for path, values in files:
        value: Json = values
        outer = [value := value[name] for name in names if isinstance(value, dict) and name in value]
        if len(outer) == len(names):
            return Setting(value, path)
    return None


def _length(period: Period) -> tuple[float, float]:
    """Return a key that sorts periods, the shortest first."""
    return (float("inf") if period.days is None else period.days, period.most or float("inf"))


def deletions(files: Iterable[AgentFile], periods: Periods, now: float) -> list[Deletion]:
    """Return the session files that will be deleted, with the time after which their agent deletes them.

    The file of a sub-agent is deleted with that of its session. Sessions in databases are not counted.
    """
    changed = session_times(each for each in files if not each.is_database)
    due = {each: Deletion(each, time) for each, time in _by_age(changed, periods)}
    for each in _surplus(changed, periods):
        due[each] = Deletion(each, now)
    return sorted(due.values(), key=lambda each: (each.time, each.file.path))


def is_soon(deletion: Deletion, now: float) -> bool:
    """Return whether a file may be deleted within seven days."""
    return deletion.time < now + DAYS_SOON * _DAY


def session_times(files: Iterable[AgentFile]) -> dict[AgentFile, float]:
    """Return the time of the last change of the session that each file belongs to."""
    by_path = {each.path: each for each in files}
    return {each: max(each.changed, by_path[owner(each.path, by_path)].changed) for each in by_path.values()}


def owner(path: str, known: Mapping[str, object]) -> str:
    """Return the file of the session that a file belongs to: itself, unless it is in a folder named after another."""
    suffix = Path(path).suffix
    candidates = (folder.removesuffix("/") + suffix for folder in _folders(path))
    return next((each for each in candidates if each in known), path)


def _folders(path: str) -> Iterator[str]:
    """Return the folders that contain a path, the innermost first, each with a slash at its end."""
    end = path.rfind("/")
    while end > 0:
        yield path[: end + 1]
        end = path.rfind("/", 0, end)


def _by_age(changed: Mapping[AgentFile, float], periods: Periods) -> Iterator[tuple[AgentFile, float]]:
    for each, time in changed.items():
        days = periods.of(each.path).days
        if days is not None:
            yield each, time + days * _DAY


def _surplus(changed: Mapping[AgentFile, float], periods: Periods) -> Iterator[AgentFile]:
    """Return the oldest files of each folder that contains more sessions than its agent keeps."""
    folders = defaultdict[str, list[AgentFile]](list)
    for each in changed:
        folders[each.path.rpartition("/")[0]].append(each)
    for group in folders.values():
        most = periods.of(group[0].path).most
        if most is not None and len(group) > most:
            yield from sorted(group, key=lambda each: -each.changed)[most:]
