"""Convert messages in attributes to OpenAI chat."""

from __future__ import annotations

from chatsquash.core import reasoning
from chatsquash.core.blocks import Other, Text
from chatsquash.core.chat import PRIVATE, Private
from chatsquash.core.model import Json
from chatsquash.formats import parts
from chatsquash.formats.base import TurnError, expect_object
from chatsquash.formats.calls import function_call
from chatsquash.formats.parts import data_url, file, image, text
from chatsquash.formats.values import Object, at, kind, objects, string

_AUDIO = {"audio/wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def convert(message: Json, where: str) -> list[Object]:
    """Return the turns of a message: one for each result, and one for its other content."""
    expect_object(message, f"{where} is")
    parts_or_text = message.get("parts", message.get("content"))
    parts_or_text = [parts_or_text] if isinstance(parts_or_text, str) else parts_or_text
    if not isinstance(parts_or_text, list | None):
        raise TurnError(f"{where}: parts is {kind(parts_or_text)}, expected a list")
    role, parts = message.get("role"), parts_or_text or []
    results = [_result(part) for part in objects(parts) if part.get("type") == "tool_call_response"]
    others = [part for part in parts if at(part, "type") != "tool_call_response"]
    if role == "assistant":
        return [*([_answer(others)] if others or not results else []), *results]
    # Only results can be tool messages.
    role = "user" if role == "tool" and results else role
    return [*results, *([{"role": role, "content": content(others)}] if others or not results else [])]


def _answer(parts: list[Json]) -> Object:
    """Build an assistant message; content after its calls becomes private blocks."""
    kinds = [string(part, "type") for part in parts]
    first = kinds.index("tool_call") if "tool_call" in kinds else len(parts)
    call_parts = (part for part in objects(parts) if part.get("type") == "tool_call")
    calls = [function_call(part.get("id"), part.get("name"), part.get("arguments")) for part in call_parts]
    after_calls = [part for part in parts[first:] if string(part, "type") != "tool_call"]
    before = [*parts[:first], *(part for part in after_calls if _is_thought(part))]
    turn: Object = {"role": "assistant", "content": content(before) if before or not calls else None}
    late = tuple(_late(part) for part in after_calls if not _is_thought(part))
    return {**turn, **({"tool_calls": calls} if calls else {}), **({PRIVATE: Private(blocks=late)} if late else {})}


def _late(part: Json) -> Text | Other:
    is_text = string(part, "type") == "text" and string(part, "content")
    return Text(part["content"]) if is_text else Other("otel", part)


def _is_thought(part: Json) -> bool:
    return reasoning.is_part(part) and isinstance(part.get("content"), str)


def _result(part: Object) -> Object:
    """Convert a result, which some clients write in ``result`` instead of ``response``."""
    value = part.get("response", part.get("result"))
    name_member = {"name": part["name"]} if string(part, "name") else {}
    return {"role": "tool", "tool_call_id": part.get("id"), **name_member, "content": "" if value is None else value}


def content(listed_parts: list[Json]) -> Json:
    """Convert parts to OpenAI chat content; a single text part becomes a string."""
    return parts.content([_part(part) for part in listed_parts])


def _part(part: Json) -> Json:
    match part:
        case str():
            return text(part)
        case {"type": "text", "content": str(words)}:
            return text(words)
        case {"type": "blob", "content": str(data)}:
            return _blob(part, string(part, "mime_type"), data)
        case {"type": "uri", "uri": str(uri)}:
            return image(uri) if _is_image(part) else file(file_url=uri)
        case {"type": "file", "file_id": str(file_id)}:
            return file(file_id=file_id)
    return part


def _blob(part: Object, mime: str, data: str) -> Object:
    if mime in _AUDIO:
        return {"type": "input_audio", "input_audio": {"data": data, "format": _AUDIO[mime]}}
    url = data_url(mime, data)
    return image(url) if _is_image(part) else file(file_data=url)


def _is_image(part: Object) -> bool:
    return part.get("modality") == "image" or string(part, "mime_type").startswith("image/")
