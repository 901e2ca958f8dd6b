"""Checks a session trace against the page "Session Traces Format" of the Hub's docs, and shares no code with the writer.

Written from ``docs/hub/session-traces-format.md`` of huggingface/hub-docs at 242f4a1 alone.  The page allows further
members in the header ("any extra metadata is allowed and ignored") and lists all members of messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

ROLES = ("user", "assistant", "system", "tool")
MESSAGE = {"role", "content", "reasoningContent", "toolCalls", "toolCallId", "timestamp", "model"}


def problems(trace: bytes, *, allowed: frozenset[str] = frozenset()) -> list[str]:
    """What is wrong with a file; ``allowed`` are members of messages in addition to those of the page."""
    if trace and not trace.endswith(b"\n"):
        return ["the last line is not ended"]
    try:
        lines = [json.loads(line, parse_constant=_no_constant) for line in trace.decode("utf-8").split("\n")[:-1]]
    except ValueError as problem:
        return [f"not JSON lines: {problem}"]
    if not lines:
        return ["no header"]
    found = list(_of_header(lines[0]))
    calls: set[str] = set()
    for number, line in enumerate(lines[1:], 2):
        found += [f"line {number}: {problem}" for problem in _of_line(line, calls, allowed)]
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _of_header(header: Any) -> Iterator[str]:
    if not isinstance(header, dict):
        yield "the header is not an object"
        return
    if header.get("type") != "session":
        yield "the header has another type than session"
    for name in ("harness", "id"):
        if not isinstance(header.get(name), str) or not header[name]:
            yield f"the header has no {name}"
    if not isinstance(header.get("name", ""), str):
        yield "the name of the session is not a string"


def _of_line(line: Any, calls: set[str], allowed: frozenset[str]) -> Iterator[str]:
    if not isinstance(line, dict) or line.get("type") != "message":
        yield "not a message"
    elif line.keys() != {"type", "message"}:
        yield f"the envelope has the members {sorted(line)}"
    elif not isinstance(line["message"], dict):
        yield "the message is not an object"
    else:
        yield from _of_message(line["message"], calls, allowed)


def _of_message(message: dict[str, Any], calls: set[str], allowed: frozenset[str]) -> Iterator[str]:
    role = message.get("role")
    if role not in ROLES:
        yield f"unknown role {role!r}"
    if not isinstance(message.get("content"), str):
        yield "content is not text"
    if unknown := message.keys() - MESSAGE - allowed:
        yield f"unknown members {sorted(unknown)}"
    for name in ("reasoningContent", "model"):
        if name in message and not isinstance(message[name], str):
            yield f"{name} is not a string"
    if "timestamp" in message and not _is_milliseconds(message["timestamp"]):
        yield "timestamp is not in epoch milliseconds"
    if "toolCalls" in message:
        yield from _of_calls(role, message["toolCalls"], calls)
    if role == "tool" and "toolCallId" not in message:
        yield "the result has no toolCallId"
    if "toolCallId" in message and role != "tool":
        yield "only results have a toolCallId"
    if "toolCallId" in message and not isinstance(message["toolCallId"], str):
        yield "toolCallId is not a string"


def _is_milliseconds(value: Any) -> bool:
    """A time from 1973 on, so that seconds are noticed."""
    return isinstance(value, int) and not isinstance(value, bool) and 10**11 <= value < 10**14


def _of_calls(role: str, value: Any, calls: set[str]) -> Iterator[str]:
    if role != "assistant":
        yield "only the assistant calls tools"
    if not isinstance(value, list) or not value:
        yield "toolCalls is not a list of calls"
        return
    for call in value:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or call.keys() != {"id", "function"}:
            yield "a call is not an id and a function"
        elif not isinstance(call["id"], str) or not isinstance(function.get("name"), str):
            yield "a call has no id or no name"
        elif not isinstance(function.get("arguments"), str) or function.keys() != {"name", "arguments"}:
            yield "the arguments of a call are not a string"
        else:
            calls.add(call["id"])


def unlinked(trace: bytes) -> list[str]:
    """The ids of results that the viewer shows next to no call."""
    messages = [json.loads(line)["message"] for line in trace.splitlines()[1:]]
    calls = {call["id"] for message in messages for call in message.get("toolCalls", [])}
    return [
        message["toolCallId"]
        for message in messages
        if message["role"] == "tool" and message["toolCallId"] not in calls
    ]
