"""The messages of a session as turns of Gemini's."""

from __future__ import annotations

from typing import Any

from chatsquash.core.model import Json
from chatsquash.formats.agents.gemini_cli.session import KINDS, Record
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import Evidence, Logged, Unread, moment
from chatsquash.formats.providers.gemini.blocks import camel
from chatsquash.formats.values import Object, count, listed, objects, string
from chatsquash.formats.values import at as member

_RECORD = ("id", "timestamp", "type", "content", "toolCalls", "thoughts", "tokens", "model")
_CALL = ("id", "name", "args", "result", "agentId")


class Reader:
    """The contents of messages; a result that is told twice, beside its call and by the user, counts once."""

    def __init__(self, unread: Unread) -> None:
        self.unread = unread
        self.answered: set[str] = set()
        self.beside: list[Json] = []
        """What stood beside the last results."""

    def read(self, records: list[Record]) -> list[Logged]:
        """The turns of messages; what the client tells the user is none."""
        turns: list[Logged] = []
        for place, line, record in records:
            of = record.get("type")
            if of not in KINDS:
                raise TurnError(f"{place} has a type that is none of {', '.join(KINDS)}")
            at = Evidence(line, moment(record.get("timestamp")))
            if of == "gemini":
                self.rest(record)
                turns.append(Logged(place, {"role": "model", "parts": _said(record)}, _of_model(record, at)))
                answers = [part for call in objects(record.get("toolCalls")) for part in self.results(call)]
                turns += [Logged(place, {"role": "user", "parts": answers}, at)] if answers else []
            elif of == "user":
                self.rest(record)
                told = self.told(_parts(record.get("content")))
                is_said = bool(told) or not record.get("content")
                turns += [Logged(place, {"role": "user", "parts": told}, at)] if is_said else []
            else:
                self.unread.one(f"message of the type {of}")
        return turns

    def rest(self, record: Object) -> None:
        """Count what is not read of a message."""
        self.unread.rest("message", record, *_RECORD)
        for call in objects(record.get("toolCalls")):
            self.unread.rest("message.toolCalls", call, *_CALL)

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


def _of_model(record: Object, at: Evidence) -> Evidence:
    """What is known of a reply; thoughts are no part of the output that is counted."""
    tokens = record.get("tokens")
    said = [count(value) for name in ("output", "thoughts") if (value := member(tokens, name)) is not None]
    whole = sum(each for each in said if each is not None) if said else None
    return Evidence(at.line, at.time, True, string(record, "model") or None, count(member(tokens, "input")), whole)


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
    answered = [string(camel(part).get("functionCall"), "id") for part in said]
    calls = [call for call in objects(record.get("toolCalls")) if string(call, "id") not in filter(None, answered)]
    thoughts = [_thought(each) for each in objects(record.get("thoughts"))]
    called = [{name: call[name] for name in ("id", "name", "args") if name in call} for call in calls]
    return [*thoughts, *said, *({"functionCall": call} for call in called)]


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
