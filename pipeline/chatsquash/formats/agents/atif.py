"""ATIF, the Agent Trajectory Interchange Format: steps with the results of their calls inside."""

from __future__ import annotations

from collections.abc import Iterator

from chatsquash.chat import PRIVATE, Private
from chatsquash.formats import openai_chat
from chatsquash.formats.base import TurnError
from chatsquash.formats.bodies import replayed
from chatsquash.formats.parts import data_url, image
from chatsquash.formats.values import Object, at, compact, kind, objects, string, without
from chatsquash.model import Conversation, Json, Tool

NAME = "atif"
HOLDS_TOOLS = True

_ROLES = {"system": "system", "user": "user", "agent": "assistant"}
_FAILED = ("is_error", "tool_result_is_error")


def fits(found: list[Json]) -> str | None:
    """Every object names a version of the format."""
    versions = [string(each, "schema_version") for each in found]
    return f"schema_version {versions[0]}" if found and all(each.startswith("ATIF-") for each in versions) else None


def conversations(found: list[Json]) -> list[Conversation]:
    """A conversation per trajectory, those of subagents behind the one that called them."""
    trajectories = [each for place, value in enumerate(found, 1) for each in _nested(value, f"entry {place}")]
    whole = [_conversation(trajectory, place) for place, trajectory in trajectories]
    return [each for each in whole if each.messages]


def _nested(value: Json, place: str) -> list[tuple[str, Object]]:
    """A trajectory and those embedded in it, at any depth, with their places."""
    found: list[tuple[str, Object]] = []
    waiting = [(place, value)]
    while waiting:
        where, trajectory = waiting.pop(0)
        if not isinstance(trajectory, dict):
            raise TurnError(f"{where} is {kind(trajectory)}, not an object")
        found.append((where, trajectory))
        inner = trajectory.get("subagent_trajectories") or []
        if not isinstance(inner, list):
            raise TurnError(f"{where} has subagent_trajectories that are {kind(inner)}, not a list")
        waiting[:0] = [(f"{where}, subagent_trajectories[{number}]", each) for number, each in enumerate(inner)]
    return found


def _conversation(trajectory: Object, place: str) -> Conversation:
    steps = trajectory.get("steps")
    if not isinstance(steps, list):
        raise TurnError(f"{place} has steps that are {kind(steps)}, not a list")
    turns = []
    for number, step in enumerate(steps):
        where = f"{place}, steps[{number}]"
        if not isinstance(step, dict):
            raise TurnError(f"{where} is {kind(step)}, not an object")
        # What was copied from an earlier trajectory stands in that one.
        if step.get("is_copied_context") is not True:
            turns += [(where, turn) for turn in _turns(step, where)]
    return Conversation(replayed(openai_chat, turns), _tools(trajectory))


def _tools(trajectory: Object) -> list[Tool]:
    return list(openai_chat.tools(at(trajectory, "agent", "tool_definitions")).functions)


def _turns(step: Object, where: str) -> Iterator[Object]:
    """A step's message, and the results that were observed."""
    role = _ROLES.get(string(step, "source"))
    if role is None:
        raise TurnError(f"{where} has the source {compact(step.get('source'))[:40]}; it is system, user or agent")
    calls = [_call(call) for call in objects(step.get("tool_calls"))]
    content = _content(step.get("message"))
    message: Object = {"role": role, "content": None if calls and content == "" else content}
    if role == "assistant" and string(step, "reasoning_content"):
        message["reasoning_content"] = step["reasoning_content"]
    yield {**message, "tool_calls": calls} if calls else message
    for result in objects(at(step, "observation", "results")):
        yield _result(result, called=bool(calls))


def _call(call: Object) -> Object:
    function = without({"name": call.get("function_name"), "arguments": call.get("arguments")})
    return {"id": call.get("tool_call_id"), "type": "function", "function": function}


def _result(result: Object, *, called: bool) -> Object:
    """A result; what was observed without any call is told as the user tells it."""
    call_id, content = string(result, "source_call_id"), _content(result.get("content"))
    if not call_id and not called:
        return {"role": "user", "content": content}
    referred = result.get("subagent_trajectory_ref")
    native = [{"subagent_trajectory_ref": referred}] if referred else []
    failed = any(at(result, "extra", name) is True for name in _FAILED)
    held = {**({"native": native} if native else {}), **({"is_error": True} if failed else {})}
    return {"role": "tool", "tool_call_id": call_id, "content": content, PRIVATE: Private(held)}


def _content(content: Json) -> Json:
    """A text, or parts as OpenAI chat has them."""
    if content is None:
        return ""
    return [_part(part) for part in content] if isinstance(content, list) else content


def _part(part: Json) -> Json:
    """A part; an image may be data or lie at a path."""
    match part:
        case {"type": "image", "source": {"media_type": str(mime), "data": str(data)}}:
            return image(data_url(mime, data))
        case {"type": "image", "source": {"path": str(path)}}:
            return image(path)
    return part
