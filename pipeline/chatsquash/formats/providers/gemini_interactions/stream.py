"""Assemble an interaction from its events."""

from __future__ import annotations

from typing import Any

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.formats.base import Stream
from chatsquash.formats.values import Object, index, objects, string

_ENDS = ("interaction.completed", "interaction.cancelled")


def assemble(events: list[Json]) -> Stream:
    """Assemble an interaction from the events that contain it and the streamed steps."""
    body: Object = {}
    steps_by_index: dict[int, _Step] = {}
    is_complete, error = False, None
    for event in objects(events):
        of = string(event, "event_type")
        if of == "error" or (event.get("error") and not of):
            error = event.get("error") or True
            break
        if isinstance(event.get("interaction"), dict):
            body |= {name: value for name, value in event["interaction"].items() if value is not None}
        if of == "interaction.status_update" and string(event, "status"):
            body["status"] = event["status"]
        is_complete = is_complete or of in _ENDS
        if of.startswith("step."):
            steps_by_index.setdefault(index(event, len(steps_by_index)), _Step()).add(event)
    if not body and not steps_by_index:
        return Stream(None, False, error)
    # The final event may already contain all steps.
    if steps_by_index and not body.get("steps"):
        body["steps"] = [steps_by_index[at].build() for at in sorted(steps_by_index)]
    return Stream({"object": "interaction", **body}, is_complete and error is None, error)


class _Step:
    """A step under construction."""

    def __init__(self) -> None:
        self.step: Object = {}
        self.arguments: list[str] = []
        self.texts: list[str] = []

    def add(self, event: Object) -> None:
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
        items = self.step.get(member)
        self.step[member] = [*(items if isinstance(items, list) else []), content]

    def _close_text(self) -> None:
        if self.texts:
            self._append("content", {"type": "text", "text": "".join(self.texts)})
            self.texts = []

    def build(self) -> Object:
        """Return the step with its pieces joined."""
        self._close_text()
        if self.arguments:
            text = "".join(self.arguments)
            arguments: Any = jsonio.value(text)
            self.step["arguments"] = arguments if isinstance(arguments, dict) else text
        return self.step
