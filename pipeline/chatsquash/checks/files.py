"""Findings about the files of agents and clients, and about joining them with a gateway's session."""

from __future__ import annotations

from collections.abc import Mapping

from chatsquash.checks.registry import Fact, rule
from chatsquash.core.text import pluralize, quote

_MAX_NAMES = 20


@rule("info")
def not_read(kinds: Mapping[str, int]) -> Fact:
    """Reported when an agent's file contains data that is not part of a conversation.

    The finding has names and counts, and is reported for the first conversation of the file. `--lossless` rejects such
    a file.
    """
    most = sorted(kinds.items(), key=lambda each: (-each[1], each[0]))
    some = ", ".join(f"{quote(name)} {count:,}" for name, count in most[:_MAX_NAMES])
    rest = f" and {pluralize(len(most) - _MAX_NAMES, 'other name')}" if len(most) > _MAX_NAMES else ""
    return Fact(f"not in the record: {some}{rest}")


@rule("warning")
def missing_parent(how: str, count: int) -> Fact:
    """Reported when a line in a Claude Code file refers to a parent that is missing.

    If the parent is unreadable, or was never written and the order is certain, the conversation continues; otherwise a
    new one begins.
    """
    if how == "unreadable":
        return Fact(f"{pluralize(count, 'line')} after an unreadable line, whose content is not in the record")
    if how == "unwritten":
        return Fact(
            f"{pluralize(count, 'line')} after lines that were never written, whose content is not in the record"
        )
    lines = pluralize(count, "line")
    return Fact(
        f"{lines} without a parent in the file, so a new conversation begins: check whether the file is complete"
    )


@rule("warning")
def incomplete_reply(how: str, count: int) -> Fact:
    """Reported when a reply in a Claude Code file was interrupted, or only its reasoning was written.

    `--loss` never trains on it. A reply with only reasoning is not in the context of later replies, unless the lines
    after it were never written.
    """
    what = "with reasoning but neither text nor a call" if how == "reasoning" else "that ended early"
    return Fact(f"{pluralize(count, 'reply', 'replies')} {what}, never marked for training")


@rule("info")
def client_text(kind: str, count: int) -> Fact:
    """Reported when user messages contain text written by Claude Code, such as command output."""
    return Fact(f"messages with client text ({kind}): {count:,} (--cleanup claude-code removes it)")


@rule("info")
def joined(files: int, both: int, alone: int) -> Fact:
    """Reported when `--join` combined a gateway session with an agent's file of the same session."""
    more = (
        f"; {pluralize(alone, 'reply', 'replies')} that the gateway did not log {'is' if alone == 1 else 'are'} added"
    )
    summary = f"joined with {pluralize(files, 'agent file')}, matched by {pluralize(both, 'reply', 'replies')} in both"
    return Fact(summary + (more if alone else ""))


@rule("warning")
def joined_texts(differing: int, both: int) -> Fact:
    """Reported when a joined reply differs between the agent's file and the gateway log.

    The record contains the gateway's text, which is the model's.
    """
    has = "differs" if differing == 1 else "differ"
    which = f"{differing:,} of {pluralize(both, 'reply', 'replies')}"
    return Fact(f"{which} {has} in the agent's file; the record has the gateway's text")
