"""Find the tasks, commits and repositories of benchmarks in records.

A task id is the strongest evidence, then the commit that a task starts from, then its repository, in which other work
may have been done. Short hashes and ids of ordinary words count only where the text next to them is about commits or
tasks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from chatsquash.checks import stored_records
from chatsquash.core.model import Json, Violation
from chatsquash.records import StoredRecord
from chatsquash.records.reading import message_texts
from chatsquash.results.benchmark_tasks import IMAGE_SEPARATOR, Commit, TaskList

_TOKEN = re.compile(r"[\w.-]++")
_HASH = re.compile(r"(?<![\w-])[0-9a-fA-F]{7,}+(?![\w])")
_FULL, _SURE = 40, 12
"""The digits of a complete hash, and of one that no other repository has by chance."""
_GIT = re.compile(r"\b(?:git|commit|check(?:ed|ing)?[ ]?out|head|rev|revision|sha|base|branch|detached)", re.IGNORECASE)
_BEFORE = 80
"""The characters before a hash in which a word about commits counts."""
_MOST_TRIES = 20
"""The occurrences of a hash in a message that are looked at."""
_URL = re.compile(
    r"(?:(?:github|gitlab|bitbucket)\.(?:com|org)[:/]|githubusercontent\.com/|api\.github\.com/repos/)"
    r"([\w-][\w.-]*+)/([\w.-]++)",
    re.IGNORECASE,
)
_PAIR = re.compile(r"(?<![\w./@:~-])([\w-][\w.-]*+)/([\w.-]++)(?![\w/])")
_REPOSITORY_WORD = re.compile(r"\b(?:repo|repository|project|fork|clone)\b[^\n]{0,40}\Z", re.IGNORECASE)
_PACKAGE = re.compile(r"/testbed/(?:src/|lib/)?([\w.-]++)", re.IGNORECASE)
"""A folder in the place where SWE-bench's images have the repository."""
_TASK = re.compile(
    r"""(?:\btask[_ -]?(?:ids?|names?)|\btasks?(?=[/=])|--task(?:-id)?\b|\bterminal[-_ ]bench(?:[-_@=][\w.=-]*)?)
    ["']?\s{0,2}[:=/\[ ]\s{0,2}["'`]?(?=([^\W_][\w-]*+))""",
    re.IGNORECASE | re.VERBOSE,
)
_MOST_PARTS = 6
"""The parts of a word between dots that are joined to an id."""
_LONGEST = 1_000
"""The length of a word that may contain an id."""


class TaskMatches(NamedTuple):
    """Tasks, commits and repositories in a record, each with its message; ``None`` for another member of the record."""

    ids: dict[str, int | None]
    commits: dict[Commit, int | None]
    repositories: dict[str, int | None]


def find_tasks(tasks: TaskList, record: StoredRecord, value: Json) -> Iterator[Violation]:
    """Report a task, a commit and a repository of a record, each with the number of others.

    Args:
        tasks: The tasks to search for.
        record: The record.
        value: The row of the record, whose other texts may name a task, such as the session's id.
    """
    evidence = _evidence(tasks, record, value)
    if evidence.ids:
        task, at = next(iter(evidence.ids.items()))
        yield stored_records.eval_task(task, len(evidence.ids) - 1, at)
    if evidence.commits:
        commit, place = next(iter(evidence.commits.items()))
        yield stored_records.eval_commit(commit.digits, commit.repository, len(evidence.commits) - 1, place)
    if evidence.repositories and not (evidence.ids or evidence.commits):
        repository, place = next(iter(evidence.repositories.items()))
        yield stored_records.eval_repository(repository, len(evidence.repositories) - 1, place)


def _evidence(tasks: TaskList, record: StoredRecord, value: Json) -> TaskMatches:
    evidence = TaskMatches({}, {}, {})
    short: dict[Commit, int | None] = {}
    members = value.values() if isinstance(value, dict) else ()
    texts: list[tuple[int | None, str]] = [(None, each) for each in members if isinstance(each, str)]
    for at, message in enumerate(record.messages):
        texts += [(at, text) for text in message_texts(message)]
    for place, text in texts:
        search = _Search(tasks, text)
        for task in search.ids():
            evidence.ids.setdefault(task, place)
        for commit, is_sure in search.commits():
            (evidence.commits if is_sure else short).setdefault(commit, place)
        for repository in search.repositories():
            evidence.repositories.setdefault(repository, place)
    for commit, place in short.items():  # other repositories have commits with the same first digits
        if commit.repository in evidence.repositories:
            evidence.commits.setdefault(commit, place)
    return evidence


class _Search:
    """Searches one text."""

    def __init__(self, tasks: TaskList, text: str) -> None:
        self._tasks, self._text = tasks, text
        self._words = (
            dict.fromkeys(_words(text, only_joined=tasks.are_joined)) if tasks.ids or tasks.repositories else {}
        )

    def ids(self) -> Iterator[str]:
        """Yield the ids of tasks."""
        known = self._tasks.ids
        for word in self._words if known else ():
            if (task := known.get(word)) is not None:
                yield task
        if self._tasks.plain_ids:
            for match in _TASK.finditer(self._text):
                if (task := self._tasks.plain_ids.get(match[1].lower())) is not None:
                    yield task

    def commits(self) -> Iterator[tuple[Commit, bool]]:
        """Yield commits, and whether they are certain without their repository."""
        tries: dict[str, int] = {}
        for match in _HASH.finditer(self._text) if self._tasks.commits else ():
            digits = match[0].lower()
            candidates = self._tasks.commits.get(digits[:7], ())
            same = [each for each in candidates if each.digits.startswith(digits)]
            if not same or tries.get(digits, 0) >= _MOST_TRIES:
                continue
            tries[digits] = tries.get(digits, 0) + 1
            before = self._text[max(0, match.start() - _BEFORE) : match.start()]
            if len(digits) >= _FULL or _GIT.search(before):
                tries[digits] = _MOST_TRIES
                yield from ((commit, len(digits) >= _SURE) for commit in same)

    def repositories(self) -> Iterator[str]:
        """Yield repositories that are named by a URL, with their owner, or by their folder in an image."""
        known, text = self._tasks.repositories, self._text
        if not known:
            return
        names = [f"{match[1]}/{_without_suffix(match[2])}" for match in _URL.finditer(text)]
        names += _pairs(text)
        names += [name for word in self._words if "__" in word for name in _names(word)]
        yield from (known[name.lower()] for name in names if name.lower() in known)
        if "/testbed/" in text:
            folders = {match[1].lower() for match in _PACKAGE.finditer(text)}
            yield from (name for folder in folders if (name := self._tasks.by_folder.get(folder)) is not None)


def _words(text: str, *, only_joined: bool) -> Iterator[str]:
    """Yield the words of a text in lower case, and the parts between dots of names of files and images.

    ``only_joined``: only those with ``__``, like all ids of the list.
    """
    if only_joined and "__" not in text and IMAGE_SEPARATOR not in text:
        return
    for word in dict.fromkeys(_TOKEN.findall(text)):
        normalized = word.strip(".-").lower().replace(IMAGE_SEPARATOR, "__")
        if len(normalized) > _LONGEST or (only_joined and "__" not in normalized):
            continue
        yield normalized
        parts = normalized.split(".")
        for start in range(len(parts) if len(parts) > 1 else 0):
            stops = range(start + 1, min(len(parts), start + _MOST_PARTS) + 1)
            yield from (".".join(parts[start:stop]) for stop in stops)


def _pairs(text: str) -> Iterator[str]:
    """Yield ``owner/name``; if both are equal, as in the path of a package, only after a word about repositories."""
    if "/" not in text:
        return
    for match in _PAIR.finditer(text):
        owner, name = match[1], _without_suffix(match[2])
        before = text[max(0, match.start() - _BEFORE) : match.start()]
        if owner.lower() != name.lower() or _REPOSITORY_WORD.search(before):
            yield f"{owner}/{name}"


def _without_suffix(name: str) -> str:
    return name.rstrip(".").removesuffix(".git")


def _names(word: str) -> Iterator[str]:
    """Yield the repositories that a word such as ``django__django-11099`` or ``django__django__3.0`` may name."""
    owner, _, rest = word.partition("__")
    name = rest.partition("__")[0]
    yield f"{owner}/{name}"
    yield f"{owner}/{name.rpartition('-')[0]}"
