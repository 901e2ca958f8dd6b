"""Saved chats of Oumi, read and written: branches, each with all of its messages, or a single conversation."""

from __future__ import annotations

from itertools import chain, count, takewhile

from msgspec import to_builtins

from chatsquash.core import jsonio
from chatsquash.core.blocks import Native, Reasoning, Text, Turn
from chatsquash.core.model import Branch, Conversation, Json, RepeatedViolation
from chatsquash.core.times import Moment
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import native
from chatsquash.formats.clients.oumi.training import PROVIDER
from chatsquash.formats.evidence import Evidence, conversation, moment
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.values import Object, at, compact, kind, members, string, without_prefixes
from chatsquash.formats.writing import KEY, SPEAKERS, are_instructions, instructions_mark, text_of
from chatsquash.formats.writing import native as own_of

FORMAT = "oumi_conversation_history"
VERSION = "1.0.0"

ATTACHMENT = "attachment"
_ROLES = ("system", "user", "assistant", ATTACHMENT)
_MODEL, _HISTORY = "model_name", "conversation_history"
MAIN, MAIN_NAME, TEXT = "main", "Main", "text_content"
ALONE = {"chat_id": "conversation_history", "export_info": "conversation"}
"""Of files with one conversation the member that says so, and the one that holds it."""
_OF_TRAINING = ("branches", "conversation_id", "metadata")
"""Members that a history has not, but a conversation of a training set, and what is said of branches."""
_SESSION_MEMBERS = ("schema_version", "session", "statistics")
_PLACE = ("id", "parent_branch_id", "branch_point_index", "conversation_history")


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
    ends = [[jsonio.dumps(to_builtins(turn)) for turn in turns_of(branch)] for branch in ordered]
    return [ordered[place] for place in without_prefixes(ends)]


def branches(document: Json) -> list[Conversation]:
    """Every branch of a history in the order of the file, whole: what it shares with its parent included.

    Each has its place among them, but for the only one.  Raises ``TurnError`` for what is no such history.
    """
    for member in ALONE.values():
        if isinstance(document, dict) and "format" not in document and member in document:
            said = _said(document, member, "")
            return [_conversation(document, document, said, None, native(PROVIDER, document, member))]
    history = _validated(document)
    current = at(document, "session", "current_branch_id")
    candidates = (each for each in (current, MAIN, *history) if isinstance(each, str) and each in history)
    chosen = next(candidates, "")  # as Oumi's import has it
    places = {key: _branch_at(branch, f"branches.{key}", current=key == chosen) for key, branch in history.items()}
    turns = {key: _said(history[key], _HISTORY, f"branches.{key}.") for key in history}
    own = _own(document, [branch[_HISTORY] for branch in history.values()])
    is_alone = len(places) == 1 and all(place.parent is None for place in places.values())
    return [
        _conversation(
            document, history[key], turns[key], None if is_alone else place, _with_branch(own, history[key], place)
        )
        for key, place in places.items()
    ]


def _validated(document: Json) -> dict[str, Json]:
    if not isinstance(document, dict):
        raise TurnError(f"is {kind(document)}, not an object")
    for member in ("format", "schema_version", "branches"):
        if member not in document:
            raise TurnError(f"is not a history: it has no {member}")
    if document["format"] != FORMAT:
        raise TurnError(f"is not a history: its format is {compact(document['format'])[:40]}, not {FORMAT}")
    version = document["schema_version"]
    if not isinstance(version, str):
        raise TurnError(f"has a schema_version that is {kind(version)}, not text")
    if not is_known(version):
        raise TurnError(f"has the schema_version {compact(version)[:40]}; the last one known is {VERSION}")
    if not isinstance(document["branches"], dict):
        raise TurnError(f"has branches that are {kind(document['branches'])}, not an object")
    return document["branches"]


def is_known(version: str) -> bool:
    """Whether histories of a version are read; one that is no number may be any."""
    major = version.strip().partition(".")[0].lstrip("0")
    return not major.isdecimal() or major == VERSION[0]


def _branch_at(branch: Json, place: str, *, current: bool) -> Branch:
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
    return Branch(branch["id"], branch.get("name"), branch.get("parent_branch_id"), point or 0, current)


def _expect(place: str, branch: Object, member: str, fits: bool, wanted: str) -> None:
    if not fits:
        seen = compact(branch[member])[:40]
        raise TurnError(f"{place}.{member} is {seen}, not {wanted}")


def _own(document: Object, histories: list[list[Object]]) -> Object:
    """What a history says of itself, without what is read of it and what can be counted."""
    read = [member for member, known in (("schema_version", VERSION), ("format", FORMAT)) if document[member] == known]
    own = native(PROVIDER, document, "branches", *read).get(PROVIDER, {})
    rest = {
        "session": {"current_branch_id": at(document, "session", "current_branch_id")},
        "statistics": statistics(histories),
    }
    for member, known in rest.items():
        if isinstance(own.get(member), dict):
            left = {key: value for key, value in own[member].items() if key not in known or value != known[key]}
            own = {**own, member: left}
    return {key: value for key, value in own.items() if value != {}}


def statistics(histories: list[list[Object]]) -> Object:
    """The statistics of a history, by the messages of each of its branches."""
    roles = [message["role"] for history in histories for message in history]
    return {
        "total_branches": len(histories),
        "total_messages": len(roles),
        "total_user_messages": roles.count("user"),
        "total_assistant_messages": roles.count("assistant"),
    }


def _with_branch(own: Object, branch: Object, place: Branch) -> Native:
    """The same with what it says of a branch, by its id; the usual name says nothing."""
    read = ["id", "parent_branch_id", "branch_point_index", _HISTORY, *(["name"] if place.name == MAIN_NAME else [])]
    extra = native(PROVIDER, branch, *read).get(PROVIDER, {})
    more = {"branches": {place.id: extra}} if extra or place.id != MAIN else {}
    return {PROVIDER: {**own, **more}} if own or more else {}


_Said = list[tuple[Turn, Moment | None]]
"""Turns, and when each was said, as far as the file knows."""


def _said(holder: Object, member: str, path: str) -> _Said:
    history = holder[member]
    if not isinstance(history, list):
        raise TurnError(f"{path}{member} is {kind(history)}, not a list of messages")
    turns = [_message(each, f"{path}{member}[{number}]") for number, each in enumerate(history)]
    return [(turn, moment(each.get("timestamp"))) for turn, each in zip(turns, history, strict=True)]


def _conversation(document: Object, holder: Object, said: _Said, branch: Branch | None, own: Native) -> Conversation:
    """What is said in a history, and by which model as far as the file knows one."""
    models = (string(holder, _MODEL), string(document, _MODEL), string(at(document, "configuration", "model"), _MODEL))
    plain, known = Evidence(1), Evidence(1, is_sampled=True, model=next(filter(None, models), None))
    evidence = ((turn, (known if turn.role == "assistant" else plain)._replace(time=time)) for turn, time in said)
    named: Object = {"session_id": string(members(document.get("session")) or document, "chat_id") or None}
    if branch:
        named |= {"id": branch.id, "kind": "branch" if branch.parent else "main", "parent": branch.parent}
    if not any(time for _, time in said):
        named |= _bounds(holder)
    return conversation(evidence, own, branch, **named)


def _bounds(holder: Object) -> Object:
    """When a history was begun and last gone on with, for one whose messages have no times."""
    began = moment(holder.get("created_at"))
    ended = moment(holder.get("last_active")) or moment(holder.get("last_updated")) or began
    if ended is None:
        return {}
    is_naive = ended.naive or (began is not None and began.naive)
    findings = {"findings": ((1, RepeatedViolation("naive-timestamp")),)} if is_naive else {}
    return {"started_at": (began or ended).at, "ended_at": ended.at, **findings}


def _message(logged: Json, place: str) -> Turn:
    if not isinstance(logged, dict):
        raise TurnError(f"{place} is {kind(logged)}, not an object")
    role = logged.get("role")
    if role not in _ROLES:
        seen = f"the role {compact(role)[:40]}, which is not one of {', '.join(_ROLES)}"
        raise TurnError(f"{place} has {'no role' if role is None else seen}")
    if role == ATTACHMENT:
        return _attachment(logged)
    content = logged.get("content")
    if not isinstance(content, str):
        raise TurnError(f"{place} has {'no content' if content is None else 'a content that is not a text'}")
    said = (Text(content),) if content else ()
    own = native(PROVIDER, logged, "role", "content", KEY)
    thought = at(logged, "metadata", "thinking_content")
    if role != "assistant" or not (isinstance(thought, str) and thought):
        return Turn(role, said, are_instructions(logged), own)
    more = {key: value for key, value in logged["metadata"].items() if key != "thinking_content"}
    own = native(PROVIDER, {**logged, "metadata": more}, "role", "content", KEY)
    return Turn(role, (Reasoning(thought), *said), native=own)


def _attachment(logged: Object) -> Turn:
    """What was attached is the user's; it has its text in ``text_content``, by the documentation in ``content``."""
    member = TEXT if isinstance(logged.get(TEXT), str) else "content"
    text = string(logged, member)
    read = (member, KEY) if isinstance(logged.get(member), str) else (KEY,)
    own = native(PROVIDER, logged, *read).get(PROVIDER, {})
    where = {} if member == TEXT or not text else {TEXT: own.get(TEXT)}
    return Turn("user", (Text(text),) if text else (), native={PROVIDER: {**own, **where}})


def dump(conversations: list[Conversation]) -> Json:
    """A history with a branch for each conversation: in its own place, else one of the branch that begins most like it.

    It holds what is said as text; calls and their results have no place in it.
    """
    histories = [[made for turn in turns_of(each) if (made := _write_message(turn))] for each in conversations]
    known = (each.native[PROVIDER] for each in conversations if PROVIDER in each.native)
    own = {key: value for key, value in next(known, {}).items() if key not in _OF_TRAINING}
    is_alone = len(conversations) == 1 and conversations[0].branch is None and _more(conversations[0])[0] is None
    for mark, member in ALONE.items():
        if is_alone and mark in own:
            return {**own, member: histories[0]}
    spelled = [list(map(jsonio.dumps, each)) for each in histories]
    ids = _ids(conversations)
    messages = [
        {
            **_branch_place(number, each.branch, ids, spelled),
            **_more(each)[1],
            "conversation_history": histories[number],
        }
        for number, each in enumerate(conversations)
    ]
    current = [each for each, c in zip(ids, conversations, strict=True) if c.branch and c.branch.current]
    version = string(own, "schema_version")
    return {
        "schema_version": version if version and is_known(version) else VERSION,
        "format": FORMAT,
        "source": own.pop("source", "chatsquash"),
        "session": {**members(own.get("session")), **({"current_branch_id": [*current, *ids][0]} if messages else {})},
        "configuration": own.pop("configuration", {}),
        "branches": {branch["id"]: branch for branch in messages},
        "command_history": own.pop("command_history", []),
        "attachments": own.pop("attachments", []),
        **{key: value for key, value in own.items() if key not in _SESSION_MEMBERS},
        "statistics": {**statistics(histories), **members(own.get("statistics"))},
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
        numbered = f"branch_{number}" if number else MAIN
        wanted = each.branch.id if each.branch else _more(each)[0] or numbered
        names = chain([wanted], (f"{wanted}_{other}" for other in count(2)))
        ids.append(next(name for name in names if name not in ids))
    return ids


def _branch_place(number: int, was: Branch | None, ids: list[str], histories: list[list[bytes]]) -> Object:
    """Where a branch comes from: as it was, if that is true; else the first of those that begin most like it."""
    if was and _is_true(number, was, ids, histories):
        return {"id": was.id, "name": was.name, "parent_branch_id": was.parent, "branch_point_index": was.point}
    shared = [_common_length(histories[number], other) for other in histories[:number]]
    point = max(shared, default=0)
    return {
        "id": ids[number],
        "name": was.name if was else f"Branch {number}" if number else MAIN_NAME,
        "parent_branch_id": ids[shared.index(point)] if point else None,
        "branch_point_index": point,
    }


def _is_true(number: int, was: Branch, ids: list[str], histories: list[list[bytes]]) -> bool:
    """Whether a branch still begins as it says."""
    if was.id != ids[number]:
        return False
    if was.parent is None:
        return was.point == 0
    return was.parent in ids and _common_length(histories[number], histories[ids.index(was.parent)]) >= was.point


def _common_length(one: list[bytes], other: list[bytes]) -> int:
    """How many messages two histories begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _write_message(turn: Turn) -> Object | None:
    """A message; ``None`` for a turn that says nothing here, unless it is an assistant's that is empty."""
    own = own_of(turn, PROVIDER)
    text = text_of(turn.blocks, by_assistant=turn.role == "assistant")
    if turn.role == "user" and own.get("role") == ATTACHMENT:
        member = "content" if TEXT in own else TEXT
        made = {"role": ATTACHMENT, member: text}
        return {**made, **{key: value for key, value in own.items() if value is not None}, **made}
    is_silent = turn.role == "assistant" and all(type(block) is Reasoning for block in turn.blocks)
    if turn.role not in SPEAKERS or not (text or is_silent):
        return None
    made = {"role": SPEAKERS[turn.role], "content": text, **instructions_mark(turn)}
    more = {key: value for key, value in own.items() if key != "id"}  # which only messages of a training set have
    thoughts = [block.text for block in turn.blocks if type(block) is Reasoning and block.text]
    if thoughts and turn.role == "assistant":
        more["metadata"] = {**members(more.get("metadata")), "thinking_content": "\n\n".join(thoughts)}
    return {**made, **more, **made}
