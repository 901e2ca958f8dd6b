"""A response of OpenAI Responses, put together from the events that it was streamed in."""

from __future__ import annotations

from typing import NamedTuple

from chatsquash.core.model import Json
from chatsquash.formats.base import Stream
from chatsquash.formats.values import Object, at, index, members, objects, string


class _Delta(NamedTuple):
    """Where the text goes that events of a type bring."""

    item: str
    member: str
    part: str | None
    """The type of the part that it is the text of; ``None`` if it is the member itself."""
    text: str
    """The member of the last such event, and of the part, that holds the whole text."""
    counter: str = "content_index"
    """The member of an event with the index of its part."""


_TEXT = _Delta("message", "content", "output_text", "text")
_COMMAND = _Delta("shell_call", "action", "command", "command", "command_index")
_DELTAS = {
    "response.output_text": _TEXT,
    "response.refusal": _Delta("message", "content", "refusal", "refusal"),
    "response.reasoning_text": _Delta("reasoning", "content", "reasoning_text", "text"),
    "response.reasoning_summary_text": _Delta("reasoning", "summary", "summary_text", "text", "summary_index"),
    "response.function_call_arguments": _Delta("function_call", "arguments", None, "arguments"),
    "response.custom_tool_call_input": _Delta("custom_tool_call", "input", None, "input"),
    "response.mcp_call_arguments": _Delta("mcp_call", "arguments", None, "arguments"),
    "response.code_interpreter_call_code": _Delta("code_interpreter_call", "code", None, "code"),
    "response.shell_call_command": _COMMAND,
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
    others: list[Object] = []
    for event in events:
        place = index(event, None, "output_index")
        name = event.get("item_id") or at(event, "item", "id")
        if place is not None or isinstance(name, str):
            key = (float("inf"), str(name)) if place is None else (place, "")
            pieces.setdefault(key, []).append(event)
        else:
            others.append(event)
    items = [item for key in sorted(pieces, key=lambda key: key[0]) if (item := _item(pieces[key]))]
    return [*items, *_sound(others)]


def _sound(events: list[Object]) -> list[Json]:
    """A message with the sound and its transcript, whose events name no item."""
    of_sound = {"response.audio.delta": "data", "response.audio.transcript.delta": "transcript"}
    pieces = dict[str, list[str]]()
    for event in events:
        if (member := of_sound.get(string(event, "type"))) and string(event, "delta"):
            pieces.setdefault(member, []).append(event["delta"])
    part = {"type": "output_audio", **{member: "".join(bits) for member, bits in pieces.items()}}
    return [{"type": "message", "role": "assistant", "content": [part]}] if pieces else []


def _item(events: list[Object]) -> Object:
    """An item as far as it came: what says a whole replaces what came of it before."""
    items = {string(event, "type"): event["item"] for event in events if isinstance(event.get("item"), dict)}
    if "response.output_item.done" in items:
        return {**items["response.output_item.done"]}
    made: Object = {**items.get("response.output_item.added", {})}
    texts, annotations, outputs = _texts(events), _annotations(events), _outputs(events)
    for place in annotations:
        texts.setdefault((_TEXT, place), [])
    whole, commands = dict[str, list[Json]](), list[str]()
    for (delta, place), bits in sorted(texts.items(), key=lambda entry: entry[0][1]):
        made.setdefault("type", delta.item)
        text = "".join(bits)
        if delta is _COMMAND:
            commands.append(text)
        elif delta.part is None:
            made[delta.member] = text
        else:
            cited = {"annotations": annotations[place]} if delta is _TEXT and place in annotations else {}
            whole.setdefault(delta.member, []).append({"type": delta.part, delta.text: text, **cited})
    if commands:
        made[_COMMAND.member] = {**members(made.get(_COMMAND.member)), "commands": commands}
    if outputs:
        made = {"type": "shell_call_output", **made, "output": outputs}
    return {**made, **whole}


def _texts(events: list[Object]) -> dict[tuple[_Delta, int], list[str]]:
    """The texts of an item in pieces, by where they go."""
    texts = dict[tuple[_Delta, int], list[str]]()
    for event in events:
        stem, _, verb = string(event, "type").rpartition(".")
        delta = _DELTAS.get(stem)
        text = event.get("delta" if verb == "delta" else delta.text) if delta else None
        if delta is None or not isinstance(text, str):
            continue
        place = (delta, index(event, 0, delta.counter))
        if verb != "delta":
            texts[place] = []
        texts.setdefault(place, []).append(text)
    return texts


def _annotations(events: list[Object]) -> dict[int, list[Json]]:
    """The annotations of texts, by the index of their part, which has all of them when it ends."""
    found = dict[int, dict[int, Json]]()
    for event in events:
        place, listed = index(event, 0, "content_index"), at(event, "part", "annotations")
        if string(event, "type").startswith("response.content_part.") and listed and isinstance(listed, list):
            found[place] = dict(enumerate(listed))
        elif event.get("type") == "response.output_text.annotation.added" and event.get("annotation"):
            noted = found.setdefault(place, {})
            noted[index(event, len(noted), "annotation_index")] = event["annotation"]
    return {place: [noted[number] for number in sorted(noted)] for place, noted in found.items()}


def _outputs(events: list[Object]) -> list[Json]:
    """The outputs of the commands of a shell that OpenAI runs, as far as they came."""
    whole, pieces = dict[int, list[Json]](), dict[int, dict[str, list[str]]]()
    for event in events:
        place, of = index(event, 0, "command_index"), event.get("type")
        if of == "response.shell_call_output_content.delta":
            for name, text in members(event.get("delta")).items():
                if isinstance(text, str):
                    pieces.setdefault(place, {}).setdefault(name, []).append(text)
        elif of == "response.shell_call_output_content.done" and isinstance(event.get("output"), list):
            whole[place] = event["output"]
    partial = {place: [{name: "".join(bits) for name, bits in each.items()}] for place, each in pieces.items()}
    outputs = {**partial, **whole}
    return [each for place in sorted(outputs) for each in outputs[place]]
