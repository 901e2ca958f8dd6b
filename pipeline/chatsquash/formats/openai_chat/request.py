"""What a request of OpenAI chat holds: messages and tools."""

from __future__ import annotations

from chatsquash import reasoning
from chatsquash.chat import BREAKS, PRIVATE, Private, private
from chatsquash.formats import parts
from chatsquash.formats.base import LoadedTurn, Tools, TurnError, with_private
from chatsquash.formats.calls import State, arguments, names
from chatsquash.formats.openai_chat.members import identifier, is_empty, keep
from chatsquash.formats.values import Object, at, compact, kind, listed, objects
from chatsquash.model import Json

START = State()

_MEDIA = ("image_url", "input_audio", "file", "refusal", "video_url")
_SIGNATURES = (
    ("thought_signature",),
    ("function", "thought_signature"),
    ("extra_content", "google", "thought_signature"),
    ("provider_specific_fields", "thought_signature"),
)


def load(turn: Json, state: State) -> LoadedTurn:
    """One message in the canonical form."""
    if not isinstance(turn, dict):
        raise TurnError("is no object")
    role = turn.get("role")
    if not isinstance(role, str) or not role:
        raise TurnError("has no role")
    message = {key: value for key, value in turn.items() if key != PRIVATE}
    extra = dict(private(turn))
    if PRIVATE in turn and not isinstance(turn[PRIVATE], Private):
        keep(extra, {PRIVATE: turn[PRIVATE]})
    if role == "assistant":
        state = _assistant(message, extra, state)
    elif role in ("tool", "function"):
        state = _result(message, extra, state)
    else:
        _content(message, extra)
    return LoadedTurn([with_private(message, extra)], state)  # type: ignore[arg-type]


def _assistant(message: Object, extra: Object, state: State) -> State:
    """Some vendors fill in all members that they know, with nothing in them; those count as missing."""
    for name in ("function_call", "audio", "refusal"):
        if name in message and is_empty(message[name]):
            del message[name]
    seams = _seams(message.get("content"))
    thought = _reasoning(message, extra)
    message.setdefault("content", None)
    _content(message, extra)
    if seams.breaks and isinstance(message["content"], list):
        extra[BREAKS] = seams.breaks
    if thought:
        message["reasoning_content"] = thought
    return _calls(message, extra, state)


def _reasoning(message: Object, extra: Object) -> str:
    """Take the reasoning out of a message: its text, what else it has goes aside."""
    taken = reasoning.take(message)
    for each in taken.odd:
        keep(extra, each)
    extra["thinking"] = taken.blocks or extra.get("thinking")
    named = taken.source not in ("", reasoning.MEMBER)
    extra["reasoning_key"] = taken.source if named else extra.get("reasoning_key")
    return taken.text


def _seams(content: Json) -> parts.Seams:
    """Where reasoning stood between parts, or what is none."""
    seams, place = parts.Seams(), 0
    for part in content if isinstance(content, list) else ():
        if reasoning.is_part(part) or _part(part) is None:
            seams.other()
        else:
            seams.part(place)
            place += 1
    return seams


def _content(message: Object, extra: Object) -> None:
    """A list with one text is that text; what is no part of a message is kept aside, or is a result's JSON."""
    content, is_result = message.get("content"), message["role"] == "tool"
    if content is None or isinstance(content, str):
        return
    if is_result and not _is_parts(content):
        message["content"], extra["json"] = compact(content), True
        return
    if not isinstance(content, list):
        raise TurnError(f"has content that is {kind(content)}")
    kept = []
    for logged in content:
        part = _part(logged)
        if part is None:
            keep(extra, logged)
        else:
            kept.append(part)
    message["content"] = _collapsed(kept, message["role"], extra)


def _is_parts(content: Json) -> bool:
    """Whether a result's content is a list of parts; any other list is JSON that the tool returned."""
    if not isinstance(content, list):
        return False
    typed = all(isinstance(p, str) or (isinstance(p, dict) and isinstance(p.get("type", ""), str)) for p in content)
    return typed and (not content or any(_part(part) for part in content))


def _part(part: Json) -> Object | None:
    """A part as OpenAI spells it; ``None`` for what it has no part for."""
    if isinstance(part, str):
        return parts.text(part)
    of = part.get("type") or "text" if isinstance(part, dict) else None
    if of == "text" and isinstance(part.get("text"), str):
        return {"type": "text", **{key: value for key, value in part.items() if key != "type"}}
    if of == "image_url" and isinstance(part.get(of), str):
        return {**part, of: {"url": part[of]}}
    if of == "document_url" and isinstance(part.get(of), str):
        return parts.file(file_data=part[of], filename=part.get("document_name") or None)
    return part if of in _MEDIA and part.get(of) is not None else None


def _collapsed(kept: list[Object], role: str, extra: Object) -> Json:
    text = parts.alone(kept)
    if kept and text is None:
        return kept
    extra["content_list"] = True
    if not kept:
        return None if role == "assistant" else ""
    extra["part"] = {key: value for key, value in kept[0].items() if key not in ("type", "text")}
    return text


def _calls(message: Object, extra: Object, state: State) -> State:
    """Give every call a type, an id and its arguments as text."""
    calls = []
    for call in _all_calls(message, extra):
        loaded, state = _call(call, state)
        calls.append(loaded)
    if not calls:
        return state
    message["tool_calls"] = calls
    return state.but(open=names(calls))


def _all_calls(message: Object, extra: Object) -> list[Object]:
    """Take the calls out of a message: the legacy one is another, unless it repeats one of them."""
    logged, legacy = message.pop("tool_calls", None), message.pop("function_call", None)
    calls = objects(logged)
    odd = [call for call in logged if not isinstance(call, dict)] if isinstance(logged, list) else logged
    if not is_empty(odd):
        keep(extra, {"tool_calls": odd})
    if legacy is not None and not isinstance(legacy, dict):
        keep(extra, {"function_call": legacy})
    elif legacy and legacy not in [call.get("function") for call in calls]:
        calls.append({"function": legacy, PRIVATE: Private({"from": "function_call"})})
    return calls


def _call(call: Object, state: State) -> tuple[Object, State]:
    held = dict(private(call))
    given = identifier(call.get("id"))
    held["synthetic_id"] = given is None or held.get("synthetic_id")
    held["signature"] = next(filter(None, (at(call, *path) for path in _SIGNATURES)), held.get("signature"))
    rest = {key: value for key, value in call.items() if key != PRIVATE and not (key == "custom" and is_empty(value))}
    of = rest.get("type") or ("custom" if "custom" in rest and not rest.get("function") else "function")
    first = {"id": given or f"call_{state.call}", "type": of}
    loaded = {**first, **rest, **first}
    for key, member in (("function", "arguments"), ("custom", "input")):
        if isinstance(rest.get(key), dict):
            loaded[key] = {**rest[key], member: arguments(rest[key].get(member), "{}" if key == "function" else "")}
    following = state if given else state.but(call=state.call + 1)
    return with_private(loaded, held), following  # type: ignore[arg-type, return-value]


def _result(message: Object, extra: Object, state: State) -> State:
    """A result without an id answers the first open call of its name, else the first open call, else none."""
    if message["role"] == "function":
        message["role"], extra["from"] = "tool", "function"
    _content(message, extra)
    given = identifier(message.get("tool_call_id"))
    message["tool_call_id"], state = state.answer(given or "", message.get("name"))
    extra["synthetic_id"] = given is None or extra.get("synthetic_id")
    return state


def tools(value: Json) -> Tools:
    """Function and custom tools; any other type is run by the vendor."""
    functions, hosted = [], []
    for tool in listed(value):
        if isinstance(tool, dict) and isinstance(tool.get("function"), dict):
            functions.append({"type": "function", **tool} if not tool.get("type") else tool)
        elif isinstance(tool, dict) and tool.get("type") in (None, "function") and "name" in tool:
            functions.append({"type": "function", "function": {k: v for k, v in tool.items() if k != "type"}})
        elif isinstance(tool, dict) and isinstance(tool.get("custom"), dict):
            functions.append(tool)
        else:
            hosted.append(tool)
    return Tools(functions, hosted)
