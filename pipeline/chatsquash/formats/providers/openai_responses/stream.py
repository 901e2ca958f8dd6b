"""A response of OpenAI Responses, put together from the events that it was streamed in."""

from __future__ import annotations

from typing import NamedTuple

from chatsquash.core.model import Json
from chatsquash.formats.base import Stream
from chatsquash.formats.values import Object, at, index, objects, string


class _Delta(NamedTuple):
    """Where the text goes that events of a type bring."""

    item: str
    member: str
    part: str | None
    """The type of the part that it is the text of; ``None`` if it is the member itself."""
    text: str
    """The member of the last such event, and of the part, that holds the whole text."""


_DELTAS = {
    "response.output_text": _Delta("message", "content", "output_text", "text"),
    "response.refusal": _Delta("message", "content", "refusal", "refusal"),
    "response.reasoning_text": _Delta("reasoning", "content", "reasoning_text", "text"),
    "response.reasoning_summary_text": _Delta("reasoning", "summary", "summary_text", "text"),
    "response.function_call_arguments": _Delta("function_call", "arguments", None, "arguments"),
    "response.custom_tool_call_input": _Delta("custom_tool_call", "input", None, "input"),
    "response.mcp_call_arguments": _Delta("mcp_call", "arguments", None, "arguments"),
    "response.code_interpreter_call_code": _Delta("code_interpreter_call", "code", None, "code"),
}
ENDS = ("response.completed", "response.incomplete", "response.failed")


def assemble(events: list[Json]) -> Stream:
    """The response of the last event; one that was cut off has the items that came, as far as they did."""
    known = objects(events)
    place, error = next(((place, error) for place, event in enumerate(known) if (error := _error(event))), (None, None))
    known = known[:place]
    items = _items(known)
    begun = [event for event in known if isinstance(event.get("response"), dict)]
    ends = [event["response"] for event in begun if event.get("type") in ENDS]
    if ends:
        return Stream(ends[-1] if ends[-1].get("output") or not items else {**ends[-1], "output": items}, True)
    if not begun and not items:
        return Stream(None, False, error)
    body = begun[-1]["response"] if begun else {"object": "response"}
    return Stream({**body, "output": items} if items else body, False, error)


def _error(event: Object) -> Json:
    """The error that an event is."""
    if event.get("type") == "error" or (event.get("error") and "type" not in event):
        rest = {key: value for key, value in event.items() if key not in ("type", "sequence_number")}
        return event.get("error") or rest or True
    return None


def _items(events: list[Object]) -> list[Json]:
    """The items that the events brought, in order; told apart by index, since some services change ids on the way."""
    pieces: dict[tuple[float, str], list[Object]] = {}
    for event in events:
        place = index(event, None, "output_index")
        name = event.get("item_id") or at(event, "item", "id")
        if place is not None or isinstance(name, str):
            key = (float("inf"), str(name)) if place is None else (place, "")
            pieces.setdefault(key, []).append(event)
    return [item for key in sorted(pieces, key=lambda key: key[0]) if (item := _item(pieces[key]))]


def _item(events: list[Object]) -> Object:
    """An item as far as it came: what says a whole replaces what came of it before."""
    items = {string(event, "type"): event["item"] for event in events if isinstance(event.get("item"), dict)}
    if "response.output_item.done" in items:
        return {**items["response.output_item.done"]}
    made: Object = {**items.get("response.output_item.added", {})}
    texts = dict[tuple[_Delta, int], list[str]]()
    for event in events:
        stem, _, verb = string(event, "type").rpartition(".")
        if delta := _DELTAS.get(stem):
            place = (delta, index(event, 0, "summary_index" if delta.member == "summary" else "content_index"))
            text = event.get("delta" if verb == "delta" else delta.text)
            if not isinstance(text, str):
                continue
            if verb != "delta":
                texts[place] = []
            texts.setdefault(place, []).append(text)
    whole = dict[str, list[Json]]()
    for (delta, _), bits in sorted(texts.items(), key=lambda entry: entry[0][1]):
        made.setdefault("type", delta.item)
        if delta.part is None:
            made[delta.member] = "".join(bits)
        else:
            whole.setdefault(delta.member, []).append({"type": delta.part, delta.text: "".join(bits)})
    return {**made, **whole}
