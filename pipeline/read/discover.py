"""Which files are session logs, in an order that depends on nothing but their names."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from pipeline.errors import UsageError
from pipeline.model import Job, Options
from pipeline.read.deltas import entries
from pipeline.read.lines import lines
from pipeline.ledger import Ledger
from pipeline.read.times import day, is_day

SUFFIXES = (".jsonl", ".ndjson")


@dataclass(slots=True)
class Found:
    """The logs to convert, and what else lay beside them."""

    jobs: list[Job] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)
    """Files that are no logs, by suffix."""


@dataclass(slots=True)
class _Search:
    options: Options
    out: Path | None
    found: Found = field(default_factory=Found)
    seen: set[tuple[int, int]] = field(default_factory=set)

    def full(self) -> bool:
        return self.options.limit is not None and len(self.found.jobs) >= self.options.limit

    def root(self, given: str) -> None:
        path = Path(given)
        if path.is_dir():
            for below in sorted(_walk(path, PurePosixPath(), self.options.follow_links, self.out), key=_parts):
                self.file(path / below, below.as_posix())
        else:
            self.file(path, path.name, named=True)

    def file(self, path: Path, name: str, *, named: bool = False) -> None:
        suffix = path.suffix.lower()
        if not named and suffix not in SUFFIXES:
            self.found.others[suffix or "no suffix"] += 1
        elif not self.full() and self._wanted(name):
            self._take(path, name)

    def _wanted(self, name: str) -> bool:
        options = self.options
        if options.include and not any(_matches(name, pattern) for pattern in options.include):
            return False
        return not any(_matches(name, pattern) for pattern in options.exclude)

    def _take(self, path: Path, name: str) -> None:
        try:
            status = path.stat()
        except OSError:
            self.found.others["broken link"] += 1
            return
        key = (status.st_dev, status.st_ino)
        if key in self.seen or (self.out and _is_below(path, self.out)):
            return
        job = Job(str(path), str(path), name, status.st_size)
        if self._in_time(job):
            self.seen.add(key)
            self.found.jobs.append(job)

    def _in_time(self, job: Job) -> bool:
        since, until = self.options.since, self.options.until
        if since is None and until is None:
            return True
        logged = path_day(job.name) or _first_day(job)
        return logged is not None and (since or logged) <= logged <= (until or logged)


def discover(logs: list[str], options: Options, out: Path | None = None) -> Found:
    """The session logs in directories, files and globs; ``out``, the output folder, is never read.

    Raises ``UsageError`` for an argument that names nothing.
    """
    for value, name in ((options.since, "--since"), (options.until, "--until")):
        if value is not None and not is_day(value):
            raise UsageError(f"{name} {value}: not a date; write YYYY-MM-DD")
    search = _Search(options, out.resolve() if out else None)
    for given in logs:
        for root in _expand(given):
            search.root(root)
    return search.found


def path_day(name: str) -> str | None:
    """The last part of a path that is a date, ``YYYY-MM-DD``; the file's suffix aside."""
    *folders, last = name.split("/")
    return next((part for part in reversed([*folders, last.partition(".")[0]]) if is_day(part)), None)


def _expand(given: str) -> list[str]:
    if os.path.lexists(given):
        return [given]
    if glob.has_magic(given):
        matches = sorted(glob.glob(given, recursive=True), key=lambda match: _parts(PurePosixPath(match)))
        if matches:
            return matches
        raise UsageError(f"{given}: nothing matches")
    raise UsageError(f"{given}: no such file or directory")


def _walk(root: Path, below: PurePosixPath, follow: bool, out: Path | None) -> Iterator[PurePosixPath]:
    """The files below a directory, as relative paths."""
    todo: list[tuple[PurePosixPath, tuple[Path, ...]]] = [(below, (root.resolve(),))]
    while todo:
        folder, above = todo.pop()
        try:
            inside = list(os.scandir(root / folder))
        except PermissionError as problem:
            raise UsageError(f"{root / folder}: cannot be listed ({problem.strerror})") from None
        for item in inside:
            path = folder / item.name
            if not item.is_dir(follow_symlinks=follow):
                if not item.is_dir():
                    yield path
                continue
            real = Path(item.path).resolve()
            # A link back to a folder that holds it would never end.
            if real != out and real not in above:
                todo.append((path, (*above, real)))


def _parts(path: PurePosixPath) -> tuple[str, ...]:
    return path.parts


def _matches(name: str, pattern: str) -> bool:
    """Whether a glob fits the whole relative path, or a file name or folder in it where the glob has no slash."""
    if "/" in pattern:
        return fnmatchcase(name, pattern)
    return any(fnmatchcase(part, pattern) for part in name.split("/"))


def _is_below(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder)


def _first_day(job: Job) -> str | None:
    """The UTC date of the first readable time in a log."""
    with open(job.path, "rb", buffering=0) as file:
        for entry in entries(lines(file), Ledger("")):
            if entry.at is not None:
                return day(entry.at)
    return None
