"""Gemini CLI's sessions and checkpoints: Gemini's contents, with the calls of tools beside them."""

from __future__ import annotations

from typing import Any

from chatsquash.formats import gemini
from chatsquash.formats.base import TurnError
from chatsquash.formats.bodies import replayed
from chatsquash.formats.gemini.pieces import camel
from chatsquash.formats.values import Object, kind, listed, objects, string, without
from chatsquash.model import Conversation, Json

NAME = "gemini_cli"
HOLDS_TOOLS = False

_KINDS = ("user", "gemini", "info", "error", "warning")
_UPDATES = ("$set", "$rewindTo")


def fits(found: list[Json]) -> str | None:
    """A session names its project's hash or edits itself; a checkpoint is a history of contents."""
    if any(map(_is_update, found)):
        return "$set or $rewindTo, or sessionId beside projectHash"
    if found and all(map(_is_record, found)):
        return "records of the types user and gemini"
    return "a history of contents" if len(found) == 1 and _history(found[0]) else None


def _is_update(line: Json) -> bool:
    return isinstance(line, dict) and bool(line.keys() & set(_UPDATES) or line.keys() >= {"sessionId", "projectHash"})


def _is_record(line: Json) -> bool:
    members = {"id", "timestamp", "content"}
    own = isinstance(line, dict) and line.keys() >= members and not line.keys() & {"message", "role"}
    return own and line.get("type") in _KINDS


def _history(value: Json) -> list[Json]:
    """The contents of a checkpoint; empty for anything else."""
    history = value.get("history") if isinstance(value, dict) else value
    return history if isinstance(history, list) and history and all(map(_is_content, history)) else []


def _is_content(value: Json) -> bool:
    """Whether a value has a role of Gemini's and parts, which have no types."""
    if not isinstance(value, dict) or value.get("role") not in ("user", "model"):
        return False
    held = value.get("parts")
    return isinstance(held, list) and all(isinstance(part, dict) and "type" not in part for part in held)


def conversations(found: list[Json]) -> list[Conversation]:
    """One conversation; neither the system prompt nor the tools are kept in it."""
    history = _history(found[0]) if len(found) == 1 else []
    if history:
        turns = [(f"history[{number}]", content) for number, content in enumerate(history)]
    else:
        turns = _Reader().read(_records(found))
    messages = replayed(gemini, turns)
    return [Conversation(messages, [])] if messages else []


def _records(found: list[Json]) -> list[tuple[str, Object]]:
    """The messages that are left when all edits are made, with their places."""
    records: dict[str, tuple[str, Object]] = {}
    for number, line in enumerate(found, 1):
        place = f"entry {number}"
        match line:
            case {"$rewindTo": str(key)}:
                _rewind(records, key)
            case {"$set": dict(members)} | {"sessionId": _, "projectHash": _, **members} if members.get("messages"):
                records = _listed(place, members["messages"])
            case {"type": "message_update", "id": str(key)}:
                if key in records:
                    before, record = records[key]
                    records[key] = (before, {**record, **without(line, "type")})
            case {"id": str(key)}:
                records[key] = (records[key][0] if key in records else place, line)
            case {"type": "user" | "gemini"}:
                records[place] = (place, line)
            case dict():
                pass  # metadata
            case _:
                raise TurnError(f"{place} is no object")
    return list(records.values())


def _rewind(records: dict[str, tuple[str, Object]], key: str) -> None:
    """Take back a message and all behind it; all there are where it is not among them."""
    keys = list(records)
    for gone in keys[keys.index(key) if key in records else 0 :]:
        del records[gone]


def _listed(place: str, held: Json) -> dict[str, tuple[str, Object]]:
    if not isinstance(held, list):
        raise TurnError(f"{place} has messages that are {kind(held)}, not a list")
    records = {}
    for number, record in enumerate(held):
        where = f"{place}, messages[{number}]"
        if not isinstance(record, dict):
            raise TurnError(f"{where} is no object")
        records[string(record, "id") or where] = (where, record)
    return records


class _Reader:
    """The contents of messages; a result that is told twice, beside its call and by the user, counts once."""

    def __init__(self) -> None:
        self.answered: set[str] = set()
        self.beside: list[Json] = []
        """What stood beside the last results."""

    def read(self, records: list[tuple[str, Object]]) -> list[tuple[str, Json]]:
        """The turns of messages; what the client tells the user is none."""
        turns: list[tuple[str, Json]] = []
        for place, record in records:
            of = record.get("type")
            if of == "gemini":
                turns.append((place, {"role": "model", "parts": _said(record)}))
                answers = [part for call in objects(record.get("toolCalls")) for part in self.results(call)]
                turns += [(place, {"role": "user", "parts": answers})] if answers else []
            elif of == "user":
                told = self.told(_parts(record.get("content")))
                turns += [(place, {"role": "user", "parts": told})] if told or not record.get("content") else []
            elif of not in _KINDS:
                raise TurnError(f"{place} has a type that is none of {', '.join(_KINDS)}")
        return turns

    def results(self, call: Object) -> list[Json]:
        """The results beside a call; of calls that were made at once, each may have those of all."""
        linked = [_linked(part, call) for part in _answer(call)]
        fresh = [part for part in linked if _response(part) is not None and self.is_new(part)]
        others = [part for part in linked if _response(part) is None]
        self.beside = others if fresh else self.beside
        return [part for part in linked if part in fresh or part in others] if fresh else []

    def told(self, held: list[Json]) -> list[Json]:
        """What the user says beside results that were there before."""
        repeats = any(_response(part) is not None for part in held)
        return [part for part in held if self.is_new(part) and not (repeats and part in self.beside)]

    def is_new(self, part: Json) -> bool:
        """Whether a part is no result that was there before."""
        key = string(_response(part), "id")
        if key and key in self.answered:
            return False
        self.answered |= {key} if key else set()
        return True


def _answer(call: Object) -> list[Json]:
    """The parts of a call's result; one that is not told as a result is made one."""
    held = _parts(call.get("result"))
    if not held or any(_response(part) is not None for part in held):
        return held
    texts = [text for part in held if isinstance(text := camel(part).get("text"), str)]
    media = [part for part in held if not isinstance(camel(part).get("text"), str)]
    answer = {"name": call.get("name"), "response": {"output": "".join(texts)}}
    return [{"functionResponse": {**answer, "parts": media} if media else answer}]


def _linked(part: Json, call: Object) -> Json:
    """A part with the id of its call where it is a result without one."""
    answer = _response(part)
    return part if answer is None or string(answer, "id") else {"functionResponse": {**answer, "id": call.get("id")}}


def _said(record: Object) -> list[Json]:
    """Thoughts, what is said, and calls, as the parts of a turn."""
    said = _parts(record.get("content"))
    called = [string(camel(part).get("functionCall"), "id") for part in said]
    calls = [call for call in objects(record.get("toolCalls")) if string(call, "id") not in filter(None, called)]
    thoughts = [_thought(each) for each in objects(record.get("thoughts"))]
    return [*thoughts, *said, *({"functionCall": _picked(call, "id", "name", "args")} for call in calls)]


def _picked(holder: Object, *names: str) -> Object:
    return {name: holder[name] for name in names if name in holder}


def _thought(thought: Object) -> Object:
    """A thought as the model writes them, its subject in bold."""
    subject, text = string(thought, "subject"), string(thought, "description")
    return {"thought": True, "text": "\n\n".join(filter(None, [f"**{subject}**" if subject else "", text]))}


def _parts(content: Json) -> list[Json]:
    """A text, a part or a list of both as parts; an empty text is none."""
    return [{"text": part} if isinstance(part, str) else part for part in listed(content) if part != ""]


def _response(part: Json) -> Any:
    """The result in a part, if it is one."""
    answer = camel(part).get("functionResponse")
    return answer if isinstance(answer, dict) else None
