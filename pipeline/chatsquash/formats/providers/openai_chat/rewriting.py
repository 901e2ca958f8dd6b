"""Rewrite messages with content of other formats as OpenAI chat messages, without repeated calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from chatsquash.core import jsonio, reasoning
from chatsquash.core.model import Json, Message
from chatsquash.formats import calls, parts, view
from chatsquash.formats.providers.anthropic.blocks import blocks_of
from chatsquash.formats.providers.openai_chat.members import CALLS, RESULTS, identifier, is_empty, is_foreign
from chatsquash.formats.values import Object, as_list, at, compact, objects, string, without

_IDS = ("tool_use_id", "toolCallId", "tool_call_id", "call_id", "id")
_NAMES = ("name", "toolName")
_ARGUMENTS = ("args", "arguments", "partial_json", "input")
_RESULTS = ("content", "output", "result", "response")
_READ = ("content", "tool_calls", "invalid_tool_calls", "additional_kwargs")
_FAILED = ("error-text", "error-json", "execution-denied")
"""The output types of the AI SDK for errors."""


def messages(message: Json) -> list[Any]:
    """Convert a message to OpenAI chat messages: one per result, and one for its other content.

    A message without content of other formats is returned unchanged.
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
    """Convert the message of a response to an OpenAI chat message."""
    return message if not is_foreign(message) else messages({**message, "role": "assistant"})[0]


# The assistant


def _assistant(message: Object, blocks: list[Json]) -> Object:
    """Convert the content, reasoning and calls of an assistant message, and copy its other members."""
    thoughts = [each for each in objects(blocks) if reasoning.is_part(each)]
    content_blocks = [
        each for each in blocks if not reasoning.is_part(each) and string(each, "type") not in CALLS | RESULTS
    ]
    tool_calls = list(_calls(message, blocks))
    content = parts.content(list(_parts(content_blocks)), beside_calls=bool(tool_calls))
    if not isinstance(message.get("content"), list):
        content = message.get("content") or (None if tool_calls else "")
    converted: Object = {**without(message, *_READ, "role"), "role": "assistant", "content": content}
    converted |= _reasoning(message, thoughts) | ({"tool_calls": tool_calls} if tool_calls else {})
    return {"role": "assistant", **converted}


def _reasoning(message: Object, thoughts: list[Object]) -> Object:
    """Return the reasoning in blocks or in ``additional_kwargs``, unless the message has OpenAI's reasoning members."""
    if any(message.get(name) for name in reasoning.MEMBERS):
        return {}
    extra_text = at(message.get("additional_kwargs"), "reasoning_content")
    if not thoughts:
        return {"reasoning_content": extra_text} if isinstance(extra_text, str) and extra_text else {}
    text = reasoning.pop({"content": thoughts}).text
    signed_blocks = [each for each in thoughts if each.get("signature") or each.get("data")]
    members: Object = {"reasoning_content": text} if text else {}
    return {**members, "thinking_blocks": signed_blocks} if signed_blocks else members


def _calls(message: Object, blocks: list[Json]) -> Iterator[Object]:
    """Return the calls of a message without repetitions, preferably with the arguments exactly as sampled."""
    extra = message.get("additional_kwargs")
    # LangChain repeats a call in several members, in some of them with parsed arguments.
    merged = dict[Any, tuple[Object, bool]]()
    places = (
        _list(message.get("tool_calls")),
        [each for each in blocks if string(each, "type") in CALLS],
        _list(at(extra, "tool_calls")),
        _list(message.get("invalid_tool_calls")),
    )
    for logged_call in (each for place in places for each in objects(place)):
        call, is_verbatim = _call(logged_call)
        key = identifier(call.get("id")) or _content(call)
        # Parsed arguments may have lost the model's white space, so the logged string is preferred.
        if key not in merged or (is_verbatim and not merged[key][1]):
            merged[key] = call, is_verbatim
    return (call for call, _ in merged.values())


def _list(value: Json) -> list[Json]:
    return as_list(jsonio.value(value) if isinstance(value, str) else value)


def _content(call: Object) -> tuple[str, bytes]:
    """Return a key for a call without an id, from its name and its arguments."""
    function = call.get("function")
    spelled = string(function, "arguments")
    return string(function, "name"), jsonio.dumps(jsonio.value(spelled, spelled), sort_keys=True)


def _call(logged_call: Object) -> tuple[Object, bool]:
    """Convert a call to OpenAI's form, and return whether its arguments are the logged string."""
    logged_call = logged_call["tool_call"] if isinstance(logged_call.get("tool_call"), dict) else logged_call
    function = logged_call.get("function")
    if isinstance(function, dict) or isinstance(logged_call.get("custom"), dict):
        return {"type": "function", **logged_call} if not logged_call.get("type") else logged_call, True
    raw_arguments = next((logged_call[name] for name in _ARGUMENTS if not is_empty(logged_call.get(name))), None)
    call_id = _first(logged_call, "toolCallId", "call_id", "tool_call_id", "id")
    return calls.spell_call(call_id, _first(logged_call, *_NAMES), raw_arguments), isinstance(raw_arguments, str)


def _first(holder: Object, *names: str) -> Json:
    """Return the first of these members that is not empty."""
    return next((holder[name] for name in names if holder.get(name)), None)


# Results and other content


def _result(block: Object) -> Message:
    """Convert a result block to a tool message."""
    output = next((block[name] for name in _RESULTS if block.get(name) is not None), "")
    of = at(output, "type")
    has_failed = block.get("is_error") is True or block.get("isError") is True or of in _FAILED
    if isinstance(output, dict) and "value" in output and isinstance(of, str):
        output = output["value"]
    elif of == "execution-denied":
        output = string(output, "reason")
    content = _output(output)
    tool_name = next((block[name] for name in _NAMES if string(block, name)), None)
    converted: Any = calls.tool_message(_first(block, *_IDS), content, "failed" if has_failed else "", tool_name)
    return converted  # type: ignore[no-any-return]


def _output(output: Json) -> Json:
    """Convert the output of a tool: strings are unchanged, blocks become parts, other values become JSON."""
    if isinstance(output, str):
        return output
    if isinstance(output, list) and all(isinstance(at(each, "type"), str) for each in output):
        return parts.content(list(_parts(output)))
    return compact(output)


def _parts(blocks: Iterable[Json]) -> Iterator[Json]:
    """Convert blocks to OpenAI chat parts; unsupported blocks are returned unchanged."""
    for block in blocks:
        match block:
            case {"type": "text" | "input_text" | "output_text", "text": str(text)} | str(text):
                yield from [parts.text(text)] if text else []
            case _:
                yield _medium(block) or block


def _medium(block: Json) -> Json:
    """Convert an image, a document or a file of another format to a part; return ``None`` for other blocks."""
    if not isinstance(block, dict):
        return None
    match block:
        case {"type": "input_image", "image_url": str(url)}:
            return parts.image(url, block.get("detail"))
        case {"type": "input_file"}:
            return parts.file(**without(block, "type"))
        case {"type": "image" | "document", "source": {}}:
            content_parts = [view.part_of(each) for each in blocks_of([block])]
            return content_parts[0] if len(content_parts) == 1 else None
        case {"type": "image" | "file" | "audio" | "video" as of}:
            return _framework_medium(of, block)
    return None


def _framework_medium(of: str, block: Object) -> Json:
    """Convert a media block of LangChain or the AI SDK; return ``None`` if it has neither data nor a URL."""
    mime = next((string(block, name) for name in ("mime_type", "mediaType", "mimeType") if string(block, name)), "")
    data = next((string(block, name) for name in ("base64", "data", "image") if string(block, name)), "")
    url = string(block, "url") or (data if ":" in data[:12] else "")
    if not url and not data:
        return None
    is_image = of == "image" or mime.startswith("image/")
    address = url or parts.data_url(mime or ("image/png" if is_image else ""), data)
    if is_image:
        return parts.image(address)
    filename = string(block, "filename") or None
    return parts.file(file_url=address, filename=filename) if url else parts.file(file_data=address, filename=filename)
