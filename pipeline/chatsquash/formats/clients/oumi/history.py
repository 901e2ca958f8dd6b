"""What Oumi's chat saves: branches, each with all of its messages, or one conversation alone."""

from __future__ import annotations

from itertools import chain, count, takewhile
from typing import cast

from msgspec import structs

from chatsquash import chat, jsonio
from chatsquash.formats.base import TurnError, with_private
from chatsquash.formats.calls import told
from chatsquash.formats.evidence import Evidence, Told, moment, origin
from chatsquash.formats.values import Object, at, compact, kind, string, unrepeated, without
from chatsquash.model import Branch, Conversation, Json, Message

FORMAT = "oumi_conversation_history"
VERSION = "1.0.0"

_ROLES = ("system", "user", "assistant", "attachment")
_MAIN = "main"


# Reading


def fits(document: Object) -> str | None:
    """The evidence that this is a history: its own name for itself, or the members beside the messages."""
    if document.get("format") == FORMAT:
        return f"format {FORMAT}"
    if "chat_id" in document and isinstance(document.get("conversation_history"), list):
        return "chat_id beside conversation_history"
    if "export_info" in document and isinstance(document.get("conversation"), list):
        return "export_info beside conversation"
    return None


def load(document: Object) -> list[Conversation]:
    """The branches that are not the beginning of another one, the current one first; of equal ones the first.

    Raises ``TurnError``.
    """
    ordered = sorted(branches(document), key=lambda each: not (each.branch and each.branch.current))
    ends = [list(map(jsonio.dumps, branch.messages)) for branch in ordered]
    return [ordered[place] for place in unrepeated(ends)]


def branches(document: Json) -> list[Conversation]:
    """Every branch of a history in the order of the file, whole: what it shares with its parent included.

    Each has its place among them, but for the only one.  Raises ``TurnError`` for what is no such history.
    """
    for member in ("conversation_history", "conversation"):
        if isinstance(document, dict) and "format" not in document and member in document:
            return [_conversation(document, document[member], member, None)]
    held = _validated(document)
    current = at(document, "session", "current_branch_id")
    candidates = (each for each in (current, _MAIN, *held) if isinstance(each, str) and each in held)
    chosen = next(candidates, "")  # as Oumi's import has it
    found = [_branch(document, branch, f"branches.{key}", current=key == chosen) for key, branch in held.items()]
    is_alone = len(found) == 1 and found[0].branch is not None and found[0].branch.parent is None
    return [structs.replace(found[0], branch=None)] if is_alone else found


def _validated(document: Json) -> dict[str, Json]:
    if not isinstance(document, dict):
        raise TurnError(f"is {kind(document)}, not an object")
    for member in ("format", "schema_version", "branches"):
        if member not in document:
            raise TurnError(f"is no history: it has no {member}")
    if document["format"] != FORMAT:
        raise TurnError(f"is no history: its format is {compact(document['format'])[:40]}, not {FORMAT}")
    if not isinstance(document["schema_version"], str):
        raise TurnError(f"has a schema_version that is {kind(document['schema_version'])}, not text")
    if not isinstance(document["branches"], dict):
        raise TurnError(f"has branches that are {kind(document['branches'])}, not an object")
    return document["branches"]


def _branch(document: Object, branch: Json, place: str, *, current: bool) -> Conversation:
    if not isinstance(branch, dict):
        raise TurnError(f"{place} is {kind(branch)}, not an object")
    for member in ("id", "conversation_history"):
        if member not in branch:
            raise TurnError(f"{place} has no {member}")
    _expect(place, branch, "id", isinstance(branch["id"], str), "text")
    for member in ("name", "parent_branch_id"):
        _expect(place, branch, member, isinstance(branch.get(member), str | None), "text")
    point = branch.get("branch_point_index")
    _expect(place, branch, "branch_point_index", point is None or (type(point) is int and point >= 0), "a place")
    found = Branch(branch["id"], branch.get("name"), branch.get("parent_branch_id"), point or 0, current)
    return _conversation(document, branch["conversation_history"], f"{place}.conversation_history", found)


def _conversation(document: Object, history: Json, place: str, branch: Branch | None) -> Conversation:
    """The messages of a history, with when they were said, and by which model as far as the file knows one."""
    if not isinstance(history, list):
        raise TurnError(f"{place} is {kind(history)}, not a list of messages")
    messages = [_message(each, f"{place}[{number}]") for number, each in enumerate(history)]
    session = document["session"] if isinstance(document.get("session"), dict) else document
    model = string(document, "model_name") or string(at(document, "configuration", "model"), "model_name") or None
    known = Evidence(1, is_sampled=True, model=model)
    times = [moment(each.get("timestamp")) for each in history]
    both = zip(messages, times, strict=True)
    evidence = [
        (known if message["role"] == "assistant" else Evidence(1))._replace(time=time) for message, time in both
    ]
    place_of: Object = {}
    if branch:
        place_of = {"id": branch.id, "kind": "branch" if branch.parent else "main", "parent": branch.parent}
    named = string(session, "chat_id") or None
    return Conversation(messages, [], branch, origin=origin(Told(messages, evidence), session_id=named, **place_of))


def _expect(place: str, branch: Object, member: str, fits: bool, wanted: str) -> None:
    if not fits:
        seen = compact(branch[member])[:40]
        raise TurnError(f"{place}.{member} is {seen}, not {wanted}")


def _message(logged: Json, place: str) -> Message:
    if not isinstance(logged, dict):
        raise TurnError(f"{place} is {kind(logged)}, not an object")
    role = logged.get("role")
    if role not in _ROLES:
        seen = f"the role {compact(role)[:40]}, which is none of {', '.join(_ROLES)}"
        raise TurnError(f"{place} has {'no role' if role is None else seen}")
    if role == "attachment":
        return _attachment(logged)
    if not isinstance(logged.get("content"), str):
        raise TurnError(f"{place} has {'no content' if logged.get('content') is None else 'a content that is no text'}")
    message: Object = {"role": role, "content": logged["content"]}
    thought = at(logged, "metadata", "thinking_content")
    if role == "assistant" and isinstance(thought, str) and thought:
        message["reasoning_content"] = thought
    rest = without(logged, "role", "content")
    if "reasoning_content" in message and rest["metadata"].keys() == {"thinking_content"}:
        del rest["metadata"]
    return with_private(cast("Message", message), {"native": [rest] if rest else []})


def _attachment(logged: Object) -> Message:
    """What was attached is the user's; it has its text in ``text_content``, by the documentation in ``content``."""
    member = "text_content" if isinstance(logged.get("text_content"), str) else "content"
    read = [member] if isinstance(logged.get(member), str) else []
    rest = without(logged, "role", *read)
    message: Message = {"role": "user", "content": string(logged, member)}
    return with_private(message, {"attachment": rest or True})


# Writing


def dump(conversations: list[Conversation]) -> Json:
    """A history with a branch for each conversation: in its own place, else one of the branch that begins most like it.

    It holds what is said as text; calls and their results have no place in it, and times are not known.
    """
    texts = [map(_text_turn, conversation.messages) for conversation in conversations]
    histories = [list(filter(None, turns)) for turns in texts]
    spelled = [list(map(jsonio.dumps, history)) for history in histories]
    ids = _ids([conversation.branch for conversation in conversations])
    held = [
        {**_place(number, conversation.branch, ids, spelled), "conversation_history": histories[number]}
        for number, conversation in enumerate(conversations)
    ]
    current = [each for each, c in zip(ids, conversations, strict=True) if c.branch and c.branch.current]
    roles = [message["role"] for history in histories for message in history]
    statistics = {
        "total_branches": len(held),
        "total_messages": len(roles),
        "total_user_messages": roles.count("user"),
        "total_assistant_messages": roles.count("assistant"),
    }
    return {
        "schema_version": VERSION,
        "format": FORMAT,
        "source": "chatsquash",
        "session": {"current_branch_id": [*current, *ids][0]} if held else {},
        "configuration": {},
        "branches": {branch["id"]: branch for branch in held},
        "command_history": [],
        "attachments": [],
        "statistics": statistics,
    }


def _ids(places: list[Branch | None]) -> list[str]:
    """What each branch is called: as it was, or by its number; no name stands twice."""
    found: list[str] = []
    for number, place in enumerate(places):
        wanted = place.id if place else f"branch_{number}" if number else _MAIN
        names = chain([wanted], (f"{wanted}_{other}" for other in count(2)))
        found.append(next(name for name in names if name not in found))
    return found


def _place(number: int, was: Branch | None, ids: list[str], histories: list[list[bytes]]) -> Object:
    """Where a branch comes from: as it was, if that is true; else the first of those that begin most like it."""
    if was and _is_true(number, was, ids, histories):
        return {"id": was.id, "name": was.name, "parent_branch_id": was.parent, "branch_point_index": was.point}
    shared = [_shared(histories[number], other) for other in histories[:number]]
    point = max(shared, default=0)
    return {
        "id": ids[number],
        "name": was.name if was else f"Branch {number}" if number else "Main",
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


def _text_turn(message: Message) -> Object | None:
    """A message as a history has it; ``None`` for a result, and for calls without a text."""
    role = "system" if message.get("role") == "developer" else message.get("role")
    text, held = told(message), chat.private(message)
    if role not in ("system", "user", "assistant") or (chat.has_calls(message) and not text):
        return None
    if role == "user" and "attachment" in held:
        more = held["attachment"] if isinstance(held["attachment"], dict) else {}
        return {"role": "attachment", "text_content": text or "", **more}
    thought = string(message, "reasoning_content") if role == "assistant" else ""
    thinking = {"metadata": {"thinking_content": thought}} if thought else {}
    return {"role": role, "content": text or "", **thinking}
