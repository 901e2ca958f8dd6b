"""How clients log a session: each style writes the same messages in lines of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from random import Random
from typing import Any

import orjson

from bench.bodies import BODIES, MESSAGES, REPLY, TOOLS, Answer, Body
from bench.content import Step

_TOKEN = "@@@token@@@@"
_MARKER = re.compile(rb'"@(messages|tools|reply)@"')

Bytes = bytes | bytearray


@dataclass(frozen=True)
class Envelope:
    """What stands around an exchange."""

    session: int
    turn: int
    when: datetime
    step: Step

    def around(self, request: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
        """A line with these bodies."""
        at = self.when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {"timestamp": at, "session_id": f"5e55{self.session:08x}", "request": request, "response": response}

    def answer(self) -> Answer:
        """What the response says of itself."""
        ident = f"{self.session:08x}{self.turn:04x}"
        return Answer(ident, self.when, "tool_calls" in self.step.reply, 900 * self.turn)

    def members(self) -> dict[str, Any]:
        """A line of chat; markers stand for messages, tools and reply."""
        choice = {
            "index": 0,
            "message": REPLY,
            "finish_reason": "tool_calls" if "tool_calls" in self.step.reply else "stop",
        }
        response = {
            "id": f"chatcmpl-{self.session:08x}{self.turn:04x}",
            "object": "chat.completion",
            "created": int(self.when.timestamp()),
            "model": "gpt-5",
            "choices": [choice],
            "usage": {
                "prompt_tokens": 900 * self.turn,
                "completion_tokens": 120,
                "total_tokens": 900 * self.turn + 120,
            },
        }
        request = {"model": "gpt-5", "messages": MESSAGES, "tools": TOOLS, "temperature": 0.2, "stream": False}
        return self.around(request, response)


class Growing:
    """Every request repeats the bytes of the one before."""

    comma = b","

    def __init__(self, rng: Random, tools: list[dict[str, Any]]) -> None:
        self.rng = rng
        self._body = bytearray()
        self._tools = self.encode(tools)

    def encode(self, value: Any) -> bytes:
        """The JSON of a value."""
        return orjson.dumps(value)

    def add(self, messages: list[dict[str, Any]]) -> None:
        """Take what the next request adds."""
        for message in messages:
            self._body += (self.comma if self._body else b"") + self.encode(message)

    def reply(self, message: dict[str, Any]) -> Any:
        """What stands for a reply in a response."""
        return message

    def line(self, envelope: Envelope) -> list[Bytes]:
        """A line, in pieces."""
        return self.filled(envelope.members(), [b"[", self._body, b"]"], self._tools, envelope.step)

    def filled(self, members: dict[str, Any], messages: list[Bytes], tools: bytes, step: Step) -> list[Bytes]:
        """A line with what the markers stand for, in pieces."""
        parts: dict[bytes, list[Bytes]] = {
            b"messages": messages,
            b"tools": [tools],
            b"reply": [self.encode(self.reply(step.reply))],
        }
        pieces: list[Bytes] = []
        for at, piece in enumerate(_MARKER.split(self.encode(members))):
            pieces += parts[piece] if at % 2 else [piece]
        return pieces


class _Spaced(Growing):
    """As ``json.dumps`` writes it."""

    comma = b", "

    def encode(self, value: Any) -> bytes:
        return json.dumps(value).encode()


class _Provider(Growing):
    """As another provider's clients send it, the history in the very bytes of before."""

    def __init__(self, body: Body, rng: Random, tools: list[dict[str, Any]]) -> None:
        super().__init__(rng, body.tools(tools))
        self._of, self._system = body, ""

    def add(self, messages: list[dict[str, Any]]) -> None:
        if messages[0]["role"] == "system":
            self._system = messages[0]["content"]
        super().add(list(self._of.turns(messages)))

    def reply(self, message: dict[str, Any]) -> Any:
        return self._of.reply(message)

    def line(self, envelope: Envelope) -> list[Bytes]:
        request, response = self._of.request(self._system), self._of.response(envelope.answer(), self._system)
        messages: list[Bytes] = [b"[", self._body, b"]"]
        return self.filled(envelope.around(request, response), messages, self._tools, envelope.step)


class _Hostile(Growing):
    """A client that keeps its history in its own way.

    A clock in the system prompt, ``cache_control`` on whatever message is last, tools before messages in half of the
    lines; ids and the order of keys are not those of the responses, but stay what they are.
    """

    def __init__(self, rng: Random, tools: list[dict[str, Any]]) -> None:
        super().__init__(rng, tools)
        self._system: dict[str, Any] = {}
        self._last: dict[str, Any] = {}

    def add(self, messages: list[dict[str, Any]]) -> None:
        if self._last:
            self._body += b"," + self._own(self._last)
        else:
            self._system, *messages = messages
        for message in messages[:-1]:
            self._body += b"," + self._own(message)
        self._last = messages[-1]

    def line(self, envelope: Envelope) -> list[Bytes]:
        told = self._system["content"]
        clock = f"{told[:300]}\nIt is {envelope.when:%A, %d %B %Y, %H:%M:%S}.\n{told[300:]}"
        part = {"type": "text", "text": self._last["content"], "cache_control": {"type": "ephemeral"}}
        messages: list[Bytes] = [b"[", self._own({**self._system, "content": clock}), self._body, b","]
        messages += [self._own({**self._last, "content": [part]}), b"]"]
        members = envelope.members()
        if self.rng.random() < 0.5:
            request = members["request"]
            members["request"] = {"tools": request.pop("tools"), **request}
        return self.filled(members, messages, self._tools, envelope.step)

    def _own(self, message: dict[str, Any]) -> bytes:
        changed = dict(message)
        if "tool_call_id" in message:
            changed["tool_call_id"] = message["tool_call_id"].replace("_", "")
        if "tool_calls" in message:
            changed["tool_calls"] = [{**call, "id": call["id"].replace("_", "")} for call in message["tool_calls"]]
        return orjson.dumps(changed, option=orjson.OPT_SORT_KEYS)


class _Worst(Growing):
    """A client that writes everything anew: keys in random order and new ids, in every request."""

    def __init__(self, rng: Random, tools: list[dict[str, Any]]) -> None:
        super().__init__(rng, tools)
        self._messages: list[list[bytes]] = []
        self._definitions = [self._variants(tool) for tool in tools]

    def add(self, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            changed = {"id": f"msg_{_TOKEN}{len(self._messages):04}", **message}
            if "tool_call_id" in message:
                changed["tool_call_id"] = _renamed(message["tool_call_id"])
            if "tool_calls" in message:
                changed["tool_calls"] = [{**call, "id": _renamed(call["id"])} for call in message["tool_calls"]]
            self._messages.append(self._variants(changed))

    def line(self, envelope: Envelope) -> list[Bytes]:
        token = b"%012x" % self.rng.getrandbits(48)
        messages = b",".join(self._pick(self._messages)).replace(_TOKEN.encode(), token)
        tools = b"[" + b",".join(self._pick(self._definitions)) + b"]"
        return self.filled(self._shuffled(envelope.members()), [b"[", messages, b"]"], tools, envelope.step)

    def _pick(self, all_variants: Iterable[list[bytes]]) -> Iterator[bytes]:
        draw = self.rng.random
        return (variants[int(draw() * len(variants))] for variants in all_variants)

    def _variants(self, value: dict[str, Any]) -> list[bytes]:
        return [orjson.dumps(self._shuffled(value)) for _ in range(6)]

    def _shuffled(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._shuffled(item) for item in value]
        if not isinstance(value, dict):
            return value
        items = [(key, self._shuffled(item)) for key, item in value.items()]
        self.rng.shuffle(items)
        return dict(items)


def _renamed(identity: str) -> str:
    return f"call_{_TOKEN}{identity[-8:]}"


STYLES: dict[str, Callable[[Random, list[dict[str, Any]]], Growing]] = {
    "growing": Growing,
    "spaced": _Spaced,
    "hostile": _Hostile,
    "worst": _Worst,
    **{name: partial(_Provider, body) for name, body in BODIES.items()},
}
