"""The conversations of a file: the lines of each, its kind and its parent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from functools import cached_property
from itertools import count
from operator import attrgetter
from typing import NamedTuple

from msgspec import Struct

from chatsquash.core.model import ConversationKind
from chatsquash.formats.agents.claude_code.rows import LogLine
from chatsquash.formats.agents.claude_code.tree import Compaction, LineTree
from chatsquash.formats.evidence import Unread
from chatsquash.formats.threads import BRANCH_BEYOND, EntryBudget
from chatsquash.formats.values import objects, string


class ConversationPath(Struct, frozen=True):
    """The lines of a conversation."""

    leaf: LogLine
    first_line: LogLine
    """The first line, which may have no content."""
    rows: list[LogLine]
    """The lines with content, in order."""
    kept_ids: set[str]
    """The keys of lines that a compaction kept, and that belong to another conversation."""
    is_branch: bool
    """Whether a later conversation starts with the same line."""
    compaction: Compaction | None
    """The compaction at the beginning of the conversation."""


def paths(
    tree: LineTree, unread: Unread, early: Container[object] = (), unsent: Container[object] = ()
) -> list[ConversationPath]:
    """Return the path to the last line, then the paths with complete replies that no later path contains.

    Args:
        tree: the lines of the file
        unread: the counter for branches that are skipped because they would repeat too many lines
        early: the replies that ended early
        unsent: the early-ended replies that later requests do not contain
    """
    selected: list[ConversationPath] = []
    first_keys: set[str] = set()
    depths: dict[str, int] = {}
    """The number of lines before each line of the selected paths."""
    budget = EntryBudget(len(tree.rows))
    # The main chain precedes sidechains, and later leaves precede earlier leaves.
    leaves = sorted(tree.leaves, key=lambda row: (row.chain[0], -row.place))
    for leaf in leaves:
        fresh, fork = tree.fresh_lines(leaf, depths)
        repeated_lines = depths[fork.key] + 1 if fork else 0
        depths.update(zip([row.key for row in reversed(fresh)], count(repeated_lines), strict=False))
        if not _adds_reply(fresh, early, is_fork=fork is not None):
            continue
        if repeated_lines and not budget.take(repeated_lines):
            unread.count(BRANCH_BEYOND)
            continue
        walk = list(tree.upward(leaf)) if fork else fresh
        path = _path(tree, walk[::-1], first_keys, unsent)
        selected.append(path)
        first_keys.add(path.first_line.key)
        others = [(row.key, depth) for depth, row in enumerate(path.rows) if row.key not in depths]
        depths.update(each for each in others if each[0] not in path.kept_ids)
    return selected or [_path(tree, list(tree.upward(leaf))[::-1], first_keys, unsent) for leaf in leaves[:1]]


def _adds_reply(fresh: list[LogLine], early: Container[object], *, is_fork: bool) -> bool:
    """Return whether lines that are not part of a path yet contain a reply."""
    # At a fork, another reply replaced a reply that ended early.
    replies = [row.message for row in fresh if row.message is not None]
    return any(reply not in early for reply in replies) if is_fork else bool(replies)


def _path(tree: LineTree, walk: list[LogLine], others: set[str], unsent: Container[object]) -> ConversationPath:
    """Return the path that ends with a leaf; ``walk`` is the leaf with the lines before it, in order."""
    first, leaf = walk[0], walk[-1]
    compaction_here = tree.compactions.get((first.chain, first.era))
    compaction = compaction_here if compaction_here and compaction_here.row.key == first.key else None
    on_walk = {row.key for row in walk} if compaction else set()
    kept_elsewhere = [row for row in compaction.kept_rows.values() if row.key not in on_walk] if compaction else []
    path_lines = _PathLines(tree, [*walk, *kept_elsewhere])
    for row in kept_elsewhere:
        path_lines.add(row, compaction.anchor if compaction else None)
    kept_keys = set(path_lines.rows)
    for row in walk:
        if row.turn is not None and (row.message is None or row.message not in unsent):
            path_lines.add(row, None)
    return ConversationPath(leaf, first, path_lines.in_order(), kept_keys, first.key in others, compaction)


class _PathLines:
    """A collector for the lines of a conversation that merges forks within a reply, such as parallel calls."""

    def __init__(self, tree: LineTree, rows: Iterable[LogLine]) -> None:
        self.rows: dict[str, LogLine] = {}
        self._anchors: dict[str, LogLine] = {}
        """The lines that moved lines follow, by the keys of the moved lines."""
        self._tree = tree
        self._messages: set[object] = set()
        self._answered_calls = {call_id for row in rows if row.results for call_id in row.results}

    def add(self, row: LogLine, anchor: LogLine | None) -> None:
        """Add a line with the other blocks of its message, the results of its calls, and queued prompts.

        ``anchor`` is the line that it follows in the conversation if it was moved from its original place.
        """
        if row.message is None:
            if row.turn is None:
                return
            new_rows = self._with_answers([row]) if row.calls else [row]
        elif row.message in self._messages:
            return
        else:
            self._messages.add(row.message)
            new_rows = self._with_answers(self._tree.blocks(row))
        if queued := self._tree.queued_prompts:
            new_rows = [each for block in new_rows for each in (block, *queued.get(block.key, ()))]
        for each in new_rows:
            if each.key not in self.rows:
                self.rows[each.key] = each
                if anchor:
                    self._anchors[each.key] = anchor

    def _with_answers(self, blocks: list[LogLine]) -> list[LogLine]:
        """Return the lines of a reply with the results of its calls that no line of the path answers."""
        answers: list[LogLine] = []
        for block in blocks:
            for call_id in block.calls:
                if call_id not in self._answered_calls:
                    self._answered_calls.add(call_id)
                    if answer := self._tree.answer(block, call_id):
                        answers.append(answer)
        return [*blocks, *answers] if answers else blocks

    def _place(self, row: LogLine) -> tuple[int, int, int]:
        anchor = self._anchors.get(row.key)
        return (anchor.place, 1, row.place) if anchor else (row.place, 0, 0)

    def in_order(self) -> list[LogLine]:
        rows = sorted(self.rows.values(), key=self._place if self._anchors else attrgetter("place"))
        while rows and rows[-1].is_synthetic:
            rows.pop()  # text that the client added at the end was never sent to the model
        return _after_results(rows) if [row for row in rows if row.is_queued] else rows


def _after_results(rows: list[LogLine]) -> list[LogLine]:
    """Move prompts that were queued during calls after the results, where the model received them."""
    answers = {call_id: index for index, row in reversed([*enumerate(rows)]) for call_id in row.results}
    ends: dict[object, int] = {}
    for index, row in enumerate(rows):
        if row.message is not None:
            results = (answers.get(call_id, index) for call_id in row.calls)
            ends[row.message] = max(index, ends.get(row.message, index), *results)
    reordered: list[LogLine] = []
    waiting: list[LogLine] = []
    end = 0
    for index, row in enumerate(rows):
        end = max(end, ends.get(row.message, 0))
        if row.is_queued and index < end:
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
    names = _names(conversation_paths)
    owners: dict[str, str] = {}
    for name, path in zip(names, conversation_paths, strict=True):
        own_keys = [row.key for row in path.rows if row.key not in owners and row.key not in path.kept_ids]
        owners.update(dict.fromkeys(own_keys, name))
    names_by_first = {
        path.first_line.key: name for name, path in reversed(list(zip(names, conversation_paths, strict=True)))
    }
    links = _OriginLinks(tree, owners, names_by_first)
    origins = [_place(name, path, links) for name, path in zip(names, conversation_paths, strict=True)]
    calls_by_owner: dict[str | None, dict[str, str]] = {}
    for agent, (owner, call_id) in links.by_agent.items():
        calls_by_owner.setdefault(owner, {})[agent] = call_id
    return [place._replace(subagents=calls_by_owner.get(place.id, {})) for place in origins]


def originals(conversation_paths: list[ConversationPath]) -> set[str]:
    """Return the first lines of replies, except copies made by compactions and the history in side requests."""
    firsts: dict[object, LogLine] = {}
    side_requests: dict[object, LogLine] = {}
    reply_rows = {row.place: row for path in conversation_paths for row in path.rows if row.message}
    for compaction in (path.compaction for path in conversation_paths if path.compaction):
        for row in compaction.kept_rows.values():  # the file of a fork may contain only the copies
            if row.place > compaction.row.place:
                reply_rows.pop(row.place, None)
    for _, row in sorted(reply_rows.items()):
        first = firsts.setdefault((row.chain, row.message[2] if row.message else ""), row)
        if row.chain[0] and row.chain[1].startswith(_SIDE):
            side_requests[row.chain] = first
    last = {row.key for row in side_requests.values()}
    return {row.key for row in firsts.values() if row.chain not in side_requests or row.key in last}


def is_side_request(path: ConversationPath) -> bool:
    """Return whether Claude Code sent the request for its own purposes: for a summary, suggestion or side question."""
    is_inner, agent = path.first_line.chain
    return is_inner and agent.startswith(_SIDE)


def _names(conversation_paths: list[ConversationPath]) -> list[str]:
    """Return the ids of conversations: the agent's id if unique, or the id of the last line; empty for the only one."""
    agents = Counter(path.first_line.chain[1] for path in conversation_paths if not path.is_branch)
    names = []
    for path in conversation_paths:
        agent = path.first_line.chain[1]
        is_agent = path.first_line.chain[0] and agents[agent] == 1 and not path.is_branch
        names.append(agent if agent and is_agent else path.leaf.key if len(conversation_paths) > 1 else "")
    return names


def _place(name: str, path: ConversationPath, links: _OriginLinks) -> Origins:
    if is_side_request(path):
        return Origins(name, "side")
    if path.is_branch:
        owners = (links.owners.get(row.key, name) for row in reversed(path.rows))
        return Origins(
            name, "branch", next((each for each in owners if each != name), links.names_by_first[path.first_line.key])
        )
    if path.compaction:
        return Origins(name, "compacted", links.summarized_conversation(path.compaction.row))
    if path.first_line.chain[0] or is_teammate(path.leaf):
        return Origins(name, "subagent", *links.call_of(path))
    return Origins(name, "main")


def is_teammate(row: LogLine) -> bool:
    """Return whether a line was written by a team agent, which the session that leads the team started."""
    return bool(string(row.value, "teamName")) and string(row.value, "agentName") not in ("", _LEAD)


class _OriginLinks:
    """The lookup tables for links: the owners of lines, and the calls that may have started sub-agents."""

    def __init__(self, tree: LineTree, owners: dict[str, str], names_by_first: dict[str, str]) -> None:
        self._tree = tree
        self.owners = owners
        """The ids of conversations by line."""
        self.names_by_first = names_by_first
        """The ids of the latest conversations by first line."""
        self.by_agent: dict[str, tuple[str | None, str]] = {}
        for row in reversed(tree.turn_lines):
            if row.results and (agent := string(row.value.get("toolUseResult"), "agentId")):
                self.by_agent[agent] = owners.get(row.key), row.results[0]

    @cached_property
    def _by_prompt(self) -> dict[str, list[tuple[str | None, str]]]:
        """The conversations and the calls by prompt, last first."""
        by_prompt: dict[str, list[tuple[str | None, str]]] = {}
        for row in reversed(self._tree.replies):
            content = row.turn.get("content") if row.turn else None
            for block in content if type(content) is list else ():
                if type(block) is not dict or "input" not in block or type(call_input := block["input"]) is not dict:
                    continue
                if (prompt := string(call_input, "prompt")) and (call_id := string(block, "id")):
                    by_prompt.setdefault(prompt, []).append((self.owners.get(row.key), call_id))
        return by_prompt

    def summarized_conversation(self, boundary: LogLine) -> str | None:
        """Return the conversation that contains the last reply before a compaction."""
        logical_parent = self._tree.rows.get(string(boundary.value, "logicalParentUuid"))
        if logical_parent and logical_parent.place < boundary.place:
            above = (row for row in self._tree.upward(logical_parent) if row.message and row.key in self.owners)
            if reply := next(above, None):
                return self.owners[reply.key]
        before = self._tree.last_reply(boundary)
        return self.owners.get(before.key) if before else None

    def call_of(self, path: ConversationPath) -> tuple[str | None, str | None]:
        """Return the conversation and the call that started a sub-agent, based on a result or an equal prompt."""
        if known := self.by_agent.get(path.first_line.chain[1]):
            return known
        first_turn = path.rows[0].turn
        prompt = first_turn.get("content") if first_turn else None
        text = prompt if isinstance(prompt, str) else "".join(string(block, "text") for block in objects(prompt))
        matches = self._by_prompt.get(text.strip(), []) or self._by_prompt.get(text, [])
        return matches.pop() if matches else (None, None)  # each call started only one sub-agent
