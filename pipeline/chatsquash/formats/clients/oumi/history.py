"""Load and write Oumi's saved chats: branches with all of their messages, or a single conversation."""

from __future__ import annotations

from itertools import chain, count, takewhile

from msgspec import to_builtins
from msgspec.structs import replace

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
SINGLE_CONVERSATIONS = {"chat_id": "conversation_history", "export_info": "conversation"}
"""The members that mark files with a single conversation, and the members that contain its messages."""
_TRAINING_MEMBERS = ("branches", "conversation_id", "metadata")
"""The native members of training conversations and branches, which histories do not have."""
_SESSION_MEMBERS = ("schema_version", "session", "statistics")
_PLACE = ("id", "parent_branch_id", "branch_point_index", "conversation_history")


def fits(document: Object) -> str | None:
    """Return the evidence that a document is a history: its ``format``, or the members next to its messages."""
    if document.get("format") == FORMAT:
        return f"format {FORMAT}"
    if "chat_id" in document and isinstance(document.get("conversation_history"), list):
        return "chat_id and conversation_history"
    if "export_info" in document and isinstance(document.get("conversation"), list):
        return "export_info and conversation"
    return None


def load(document: Object) -> list[Conversation]:
    """Load the branches that are not the beginning of another branch, starting with the current branch.

    Only the first of several equal branches is loaded.  Raises ``TurnError``.
    """
    current_first = sorted(branches(document), key=lambda each: not (each.branch and each.branch.current))
    ends = [[jsonio.dumps(to_builtins(turn)) for turn in turns_of(branch)] for branch in current_first]
    return [current_first[place] for place in without_prefixes(ends)]


def branches(document: Json) -> list[Conversation]:
    """Load all branches of a history in file order, including the messages shared with their parents.

    The conversations have a ``Branch``, unless there is only one.

    Raises:
        TurnError: if the document is not a history
    """
    for member in SINGLE_CONVERSATIONS.values():
        if isinstance(document, dict) and "format" not in document and member in document:
            timed_turns = _timed_turns(document, member, "")
            return [_conversation(document, document, timed_turns, None, native(PROVIDER, document, member))]
    history = _validated(document)
    current = at(document, "session", "current_branch_id")
    candidates = (each for each in (current, MAIN, *history) if isinstance(each, str) and each in history)
    selected = next(candidates, "")  # in the same order of preference as Oumi's import
    places = {key: _branch_at(branch, f"branches.{key}", current=key == selected) for key, branch in history.items()}
    turns = {key: _timed_turns(history[key], _HISTORY, f"branches.{key}.") for key in history}
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
        raise TurnError(f"expected an object, not {kind(document)}")
    for member in ("format", "schema_version", "branches"):
        if member not in document:
            raise TurnError(f"not a history (no {member})")
    if document["format"] != FORMAT:
        raise TurnError(f"not a history (format is {compact(document['format'])[:40]}, expected {FORMAT})")
    version = document["schema_version"]
    if not isinstance(version, str):
        raise TurnError(f"schema_version is {kind(version)}, expected a string")
    if not is_known(version):
        raise TurnError(f"unsupported schema_version {compact(version)[:40]}; the latest supported one is {VERSION}")
    if not isinstance(document["branches"], dict):
        raise TurnError(f"branches is {kind(document['branches'])}, expected an object")
    return document["branches"]


def is_known(version: str) -> bool:
    """Return whether a version is supported, which is assumed for versions that are not numbers."""
    major = version.strip().partition(".")[0].lstrip("0")
    return not major.isdecimal() or major == VERSION[0]


def _branch_at(branch: Json, place: str, *, current: bool) -> Branch:
    if not isinstance(branch, dict):
        raise TurnError(f"{place} is {kind(branch)}, expected an object")
    for member in ("id", "conversation_history"):
        if member not in branch:
            raise TurnError(f"{place} has no {member}")
    _expect(place, branch, "id", isinstance(branch["id"], str), "a string")
    for member in ("name", "parent_branch_id"):
        _expect(place, branch, member, isinstance(branch.get(member), str | None), "a string")
    point = branch.get("branch_point_index")
    _expect(place, branch, "branch_point_index", point is None or (type(point) is int and point >= 0), "an index")
    return Branch(branch["id"], branch.get("name"), branch.get("parent_branch_id"), point or 0, current)


def _expect(place: str, branch: Object, member: str, fits: bool, expectation: str) -> None:
    if not fits:
        seen = compact(branch[member])[:40]
        raise TurnError(f"{place}.{member} is {seen}, expected {expectation}")


def _own(document: Object, histories: list[list[Object]]) -> Object:
    """Return the members of a history that are neither loaded elsewhere nor computed from its messages."""
    read = [member for member, known in (("schema_version", VERSION), ("format", FORMAT)) if document[member] == known]
    own = native(PROVIDER, document, "branches", *read).get(PROVIDER, {})
    rest = {
        "session": {"current_branch_id": at(document, "session", "current_branch_id")},
        "statistics": statistics(histories),
    }
    for member, known in rest.items():
        if isinstance(own.get(member), dict):
            extra = {key: value for key, value in own[member].items() if key not in known or value != known[key]}
            # Only values that cannot be computed again are kept.
            own = {**own, member: extra}
    return {key: value for key, value in own.items() if value != {}}


def statistics(histories: list[list[Object]]) -> Object:
    """Compute the statistics of a history from the messages of its branches."""
    roles = [message["role"] for history in histories for message in history]
    return {
        "total_branches": len(histories),
        "total_messages": len(roles),
        "total_user_messages": roles.count("user"),
        "total_assistant_messages": roles.count("assistant"),
    }


def _with_branch(own: Object, branch: Object, place: Branch) -> Native:
    """Add the members of a branch to native members, by branch id; the default name is omitted."""
    read = ["id", "parent_branch_id", "branch_point_index", _HISTORY, *(["name"] if place.name == MAIN_NAME else [])]
    extra = native(PROVIDER, branch, *read).get(PROVIDER, {})
    more = {"branches": {place.id: extra}} if extra or place.id != MAIN else {}
    return {PROVIDER: {**own, **more}} if own or more else {}


_TimedTurns = list[tuple[Turn, Moment | None]]
"""Turns with their times, or ``None`` for turns without times."""


def _timed_turns(holder: Object, member: str, path: str) -> _TimedTurns:
    history = holder[member]
    if not isinstance(history, list):
        raise TurnError(f"{path}{member} is {kind(history)}, expected a list of messages")
    turns = [_message(each, f"{path}{member}[{number}]") for number, each in enumerate(history)]
    return [(turn, moment(each.get("timestamp"))) for turn, each in zip(turns, history, strict=True)]


def _conversation(
    document: Object, holder: Object, timed_turns: _TimedTurns, branch: Branch | None, own: Native
) -> Conversation:
    """Build the conversation of a branch, with the model if it is known."""
    models = (string(holder, _MODEL), string(document, _MODEL), string(at(document, "configuration", "model"), _MODEL))
    plain, known = Evidence(1), Evidence(1, is_sampled=True, model=next(filter(None, models), None))
    evidence = ((turn, replace(known if turn.role == "assistant" else plain, time=time)) for turn, time in timed_turns)
    origin_members: Object = {"session_id": string(members(document.get("session")) or document, "chat_id") or None}
    if branch:
        origin_members |= {"id": branch.id, "kind": "branch" if branch.parent else "main", "parent": branch.parent}
    if not any(time for _, time in timed_turns):
        origin_members |= _bounds(holder)
    return conversation(evidence, own, branch, **origin_members)


def _bounds(holder: Object) -> Object:
    """Return the start and end times of a history whose messages have no times."""
    started_at = moment(holder.get("created_at"))
    ended_at = moment(holder.get("last_active")) or moment(holder.get("last_updated")) or started_at
    if ended_at is None:
        return {}
    is_naive = ended_at.naive or (started_at is not None and started_at.naive)
    findings = {"findings": ((1, RepeatedViolation("naive-timestamp")),)} if is_naive else {}
    return {"started_at": (started_at or ended_at).at, "ended_at": ended_at.at, **findings}


def _message(message: Json, place: str) -> Turn:
    if not isinstance(message, dict):
        raise TurnError(f"{place} is {kind(message)}, expected an object")
    role = message.get("role")
    if role not in _ROLES:
        seen = f"unknown role {compact(role)[:40]}; expected one of {', '.join(_ROLES)}"
        raise TurnError(f"{place}: {'no role' if role is None else seen}")
    if role == ATTACHMENT:
        return _attachment(message)
    content = message.get("content")
    if not isinstance(content, str):
        raise TurnError(
            f"{place}: content is {'missing' if content is None else f'{kind(content)}, expected a string'}"
        )
    blocks = (Text(content),) if content else ()
    own = native(PROVIDER, message, "role", "content", KEY)
    thought = at(message, "metadata", "thinking_content")
    if role != "assistant" or not (isinstance(thought, str) and thought):
        return Turn(role, blocks, are_instructions(message), own)
    more = {key: value for key, value in message["metadata"].items() if key != "thinking_content"}
    own = native(PROVIDER, {**message, "metadata": more}, "role", "content", KEY)
    return Turn(role, (Reasoning(thought), *blocks), native=own)


def _attachment(message: Object) -> Turn:
    """Load an attachment as a user turn."""
    # Oumi writes the text in ``text_content``, but documents it in ``content``.
    member = TEXT if isinstance(message.get(TEXT), str) else "content"
    text = string(message, member)
    read = (member, KEY) if isinstance(message.get(member), str) else (KEY,)
    own = native(PROVIDER, message, *read).get(PROVIDER, {})
    where = {} if member == TEXT or not text else {TEXT: own.get(TEXT)}
    return Turn("user", (Text(text),) if text else (), native={PROVIDER: {**own, **where}})


def dump(conversations: list[Conversation]) -> Json:
    """Write a history with a branch for each conversation.

    A branch keeps its logged place if it is still correct; otherwise, its parent is the branch with the longest common
    beginning.  Only text is written; calls and results cannot be expressed.
    """
    histories = [[message for turn in turns_of(each) if (message := _write_message(turn))] for each in conversations]
    known = (each.native[PROVIDER] for each in conversations if PROVIDER in each.native)
    own = {key: value for key, value in next(known, {}).items() if key not in _TRAINING_MEMBERS}
    is_alone = len(conversations) == 1 and conversations[0].branch is None and _more(conversations[0])[0] is None
    for mark, member in SINGLE_CONVERSATIONS.items():
        if is_alone and mark in own:
            return {**own, member: histories[0]}
    encoded_histories = [list(map(jsonio.dumps, each)) for each in histories]
    ids = _ids(conversations)
    messages = [
        {
            **_branch_place(number, each.branch, ids, encoded_histories),
            **_more(each)[1],
            "conversation_history": histories[number],
        }
        for number, each in enumerate(conversations)
    ]
    current = [
        each
        for each, conversation in zip(ids, conversations, strict=True)
        if conversation.branch and conversation.branch.current
    ]
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
    """Return the id of a branch, and its native members."""
    metadata = members(at(conversation.native, PROVIDER, "branches"))
    known = next(iter(metadata), None)
    return known, {key: value for key, value in members(metadata.get(known or "")).items() if key not in _PLACE}


def _ids(conversations: list[Conversation]) -> list[str]:
    """Return a unique id for each branch: its logged id, or an id based on its number."""
    ids: list[str] = []
    for number, each in enumerate(conversations):
        default_id = f"branch_{number}" if number else MAIN
        preferred_id = each.branch.id if each.branch else _more(each)[0] or default_id
        names = chain([preferred_id], (f"{preferred_id}_{other}" for other in count(2)))
        ids.append(next(name for name in names if name not in ids))
    return ids


def _branch_place(number: int, branch: Branch | None, ids: list[str], histories: list[list[bytes]]) -> Object:
    """Return the place of a branch: its logged place if it is still correct, or else the longest shared prefix."""
    if branch and _is_correct(number, branch, ids, histories):
        return {
            "id": branch.id,
            "name": branch.name,
            "parent_branch_id": branch.parent,
            "branch_point_index": branch.point,
        }
    common_lengths = [_common_length(histories[number], other) for other in histories[:number]]
    point = max(common_lengths, default=0)
    return {
        "id": ids[number],
        "name": branch.name if branch else f"Branch {number}" if number else MAIN_NAME,
        "parent_branch_id": ids[common_lengths.index(point)] if point else None,
        "branch_point_index": point,
    }


def _is_correct(number: int, branch: Branch, ids: list[str], histories: list[list[bytes]]) -> bool:
    """Return whether a branch and its parent are still equal up to the branch point."""
    if branch.id != ids[number]:
        return False
    if branch.parent is None:
        return branch.point == 0
    return (
        branch.parent in ids and _common_length(histories[number], histories[ids.index(branch.parent)]) >= branch.point
    )


def _common_length(one: list[bytes], other: list[bytes]) -> int:
    """Return the number of messages in the shared prefix of two histories."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _write_message(turn: Turn) -> Object | None:
    """Write a message; return ``None`` if its content is unsupported, except in assistant turns with only reasoning."""
    own = own_of(turn, PROVIDER)
    text = text_of(turn.blocks, by_assistant=turn.role == "assistant")
    if turn.role == "user" and own.get("role") == ATTACHMENT:
        member = "content" if TEXT in own else TEXT
        message = {"role": ATTACHMENT, member: text}
        return {**message, **{key: value for key, value in own.items() if value is not None}, **message}
    has_only_reasoning = turn.role == "assistant" and all(type(block) is Reasoning for block in turn.blocks)
    if turn.role not in SPEAKERS or not (text or has_only_reasoning):
        return None
    message = {"role": SPEAKERS[turn.role], "content": text, **instructions_mark(turn)}
    more = {key: value for key, value in own.items() if key != "id"}  # only training messages have ids
    thoughts = [block.text for block in turn.blocks if type(block) is Reasoning and block.text]
    if thoughts and turn.role == "assistant":
        more["metadata"] = {**members(more.get("metadata")), "thinking_content": "\n\n".join(thoughts)}
    return {**message, **more, **message}
