"""Detect replies that ended early, and which of them later requests do not contain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from chatsquash.core.model import RepeatedViolation
from chatsquash.formats.agents.claude_code.rows import LogLine, ReplyKey, message_id
from chatsquash.formats.agents.claude_code.tree import LineTree
from chatsquash.formats.values import string


def truncated_replies(tree: LineTree) -> set[ReplyKey]:
    """Return the replies without the members from the last event of a stream."""
    is_open = {row.message for row in tree.replies if row.message and not row.value["message"].get("stop_reason")}
    early = _without_end(tree, is_open, _has_stop_reason) if is_open else set()
    # Claude Code completes some truncated replies itself, with a stop reason, and adds a note to continue.
    notes = [row for row in tree.turn_lines if row.message is None and row.value.get("turnCompanion") is True]
    resumed_replies = {before.message for row in notes if (before := tree.nearest(row)) and before.message}
    return early | _without_end(tree, resumed_replies, _has_details) if resumed_replies else early


def reasoning_only(tree: LineTree) -> set[ReplyKey]:
    """Return the replies that consist only of reasoning."""
    thought = {row.message for row in tree.replies if row.is_thought and row.message}
    if thought:
        thought -= {row.message for row in tree.replies if not row.is_thought}
    # Without a message id, the other lines of a reply are unknown.
    return {key for key in thought if message_id(tree.blocks_of(key)[0])}


def unsent(tree: LineTree, thoughts: set[ReplyKey]) -> set[ReplyKey]:
    """Return the replies with only reasoning that another line follows; Claude Code does not send them again."""
    if not thoughts:
        return thoughts
    # Lines with missing parents may follow lines of the reply that were never written.
    predecessors = (tree.nearest(row) for row in tree.turn_lines if row.key not in tree.joined)
    return {before.message for before in predecessors if before and before.message in thoughts}


def incomplete(
    tree: LineTree, early: set[ReplyKey], thoughts: set[ReplyKey]
) -> Iterator[tuple[int | None, RepeatedViolation]]:
    """Yield a finding for each reply that ended early, at its first line."""
    if early:
        first = {row.message: row.line for row in reversed(tree.replies) if row.message in early}
        for reply, line in sorted(first.items(), key=lambda each: each[1]):
            yield line, RepeatedViolation("incomplete-reply", ("reasoning" if reply in thoughts else "truncated",))


def _has_stop_reason(row: LogLine) -> bool:
    return bool(string(row.value["message"], "stop_reason"))


def _has_details(row: LogLine) -> bool:
    return "stop_details" in row.value["message"]


def _without_end(tree: LineTree, replies: set[ReplyKey], is_ended: Callable[[LogLine], bool]) -> set[ReplyKey]:
    """Return the replies that no line marks as ended, if their version of Claude Code usually marks the end."""
    # Versions that write lines before a reply ends mark few ends, but the calls of their replies have results.
    complete = {row.message: string(row.value, "version") for row in tree.replies if is_ended(row)}
    others = {row.message: row for row in tree.replies if row.message in replies and row.message not in complete}
    answered_versions = Counter(
        string(row.value, "version")
        for row in others.values()
        if any(tree.answer(block, call_id) for block in tree.blocks(row) for call_id in block.calls)
    )
    usual = Counter(complete.values())
    versions = {key: string(row.value, "version") for key, row in others.items() if key}
    return {key for key, version in versions.items() if usual[version] > answered_versions[version]}
