"""Replace the texts of a recording by invented ones: what stays is its structure, its marks, and which texts are equal."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

WORDS = (Path(__file__).parents[1] / "simulator" / "words.txt").read_text(encoding="utf-8").split()
_KEPT = re.compile(r"[qus]x\w{3}x\d{3}(?:-\d)?|</?[A-Za-z][\w-]*>|[0-9a-f]{8}-[0-9a-f-]{27}|ses_\w+")
_WORD = re.compile(r"[A-Za-z][A-Za-z'_/.-]{2,}")
_LONG = 40
"""Words of a paragraph beyond which it is shortened."""
_NAMES = {
    "type", "role", "id", "call_id", "tool_call_id", "tool_use_id", "name", "model", "object", "status", "finish_reason",
    "stop_reason", "namespace", "signature", "encrypted_content", "timestamp", "session_id", "finishReason", "media_type", "reason",
}  # fmt: skip
"""Members whose values are no texts."""


def invented(text: str) -> str:
    """A text in which each word is another one, always the same, with long paragraphs shortened."""
    return "\n".join(_paragraph(line) for line in text.split("\n"))


def _paragraph(line: str) -> str:
    parts = _KEPT.split(line)
    kept = _KEPT.findall(line)
    shortened = [_shorten(_WORD.sub(lambda word: _word(word[0]), part)) for part in parts]
    return "".join(text + mark for text, mark in zip(shortened, [*kept, ""], strict=True))


def _word(word: str) -> str:
    return WORDS[int(sha256(word.lower().encode()).hexdigest()[:8], 16) % len(WORDS)]


def _shorten(text: str) -> str:
    words = text.split(" ")
    return text if len(words) <= _LONG else " ".join([*words[: _LONG // 2], *words[-_LONG // 2 :]])


def exchange(line: dict[str, Any]) -> dict[str, Any]:
    """A logged exchange with invented texts; definitions of tools keep their names."""
    value = _value(line)
    request = value["request"]
    if "tools" in request:
        request["tools"] = [_definition(tool) for tool in request["tools"]]
    for name in ("tool_choice", "metadata", "client_metadata", "prompt_cache_key", "instructions"):
        if name != "instructions":
            request.pop(name, None)
    return value


def _value(value: Any, name: str = "") -> Any:
    if isinstance(value, str):
        return value if name in _NAMES else _json(value) if name in ("arguments", "partial_json") else invented(value)
    if isinstance(value, list):
        return [_value(each, name) for each in value]
    if isinstance(value, dict):
        return {key: _value(each, key) for key, each in value.items()}
    return value


def _json(text: str) -> str:
    try:
        return json.dumps(_value(json.loads(text)))
    except ValueError:
        return invented(text)


def _definition(tool: dict[str, Any]) -> dict[str, Any]:
    empty = {"type": "object", "properties": {}}
    if "function" in tool:
        return {"type": "function", "function": {"name": tool["function"]["name"], "parameters": empty}}
    if "functionDeclarations" in tool:
        return {"functionDeclarations": [{"name": each["name"]} for each in tool["functionDeclarations"]]}
    if "input_schema" in tool:
        return {"name": tool["name"], "input_schema": empty}
    if "tools" in tool:
        return {
            **{name: tool[name] for name in ("type", "name")},
            "tools": [_definition(each) for each in tool["tools"]],
        }
    return {name: tool[name] for name in ("type", "name") if name in tool} | (
        {"parameters": empty} if "parameters" in tool else {}
    )
