"""Remove messages that agents add around a conversation; ``docs/cleanup.md`` describes the rules.

A set of rules, as named in ``--cleanup``, is a module of this folder, which is imported if the set is used. Reports
count the changes by rule. The rules change messages and drop entries. Content types that records do not support are
handled by ``stages.public``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.core.edits import compose
from chatsquash.core.model import AddedRun, Edits, Entry, Message, Origin, Response, SkippedLine
from chatsquash.core.registry import Room, declaration

if TYPE_CHECKING:
    from chatsquash.session.cleaning._rule_states import Follower, FollowerState, Tidy, TidyState


class CleaningRule(Struct, frozen=True, eq=False, kw_only=True):
    """A rule, with one of the functions ``tidy``, ``removes`` and ``drops``."""

    name: str
    roles: tuple[str, ...] = ()
    """The roles of the messages that the rule checks."""
    opens: str | None = None
    """The first characters of texts that the rule may change.

    Texts that are empty or start with white space are always checked. A rule with ``opens`` never changes a message
    that has calls and no content. A rule without ``opens`` checks all texts.
    """
    tidy: Callable[[Message], Message | None] | None = None
    """Return the cleaned message, the same object if nothing changes, or ``None`` to remove it."""
    removes: Callable[[Message], bool] | None = None
    """Whether a message is removed if the next one has the role ``follower``."""
    follower: str = ""
    drops: Callable[[list[Message], Response], bool] | None = None
    """Whether the whole entry is dropped."""


class RuleSet(Struct, frozen=True, eq=False):
    """The declaration in the module of a set."""

    PLACE: int
    """The position of the set among all sets."""
    RULES: tuple[CleaningRule, ...]


class Rules(Struct, frozen=True):
    """The rules of some sets, indexed by message role."""

    tidy: dict[str, list[Tidy]]
    """By role."""
    removals: dict[str, list[Follower]]
    """By role."""
    drops: list[tuple[str, Callable[[list[Message], Response], bool]]]
    names: tuple[str, ...]
    """The names of the rules that work on messages, in order."""
    touches: dict[str, list[Callable[[Message], bool]]]
    """By role: functions that return whether a rule might change a message, whatever follows it."""
    clear: dict[str, frozenset[str]]
    """By role: first characters of texts that no rule changes (see ``CleaningRule.opens``); absent if a rule
    checks all texts.
    """

    def dropped_by(self, messages: list[Message], reply: Response) -> str:
        """Return the name of the rule that drops an entry, or an empty string."""
        for name, drops in self.drops:
            if drops(messages, reply):
                return name
        return ""


_ROOM: Room[RuleSet] = Room(RuleSet, sys.modules[__name__], place=lambda item: int(declaration(item, "PLACE")))


@cache
def names() -> tuple[str, ...]:
    """Return the names of all sets, in the order of their rules."""
    return tuple(name.replace("_", "-") for name in _ROOM.names())


@cache
def rule_names(sets: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """Return the names of the rules of some sets, or of all, in order."""
    return tuple(rule.name for rule in _rules_of(names() if sets is None else sets))


@cache
def _rules_of(sets: tuple[str, ...]) -> list[CleaningRule]:
    return [rule for name in names() if name in sets for rule in _ROOM.get(name.replace("-", "_")).RULES]


@cache
def _rules(sets: tuple[str, ...]) -> Rules:
    tidy: dict[str, list[Tidy]] = {}
    removes: dict[str, list[Follower]] = {}
    drops: list[tuple[str, Callable[[list[Message], Response], bool]]] = []
    over_messages: list[str] = []
    for rule in _rules_of(sets):
        if rule.drops:
            drops.append((rule.name, rule.drops))
            continue
        over_messages.append(rule.name)
        for role in rule.roles:
            if rule.tidy:
                tidy.setdefault(role, []).append((rule.name, rule.tidy))
            if rule.removes:
                removes.setdefault(role, []).append((rule.name, rule.removes, rule.follower))
    touches: dict[str, list[Callable[[Message], bool]]] = {}
    for role, rules in tidy.items():
        touches[role] = [partial(_changes, work) for _, work in rules]
    for role, followers in removes.items():
        touches.setdefault(role, []).extend(removes_message for _, removes_message, _ in followers)
    return Rules(tidy, removes, drops, tuple(over_messages), touches, _clear(sets))


def _clear(sets: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """Return, for each role whose rules all have ``opens``, the ASCII characters that none of them lists."""
    openings: dict[str, str | None] = {}
    for rule in _rules_of(sets):
        for role in rule.roles:
            characters = openings.get(role, "")
            openings[role] = None if characters is None or rule.opens is None else characters + rule.opens
    return {role: _VISIBLE.difference(opens) for role, opens in openings.items() if opens is not None}


_VISIBLE = frozenset(map(chr, range(0x21, 0x7F)))
"""The ASCII characters that are not white space."""


def _changes(work: Callable[[Message], Message | None], message: Message) -> bool:
    return work(message) is not message


def clean(items: Iterator[Entry | SkippedLine], sets: tuple[str, ...] = ("goose",)) -> Iterator[Entry | SkippedLine]:
    """Apply the cleaning rules of some sets to every entry; entries that no rule changes are yielded unchanged."""
    rules = _rules(sets)
    request = CleanedRequest(rules)
    since: Edits | None = None  # the edits since the last entry that was yielded
    for entry in items:
        if isinstance(entry, SkippedLine):
            yield entry
            continue
        # Cleaning removes messages and entries that the edits of the next entry refer to, so edits are recomputed.
        edits = request.follow(entry.messages, entry.edits, entry.known)
        edits = edits if since is None else compose(since, edits)
        if dropped := rules.dropped_by(request.messages, entry.reply):
            replied = entry.reply.message is not None
            yield SkippedLine(entry.line, "cleaned", entry.size, findings=entry.findings, rule=dropped, replied=replied)
            since = edits
            continue
        if request.is_plain and since is None:
            yield entry
        else:
            cleaned_origin = request.moved_origin(entry.origin) if entry.origin else None
            yield replace(
                entry,
                messages=request.messages,
                edits=edits,
                cleanup_counts=request.counts(),
                origin=cleaned_origin,
                known=0,
                continued=None,
            )
        since = None


class CleanedRequest:
    """The messages of the current request after cleaning."""

    def __init__(self, rules: Rules) -> None:
        self.messages: list[Message] = []
        self._rules = rules
        self._tidy: TidyState | None = None
        self._follower: FollowerState | None = None

    @property
    def is_plain(self) -> bool:
        """Whether no rule could have changed a message so far."""
        return self._tidy is None

    def follow(self, messages: list[Message], edits: Edits, known: int = 0) -> Edits:
        """Clean the messages that a request adds, and return the edits of the result.

        ``known`` is as in ``Entry.known``.
        """
        # Most logs need no cleaning, so the states are created with the first message that a rule might change.
        if self._tidy is None or self._follower is None:
            if self._add_plain(messages, edits, known):
                self.messages = messages
                return edits
            from chatsquash.session.cleaning._rule_states import FollowerState, TidyState

            self._tidy = TidyState(self.messages, self._rules.tidy)
            self._follower = FollowerState(self.messages, self._rules.removals)
        before = self._tidy.messages
        edits = self._follower.follow(before, self._tidy.follow(edits))
        self.messages = self._follower.messages
        return edits

    def counts(self) -> dict[str, int]:
        """Return how many messages each rule changed or removed."""
        if self._tidy is None or self._follower is None:
            return {}
        tidy, follower = self._tidy.places_by_rule, self._follower.places_by_rule
        return {name: len(tidy.get(name, ())) + len(follower.get(name, ())) for name in self._rules.names}

    def moved_origin(self, origin: Origin) -> Origin:
        """Return the origin with the positions that its messages have after cleaning."""
        replies = (replace(each, at=None if each.at is None else self.place(each.at)) for each in origin.replies)
        lines = (line for at, line in enumerate(origin.lines) if self.place(at) is not None)
        return replace(origin, replies=tuple(replies), lines=tuple(lines))

    def place(self, at: int) -> int | None:
        """Return the new position of a message of the request, or ``None`` if it was removed."""
        if self._tidy is None or self._follower is None:
            return at
        place = self._tidy.place(at)
        return None if place is None else self._follower.place(place)

    def _add_plain(self, messages: list[Message], edits: Edits, known: int) -> bool:
        """Return whether no rule could change any of the messages that a request adds."""
        if known:
            return self._are_plain(messages[known:])
        for run in edits:  # noqa: SIM110 - a generator takes twice as long
            if type(run) is AddedRun and not self._are_plain(run.messages):
                return False
        return True

    def _are_plain(self, messages: Sequence[Message]) -> bool:
        """Return whether no rule could change any of the messages, whatever follows them."""
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
