"""Lists of benchmark tasks: the ids, repositories and commits in rows of published benchmarks.

Rows are those of SWE-bench and its relatives (``instance_id``, ``repo``, ``base_commit``), of Multi-SWE-bench (``org``,
``repo``, ``base.sha``), of Terminal-Bench (``task_id``, the registry's ``task_id_subset``) and of Harbor's registry
(``tasks`` with names and paths). Members with other names are ignored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from chatsquash.core.model import Json
from chatsquash.core.text import pluralize

_IDS = ("instance_id", "task_id", "task_name")
_ID_LISTS = ("task_id_subset", "task_ids", "instance_ids")
_REPOSITORIES = ("repo", "repository", "repo_name", "repo_url")
_COMMITS = ("base_commit", "base_sha", "commit")
_ID = re.compile(r"[\w.-]{2,300}")
_PLAIN = re.compile(r"(?=.*[a-z])[a-z0-9]+(?:[-_.][a-z0-9]+)+", re.IGNORECASE)
"""An id of at least two words; one word or a number would be in too many texts."""
_COMMIT = re.compile(r"[0-9a-f]{7,64}", re.IGNORECASE)
_REPOSITORY = re.compile(r"(?:[\w+.-]+@)?(?:\w+://)?(?:[\w.@:-]+[/:])?([\w-][\w.-]*)/([\w.-]+?)(?:\.git)?/?")
_MIRROR = re.compile(r"\A[\w-]+/([\w-]+?)__([\w.-]+?)(?:\.[0-9a-f]{8})?\Z")
"""A repository of SWE-smith, such as ``swesmith/oauthlib__oauthlib.1fd52536``."""
_DISTINCTIVE = re.compile(r"__|_1776_|[0-9a-f]{8}|\d{4}", re.IGNORECASE)
_LONGEST_URL = 500
_MOST_ALIKE = 64
"""Commits with the same first seven digits; more are not of real repositories."""
_DEEPEST = 4
IMAGE_SEPARATOR = "_1776_"
"""Replaces ``__`` in the names of SWE-bench's images."""


class TaskList:
    """The ids, repositories and commits of tasks, each with the task or repository that it stands for."""

    def __init__(self) -> None:
        self.ids: dict[str, str] = {}
        """Ids that no other text contains, in lower case, with the id as published."""
        self.plain_ids: dict[str, str] = {}
        """Ids of ordinary words, such as ``hello-world``, which count only where a task is named."""
        self.repositories: dict[str, str] = {}
        """``owner/name`` in lower case, with the repository as published."""
        self.commits: dict[str, list[Commit]] = {}
        """Commits by their first seven digits."""
        self.unusable: Counter[str] = Counter()
        """Values of a wrong type or form by member."""
        self.are_joined = True
        """Whether all distinctive ids contain ``__``."""

    @cached_property
    def by_folder(self) -> dict[str, str]:
        """The repositories by the name of their folder, if only one has it."""
        folders: dict[str, str] = {}
        for repository in self.repositories.values():
            folder = repository.partition("/")[2].lower()
            for name in {folder, folder.replace("-", "_")}:
                folders[name] = "" if name in folders else repository
        return {name: repository for name, repository in folders.items() if repository}

    def __bool__(self) -> bool:
        return bool(self.ids or self.plain_ids or self.repositories or self.commits)

    def add(self, row: Json) -> None:
        """Add the tasks in a row."""
        for value in _objects(row, _DEEPEST):
            repository = self._add_repository(value)
            self._add_ids(value)
            self._add_commits(value, repository)

    def _add_ids(self, row: dict[str, Json]) -> None:
        members = [(name, row[name]) for name in _IDS if row.get(name) is not None]
        for name in _ID_LISTS:
            values = row.get(name)
            members += [(name, each) for each in values] if isinstance(values, list) else []
        for name, value in [*members, *_registry_tasks(row)]:
            text = value.rpartition("/")[2] if isinstance(value, str) else ""
            if not _ID.fullmatch(text):
                self.unusable[name] += 1
            elif _DISTINCTIVE.search(text) and not text.isdecimal():
                key = text.lower().replace(IMAGE_SEPARATOR, "__")
                self.ids.setdefault(key, text)
                self.are_joined &= "__" in key
            elif _PLAIN.fullmatch(text):
                self.plain_ids.setdefault(text.lower(), text)
            else:
                self.unusable[name] += 1

    def _add_repository(self, row: dict[str, Json]) -> str | None:
        """Add the repository of a row and return it."""
        repository: str | None = None
        for name in _REPOSITORIES:
            value = row.get(name)
            if value is None:
                continue
            owner = row.get("org")
            if isinstance(owner, str) and isinstance(value, str) and "/" not in value:
                value = f"{owner}/{value}"
            normalized = normalize_repository(value)
            if normalized is None:
                self.unusable[name] += 1
                continue
            repository = self.repositories.setdefault(normalized.lower(), normalized)
        return repository

    def _add_commits(self, row: dict[str, Json], repository: str | None) -> None:
        members = [(name, row[name]) for name in _COMMITS if row.get(name) is not None]
        base = row.get("base")
        if isinstance(base, dict) and "sha" in base:
            members.append(("base.sha", base["sha"]))
        for name, value in members:
            if isinstance(value, str) and _COMMIT.fullmatch(value):
                known = self.commits.setdefault(value[:7].lower(), [])
                commit = Commit(value.lower(), repository)
                if commit in known:
                    continue
                if len(known) < _MOST_ALIKE:
                    known.append(commit)
                    continue
            self.unusable[name] += 1

    def summary(self) -> str:
        """Return the numbers of tasks, repositories and commits for the user."""
        counts = (
            pluralize(len(self.ids) + len(self.plain_ids), "task"),
            pluralize(len(self.repositories), "repository", "repositories"),
            pluralize(sum(map(len, self.commits.values())), "commit"),
        )
        text = ", ".join(counts)
        if self.unusable:
            names = ", ".join(sorted(self.unusable))
            text += f"; {pluralize(self.unusable.total(), 'value')} cannot be used ({names})"
        return text


class Commit(NamedTuple):
    """A commit of a task."""

    digits: str
    repository: str | None


def normalize_repository(value: Json) -> str | None:
    """Return ``owner/name`` of a repository or its URL, or ``None`` if it is neither."""
    if not isinstance(value, str) or len(value) > _LONGEST_URL:
        return None
    match = _REPOSITORY.fullmatch(value.strip())
    if match is None:
        return None
    name = f"{match[1]}/{match[2]}"
    mirror = _MIRROR.match(name)
    return f"{mirror[1]}/{mirror[2]}" if mirror else name


def _registry_tasks(row: dict[str, Json]) -> Iterator[tuple[str, Any]]:
    """Yield the names of the tasks in an entry of a registry."""
    tasks = row.get("tasks")
    for task in tasks if isinstance(tasks, list) else ():
        if isinstance(task, dict) and "name" in task and ("path" in task or "git_url" in task):
            yield "tasks", task["name"]


def _objects(value: Json, depth: int) -> Iterator[dict[str, Json]]:
    """Yield the objects in a row and in its lists, down to a few levels."""
    if isinstance(value, dict):
        yield value
        for name, member in value.items():
            if isinstance(member, list) and depth and name != "tasks":
                yield from _objects(member, depth - 1)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                yield from _objects(item, depth - 1)
