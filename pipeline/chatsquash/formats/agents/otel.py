"""OpenTelemetry's GenAI conventions: messages in the attributes of spans, their events and log records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from chatsquash import jsonio, reasoning
from chatsquash.chat import BREAKS, PRIVATE, Private, part_text
from chatsquash.formats import openai_chat
from chatsquash.formats.base import TurnError
from chatsquash.formats.bodies import replayed
from chatsquash.formats.parts import Seams, data_url, file, image, text
from chatsquash.formats.values import Object, at, kind, listed, objects, string, unrepeated, without
from chatsquash.model import Conversation, Json, Tool

NAME = "otel"
HOLDS_TOOLS = True

_INPUT, _OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
_SYSTEM, _TOOLS = "gen_ai.system_instructions", "gen_ai.tool.definitions"
_TOLD = (_INPUT, _OUTPUT, _SYSTEM)
_HOLDING = (
    *("resourceSpans", "scopeSpans", "instrumentationLibrarySpans", "spans", "events"),
    *("resourceLogs", "scopeLogs", "logRecords"),
)
"""Members that hold what has attributes, outermost first."""
_AUDIO = {"audio/wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


class _Holder(NamedTuple):
    """Something with attributes."""

    place: str
    attributes: dict[str, Any]


def fits(found: list[Json]) -> str | None:
    """An attribute is named after GenAI, or there are spans at all."""
    for value in found:
        if isinstance(value, dict) and value.keys() & {"resourceSpans", "resourceLogs"}:
            return "resourceSpans" if "resourceSpans" in value else "resourceLogs"
    try:
        names = (name for holder in _holders(found) for name in holder.attributes)
        name = next((name for name in names if name.startswith("gen_ai.")), None)
    except (TurnError, RecursionError):
        return None
    return f"the attribute {name}" if name else None


def conversations(found: list[Json]) -> list[Conversation]:
    """A conversation per span or record that holds messages, but those that another one goes on from."""
    try:
        told = [holder for holder in _holders(found) if holder.attributes.keys() & set(_TOLD)]
        whole = [each for holder in told for each in _conversations(holder)]
    except RecursionError:
        raise TurnError("is nested too deeply") from None
    if not told:
        raise TurnError(f"no attribute holds messages: {_INPUT} and {_OUTPUT} were not recorded")
    return _longest(whole)


def _longest(whole: list[Conversation]) -> list[Conversation]:
    """The conversations without those that are the beginning of another one, or that one again."""
    encoded = [list(map(jsonio.dumps, each.messages)) for each in whole]
    return [whole[place] for place in unrepeated(encoded) if encoded[place]]


# Attributes


def _holders(found: list[Json]) -> Iterator[_Holder]:
    """Everything that has attributes, at any depth, and objects that are attributes themselves."""
    waiting = [iter([(f"entry {place}", value) for place, value in enumerate(found, 1)])]
    while waiting:
        place, value = next(waiting[-1], ("", None))
        if not place:
            waiting.pop()
        elif isinstance(value, list):
            waiting.append(_elements(place, value))
        elif isinstance(value, dict):
            held = _attributes(value["attributes"]) if "attributes" in value else value
            yield _Holder(place, held)
            waiting.append(_held(place, value))


def _elements(place: str, values: list[Json]) -> Iterator[tuple[str, Json]]:
    """The elements of a list that may hold anything."""
    return ((f"{place}[{number}]", each) for number, each in enumerate(values) if isinstance(each, list | dict))


def _held(place: str, value: Object) -> Iterator[tuple[str, Json]]:
    return ((f"{place}, {name}", value[name]) for name in _HOLDING if isinstance(value.get(name), list))


def _attributes(held: Json) -> dict[str, Any]:
    """Attributes by their names: an object, or OTLP's list of keys and typed values."""
    if isinstance(held, dict):
        return held
    return {string(each, "key"): _value(each.get("value")) for each in objects(held)}


def _value(typed: Json) -> Json:
    """A value of OTLP, which has its type for a name."""
    match typed:
        case {"arrayValue": held}:
            return [_value(each) for each in listed(at(held, "values"))]
        case {"kvlistValue": held}:
            return _attributes(at(held, "values"))
        case {"intValue": str(digits)} if digits.removeprefix("-").isdecimal() and digits.isascii():
            return int(digits)
        case dict() if len(typed) == 1:
            return next(iter(typed.values()))
    return None


def _parsed(holder: _Holder, name: str) -> Json:
    """An attribute, which may be JSON as text."""
    value = holder.attributes.get(name)
    if not isinstance(value, str):
        return value
    try:
        return jsonio.loads(value)
    except (ValueError, RecursionError):
        if name == _SYSTEM:
            return [{"type": "text", "content": value}]
        raise TurnError(f"{holder.place} has {name} that is no JSON; it may have been cut") from None


# Messages


def _conversations(holder: _Holder) -> Iterator[Conversation]:
    """One conversation for each choice of the model; the choices are its messages, all of them the assistant's."""
    turns = [turn for name in (_SYSTEM, _INPUT) for turn in _turns(holder, name)]
    answers = _turns(holder, _OUTPUT)
    tools: list[Tool] = list(openai_chat.tools(_parsed(holder, _TOOLS)).functions)
    choices = [[answer] for answer in answers] if _are_choices(answers) else [answers]
    for choice in choices:
        yield Conversation(replayed(openai_chat, [*turns, *choice]), tools)


def _are_choices(answers: list[tuple[str, Object]]) -> bool:
    return bool(answers) and all(turn["role"] == "assistant" for _, turn in answers)


def _turns(holder: _Holder, name: str) -> list[tuple[str, Object]]:
    """The messages of an attribute; system instructions are parts of one."""
    value = _parsed(holder, name)
    where = f"{holder.place}, {name}"
    if value is None or value in ("", []):
        return []
    if name == _SYSTEM and not any("role" in each for each in objects(value)):
        return [(where, {"role": "system", "content": _content(listed(value))})]
    if not isinstance(value, list):
        raise TurnError(f"{where} is {kind(value)}, not a list")
    return [
        (f"{where}[{number}]", turn)
        for number, message in enumerate(value)
        for turn in _said(message, f"{where}[{number}]")
    ]


def _said(message: Json, where: str) -> list[Object]:
    """The turns of a message: its results each, and what else is in it."""
    if not isinstance(message, dict):
        raise TurnError(f"{where} is {kind(message)}, not an object")
    held = message.get("parts", message.get("content"))
    held = [held] if isinstance(held, str) else held
    if not isinstance(held, list | None):
        raise TurnError(f"{where} has parts that are {kind(held)}, not a list")
    role, told = message.get("role"), held or []
    results = [_result(part) for part in objects(told) if part.get("type") == "tool_call_response"]
    others = [part for part in told if not (isinstance(part, dict) and part.get("type") == "tool_call_response")]
    if role == "assistant":
        return [*([_answer(others)] if others or not results else []), *results]
    role = "user" if role == "tool" and results else role
    return [*results, *([{"role": role, "content": _content(others)}] if others or not results else [])]


def _answer(told: list[Json]) -> Object:
    """An assistant's message; text behind its calls is kept apart."""
    kinds = [string(part, "type") for part in told]
    first = kinds.index("tool_call") if "tool_call" in kinds else len(told)
    calls = [_call(part) for part in objects(told) if part.get("type") == "tool_call"]
    thoughts = [part["content"] for part in objects(told) if _is_thought(part)]
    before = [part for part in told[:first] if not _is_thought(part)]
    behind = [part for part in told[first:] if string(part, "type") != "tool_call" and not _is_thought(part)]
    after = [part["content"] for part in behind if _is_text(part)]
    native = [part for part in behind if not _is_text(part)]
    turn: Object = {"role": "assistant", "content": _content(before) if before or not calls else None}
    turn |= {"reasoning_content": thoughts if len(thoughts) > 1 else thoughts[0]} if thoughts else {}
    turn |= {"tool_calls": calls} if calls else {}
    held = {"after": after, "native": native, BREAKS: _breaks(told[:first])}
    held = {key: value for key, value in held.items() if value}
    return {**turn, PRIVATE: Private(held)} if held else turn


def _breaks(told: list[Json]) -> list[int]:
    """The places of parts before which the assistant thought."""
    seams, place = Seams(), 0
    for part in told:
        if _is_thought(part):
            seams.other()
        else:
            seams.part(place)
            place += 1
    return seams.breaks


def _is_thought(part: Json) -> bool:
    return reasoning.is_part(part) and isinstance(part.get("content"), str)


def _is_text(part: Json) -> bool:
    return string(part, "type") == "text" and isinstance(part.get("content"), str)


def _call(part: Object) -> Object:
    function = without({"name": part.get("name"), "arguments": part.get("arguments")})
    return {"id": part.get("id"), "type": "function", "function": function}


def _result(part: Object) -> Object:
    """A result, which some write as ``result`` in place of ``response``."""
    value = part.get("response", part.get("result"))
    named = {"name": part["name"]} if string(part, "name") else {}
    return {"role": "tool", "tool_call_id": part.get("id"), **named, "content": "" if value is None else value}


def _content(told: list[Json]) -> Json:
    """Parts as OpenAI chat has them; one text is a string."""
    found = [_part(part) for part in told]
    whole = part_text(found[0]) if len(found) == 1 else None
    return whole if whole is not None else found or ""


def _part(part: Json) -> Json:
    match part:
        case str():
            return text(part)
        case {"type": "text", "content": str(said)}:
            return text(said)
        case {"type": "blob", "content": str(data)}:
            return _blob(part, string(part, "mime_type"), data)
        case {"type": "uri", "uri": str(uri)}:
            return image(uri) if _is_image(part) else file(file_url=uri)
        case {"type": "file", "file_id": str(file_id)}:
            return file(file_id=file_id)
    return part


def _blob(part: Object, mime: str, data: str) -> Object:
    if mime in _AUDIO:
        return {"type": "input_audio", "input_audio": {"data": data, "format": _AUDIO[mime]}}
    url = data_url(mime, data)
    return image(url) if _is_image(part) else file(file_data=url)


def _is_image(part: Object) -> bool:
    return part.get("modality") == "image" or string(part, "mime_type").startswith("image/")
