"""What Oumi's chat saves is read: branches, each with all of its messages, or one conversation alone."""

from __future__ import annotations

from msgspec import to_builtins

from chatsquash.core import jsonio
from chatsquash.core.blocks import Native, Reasoning, Text, Turn
from chatsquash.core.model import Branch, Conversation, Json, Repeated
from chatsquash.core.times import Moment
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import native
from chatsquash.formats.clients.oumi.items import PROVIDER
from chatsquash.formats.evidence import Evidence, conversation, moment
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.values import Object, at, compact, kind, members, string, unrepeated
from chatsquash.formats.writing import KEY, are_instructions

FORMAT = "oumi_conversation_history"
VERSION = "1.0.0"

ATTACHMENT = "attachment"
_ROLES = ("system", "user", "assistant", ATTACHMENT)
_MODEL, _HISTORY = "model_name", "conversation_history"
MAIN, MAIN_NAME, TEXT = "main", "Main", "text_content"
ALONE = {"chat_id": "conversation_history", "export_info": "conversation"}
"""Of files with one conversation the member that says so, and the one that holds it."""


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
    return [ordered[place] for place in unrepeated(ends)]


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
    places = {key: _placed(branch, f"branches.{key}", current=key == chosen) for key, branch in history.items()}
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
            raise TurnError(f"is no history: it has no {member}")
    if document["format"] != FORMAT:
        raise TurnError(f"is no history: its format is {compact(document['format'])[:40]}, not {FORMAT}")
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


def _placed(branch: Json, place: str, *, current: bool) -> Branch:
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
        "statistics": counted(histories),
    }
    for member, known in rest.items():
        if isinstance(own.get(member), dict):
            left = {key: value for key, value in own[member].items() if key not in known or value != known[key]}
            own = {**own, member: left}
    return {key: value for key, value in own.items() if value != {}}


def counted(histories: list[list[Object]]) -> Object:
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
    findings = {"findings": ((1, Repeated("naive-timestamp")),)} if is_naive else {}
    return {"started": (began or ended).at, "ended": ended.at, **findings}


def _message(logged: Json, place: str) -> Turn:
    if not isinstance(logged, dict):
        raise TurnError(f"{place} is {kind(logged)}, not an object")
    role = logged.get("role")
    if role not in _ROLES:
        seen = f"the role {compact(role)[:40]}, which is none of {', '.join(_ROLES)}"
        raise TurnError(f"{place} has {'no role' if role is None else seen}")
    if role == ATTACHMENT:
        return _attachment(logged)
    content = logged.get("content")
    if not isinstance(content, str):
        raise TurnError(f"{place} has {'no content' if content is None else 'a content that is no text'}")
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
