"""Assemble a Gemini response from its chunks."""

from __future__ import annotations

import re
from typing import Any

from chatsquash.core.model import Json
from chatsquash.formats.base import Stream
from chatsquash.formats.providers.gemini.blocks import camel
from chatsquash.formats.values import Object, as_list, index, string

_TEXT = {"text", "thought", "thoughtSignature"}
_ANSWERS = ("candidates", "usageMetadata", "promptFeedback")
_STEP = re.compile(r"""\.(\w+)|\['([^']*)'\]|\["([^"]*)"\]|\[(\d{1,6})\]""")


def assemble(events: list[Json]) -> Stream:
    """Assemble a response: later members replace earlier members, and the parts of each candidate are joined."""
    body: Object = {}
    candidates: dict[int, Object] = {}
    error: Json = None
    for event in events:
        known = camel(event) if isinstance(event, dict) else {}
        if error := known.get("error") or None:
            break
        event_candidates = known.pop("candidates", None)
        if event_candidates is not None or known.keys() & _ANSWERS:
            body |= known
        for at, candidate in enumerate(event_candidates if isinstance(event_candidates, list) else []):
            new_members = camel(candidate) if isinstance(candidate, dict) else {}
            place = index(new_members, at)
            _extend(candidates.setdefault(place, {}), new_members)
    if candidates:
        body["candidates"] = [_close(candidates[place]) for place in sorted(candidates)]
        is_finished = all("finishReason" in candidate for candidate in candidates.values())
        return Stream(body, is_finished and error is None, error)
    # A blocked prompt has no candidates, but the response is complete.
    return Stream(body, "blockReason" in camel(body.get("promptFeedback")), error)


def _extend(candidate: Object, new_members: Object) -> None:
    """Add one event to a candidate."""
    content = new_members.pop("content", None)
    candidate |= new_members
    if isinstance(content, dict):
        candidate_content = candidate.setdefault("content", {"parts": []})
        candidate_content |= {key: value for key, value in content.items() if key != "parts"}
        candidate_content["parts"] += as_list(content.get("parts"))


def _close(candidate: Object) -> Object:
    content = candidate.get("content")
    return {**candidate, "content": {**content, "parts": _fold_parts(content["parts"])}} if content else candidate


class _Texts(list[str]):
    """The pieces of text that may continue."""


def _fold_parts(parts: list[Json]) -> list[Json]:
    """Join adjacent text of the same kind, and the parts of calls whose arguments were streamed."""
    result_parts: list[Json] = []
    for part in parts:
        new_part = camel(part)
        last = result_parts[-1] if result_parts and isinstance(result_parts[-1], dict) else {}
        if new_part.keys() <= _TEXT and isinstance(new_part.get("text"), str):
            if _continues(last, new_part):
                last["text"].append(new_part.pop("text"))
                last |= new_part
            else:
                result_parts.append({**new_part, "text": _Texts([new_part["text"]])})
        elif isinstance(new_part.get("functionCall"), dict):
            _fold_call(result_parts, last, new_part)
        else:
            result_parts.append(part)
    return [_join_pieces(part) for part in result_parts]


def _continues(last: Object, new_part: Object) -> bool:
    """Return whether a part continues the last text; a second signature starts a new part."""
    signatures = "thoughtSignature" in last and "thoughtSignature" in new_part
    is_same_kind = bool(last.get("thought")) == bool(new_part.get("thought"))
    return isinstance(last.get("text"), _Texts) and is_same_kind and not signatures


def _join_pieces(part: Json) -> Json:
    if isinstance(part, dict) and isinstance(part.get("text"), _Texts):
        return {**part, "text": "".join(part["text"])}
    return part


def _fold_call(result_parts: list[Json], last: Object, new_part: Object) -> None:
    value = camel(new_part["functionCall"])
    open_call = last.get("functionCall")
    if isinstance(open_call, dict) and open_call.get("willContinue") is True and "name" not in value:
        last |= {**new_part, "functionCall": _with_arguments(open_call, value)}
    elif value.keys() & {"partialArgs", "willContinue"}:
        result_parts.append({**new_part, "functionCall": _with_arguments({}, value)})
    else:
        result_parts.append(new_part)


def _with_arguments(call: Object, value: Object) -> Object:
    """Add pieces of arguments to a call; pieces with an unusable path stay in ``partialArgs``."""
    bits = as_list(value.get("partialArgs"))
    args = dict(call.get("args", {})) | (value["args"] if isinstance(value.get("args"), dict) else {})
    unplaced_bits = list(call.get("partialArgs", []))
    for bit in bits:
        updated_args = _place_bit(dict(args), camel(bit))
        args = args if updated_args is None else updated_args
        unplaced_bits += [bit] if updated_args is None else []
    rest = {key: member for key, member in {**call, **value}.items() if key not in ("willContinue", "partialArgs")}
    continuation = {"willContinue": True} if value.get("willContinue") is True else {}
    return {**rest, "args": args, **continuation, **({"partialArgs": unplaced_bits} if unplaced_bits else {})}


def _place_bit(args: Object, bit: Object) -> Object | None:
    """Insert a piece into arguments at its path, after a string that is already there; ``None`` for unusable paths."""
    path = string(bit, "jsonPath")
    steps = list(_STEP.finditer(path))
    names = [name for name in ("stringValue", "numberValue", "boolValue", "nullValue") if name in bit]
    if not steps or "$" + "".join(step[0] for step in steps) != path or not names:
        return None
    keys = [int(step[4]) if step[4] else step[step.lastindex or 0] for step in steps]
    value = None if names[0] == "nullValue" else bit[names[0]]
    holder: Any = args
    for key, next_key in zip(keys, [*keys[1:], None], strict=True):
        if not _fits(holder, key):
            return None
        value_at_key = holder.get(key) if isinstance(holder, dict) else holder[key]
        holder[key] = _concatenate(value_at_key, value) if next_key is None else _container_at(value_at_key, next_key)
        holder = holder[key]
    return args


def _fits(holder: Json, key: int | str) -> bool:
    """Return whether a container has a place for a key; if the key is a list's next index, extend the list."""
    if isinstance(holder, list) and isinstance(key, int):
        # Only the next index is added, so that a path with a huge index cannot exhaust the memory.
        holder += [None] * (key == len(holder))
        return key < len(holder)
    return isinstance(holder, dict) and isinstance(key, str)


def _concatenate(before: Json, value: Json) -> Json:
    return before + value if isinstance(before, str) and isinstance(value, str) else value


def _container_at(value: Json, next_key: int | str) -> Json:
    """Return a copy of the container at a step of a path, or a new container of the required type."""
    kind = list if isinstance(next_key, int) else dict
    return kind(value) if isinstance(value, kind) else kind()
