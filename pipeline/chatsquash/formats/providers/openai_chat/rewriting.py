"""Messages with content of other formats, rewritten as messages of OpenAI chat, in which each call is once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from chatsquash.core import jsonio, reasoning
from chatsquash.core.model import Json, Message
from chatsquash.formats import calls, parts, view
from chatsquash.formats.providers.anthropic.blocks import blocks_of
from chatsquash.formats.providers.openai_chat.foreign import CALLS, RESULTS, is_foreign
from chatsquash.formats.providers.openai_chat.members import identifier, is_empty
from chatsquash.formats.values import Object, as_list, at, compact, objects, string, without

_IDS = ("tool_use_id", "toolCallId", "tool_call_id", "call_id", "id")
_NAMES = ("name", "toolName")
_ARGUMENTS = ("args", "arguments", "partial_json", "input")
_RESULTS = ("content", "output", "result", "response")
_READ = ("content", "tool_calls", "invalid_tool_calls", "additional_kwargs")
_FAILED = ("error-text", "error-json", "execution-denied")
"""The types of outputs of the AI SDK that are errors."""


def messages(message: Json) -> list[Any]:
    """Return a message as messages of OpenAI chat: its results each, and what else it says.

    A message without content of other formats is returned as it is.
    """
    if not isinstance(message, dict) or not is_foreign(message):
        return [message]
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    results = [_result(each) for each in objects(blocks) if string(each, "type") in RESULTS]
    if message.get("role") == "assistant":
        return [_assistant(message, blocks), *results]
    others = [each for each in blocks if string(each, "type") not in RESULTS]
    if results and not others:
        return results
    content = parts.content(list(_parts(others))) if isinstance(content, list) else content
    return [*results, {**without(message, *_READ), "content": content}]


def reply(message: Object) -> Object:
    """Return the message of a response as one of OpenAI chat."""
    return message if not is_foreign(message) else messages({**message, "role": "assistant"})[0]


# The assistant


def _assistant(message: Object, blocks: list[Json]) -> Object:
    """What an assistant says, thinks and calls, with the members that are OpenAI's."""
    thoughts = [each for each in objects(blocks) if reasoning.is_part(each)]
    said = [each for each in blocks if not reasoning.is_part(each) and string(each, "type") not in CALLS | RESULTS]
    called = list(_calls(message, blocks))
    content = parts.content(list(_parts(said)), beside_calls=bool(called))
    if not isinstance(message.get("content"), list):
        content = message.get("content") or (None if called else "")
    made: Object = {**without(message, *_READ, "role"), "role": "assistant", "content": content}
    made |= _reasoning(message, thoughts) | ({"tool_calls": called} if called else {})
    return {"role": "assistant", **made}


def _reasoning(message: Object, thoughts: list[Object]) -> Object:
    """The reasoning in blocks or in a message's ``additional_kwargs``, unless the message has it already."""
    if any(message.get(name) for name in reasoning.MEMBERS):
        return {}
    beside = at(message.get("additional_kwargs"), "reasoning_content")
    if not thoughts:
        return {"reasoning_content": beside} if isinstance(beside, str) and beside else {}
    text = reasoning.pop({"content": thoughts}).text
    signed = [each for each in thoughts if each.get("signature") or each.get("data")]
    made: Object = {"reasoning_content": text} if text else {}
    return {**made, "thinking_blocks": signed} if signed else made


def _calls(message: Object, blocks: list[Json]) -> Iterator[Object]:
    """The calls of a message, each once, in the spelling that keeps its arguments as they were sampled."""
    beside = message.get("additional_kwargs")
    merged = dict[Any, tuple[Object, bool]]()
    places = (
        _list(message.get("tool_calls")),
        [each for each in blocks if string(each, "type") in CALLS],
        _list(at(beside, "tool_calls")),
        _list(message.get("invalid_tool_calls")),
    )
    for logged in (each for place in places for each in objects(place)):
        call, is_verbatim = _call(logged)
        key = identifier(call.get("id")) or _content(call)
        if key not in merged or (is_verbatim and not merged[key][1]):
            merged[key] = call, is_verbatim
    return (call for call, _ in merged.values())


def _list(value: Json) -> list[Json]:
    return as_list(jsonio.value(value) if isinstance(value, str) else value)


def _content(call: Object) -> tuple[str, bytes]:
    """What distinguishes a call without an id: its name and its arguments."""
    function = call.get("function")
    spelled = string(function, "arguments")
    return string(function, "name"), jsonio.dumps(jsonio.value(spelled, spelled), sort_keys=True)


def _call(logged: Object) -> tuple[Object, bool]:
    """A call as OpenAI spells it, and whether its arguments are a text that was not made here."""
    logged = logged["tool_call"] if isinstance(logged.get("tool_call"), dict) else logged
    function = logged.get("function")
    if isinstance(function, dict) or isinstance(logged.get("custom"), dict):
        return {"type": "function", **logged} if not logged.get("type") else logged, True
    given = next((logged[name] for name in _ARGUMENTS if not is_empty(logged.get(name))), None)
    call_id = _first(logged, "toolCallId", "call_id", "tool_call_id", "id")
    return calls.spell_call(call_id, _first(logged, *_NAMES), given), isinstance(given, str)


def _first(holder: Object, *names: str) -> Json:
    """The first of these members that has a value."""
    return next((holder[name] for name in names if holder.get(name)), None)


# Results and other content


def _result(block: Object) -> Message:
    """The result in a block."""
    output = next((block[name] for name in _RESULTS if block.get(name) is not None), "")
    of = at(output, "type")
    has_failed = block.get("is_error") is True or block.get("isError") is True or of in _FAILED
    if isinstance(output, dict) and "value" in output and isinstance(of, str):
        output = output["value"]
    elif of == "execution-denied":
        output = string(output, "reason")
    content = _output(output)
    named = next((block[name] for name in _NAMES if string(block, name)), None)
    made: Any = calls.tool_message(_first(block, *_IDS), content, "failed" if has_failed else "", named)
    return made  # type: ignore[no-any-return]


def _output(output: Json) -> Json:
    """What a tool returned: a text, texts and media, or another value as JSON."""
    if isinstance(output, str):
        return output
    if isinstance(output, list) and all(isinstance(at(each, "type"), str) for each in output):
        return parts.content(list(_parts(output)))
    return compact(output)


def _parts(blocks: Iterable[Json]) -> Iterator[Json]:
    """Blocks as parts of OpenAI chat; those that it has no part for stay as they are."""
    for block in blocks:
        match block:
            case {"type": "text" | "input_text" | "output_text", "text": str(text)} | str(text):
                yield from [parts.text(text)] if text else []
            case _:
                yield _medium(block) or block


def _medium(block: Json) -> Json:
    """An image, a document or a file of another format as a part; ``None`` for anything else."""
    if not isinstance(block, dict):
        return None
    match block:
        case {"type": "input_image", "image_url": str(url)}:
            return parts.image(url, block.get("detail"))
        case {"type": "input_file"}:
            return parts.file(**without(block, "type"))
        case {"type": "image" | "document", "source": {}}:
            shown = [view.part_of(each) for each in blocks_of([block])]
            return shown[0] if len(shown) == 1 else None
        case {"type": "image" | "file" | "audio" | "video" as of}:
            return _framework_medium(of, block)
    return None


def _framework_medium(of: str, block: Object) -> Json:
    """A medium of LangChain or the AI SDK by its data or its address."""
    mime = next((string(block, name) for name in ("mime_type", "mediaType", "mimeType") if string(block, name)), "")
    data = next((string(block, name) for name in ("base64", "data", "image") if string(block, name)), "")
    url = string(block, "url") or (data if ":" in data[:12] else "")
    if not url and not data:
        return None
    is_image = of == "image" or mime.startswith("image/")
    address = url or parts.data_url(mime or ("image/png" if is_image else ""), data)
    if is_image:
        return parts.image(address)
    named = string(block, "filename") or None
    return parts.file(file_url=address, filename=named) if url else parts.file(file_data=address, filename=named)
