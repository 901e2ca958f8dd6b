"""Findings on the files of agents and clients, and on joining them with a gateway's session."""

from __future__ import annotations

from collections.abc import Mapping

from chatsquash.checks.registry import Fact, rule
from chatsquash.core.text import pluralize, quote

_SHOWN = 20


@rule("info")
def not_read(kinds: Mapping[str, int]) -> Fact:
    """Reported when the file of an agent or a client holds what is no part of a conversation, by name, with counts.

    It stands with the first conversation of the file. `chatsquash translate` tells the same, and `--lossless` refuses
    for it.
    """
    most = sorted(kinds.items(), key=lambda each: (-each[1], each[0]))
    some = ", ".join(f"{quote(name)} {count:,}" for name, count in most[:_SHOWN])
    rest = f" and {pluralize(len(most) - _SHOWN, 'other name')}" if len(most) > _SHOWN else ""
    return Fact(f"no part of the record: {some}{rest}")


@rule("warning")
def missing_parent(how: str, count: int) -> Fact:
    """Reported when lines of Claude Code name a line before them that their file does not have.

    If chatsquash could not read a line, or lines were never written and the order is certain, the conversation
    continues. Otherwise a conversation begins there, without what precedes it.
    """
    if how == "unreadable":
        return Fact(f"{pluralize(count, 'line')} behind one that cannot be read: the record lacks what that said")
    if how == "unwritten":
        return Fact(
            f"{pluralize(count, 'line')} behind lines that were never written: the record lacks what these said"
        )
    return Fact(f"{pluralize(count, 'line')} whose parent is not in the file begin anew: see whether the file is whole")


@rule("warning")
def incomplete_reply(how: str, count: int) -> Fact:
    """Reported when a file of Claude Code contains replies that ended early, or only the reasoning of a reply.

    `--loss` never trains on them. A reply with nothing but reasoning is not in the context of later replies, unless the
    lines behind it were never written.
    """
    what = "with reasoning but neither a text nor a call" if how == "reasoning" else "that ended early"
    return Fact(f"{pluralize(count, 'reply', 'replies')} {what}, which no flag marks for training")


@rule("info")
def client_text(kind: str, count: int) -> Fact:
    """Reported when messages hold what Claude Code wrote in the user's name, with the kind of it.

    These are echoes of commands, what commands printed, interruptions and reminders. They stay in the record, since the
    model saw them, unless `--cleanup claude-code` takes them out.
    """
    return Fact(f"messages with what the client wrote, {kind}, {count:,} (--cleanup claude-code takes it out)")


@rule("info")
def joined(files: int, both: int, alone: int) -> Fact:
    """Reported when `--join` joins a gateway's session with an agent's files of it.

    Its tree then has the kinds of conversations that these files tell, and the replies that they alone have.
    """
    more = f"; {pluralize(alone, 'reply', 'replies')} that no gateway logged {'is' if alone == 1 else 'are'} added"
    said = f"is joined with {pluralize(files, 'file')} of an agent, by {pluralize(both, 'reply', 'replies')} in both"
    return Fact(said + (more if alone else ""))


@rule("warning")
def joined_texts(differing: int, both: int) -> Fact:
    """Reported when an agent's file has another text of a reply than the gateway's log, with `--join`.

    What the gateway logged stands in the record: it is what the model sent.
    """
    has = "differs" if differing == 1 else "differ"
    which = f"{differing:,} of {pluralize(both, 'reply', 'replies')}"
    return Fact(f"{which} {has} in the agent's file; the record has the gateway's")
