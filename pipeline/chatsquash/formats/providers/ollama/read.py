"""Load the messages and the tools of requests to Ollama."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from chatsquash.core.blocks import Block, Media, Native, Other, Reasoning, Result, Text, Turn
from chatsquash.core.model import Json
from chatsquash.formats import parts
from chatsquash.formats.base import LoadedTurn, Tools, TurnError
from chatsquash.formats.calls import State, arguments, call, native
from chatsquash.formats.values import Object, as_list, compact, kind, string, text_members
from chatsquash.formats.writing import KEY, are_instructions, is_failed, parse_outcome

PROVIDER = "ollama"
START = State()

_ROLES = ("system", "developer", "user", "assistant", "tool")
_RESULT_MEMBERS = frozenset(("role", "content", "images", "tool_name", "tool_call_id"))
"""The members of results that are loaded."""
_ASSISTANT_MEMBERS = frozenset(("role", "content", "images", "thinking", "tool_calls"))
"""The members of assistant messages that are loaded."""


def load(turn: Json, state: State) -> LoadedTurn:
    """Load each message as one turn."""
    if not isinstance(turn, dict):
        raise TurnError("not an object")
    if not isinstance(turn.get("role"), str):
        raise TurnError("no role")
    role = turn["role"].lower()  # the server ignores case
    if role not in _ROLES:
        raise TurnError(f"unknown role {compact(role)[:40]}; expected one of {', '.join(_ROLES)}")
    content = turn.get("content")
    if not isinstance(content, str | None) and role != "tool":
        raise TurnError(f"content is {kind(content)}, expected a string")
    if role == "assistant":
        loaded_turn, state = load_assistant(turn, state)
        return LoadedTurn([loaded_turn], state)
    if role == "tool":
        return _result(turn, state)
    blocks = (Text(content),) if content else ()
    if len(turn) == 2 and "content" in turn:  # the usual case
        loaded_turn = Turn(role, blocks)
    else:
        more = native(PROVIDER, turn, "role", "content", "images", KEY)
        loaded_turn = Turn(role, (*blocks, *_images(turn)), are_instructions(turn), more)
    return LoadedTurn([loaded_turn], state.evolve(by_assistant=False) if state.by_assistant else state)


def _images(turn: Object) -> Iterator[Block]:
    """Load images; images of unknown types become native blocks."""
    for image in as_list(turn.get("images")):
        yield _image(image) or Other(PROVIDER, {"images": image})


def _image(image: Json) -> Media | None:
    """Load an image from a data URL, or from base64 with the first bytes of a known type; ``None`` for other values."""
    if not isinstance(image, str):
        return None
    if image.startswith("data:image/"):
        match = parts.DATA_URL.fullmatch(image)
        return Media("image", match[1], match[2]) if match and match[2] else Media("image", url=image)
    data = parts.standard_base64(image)
    mime = parts.image_type(parts.decode_base64(data[:16]) or b"")
    return Media("image", mime, data) if mime else None


# The assistant


def load_assistant(turn: Object, state: State) -> tuple[Turn, State]:
    """Load an assistant turn, and return it with the next state."""
    assistant_turn = _assistant_turn(turn, state.call)
    return assistant_turn, state.after_calls(assistant_turn.blocks, by_assistant=True)


def _assistant_turn(turn: Object, number: int) -> Turn:
    """Load reasoning, text, images and calls, in this order."""
    blocks = list[Block]()
    thinking, content = turn.get("thinking"), turn.get("content")
    if thinking:
        blocks.append(Reasoning(thinking) if isinstance(thinking, str) else Other(PROVIDER, {"thinking": thinking}))
    if content:
        blocks.append(Text(content))
    if "images" in turn:
        blocks += _images(turn)
    for each in as_list(turn["tool_calls"]) if "tool_calls" in turn else ():
        block = _call(each, number)
        number += getattr(block, "made_up", False)
        blocks.append(block)
    more = {} if _ASSISTANT_MEMBERS.issuperset(turn) else native(PROVIDER, turn, KEY, *_ASSISTANT_MEMBERS)
    return Turn("assistant", tuple(blocks), native=more)


def _call(logged_call: Json, number: int) -> Block:
    """Load a call, without its index, which repeats its position, and without ids that are not strings."""
    function = logged_call.get("function") if isinstance(logged_call, dict) else None
    if not isinstance(function, dict):
        return Other(PROVIDER, {"tool_calls": logged_call})
    loaded_call = call(
        string(logged_call, "id"), number, function.get("name"), arguments(function.get("arguments")), {}
    )
    if len(logged_call) == 1 and len(function) == 2 and loaded_call.name:  # the usual case
        return loaded_call
    inner = native(PROVIDER, function, "index", "arguments", *text_members(function, "name")).get(PROVIDER)
    rest = {**logged_call, "function": inner}
    return replace(
        loaded_call, native=native(PROVIDER, rest, "type", "index", *([] if loaded_call.made_up else ["id"]))
    )


# Results


def _result(turn: Object, state: State) -> LoadedTurn:
    """Load a result and match it with a call based on its id or tool name; otherwise, with the first open call."""
    logged_id, name = string(turn, "tool_call_id"), string(turn, "tool_name") or string(turn, "name")
    call_id, state = state.answer(logged_id, name)
    value, more = turn.get("content"), Native()
    is_json = not isinstance(value, str | None)
    description = compact(value) if is_json else value or ""
    is_usual = turn.get("tool_name", name) == name and turn.get("tool_call_id", logged_id) == logged_id
    if not (is_usual and _RESULT_MEMBERS.issuperset(turn)):
        read = [key for key in ("tool_name", "name") if turn.get(key) == name]
        more = native(PROVIDER, turn, "role", "content", "images", KEY, *read, *(["tool_call_id"] if logged_id else []))
    blocks, outcome = parse_outcome(
        (Text(description),) if description else (), is_marked=KEY in turn and is_failed(turn)
    )
    content = (*blocks, *(_images(turn) if "images" in turn else ()))
    result = Result(call_id, name, content, is_json, outcome, not logged_id, more)
    return LoadedTurn([Turn("tool", (result,))], state.evolve(by_assistant=False) if state.by_assistant else state)


def tools(value: Json) -> Tools:
    """Load function definitions, which have the same form as in OpenAI chat; all other tools are treated as hosted."""
    functions, hosted = list[Json](), list[Json]()
    for tool in as_list(value):
        if isinstance(tool, dict) and isinstance(tool.get("function"), dict):
            functions.append(tool if "type" in tool else {"type": "function", **tool})
        else:
            hosted.append(tool)
    return Tools(functions, hosted)
