"""A played log as its lines, in the order in which they were logged, for what tests say of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import orjson

from tests.simulator import Played, play
from tests.simulator.canonical import squeezed
from tests.simulator.truth import Reply


class Exchange(NamedTuple):
    """A line, and what is true of its reply."""

    at: str
    file: str
    session_id: str | None
    request: dict[str, Any]
    response: dict[str, Any]
    asked: str
    """All texts of the request but those of tools, without white space."""
    answer: str
    """The text of the reply, or the longest of its arguments."""
    reply: Reply

    @property
    def system(self) -> str:
        """The system prompt."""
        named = (self.request.get(name) for name in ("system", "instructions", "systemInstruction"))
        return told(next((each for each in named if each), None) or self.messages[0].get("content"))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Messages, the items of OpenAI Responses, or the contents of Gemini."""
        return next(self.request[name] for name in ("messages", "input", "contents") if name in self.request)


@cache
def alone(name: str, seed: int) -> Played:
    """A behaviour that is played beside nothing else."""
    return play(seed, only=(name,))


def exchanges(played: Played) -> list[Exchange]:
    """All lines, by their times."""
    replies = {(reply.file, reply.line): reply for reply in played.truth.replies}
    found = [
        _exchange(file, orjson.loads(line), replies[file, number])
        for file, data in played.files.items()
        for number, line in enumerate(data.splitlines(), 1)
        if (file, number) in replies  # others are errors
    ]
    return sorted(found, key=lambda each: each.at)


def last_text(exchange: Exchange) -> str:
    """The text of the last message of a request, without white space."""
    said = exchange.messages[-1]
    return told(said.get("parts") or said.get("content"))


def of_kind(logged: list[Exchange], kind: str) -> list[Exchange]:
    """Those whose replies are of a kind."""
    return [each for each in logged if each.reply.kind == kind]


def _exchange(file: str, line: dict[str, Any], reply: Reply) -> Exchange:
    body = {name: value for name, value in line["request"].items() if name != "tools"}
    answer = reply.canonical.text or max((text for call in reply.canonical.calls for text in arguments(call)), key=len)
    return Exchange(
        line["timestamp"], file, line.get("session_id"), line["request"], line["response"], told(body), answer, reply
    )


def arguments(call: str) -> list[str]:
    """The texts of a call's arguments, without white space."""
    return [squeezed(text) for text in leaves(orjson.loads(call.partition(" ")[2]))]


def told(value: Any) -> str:
    """All texts in a value, without white space."""
    return squeezed("\n".join(leaves(value)))


def leaves(value: Any) -> Iterator[str]:
    """All texts in a value; those that are JSON are looked into."""
    if isinstance(value, str):
        yield value
        if value.startswith("{"):
            yield from leaves(orjson.loads(value))
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from leaves(each)
