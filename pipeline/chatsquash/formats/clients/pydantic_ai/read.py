"""Messages of Pydantic AI as canonical ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from chatsquash import reasoning
from chatsquash.chat import BREAKS
from chatsquash.formats import parts
from chatsquash.formats.base import TurnError, with_native, with_private
from chatsquash.formats.calls import State, arguments, assistant, made_up, result, tool_call
from chatsquash.formats.clients.pydantic_ai import media, thinking
from chatsquash.formats.values import Object, at, compact, kind, listed, objects, string
from chatsquash.model import Json, Message

FAILED = ("failed", "retried")
"""The outcomes that are errors."""
INSTRUCTIONS = "instructions"


class Told(NamedTuple):
    """A message, and where it stands in the document."""

    message: Message
    turn: int
    part: str
    """Its part's index in a request, ``INSTRUCTIONS`` for these, empty for a response."""


def read(turns: list[Json]) -> list[Told]:
    """The messages that a document tells, one per part of a request and one per response, in order."""
    found: list[Told] = []
    native: list[Json] = []
    state = State()
    for number, turn in enumerate(turns):
        if _kind(number, turn) == "response":
            message, state = _said(turn, f"[{number}]", state)
            told = [Told(message, number, "")]
        else:
            told, silent, state = _request(turn, number, state)
            native += silent
        if told and native:
            told[0], native = told[0]._replace(message=with_native(told[0].message, native)), []
        found += told
    if found and native:
        found[-1] = found[-1]._replace(message=with_native(found[-1].message, native))
    return _instructed(found, turns)


def _kind(number: int, turn: Json) -> str:
    if not isinstance(turn, dict):
        raise TurnError(f"[{number}] is {kind(turn)}, not an object")
    if turn.get("kind") not in ("request", "response"):
        raise TurnError(f"[{number}] has a kind that is neither request nor response")
    if not isinstance(turn.get("parts"), list):
        raise TurnError(f"[{number}] has no list of parts")
    return str(turn["kind"])


def _parts(turn: Object, where: str) -> Iterator[tuple[int, str, Object]]:
    for number, part in enumerate(turn["parts"]):
        if not isinstance(part, dict) or not isinstance(part.get("part_kind"), str):
            raise TurnError(f"{where}.parts[{number}] has no part_kind")
        yield number, f"{where}.parts[{number}]", part


def _text(part: Object, member: str, where: str) -> str:
    if not isinstance(part.get(member), str):
        raise TurnError(f"{where} has no text as its {member}")
    return str(part[member])


# Instructions


def _instructed(found: list[Told], turns: list[Json]) -> list[Told]:
    """With the instructions of the last request as a system message behind the leading ones."""
    told = _instructions(turns)
    if told is None:
        return found
    leading = next((at for at, each in enumerate(found) if each.message["role"] != "system"), len(found))
    message = with_private({"role": "system", "content": told[1]}, {"from": INSTRUCTIONS})
    return [*found[:leading], Told(message, told[0], INSTRUCTIONS), *found[leading:]]


def _instructions(turns: list[Json]) -> tuple[int, str] | None:
    """Those of the last request, of the one before if it only has results and none of its own."""
    requests = [(number, turn) for number, turn in enumerate(turns) if turn["kind"] == "request"][-2:]
    for number, turn in reversed(requests):
        if isinstance(turn.get(INSTRUCTIONS), str) and turn[INSTRUCTIONS]:
            return number, turn[INSTRUCTIONS]
        if any(part.get("part_kind") not in ("tool-return", "retry-prompt") for part in objects(turn["parts"])):
            return None
    return None


# Requests


def _request(turn: Object, number: int, state: State) -> tuple[list[Told], list[Json], State]:
    """A message per part, and the parts that are none."""
    found: list[Told] = []
    native: list[Json] = []
    for place, where, part in _parts(turn, f"[{number}]"):
        message, state = _heard(part, where, state)
        if message is None:
            native.append(part)
        else:
            found.append(Told(message, number, str(place)))
    return found, native, state


def _heard(part: Object, where: str, state: State) -> tuple[Message | None, State]:
    """The message of a part, and the state behind it."""
    of = part["part_kind"]
    if of == "tool-return":
        return _result(part, where, state)
    if of == "retry-prompt" and part.get("tool_name") is not None:
        return _result({**part, "outcome": "retried"}, where, state)
    return _prompt(of, part, where), state


def _prompt(of: str, part: Object, where: str) -> Message | None:
    """The message of a part that is no result; ``None`` where it is none."""
    match of:
        case "system-prompt":
            return {"role": "system", "content": _text(part, "content", where)}
        case "user-prompt":
            return _user(part, where)
        case "retry-prompt" | "retry-feedback":
            return _feedback(part)
        case "speech" if told := _spoken(part):
            return {"role": "user", "content": parts.content(told)}
        case "compaction" if string(part, "content"):
            return {"role": "user", "content": part["content"]}
    return None


def _user(part: Object, where: str) -> Message:
    content = part.get("content")
    if not isinstance(content, str | list):
        raise TurnError(f"{where} has a content that is {kind(content)}, not a text or a list")
    if isinstance(content, str):
        return {"role": "user", "content": content}
    items = [(item, media.part(item)) for item in content]
    native = [item for item, read in items if read is None]
    told = parts.content([read for _, read in items if read])
    return with_private({"role": "user", "content": told}, {"content_list": isinstance(told, str), "native": native})


def _spoken(part: Object) -> list[Object]:
    heard = media.part(part.get("audio")) if isinstance(part.get("audio"), dict) else None
    return [each for each in (parts.text(string(part, "transcript")), heard) if each and each.get("text") != ""]


def _feedback(part: Object) -> Message:
    """What the application asks to be done again."""
    content = part.get("content")
    text = content if isinstance(content, str) else compact(content)
    retry = part.get("retry") or {"cause": "model_retry" if isinstance(content, str) else "validation_error"}
    return with_private({"role": "user", "content": text}, {"feedback": retry, "json": not isinstance(content, str)})


def _result(part: Object, where: str, state: State) -> tuple[Message, State]:
    name, logged = _text(part, "tool_name", where), string(part, "tool_call_id")
    answered, state = state.answer(logged, name)
    content, extra = output(part.get("content"))
    return with_private(result(answered, name, content), {**extra, **outcome(part), "synthetic_id": not logged}), state


def outcome(part: Object) -> Object:
    """How a call came out, unless well."""
    came = string(part, "outcome") or "success"
    return {"is_error": came in FAILED, "outcome": came if came not in ("success", "failed") else None}


def output(value: Json) -> tuple[Json, Object]:
    """A result: a text, parts where there are files among it, or any other value as JSON."""
    if isinstance(value, str):
        return value, {}
    items = listed(value)
    if any(_is_file(item) for item in items) and all(isinstance(item, str) or _is_file(item) for item in items):
        return [media.part(item) for item in items], {}
    return compact(value), {"json": True}


def _is_file(item: Json) -> bool:
    return isinstance(item, dict) and item.get("kind") in media.KINDS and media.part(item) is not None


# Responses


def _said(turn: Object, where: str, state: State) -> tuple[Message, State]:
    """The message of a response; what only its provider knows is kept as it is."""
    content: list[Json] = []
    calls: list[Object] = []
    after: list[str] = []
    thoughts: list[Object] = []
    native: list[Json] = []
    seams = parts.Seams()
    for _, place, part in _parts(turn, where):
        match part["part_kind"]:
            case "text" | "speech":
                text = _text(part, "content" if part["part_kind"] == "text" else "transcript", place)
                after += [text] if calls else []
                seams.part(len(content))
                content += [] if calls else [parts.text(text)]
            case "thinking":
                thoughts.append(part)
                seams.other()
            case "tool-call":
                calls.append(_call(part, place, state.call + made_up(calls)))
            case "file" if not calls and (shown := media.part(part.get("content"))):
                seams.part(len(content))
                content.append(shown)
            case _:
                native.append(part)
                seams.other()
    blocks = [block for part in thoughts if (block := thinking.block(part))]
    message = assistant(parts.content(content, beside_calls=bool(calls)), reasoning.joined(blocks), calls)
    breaks = [place for place in seams.breaks if place < len(content)]  # not of texts behind calls
    extra = {"after": after, "thinking": thinking.worth_keeping(blocks), "native": native, BREAKS: breaks}
    provider = next(filter(None, map(thinking.signer, thoughts)), None)
    return with_private(message, {**extra, "provider": provider}), state.called(calls)


def _call(part: Object, where: str, number: int) -> Object:
    function = {"name": _text(part, "tool_name", where), "arguments": arguments(part.get("args"))}
    signature = at(part, "provider_details", "thought_signature")
    return tool_call(string(part, "tool_call_id"), number, function, {"signature": signature})
