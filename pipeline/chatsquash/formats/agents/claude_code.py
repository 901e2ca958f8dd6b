"""Claude Code's session files: lines that form a tree, each with one block of an Anthropic message."""

from __future__ import annotations

from typing import NamedTuple

from chatsquash.formats import anthropic
from chatsquash.formats.base import TurnError
from chatsquash.formats.bodies import replayed
from chatsquash.formats.values import Object, at, listed, objects, string
from chatsquash.model import Conversation, Json

NAME = "claude_code"
HOLDS_TOOLS = False

_KINDS = ("user", "assistant", "system", "attachment", "progress", "queue-operation", "custom-title", "last-prompt")
_UNSAID = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
"""Flags of lines that the client wrote for itself."""


class _Line(NamedTuple):
    """A line of the tree."""

    place: int
    """1-based number among the file's objects."""
    key: str
    parent: str
    """The key of the line that it follows; empty for a first one."""
    chain: tuple[bool, str]
    """Whether it is a sidechain's, and which agent's."""
    value: Object

    @property
    def is_said(self) -> bool:
        """Whether it is a part of the conversation."""
        value = self.value
        unsaid = any(value.get(flag) is True for flag in _UNSAID) or at(value, "message", "model") == "<synthetic>"
        return value.get("type") in ("user", "assistant") and not unsaid

    @property
    def by_assistant(self) -> bool:
        """Whether the assistant says it."""
        return bool(self.value["type"] == "assistant")

    @property
    def message(self) -> tuple[str, str]:
        """What the lines of one assistant's message have in common; its own key where it has no id."""
        return str(self.chain), string(self.value.get("message"), "id") or self.key


def fits(found: list[Json]) -> str | None:
    """Most lines have a session's id beside their own, or are known to have none."""
    count = sum(map(_is_line, found))
    return f"sessionId and uuid in {count} of {len(found)} lines" if count * 2 > len(found) else None


def _is_line(line: Json) -> bool:
    if not isinstance(line, dict) or "projectHash" in line:
        return False
    kind = line.get("type")
    if isinstance(line.get("sessionId"), str):
        return bool(line.keys() & {"uuid", "leafUuid"}) or kind in _KINDS
    return (kind == "summary" and "leafUuid" in line) or (kind == "file-history-snapshot" and "messageId" in line)


def conversations(found: list[Json]) -> list[Conversation]:
    """The branch of the last line first, then what the assistant said in others, and on sidechains.

    The branches that the user left by editing a prompt are conversations of their own if they were answered.  What
    stands before a compaction goes on behind it, without the summary.
    """
    session = _Session(_lines(found))
    return [Conversation(replayed(anthropic, _turns(branch)), []) for branch in session.branches()]


def _lines(found: list[Json]) -> dict[str, _Line]:
    """The lines of the tree by their ids, of repeated ones the first; one without an id follows the one before."""
    lines: dict[str, _Line] = {}
    before = ""
    for place, value in enumerate(found, 1):
        if not isinstance(value, dict):
            raise TurnError(f"entry {place} is no object")
        key, parent = string(value, "uuid"), string(value, "parentUuid") or string(value, "logicalParentUuid")
        if not key and value.get("type") in ("user", "assistant"):
            key, parent = f"entry {place}", before
        if key and key not in lines:
            chain = (value.get("isSidechain") is True, string(value, "agentId"))
            lines[key] = _Line(place, key, parent, chain, value)
            before = key
    return lines


class _Session:
    """The tree of a file's lines."""

    def __init__(self, lines: dict[str, _Line]) -> None:
        self.lines = lines
        self.said = [line for line in lines.values() if line.is_said]
        self.messages: dict[tuple[str, str], list[_Line]] = {}
        self.results: dict[str, list[_Line]] = {}
        for line in self.said:
            if line.by_assistant:
                self.messages.setdefault(line.message, []).append(line)
            for call_id in _ids(line, "tool_result", "tool_use_id"):
                self.results.setdefault(call_id, []).append(line)

    def branches(self) -> list[list[_Line]]:
        """The current branch, then others in which the assistant said something that no later one has."""
        kept: list[tuple[_Line, list[_Line]]] = []
        seen: set[str] = set()
        for leaf in sorted(self.leaves(), key=lambda line: (line.chain[0], -line.place)):
            branch = self.branch(leaf)
            answers = {line.key for line in branch if line.by_assistant}
            if not kept or answers - seen:
                kept.append((leaf, branch))
            seen |= answers
        others = sorted(kept[1:], key=lambda pair: (pair[0].chain[0], pair[0].place))
        return [branch for _, branch in [*kept[:1], *others]]

    def leaves(self) -> list[_Line]:
        """The lines that nothing which was said follows."""
        followed = {parent.key for line in self.said if (parent := self.before(line))}
        leaves = [line for line in self.said if line.key not in followed]
        if self.said and not leaves:
            raise TurnError(f"entry {self.said[-1].place} follows itself by its parentUuid")
        return leaves

    def before(self, line: _Line) -> _Line | None:
        """The nearest line before one that was said, on the same chain."""
        passed = {line.key}
        above = self.lines.get(line.parent)
        while above and above.key not in passed and above.chain == line.chain:
            if above.is_said:
                return above
            passed.add(above.key)
            above = self.lines.get(above.parent)
        return None

    def branch(self, leaf: _Line) -> list[_Line]:
        """All lines up to a leaf in their order in the file.

        Calls that were made at once, and their results, fork the tree: of a message that is on the branch, all blocks
        are, and so are the results of its calls.
        """
        found: dict[str, _Line] = {}
        line: _Line | None = leaf
        while line and line.key not in found:
            found[line.key] = line
            line = self.before(line)
        for said in list(found.values()):
            found |= {other.key: other for other in self.messages.get(said.message, []) if said.by_assistant}
        answered = {call_id for said in found.values() for call_id in _ids(said, "tool_result", "tool_use_id")}
        for said in list(found.values()):
            for call_id in _ids(said, "tool_use", "id"):
                for answer in self.results.get(call_id, [])[:1] if call_id not in answered else []:
                    found[answer.key] = answer
        return sorted(found.values(), key=lambda each: each.place)


def _ids(line: _Line, kind: str, member: str) -> list[str]:
    """The ids in a line's blocks of one type."""
    blocks = objects(at(line.value, "message", "content"))
    return [call_id for block in blocks if block.get("type") == kind and (call_id := string(block, member))]


def _turns(branch: list[_Line]) -> list[tuple[str, Json]]:
    """The turns of a branch, with the blocks of one message together, where its first one stands."""
    turns: dict[tuple[str, str], tuple[str, Object]] = {}
    for line in branch:
        message = line.value.get("message")
        if not isinstance(message, dict):
            raise TurnError(f"entry {line.place} has no message")
        turn = {"role": message.get("role") or line.value["type"]}
        turn |= {"content": message["content"]} if "content" in message else {}
        key = line.message if line.by_assistant else ("", line.key)
        if key in turns:
            turn["content"] = [*_blocks(turns[key][1].get("content")), *_blocks(turn.get("content"))]
        turns[key] = (turns[key][0] if key in turns else f"entry {line.place}", turn)
    return list(turns.values())


def _blocks(content: Json) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else listed(content)
