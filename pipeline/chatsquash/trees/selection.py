"""Which conversations of a session become records, what they are called, and which requests they do not explain."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from chatsquash.core import chat, jsonio
from chatsquash.core.options import Options
from chatsquash.trees.kinds import LogPath
from chatsquash.trees.paths import longest_chain
from chatsquash.trees.replies import Reply
from chatsquash.trees.trees import Trees


def unwanted(options: Options) -> set[str]:
    """The kinds of conversations that options leave aside."""
    return {kind for kind, is_wanted in (("subagent", options.subagents), ("side", options.side)) if not is_wanted}


def select_paths(paths: list[LogPath], options: Options) -> list[LogPath]:
    """All conversations, but for the kinds that are not wanted, or the last one of the person's chain."""
    if options.conversations == "all":
        aside = unwanted(options)
        return [path for path in paths if path.kind not in aside]
    return longest_chain(paths)[:1]


def names(paths: Iterable[LogPath], session: str) -> dict[int, str]:
    """The id of each conversation by its ``id()``: a digest of the session and of the path's beginning and end."""
    names_by_path: dict[int, str] = {}
    times: dict[str, int] = {}
    for path in paths:
        first = next((message for _, message in path.last.path()[0].users()), None)
        name = digest(session, first, path.last.message)
        times[name] = times.get(name, 0) + 1
        names_by_path[id(path)] = name if times[name] == 1 else f"{name}-{times[name]}"
    return names_by_path


def name_of_line(session: str, line: int) -> str:
    """The id of the conversation of a request that cleaning dropped, which is in no path."""
    return sha256(jsonio.dumps([session, "line", line])).hexdigest()[:16]


def digest(session: str, first: object, last: object, *more: object) -> str:
    """What a conversation is called, given what the user says first in it and the last reply."""
    return sha256(jsonio.dumps([session, _said(first), _said(last), *more])).hexdigest()[:16]


def _said(message: object) -> object:
    if not isinstance(message, dict):
        return None
    return [chat.text(message), [chat.call_name(call) for call in chat.calls(message)]]  # type: ignore[arg-type]


def are_unrelated(trees: Trees) -> bool:
    """Whether there are several requests, and none goes on from another or was begun by it."""
    linked = any(link.summary or link.caller or link.copied for link in trees.links)
    return (
        len(trees.links) > 1 and not linked and not trees.grows and all(reply.parent is None for reply in trees.replies)
    )


def unexplained(trees: Trees, paths: list[LogPath], unanswered: dict[int, Reply | None]) -> set[int]:
    """The lines that begin a conversation of the person's anew, or go on from nothing and have no reply.

    Requests that go on from a logged reply are explained, wherever that stands, and so is what a call, a summary or the
    client began, and the first conversation.
    """
    begun = {reply.number: reply.line for reply in _beginnings(trees, paths)[1:]}
    lines = {*begun.values(), *(each.line for each in trees.again if each.by.number in begun)}
    return lines | {line for line, reply in unanswered.items() if reply is None}


def first_conversation(trees: Trees, paths: list[LogPath]) -> Reply | None:
    """The first reply of the conversation that the person began first, or of the first one if none did."""
    begun = _beginnings(trees, paths) or trees.replies
    return begun[0] if begun else None


def _beginnings(trees: Trees, paths: list[LogPath]) -> list[Reply]:
    """The first reply of each tree that a person began."""
    main = {path.last.tree for path in paths if path.kind == "main"}
    firsts = {reply.tree: reply for reply in reversed(trees.replies)}
    return [firsts[tree] for tree in sorted(main)]
