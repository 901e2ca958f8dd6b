"""Load the reply in an interaction."""

from __future__ import annotations

from itertools import dropwhile

from msgspec.structs import replace

from chatsquash.core.blocks import Block, Other, Reasoning
from chatsquash.core.model import Json, Response
from chatsquash.formats import view
from chatsquash.formats.base import TurnError, missing_reply, wrong
from chatsquash.formats.providers import gemini
from chatsquash.formats.providers.gemini.read import assistant_turn
from chatsquash.formats.providers.gemini_interactions import steps
from chatsquash.formats.values import Object, kind, string

_REASONS = {
    "completed": "stop",
    "requires_action": "tool_calls",
    "incomplete": "length",
    "budget_exceeded": "length",
    "in_progress": "incomplete",
    "": None,
}
"""Finish reasons by the status of an interaction; any other status is used as the reason."""
_FAILURES = ("failed", "cancelled")


def reply(body: Json) -> Response:
    """Load the steps of the model as one message, without the steps of the request, which interactions may repeat."""
    return missing_reply(body) or _answer(body)


def reply_turns(body: Object) -> list[Json]:
    """Return the steps of an interaction, starting with the model's first step; later requests continue them."""
    all_steps = body.get("steps")
    return list(dropwhile(_is_input, all_steps)) if isinstance(all_steps, list) else []


def _is_input(step: Json) -> bool:
    return string(step, "type") in steps.OF_USER


def _answer(body: Object) -> Response:
    all_steps, status = body.get("steps"), string(body, "status")
    reason = _REASONS.get(status, status)
    if all_steps is not None and not isinstance(all_steps, list):
        return wrong("response.steps", kind(all_steps))
    try:
        own = [step for step in reply_turns(body) if steps.side(step) == "model"]
        turn = assistant_turn([part for step in own for part in steps.parts(step)], gemini.START.call)
    except TurnError as error:
        return Response(problem=f"a step of the response {error}")
    errors = [error for step in own for error in steps.errors(step)]
    if all(map(_is_empty_thought, turn.blocks)):
        problem = "a model step failed" if errors else "the response has no model steps"
        return Response(problem=f"the interaction is {status}" if status in _FAILURES else problem)
    message = view.message(replace(turn, blocks=(*turn.blocks, *errors)) if errors else turn)
    return Response(message, 1, "tool_calls" if reason == "stop" and "tool_calls" in message else reason)


def _is_empty_thought(block: Block) -> bool:
    """Return whether a block comes from a thought without text."""
    if type(block) is Other:
        return isinstance(block.value, dict) and block.value.get("thought") is True
    return type(block) is Reasoning and not block.text
