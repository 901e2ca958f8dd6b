"""Gemini CLI's sessions and checkpoints: Gemini's contents, with the calls of tools beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from glob import escape
from typing import Any, NamedTuple

from chatsquash.core.model import Conversation, ConversationKind, Json, Origin
from chatsquash.formats.base import TurnError, expect_list
from chatsquash.formats.evidence import (
    Evidence,
    LoggedTurn,
    Unread,
    entries,
    load_conversation,
    moment,
    span,
)
from chatsquash.formats.providers import gemini
from chatsquash.formats.providers.gemini.blocks import camel
from chatsquash.formats.values import Object, as_list, count, is_plain_name, objects, string, without
from chatsquash.formats.values import at as member

NAME = "gemini_cli"
HOLDS_TOOLS = False
MEMBERS = ("$set", "$rewindTo", "projectHash", "id", "history")
KEPT = ("~/.gemini/tmp/*/chats/**/*.json*",)

_UPDATES = ("$set", "$rewindTo")


def fits(values: list[Json]) -> str | None:
    """Check for a session with its project's hash or with edits, or for a checkpoint with contents."""
    if any(line.keys() & set(_UPDATES) or line.keys() >= {"sessionId", "projectHash"} for line in objects(values)):
        return "$set or $rewindTo, or sessionId beside projectHash"
    if values and all(map(_is_record, values)):
        return "records of the types user and gemini"
    return "a history of contents" if len(values) == 1 and _history(values[0]) else None


def _is_record(line: Json) -> bool:
    members = {"id", "timestamp", "content"}
    own = isinstance(line, dict) and line.keys() >= members and not line.keys() & {"message", "role"}
    return own and line.get("type") in KINDS


def _history(value: Json) -> list[Json]:
    """Return the contents of a checkpoint; empty for anything else."""
    history = value.get("history") if isinstance(value, dict) else value
    return history if isinstance(history, list) and history and all(map(_is_content, history)) else []


def _is_content(value: Json) -> bool:
    """Whether a value has a role of Gemini's and untyped parts."""
    if not isinstance(value, dict) or value.get("role") not in ("user", "model"):
        return False
    parts = value.get("parts")
    return isinstance(parts, list) and all(isinstance(part, dict) and "type" not in part for part in parts)


def home(path: str, origin: Origin) -> str | None:
    """Return a glob for a sub-agent's parent: beside the folder named by its id, with 8 letters of that in its name."""
    del origin
    chats, _, parent = path.rpartition("/")[0].rpartition("/")
    return f"{escape(chats)}/session-*{parent[:8]}.json*" if is_plain_name(parent) else None


def conversations(values: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Return the conversation as it ended, then what it was before messages were removed or replaced.

    Neither the system prompt nor the tools are kept in it.
    """
    history = _history(values[0]) if len(values) == 1 else []
    if history:
        turns = [
            LoggedTurn(f"history[{place}]", content, Evidence(1, is_sampled=content["role"] == "model"))
            for place, content in enumerate(history)
        ]
        return [load_conversation(gemini, turns)]
    session = _SessionState()
    for place, number, line in entries(values, lines):
        session.add(f"entry {place}", number, line)
    ways = [(turns, way) for way in session.ways() if (turns := _RecordReader(session.unread).read(way.records))]
    return [_conversation(session, turns, way, place) for place, (turns, way) in enumerate(ways)]


def _conversation(session: _SessionState, turns: list[LoggedTurn], way: _SessionPath, place: int) -> Conversation:
    header = session.header
    return load_conversation(
        gemini,
        turns,
        id=way.id,
        parent=way.parent,
        kind=way.kind or ("subagent" if header.get("kind") == "subagent" else "main"),
        session_id=string(header, "sessionId") or None,
        session_times=span(header.get("startTime"), header.get("lastUpdated")),
        unread=session.unread.of(place),
        began=way.began(),
    )


KINDS = ("user", "gemini", "info", "error", "warning")
_SESSION = ("sessionId", "startTime", "lastUpdated", "messages", "kind")


class ChatRecord(NamedTuple):
    """A message and its place."""

    place: str
    line: int
    record: Object


class _SessionPath(NamedTuple):
    """The messages of one conversation of the session."""

    id: str
    kind: ConversationKind | None
    """``None``: the kind of the session."""
    parent: str | None
    records: list[ChatRecord]

    def began(self) -> dict[str, str]:
        """Return the sub-agents that its calls started, with the ids of the calls."""
        calls = (call for each in self.records for call in objects(each.record.get("toolCalls")))
        return {agent: string(call, "id") for call in calls if (agent := string(call, "agentId"))}


@dataclass(slots=True)
class _SessionState:
    """A session while its lines are read."""

    records: dict[str, ChatRecord] = field(default_factory=dict)
    left: list[list[ChatRecord]] = field(default_factory=list)
    """What the messages were before some that the model gave were taken back or replaced."""
    header: Object = field(default_factory=dict)
    unread: Unread = field(default_factory=Unread)

    def ways(self) -> list[_SessionPath]:
        """Return the messages as they ended, then those that were abandoned."""
        left = [_SessionPath(str(number), "branch", "1", records) for number, records in enumerate(self.left, 2)]
        return [_SessionPath("1", None, None, list(self.records.values())), *left]

    def add(self, place: str, number: int, line: Object) -> None:
        match line:
            case {"$rewindTo": str(key)}:
                keys = list(self.records)
                self.leave(keys[: keys.index(key) if key in self.records else 0])
            case {"$set": dict(members)}:
                self.set(place, number, members)
            case {"sessionId": _, "projectHash": _}:
                self.set(place, number, line)
            case {"type": "message_update", "id": str(key)}:
                if key in self.records:
                    before = self.records[key]
                    self.records[key] = before._replace(record={**before.record, **without(line, "type")})
            case {"id": str(key)}:
                before = self.records.get(key) or ChatRecord(place, number, {})
                self.records[key] = before._replace(record=line)
            case {"type": "user" | "gemini"}:
                self.records[place] = ChatRecord(place, number, line)
            case _:
                self.unread.rest("line", line)

    def set(self, place: str, number: int, members: Object) -> None:
        """Set members of the session, which may include all its messages."""
        self.header = {**self.header, **members}
        self.unread.rest("session", members, *_SESSION)
        messages = members.get("messages")
        if not messages:
            return
        expect_list(messages, f"{place} has messages that are")
        records: dict[str, ChatRecord] = {}
        for index, record in enumerate(messages):
            where = f"{place}, messages[{index}]"
            if not isinstance(record, dict):
                raise TurnError(f"{where} is no object")
            records[string(record, "id") or where] = ChatRecord(where, number, record)
        self.leave(list(records))
        self.records = records

    def leave(self, keys: list[str]) -> None:
        """Reduce the messages to some; keep what was there if the model's are among the removed."""
        gone = self.records.keys() - set(keys)
        if any(self.records[key].record.get("type") == "gemini" for key in gone):
            self.left.append(list(self.records.values()))
        self.records = {key: self.records[key] for key in keys if key in self.records}


_RECORD = ("id", "timestamp", "type", "content", "toolCalls", "thoughts", "tokens", "model")
_CALL = ("id", "name", "args", "result", "agentId")


class _RecordReader:
    """Turns records into contents; a result given beside its call and by the user counts once."""

    def __init__(self, unread: Unread) -> None:
        self.unread = unread
        self.answered: set[str] = set()
        self.beside: list[Json] = []
        """What stood beside the last results."""

    def read(self, records: list[ChatRecord]) -> list[LoggedTurn]:
        """Return the turns of messages, without what the client tells the user."""
        turns: list[LoggedTurn] = []
        for place, line, record in records:
            of = record.get("type")
            if of not in KINDS:
                raise TurnError(f"{place} has a type that is none of {', '.join(KINDS)}")
            at = Evidence(line, moment(record.get("timestamp")))
            if of == "gemini":
                self.rest(record)
                turns.append(LoggedTurn(place, {"role": "model", "parts": _said(record)}, _of_model(record, at)))
                answers = [part for call in objects(record.get("toolCalls")) for part in self.results(call)]
                turns += [LoggedTurn(place, {"role": "user", "parts": answers}, at)] if answers else []
            elif of == "user":
                self.rest(record)
                parts = self.fresh_parts(_parts(record.get("content")))
                is_said = bool(parts) or not record.get("content")
                turns += [LoggedTurn(place, {"role": "user", "parts": parts}, at)] if is_said else []
            else:
                self.unread.one(f"message of the type {of}")
        return turns

    def rest(self, record: Object) -> None:
        """Count the members of a message that are not read."""
        self.unread.rest("message", record, *_RECORD)
        for call in objects(record.get("toolCalls")):
            self.unread.rest("message.toolCalls", call, *_CALL)

    def results(self, call: Object) -> list[Json]:
        """Return the new results beside a call; parallel calls may each have those of all."""
        linked = [_with_call_id(part, call) for part in _answer(call)]
        fresh = [part for part in linked if _response(part) is not None and self.is_new(part)]
        others = [part for part in linked if _response(part) is None]
        self.beside = others if fresh else self.beside
        return [part for part in linked if part in fresh or part in others] if fresh else []

    def fresh_parts(self, parts: list[Json]) -> list[Json]:
        """Return the user's parts without results that were there before."""
        repeats = any(_response(part) is not None for part in parts)
        return [part for part in parts if self.is_new(part) and not (repeats and part in self.beside)]

    def is_new(self, part: Json) -> bool:
        """Whether a part is not a repeated result."""
        key = string(_response(part), "id")
        if key and key in self.answered:
            return False
        self.answered |= {key} if key else set()
        return True


def _of_model(record: Object, at: Evidence) -> Evidence:
    """Return what is known of a reply; thoughts are counted apart from the output."""
    tokens = record.get("tokens")
    said = [count(value) for name in ("output", "thoughts") if (value := member(tokens, name)) is not None]
    whole = sum(each for each in said if each is not None) if said else None
    return Evidence(at.line, at.time, True, string(record, "model") or None, count(member(tokens, "input")), whole)


def _answer(call: Object) -> list[Json]:
    """Return the parts of a call's result; texts are wrapped in a result."""
    parts = _parts(call.get("result"))
    if not parts or any(_response(part) is not None for part in parts):
        return parts
    texts = [text for part in parts if isinstance(text := camel(part).get("text"), str)]
    media = [part for part in parts if not isinstance(camel(part).get("text"), str)]
    answer = {"name": call.get("name"), "response": {"output": "".join(texts)}}
    return [{"functionResponse": {**answer, "parts": media} if media else answer}]


def _with_call_id(part: Json, call: Object) -> Json:
    """Return a part; a result without an id gets that of its call."""
    answer = _response(part)
    return part if answer is None or string(answer, "id") else {"functionResponse": {**answer, "id": call.get("id")}}


def _said(record: Object) -> list[Json]:
    """Return thoughts, contents and calls as the parts of a turn."""
    said = _parts(record.get("content"))
    answered = [string(camel(part).get("functionCall"), "id") for part in said]
    calls = [call for call in objects(record.get("toolCalls")) if string(call, "id") not in filter(None, answered)]
    thoughts = [_thought(each) for each in objects(record.get("thoughts"))]
    called = [{name: call[name] for name in ("id", "name", "args") if name in call} for call in calls]
    return [*thoughts, *said, *({"functionCall": call} for call in called)]


def _thought(thought: Object) -> Object:
    """Return a thought as the model writes it, with its subject in bold."""
    subject, text = string(thought, "subject"), string(thought, "description")
    return {"thought": True, "text": "\n\n".join(filter(None, [f"**{subject}**" if subject else "", text]))}


def _parts(content: Json) -> list[Json]:
    """Return a text, a part or a list of both as parts; empty texts are dropped."""
    return [{"text": part} if isinstance(part, str) else part for part in as_list(content) if part != ""]


def _response(part: Json) -> Any:
    """Return the result in a part, if there is one."""
    answer = camel(part).get("functionResponse")
    return answer if isinstance(answer, dict) else None
