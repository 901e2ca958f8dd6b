"""The sessions of a result that ``forget`` removes, and what else in the result is about them."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple

from chatsquash.core.errors import UsageError
from chatsquash.core.text import escape, pluralize, quote
from chatsquash.dataset.stored_sessions import StoredLine, StoredSession
from chatsquash.sources.names import Glob, fits


class Match(NamedTuple):
    """A session to be removed."""

    session: str
    path: str
    """The path of its log, as in reports."""
    argument: str
    """The argument that selects it; empty if it is joined with a selected session."""
    records: int

    def __str__(self) -> str:
        """Return the session as listed before it is removed."""
        note = "" if self.argument else ", joined with a session above"
        return f"{self.session} ({self.path}, {pluralize(self.records, 'record')}{note})"


class SessionPatterns:
    """The arguments of ``forget``: ids of sessions, paths of logs, and globs for both."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._arguments = [(each, _glob(each)) for each in dict.fromkeys(arguments)]
        self.unused = dict.fromkeys(arguments)
        """The arguments that select no session so far."""

    def find(self, session: str, path: str) -> str | None:
        """Return the first argument that selects a session."""
        parts, first = PurePosixPath(path).parts, None
        for argument, pattern in self._arguments:
            if argument in (session, path) or fnmatchcase(session, argument) or fits(parts, pattern):
                self.unused.pop(argument, None)
                first = first or argument
        return first


def _glob(argument: str) -> Glob:
    """Return a glob for paths, which matches like ``--exclude``; a plain name matches only the name of a file."""
    parts = PurePosixPath(argument).parts
    if not parts:  # it would match every path
        hint = "pass the id of a session, the path of its log, or a pattern for these"
        raise UsageError(f"{quote(argument)}: neither a session nor a log; {hint}")
    if len(parts) > 1:
        return (*parts, "**")
    return ("**", *parts, "**") if glob.has_magic(argument) else ("**", *parts)


@dataclass
class Removal:
    """The sessions to be removed, and what else in the result is about them."""

    arguments: dict[int, str]
    """The argument that selects each session, by its position in the result, from 0."""
    matches: list[Match] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    """The paths of logs that contain no other session."""
    labels: set[int] = field(default_factory=set)
    """The rows of ``--loss-labels`` that are only about replies of these sessions."""
    records_made: int = 0
    """The number of their records before filters."""
    digests: int = 0
    """The sum of the digests of their written records."""
    duplicates: int = 0
    """The number of other sessions without a record because theirs is equal."""
    remaining: int = 0
    """The number of other sessions."""

    @cached_property
    def shown_paths(self) -> set[str]:
        """These paths as they appear in findings about other logs."""
        return {text for path in self.paths for text in (escape(path), quote(path))}

    @property
    def records(self) -> int:
        """The number of their written records."""
        return sum(each.records for each in self.matches)


def select(stored_lines: Callable[[], Iterable[StoredLine]], requests: SessionPatterns) -> Removal:
    """Select the sessions that the arguments request.

    A session that was joined with a selected one is selected too, since each contains texts of the other.
    """
    arguments: dict[int, str] = {}
    joins: list[tuple[int, str, set[str]]] = []
    for number, each in _sessions(stored_lines()):
        argument = requests.find(each.outcome.session, each.log.path)
        if argument is not None:
            arguments[number] = argument
        if each.log.agents or each.outcome.account.is_joined:
            joins.append((number, each.log.path, set(each.log.agents)))
    _add_joined(arguments, joins)
    removal = Removal(arguments)
    if arguments:
        _collect(removal, stored_lines())
    return removal


def _sessions(lines: Iterable[StoredLine]) -> Iterator[tuple[int, StoredSession]]:
    return enumerate(line.session for line in lines if line.session)


def _add_joined(arguments: dict[int, str], joins: list[tuple[int, str, set[str]]]) -> None:
    """Select the sessions that were joined with a selected one: an agent's file with the gateway log that lists it."""
    paths = {path for number, path, agents in joins if number in arguments and not agents}
    gateways = [(number, agents) for number, _, agents in joins if agents]
    agent_paths: set[str] = set()
    for number, agents in gateways:
        if number in arguments or not paths.isdisjoint(agents):
            arguments.setdefault(number, "")
            agent_paths |= agents
    for number, path, agents in joins:
        if not agents and path in agent_paths:
            arguments.setdefault(number, "")


def _collect(removal: Removal, lines: Iterable[StoredLine]) -> None:
    other_paths: set[str] = set()
    other_labels: set[int] = set()
    for number, each in _sessions(lines):
        outcome, log = each.outcome, each.log
        paths = {log.path, *(path for path, *_ in log.pieces)}
        labels = {label for reply in outcome.replies.rows for label, _ in reply.labels}
        if number not in removal.arguments:
            removal.remaining += 1
            other_paths |= paths
            other_labels |= labels
            continue
        records = outcome.output.records
        removal.matches.append(Match(outcome.session, log.path, removal.arguments[number], len(records)))
        removal.paths |= paths
        removal.labels |= labels
        removal.records_made += each.record_count
        removal.digests += sum(int.from_bytes(record.digest, "big") for record in records)
    removal.paths -= other_paths
    removal.labels -= other_labels
