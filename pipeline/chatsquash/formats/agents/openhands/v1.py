"""Events of the second generation, whose kinds tell what was said to the model and by it."""

from __future__ import annotations

from typing import NamedTuple

from chatsquash.core.model import Conversation, Json, Tool
from chatsquash.core.reasoning import MEMBERS
from chatsquash.formats import parts
from chatsquash.formats.base import expect_object
from chatsquash.formats.calls import tool_message
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, load_conversation, moment
from chatsquash.formats.parts import image, text
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.values import Object, as_list, at, kind, objects, string, without

_SAID = ("system_prompt", "dynamic_context", "tools", "llm_message", "extended_content", "thought")
_CALLED = ("tool_call", "tool_call_id", "tool_name", "llm_response_id", "responses_reasoning_item", *MEMBERS)
_ANSWERED = ("observation", "error", "rejection_reason")
_READ = ("kind", "id", "timestamp", "source", *_SAID, *_CALLED, *_ANSWERED)
_ANSWERS = ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation")


def is_event(value: Json) -> bool:
    """Whether a value is an event."""
    if not isinstance(value, dict) or not value.keys() >= {"kind", "source", "id"}:
        return False
    return string(value, "kind").endswith(("Event", "Observation", "Condensation", "CondensationRequest"))


class Event(NamedTuple):
    """An event and its line."""

    line: int
    event: Object


def conversation(events: list[Event], model: str | None, unread: Unread) -> Conversation:
    """Return what the model saw; actions of one response are one message, and condensed events stay."""
    turns: dict[str, tuple[str, Object]] = {}
    evidence: dict[str, Evidence] = {}
    tools: list[Tool] = []
    for place, (line, event) in enumerate(events):
        where = f"event {place}"
        known = Evidence(line, moment(event.get("timestamp")))
        match event.get("kind"):
            case "SystemPromptEvent":
                prompts = [event.get("system_prompt"), event.get("dynamic_context")]
                turns[where] = (where, {"role": "system", "content": _parts([each for each in prompts if each])})
                tools = tools or openai_chat.tools([_tool(tool) for tool in objects(event.get("tools"))]).functions
            case "MessageEvent":
                turns[where] = (where, _message(event, where))
                is_said = at(event, "llm_message", "role") == "assistant" and event.get("source") == "agent"
                known = known._replace(is_sampled=is_said, model=model if is_said else None)
            case "ActionEvent":
                key = string(event, "llm_response_id") or where
                before = turns[key][1] if key in turns else {}
                turns[key] = (turns[key][0] if key in turns else where, _action(event, before, where))
                answer = string(event, "llm_response_id") or None
                evidence.setdefault(key, known._replace(is_sampled=True, model=model, response_id=answer))
            case str(of) if of in _ANSWERS:
                turns[where] = (where, _answer(event))
            case of:
                unread.one(f"event of the kind {of if isinstance(of, str) else kind(of)}")
                continue
        unread.rest(string(event, "kind"), event, *_READ)
        evidence.setdefault(where, known)
    logged = [LoggedTurn(where, _with_content(turn), evidence[key]) for key, (where, turn) in turns.items()]
    return load_conversation(openai_chat, logged, tools)


def _with_content(turn: Object) -> Object:
    """Return a turn with its parts as content."""
    content = turn["content"]
    if not isinstance(content, list):
        return turn
    return {**turn, "content": parts.content(content, beside_calls=bool(turn.get("tool_calls")))}


def _parts(content: Json) -> list[Json]:
    """Return contents as parts of OpenAI chat."""
    parts_of: list[Json] = []
    for part in as_list(content):
        match part:
            case str():
                parts_of.append(text(part))
            case {"type": "image", "image_urls": list(urls)}:
                parts_of += [image(url) for url in urls if isinstance(url, str)]
            case {"text": str(said)}:
                parts_of.append(text(said))
            case _:
                parts_of.append(part)
    return parts_of


def _message(event: Object, where: str) -> Object:
    """Return a message with the context that was added to it."""
    said = expect_object(event.get("llm_message"), f"{where} has an llm_message that is")
    content = [*_parts(said.get("content")), *_parts(event.get("extended_content"))]
    calls = [_call(call) for call in objects(said.get("tool_calls"))]
    members = {name: said[name] for name in ("name", "tool_call_id") if said.get(name) is not None}
    called = {"tool_calls": calls} if calls else {}
    thoughts = _thought(said) if said.get("role") == "assistant" else {}
    return {"role": said.get("role"), **members, "content": content, **thoughts, **called}


def _call(call: Object) -> Object:
    """A call, which has its name beside its id, or within a function as elsewhere."""
    called = call.get("function")
    if not isinstance(called, dict):
        called = {key: call[key] for key in ("name", "arguments") if key in call}
    return {"id": call.get("id"), "type": "function", "function": called}


def _thought(holder: Object) -> Object:
    """The reasoning in a message or an action, with the item of OpenAI Responses among the details."""
    thoughts = {name: holder[name] for name in MEMBERS if holder.get(name)}
    item = holder.get("responses_reasoning_item")
    if isinstance(item, dict):
        texts = [
            each for each in [*as_list(item.get("content")), *as_list(item.get("summary"))] if isinstance(each, str)
        ]
        block = {"text": "\n\n".join(texts), "data": item.get("encrypted_content"), "id": item.get("id")}
        details = {key: value for key, value in block.items() if value}
        thoughts["reasoning_details"] = [*as_list(thoughts.get("reasoning_details")), details]
    return thoughts


def _action(event: Object, before: Object, where: str) -> Object:
    """Return an assistant's message with the call of an action; the first action of a response has its thoughts."""
    call = expect_object(event.get("tool_call"), f"{where} has a tool_call that is")
    content = [*before.get("content", []), *_parts(event.get("thought"))]
    thoughts = {name: before[name] for name in MEMBERS if name in before} or _thought(event)
    calls = [*before.get("tool_calls", []), _call({"id": event.get("tool_call_id"), **without(call)})]
    return {"role": "assistant", "content": content, **thoughts, "tool_calls": calls}


def _answer(event: Object) -> Object:
    """Return the result of a call: an observation, an error or the user's rejection."""
    call_id, name = event.get("tool_call_id"), event.get("tool_name")
    if event["kind"] == "AgentErrorEvent":
        return tool_message(call_id, string(event, "error"), "failed", name)
    if event["kind"] == "UserRejectObservation":
        return tool_message(call_id, f"Action rejected: {string(event, 'rejection_reason')}", "denied", name)
    observed = event.get("observation")
    added = _parts(event.get("extended_content"))
    content = _observed(observed)
    outcome = "failed" if at(observed, "is_error") is True else ""
    return tool_message(call_id, [*_parts(content), *added] if added else content, outcome, name)


def _observed(observed: Json) -> Json:
    """Return what a tool returned: its content, its output (older versions), or everything."""
    if not isinstance(observed, dict):
        return observed if observed is not None else ""
    if isinstance(observed.get("content"), str | list):
        return _parts(observed["content"]) if isinstance(observed["content"], list) else observed["content"]
    return observed["output"] if isinstance(observed.get("output"), str) else without(observed, "kind")


def _tool(tool: Object) -> Json:
    """Return a tool of a system prompt in OpenAI's form; OpenHands' own have no schema."""
    mcp = tool.get("mcp_tool")
    own = mcp if isinstance(mcp, dict) else tool
    if "function" in own or not string(own, "name"):
        return tool
    members = {"name": own["name"], "description": own.get("description"), "parameters": own.get("inputSchema")}
    return {"type": "function", "function": without(members)}
