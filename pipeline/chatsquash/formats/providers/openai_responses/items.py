"""The item types of OpenAI Responses, and loading the content of items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatsquash.core.blocks import Block, Media, Native, Other, Refusal, Source, Text
from chatsquash.core.model import Json
from chatsquash.formats import parts
from chatsquash.formats.calls import EMPTY, KEY, is_mark
from chatsquash.formats.values import Object, as_list, string, text_members

PROVIDER = "openai"
PART = "openai_responses"
"""The provider of content parts that only this format supports."""
ROLES = ("user", "assistant", "system", "developer")
CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""The call types, with the members that contain the arguments."""
RESULTS = ("function_call_output", "custom_tool_call_output")
ITEM, ANNOTATION = "item", "annotation"
"""The members of native blocks for items and annotations that only this format supports."""
MORE = "more"
"""The native member for unknown members, which keeps them separate from OpenAI chat's members."""
_KNOWN = frozenset(
    (
        *("id", "status", "phase", "namespace", "caller", "summary", "content", "logprobs"),
        *("prompt_cache_breakpoint", "detail", "start_index", "end_index", "index", "container_id", "server_label"),
    )
)
_READ = ("type", "role")
SPACE = "namespace"
"""The member for the namespace of a tool, such as its server; also the type of namespace definitions."""
USUAL_DETAIL = "auto"
"""The value for an unknown image detail, because the member is required."""
_TEXTS = ("input_text", "output_text", "text")
_PLACES = {"input_image": ("image_url", "file_id"), "input_file": ("file_data", "file_url", "file_id")}
"""The members that may contain media, by part type, in order of preference."""


def type_of(item: Object) -> Json:
    """Return the type of an item; items without a type are messages, or item references if they have only an id."""
    kind = item.get("type")
    if kind is None:
        return "item_reference" if item.keys() - {"type"} == {"id"} else "message"
    return kind


def native_of(holder: Object, *read: str) -> Native:
    """Return the members of an item or a part that are not loaded elsewhere, as native members."""
    members = rest_of(holder, *read)
    if _KNOWN.issuperset(members):
        return {PROVIDER: members} if members else {}
    known = {key: value for key, value in members.items() if key in _KNOWN}
    return {PROVIDER: {**known, MORE: {key: value for key, value in members.items() if key not in known}}}


def rest_of(holder: Object, *read: str) -> Object:
    """Return the members that are not loaded elsewhere, except empty members and the status ``completed``."""
    members = {
        key: value for key, value in holder.items() if key not in read and key not in _READ and value not in EMPTY
    }
    # This is the normal status, which needs no native member.
    if members.get("status") == "completed":
        del members["status"]
    if KEY in holder and not is_mark(holder[KEY]):
        members[KEY] = holder[KEY]
    return members


def qualified_name(name: Json, space: Json) -> Json:
    """Return the name of a tool with its namespace; two servers may have tools with the same name."""
    # The namespace of a function loaded by a search is its own name, as recorded from the API in 2026.
    if not (space and name and isinstance(space, str) and isinstance(name, str)) or space == name:
        return name
    return name if name.startswith(prefix := _prefix(space)) else prefix + name


def bare_name(name: str, space: Json) -> str:
    """Return the name of a tool without its namespace."""
    return (name.removeprefix(_prefix(space)) or name) if isinstance(space, str) and space else name


def _prefix(space: str) -> str:
    return space if space.endswith("__") else f"{space}__"


def is_own(item: Object) -> bool:
    """Return whether an item is a message from the assistant or without a role."""
    return type_of(item) == "message" and item.get("role") in (None, "assistant")


def blocks_of(content: Json, *, by_assistant: bool = False) -> tuple[Any, ...]:
    """Load content; assistant messages contain only text and refusals."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(block for part in as_list(content) for block in _part(part, by_assistant=by_assistant))


def _part(part: Json, *, by_assistant: bool) -> tuple[Block, ...]:
    of = part.get("type") if isinstance(part, dict) else None
    if of in _TEXTS and isinstance(part.get("text"), str):
        return _text(part, part["text"])
    if isinstance(part, str):
        return (Text(part),) if part else ()
    if by_assistant and of == "refusal" and isinstance(part.get("refusal"), str):
        return (Refusal(part["refusal"], native_of(part, "refusal")),) if part["refusal"] else ()
    return ((None if by_assistant else _medium(part)) or Other(PART, part),)


def _text(part: Object, text: str) -> tuple[Block, ...]:
    """Load text and its sources."""
    if len(part) == 2 or (len(part) == 3 and part.get("annotations") == []):
        return (Text(text),) if text else ()
    annotations = part.get("annotations")
    sources = tuple(_sources(annotations)) if annotations and isinstance(annotations, list) else ()
    more = native_of(part, "text", *(("annotations",) if sources else ()))
    return (Text(text, native=more), *sources) if text else sources


def _sources(annotations: list[Json]) -> Iterator[Block]:
    for annotation in annotations:
        match annotation:
            case {"type": "url_citation", "url": str(url)} if url:
                yield Source(
                    url,
                    string(annotation, "title"),
                    native=native_of(annotation, "url", *text_members(annotation, "title")),
                )
            case {"type": str(of), "file_id": str(file_id)} if file_id:
                more = native_of(annotation, "file_id", *text_members(annotation, "filename")).get(PROVIDER, {})
                yield Source(id=file_id, name=string(annotation, "filename"), native={PROVIDER: {"type": of, **more}})
            case _:
                yield Other(PROVIDER, {ANNOTATION: annotation})


def _medium(part: Json) -> Media | None:
    """Load media from data, a URL or an id; return ``None`` if all are missing."""
    if not isinstance(part, dict):
        return None
    default_detail = ("detail",) if part.get("detail") == USUAL_DETAIL else ()
    match part:
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(form)} as audio} if data:
            more = native_of({**audio, **part}, "input_audio", "data", "format", *default_detail)
            return Media("audio", parts.canonical_type(f"audio/{form}"), data, native=more)
        case {"type": "input_image" | "input_file" as of}:
            place = next((member for member in _PLACES[of] if string(part, member)), "")
            return _media_at(part, of, place, default_detail) if place else None
    return None


def _media_at(part: Object, of: str, place: str, default_detail: tuple[str, ...]) -> Media:
    is_file, value = of == "input_file", part[place]
    name_members = text_members(part, "filename") if is_file else []
    more = native_of(part, place, *name_members, *default_detail)
    members: dict[str, Any]
    if place == "file_id":
        members = {"file_id": value, "provider": PROVIDER}
    elif match := parts.DATA_URL.fullmatch(value):
        members = {"mime": parts.canonical_type(match[1]), "data": match[2]}
    else:
        members = {"data" if place == "file_data" and not value.startswith("data:") else "url": value}
    name = part["filename"] if name_members else ""
    return Media("file" if is_file else "image", name=name, native=more, **members)
