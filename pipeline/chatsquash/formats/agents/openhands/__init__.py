"""OpenHands' events, of both generations; its logs of completions are exchanges, and no documents."""

from __future__ import annotations

from chatsquash.formats.agents.openhands import v0, v1
from chatsquash.formats.base import TurnError
from chatsquash.formats.values import Object, kind
from chatsquash.model import Conversation, Json

NAME = "openhands"
HOLDS_TOOLS = True

_HOLDING = ("history", "trajectory")
"""Members that hold the events of one run, beside what came of it."""


def fits(found: list[Json]) -> str | None:
    """Most objects are events, or all of them hold a list of such."""
    runs = [_events(each) for each in found]
    held = [events for events in runs if events is not None]
    if held and len(held) == len(found):
        count = sum(bool(events) and _generation(events) is not None for events in held)
        return f"events with source, action and observation in {count} histories" if count * 2 > len(held) else None
    generation = _generation(found)
    return f"events of OpenHands {generation}" if generation else None


def conversations(found: list[Json]) -> list[Conversation]:
    """The conversation of each run: the events are one, or each object holds those of another."""
    runs = [events for each in found if (events := _events(each)) is not None]
    whole = [_conversation(events) for events in runs or [found]]
    return [each for each in whole if each.messages]


def _events(value: Json) -> list[Json] | None:
    """The events that a list or an object holds; ``None`` for an event and anything else."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and "source" not in value:
        return next((value[name] for name in _HOLDING if isinstance(value.get(name), list)), None)
    return None


def _generation(events: list[Json]) -> str | None:
    """What most events are."""
    for name, test in (("V1", v1.is_event), ("V0", v0.is_event)):
        if sum(map(test, events)) * 2 > len(events):
            return name
    return None


def _conversation(events: list[Json]) -> Conversation:
    known: dict[str, Object] = {}
    for place, event in enumerate(events):
        if not isinstance(event, dict):
            raise TurnError(f"event {place} is {kind(event)}, not an object")
        logged = event.get("id")
        known.setdefault(str(logged) if isinstance(logged, int | str) else f"event {place}", event)
    left = list(known.values())
    return v1.conversation(left) if any(map(v1.is_event, left)) else v0.conversation(left)
