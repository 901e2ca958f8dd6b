"""Sessions as Pi keeps them: entries of one line each, each of which names the one before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

import orjson

from bench.content import Step

Row = dict[str, Any]


def pi(number: int, rng: Random, start: datetime, steps: Iterable[Step]) -> Iterator[bytes]:
    """The lines of a session: its header, then a message in each."""
    return map(orjson.dumps, _Pi(number, rng, start).rows(steps))


class _Pi:
    """Writes one file."""

    def __init__(self, number: int, rng: Random, start: datetime) -> None:
        self._rng, self._now = rng, start
        self._session = f"7f6c0c1e-1f6e-4c43-9d8e-{number:012x}"
        self._parent: str | None = None
        self._names: dict[str, str] = {}
        """The tools of calls, by the ids of these."""

    def rows(self, steps: Iterable[Step]) -> Iterator[Row]:
        """All rows of a session."""
        yield {"type": "session", "version": 3, "id": self._session, "timestamp": self._time(), "cwd": "/srv/kiln"}
        yield self._row("model_change", provider="example", modelId="example-5")
        for step in steps:
            for message in step.added:
                yield from self._message(message)
            yield self._reply(step.reply)

    def _message(self, message: Row) -> Iterator[Row]:
        content = [{"type": "text", "text": message["content"]}]
        if message["role"] == "tool":
            call_id = message["tool_call_id"]
            told = {"toolCallId": call_id, "toolName": self._names.get(call_id, "read"), "isError": False}
            yield self._said("toolResult", content, **told)
        elif message["role"] == "user":
            yield self._said("user", content)

    def _reply(self, reply: Row) -> Row:
        content: list[Row] = []
        if self._rng.random() < 0.4:
            content.append({"type": "thinking", "thinking": (reply["content"] or "Hm.")[:300]})
        if reply["content"]:
            content.append({"type": "text", "text": reply["content"]})
        for call in reply.get("tool_calls", ()):
            name, given = call["function"]["name"], orjson.loads(call["function"]["arguments"])
            self._names[call["id"]] = name
            content.append({"type": "toolCall", "id": call["id"], "name": name, "arguments": given})
        cost = {"input": 0.001, "output": 0.002, "cacheRead": 0, "cacheWrite": 0, "total": 0.003}
        usage = {"input": self._rng.randint(1, 900), "output": 120, "cacheRead": 800, "cacheWrite": 0, "cost": cost}
        stopped = "toolUse" if "tool_calls" in reply else "stop"
        told = {"api": "example", "provider": "example", "model": "example-5", "usage": usage, "stopReason": stopped}
        return self._said("assistant", content, **told)

    def _said(self, role: str, content: list[Row], **members: Any) -> Row:
        when = int(self._now.timestamp() * 1000)
        return self._row("message", message={"role": role, "content": content, **members, "timestamp": when})

    def _row(self, of: str, **members: Any) -> Row:
        entry, parent = f"{self._rng.getrandbits(32):08x}", self._parent
        self._parent = entry
        return {"type": of, "id": entry, "parentId": parent, "timestamp": self._time(), **members}

    def _time(self) -> str:
        self._now += timedelta(milliseconds=self._rng.randint(5, 9_000))
        return self._now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
