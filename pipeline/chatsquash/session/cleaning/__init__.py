"""Take out what agents put around a conversation; ``docs/cleanup.md`` states the rules.

A rule is a module of this folder; it is counted under its name, and declares a ``CleaningRule``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

from msgspec.structs import replace

from chatsquash.core.edits import compose
from chatsquash.core.model import AddedRun, Edits, Entry, Message, Origin, Response, SkippedLine
from chatsquash.core.registry import Room
from chatsquash.session.cleaning._rule_states import Follower, FollowerState, Tidy, TidyState


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class CleaningRule:
    """What the module of a rule declares: one of the functions ``tidy``, ``goes`` and ``drops``."""

    SET: str
    """The agent whose rule it is, as in ``--cleanup``."""
    PLACE: int
    """The order of the rules."""
    ROLES: tuple[str, ...] = ()
    """The messages that the rule looks at."""
    OPENS: str | None = None
    """A text that the rule touches begins with one of these characters or with white space, or is empty.

    Such a rule touches no message that has calls and no content.  A rule without looks at all texts.
    """
    FOLLOWER: str = ""
    tidy: Callable[[Message], Message | None] | None = None
    """Return what becomes of a message."""
    goes: Callable[[Message], bool] | None = None
    """Whether a message is removed before one of the role ``FOLLOWER``."""
    drops: Callable[[list[Message], Response], bool] | None = None
    """Whether an entry is dropped completely."""


class Rules(NamedTuple):
    """All rules, by what they look at."""

    tidy: dict[str, list[Tidy]]
    """By role."""
    goes: dict[str, list[Follower]]
    """By role."""
    drops: list[tuple[str, Callable[[list[Message], Response], bool]]]
    names: tuple[str, ...]
    """Of the rules over messages, in order."""
    touches: dict[str, list[Callable[[Message], bool]]]
    """By role: whether a rule could touch a message, whatever its neighbours."""
    clear: dict[str, frozenset[str]]
    """By role: with what texts begin that no rule touches, as ``OPENS`` tells; not of roles with a rule without it."""


_ROOM: Room[CleaningRule] = Room(CleaningRule, sys.modules[__name__])


@cache
def rule_names(sets: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """The names of the rules of some sets, or of all, in order."""
    return tuple(name for name, rule in _all_rules().items() if sets is None or rule.SET in sets)


@cache
def names() -> tuple[str, ...]:
    """The names of all sets, in the order of their rules."""
    return tuple(dict.fromkeys(rule.SET for rule in _all_rules().values()))


@cache
def _all_rules() -> dict[str, CleaningRule]:
    return dict(sorted(_ROOM.all().items(), key=lambda item: (item[1].PLACE, item[0])))


@cache
def _rules(chosen: tuple[str, ...]) -> Rules:
    tidy: dict[str, list[Tidy]] = {}
    goes: dict[str, list[Follower]] = {}
    drops: list[tuple[str, Callable[[list[Message], Response], bool]]] = []
    over_messages: list[str] = []
    for name in rule_names(chosen):
        rule = _all_rules()[name]
        if rule.drops:
            drops.append((name, rule.drops))
            continue
        over_messages.append(name)
        for role in rule.ROLES:
            if rule.tidy:
                tidy.setdefault(role, []).append(Tidy(name, rule.tidy))
            if rule.goes:
                goes.setdefault(role, []).append(Follower(name, rule.goes, rule.FOLLOWER))
    touches: dict[str, list[Callable[[Message], bool]]] = {}
    for role, tidying in tidy.items():
        touches[role] = [partial(_changes, each.work) for each in tidying]
    for role, followers in goes.items():
        touches.setdefault(role, []).extend(each.goes for each in followers)
    return Rules(tidy, goes, drops, tuple(over_messages), touches, _clear(chosen))


def _clear(chosen: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """Of each role of whose texts the beginning tells that no rule touches them, the characters of ASCII that do."""
    cleared: dict[str, str | None] = {}
    for rule in map(_all_rules().__getitem__, rule_names(chosen)):
        for role in rule.ROLES:
            known = cleared.get(role, "")
            cleared[role] = None if known is None or rule.OPENS is None else known + rule.OPENS
    return {role: _SEEN.difference(opens) for role, opens in cleared.items() if opens is not None}


_SEEN = frozenset(map(chr, range(0x21, 0x7F)))
"""The characters of ASCII that are no white space."""


def _changes(work: Callable[[Message], Message | None], message: Message) -> bool:
    return work(message) is not message


def clean(items: Iterator[Entry | SkippedLine], chosen: tuple[str, ...] = ("goose",)) -> Iterator[Entry | SkippedLine]:
    """Apply the cleaning rules of the chosen sets to every entry.

    An entry that no rule touches goes on as it is.  The edits of the others follow from those of the requests, since
    cleaning moves messages and drops entries that the next one's edits speak of.
    """
    rules = _rules(chosen)
    request = CleanedRequest(rules)
    since: Edits | None = None  # what leads from the last entry that went on to one that did not
    for entry in items:
        if isinstance(entry, SkippedLine):
            yield entry
            continue
        edits = request.follow(entry.messages, entry.edits, entry.known)
        edits = edits if since is None else compose(since, edits)
        if dropped := [name for name, drops in rules.drops if drops(request.messages, entry.reply)]:
            replied = entry.reply.message is not None
            yield SkippedLine(
                entry.line, "cleaned", entry.size, findings=entry.findings, rule=dropped[0], replied=replied
            )
            since = edits
            continue
        if request.is_plain and since is None:
            yield entry
        else:
            moved = request.moved(entry.origin) if entry.origin else None
            cleaned = request.cleaned()
            alone = replace(entry, known=0, continued=None)
            yield replace(alone, messages=request.messages, edits=edits, cleanup_counts=cleaned, origin=moved)
        since = None


class CleanedRequest:
    """The messages of the last request, cleaned."""

    def __init__(self, rules: Rules) -> None:
        self.messages: list[Message] = []
        self._rules = rules
        self._tidied: TidyState | None = None
        self._followed: FollowerState | None = None

    @property
    def is_plain(self) -> bool:
        """Whether no rule could touch a message so far."""
        return self._tidied is None

    def follow(self, messages: list[Message], edits: Edits, known: int = 0) -> Edits:
        """Clean what a request adds, and give the edits of what is left; ``known`` is as in ``Entry.known``."""
        if self._tidied is None or self._followed is None:
            added = [messages[known:]] if known else [run.messages for run in edits if type(run) is AddedRun]
            if all(map(self._are_plain, added)):
                self.messages = messages
                return edits
            self._tidied = TidyState(self.messages, self._rules.tidy)
            self._followed = FollowerState(self.messages, self._rules.goes)
        before = self._tidied.messages
        edits = self._followed.follow(before, self._tidied.follow(edits))
        self.messages = self._followed.messages
        return edits

    def cleaned(self) -> dict[str, int]:
        """How many messages each rule changed or took out."""
        if self._tidied is None or self._followed is None:
            return {}
        return {name: self._tidied.count(name) + self._followed.count(name) for name in self._rules.names}

    def moved(self, origin: Origin) -> Origin:
        """What a file says of a conversation, with the places that its messages have now."""
        replies = (each._replace(at=None if each.at is None else self.place(each.at)) for each in origin.replies)
        lines = (line for at, line in enumerate(origin.lines) if self.place(at) is not None)
        return replace(origin, replies=tuple(replies), lines=tuple(lines))

    def place(self, at: int) -> int | None:
        """Where a message of the request is now; ``None`` for one that went."""
        if self._tidied is None or self._followed is None:
            return at
        place = self._tidied.place(at)
        return None if place is None else self._followed.place(place)

    def _are_plain(self, messages: Sequence[Message]) -> bool:
        """Whether no rule could touch any of some messages, whatever their neighbours."""
        touches, clear = self._rules.touches, self._rules.clear
        for message in messages:
            role = message["role"]
            if role not in touches:
                continue
            if role in clear:
                content = message.get("content")
                if type(content) is str and content[:1] in clear[role]:
                    continue
            for touch in touches[role]:
                if touch(message):
                    return False
        return True
