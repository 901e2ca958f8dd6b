"""The conversations of a file: the lines of each, its kind and its parent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from functools import cached_property
from itertools import count
from typing import NamedTuple

from msgspec import Struct

from chatsquash.core.model import ConversationKind
from chatsquash.formats.agents.claude_code.rows import NO_REPLY, Chain, FileLines
from chatsquash.formats.agents.claude_code.tree import Compaction, LineTree
from chatsquash.formats.evidence import Unread
from chatsquash.formats.threads import BRANCH_BEYOND, ROOT, EntryBudget
from chatsquash.formats.values import objects, string


class ConversationPath(Struct, frozen=True):
    """The lines of a conversation."""

    leaf: int
    first_row: int
    """The first line, which may have no content."""
    chain: Chain
    rows: list[int]
    """The lines with content, in order."""
    kept_rows: set[int]
    """The lines that a compaction kept, and that belong to another conversation."""
    is_branch: bool
    """Whether a later conversation starts with the same line."""
    compaction: Compaction | None
    """The compaction at the beginning of the conversation."""


def paths(
    tree: LineTree, unread: Unread, early: Container[int] = (), unsent: Container[int] = ()
) -> list[ConversationPath]:
    """Return the path to the last line, then the paths with complete replies that no later path contains.

    Args:
        tree: the lines of the file
        unread: the counter for branches that are skipped because they would repeat too many lines
        early: the replies that ended early
        unsent: the early-ended replies that later requests do not contain
    """
    selected: list[ConversationPath] = []
    first_rows: set[int] = set()
    depths: dict[int, int] = {}
    """The number of lines before each line of the selected paths."""
    budget = EntryBudget(len(tree.lines.keys))
    # The main chain precedes sidechains, and later leaves precede earlier leaves.
    leaves = sorted(tree.leaves, key=lambda row: (tree.lines.eras[row][0][0], -row))
    for leaf in leaves:
        fresh, fork = tree.fresh_rows(leaf, depths)
        repeated_lines = depths[fork] + 1 if fork != ROOT else 0
        depths.update(zip(reversed(fresh), count(repeated_lines), strict=False))
        if not _adds_reply(tree, fresh, early, is_fork=fork != ROOT):
            continue
        if repeated_lines and not budget.take(repeated_lines):
            unread.count(BRANCH_BEYOND)
            continue
        walk = fresh if fork == ROOT else list(tree.upward(leaf))
        path = _path(tree, walk[::-1], first_rows, unsent)
        if path.compaction and path.compaction.is_beyond:
            unread.count(BRANCH_BEYOND)
            continue
        selected.append(path)
        first_rows.add(path.first_row)
        others = [(row, depth) for depth, row in enumerate(path.rows) if row not in depths]
        depths.update(each for each in others if each[0] not in path.kept_rows)
    return selected or [_path(tree, list(tree.upward(leaf))[::-1], first_rows, unsent) for leaf in leaves[:1]]


def _adds_reply(tree: LineTree, fresh: list[int], early: Container[int], *, is_fork: bool) -> bool:
    """Return whether lines that are not part of a path yet contain a reply."""
    replies = (number for number in map(tree.lines.replies.__getitem__, fresh) if number != NO_REPLY)
    # At a fork, another reply replaced a reply that ended early.
    return any(not is_fork or number not in early for number in replies)


def _path(tree: LineTree, walk: list[int], others: set[int], unsent: Container[int]) -> ConversationPath:
    """Return the path that ends with a leaf; ``walk`` is the leaf with the lines before it, in order."""
    lines = tree.lines
    first, leaf = walk[0], walk[-1]
    compaction = tree.compactions.get(lines.eras[first])
    if compaction and compaction.row != first:
        compaction = None
    kept_elsewhere = [*compaction.kept_rows.keys() - set(walk)] if compaction else []
    path_rows = _PathRows(tree, [*walk, *kept_elsewhere])
    if compaction:
        path_rows.add(kept_elsewhere, compaction.anchor)
    kept_rows = set(path_rows.rows)
    if unsent:
        walk = [row for row in walk if lines.replies[row] == NO_REPLY or lines.replies[row] not in unsent]
    path_rows.add(walk, None)
    is_branch = first in others
    return ConversationPath(leaf, first, lines.eras[first][0], path_rows.in_order(), kept_rows, is_branch, compaction)


class _PathRows:
    """A collector for the lines of a conversation that merges forks within a reply, such as parallel calls."""

    def __init__(self, tree: LineTree, rows: list[int]) -> None:
        self.rows: set[int] = set()
        self._anchors: dict[int, int] = {}
        """The lines that moved lines follow, by the moved lines."""
        self._tree = tree
        results = tree.lines.results
        self._answered_calls = {call_id for row in rows if row in results for call_id in results[row]}

    def add(self, rows: list[int], anchor: int | None) -> None:
        """Add lines with the other blocks of their messages, the results of their calls, and queued prompts.

        ``anchor`` is the line that they follow in the conversation if they were moved from their original place.
        """
        lines = self._tree.lines
        new = {row for row in rows if lines.turns[row] is not None}
        new.update(*map(lines.blocks.__getitem__, set(map(lines.replies.__getitem__, new)) - {NO_REPLY}))
        new.update(self._missing_answers(new))
        if queued := self._tree.queued_prompts:
            new.update(*[queued[row] for row in queued.keys() & new])
        new -= self.rows
        self.rows |= new
        if anchor is not None:
            self._anchors.update(dict.fromkeys(new, anchor))

    def _missing_answers(self, rows: set[int]) -> list[int]:
        """Return the results of the calls of lines that no line of the path answers."""
        calls = self._tree.lines.calls
        answers: list[int] = []
        for row in sorted(calls.keys() & rows):
            for call_id in calls[row]:
                if call_id not in self._answered_calls:
                    self._answered_calls.add(call_id)
                    if (answer := self._tree.answer(row, call_id)) is not None:
                        answers.append(answer)
        return answers

    def _place(self, row: int) -> tuple[int, int, int]:
        anchor = self._anchors.get(row)
        return (row, 0, 0) if anchor is None else (anchor, 1, row)

    def in_order(self) -> list[int]:
        lines = self._tree.lines
        rows = sorted(self.rows, key=self._place if self._anchors else None)
        while rows and lines.is_synthetic(rows[-1]):
            rows.pop()  # text that the client added at the end was never sent to the model
        return rows if lines.queued.isdisjoint(rows) else _after_results(lines, rows)


def _after_results(lines: FileLines, rows: list[int]) -> list[int]:
    """Move prompts that were queued during calls after the results, where the model received them."""
    answers = {call_id: index for index, row in reversed([*enumerate(rows)]) for call_id in lines.results.get(row, ())}
    ends: dict[int, int] = {}
    for index, row in enumerate(rows):
        if (reply := lines.replies[row]) != NO_REPLY:
            results = (answers.get(call_id, index) for call_id in lines.calls.get(row, ()))
            ends[reply] = max(index, ends.get(reply, index), *results)
    reordered: list[int] = []
    waiting: list[int] = []
    end = 0
    for index, row in enumerate(rows):
        end = max(end, ends.get(lines.replies[row], 0))
        if row in lines.queued and index < end:
            waiting.append(row)
            continue
        reordered.append(row)
        if index >= end:
            reordered += waiting
            waiting.clear()
    return reordered + waiting


_SIDE = ("acompact-", "aprompt_suggestion-", "aside_question-")
"""The id prefixes of agents that Claude Code starts for its own purposes, with a copy of the conversation."""


_LEAD = "team-lead"
"""The agent name reserved for the session that started a team."""


class Origins(NamedTuple):
    """The id, kind and links of a conversation."""

    id: str
    kind: ConversationKind
    parent: str | None = None
    call: str | None = None
    """The id of the call that started it."""
    subagents: dict[str, str] = {}  # noqa: RUF012 - never changed
    """The call ids of the sub-agents that it started, by agent id."""


def places(tree: LineTree, conversation_paths: list[ConversationPath]) -> list[Origins]:
    """Return the links of each conversation; shared lines belong to the first conversation that contains them."""
    names = _names(tree.lines, conversation_paths)
    owners: dict[int, str] = {}
    for name, path in zip(names, conversation_paths, strict=True):
        own_rows = [row for row in path.rows if row not in owners and row not in path.kept_rows]
        owners.update(dict.fromkeys(own_rows, name))
    names_by_first = {
        path.first_row: name for name, path in reversed(list(zip(names, conversation_paths, strict=True)))
    }
    links = _OriginLinks(tree, owners, names_by_first)
    origins = [_place(name, path, links) for name, path in zip(names, conversation_paths, strict=True)]
    calls_by_owner: dict[str | None, dict[str, str]] = {}
    for agent, (owner, call_id) in links.by_agent.items():
        calls_by_owner.setdefault(owner, {})[agent] = call_id
    return [place._replace(subagents=calls_by_owner.get(place.id, {})) for place in origins]


def originals(lines: FileLines, conversation_paths: list[ConversationPath]) -> set[int]:
    """Return the first lines of replies, except copies made by compactions and the history in side requests."""
    names = list(lines.names)
    firsts: dict[tuple[Chain, str], int] = {}
    side_requests: dict[Chain, int] = {}
    rows = {row for path in conversation_paths for row in path.rows if lines.replies[row] != NO_REPLY}
    for compaction in (path.compaction for path in conversation_paths if path.compaction):
        # The file of a fork may contain only the copies.
        rows.difference_update(row for row in compaction.kept_rows if row > compaction.row)
    for row in sorted(rows):
        chain, (_, name) = lines.eras[row][0], names[lines.replies[row]]
        first = firsts.setdefault((chain, name), row)
        if chain[0] and chain[1].startswith(_SIDE):
            side_requests[chain] = first
    last_rows = set(side_requests.values())
    return {row for (chain, _), row in firsts.items() if chain not in side_requests or row in last_rows}


def is_side_request(path: ConversationPath) -> bool:
    """Return whether Claude Code sent the request for its own purposes: for a summary, suggestion or side question."""
    is_inner, agent = path.chain
    return is_inner and agent.startswith(_SIDE)


def _names(lines: FileLines, conversation_paths: list[ConversationPath]) -> list[str]:
    """Return the ids of conversations: the agent's id if unique, or the id of the last line; empty for the only one."""
    agents = Counter(path.chain[1] for path in conversation_paths if not path.is_branch)
    names = []
    for path in conversation_paths:
        is_inner, agent = path.chain
        is_agent = is_inner and agents[agent] == 1 and not path.is_branch
        names.append(agent if agent and is_agent else lines.keys[path.leaf] if len(conversation_paths) > 1 else "")
    return names


def _place(name: str, path: ConversationPath, links: _OriginLinks) -> Origins:
    if is_side_request(path):
        return Origins(name, "side")
    if path.is_branch:
        owners = (links.owners.get(row, name) for row in reversed(path.rows))
        return Origins(
            name, "branch", next((each for each in owners if each != name), links.names_by_first[path.first_row])
        )
    if path.compaction:
        return Origins(name, "compacted", links.summarized_conversation(path.compaction.row))
    if path.chain[0] or links.is_teammate(path.leaf):
        return Origins(name, "subagent", *links.call_of(path))
    return Origins(name, "main")


class _OriginLinks:
    """The lookup tables for links: the owners of lines, and the calls that may have started sub-agents."""

    def __init__(self, tree: LineTree, owners: dict[int, str], names_by_first: dict[int, str]) -> None:
        self._tree = tree
        self.owners = owners
        """The ids of conversations by line."""
        self.names_by_first = names_by_first
        """The ids of the latest conversations by first line."""
        self._owners_above: dict[int, str | None] = {}
        """The ids of the conversations that contain the last replies up to lines, which many compactions may share."""
        self.by_agent: dict[str, tuple[str | None, str]] = {}
        for row, call_ids in reversed(tree.lines.results.items()):
            if agent := string(tree.lines.values[row].get("toolUseResult"), "agentId"):
                self.by_agent[agent] = owners.get(row), call_ids[0]

    @cached_property
    def _by_prompt(self) -> dict[str, list[tuple[str | None, str]]]:
        """The conversations and the calls by prompt, last first."""
        by_prompt: dict[str, list[tuple[str | None, str]]] = {}
        for row, prompts in reversed(self._tree.lines.prompts.items()):
            if self._tree.lines.replies[row] != NO_REPLY:
                for prompt, call_id in prompts:
                    by_prompt.setdefault(prompt, []).append((self.owners.get(row), call_id))
        return by_prompt

    def is_teammate(self, row: int) -> bool:
        """Return whether a line was written by a team agent, which the session that leads the team started."""
        value = self._tree.lines.values[row]
        return bool(string(value, "teamName")) and string(value, "agentName") not in ("", _LEAD)

    def summarized_conversation(self, boundary: int) -> str | None:
        """Return the conversation that contains the last reply before a compaction."""
        lines = self._tree.lines
        logical_parent = lines.index.get(string(lines.values[boundary], "logicalParentUuid"), boundary)
        owner = self._owner_above(logical_parent) if logical_parent < boundary else None
        return self.owners.get(self._tree.last_reply(boundary)) if owner is None else owner

    def _owner_above(self, row: int) -> str | None:
        """Return the conversation that contains the last reply up to a line."""
        known = self._owners_above
        walk: list[int] = []
        owner = None
        for each in self._tree.upward(row):
            if each in known:
                owner = known[each]
                break
            walk.append(each)
            if self._tree.lines.replies[each] != NO_REPLY and each in self.owners:
                owner = self.owners[each]
                break
        known.update(dict.fromkeys(walk, owner))
        return owner

    def call_of(self, path: ConversationPath) -> tuple[str | None, str | None]:
        """Return the conversation and the call that started a sub-agent, based on a result or an equal prompt."""
        if known := self.by_agent.get(path.chain[1]):
            return known
        first_turn = self._tree.lines.turns[path.rows[0]] if path.rows else None
        prompt = first_turn.get("content") if first_turn else None
        text = prompt if isinstance(prompt, str) else "".join(string(block, "text") for block in objects(prompt))
        matches = self._by_prompt.get(text.strip(), []) or self._by_prompt.get(text, [])
        return matches.pop() if matches else (None, None)  # each call started only one sub-agent
