"""Detect replies that ended early, and which of them later requests do not contain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from chatsquash.core.model import RepeatedViolation
from chatsquash.formats.agents.claude_code.rows import NO_REPLY
from chatsquash.formats.agents.claude_code.tree import LineTree
from chatsquash.formats.threads import ROOT
from chatsquash.formats.values import Object, string


def truncated_replies(tree: LineTree) -> set[int]:
    """Return the replies without the members from the last event of a stream."""
    lines = tree.lines
    is_open = {lines.replies[row] for row in tree.reply_rows if not lines.values[row]["message"].get("stop_reason")}
    early = _without_end(tree, is_open, _has_stop_reason) if is_open else set()
    # Claude Code completes some truncated replies itself, with a stop reason, and adds a note to continue.
    before = map(tree.nearest, lines.notes)
    resumed_replies = {lines.replies[row] for row in before if row != ROOT} - {NO_REPLY}
    return early | _without_end(tree, resumed_replies, _has_details) if resumed_replies else early


def reasoning_only(tree: LineTree) -> set[int]:
    """Return the replies that consist only of reasoning."""
    lines = tree.lines
    thoughts = {lines.replies[row] for row in lines.thoughts} - {NO_REPLY}
    # Without a message id, the other lines of a reply are unknown.
    return {
        reply
        for reply in thoughts
        if lines.thoughts.issuperset(lines.blocks[reply]) and lines.message_id(lines.blocks[reply][0])
    }


def unsent(tree: LineTree, thoughts: set[int]) -> set[int]:
    """Return the replies with only reasoning that another line follows; Claude Code does not send them again."""
    if not thoughts:
        return thoughts
    # Lines with missing parents may follow lines of the reply that were never written.
    predecessors = {tree.nearest(row) for row in tree.turn_rows if row not in tree.lines.missing} - {ROOT}
    return thoughts.intersection(tree.lines.replies[row] for row in predecessors)


def incomplete(tree: LineTree, early: set[int], thoughts: set[int]) -> Iterator[tuple[int | None, RepeatedViolation]]:
    """Yield a finding for each reply that ended early, at its first line."""
    first_lines = {reply: tree.lines.numbers[tree.lines.blocks[reply][0]] for reply in early}
    for reply, line in sorted(first_lines.items(), key=lambda each: each[1]):
        yield line, RepeatedViolation("incomplete-reply", ("reasoning" if reply in thoughts else "truncated",))


def _has_stop_reason(value: Object) -> bool:
    return bool(string(value["message"], "stop_reason"))


def _has_details(value: Object) -> bool:
    return "stop_details" in value["message"]


def _without_end(tree: LineTree, replies: set[int], is_ended: Callable[[Object], bool]) -> set[int]:
    """Return the replies that no line marks as ended, if their version of Claude Code usually marks the end."""
    # Versions that write lines before a reply ends mark few ends, but the calls of their replies have results.
    lines = tree.lines
    complete = {
        lines.replies[row]: string(lines.values[row], "version")
        for row in tree.reply_rows
        if is_ended(lines.values[row])
    }
    versions = {
        reply: string(lines.values[lines.blocks[reply][-1]], "version") for reply in replies if reply not in complete
    }
    answered_versions = Counter(
        version for reply, version in versions.items() if any(map(tree.is_answered, lines.blocks[reply]))
    )
    usual = Counter(complete.values())
    return {reply for reply, version in versions.items() if usual[version] > answered_versions[version]}
