"""Ollama's ``/api/chat``: messages much like OpenAI's, with objects for arguments and images beside the text."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable

from pipeline.formats import parts
from pipeline.formats.base import Loaded, Mark, Marks, Stream, Tools, TurnError, refused, with_private, wrong
from pipeline.formats.calls import State, arguments, assistant, made_up, result, tool_call
from pipeline.formats.values import Object, compact, kind, listed, objects, string, without
from pipeline.model import Json, Message, Reply

NAME = "ollama"
TURNS = "messages"
SYSTEM: tuple[str, ...] = ()
TOOLS = ("tools",)
REFERS: tuple[str, ...] = ()


START = State()

_ROLES = ("system", "developer", "user", "assistant", "tool")
_MAGIC = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
)


def system(value: Json) -> list[Message]:  # noqa: ARG001 - part of the interface
    """Nothing: the system prompt is one of the turns."""
    return []


def load(turn: Json, state: State) -> Loaded:
    """Each turn is one message."""
    if not isinstance(turn, dict):
        raise TurnError("is no object")
    if not isinstance(turn.get("role"), str):
        raise TurnError("has no role")
    role = turn["role"].lower()  # as the server reads it
    if role not in _ROLES:
        raise TurnError(f"has the role {compact(role)[:40]}, which is none of Ollama's")
    content = turn.get("content")
    if not isinstance(content, str | None) and role != "tool":
        raise TurnError("has a content that is no text")
    if role == "assistant":
        message, state = _said(turn, state)
        return Loaded([message], state)
    if role == "tool":
        return _answered(turn, state)
    private: Object = {"native": _rest(turn, "role", "content", "images")}
    message = {"role": role, "content": _content(turn, content or "", private["native"])}
    return Loaded([with_private(message, private)], state._replace(by_assistant=False))


def close(state: State) -> list[Message]:  # noqa: ARG001 - part of the interface
    """Nothing: every turn is complete in itself."""
    return []


def _rest(holder: Object, *read: str) -> list[Json]:
    """The members that the canonical form has no place for."""
    rest = without(holder, *read)
    return [rest] if rest else []


def _texts(holder: Object, *keys: str) -> list[str]:
    """Those of these members that are texts."""
    return [key for key in keys if isinstance(holder.get(key), str)]


def _content(turn: Object, text: str, native: list[Json]) -> Json:
    """The text, with the images behind it; those of no known kind go to ``native``."""
    images = listed(turn.get("images"))
    urls = [_url(image) for image in images]
    lost = [image for image, url in zip(images, urls, strict=True) if url is None]
    native += [{"images": lost}] if lost else []
    shown = [parts.image(url) for url in urls if url]
    return [*([parts.text(text)] if text else []), *shown] if shown else text


def _url(image: Json) -> str | None:
    """An image as a data URL, by what its first bytes say it is; ``None`` for what is no image."""
    if not isinstance(image, str) or image.startswith("data:image/"):
        return image if isinstance(image, str) else None
    data = parts.standard(image)
    try:
        head = base64.b64decode(data[:16], validate=True)
    except (binascii.Error, ValueError):
        return None
    webp = head[:4] == b"RIFF" and head[8:12] == b"WEBP"
    mime = "image/webp" if webp else next((mime for magic, mime in _MAGIC if head.startswith(magic)), None)
    return parts.data_url(mime, data) if mime else None


def _said(turn: Object, state: State) -> tuple[Message, State]:
    native = _rest(turn, "role", "content", "thinking", "images", "tool_calls")
    calls = _calls(turn.get("tool_calls"), state.call, native)
    content, thinking = _content(turn, turn.get("content") or "", native), string(turn, "thinking")
    if turn.get("thinking") and not thinking:
        native.append({"thinking": turn["thinking"]})
    message = assistant(None if calls and content == "" else content, thinking, calls)
    private = {"thinking": [{"text": thinking}] if thinking else [], "native": native}
    return with_private(message, private), state.called(calls, by_assistant=True)


def _calls(found: Json, number: int, native: list[Json]) -> list[Object]:
    """Calls, with ids made up for those that have none, from a number on."""
    calls: list[Object] = []
    for call in listed(found):
        if isinstance(call, dict) and isinstance(call.get("function"), dict):
            calls.append(_call(call, call["function"], number))
            number += made_up(calls[-1:])
        else:
            native.append({"tool_calls": [call]})
    return calls


def _call(logged: Object, function: Object, number: int) -> Object:
    # An index says no more than the place in the list does.
    rest = _rest(logged, *_texts(logged, "id"), "type", "index", "function")
    rest += [{"function": held} for held in _rest(function, "index", "name", "arguments")]
    known = {"name": function.get("name"), "arguments": arguments(function.get("arguments"))}
    return tool_call(string(logged, "id"), number, known, {"native": rest})


def _answered(turn: Object, state: State) -> Loaded:
    """A result, by its id, else by its tool's name, else by its position among the calls that wait."""
    logged, name = string(turn, "tool_call_id"), string(turn, "tool_name") or string(turn, "name")
    ident, state = state.answer(logged, name)
    value = turn.get("content")
    is_json = value is not None and not isinstance(value, str)
    named = [key for key in _texts(turn, "tool_name", "name") if turn[key] in (name, "")]
    native = _rest(turn, "role", "content", "images", *_texts(turn, "tool_call_id"), *named)
    content = _content(turn, compact(value) if is_json else value or "", native)
    private = {"json": is_json, "synthetic_id": not logged, "native": native}
    return Loaded([with_private(result(ident, name, content), private)], state._replace(by_assistant=False))


def tools(value: Json) -> Tools:
    """Functions as they stand; anything else is no function."""
    functions = [
        tool if "type" in tool else {"type": "function", **tool} for tool in listed(value) if _is_function(tool)
    ]
    return Tools(functions, [tool for tool in listed(value) if not _is_function(tool)])


def _is_function(tool: Json) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("function"), dict)


def reply(body: Json) -> Reply:
    """The message of a response; one that was logged as its chunks is put together first."""
    body = assemble(body).body if isinstance(body, list) else body
    return refused(body) or _answer(body, body.get("message"))


def _answer(body: Object, message: Json) -> Reply:
    if message is None:
        return Reply(problem="the response has no message")
    if not isinstance(message, dict):
        return wrong("response.message", kind(message))
    if not isinstance(message.get("content"), str | None):
        return wrong("response.message.content", kind(message["content"]))
    stopped = string(body, "done_reason") or None
    said, _ = _said(message, START)
    if not said["content"] and said.keys() <= {"role", "content"}:
        return Reply(None, 1, stopped, "the response's message is empty")
    called = stopped == "stop" and "tool_calls" in said
    return Reply(said, 1, "tool_calls" if called else stopped)


def assemble(events: list[Json]) -> Stream:
    """Texts follow each other, and so do calls and images; any other member is the last one's."""
    body: Object = {}
    message: Object = {}
    texts: dict[str, list[str]] = {}
    for event in events:
        if not isinstance(event, dict):
            continue
        if event.get("error"):
            return Stream(event, whole=True)
        if _is_chunk(event):
            body |= event
            _extend(message, texts, event["message"])
    if body:
        joined = {key: "".join(pieces) for key, pieces in texts.items()}
        body["message"] = {**message, **joined}
    return Stream(body, body.get("done") is True)


def _extend(message: Object, texts: dict[str, list[str]], added: Object) -> None:
    for key, value in added.items():
        if key in ("content", "thinking") and isinstance(value, str):
            message[key] = ""  # keeps the order of the members
            texts.setdefault(key, []).append(value)
        elif key in ("tool_calls", "images") and isinstance(value, list):
            message[key] = [*listed(message.get(key)), *value]
        elif value is not None:
            message[key] = value


def _is_chunk(body: Object) -> bool:
    """Whether this is a response or a chunk of one, which look the same."""
    message = body.get("message")
    return isinstance(body.get("done"), bool) and isinstance(message, dict) and isinstance(message.get("role"), str)


def _turns(body: Object) -> list[Object]:
    """The turns of a request; none if one has a list for its content, which Ollama refuses."""
    turns = objects(body.get("messages"))
    return [] if any(isinstance(turn.get("content"), list) for turn in turns) else turns


def _some(test: Callable[[Object], bool]) -> Callable[[Object], bool]:
    return lambda body: any(test(turn) for turn in _turns(body))


def _has_images(turn: Object) -> bool:
    images = turn.get("images")
    return isinstance(images, list) and images != [] and all(isinstance(image, str) for image in images)


def _calls_with_objects(body: Object) -> bool:
    """Whether all arguments are objects, and there are either no ids or indexes inside the functions."""
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
        Mark(7, "thinking beside the content", _some(lambda turn: isinstance(turn.get("thinking"), str))),
        Mark(7, "a list of images", _some(_has_images)),
        Mark(7, "arguments that are objects", _calls_with_objects),
        Mark(8, "options", _with_messages(lambda body: isinstance(body.get("options"), dict))),
        Mark(8, "keep_alive", _with_messages(lambda body: "keep_alive" in body)),
        Mark(8, "think", _with_messages(lambda body: isinstance(body.get("think"), bool | str))),
    ),
    response=(Mark(4, "done and message.role", _is_chunk),),
    event=(Mark(3, "done and message.role", _is_chunk),),
)
