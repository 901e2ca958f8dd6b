"""The evidence for Ollama."""

from __future__ import annotations

from collections.abc import Callable

from chatsquash.formats.base import Mark, Marks
from chatsquash.formats.providers.ollama.response import is_chunk
from chatsquash.formats.values import Object, objects


def _turns(body: Object) -> list[Object]:
    """Return the turns of a request, or an empty list if the content of any turn is a list, which Ollama rejects."""
    turns = objects(body.get("messages"))
    return [] if any(isinstance(turn.get("content"), list) for turn in turns) else turns


def _some(test: Callable[[Object], bool]) -> Callable[[Object], bool]:
    return lambda body: any(test(turn) for turn in _turns(body))


def _has_images(turn: Object) -> bool:
    images = turn.get("images")
    return isinstance(images, list) and images != [] and all(isinstance(image, str) for image in images)


def _calls_with_objects(body: Object) -> bool:
    """Return whether all arguments are objects, and the calls have no ids or have indexes inside their functions."""
    lists = [turn["tool_calls"] for turn in _turns(body) if isinstance(turn.get("tool_calls"), list)]
    calls = [call for each in lists for call in each]
    if not calls or not all(isinstance(call, dict) and isinstance(call.get("function"), dict) for call in calls):
        return False
    if not all(isinstance(call["function"].get("arguments"), dict) for call in calls):
        return False
    return not any(call.get("id") for call in calls) or any("index" in call["function"] for call in calls)


def _with_messages(test: Callable[[Object], bool]) -> Callable[[Object], bool]:
    return lambda body: bool(_turns(body)) and test(body)


marks = Marks(
    request=(
        Mark(7, "tool_name", _some(lambda turn: isinstance(turn.get("tool_name"), str))),
        Mark(7, "thinking next to the content", _some(lambda turn: isinstance(turn.get("thinking"), str))),
        Mark(7, "a list of images", _some(_has_images)),
        Mark(7, "arguments that are objects", _calls_with_objects),
        Mark(8, "options", _with_messages(lambda body: isinstance(body.get("options"), dict))),
        Mark(8, "keep_alive", _with_messages(lambda body: "keep_alive" in body)),
        Mark(8, "think", _with_messages(lambda body: isinstance(body.get("think"), bool | str))),
    ),
    response=(Mark(4, "done and message.role", is_chunk),),
    event=(Mark(3, "done and message.role", is_chunk),),
)
