"""The evidence for Gemini's Interactions API."""

from __future__ import annotations

from chatsquash.formats.base import Mark, Marks
from chatsquash.formats.providers.gemini_interactions.steps import CALL, CONTENTS, TYPES
from chatsquash.formats.values import Object, objects, string

_OTHER_MEMBERS = ("previous_interaction_id", "system_instruction", "generation_config")
_STATUSES = ("completed", "requires_action", "in_progress", "incomplete", "budget_exceeded", "failed", "cancelled")


def accepts(body: Object) -> bool:
    """Return whether all items may be steps."""
    # The items of OpenAI Responses are messages with roles, and calls with call ids.
    items = body.get("input")
    if not isinstance(items, list):
        return True
    types = [string(each, "type") for each in objects(items)]
    return all(of in TYPES or of in CONTENTS or of == CALL for of in types) and not _has_call_ids(items)


def _has_call_ids(items: list[object]) -> bool:
    return any(string(each, "type") == CALL and "call_id" in each for each in objects(items))


def _has_steps(body: Object) -> bool:
    """Return whether the input consists of steps."""
    # A known type is not sufficient, because OpenAI Responses also has tool search calls, among messages with roles.
    has_any = any(type(of := step.get("type")) is str and of in TYPES for step in objects(body.get("input")))
    return has_any and accepts(body)


def _has_members(body: Object) -> bool:
    return "input" in body and any(name in body for name in _OTHER_MEMBERS)


def _is_response(body: Object) -> bool:
    if body.get("object") == "interaction":
        return True
    steps = body.get("steps")
    has_step_types = isinstance(steps, list) and all(string(step, "type") in (*TYPES, CALL) for step in steps)
    return has_step_types and string(body, "status") in _STATUSES


def _is_event(event: Object) -> bool:
    return string(event, "event_type").startswith(("interaction.", "step."))


marks = Marks(
    request=(
        Mark(6, "input with steps such as user_input", _has_steps),
        Mark(6, "input together with one of " + ", ".join(_OTHER_MEMBERS), _has_members),
    ),
    response=(Mark(4, "an interaction with steps", _is_response),),
    event=(Mark(3, "interaction.* and step.* events", _is_event),),
)
