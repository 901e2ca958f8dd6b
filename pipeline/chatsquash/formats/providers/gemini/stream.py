"""A response of Gemini, put together from the partial responses that it was streamed in."""

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
    """Later members replace earlier ones; the parts of each candidate follow each other."""
    body: Object = {}
    candidates: dict[int, Object] = {}
    error: Json = None
    for event in events:
        known = camel(event) if isinstance(event, dict) else {}
        if error := known.get("error") or None:
            break
        events_listed = known.pop("candidates", None)
        if events_listed is not None or known.keys() & _ANSWERS:
            body |= known
        for at, candidate in enumerate(events_listed if isinstance(events_listed, list) else []):
            added = camel(candidate) if isinstance(candidate, dict) else {}
            place = index(added, at)
            _extend(candidates.setdefault(place, {}), added)
    if candidates:
        body["candidates"] = [_close(candidates[place]) for place in sorted(candidates)]
        is_finished = all("finishReason" in candidate for candidate in candidates.values())
        return Stream(body, is_finished and error is None, error)
    return Stream(body, "blockReason" in camel(body.get("promptFeedback")), error)


def _extend(candidate: Object, added: Object) -> None:
    """Add what one event says of a candidate to what those before it said."""
    content = added.pop("content", None)
    candidate |= added
    if isinstance(content, dict):
        candidate_content = candidate.setdefault("content", {"parts": []})
        candidate_content |= {key: value for key, value in content.items() if key != "parts"}
        candidate_content["parts"] += as_list(content.get("parts"))


def _close(candidate: Object) -> Object:
    content = candidate.get("content")
    return {**candidate, "content": {**content, "parts": _fold_parts(content["parts"])}} if content else candidate


class _Texts(list[str]):
    """The pieces of a text that may go on."""


def _fold_parts(parts: list[Json]) -> list[Json]:
    """Neighbouring texts of one kind as one, and each call whose arguments came bit by bit as one."""
    folded: list[Json] = []
    for part in parts:
        added = camel(part)
        last = folded[-1] if folded and isinstance(folded[-1], dict) else {}
        if added.keys() <= _TEXT and isinstance(added.get("text"), str):
            if _continues(last, added):
                last["text"].append(added.pop("text"))
                last |= added
            else:
                folded.append({**added, "text": _Texts([added["text"]])})
        elif isinstance(added.get("functionCall"), dict):
            _fold_call(folded, last, added)
        else:
            folded.append(part)
    return [_whole(part) for part in folded]


def _continues(last: Object, added: Object) -> bool:
    """Whether a text goes on; it ends where another signature comes."""
    signatures = "thoughtSignature" in last and "thoughtSignature" in added
    alike = bool(last.get("thought")) == bool(added.get("thought"))
    return isinstance(last.get("text"), _Texts) and alike and not signatures


def _whole(part: Json) -> Json:
    if isinstance(part, dict) and isinstance(part.get("text"), _Texts):
        return {**part, "text": "".join(part["text"])}
    return part


def _fold_call(folded: list[Json], last: Object, added: Object) -> None:
    value = camel(added["functionCall"])
    open_ = last.get("functionCall")
    if isinstance(open_, dict) and open_.get("willContinue") is True and "name" not in value:
        last |= {**added, "functionCall": _argued(open_, value)}
    elif value.keys() & {"partialArgs", "willContinue"}:
        folded.append({**added, "functionCall": _argued({}, value)})
    else:
        folded.append(added)


def _argued(call: Object, value: Object) -> Object:
    """A call with the next bits of its arguments; bits that cannot be placed stay as they are."""
    bits = as_list(value.get("partialArgs"))
    args = dict(call.get("args", {})) | (value["args"] if isinstance(value.get("args"), dict) else {})
    lost = list(call.get("partialArgs", []))
    for bit in bits:
        more = _place_bit(dict(args), camel(bit))
        args = args if more is None else more
        lost += [bit] if more is None else []
    rest = {key: member for key, member in {**call, **value}.items() if key not in ("willContinue", "partialArgs")}
    goes_on = {"willContinue": True} if value.get("willContinue") is True else {}
    return {**rest, "args": args, **goes_on, **({"partialArgs": lost} if lost else {})}


def _place_bit(args: Object, bit: Object) -> Object | None:
    """Arguments with a bit where its path says, if there can be one; strings at one place follow each other."""
    path = string(bit, "jsonPath")
    steps = list(_STEP.finditer(path))
    names = [name for name in ("stringValue", "numberValue", "boolValue", "nullValue") if name in bit]
    if not steps or "$" + "".join(step[0] for step in steps) != path or not names:
        return None
    keys = [int(step[4]) if step[4] else step[step.lastindex or 0] for step in steps]
    value = None if names[0] == "nullValue" else bit[names[0]]
    holder: Any = args
    for key, following in zip(keys, [*keys[1:], None], strict=True):
        if not _fits(holder, key):
            return None
        here = holder.get(key) if isinstance(holder, dict) else holder[key]
        holder[key] = _concatenate(here, value) if following is None else _opened_at(here, following)
        holder = holder[key]
    return args


def _fits(holder: Json, key: int | str) -> bool:
    """Whether a list or an object has a place of this name; a list gets one more if it is the next."""
    if isinstance(holder, list) and isinstance(key, int):
        holder += [None] * (key == len(holder))
        return key < len(holder)
    return isinstance(holder, dict) and isinstance(key, str)


def _concatenate(here: Json, value: Json) -> Json:
    return here + value if isinstance(here, str) and isinstance(value, str) else value


def _opened_at(here: Json, following: int | str) -> Json:
    """A copy of the list or object at a step of a path, or a new one."""
    kind = list if isinstance(following, int) else dict
    return kind(here) if isinstance(here, kind) else kind()
