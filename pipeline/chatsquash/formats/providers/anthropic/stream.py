"""Assemble an Anthropic response from its events."""

from __future__ import annotations

from dataclasses import dataclass, field

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.formats.base import Stream
from chatsquash.formats.values import Object, index, objects, string, without

_TEXT_MEMBERS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""The member of each delta type that contains a piece of text."""
_SERVICE_MEMBERS = ("context_management", "input_transformations")
"""The members that report changes to the request by the service."""
_BLOCK_TYPES = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "tool_use"}
"""The block type for each delta type, if the start of the block is missing."""


@dataclass(slots=True)
class _Growing:
    """A block under construction."""

    block: Object
    pieces: dict[str, list[str]] = field(default_factory=dict)

    def add(self, delta: Object) -> None:
        match delta:
            case {"type": "signature_delta", "signature": signature}:
                self.block["signature"] = signature
            case {"type": "citations_delta", "citation": citation}:
                before = self.block.get("citations")
                self.block["citations"] = [*(before if isinstance(before, list) else []), citation]
            case {"type": "compaction_delta", **compaction}:
                self.block |= compaction
            case {"type": str(kind)} if isinstance(piece := delta.get(_TEXT_MEMBERS.get(kind, "")), str):
                self.pieces.setdefault(_TEXT_MEMBERS[kind], []).append(piece)

    def build(self) -> Object:
        texts = {member: "".join(pieces) for member, pieces in self.pieces.items()}
        raw = texts.pop("partial_json", "")
        block = {**self.block, **{key: string(self.block, key) + text for key, text in texts.items()}}
        if raw.strip():
            # Arguments are streamed as pieces of JSON.
            block["input"] = _parse_input(raw)
        # A call without arguments has an empty string instead of pieces.
        elif block.get("input") == "":
            block["input"] = {}
        return block


@dataclass(slots=True)
class _Message:
    """A response under construction."""

    body: Object = field(default_factory=dict)
    blocks: list[_Growing] = field(default_factory=list)
    open: dict[int | None, _Growing] = field(default_factory=dict)
    has_stopped: bool = False

    def add(self, event: Object) -> None:
        place = index(event, None)
        match event:
            case {"type": "message_start", "message": dict(message)}:
                # A repeated start must not replace members from later events.
                self.body = {**message, **self.body}
            case {"type": "content_block_start", "content_block": dict(block)}:
                self.start(place, block)
            case {"type": "content_block_delta", "delta": {"type": str(kind)}}:
                # The start of the block may be missing from the log.
                if place not in self.open and kind in _BLOCK_TYPES:
                    self.start(place, {"type": _BLOCK_TYPES[kind]})
                if growing := self.open.get(place):
                    growing.add(event["delta"])
            case {"type": "content_block_stop"}:
                self.open.pop(place, None)
            case {"type": "message_delta"}:
                self.end(event.get("delta"), event.get("usage"))
                self.body |= without({name: event.get(name) for name in _SERVICE_MEMBERS})
            case {"type": "message_stop"}:
                self.has_stopped = True

    def start(self, place: int | None, block: Object) -> None:
        """Start a block; a repeated start of an open block is ignored, unless its type or id differs."""
        growing = self.open.get(place)
        if growing is None or _identity(growing.block) != _identity(block):
            self.open[place] = _Growing(dict(block))
            self.blocks.append(self.open[place])

    def end(self, delta: Json, usage: Json) -> None:
        """Add the final members, except nulls; token counts are totals, so they replace earlier counts."""
        if isinstance(delta, dict):
            self.body |= without(delta)
        before = self.body.get("usage")
        if isinstance(usage, dict):
            self.body["usage"] = {**(before if isinstance(before, dict) else {}), **without(usage)}


def assemble(events: list[Json]) -> Stream:
    """Assemble a message; it is complete if it has a stop reason or a ``message_stop`` event."""
    message, error = _Message(), None
    for event in objects(events):
        # Events after an error do not belong to the message.
        if event.get("type") == "error" or event.get("error"):
            error = event
            break
        message.add(event)
    has_ended = message.has_stopped or isinstance(message.body.get("stop_reason"), str)
    is_complete = has_ended and error is None
    if not (message.body or message.blocks):
        return Stream({}, is_complete, error)
    first_content = message.body.get("content")
    content = [
        *(first_content if isinstance(first_content, list) else []),
        *(growing.build() for growing in message.blocks),
    ]
    return Stream({"type": "message", "role": "assistant", **message.body, "content": content}, is_complete, error)


def _identity(block: Object) -> tuple[str | None, ...]:
    return tuple(value if isinstance(value := block.get(key), str) else None for key in ("type", "id"))


def _parse_input(raw: str) -> Json:
    """Parse the joined pieces of a call's input; invalid JSON, JSON strings and null are returned unparsed."""
    try:
        value = jsonio.loads(raw)
    except (ValueError, RecursionError):
        return raw
    return raw if value is None or isinstance(value, str) else value
