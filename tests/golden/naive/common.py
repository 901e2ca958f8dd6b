"""What the naive converters share: ids for calls that have none, results for calls, parts as content."""

from __future__ import annotations

import json
from typing import Any

Object = dict[str, Any]


def compact(value: Any) -> str:
    """JSON without white space, in the order given."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def arguments(value: Any) -> str:
    """Arguments as text: a string stays as it is, nothing is no arguments, what could not be parsed is unwrapped."""
    if value is None:
        return "{}"
    if isinstance(value, dict) and list(value) == ["INVALID_JSON"]:
        return str(value["INVALID_JSON"])
    return value if isinstance(value, str) else compact(value)


def text(words: str) -> Object:
    return {"type": "text", "text": words}


def content(parts: list[Object], empty: Any = "") -> Any:
    """A text alone is a string, several parts are a list."""
    if not parts:
        return empty
    return parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else parts


class Links:
    """Gives calls their ids, and results the ids of the calls that they answer."""

    def __init__(self) -> None:
        self.calls = self.orphans = 0
        self.waiting: list[tuple[str, str]] = []

    def called(self, ident: str | None, name: str) -> str:
        if not ident:
            self.calls += 1
            ident = f"call_{self.calls}"
        self.waiting.append((ident, name))
        return ident

    def answered(self, ident: str | None, name: str | None = None) -> str:
        """By id, else by name among those that wait, else the first that waits, else none."""
        fits = [call for call in self.waiting if call[0] == ident]
        if not ident:
            fits = [call for call in self.waiting if call[1] == name] or self.waiting[:1]
        if fits:
            self.waiting.remove(fits[0])
            return fits[0][0]
        if ident:
            return ident
        self.orphans += 1
        return f"orphan_{self.orphans}"


def function_call(ident: str, name: str, given: Any) -> Object:
    return {"id": ident, "type": "function", "function": {"name": name, "arguments": arguments(given)}}
