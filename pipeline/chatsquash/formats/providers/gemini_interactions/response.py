"""What an interaction answers."""

from __future__ import annotations

from itertools import dropwhile

from msgspec.structs import replace

from chatsquash.core.blocks import Block, Other, Reasoning
from chatsquash.core.model import Json, Response
from chatsquash.formats import view
from chatsquash.formats.base import TurnError, missing_reply, wrong
from chatsquash.formats.providers import gemini
from chatsquash.formats.providers.gemini.read import said
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
"""Why replies ended, by the status of their interaction; any other status is the reason itself."""
_STOPPED = ("failed", "cancelled")


def reply(body: Json) -> Response:
    """All steps of the model as one message, without those of the request, which an interaction may repeat."""
    return missing_reply(body) or _answer(body)


def reply_turns(body: Object) -> list[Json]:
    """The steps of an interaction from the first one of the model on, which a later request continues."""
    listed = body.get("steps")
    return list(dropwhile(_is_input, listed)) if isinstance(listed, list) else []


def _is_input(step: Json) -> bool:
    return string(step, "type") in steps.OF_USER


def _answer(body: Object) -> Response:
    listed, status = body.get("steps"), string(body, "status")
    reason = _REASONS.get(status, status)
    if listed is not None and not isinstance(listed, list):
        return wrong("response.steps", kind(listed))
    try:
        own = [step for step in reply_turns(body) if steps.side(step) == "model"]
        turn = said([part for step in own for part in steps.parts(step)], gemini.START.call)
    except TurnError as error:
        return Response(problem=f"a step of the response {error}")
    errors = [error for step in own for error in steps.errors(step)]
    if all(map(_says_nothing, turn.blocks)):
        why = "a step of the model failed" if errors else "the response has no steps of the model"
        return Response(problem=f"the interaction is {status}" if status in _STOPPED else why)
    message = view.message(replace(turn, blocks=(*turn.blocks, *errors)) if errors else turn)
    return Response(message, 1, "tool_calls" if reason == "stop" and "tool_calls" in message else reason)


def _says_nothing(block: Block) -> bool:
    """Whether a block is of a thought without text."""
    if type(block) is Other:
        return isinstance(block.value, dict) and block.value.get("thought") is True
    return type(block) is Reasoning and not block.text
