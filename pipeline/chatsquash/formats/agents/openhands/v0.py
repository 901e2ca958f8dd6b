"""Events of the first generation: actions and observations, which repeat the model's response."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from chatsquash.core import reasoning
from chatsquash.core.chat import PRIVATE, Private
from chatsquash.core.model import Conversation, Json, Tool
from chatsquash.formats.agents.openhands.v1 import Event
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, load_conversation, moment
from chatsquash.formats.parts import image, text
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.values import Object, as_list, at, compact, count, objects, string, without

_SOURCES = ("agent", "user", "environment")
_STATES = ("null", "change_agent_state", "agent_state_changed", "recall", "pause", "resume", "start", "stop")
_CONDENSING = ("condensation", "condensation_request", "condense", "loop_recovery")
_UNSENT = (*_STATES, *_CONDENSING)
"""The actions and observations that are not sent to the model."""
_DONE = ("action", "observation", "args", "content", "cause", "tool_call_metadata")
_OUTCOMES = {"error": "failed", "user_rejected": "denied"}
_READ = ("id", "timestamp", "source", "message", *_DONE)
_MESSAGE_MEMBERS = ("content", "tool_calls", "refusal", *reasoning.MEMBERS)
_SETTINGS = ("thought", "confirmation_state", "security_risk", "hidden", "blocking", "is_input", "is_confirmed")
"""The arguments that the client adds to actions."""


def is_event(value: Json) -> bool:
    """Return whether a value is an event."""
    if not isinstance(value, dict) or "timestamp" not in value or value.get("source") not in _SOURCES:
        return False
    return isinstance(value.get("action", value.get("observation")), str)


def conversation(events: list[Event], model: str | None, unread: Unread) -> Conversation:
    """Return the conversation of a run."""
    run = _RunReader(model, unread)
    for place, (line, event) in enumerate(events):
        run.add(f"event {place}", line, event)
    return load_conversation(openai_chat, run.turns, run.tools)


@dataclass(slots=True)
class _RunReader:
    model: str | None
    """The configured model of the run."""
    unread: Unread
    turns: list[LoggedTurn] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)
    responses: set[str] = field(default_factory=set)
    """The ids of responses that are already converted; each action of a response repeats the response."""
    calls: dict[str, str] = field(default_factory=dict)
    """The names of actions without a logged call, by event id."""

    def add(self, where: str, line: int, event: Object) -> None:
        self.unread.count_members("event", event, *_READ)
        action, observation = string(event, "action"), string(event, "observation")
        if action and action not in _UNSENT:
            turn = self.act(action, event)
        elif observation and observation not in _UNSENT:
            turn = self.observe(observation, event)
        else:
            self.unread.count(f"event {action or observation or 'without an action'}")
            turn = None
        if turn:
            known = Evidence(line, moment(event.get("timestamp")))
            known = _reply_evidence(event, known, self.model) if turn["role"] == "assistant" else known
            self.turns.append(LoggedTurn(where, turn, known))

    def act(self, action: str, event: Object) -> Object | None:
        """Return the turn of an action: a message or a call; actions without a logged call become calls."""
        args, source = event.get("args"), event.get("source")
        if action == "system":
            self.tools = self.tools or openai_chat.tools(at(args, "tools")).functions
            return {"role": "system", "content": string(args, "content")}
        if isinstance(event.get("tool_call_metadata"), dict):
            return self.call(event)
        if action == "message" or source == "user":
            words = string(args, "content") or string(args, "command") or string(event, "message")
            images = [image(url) for url in as_list(at(args, "image_urls")) if isinstance(url, str)]
            role = "assistant" if source == "agent" else "user"
            return {"role": role, "content": [text(words), *images] if images else words}
        if source != "agent":
            return None
        if action in ("finish", "reject", "think"):
            words = string(args, "final_thought") or string(args, "thought") or string(event, "message")
            return {"role": "assistant", "content": words}
        self.calls[str(event.get("id"))] = action
        return _call_message(event, {}, action)

    def call(self, event: Object) -> Object | None:
        """Return the response of an action, unless it is repeated; without a response, the call of the action."""
        metadata = event["tool_call_metadata"]
        response = metadata.get("model_response")
        choices = objects(at(response, "choices"))
        message = choices[0].get("message") if choices else None
        if not isinstance(message, dict) or not objects(message.get("tool_calls")):
            call_id = string(metadata, "tool_call_id")
            return _call_message(event, {"id": call_id}, string(metadata, "function_name"))
        key = string(response, "id") or compact(message)
        if key in self.responses:
            return None
        self.responses.add(key)
        return {
            "role": "assistant",
            **{name: message[name] for name in _MESSAGE_MEMBERS if message.get(name) is not None},
        }

    def observe(self, observation: str, event: Object) -> Object:
        """Return the turn of an observation: the result of a call, or a user message."""
        metadata, content = event.get("tool_call_metadata"), string(event, "content")
        call_id = string(metadata, "tool_call_id")
        name = string(metadata, "function_name") or self.calls.get(str(event.get("cause")), "")
        if not call_id and not name:
            return {"role": "user", "content": content}
        outcome = _OUTCOMES.get(observation, "success")
        outcomes = {PRIVATE: Private(outcome=outcome)}
        return {"role": "tool", "tool_call_id": call_id, "name": name, "content": content, **outcomes}


def _reply_evidence(event: Object, known: Evidence, model: str | None) -> Evidence:
    """Return the evidence for a reply, based on the response of its action."""
    response = at(event, "tool_call_metadata", "model_response")
    usage, choices = at(response, "usage"), objects(at(response, "choices"))
    return replace(
        known,
        is_sampled=True,
        model=string(response, "model") or model,
        prompt_tokens=count(at(usage, "prompt_tokens")),
        completion_tokens=count(at(usage, "completion_tokens")),
        finish_reason=(string(choices[0], "finish_reason") or None) if choices else None,
        response_id=string(response, "id") or None,
    )


def _call_message(event: Object, call: Object, name: str) -> Object:
    """Convert an action to a message with a call; its thought becomes the content."""
    args = event.get("args")
    arguments = compact(without(args, *_SETTINGS)) if isinstance(args, dict) else "{}"
    call_with_function = {**call, "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": string(args, "thought") or None, "tool_calls": [call_with_function]}
