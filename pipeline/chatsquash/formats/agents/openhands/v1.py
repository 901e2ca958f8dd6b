"""Events of the second generation, whose kinds distinguish the input and output of the model."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from chatsquash.core.model import Conversation, Json, Tool
from chatsquash.core.reasoning import MEMBERS
from chatsquash.formats import parts
from chatsquash.formats.base import expect_object
from chatsquash.formats.calls import tool_message
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, load_conversation, moment
from chatsquash.formats.parts import image, text
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.truncation import reaches
from chatsquash.formats.values import Object, as_list, at, count, kind, objects, string, texts, without

_CONTENT = ("system_prompt", "dynamic_context", "tools", "llm_message", "extended_content", "thought")
_CALL_MEMBERS = ("tool_call", "tool_call_id", "tool_name", "llm_response_id", "responses_reasoning_item", *MEMBERS)
_RESULT_MEMBERS = ("observation", "error", "rejection_reason")
_READ = ("kind", "id", "timestamp", "source", *_CONTENT, *_CALL_MEMBERS, *_RESULT_MEMBERS)
_ANSWERS = ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation")
_FAILED = "[An error occurred during execution.]\n"
"""The text before the content of a failed result."""
_CLIPPED = (
    "<response clipped><NOTE>Due to the max output limit, only part of the full response has been shown to you.</NOTE>"
)
_LONGEST = 30_000
"""The maximum length of terminal output in characters; OpenHands does not send the middle of longer output."""


def is_event(value: Json) -> bool:
    """Return whether a value is an event."""
    if not isinstance(value, dict) or not value.keys() >= {"kind", "source", "id"}:
        return False
    return string(value, "kind").endswith(("Event", "Observation", "Condensation", "CondensationRequest"))


class Event(NamedTuple):
    """An event, and its line."""

    line: int
    event: Object


class ModelUsage(NamedTuple):
    """The model of a session, its output limit, and its token counts by response id."""

    model: str | None
    limit: int | None = None
    counts: Mapping[str, tuple[int | None, int | None]] = MappingProxyType({})

    def evidence(self, known: Evidence, event: Object) -> Evidence:
        """Return the evidence for a reply; a reply that reached the output limit was stopped by it."""
        answer = string(event, "llm_response_id") or None
        prompt, completion = self.counts.get(answer or "", (None, None))
        return replace(
            known,
            is_sampled=True,
            model=self.model,
            prompt_tokens=prompt,
            completion_tokens=completion,
            finish_reason="length" if reaches(completion, self.limit) else None,
            response_id=answer,
        )


def usage(state: Json) -> ModelUsage:
    """Return the model, its output limit and its token counts in a session's state; older states have no counts."""
    settings = at(state, "agent", "llm")
    metrics = at(state, "stats", "usage_to_metrics", string(settings, "usage_id") or "agent")
    counts = {
        answer: (count(each.get("prompt_tokens")), count(each.get("completion_tokens")))
        for each in objects(at(metrics, "token_usages"))
        if (answer := string(each, "response_id"))
    }
    return ModelUsage(string(settings, "model") or None, count(at(settings, "max_output_tokens")), counts)


def conversation(events: list[Event], model: ModelUsage, unread: Unread) -> Conversation:
    """Return the conversation of a run, including condensed events; the actions of a response form one message."""
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
                is_reply = at(event, "llm_message", "role") == "assistant" and event.get("source") == "agent"
                known = model.evidence(known, event) if is_reply else known
            case "ActionEvent":
                key = string(event, "llm_response_id") or where
                before = turns[key][1] if key in turns else {}
                turns[key] = (turns[key][0] if key in turns else where, _action(event, before, where))
                evidence.setdefault(key, model.evidence(known, event))
            case str(event_kind) if event_kind in _ANSWERS:
                turns[where] = (where, _answer(event))
            case event_kind:
                unread.count(f"event of kind {event_kind if isinstance(event_kind, str) else kind(event_kind)}")
                continue
        unread.count_members(string(event, "kind"), event, *_READ)
        evidence.setdefault(where, known)
    logged_turns = [LoggedTurn(where, _with_content(turn), evidence[key]) for key, (where, turn) in turns.items()]
    return load_conversation(openai_chat, logged_turns, tools)


def _with_content(turn: Object) -> Object:
    """Return a turn with its parts converted to content."""
    content = turn["content"]
    if not isinstance(content, list):
        return turn
    return {**turn, "content": parts.content(content, beside_calls=bool(turn.get("tool_calls")))}


def _parts(content: Json) -> list[Json]:
    """Convert content to OpenAI chat parts."""
    parts_of: list[Json] = []
    for part in as_list(content):
        match part:
            case str():
                parts_of.append(text(part))
            case {"type": "image", "image_urls": list(urls)}:
                parts_of += [image(url) for url in urls if isinstance(url, str)]
            case {"text": str(words)}:
                parts_of.append(text(words))
            case _:
                parts_of.append(part)
    return parts_of


def _message(event: Object, where: str) -> Object:
    """Convert a message, including the context that OpenHands added."""
    message = expect_object(event.get("llm_message"), f"{where}: llm_message is")
    content = [*_parts(message.get("content")), *_parts(event.get("extended_content"))]
    calls = [_call(call) for call in objects(message.get("tool_calls"))]
    members = {name: message[name] for name in ("name", "tool_call_id") if message.get(name) is not None}
    call_members = {"tool_calls": calls} if calls else {}
    thoughts = _thought(message) if message.get("role") == "assistant" else {}
    return {"role": message.get("role"), **members, "content": content, **thoughts, **call_members}


def _call(call: Object) -> Object:
    """Convert a call, whose name is next to its id or in ``function``, as in OpenAI chat."""
    function = call.get("function")
    if not isinstance(function, dict):
        function = {key: call[key] for key in ("name", "arguments") if key in call}
    return {"id": call.get("id"), "type": "function", "function": function}


def _thought(holder: Object) -> Object:
    """Return the reasoning of a message or an action; an OpenAI Responses item is added to the details."""
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
    """Add the call of an action to the message of its response, whose first action contains the reasoning."""
    call = expect_object(event.get("tool_call"), f"{where}: tool_call is")
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
    extra_parts = _parts(event.get("extended_content"))
    content = _observation_content(observed)
    outcome = "failed" if at(observed, "is_error") is True else ""
    return tool_message(call_id, [*_parts(content), *extra_parts] if extra_parts else content, outcome, name)


def _observation_content(observed: Json) -> Json:
    """Return the content of an observation, its output (in older versions), or the complete observation."""
    if not isinstance(observed, dict):
        return observed if observed is not None else ""
    content = observed.get("content")
    if isinstance(content, list):
        failed = [text(_FAILED)] if observed.get("is_error") is True else []
        return [*failed, *_with_metadata(_parts(content), observed.get("metadata"))]
    if isinstance(content, str):
        return content
    return observed["output"] if isinstance(observed.get("output"), str) else without(observed, "kind")


def _with_metadata(content: list[Json], metadata: Json) -> list[Json]:
    """Add the metadata to terminal output in the same way as the terminal tool in version 1.2 of the SDK."""
    if not isinstance(metadata, dict) or not isinstance(metadata.get("suffix"), str):
        return content
    pieces = [string(metadata, "prefix"), *texts(content), metadata["suffix"]]
    if folder := string(metadata, "working_dir"):
        pieces.append(f"\n[Current working directory: {folder}]")
    if interpreter := string(metadata, "py_interpreter_path"):
        pieces.append(f"\n[Python interpreter: {interpreter}]")
    if (code := metadata.get("exit_code")) != -1 and isinstance(code, int):
        pieces.append(f"\n[Command finished with exit code {code}]")
    return [text(_clip("".join(pieces)))]


def _clip(output: str) -> str:
    """Return a text, without its middle if it is too long."""
    if len(output) <= _LONGEST:
        return output
    remaining = _LONGEST - len(_CLIPPED)
    return output[: remaining - remaining // 2] + _CLIPPED + output[-(remaining // 2) :]


def _tool(tool: Object) -> Json:
    """Convert the tool of a system prompt to OpenAI's form."""
    mcp = tool.get("mcp_tool")
    own = mcp if isinstance(mcp, dict) else tool
    if "function" in own or not string(own, "name"):
        return tool
    members = {"name": own["name"], "description": own.get("description"), "parameters": own.get("inputSchema")}
    return {"type": "function", "function": without(members)}
