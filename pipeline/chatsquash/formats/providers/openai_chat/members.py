"""The members of logged messages and responses: evidence for OpenAI chat, variants, and content of other formats.

Messages written by tracers and frameworks may contain blocks of Anthropic, LangChain or the AI SDK, or calls that
differ from OpenAI's. They are foreign, and ``rewriting`` converts them to OpenAI chat messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from chatsquash.core import reasoning
from chatsquash.core.model import Json
from chatsquash.formats.base import Mark, Marks
from chatsquash.formats.values import Object, objects, string

RESPONSE = (
    *("id", "object", "created", "model", "choices", "usage", "system_fingerprint", "service_tier"),
    *("citations", "prompt_filter_results", "prompt_logprobs", "provider", "stats", "time_info", "timings", "x_groq"),
)
"""The members of a complete response from OpenAI, and from vendors whose responses have no other evidence."""
CALLS = frozenset(("tool_use", "tool_call", "tool-call", "function_call", "custom_tool_call", "invalid_tool_call"))
"""The types of call blocks in Anthropic, LangChain, the AI SDK and OpenAI Responses."""
RESULTS = frozenset(("tool_result", "tool-result", "tool_call_response", "function_call_output"))
"""The types of result blocks."""
_OTHERS = frozenset(("input_text", "output_text", "input_image", "input_file", "document"))
TYPES = CALLS | RESULTS | _OTHERS
"""The types of blocks that OpenAI chat does not support."""
_SUMMARY = "compaction"
"""The type of summary blocks, which only Anthropic has."""
_MEDIA = frozenset(("image", "file", "audio", "video"))
SYSTEM = ("system", "instructions")
"""The members of a request that may contain the system prompt in other formats."""


def is_empty(value: Json) -> bool:
    """Return whether a member has the same meaning as a missing member."""
    return not value or (isinstance(value, dict) and not any(value.values()))


def identifier(value: Json) -> str | None:
    """Return an id: a non-empty string, or the digits of an integer, or ``None`` for any other value."""
    if type(value) is str:  # nearly always
        return value or None
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) and value != "" else None


def logged_calls(message: Object) -> list[Object]:
    """Return the calls of a message that are objects."""
    return objects(message.get("tool_calls"))


def functions(message: Object) -> list[Object]:
    """Return the functions in the calls of a message."""
    return objects([call.get("function") for call in logged_calls(message)])


def has_part(*kinds: str) -> Callable[[Object], bool]:
    """Return a test of a message for parts of these types."""
    return lambda message: any(part.get("type") in kinds for part in objects(message.get("content")))


def variants(message: Json) -> list[str]:
    """Describe how a logged message differs from messages that OpenAI writes today."""
    if not isinstance(message, dict) or _is_ordinary(message):
        return []
    return [words for words, test in _VARIANTS if test(message)]


def _is_ordinary(message: Object) -> bool:
    """Return whether a few quick checks show that a message has no variants."""
    # Nearly all messages are ordinary, so this saves the other checks.
    if type(message.get("content")) not in _TEXT or not UNUSUAL_MEMBERS.isdisjoint(message):
        return False
    role, calls = message.get("role"), message.get("tool_calls")
    if role in ("tool", "function"):
        call_id = message.get("tool_call_id")
        return role == "tool" and calls is None and type(call_id) is str and call_id != ""
    return calls is None or (type(calls) is list and all(map(_is_ordinary_call, calls)))


def _is_ordinary_call(call: Json) -> bool:
    function = call.get("function") if type(call) is dict else None
    if type(function) is not dict or type(function.get("arguments")) is not str or call.get("type") != "function":
        return False
    call_id = call.get("id")
    return type(call_id) is str and call_id != ""


def _has(name: str) -> Callable[[Object], bool]:
    return lambda message: not is_empty(message.get(name))


def _is_void(name: str) -> Callable[[Object], bool]:
    return lambda message: message.get(name) is not None and is_empty(message[name])


def _among(find: Callable[[Object], list[Object]], test: Callable[[Object], bool]) -> Callable[[Object], bool]:
    return lambda message: any(map(test, find(message)))


def _results(message: Object) -> list[Object]:
    return [message] if message.get("role") == "tool" else []


_TEXT = (str, type(None))
UNUSUAL_MEMBERS = frozenset({"function_call", "audio", *reasoning.MEMBERS[1:]})
"""The members of messages that OpenAI does not write, or no longer writes."""
_VARIANTS: tuple[tuple[str, Callable[[Object], bool]], ...] = (
    ("legacy function_call", _has("function_call")),
    ("legacy function role", lambda message: message.get("role") == "function"),
    ("empty function_call", _is_void("function_call")),
    ("empty audio", _is_void("audio")),
    ("custom tool calls", _among(logged_calls, lambda call: call.get("type") == "custom")),
    ("tool calls without type", _among(logged_calls, lambda call: not call.get("type"))),
    ("tool calls without id", _among(logged_calls, lambda call: identifier(call.get("id")) is None)),
    ("object arguments", _among(functions, lambda function: not isinstance(function.get("arguments", ""), _TEXT))),
    ("missing arguments", _among(functions, lambda function: function.get("arguments") is None)),
    (
        "tool results without tool_call_id",
        _among(_results, lambda result: identifier(result.get("tool_call_id")) is None),
    ),
    ("tool results as JSON", _among(_results, lambda result: not isinstance(result.get("content"), str | list | None))),
    *((key, _has(key)) for key in reasoning.MEMBERS[1:]),
    ("thinking parts", has_part(*reasoning.PARTS)),
    ("document_url parts", has_part("document_url")),
    ("video_url parts", has_part("video_url")),
)


def any_foreign(messages: Iterable[Any]) -> bool:
    """Return whether any of the messages is foreign."""
    # This runs for every message of every log, so most of those without calls are skipped here.
    for message in messages:
        if (type(message.get("content")) is not str or not _PLAIN.issuperset(message)) and is_foreign(message):
            return True
    return False


_PLAIN = frozenset(("role", "content", "tool_call_id", "name"))


def is_foreign(message: Any) -> bool:
    """Return whether a message has calls, results, reasoning or media in a form other than OpenAI's."""
    content, calls = message.get("content"), message.get("tool_calls")
    if type(content) is list and any(map(_is_foreign_part, content)):
        return True
    if calls and _are_foreign_calls(calls):
        return True
    return "additional_kwargs" in message or "invalid_tool_calls" in message  # only LangChain writes these


def _is_foreign_part(part: Json) -> bool:
    if type(part) is not dict:
        return False
    of = part.get("type")
    if of == "text" or type(of) is not str:
        return False
    if of in _MEDIA:
        return not isinstance(part.get(of), dict)
    return of in TYPES or of == _SUMMARY or (of == "thinking" and "signature" in part)


def _are_foreign_calls(calls: Any) -> bool:
    """Return whether calls are a JSON string, or a call has its name next to its arguments or contains another call."""
    if type(calls) is not list:
        return isinstance(calls, str) and calls[:1] == "["
    for call in calls:
        if type(call) is dict and "function" not in call and "custom" not in call:
            if "toolName" in call or "tool_call" in call:
                return True
            if "name" in call and ("args" in call or "arguments" in call):
                return True
    return False


def has_foreign(request: Object) -> bool:
    """Return whether a request has foreign messages, foreign definitions or a separate system prompt."""
    prompt = (request.get(name) for name in SYSTEM)
    return (
        any(isinstance(each, str | list) and each for each in prompt)
        or any(map(is_foreign_tool, objects(request.get("tools"))))
        or any(map(is_foreign, objects(request.get("messages"))))
    )


def is_foreign_tool(tool: Any) -> bool:
    """Return whether a definition has its schema in a member of another format."""
    return (
        type(tool) is dict
        and "function" not in tool
        and ("input_schema" in tool or "inputSchema" in tool)
        and string(tool, "name") != ""
    )


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
