"""OpenHands' events, of both generations; its logs of completions are exchanges, and no documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import structs

from chatsquash.formats.agents.openhands import v0, v1
from chatsquash.formats.agents.openhands.v1 import Event
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import Unread, numbers
from chatsquash.formats.values import Object, at, kind
from chatsquash.model import Conversation, Json, Origin

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


def conversations(found: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """The conversation of each run: the events are one, or each object holds those of another."""
    unread, runs = Unread(), list[_Run]()
    for value, line in zip(found, numbers(found, lines), strict=True):
        if (events := _events(value)) is not None:
            runs.append(_Run(value, events, [line] * len(events)))
    whole = [_conversation(run, unread) for run in runs or [_Run({}, found, numbers(found, lines))]]
    told_of = [each for each in whole if each.messages]
    return [_counted(each, unread.of(place)) for place, each in enumerate(told_of)]


class _Run(NamedTuple):
    """The events of one run, and what holds them."""

    value: Json
    events: list[Json]
    lines: Sequence[int]


def _counted(each: Conversation, unread: Object) -> Conversation:
    return structs.replace(each, origin=structs.replace(each.origin or Origin(), unread=unread))


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


def _conversation(run: _Run, unread: Unread) -> Conversation:
    if isinstance(run.value, dict):
        unread.rest("run", run.value, *_HOLDING)
    known: dict[str, Event] = {}
    for place, (event, line) in enumerate(zip(run.events, run.lines, strict=True)):
        if not isinstance(event, dict):
            raise TurnError(f"event {place} is {kind(event)}, not an object")
        logged = event.get("id")
        known.setdefault(str(logged) if isinstance(logged, int | str) else f"event {place}", Event(line, event))
    left = list(known.values())
    named = at(run.value, "metadata", "llm_config", "model")
    model = named if isinstance(named, str) else None
    if any(v1.is_event(each.event) for each in left):
        return v1.conversation(left, model, unread)
    return v0.conversation(left, model, unread)
