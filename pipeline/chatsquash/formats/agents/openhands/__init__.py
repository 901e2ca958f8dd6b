"""OpenHands' events of both generations.  Its completion logs are exchanges, which other formats read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.agents.openhands import v0, v1
from chatsquash.formats.agents.openhands.v1 import Event
from chatsquash.formats.base import expect_object
from chatsquash.formats.evidence import Unread, line_numbers, with_origin
from chatsquash.formats.threads import text, with_unread
from chatsquash.formats.values import Object, at, string

NAME = "openhands"
HAS_TOOLS = True
MEMBERS = ("source", "history", "trajectory", "execution_status")

_STATE, _EVENTS = "base_state.json", "events"
_INSTANCE = "instance_id"
"""The member for the task of an evaluation run."""
_EVENT_LISTS = ("history", "trajectory")
"""The members that may contain the events of a run, in objects that also contain its outcome."""


def fits(values: list[Json]) -> str | None:
    """Check whether most objects are events, or contain lists of events."""
    if _is_state(values):
        return "agent.llm and execution_status"
    runs = [_events(each) for each in values]
    histories = [events for events in runs if events is not None]
    if histories and len(histories) == len(values):
        count = sum(bool(events) and _generation(events) is not None for events in histories)
        is_most = count * 2 > len(histories)
        return f"events with source, action and observation in {count} histories" if is_most else None
    generation = _generation(values)
    return f"events of OpenHands {generation}" if generation else None


def companions(name: str) -> str | None:
    """Return a glob for the event files of a session."""
    return f"{_EVENTS}/event-*.json" if name == _STATE else None


def owner(path: str) -> str | None:
    """Return the state file of the session that an event file belongs to."""
    folder, _, name = path.rpartition("/")
    is_event = name.startswith("event-") and name.endswith(".json")
    above = folder.removesuffix(_EVENTS)
    return f"{above}{_STATE}" if is_event and f"/{folder}".endswith(f"/{_EVENTS}") else None


def conversations(values: list[Json], lines: list[int] | None = None, meta: Json = None) -> list[Conversation]:
    """Return the conversation of each run, whose events are the objects, inside each object, or in companion files."""
    unread, runs = Unread(), list[_EventRun]()
    if _is_state(values):
        return _of_state(values[0], meta if isinstance(meta, list) else [], unread)
    for value, line in zip(values, line_numbers(values, lines), strict=True):
        if (events := _events(value)) is not None:
            runs.append(_EventRun(value, events, [line] * len(events)))
    runs = runs or [_EventRun({}, values, line_numbers(values, lines))]
    instances = [text(at(run.value, _INSTANCE)) for run in runs]
    instance_counts = Counter(instances)
    converted = [_conversation(run, unread) for run in runs]
    with_instances = zip(converted, instances, strict=True)
    converted = [
        # Several runs of the same instance are separate sessions, so the instance cannot identify them.
        with_origin(each, session_id=name) if name and instance_counts[name] == 1 else each
        for each, name in with_instances
    ]
    return with_unread([each for each in converted if each.messages], unread)


def _of_state(state: Object, events_read: list[Json], unread: Unread) -> list[Conversation]:
    """Return the conversation of a session whose events are in separate files; unreadable files are skipped."""
    events = [event for event in events_read if event is not None]
    unread.count_members("state", state, "id", "agent", "stats")
    for _ in range(len(events_read) - len(events)):
        unread.count("event that cannot be read")
    each = _conversation(_EventRun(state, events, [1] * len(events)), unread)
    converted = with_origin(each, session_id=string(state, "id") or None, unread=unread.counts_for(0))
    return [converted] if each.messages else []


def _is_state(values: list[Json]) -> bool:
    """Return whether the values are the state of a session."""
    return len(values) == 1 and isinstance(at(values[0], "agent", "llm"), dict) and "execution_status" in values[0]


class _EventRun(NamedTuple):
    """The events of a run, and the value that contains them."""

    value: Json
    events: list[Json]
    lines: Sequence[int]


def _events(value: Json) -> list[Json] | None:
    """Return the events in a list or an object, or ``None`` for events and other values."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and "source" not in value:
        return next((value[name] for name in _EVENT_LISTS if isinstance(value.get(name), list)), None)
    return None


def _generation(events: list[Json]) -> str | None:
    """Return the generation of most events, or ``None`` if most values are not events."""
    for name, test in (("V1", v1.is_event), ("V0", v0.is_event)):
        if sum(map(test, events)) * 2 > len(events):
            return name
    return None


def _conversation(run: _EventRun, unread: Unread) -> Conversation:
    if isinstance(run.value, dict) and not _is_state([run.value]):
        unread.count_members("run", run.value, _INSTANCE, *_EVENT_LISTS)
    known: dict[str, Event] = {}
    for place, (event, line) in enumerate(zip(run.events, run.lines, strict=True)):
        expect_object(event, f"event {place} is")
        event_id = event.get("id")
        # Repeated events have the same id.
        known.setdefault(str(event_id) if isinstance(event_id, int | str) else f"event {place}", Event(line, event))
    distinct_events = list(known.values())
    model = string(at(run.value, "metadata", "llm_config"), "model") or None
    if any(v1.is_event(each.event) for each in distinct_events):
        usage = v1.usage(run.value)
        return v1.conversation(distinct_events, usage._replace(model=model or usage.model), unread)
    return v0.conversation(distinct_events, model, unread)
