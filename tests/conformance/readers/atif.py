"""What a reader of ATIF sees of a trajectory, by the models of Harbor (harbor 0.26.0, ``harbor.models.trajectories``)."""

from __future__ import annotations

from typing import Any

from .common import Object, arguments, block, text, turn

ROLES = {"system": "system", "user": "user", "agent": "assistant"}


def read(document: Any) -> list[Object]:
    """The turns of a trajectory; the results of a step follow it."""
    found: list[Object] = []
    for step in document["steps"]:
        found.append(_turn(step))
        if results := step.get("observation", {}).get("results", []):
            found.append(turn("tool", map(_result, results)))
    return found


def _turn(step: Object) -> Object:
    thought = step.get("reasoning_content")
    thoughts = [block("reasoning", text=thought)] if thought else []
    calls = map(_call, step.get("tool_calls", []))
    return turn(ROLES[step["source"]], [*thoughts, *_content(step["message"]), *calls])


def _call(call: Object) -> Object:
    held = arguments(call["arguments"])
    return block("call", id=call["tool_call_id"], name=call["function_name"], arguments=held)


def _result(result: Object) -> Object:
    failed = {"outcome": "failed"} if result.get("extra", {}).get("is_error") is True else {}
    return block("result", id=result["source_call_id"], content=_content(result["content"]), **failed)


def _content(content: Any) -> list[Object]:
    if isinstance(content, str):
        return text(content)
    return [made for part in content for made in _part(part)]


def _part(part: Object) -> list[Object]:
    if part["type"] == "text":
        return text(part["text"])
    source = part["source"]
    return [block("media", kind=part["type"], mime=source["media_type"], url=source["path"])]


def tools(document: Any) -> list[Object]:
    """The definitions of tools."""
    return list(document["agent"].get("tool_definitions", []))
