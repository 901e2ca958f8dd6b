"""Select the snapshot that becomes the record, with the tools defined up to that point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct, field

from chatsquash.checks import are_usual, definition_members, reading
from chatsquash.checks import definitions as definition_checks
from chatsquash.core import chat, jsonio
from chatsquash.core.edits import Histories
from chatsquash.core.lazy import LazyModule
from chatsquash.core.memo import Last, Same
from chatsquash.core.model import AddedRun, Entry, KeptRun, SkippedLine, Tool
from chatsquash.session.session import LineFinding, Session, Snapshot, Tally
from chatsquash.session.stages.tools import CallTracker, Definitions, RedefinedTools

if TYPE_CHECKING:
    from chatsquash.session import provider_members
else:
    provider_members = LazyModule("chatsquash.session.provider_members")


def select(
    items: Iterator[Entry | SkippedLine],
    *,
    trace_roles: bool = True,
    last_tools: bool = False,
    trace_calls: bool = False,
    begin: Callable[[], Tally] = Tally,
) -> Session:
    """Select the last entry with the most messages, and count every line.

    Findings from comparing entries are reported only up to the snapshot. With ``last_tools``, the last definition of a
    tool is used. ``trace_calls`` records which definition applied to each call. ``begin`` creates the tally.
    """
    tally = begin()
    best: Entry | None = None
    last: Entry | None = None
    span = settled = _EntryRange()
    tools, trace, calls = ToolUnion(last_tools), Trace(), CallTracker()
    pending: list[LineFinding] = []
    for entry in items:
        if isinstance(entry, SkippedLine):
            tally.skip(entry)
            continue
        tally.add(entry)
        span = span.extend(entry)
        pending += tools.offer(entry.tools, entry.line)
        if trace_roles:
            pending += [finding] if (finding := trace.take(entry)) else []
        if trace_calls:
            calls.take(entry)
        if best is None or len(entry.messages) >= len(best.messages):
            best, settled = entry, span
            tools.settle()
            calls.settle()
            tally.notes += pending
            pending.clear()
        last = entry
    if best is None or last is None:
        return tally.finish(None)
    if last is not best:
        tally.notes.append(_short_tail(best, last))
    if tally.lists_entries:  # entries after the snapshot may become records as well
        tally.notes += pending
    redefined = calls.redefined(best, tools.redefined()) if trace_calls else None
    return tally.finish(_snapshot(best, tools.settled(), settled, span, redefined))


def _short_tail(best: Entry, last: Entry) -> LineFinding:
    return best.line, reading.short_tail(last.line, len(last.messages), best.line, len(best.messages))


def _snapshot(
    best: Entry, tools: list[Tool], settled: _EntryRange, all_: _EntryRange, redefined: RedefinedTools | None
) -> Snapshot:
    """Build the snapshot of an entry from the totals up to that entry and those of the entire log."""
    before, before_size = settled.entries - 1, settled.size - best.size
    after, after_size = all_.entries - settled.entries, all_.size - settled.size
    times = settled.started_at, settled.ended_at
    return Snapshot(best, tools, *times, before, after, before_size, after_size, redefined)


class _EntryRange(Struct, frozen=True, gc=False):
    """Totals over the entries up to a certain one."""

    entries: int = 0
    size: int = 0
    """The size of their lines in bytes."""
    started_at: int | None = None
    """The first known time of these entries."""
    ended_at: int | None = None
    """The last known time of these entries."""

    def extend(self, entry: Entry) -> _EntryRange:
        """Return the totals including the next entry."""
        ended_at = self.ended_at if entry.at is None else entry.at
        return _EntryRange(
            self.entries + 1, self.size + entry.size, ended_at if self.started_at is None else self.started_at, ended_at
        )


Key = tuple[str, bytes | str]
_MAX_SEEN = 1024
"""The number of definitions remembered as seen, in addition to those of the current list."""


class ToolUnion(Struct):
    """The union of tool definitions by name, in order of first appearance; the first or last definition wins."""

    last_wins: bool = False
    _last: list[Tool] | None = None
    _known: dict[Key, Tool] = field(default_factory=dict)
    _lines: dict[Key, int] = field(default_factory=dict)
    _spelled: dict[Key, bytes] = field(default_factory=dict)
    _customs: dict[str, tuple[Key, int]] = field(default_factory=dict)
    """The first definition of each custom tool, with its line."""
    _conflicts: set[Key] = field(default_factory=set)
    _with_unknown_fields: set[str | bytes] = field(default_factory=set)
    """The definitions whose unknown fields were reported."""
    _with_native_fields: set[bytes] = field(default_factory=set)
    """The definitions with reported fields that records do not support."""
    _seen: dict[int, Tool] = field(default_factory=dict)
    """Definitions already added, by identity; some clients send the same ones in a different order each time."""
    _redefined: dict[str, Definitions] = field(default_factory=dict)
    """The definitions of each redefined name over time."""
    _line: int = 0
    _settled: int = 0
    _settled_line: int = 0

    def offer(self, tools: list[Tool], line: int) -> list[LineFinding]:
        """Add the tools of a line; return the new conflicts."""
        before, self._last, self._line = self._last, tools, line
        if tools is before:
            return []
        keyed = _keyed(tools if before is None else self._unseen(tools))
        findings: list[LineFinding] = []
        if before is None and len(keyed.by_key) == len(keyed.tools):
            self._known, self._lines = keyed.by_key.copy(), dict.fromkeys(keyed.by_key, line)
        else:
            findings += self._add(keyed.tools, line)
            self._track_redefined(tools, line)
        if not keyed.are_named:
            findings += self._compare_customs(keyed.tools, line)
        if keyed.unknown:
            findings += self._report_members(keyed.unknown, line)
        if keyed.native:
            findings += self._report_native(keyed.native, line)
        return findings

    def _report_members(self, unknown: _WithMembers, line: int) -> Iterator[LineFinding]:
        """Report unknown fields of definitions, once per name."""
        for tool, members in unknown:
            name = chat.tool_name(flatten(tool)) or _canonical(flatten(tool))
            if name not in self._with_unknown_fields:
                self._with_unknown_fields.add(name)
                yield line, definition_members.tool_members(tool, members)

    def _report_native(self, native: _WithMembers, line: int) -> Iterator[LineFinding]:
        """Report fields that records do not support, once per definition."""
        new = {_canonical(flatten(tool)): names for tool, names in native}
        kinds = Counter(name for key in new.keys() - self._with_native_fields for name in new[key])
        self._with_native_fields |= new.keys()
        if kinds:
            yield line, reading.unsupported_content(dict(sorted(kinds.items())), None)

    def _add(self, keyed: list[tuple[Key, Tool]], line: int) -> Iterator[LineFinding]:
        for key, tool in keyed:
            name = key[1]
            first, first_line = self._known.setdefault(key, tool), self._lines.setdefault(key, line)
            if first is tool or not isinstance(name, str) or key in self._conflicts:
                continue
            if key not in self._spelled:
                self._spelled[key] = _canonical(first)
            if self._spelled[key] != _canonical(tool):
                self._conflicts.add(key)
                self._redefined[name] = [(first_line, first)]
                yield (
                    line,
                    definition_checks.tool_conflict(
                        name, first_line, line, kept_definition="last" if self.last_wins else "first"
                    ),
                )

    def _track_redefined(self, tools: list[Tool], line: int) -> None:
        """Record the definitions of conflicting names if they changed again."""
        if not self._redefined:
            return
        tools_by_name = {chat.tool_name(tool): tool for tool in map(flatten, reversed(tools))}
        for name in self._redefined.keys() & tools_by_name.keys():
            assert name is not None
            definitions, tool = self._redefined[name], tools_by_name[name]
            if definitions[-1][1] is not tool and _canonical(definitions[-1][1]) != _canonical(tool):
                definitions.append((line, tool))

    def _compare_customs(self, keyed: list[tuple[Key, Tool]], line: int) -> Iterator[LineFinding]:
        """Report custom tools that are defined differently."""
        for key, tool in keyed:
            # The name of a custom tool is nested, so the record contains each of its definitions.
            name = (chat.custom(tool) or {}).get("name") if key[0] == "unnamed" else None
            if not isinstance(name, str):
                continue
            first, first_line = self._customs.setdefault(name, (key, line))
            if first != key and ("custom", name) not in self._conflicts:
                self._conflicts.add(("custom", name))
                yield line, definition_checks.tool_conflict(name, first_line, line, kept_definition="each")

    def _unseen(self, tools: list[Tool]) -> list[Tool]:
        """Return the tools not seen before (compared by identity)."""
        unseen = [tool for tool in tools if id(tool) not in self._seen]
        # This bounds the memory for logs whose definitions are new objects in every request.
        if len(self._seen) >= _MAX_SEEN:
            self._seen.clear()
        self._seen.update((id(tool), tool) for tool in unseen)
        return unseen

    def settle(self) -> None:
        """Record that the snapshot is the last entry so far."""
        self._settled, self._settled_line = len(self._known), self._line

    def settled(self) -> list[Tool]:
        """Return the definitions up to the snapshot; the same object as for the previous session if they are equal."""
        known = list(self._known.values())[: self._settled]
        if not self.last_wins or not self._redefined:
            return same_tools(known)
        redefined = self.redefined()
        return same_tools(
            [redefined[name][-1][1] if (name := chat.tool_name(tool)) in redefined else tool for tool in known]
        )

    def redefined(self) -> dict[str, Definitions]:
        """Return all definitions of each name that is redefined up to the snapshot."""
        return {
            name: until_settled
            for name, definitions in self._redefined.items()
            if len(until_settled := [each for each in definitions if each[0] <= self._settled_line]) > 1
        }


same_tools: Same[Tool] = Same()
_WithMembers = list[tuple[Tool, list[str]]]
"""Definitions with the names of some of their fields."""


class _KeyedTools(Struct, frozen=True, gc=False):
    """Flattened definitions, each with its name, or with its full content if it is unnamed."""

    tools: list[tuple[Key, Tool]]
    by_key: dict[Key, Tool]
    are_named: bool
    unknown: _WithMembers
    """The definitions with unknown fields."""
    native: _WithMembers
    """The definitions with fields that records do not support."""


@Last
def _keyed(tools: list[Tool]) -> _KeyedTools:
    """Flatten definitions and pair each with its key."""
    flat = list(map(flatten, tools))
    are_named = True
    keyed: list[tuple[Key, Tool]] = []
    for tool in flat:
        name = chat.tool_name(tool)
        are_named = are_named and name is not None
        keyed.append((("unnamed", _canonical(tool)) if name is None else ("named", name), tool))
    if are_usual(*tools, *flat):
        return _KeyedTools(keyed, dict(keyed), are_named, [], [])
    unknown, native = definition_members.definitions_with_unknown(tools), provider_members.of_definitions(tools)
    return _KeyedTools(keyed, dict(keyed), are_named, unknown, native)


def flatten(tool: Tool) -> Tool:
    """Return the function of a tool definition, or the definition itself."""
    function = tool.get("function") if isinstance(tool, dict) else None
    return function if isinstance(function, dict) else tool


def _canonical(tool: Tool) -> bytes:
    # Encoded bytes distinguish 1 from 1.0 and true, which Python's == does not; the order of keys is irrelevant.
    return jsonio.dumps(tool, sort_keys=True)


_TOKENS = {role: role for role in ("tool", "user", "system")}
"""Roles that are their own tokens; equal tokens are the same object, which makes comparing them faster."""


class Trace(Struct):
    """Compares the role traces of consecutive entries; each must begin with the complete previous one."""

    _entry: Entry | None = None
    _tokens: list[str] = field(default_factory=list)
    _others: Histories[list[str]] | None = None
    """The histories that entries did not continue; ``None`` while each continues the previous one."""

    def take(self, entry: Entry) -> LineFinding | None:
        """Compare an entry with the previous one; return the violation of the rule, if any."""
        before, self._entry = self._entry, entry
        if before is not None and not entry.known and self._extend(entry):
            return None
        earlier = self._tokens
        if before is not None and entry.known:
            self._others = self._others or Histories()
            self._others.put(before.messages, earlier)
        self._tokens = self._tokens_after(entry)
        if before is not None and (at := _divergence(earlier, self._tokens)) is not None:
            seen = self._tokens[at[1]] if at[1] < len(self._tokens) else ""
            return entry.line, reading.role_sequence(before.line, entry.line, at[1], earlier[at[0]], seen)
        return None

    def _extend(self, entry: Entry) -> bool:
        """Advance to an entry whose tokens extend the previous ones; return whether they do."""
        tokens, at = self._tokens, 0
        more: list[str] = []
        # The common case; its cost depends only on the messages that the entry adds.
        for run in entry.edits:
            if type(run) is KeptRun:
                if run.start != at:
                    return False
                at = run.stop
            else:
                runs = self._tokens_of(run)
                present = tokens[at : at + len(runs)]
                if present != runs[: len(present)]:
                    return False
                more = runs[len(present) :]
                at += len(runs)
        if at < len(tokens):
            return False
        self._tokens += more
        return True

    def _tokens_after(self, entry: Entry) -> list[str]:
        if entry.known and self._others and (history := self._others.take(entry)):
            count, tokens = history
            tokens = tokens if count == len(tokens) else tokens[:count]
            tokens += self._tokens_of(AddedRun(tuple(entry.messages[count:])))
            return tokens
        tokens = []
        for run in entry.edits:
            tokens += self._tokens_of(run)
        return tokens

    def _tokens_of(self, run: KeptRun | AddedRun) -> list[str]:
        if isinstance(run, KeptRun):
            return self._tokens[run.start : run.stop]
        return [_TOKENS.get(each["role"]) or chat.role_token(each) for each in run.messages]


def _divergence(earlier: list[str], later: list[str]) -> tuple[int, int] | None:
    """Return the positions in both traces at which the later one stops extending the earlier one."""
    if later[: len(earlier)] == earlier:
        return None
    i = j = _common_prefix(earlier, later)
    while i < len(earlier):
        if j < len(later) and earlier[i] == later[j]:
            i, j = i + 1, j + 1
        # Some clients log a text and the call after it separately and send them back as one message.
        elif earlier[i : i + 2] == ["Ac", "At"] and later[j : j + 1] == ["Act"]:
            i, j = i + 2, j + 1
        else:
            return i, j
    return None


def _common_prefix(one: list[str], other: list[str]) -> int:
    """Return the length of the common prefix of two traces, by binary search."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
