"""Find the snapshot that becomes the record, and the tools of the entries up to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from msgspec import Struct, field

from chatsquash.checks import definition_members, reading
from chatsquash.checks import definitions as definition_checks
from chatsquash.core import chat, jsonio
from chatsquash.core.edits import Histories
from chatsquash.core.memo import Last, Same
from chatsquash.core.model import AddedRun, Entry, KeptRun, SkippedLine, Tool
from chatsquash.session import provider_members
from chatsquash.session.session import Noted, Session, Snapshot, Tally
from chatsquash.session.stages.tools import CallTracker, Definitions, Redefined


def select(
    items: Iterator[Entry | SkippedLine],
    *,
    trace_roles: bool = True,
    last_tools: bool = False,
    trace_calls: bool = False,
    begin: Callable[[], Tally] = Tally,
) -> Session:
    """Cut to the last entry with the most messages and take it; count every line.

    Findings from comparing entries count once an entry is known to stay.  ``last_tools``: of definitions with one name
    the last is taken.  ``trace_calls``: the snapshot records which one applied to a call.  ``begin`` makes the tally.
    """
    tally = begin()
    best: Entry | None = None
    last: Entry | None = None
    span = settled = _EntryRange()
    tools, trace, answered = ToolUnion(last_tools), Trace(), CallTracker()
    waiting: list[Noted] = []
    for entry in items:
        if isinstance(entry, SkippedLine):
            tally.skip(entry)
            continue
        tally.entry(entry)
        span = span.to(entry)
        waiting += tools.offer(entry.tools, entry.line)
        if trace_roles:
            waiting += trace.take(entry)
        if trace_calls:
            answered.take(entry)
        if best is None or len(entry.messages) >= len(best.messages):
            best, settled = entry, span
            tools.settle()
            answered.settle()
            tally.notes += waiting
            waiting.clear()
        last = entry
    if best is None or last is None:
        return tally.session(None)
    if last is not best:
        tally.notes.append(_short_tail(best, last))
    if tally.lists_entries:  # since those behind the snapshot may become records, too
        tally.notes += waiting
    redefined = answered.redefined(best, tools.redefined()) if trace_calls else None
    return tally.session(_snapshot(best, tools.settled(), settled, span, redefined))


def _short_tail(best: Entry, last: Entry) -> Noted:
    return best.line, reading.short_tail(last.line, len(last.messages), best.line, len(best.messages))


def _snapshot(
    best: Entry, tools: list[Tool], settled: _EntryRange, all_: _EntryRange, redefined: Redefined | None
) -> Snapshot:
    """The snapshot of an entry, given the entries up to it and those of the whole log."""
    before, before_size = settled.entries - 1, settled.size - best.size
    behind, behind_size = all_.entries - settled.entries, all_.size - settled.size
    times = settled.started, settled.ended
    return Snapshot(best, tools, *times, before, behind, before_size, behind_size, redefined)


class _EntryRange(Struct, frozen=True, gc=False):
    """The entries up to one."""

    entries: int = 0
    size: int = 0
    """Bytes of their lines."""
    started: int | None = None
    """The first of their times."""
    ended: int | None = None
    """The last one."""

    def to(self, entry: Entry) -> _EntryRange:
        """Those up to the next one."""
        ended = self.ended if entry.at is None else entry.at
        return _EntryRange(
            self.entries + 1, self.size + entry.size, ended if self.started is None else self.started, ended
        )


Key = tuple[str, bytes | str]
_MOST = 1024
"""Definitions that are remembered to have been taken, beside those of the present list."""


class ToolUnion(Struct):
    """The union of tool definitions by name, in order of first appearance; the first of a name wins, or the last."""

    last_wins: bool = False
    _last: list[Tool] | None = None
    _known: dict[Key, Tool] = field(default_factory=dict)
    _lines: dict[Key, int] = field(default_factory=dict)
    _spelled: dict[Key, bytes] = field(default_factory=dict)
    _customs: dict[str, tuple[Key, int]] = field(default_factory=dict)
    """Of each custom tool the first definition, and the line it is in."""
    _conflicts: set[Key] = field(default_factory=set)
    _odd: set[str | bytes] = field(default_factory=set)
    """Definitions whose unknown members were reported."""
    _native: set[bytes] = field(default_factory=set)
    """Definitions whose members that records do not have were reported."""
    _seen: dict[int, Tool] = field(default_factory=dict)
    """Definitions that were taken, by identity; some clients send the same ones in another order each time."""
    _redefined: dict[str, Definitions] = field(default_factory=dict)
    """Of each name with a conflict the definitions that held one after the other."""
    _line: int = 0
    _settled: int = 0
    _settled_line: int = 0

    def offer(self, tools: list[Tool], line: int) -> Iterator[Noted]:
        """Add the tools of a line; yields the conflicts that are new."""
        before, self._last, self._line = self._last, tools, line
        if tools is before:
            return
        keyed, odd, native = _keyed(tools if before is None else self._unseen(tools))
        if before is None and len({key for key, _ in keyed}) == len(keyed):
            self._known, self._lines = dict(keyed), dict.fromkeys((key for key, _ in keyed), line)
        else:
            yield from self._add(keyed, line)
            self._follow(tools, line)
        yield from self._compare_customs(keyed, line)
        if odd:
            yield from self._report_members(odd, line)
        if native:
            yield from self._report_native(native, line)

    def _report_members(self, odd: _WithMembers, line: int) -> Iterator[Noted]:
        """Report the unknown members of definitions, once for each name."""
        for tool, members in odd:
            name = chat.tool_name(flatten(tool)) or _spelled(flatten(tool))
            if name not in self._odd:
                self._odd.add(name)
                yield line, definition_members.tool_members(tool, members)

    def _report_native(self, native: _WithMembers, line: int) -> Iterator[Noted]:
        """Report the members that records do not have, once for each definition."""
        new = {_spelled(flatten(tool)): names for tool, names in native}
        kinds = Counter(name for key in new.keys() - self._native for name in new[key])
        self._native |= new.keys()
        if kinds:
            yield line, reading.unsupported_content(dict(sorted(kinds.items())), None)

    def _add(self, keyed: list[tuple[Key, Tool]], line: int) -> Iterator[Noted]:
        for key, tool in keyed:
            name = key[1]
            first, first_line = self._known.setdefault(key, tool), self._lines.setdefault(key, line)
            if first is tool or not isinstance(name, str) or key in self._conflicts:
                continue
            if key not in self._spelled:
                self._spelled[key] = _spelled(first)
            if self._spelled[key] != _spelled(tool):
                self._conflicts.add(key)
                self._redefined[name] = [(first_line, first)]
                yield (
                    line,
                    definition_checks.tool_conflict(name, first_line, line, kept="last" if self.last_wins else "first"),
                )

    def _follow(self, tools: list[Tool], line: int) -> None:
        """Take down the definitions of names with a conflict, where they are others than before."""
        if not self._redefined:
            return
        named = {chat.tool_name(tool): tool for tool in map(flatten, reversed(tools))}
        for name in self._redefined.keys() & named.keys():
            assert name is not None
            definitions, tool = self._redefined[name], named[name]
            if definitions[-1][1] is not tool and _spelled(definitions[-1][1]) != _spelled(tool):
                definitions.append((line, tool))

    def _compare_customs(self, keyed: list[tuple[Key, Tool]], line: int) -> Iterator[Noted]:
        """Custom tools have their name further inside, so that the record has each of their definitions."""
        for key, tool in keyed:
            name = (chat.custom(tool) or {}).get("name") if key[0] == "unnamed" else None
            if not isinstance(name, str):
                continue
            first, first_line = self._customs.setdefault(name, (key, line))
            if first != key and ("custom", name) not in self._conflicts:
                self._conflicts.add(("custom", name))
                yield line, definition_checks.tool_conflict(name, first_line, line, kept="each")

    def _unseen(self, tools: list[Tool]) -> list[Tool]:
        """Those of a list that no list before it had as the same objects, as far as that is remembered."""
        unseen = [tool for tool in tools if id(tool) not in self._seen]
        if len(self._seen) >= _MOST:
            self._seen.clear()
        self._seen.update((id(tool), tool) for tool in unseen)
        return unseen

    def settle(self) -> None:
        """The entries so far stay."""
        self._settled, self._settled_line = len(self._known), self._line

    def settled(self) -> list[Tool]:
        """The definitions of the entries that stay; the same object as in the last session where they are its."""
        known = list(self._known.values())[: self._settled]
        if not self.last_wins or not self._redefined:
            return same_tools(known)
        redefined = self.redefined()
        return same_tools(
            [redefined[name][-1][1] if (name := chat.tool_name(tool)) in redefined else tool for tool in known]
        )

    def redefined(self) -> dict[str, Definitions]:
        """Of each name that the entries that stay define otherwise than before, all definitions."""
        return {
            name: kept
            for name, definitions in self._redefined.items()
            if len(kept := [each for each in definitions if each[0] <= self._settled_line]) > 1
        }


same_tools: Same[Tool] = Same()
_WithMembers = list[tuple[Tool, list[str]]]
"""Definitions, each with the names of some of its members."""


@Last
def _keyed(tools: list[Tool]) -> tuple[list[tuple[Key, Tool]], _WithMembers, _WithMembers]:
    """Definitions, flattened, with what tells them apart: the name, or all of it where there is none.

    And those that have unknown members, and members that records do not have, with these.
    """
    flat = list(map(flatten, tools))
    named = [(chat.tool_name(tool), tool) for tool in flat]
    keyed: list[tuple[Key, Tool]] = [
        (("unnamed", _spelled(tool)) if name is None else ("named", name), tool) for name, tool in named
    ]
    if definition_members.are_usual(*tools, *flat):
        return keyed, [], []
    return keyed, definition_members.odd_definitions(tools), provider_members.of_definitions(tools)


def flatten(tool: Tool) -> Tool:
    """The function of a tool definition, or the whole definition where it has none."""
    function = tool.get("function") if isinstance(tool, dict) else None
    return function if isinstance(function, dict) else tool


def _spelled(tool: Tool) -> bytes:
    # Encoded bytes tell 1 from 1.0 and from true, which Python's == does not; the order of keys says nothing.
    return jsonio.dumps(tool, sort_keys=True)


_TOKENS = {role: role for role in ("tool", "user", "system")}
"""Roles that are their messages' tokens; equal tokens are the same object, which is compared faster."""


class Trace(Struct):
    """The role traces of neighbouring entries: each must begin with all of the one before."""

    _entry: Entry | None = None
    _tokens: list[str] = field(default_factory=list)
    _others: Histories[list[str]] = field(default_factory=Histories)

    def take(self, entry: Entry) -> Iterator[Noted]:
        """Compare an entry with the one before; yields what breaks the rule."""
        before, self._entry = self._entry, entry
        if before is not None and not entry.known and self._grows(entry):
            return
        earlier = self._tokens
        if before is not None and entry.known:
            self._others.put(before.messages, earlier)
        self._tokens = self._follow(entry)
        if before is not None and (at := _departs(earlier, self._tokens)) is not None:
            seen = self._tokens[at[1]] if at[1] < len(self._tokens) else ""
            yield entry.line, reading.role_sequence(before.line, entry.line, at[1], earlier[at[0]], seen)

    def _grows(self, entry: Entry) -> bool:
        """Go on to an entry that has the tokens of the one before in their places, if it is one."""
        tokens, at = self._tokens, 0
        more: list[str] = []
        for run in entry.edits:
            if type(run) is KeptRun:
                if run.start != at:
                    return False
                at = run.stop
            else:
                runs = self._of(run)
                stands = tokens[at : at + len(runs)]
                if stands != runs[: len(stands)]:
                    return False
                more = runs[len(stands) :]
                at += len(runs)
        if at < len(tokens):
            return False
        self._tokens += more
        return True

    def _follow(self, entry: Entry) -> list[str]:
        if entry.known and (history := self._others.take(entry)):
            count, tokens = history
            tokens = tokens if count == len(tokens) else tokens[:count]
            tokens += self._of(AddedRun(tuple(entry.messages[count:])))
            return tokens
        return [token for run in entry.edits for token in self._of(run)]

    def _of(self, run: KeptRun | AddedRun) -> list[str]:
        if isinstance(run, KeptRun):
            return self._tokens[run.start : run.stop]
        return [_TOKENS.get(each["role"]) or chat.role_token(each) for each in run.messages]


def _departs(earlier: list[str], later: list[str]) -> tuple[int, int] | None:
    """Where a trace stops being the beginning of the next: positions in both.

    ``Ac At`` may meet ``Act``: some clients log a text and the call after it apart and send them back as one message.
    """
    if later[: len(earlier)] == earlier:
        return None
    i = j = _agreement(earlier, later)
    while i < len(earlier):
        if j < len(later) and earlier[i] == later[j]:
            i, j = i + 1, j + 1
        elif earlier[i : i + 2] == ["Ac", "At"] and later[j : j + 1] == ["Act"]:
            i, j = i + 2, j + 1
        else:
            return i, j
    return None


def _agreement(one: list[str], other: list[str]) -> int:
    """How many tokens two traces begin with in common, found by halving."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
