"""Assemble an OpenAI Responses response from its events."""

from __future__ import annotations

from typing import NamedTuple

from chatsquash.core.model import Json
from chatsquash.formats.base import Stream
from chatsquash.formats.values import Object, at, index, members, objects, string


class _Delta(NamedTuple):
    """The place for the text in events of a certain type."""

    item: str
    member: str
    part: str | None
    """The type of the part that contains the text; ``None`` if the member itself is the text."""
    text: str
    """The member for the complete text, in the last event and in the part."""
    counter: str = "content_index"
    """The member for the index of the part."""


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
    """Assemble the response in the last event; an interrupted response contains the items received so far."""
    known_events = objects(events)
    place, error = next(
        ((place, error) for place, event in enumerate(known_events) if (error := _error(event))), (None, None)
    )
    known_events = known_events[:place]
    items = _items(known_events)
    response_events = [event for event in known_events if isinstance(event.get("response"), dict)]
    ends = [event["response"] for event in response_events if event.get("type") in ENDS]
    if ends:
        # The final response may have no output, although earlier events contain items.
        return Stream(ends[-1] if ends[-1].get("output") or not items else {**ends[-1], "output": items}, True)
    if not response_events and not items:
        return Stream(None, False, error)
    body = response_events[-1]["response"] if response_events else {"object": "response"}
    return Stream({**body, "output": items} if items else body, False, error)


def _error(event: Object) -> Json:
    """Return the error in an error event, or ``None`` for other events."""
    if event.get("type") == "error" or (event.get("error") and "type" not in event):
        rest = {key: value for key, value in event.items() if key not in ("type", "sequence_number")}
        return event.get("error") or rest or True
    return None


def _items(events: list[Object]) -> list[Json]:
    """Assemble the items in order."""
    pieces: dict[tuple[float, str], list[Object]] = {}
    others: list[Object] = []
    for event in events:
        # The index takes precedence, because some services change ids within a stream.
        place = index(event, None, "output_index")
        name = event.get("item_id") or at(event, "item", "id")
        if place is not None or isinstance(name, str):
            key = (float("inf"), str(name)) if place is None else (place, "")
            pieces.setdefault(key, []).append(event)
        else:
            others.append(event)
    items = [item for key in sorted(pieces, key=lambda key: key[0]) if (item := _item(pieces[key]))]
    return [*items, *_audio_items(others)]


def _audio_items(events: list[Object]) -> list[Json]:
    """Assemble a message with audio and its transcript, whose events do not refer to an item."""
    audio_members = {"response.audio.delta": "data", "response.audio.transcript.delta": "transcript"}
    pieces = dict[str, list[str]]()
    for event in events:
        if (member := audio_members.get(string(event, "type"))) and string(event, "delta"):
            pieces.setdefault(member, []).append(event["delta"])
    part = {"type": "output_audio", **{member: "".join(bits) for member, bits in pieces.items()}}
    return [{"type": "message", "role": "assistant", "content": [part]}] if pieces else []


def _item(events: list[Object]) -> Object:
    """Assemble an item from its events; complete values replace earlier pieces."""
    items = {string(event, "type"): event["item"] for event in events if isinstance(event.get("item"), dict)}
    # The final item is complete, so the pieces are not needed.
    if "response.output_item.done" in items:
        return {**items["response.output_item.done"]}
    item: Object = {**items.get("response.output_item.added", {})}
    texts, annotations, outputs = _texts(events), _annotations(events), _outputs(events)
    for place in annotations:
        texts.setdefault((_TEXT, place), [])
    lists, commands = dict[str, list[Json]](), list[str]()
    for (delta, place), bits in sorted(texts.items(), key=lambda entry: entry[0][1]):
        item.setdefault("type", delta.item)
        text = "".join(bits)
        if delta is _COMMAND:
            commands.append(text)
        elif delta.part is None:
            item[delta.member] = text
        else:
            annotation_member = {"annotations": annotations[place]} if delta is _TEXT and place in annotations else {}
            lists.setdefault(delta.member, []).append({"type": delta.part, delta.text: text, **annotation_member})
    if commands:
        item[_COMMAND.member] = {**members(item.get(_COMMAND.member)), "commands": commands}
    if outputs:
        item = {"type": "shell_call_output", **item, "output": outputs}
    return {**item, **lists}


def _texts(events: list[Object]) -> dict[tuple[_Delta, int], list[str]]:
    """Return the pieces of an item's text, by place."""
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
    """Return annotations by part index; the final event of a part contains all its annotations."""
    annotations = dict[int, dict[int, Json]]()
    for event in events:
        place, part_annotations = index(event, 0, "content_index"), at(event, "part", "annotations")
        if (
            string(event, "type").startswith("response.content_part.")
            and part_annotations
            and isinstance(part_annotations, list)
        ):
            annotations[place] = dict(enumerate(part_annotations))
        elif event.get("type") == "response.output_text.annotation.added" and event.get("annotation"):
            by_index = annotations.setdefault(place, {})
            by_index[index(event, len(by_index), "annotation_index")] = event["annotation"]
    return {place: [notes[number] for number in sorted(notes)] for place, notes in annotations.items()}


def _outputs(events: list[Object]) -> list[Json]:
    """Return the outputs received for the commands of a hosted shell."""
    complete, pieces = dict[int, list[Json]](), dict[int, dict[str, list[str]]]()
    for event in events:
        place, of = index(event, 0, "command_index"), event.get("type")
        if of == "response.shell_call_output_content.delta":
            for name, text in members(event.get("delta")).items():
                if isinstance(text, str):
                    pieces.setdefault(place, {}).setdefault(name, []).append(text)
        elif of == "response.shell_call_output_content.done" and isinstance(event.get("output"), list):
            complete[place] = event["output"]
    partial = {place: [{name: "".join(bits) for name, bits in each.items()}] for place, each in pieces.items()}
    outputs = {**partial, **complete}
    return [each for place in sorted(outputs) for each in outputs[place]]
