"""A response of Anthropic, put together from the events that it was streamed in."""

from __future__ import annotations

from dataclasses import dataclass, field

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.formats.base import Stream
from chatsquash.formats.values import Object, index, objects, string, without

_GROWS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""The member of a delta whose pieces are joined."""
_MANAGED = ("context_management", "input_transformations")
"""The members that tell what the service did to the request."""
_OPENS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "tool_use"}
"""What a delta is of whose block was never started."""


@dataclass(slots=True)
class _Growing:
    """A block while its deltas come."""

    block: Object
    pieces: dict[str, list[str]] = field(default_factory=dict)

    def add(self, delta: Object) -> None:
        match delta:
            case {"type": "signature_delta", "signature": signature}:
                self.block["signature"] = signature
            case {"type": "citations_delta", "citation": citation}:
                before = self.block.get("citations")
                self.block["citations"] = [*(before if isinstance(before, list) else []), citation]
            case {"type": "compaction_delta", **given}:
                self.block |= given
            case {"type": str(kind)} if isinstance(piece := delta.get(_GROWS.get(kind, "")), str):
                self.pieces.setdefault(_GROWS[kind], []).append(piece)

    def build(self) -> Object:
        joined = {member: "".join(pieces) for member, pieces in self.pieces.items()}
        raw = joined.pop("partial_json", "")
        block = {**self.block, **{key: string(self.block, key) + text for key, text in joined.items()}}
        if raw.strip():
            block["input"] = _parse_input(raw)
        elif block.get("input") == "":
            block["input"] = {}
        return block


@dataclass(slots=True)
class _Message:
    """A response while its events come."""

    body: Object = field(default_factory=dict)
    blocks: list[_Growing] = field(default_factory=list)
    open: dict[int | None, _Growing] = field(default_factory=dict)
    stopped: bool = False

    def add(self, event: Object) -> None:
        place = index(event, None)
        match event:
            case {"type": "message_start", "message": dict(message)}:
                self.body = {**message, **self.body}
            case {"type": "content_block_start", "content_block": dict(block)}:
                self.start(place, block)
            case {"type": "content_block_delta", "delta": {"type": str(kind)}}:
                if place not in self.open and kind in _OPENS:
                    self.start(place, {"type": _OPENS[kind]})
                if growing := self.open.get(place):
                    growing.add(event["delta"])
            case {"type": "content_block_stop"}:
                self.open.pop(place, None)
            case {"type": "message_delta"}:
                self.end(event.get("delta"), event.get("usage"))
                self.body |= without({name: event.get(name) for name in _MANAGED})
            case {"type": "message_stop"}:
                self.stopped = True

    def start(self, place: int | None, block: Object) -> None:
        """A start that comes again for a block that is open is no second block, unless it is another call's."""
        growing = self.open.get(place)
        if growing is None or _same(growing.block) != _same(block):
            self.open[place] = _Growing(dict(block))
            self.blocks.append(self.open[place])

    def end(self, delta: Json, usage: Json) -> None:
        """Null says nothing, and counts are totals."""
        if isinstance(delta, dict):
            self.body |= without(delta)
        before = self.body.get("usage")
        if isinstance(usage, dict):
            self.body["usage"] = {**(before if isinstance(before, dict) else {}), **without(usage)}


def assemble(events: list[Json]) -> Stream:
    """The message that events add up to; it is whole if it says why it stopped, or that it did."""
    message, error = _Message(), None
    for event in objects(events):
        if event.get("type") == "error" or event.get("error"):
            error = event
            break
        message.add(event)
    stopped = message.stopped or isinstance(message.body.get("stop_reason"), str)
    whole = stopped and error is None
    if not (message.body or message.blocks):
        return Stream({}, whole, error)
    started = message.body.get("content")
    content = [*(started if isinstance(started, list) else []), *(growing.build() for growing in message.blocks)]
    return Stream({"type": "message", "role": "assistant", **message.body, "content": content}, whole, error)


def _same(block: Object) -> tuple[str | None, ...]:
    return tuple(value if isinstance(value := block.get(key), str) else None for key in ("type", "id"))


def _parse_input(raw: str) -> Json:
    """The input that pieces of JSON add up to; as it came if that is none, or a string, which would say the same."""
    try:
        value = jsonio.loads(raw)
    except (ValueError, RecursionError):
        return raw
    return raw if value is None or isinstance(value, str) else value
