"""Items of OpenAI Responses: what they are, and what their content is read as."""

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
"""What parts of a content are called that no format has a place for but this one."""
ROLES = ("user", "assistant", "system", "developer")
CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""The types of calls, and the members that say what the tool gets."""
RESULTS = ("function_call_output", "custom_tool_call_output")
ITEM, ANNOTATION = "item", "annotation"
"""The members that hold what else nobody has: items and annotations."""
MORE = "more"
"""The native member with those members that this format is not known to have, lest they be taken for OpenAI chat's."""
_KNOWN = frozenset(
    (
        *("id", "status", "phase", "namespace", "caller", "summary", "content", "logprobs"),
        *("prompt_cache_breakpoint", "detail", "start_index", "end_index", "index", "container_id", "server_label"),
    )
)
_READ = ("type", "role")
SPACE = "namespace"
"""The member with the namespace of a tool, such as its server, and the type of what defines its tools."""
USUAL_DETAIL = "auto"
"""What an image must say where nothing is known."""
_TEXTS = ("input_text", "output_text", "text")
_PLACES = {"input_image": ("image_url", "file_id"), "input_file": ("file_data", "file_url", "file_id")}
"""The members that may say where a medium is, the best first."""


def type_of(item: Object) -> Json:
    """An item without a type is a message, or a reference to an item if it has nothing but an id."""
    kind = item.get("type")
    if kind is None:
        return "item_reference" if item.keys() - {"type"} == {"id"} else "message"
    return kind


def native_of(holder: Object, *read: str) -> Native:
    """What an item or a part has beside what is read of it."""
    members = rest_of(holder, *read)
    if _KNOWN.issuperset(members):
        return {PROVIDER: members} if members else {}
    known = {key: value for key, value in members.items() if key in _KNOWN}
    return {PROVIDER: {**known, MORE: {key: value for key, value in members.items() if key not in known}}}


def rest_of(holder: Object, *read: str) -> Object:
    """The members but those that are read and those that say nothing, as does that an item is complete."""
    members = {
        key: value for key, value in holder.items() if key not in read and key not in _READ and value not in EMPTY
    }
    if members.get("status") == "completed":
        del members["status"]
    if KEY in holder and not is_mark(holder[KEY]):
        members[KEY] = holder[KEY]
    return members


def qualified(name: Json, space: Json) -> Json:
    """Return the name of a tool with its namespace, since two servers may have tools of one name.

    A function that a search loaded has its own name as namespace, as recorded from the API in 2026.
    """
    if not (space and name and isinstance(space, str) and isinstance(name, str)) or space == name:
        return name
    return name if name.startswith(prefix := _prefix(space)) else prefix + name


def bare_name(name: str, space: Json) -> str:
    """The name of a tool without its namespace."""
    return (name.removeprefix(_prefix(space)) or name) if isinstance(space, str) and space else name


def _prefix(space: str) -> str:
    return space if space.endswith("__") else f"{space}__"


def is_own(item: Object) -> bool:
    """Whether the assistant says an item, whatever stands in it; one without a role is his."""
    return type_of(item) == "message" and item.get("role") in (None, "assistant")


def blocks_of(content: Json, *, by_assistant: bool = False) -> tuple[Any, ...]:
    """What a content says; the assistant has texts and refusals only."""
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
    """A text with what it cites behind it."""
    if len(part) == 2:
        return (Text(text),) if text else ()
    noted = part.get("annotations")
    sources = tuple(_sources(noted)) if noted and isinstance(noted, list) else ()
    more = native_of(part, "text", *(("annotations",) if sources else ()))
    return (Text(text, native=more), *sources) if text else sources


def _sources(annotations: list[Json]) -> Iterator[Block]:
    for noted in annotations:
        match noted:
            case {"type": "url_citation", "url": str(url)} if url:
                yield Source(url, string(noted, "title"), native=native_of(noted, "url", *text_members(noted, "title")))
            case {"type": str(of), "file_id": str(file_id)} if file_id:
                more = native_of(noted, "file_id", *text_members(noted, "filename")).get(PROVIDER, {})
                yield Source(id=file_id, name=string(noted, "filename"), native={PROVIDER: {"type": of, **more}})
            case _:
                yield Other(PROVIDER, {ANNOTATION: noted})


def _medium(part: Json) -> Media | None:
    """A medium by its data, its address, which may be its data, or its id; ``None`` for one that is nowhere."""
    if not isinstance(part, dict):
        return None
    usual = ("detail",) if part.get("detail") == USUAL_DETAIL else ()
    match part:
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(form)} as sound} if data:
            more = native_of({**sound, **part}, "input_audio", "data", "format", *usual)
            return Media("audio", parts.canonical_type(f"audio/{form}"), data, native=more)
        case {"type": "input_image" | "input_file" as of}:
            place = next((member for member in _PLACES[of] if string(part, member)), "")
            return _media_at(part, of, place, usual) if place else None
    return None


def _media_at(part: Object, of: str, place: str, usual: tuple[str, ...]) -> Media:
    is_file, value = of == "input_file", part[place]
    named = text_members(part, "filename") if is_file else []
    more = native_of(part, place, *named, *usual)
    members: dict[str, Any]
    if place == "file_id":
        members = {"file_id": value, "provider": PROVIDER}
    elif match := parts.DATA_URL.fullmatch(value):
        members = {"mime": parts.canonical_type(match[1]), "data": match[2]}
    else:
        members = {"data" if place == "file_data" and not value.startswith("data:") else "url": value}
    name = part["filename"] if named else ""
    return Media("file" if is_file else "image", name=name, native=more, **members)
