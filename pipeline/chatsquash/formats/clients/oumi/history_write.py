"""Conversations as a history of Oumi's chat: branches, each with all of its messages."""

from __future__ import annotations

from itertools import chain, count, takewhile

from chatsquash.core import jsonio
from chatsquash.core.blocks import Reasoning, Turn
from chatsquash.core.model import Branch, Conversation, Json
from chatsquash.formats.clients.oumi import history
from chatsquash.formats.clients.oumi.items import PROVIDER
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.values import Object, at, members, string
from chatsquash.formats.writing import SPEAKERS, instructed, text_of
from chatsquash.formats.writing import native as own_of

_OF_TRAINING = ("branches", "conversation_id", "metadata")
"""Members that a history has not, but a conversation of a training set, and what is said of branches."""
_SESSION_MEMBERS = ("schema_version", "session", "statistics")
_PLACE = ("id", "parent_branch_id", "branch_point_index", "conversation_history")


def dump(conversations: list[Conversation]) -> Json:
    """A history with a branch for each conversation: in its own place, else one of the branch that begins most like it.

    It holds what is said as text; calls and their results have no place in it.
    """
    histories = [[made for turn in turns_of(each) if (made := _written(turn))] for each in conversations]
    known = (each.native[PROVIDER] for each in conversations if PROVIDER in each.native)
    own = {key: value for key, value in next(known, {}).items() if key not in _OF_TRAINING}
    is_alone = len(conversations) == 1 and conversations[0].branch is None and _more(conversations[0])[0] is None
    for mark, member in history.ALONE.items():
        if is_alone and mark in own:
            return {**own, member: histories[0]}
    spelled = [list(map(jsonio.dumps, each)) for each in histories]
    ids = _ids(conversations)
    messages = [
        {**_place(number, each.branch, ids, spelled), **_more(each)[1], "conversation_history": histories[number]}
        for number, each in enumerate(conversations)
    ]
    current = [each for each, c in zip(ids, conversations, strict=True) if c.branch and c.branch.current]
    version = string(own, "schema_version")
    return {
        "schema_version": version if version and history.is_known(version) else history.VERSION,
        "format": history.FORMAT,
        "source": own.pop("source", "chatsquash"),
        "session": {**members(own.get("session")), **({"current_branch_id": [*current, *ids][0]} if messages else {})},
        "configuration": own.pop("configuration", {}),
        "branches": {branch["id"]: branch for branch in messages},
        "command_history": own.pop("command_history", []),
        "attachments": own.pop("attachments", []),
        **{key: value for key, value in own.items() if key not in _SESSION_MEMBERS},
        "statistics": {**history.counted(histories), **members(own.get("statistics"))},
    }


def _more(conversation: Conversation) -> tuple[str | None, Object]:
    """What only Oumi knows of a branch, with its id."""
    metadata = members(at(conversation.native, PROVIDER, "branches"))
    known = next(iter(metadata), None)
    return known, {key: value for key, value in members(metadata.get(known or "")).items() if key not in _PLACE}


def _ids(conversations: list[Conversation]) -> list[str]:
    """What each branch is called: as it was, or by its number; no name stands twice."""
    ids: list[str] = []
    for number, each in enumerate(conversations):
        numbered = f"branch_{number}" if number else history.MAIN
        wanted = each.branch.id if each.branch else _more(each)[0] or numbered
        names = chain([wanted], (f"{wanted}_{other}" for other in count(2)))
        ids.append(next(name for name in names if name not in ids))
    return ids


def _place(number: int, was: Branch | None, ids: list[str], histories: list[list[bytes]]) -> Object:
    """Where a branch comes from: as it was, if that is true; else the first of those that begin most like it."""
    if was and _is_true(number, was, ids, histories):
        return {"id": was.id, "name": was.name, "parent_branch_id": was.parent, "branch_point_index": was.point}
    shared = [_shared(histories[number], other) for other in histories[:number]]
    point = max(shared, default=0)
    return {
        "id": ids[number],
        "name": was.name if was else f"Branch {number}" if number else history.MAIN_NAME,
        "parent_branch_id": ids[shared.index(point)] if point else None,
        "branch_point_index": point,
    }


def _is_true(number: int, was: Branch, ids: list[str], histories: list[list[bytes]]) -> bool:
    """Whether a branch still begins as it says."""
    if was.id != ids[number]:
        return False
    if was.parent is None:
        return was.point == 0
    return was.parent in ids and _shared(histories[number], histories[ids.index(was.parent)]) >= was.point


def _shared(one: list[bytes], other: list[bytes]) -> int:
    """How many messages two histories begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _written(turn: Turn) -> Object | None:
    """A message; ``None`` for a turn that says nothing here, unless it is an assistant's that is empty."""
    own = own_of(turn, PROVIDER)
    text = text_of(turn.blocks, by_assistant=turn.role == "assistant")
    if turn.role == "user" and own.get("role") == history.ATTACHMENT:
        member = "content" if history.TEXT in own else history.TEXT
        made = {"role": history.ATTACHMENT, member: text}
        return {**made, **{key: value for key, value in own.items() if value is not None}, **made}
    is_silent = turn.role == "assistant" and all(type(block) is Reasoning for block in turn.blocks)
    if turn.role not in SPEAKERS or not (text or is_silent):
        return None
    made = {"role": SPEAKERS[turn.role], "content": text, **instructed(turn)}
    more = {key: value for key, value in own.items() if key != "id"}  # which only messages of a training set have
    thoughts = [block.text for block in turn.blocks if type(block) is Reasoning and block.text]
    if thoughts and turn.role == "assistant":
        more["metadata"] = {**members(more.get("metadata")), "thinking_content": "\n\n".join(thoughts)}
    return {**made, **more, **made}
