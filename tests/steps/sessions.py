"""Builds planted sessions: messages as formats load them, with the facts that apply to each reply."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from chatsquash.core.accounting import STEP_FACTS
from chatsquash.core.blocks import Call, Outcome, Result, Text, Turn
from chatsquash.core.model import Message
from chatsquash.formats import view

KINDS = tuple(kind for kind in STEP_FACTS if kind != "truncated")
"""The facts that messages show; ``truncated`` is shown by the response only."""

Labels = dict[int, frozenset[str]]


class PlantedCall(NamedTuple):
    """A call and its result; ``None`` as result if it has none."""

    tool: str
    arguments: str
    result: str | None
    outcome: Outcome = "success"
    is_custom: bool = False


class Step(NamedTuple):
    """A user message, or a reply with its results and facts."""

    role: str
    text: str
    calls: tuple[PlantedCall, ...] = ()
    facts: frozenset[str] = frozenset()


class Session(NamedTuple):
    """Messages and the facts of each reply by the index of its message."""

    name: str
    messages: list[Message]
    labels: Labels


def call(tool: str, arguments: Any, result: str | None = "", outcome: Outcome = "success") -> PlantedCall:
    """Return a call; arguments that are text are those of a tool with one text."""
    if isinstance(arguments, str):
        return PlantedCall(tool, arguments, result, outcome, is_custom=True)
    return PlantedCall(tool, json.dumps(arguments, ensure_ascii=False), result, outcome)


def user(text: str) -> Step:
    return Step("user", text)


def system(text: str) -> Step:
    return Step("system", text)


def reply(*parts: str | PlantedCall, facts: str = "") -> Step:
    """Return a reply of text and calls; ``facts`` are its kinds, separated by spaces."""
    kinds = frozenset(facts.split())
    assert kinds <= set(KINDS), facts
    texts = [part for part in parts if isinstance(part, str)]
    calls = tuple(part for part in parts if isinstance(part, PlantedCall))
    return Step("assistant", "\n\n".join(texts), calls, kinds)


def session(name: str, steps: Iterable[Step]) -> Session:
    """Return the messages and labels of steps."""
    messages: list[Message] = []
    labels: Labels = {}
    number = 0
    for step in steps:
        if step.role != "assistant":
            messages.append({"role": step.role, "content": step.text})
            continue
        blocks: list[Any] = [Text(step.text)] if step.text else []
        results = []
        for each in step.calls:
            number += 1
            blocks.append(Call(f"call_{number}", each.tool, each.arguments, custom=each.is_custom))
            if each.result is not None:
                content = (Text(each.result),)
                results.append(Result(f"call_{number}", each.tool, content, outcome=each.outcome))
        labels[len(messages)] = step.facts
        messages += view.messages([Turn("assistant", tuple(blocks)), *(Turn("tool", (each,)) for each in results)])
    return Session(name, messages, labels)
