"""Assemble a completion from its chunks."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from msgspec import Struct, field

from chatsquash.core import reasoning
from chatsquash.core.model import Json
from chatsquash.formats import parts
from chatsquash.formats.base import Stream
from chatsquash.formats.values import Object, at, index, objects

_GROWING = ("content", "refusal", *reasoning.TEXTS)
_FRAGMENTS = ("arguments", "input", "text", "summary", "data", "transcript")
_CHUNK_MEMBERS = frozenset(("choices", "object", "obfuscation", "error"))
_CHOICE_MEMBERS = frozenset(("index", "delta", "message", "logprobs"))
"""The members of chunks and of their choices that are not members of the response."""


class _Text(Struct):
    """Text under construction."""

    pieces: list[str]


class _Draft(Struct):
    """A choice under construction; calls and reasoning details are stored with their indices."""

    message: Object = field(default_factory=lambda: {"role": "assistant", "content": None})
    calls: list[tuple[int, Object]] = field(default_factory=list)
    details: list[tuple[int, Object]] = field(default_factory=list)
    rest: Object = field(default_factory=dict)

    def add(self, choice: Object) -> None:
        """Add a choice from a chunk."""
        for key, value in choice.items():
            if value is not None and key not in _CHOICE_MEMBERS and value != "":
                self.rest[key] = value
        delta = choice.get("delta") or choice.get("message")  # some servers send a complete message in a chunk
        for key, value in delta.items() if isinstance(delta, dict) else ():
            text = self.message.get(key)
            if type(text) is _Text and type(value) is str:  # the usual case
                text.pieces.append(value)
            elif key == "tool_calls" and type(value) is list:
                _add_items(self.calls, value, _is_new_call)
            else:
                self._add_member(key, value)

    def _add_member(self, key: str, value: Json) -> None:
        if key == "reasoning_details" and isinstance(value, list):
            _add_items(self.details, value, _is_new_detail)
        elif isinstance(value, list):
            self.message[key] = [*_parts(self.message.get(key)), *value]
        elif key == "content" and isinstance(self.message.get(key), list):
            self.message[key] += _parts(value)
        else:
            _grow(self.message, {key: value}, _GROWING)

    def choice(self, place: int) -> Object:
        """Return the choice in the form of a response without streaming."""
        message = _join_texts(self.message)
        if isinstance(message["content"], list):
            message["content"] = _join_neighbours(message["content"], _join_pair)
        for key, members in (("reasoning_details", self.details), ("tool_calls", self.calls)):
            if members:
                message[key] = [_join_texts(item) for _, item in sorted(members, key=itemgetter(0))]
        return {"index": place, "message": message, "finish_reason": None, **self.rest}


def assemble(events: list[Json]) -> Stream:
    """Assemble a completion; it ends with finish reasons in all choices, or with a usage chunk without choices."""
    body: Object = {"object": "chat.completion"}
    drafts: dict[int, _Draft] = {}
    has_ended, error = False, None
    for event in objects(events):
        for key, value in event.items():
            if value is not None and key not in _CHUNK_MEMBERS and value != "":
                body[key] = value
        choices = event.get("choices")
        # With ``include_usage``, OpenAI sends this chunk last.
        has_ended = has_ended or bool(choices == [] and event.get("usage"))
        for position, choice in enumerate(choices if isinstance(choices, list) else ()):
            if isinstance(choice, dict):
                place = index(choice, position)
                if place not in drafts:
                    drafts[place] = _Draft()
                drafts[place].add(choice)
        if error := event.get("error") or None:
            break
    complete_choices = [drafts[place].choice(place) for place in sorted(drafts)]
    has_reasons = bool(complete_choices) and all(choice["finish_reason"] for choice in complete_choices)
    return Stream(
        {**body, "choices": complete_choices} if complete_choices else body,
        (has_ended or has_reasons) and error is None,
        error,
    )


def _add_items(
    items_by_place: list[tuple[int, Object]], items: list[Json], is_new: Callable[[Object, Object], bool]
) -> None:
    """Merge each item into the last item with the same index (or else position), unless it starts a new item."""
    for position, item in enumerate(items):
        if isinstance(item, dict):
            place = index(item, position)
            # Some servers send several calls with the same index, so only the last is continued.
            last = None
            for key, candidate in reversed(items_by_place):
                if key == place:
                    last = candidate
                    break
            if last is not None and len(item) == 2 and (text := _growing_arguments(last, item)):
                text.pieces.append(item["function"]["arguments"])
                continue
            if last is None or is_new(last, item):
                last = {}
                items_by_place.append((place, last))
            _grow(last, item, _FRAGMENTS)


def _growing_arguments(call: Object, delta: Object) -> _Text | None:
    """Return the arguments of a call if a delta has an index and only adds to them, as most deltas do."""
    before, function = call.get("function"), delta.get("function")
    if type(before) is not dict or type(function) is not dict or len(function) != 1 or "index" not in delta:
        return None
    text = before.get("arguments")
    return text if type(text) is _Text and type(function.get("arguments")) is str else None


def _is_new_call(call: Object, delta: Object) -> bool:
    """Return whether a delta starts a new call, although it has the index of an existing call."""
    if own := delta.get("id"):
        return bool(call.get("id")) and bool(own != call["id"])
    name = at(delta, "function", "name")
    if not name:  # the usual case
        return False
    before, arguments = at(call, "function", "name"), _text(at(call, "function", "arguments"))
    return bool(before and name != before and arguments)


def _is_new_detail(detail: Object, delta: Object) -> bool:
    """Return whether a delta starts a new reasoning detail, although it has the index of an existing detail."""
    # Encrypted data is never split between deltas.
    changed = any(delta.get(key) and detail.get(key) and delta[key] != detail[key] for key in ("type", "id"))
    return changed or bool(delta.get("data") and detail.get("data"))


def _grow(target: Object, delta: Object, texts: tuple[str, ...]) -> None:
    """Append to text members and set other members; empty values do not replace existing values."""
    for key, value in delta.items():
        if key in ("function", "custom", "function_call", "audio") and isinstance(value, dict):
            if not isinstance(target.get(key), dict):
                target[key] = {}
            _grow_inner(target[key], value)
        elif key in texts and isinstance(value, str):
            _append(target, key, value)
        # Chunks may repeat members with empty values.
        elif key != "index" and (value not in (None, "") or key not in target):
            target[key] = value


def _grow_inner(target: Object, delta: Object) -> None:
    for key, value in delta.items():
        if key in _FRAGMENTS and isinstance(value, str):
            _append(target, key, value)
        elif value not in (None, "") or key not in target:
            target[key] = value


def _append(value: Object, key: str, piece: str) -> None:
    text = value.get(key)
    if type(text) is _Text:
        text.pieces.append(piece)
    else:
        value[key] = _Text([piece])


def _join_texts(item: Object) -> Object:
    """Join the text pieces of an object and of the objects one level below."""
    inner = {key: {k: _text(v) for k, v in value.items()} for key, value in item.items() if isinstance(value, dict)}
    return {key: _text(value) for key, value in item.items()} | inner


def _text(value: Any) -> Json:
    return "".join(value.pieces) if isinstance(value, _Text) else value


def _parts(content: Any) -> list[Json]:
    """Return content as a list of parts."""
    text = _text(content)
    if isinstance(text, str):
        return [parts.text(text)] if text else []
    return text if isinstance(text, list) else []


def _join_neighbours(pieces: list[Json], join: Callable[[Object, Object], Object | None]) -> list[Json]:
    """Join adjacent parts for which ``join`` does not return ``None``."""
    merged: list[Json] = []
    for part in pieces:
        both = isinstance(part, dict) and merged and isinstance(merged[-1], dict)
        joined_part = join(merged[-1], part) if both else None
        merged[-1 if joined_part else len(merged) :] = [joined_part or part]
    return merged


def _join_pair(last: Object, part: Object) -> Object | None:
    """Join two text parts, or two thinking parts including their text; return ``None`` for other parts."""
    if last.get("type") == part.get("type") == "thinking" and _has_only(last, part, "thinking", list):
        return {**last, "thinking": _join_neighbours([*last["thinking"], *part["thinking"]], _join_text_pair)}
    return _join_text_pair(last, part)


def _join_text_pair(last: Object, part: Object) -> Object | None:
    kind = part.get("type")
    is_same_type = last.get("type") == kind and kind in ("text", *reasoning.PARTS)
    return (
        {**last, "text": last["text"] + part["text"]} if is_same_type and _has_only(last, part, "text", str) else None
    )


def _has_only(last: Object, part: Object, member: str, of: type) -> bool:
    """Return whether two parts have a member of this type, and the second part has no other members."""
    is_only_member = part.keys() == {"type", member}
    return is_only_member and isinstance(last.get(member), of) and isinstance(part[member], of)
