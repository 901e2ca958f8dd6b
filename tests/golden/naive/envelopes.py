"""How loggers wrap an exchange, as section 4 of the specification and the issue have it."""

from __future__ import annotations

import json
from typing import Any

from tests.golden.naive.common import Object


def unwrap(line: Object) -> Object:
    """The line as ``session_id``, ``request``, ``response`` and perhaps ``status``."""
    entry = unwrapped(line)
    return {**entry, "response": parsed(entry["response"])}


def unwrapped(line: Object) -> Object:
    if "call_type" in line:
        return litellm(line)
    if "kwargs" in line:
        tools = {"tools": line["kwargs"]["tools"]} if "tools" in line["kwargs"] else {}
        messages = line.get("fncall_messages") or line["messages"]
        response = line.get("fncall_response") or line["response"]
        return {"session_id": None, "request": {"messages": messages, **tools}, "response": response}
    request, response = parsed(line["request"]), line.get("response")
    if "body" not in request:
        return {"session_id": line.get("session_id"), "request": request, "response": response}
    body = response.get("body") or response.get("body_raw")
    status = response.get("status", 200)
    return {
        "session_id": line.get("session_id"),
        "request": parsed(request["body"]),
        "response": body,
        "status": status,
    }


def litellm(line: Object) -> Object:
    """A payload of the standard logger, or a row of the spend log, whose members are JSON as text."""
    asked = parsed(line.get("proxy_server_request") or {})
    messages = parsed(line.get("messages") or [])
    given = {**asked, **parsed(line.get("model_parameters") or {})}
    tools = {"tools": given["tools"]} if "tools" in given else {}
    return {
        "session_id": line.get("session_id") or line.get("trace_id"),
        "request": {"messages": messages or asked["messages"], **tools},
        "response": line["response"],
        "status": 500 if line.get("status") == "failure" else 200,
    }


def parsed(value: Any) -> Any:
    """JSON that was logged as text; other text, such as the lines of a stream, stays."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def events(response: Any) -> list[Object] | None:
    """The events of a stream: a list, or a text with one per ``data:`` line or one per line; ``None`` for a body."""
    if isinstance(response, list):
        return response
    if not isinstance(response, str):
        return None
    found = []
    for line in response.splitlines():
        data = line.removeprefix("data:").strip()
        if data[:1] == "{":
            try:
                found.append(json.loads(data))
            except ValueError:
                break
    return found


def which(entry: Object) -> str:
    """The format of an exchange, by the few traits that the cases have."""
    request, response = entry["request"], entry["response"]
    first = next(iter(events(response) or [response]))
    if not isinstance(first, dict):
        first = {}
    if "contents" in request:
        return "gemini"
    if "input" in request:
        return "openai_responses"
    if str(first.get("type", "")).startswith("message"):
        return "anthropic"
    return "ollama" if "done" in first else "openai_chat"
