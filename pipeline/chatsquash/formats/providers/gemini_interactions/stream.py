"""An interaction, put together from the events that it was streamed in."""

from __future__ import annotations

from typing import Any

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.formats.base import Stream
from chatsquash.formats.values import Object, index, objects, string

_ENDS = ("interaction.completed", "interaction.cancelled")


def assemble(events: list[Json]) -> Stream:
    """The interaction of the last event that has one, with the steps as far as they came."""
    body: Object = {}
    listed: dict[int, _Step] = {}
    whole, error = False, None
    for event in objects(events):
        of = string(event, "event_type")
        if of == "error" or (event.get("error") and not of):
            error = event.get("error") or True
            break
        if isinstance(event.get("interaction"), dict):
            body |= {name: value for name, value in event["interaction"].items() if value is not None}
        if of == "interaction.status_update" and string(event, "status"):
            body["status"] = event["status"]
        whole = whole or of in _ENDS
        if of.startswith("step."):
            listed.setdefault(index(event, len(listed)), _Step()).take(event)
    if not body and not listed:
        return Stream(None, False, error)
    if listed and not body.get("steps"):
        body["steps"] = [listed[at].whole() for at in sorted(listed)]
    return Stream({"object": "interaction", **body}, whole and error is None, error)


class _Step:
    """A step as far as it came."""

    def __init__(self) -> None:
        self.step: Object = {}
        self.arguments: list[str] = []
        self.texts: list[str] = []

    def take(self, event: Object) -> None:
        """Add an event."""
        if isinstance(event.get("step"), dict):
            self.step |= event["step"]
        delta: Any = event.get("delta")
        match delta:
            case {"type": "text", "text": str(text)}:
                self.step.setdefault("type", "model_output")
                self.texts.append(text)
            case {"type": "arguments_delta", "arguments": str(text)}:
                self.arguments.append(text)
            case {"type": "thought_summary", "content": dict(content)}:
                self.step.setdefault("type", "thought")
                self._append("summary", content)
            case {"type": "thought_signature", "signature": str(signature)}:
                self.step["signature"] = signature
            case {"type": "image" | "audio" | "document" | "video"}:
                self._close_text()
                self._append("content", delta)
            case {"type": str(of)} if of.endswith(("_call", "_result")):
                self.step |= delta

    def _append(self, member: str, content: Object) -> None:
        listed = self.step.get(member)
        self.step[member] = [*(listed if isinstance(listed, list) else []), content]

    def _close_text(self) -> None:
        if self.texts:
            self._append("content", {"type": "text", "text": "".join(self.texts)})
            self.texts = []

    def whole(self) -> Object:
        """The step."""
        self._close_text()
        if self.arguments:
            text = "".join(self.arguments)
            arguments: Any = jsonio.value(text)
            self.step["arguments"] = arguments if isinstance(arguments, dict) else text
        return self.step
