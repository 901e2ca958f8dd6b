"""Which requests of a session its trees do not explain: those that begin anew for no known reason."""

from __future__ import annotations

from chatsquash.tree.kinds import Path
from chatsquash.tree.replies import Reply
from chatsquash.tree.trees import Trees


def unexplained(trees: Trees, found: list[Path], unanswered: dict[int, Reply | None]) -> set[int]:
    """The lines that begin a conversation of the person's anew, or go on from nothing and have no reply.

    Requests that go on from a logged reply are explained, wherever that stands, and so is what a call, a summary or the
    client began, and the first conversation.
    """
    begun = {reply.number: reply.line for reply in _beginnings(trees, found)[1:]}
    lines = {*begun.values(), *(each.line for each in trees.again if each.by.number in begun)}
    return lines | {line for line, reply in unanswered.items() if reply is None}


def first_conversation(trees: Trees, found: list[Path]) -> Reply | None:
    """The first reply of the conversation that the person began first, or of the first one if none did."""
    begun = _beginnings(trees, found) or trees.replies
    return begun[0] if begun else None


def _beginnings(trees: Trees, found: list[Path]) -> list[Reply]:
    """The first reply of each tree that a person began."""
    main = {path.last.tree for path in found if path.kind == "main"}
    firsts = {reply.tree: reply for reply in reversed(trees.replies)}
    return [firsts[tree] for tree in sorted(main)]
