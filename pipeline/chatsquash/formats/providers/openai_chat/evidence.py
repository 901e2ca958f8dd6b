"""The evidence for OpenAI chat."""

from __future__ import annotations

from collections.abc import Callable

from chatsquash.core import reasoning
from chatsquash.formats.base import Mark, Marks
from chatsquash.formats.providers.openai_chat.members import functions, has_part, logged_calls
from chatsquash.formats.values import Object, objects


def _in_choices(key: str) -> Callable[[Object], bool]:
    def test(body: Object) -> bool:
        return any(isinstance(choice.get(key), dict) for choice in objects(body.get("choices")))

    return test


def _in_turns(test: Callable[[Object], bool]) -> Callable[[Object], bool]:
    """Return a test of requests: whether any turn passes a test, unless the turns are Ollama's."""

    def in_turns(body: Object) -> bool:
        turns = objects(body.get("messages"))
        return any(map(test, turns)) and not _are_ollama_turns(turns)

    return in_turns


def _are_ollama_turns(turns: list[Object]) -> bool:
    """Return whether turns have the members or the calls of Ollama."""
    for turn in turns:
        images = turn.get("images")
        has_images = isinstance(images, list) and any(isinstance(image, str) for image in images)
        if has_images or isinstance(turn.get("tool_name"), str) or isinstance(turn.get("thinking"), str):
            return True
    calls = [call for turn in turns for call in logged_calls(turn)]
    called_functions = [function for turn in turns for function in functions(turn)]
    # Ollama's arguments are objects; its calls have no ids, or an index inside the function.
    has_no_ids = not any(call.get("id") for call in calls) or any("index" in function for function in called_functions)
    return (
        bool(called_functions)
        and has_no_ids
        and all(isinstance(function.get("arguments"), dict) for function in called_functions)
    )


_CHUNK = Mark(3, "object chat.completion.chunk", lambda event: event.get("object") == "chat.completion.chunk")
_DELTA = Mark(4, "choices[].delta", _in_choices("delta"))

marks = Marks(
    request=(
        Mark(7, "tool_calls", _in_turns(lambda turn: bool(turn.get("tool_calls")))),
        Mark(7, "a legacy function_call", _in_turns(lambda turn: isinstance(turn.get("function_call"), dict))),
        Mark(
            7, "a tool or developer role", _in_turns(lambda turn: turn.get("role") in ("tool", "function", "developer"))
        ),
        Mark(7, "image_url, input_audio or file parts", _in_turns(has_part("image_url", "input_audio", "file"))),
        Mark(7, "reasoning", _in_turns(lambda turn: any(turn.get(key) for key in reasoning.MEMBERS))),
    ),
    response=(
        Mark(4, "object chat.completion", lambda body: body.get("object") == "chat.completion"),
        Mark(4, "choices[].message", _in_choices("message")),
        _CHUNK,
        _DELTA,
    ),
    event=(_CHUNK, _DELTA),
)
