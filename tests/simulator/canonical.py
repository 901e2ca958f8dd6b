"""When a message of a record is one of the truth: by a rule of the simulator's own, which shares no code with ours."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tests.simulator.nodes import Node


class Canonical(NamedTuple):
    """What counts of a message."""

    role: str
    text: str
    calls: tuple[str, ...] = ()
    answers: int = 0


def squeezed(text: str) -> str:
    """A text without white space, since that may differ where parts meet."""
    return "".join(text.split())


def spelled(name: str, arguments: Any) -> str:
    """A call, however its arguments are spelled: 1 and 1.0 are the same number."""
    numbers = json.loads(json.dumps(arguments), parse_int=float)
    return f"{name} {json.dumps(numbers, sort_keys=True)}"


def of_node(node: Node, text: str | None = None) -> Canonical:
    """A message of the truth, or that message with another text."""
    said = squeezed(node.text if text is None else text)
    return Canonical(node.role, said, tuple(spelled(call.name, call.arguments) for call in node.calls), node.answers)


def _tagged(text: str) -> tuple[str, str]:
    """Return a text without the ``<think>`` block with which it begins, and the reasoning in that block."""
    if not text.startswith("<think>") or "</think>" not in text:
        return text, ""
    reasoning, _, said = text.removeprefix("<think>").partition("</think>")
    return said, reasoning


class Written(NamedTuple):
    """A message of a record."""

    index: int
    canonical: Canonical
    reasoning: str
    weight: int | None


def of_record(messages: Iterable[dict[str, Any]]) -> Iterator[Written]:
    """The messages of a record of the preset ``hf``."""
    places: dict[str, int] = {}
    for index, message in enumerate(messages):
        calls = [call.get("function", call) for call in message.get("tool_calls") or ()]
        if calls:
            places = {call["id"]: place for place, call in enumerate(message["tool_calls"])}
        text, tagged = _tagged(message.get("content") or "")
        asked = tuple(spelled(call["name"], call["arguments"]) for call in calls)
        answers = places.get(message.get("tool_call_id", ""), 0)
        said = Canonical(message["role"], squeezed(text), asked, answers)
        yield Written(index, said, squeezed(message.get("reasoning_content") or tagged), message.get("weight"))
