"""What a request to Ollama holds: messages and tools."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from chatsquash.core.blocks import Block, Media, Native, Other, Reasoning, Result, Text, Turn
from chatsquash.core.model import Json
from chatsquash.formats import parts
from chatsquash.formats.base import LoadedTurn, Tools, TurnError
from chatsquash.formats.calls import State, arguments, call, native
from chatsquash.formats.values import Object, as_list, compact, string, text_members
from chatsquash.formats.writing import KEY, are_instructions, is_failed, parse_outcome

PROVIDER = "ollama"
START = State()

_ROLES = ("system", "developer", "user", "assistant", "tool")
_USUAL = frozenset(("role", "content", "images", "tool_name", "tool_call_id"))
"""The members of a result that are read."""
_READ = frozenset(("role", "content", "images", "thinking", "tool_calls"))
"""Those of what the assistant says."""


def load(turn: Json, state: State) -> LoadedTurn:
    """One turn for each message."""
    if not isinstance(turn, dict):
        raise TurnError("is not an object")
    if not isinstance(turn.get("role"), str):
        raise TurnError("has no role")
    role = turn["role"].lower()  # as the server reads it
    if role not in _ROLES:
        raise TurnError(f"has the role {compact(role)[:40]}, which is not one of Ollama's")
    content = turn.get("content")
    if not isinstance(content, str | None) and role != "tool":
        raise TurnError("has a content that is not a text")
    if role == "assistant":
        made, state = said(turn, state)
        return LoadedTurn([made], state)
    if role == "tool":
        return _result(turn, state)
    blocks = (Text(content),) if content else ()
    if len(turn) == 2 and "content" in turn:  # as most are
        made = Turn(role, blocks)
    else:
        more = native(PROVIDER, turn, "role", "content", "images", KEY)
        made = Turn(role, (*blocks, *_images(turn)), are_instructions(turn), more)
    return LoadedTurn([made], state.evolve(by_assistant=False) if state.by_assistant else state)


def _images(turn: Object) -> Iterator[Block]:
    """The images behind the text; those of no known kind are Ollama's alone."""
    for image in as_list(turn.get("images")):
        yield _image(image) or Other(PROVIDER, {"images": image})


def _image(image: Json) -> Media | None:
    """An image by its address or its data, whose first bytes say what it is; ``None`` for what is no image."""
    if not isinstance(image, str):
        return None
    if image.startswith("data:image/"):
        match = parts.DATA_URL.fullmatch(image)
        return Media("image", match[1], match[2]) if match and match[2] else Media("image", url=image)
    data = parts.standard_base64(image)
    mime = parts.image_type(parts.decode_base64(data[:16]) or b"")
    return Media("image", mime, data) if mime else None


# The assistant


def said(turn: Object, state: State) -> tuple[Turn, State]:
    """An assistant's turn, and the state behind it."""
    made = _said(turn, state.call)
    return made, state.after_calls(made.blocks, by_assistant=True)


def _said(turn: Object, number: int) -> Turn:
    """Reasoning, text, images and calls, in this order."""
    blocks = list[Block]()
    thinking, content = turn.get("thinking"), turn.get("content")
    if thinking:
        blocks.append(Reasoning(thinking) if isinstance(thinking, str) else Other(PROVIDER, {"thinking": thinking}))
    if content:
        blocks.append(Text(content))
    if "images" in turn:
        blocks += _images(turn)
    for each in as_list(turn["tool_calls"]) if "tool_calls" in turn else ():
        made = _call(each, number)
        number += getattr(made, "made_up", False)
        blocks.append(made)
    more = {} if _READ.issuperset(turn) else native(PROVIDER, turn, KEY, *_READ)
    return Turn("assistant", tuple(blocks), native=more)


def _call(logged: Json, number: int) -> Block:
    """A call, without an id that is no text; an index says no more than the place in the list does."""
    function = logged.get("function") if isinstance(logged, dict) else None
    if not isinstance(function, dict):
        return Other(PROVIDER, {"tool_calls": logged})
    made = call(string(logged, "id"), number, function.get("name"), arguments(function.get("arguments")), {})
    if len(logged) == 1 and len(function) == 2 and made.name:  # as most are
        return made
    inner = native(PROVIDER, function, "index", "arguments", *text_members(function, "name")).get(PROVIDER)
    rest = {**logged, "function": inner}
    return replace(made, native=native(PROVIDER, rest, "type", "index", *([] if made.made_up else ["id"])))


# Results


def _result(turn: Object, state: State) -> LoadedTurn:
    """A result, by its id, else by its tool's name, else by its position among the calls that wait."""
    logged, name = string(turn, "tool_call_id"), string(turn, "tool_name") or string(turn, "name")
    answered, state = state.answer(logged, name)
    value, more = turn.get("content"), Native()
    is_json = not isinstance(value, str | None)
    description = compact(value) if is_json else value or ""
    is_usual = turn.get("tool_name", name) == name and turn.get("tool_call_id", logged) == logged
    if not (is_usual and _USUAL.issuperset(turn)):
        read = [key for key in ("tool_name", "name") if turn.get(key) == name]
        more = native(PROVIDER, turn, "role", "content", "images", KEY, *read, *(["tool_call_id"] if logged else []))
    said, outcome = parse_outcome(
        (Text(description),) if description else (), is_marked=KEY in turn and is_failed(turn)
    )
    shown = (*said, *(_images(turn) if "images" in turn else ()))
    made = Result(answered, name, shown, is_json, outcome, not logged, more)
    return LoadedTurn([Turn("tool", (made,))], state.evolve(by_assistant=False) if state.by_assistant else state)


def tools(value: Json) -> Tools:
    """Functions as they stand; anything else is no function."""
    functions = [
        tool if "type" in tool else {"type": "function", **tool} for tool in as_list(value) if _is_function(tool)
    ]
    return Tools(functions, [tool for tool in as_list(value) if not _is_function(tool)])


def _is_function(tool: Json) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("function"), dict)
