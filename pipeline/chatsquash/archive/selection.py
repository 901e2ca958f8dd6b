"""The files that an archive run copies: those of agents, and the regular files in folders; links are not followed."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable
from errno import ELOOP
from pathlib import Path

from msgspec import Struct, field

from chatsquash.core.errors import UsageError
from chatsquash.core.text import hint
from chatsquash.formats import documents
from chatsquash.formats.base import DocumentFormat
from chatsquash.sources import relatives
from chatsquash.sources.agent_files import expand_pattern, files

ALL = "all"
_OF_AGENT = "agent:"
_MAGIC = "*?["
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_DEEPEST = 200
"""The largest number of folders in each other; each of them is open while its files are listed."""


class CopyProblem(Struct, frozen=True):
    """A file or folder that was not copied."""

    path: str
    reason: str


class CopySelection(Struct):
    """The files to copy."""

    files: dict[str, os.stat_result] = field(default_factory=dict)
    """The status of each file by its absolute path."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Other entries of folders, counted by kind."""
    problems: list[CopyProblem] = field(default_factory=list)

    def add(self, path: str) -> None:
        """Add a file, or count it if it is not a regular file."""
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            return
        except OSError as problem:
            self.report(path, problem)
            return
        self.add_entry(path, status)

    def add_entry(self, path: str, status: os.stat_result) -> None:
        """Add a file with its status, or count it if it is not a regular file."""
        if stat.S_ISREG(status.st_mode):
            self.files[path] = status
        else:
            self.skipped["links" if stat.S_ISLNK(status.st_mode) else "special files"] += 1

    def report(self, path: str, problem: OSError) -> None:
        """Add a problem."""
        self.problems.append(CopyProblem(path, problem.strerror or type(problem).__name__))


def known_agents() -> tuple[str, ...]:
    """Return the agents with known file locations."""
    return tuple(name for name in documents.names() if documents.get_format(name).LOCATIONS)


def sources(logs: Iterable[str], agents: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the copied logs and agents, as in snapshots.

    Raises:
        UsageError: An agent is unknown, or a path does not exist.
    """
    names = set(agents)
    known = known_agents()
    for name in sorted(names - {ALL}):
        if name not in known:
            raise UsageError(f"--agent {name}: unknown agent; {hint(name, (ALL, *known))}")
    paths = set[str]()
    for path in logs:
        if not os.path.exists(path):  # noqa: PTH110 - Path("") would be the current folder
            raise UsageError(f"{path}: cannot be read (there is no such file or folder)")
        paths.add(os.path.abspath(path))  # noqa: PTH100 - links in it are not resolved
    return (*(f"{_OF_AGENT}{name}" for name in sorted(names)), *sorted(paths))


def select(names: tuple[str, ...], store: str = "") -> CopySelection:
    """Return the files of sources as they are now; the folder of the archive itself is skipped."""
    selection = CopySelection()
    for name in names:
        if name.startswith(_OF_AGENT):
            agent = name.removeprefix(_OF_AGENT)
            for each in known_agents() if agent == ALL else (agent,):
                _add_agent(documents.get_format(each), selection)
        else:
            _add_path(name, selection, os.path.realpath(store) if store else "")
    _remove_parts_of_databases(selection)
    return selection


def _add_agent(form: DocumentFormat, selection: CopySelection) -> None:
    for pattern in form.LOCATIONS:
        root = _root(expand_pattern(pattern))
        if not root:
            continue
        for each in files([pattern]):
            for path in (each.path, *_companions(form, each.path)):
                if _is_below(path, root):
                    selection.add(path)
                else:
                    selection.skipped["links"] += 1


def _companions(form: DocumentFormat, path: str) -> list[str]:
    pattern = form.companions(path)
    return relatives.paths_of(pattern) if pattern else []


def _root(pattern: str) -> str:
    """Return the part of a pattern before its first part with a wildcard."""
    parts = Path(pattern).parts if pattern else ()
    magic = next((at for at, part in enumerate(parts) if set(part).intersection(_MAGIC)), len(parts) - 1)
    return str(Path(*parts[:magic])) if parts else ""


def _is_below(path: str, root: str) -> bool:
    """Return whether no link between a root and a file leads elsewhere."""
    inside = os.path.relpath(path, root)
    real_folder = os.path.realpath(os.path.dirname(path))  # noqa: PTH120
    return real_folder == os.path.normpath(os.path.join(os.path.realpath(root), os.path.dirname(inside)))  # noqa: PTH118, PTH120


def _add_path(path: str, selection: CopySelection, store: str) -> None:
    real_path = os.path.realpath(path)
    if os.path.isdir(real_path):  # noqa: PTH112
        try:
            descriptor = os.open(real_path, _FOLDER)
        except OSError as problem:
            selection.report(path, problem)
            return
        _Walk(selection, _identity(store)).add_folder(path, descriptor)
    elif os.path.isfile(real_path):  # noqa: PTH113
        selection.files[path] = os.stat(real_path)  # noqa: PTH116 - the user's own path may be a link


def _identity(path: str) -> tuple[int, int]:
    """Return what identifies a folder, whatever its path."""
    try:
        status = os.stat(path)  # noqa: PTH116 - of a text, which may be empty
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino


class _Walk:
    """Adds the files in folders; each folder is opened from the one above, so that no link can replace it meanwhile."""

    def __init__(self, selection: CopySelection, store: tuple[int, int]) -> None:
        self._selection, self._store = selection, store

    def add_folder(self, path: str, descriptor: int, depth: int = 0) -> None:
        """Add the files in an open folder, in the order of their paths, and close it."""
        try:
            status = os.fstat(descriptor)
            if (status.st_dev, status.st_ino) == self._store:
                return
            with os.scandir(descriptor) as entries:
                entries_in_order = sorted(entries, key=lambda each: each.name)
            for each in entries_in_order:
                self._add_entry(f"{path.rstrip('/')}/{each.name}", each, descriptor, depth)
        except OSError as problem:
            self._selection.report(path, problem)
        finally:
            os.close(descriptor)

    def _add_entry(self, path: str, entry: os.DirEntry[str], above: int, depth: int) -> None:
        try:
            status = entry.stat(follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                self._selection.add_entry(path, status)
            elif depth < _DEEPEST:
                descriptor = os.open(entry.name, _FOLDER | os.O_NOFOLLOW, dir_fd=above)
                self.add_folder(path, descriptor, depth + 1)
            else:
                self._selection.report(path, OSError(ELOOP, f"more than {_DEEPEST} folders in each other"))
        except FileNotFoundError:  # deleted since the folder was listed
            return
        except OSError as problem:
            self._selection.report(path, problem)


def _remove_parts_of_databases(selection: CopySelection) -> None:
    """Remove the files in which SQLite keeps changes, because a copy of the database contains these."""
    for path in list(selection.files):
        for suffix in ("-wal", "-shm", "-journal"):
            if path.endswith(suffix) and path.removesuffix(suffix) in selection.files:
                del selection.files[path]
