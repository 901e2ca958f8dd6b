"""What OpenAF sees of the array that it imports, by hand."""

from __future__ import annotations

from typing import Any

from .common import Object, arguments, block, merged, output, rest, text, turn

PORTABLE = "portable"


def read(document: Any) -> list[Object]:
    """The turns of an array."""
    found: list[Object] = []
    for entry in document:
        own = rest(PORTABLE, entry, "role", "content", "toolCalls", "toolResults")
        if entry.get("toolResults"):
            found.append(turn("tool", map(_result, entry["toolResults"]), native=own))
            found += [turn("user", text(entry["content"]))] if entry.get("content") else []
        else:
            found.append(
                turn(
                    entry["role"], [*text(entry.get("content")), *map(_call, entry.get("toolCalls") or [])], native=own
                )
            )
    return merged(found)


def _call(call: Object) -> Object:
    own = rest(PORTABLE, call, "id", "name", "arguments")
    return block("call", id=call["id"], name=call["name"], arguments=arguments(call["arguments"]), native=own)


def _result(result: Object) -> Object:
    own = rest(PORTABLE, result, "id", "name", "result")
    return block("result", id=result["id"], name=result["name"], native=own, **output(result["result"]))
