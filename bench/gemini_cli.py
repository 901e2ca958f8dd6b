"""Sessions as Gemini CLI logs them: a line per message, written again when its calls end, as in the golden cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

import orjson

from bench.content import Step

Row = dict[str, Any]
_TOKENS = {"input": 500, "output": 50, "cached": 0, "thoughts": 5, "tool": 0, "total": 555}


def gemini_cli(number: int, rng: Random, start: datetime, steps: Iterable[Step]) -> Iterator[bytes]:
    """Yield the lines of a session."""
    return map(orjson.dumps, _GeminiCli(number, rng, start).rows(steps))


class _GeminiCli:
    """Writes one file."""

    def __init__(self, number: int, rng: Random, start: datetime) -> None:
        self._number, self._rng, self._now = number, rng, start
        self._last: Row = {}
        """The last message of the model."""

    def rows(self, steps: Iterable[Step]) -> Iterator[Row]:
        """Yield all rows of a session."""
        head = {"sessionId": f"0b6f7c0c-1f6e-4c43-9d8e-{self._number:012x}", "projectHash": "ab12", "kind": "main"}
        yield {**head, "startTime": self._time(), "lastUpdated": self._time()}
        for step in steps:
            results = {
                message["tool_call_id"]: message["content"] for message in step.added if message["role"] == "tool"
            }
            if calls := self._last.get("toolCalls"):
                yield {**self._last, "toolCalls": [self._with_result(call, results) for call in calls]}
            for message in step.added:
                if message["role"] == "user":
                    yield self._row("user", content=[{"text": message["content"]}])
            self._last = self._reply(step.reply)
            yield self._last
            yield {"$set": {"lastUpdated": self._time()}}

    def _with_result(self, call: Row, results: dict[str, str]) -> Row:
        text = results.get(call["id"], "")
        response = {"functionResponse": {"id": call["id"], "name": call["name"], "response": {"output": text}}}
        end = {"status": "success", "result": [response], "resultDisplay": text[:300], "timestamp": self._time()}
        return {**call, **end}

    def _reply(self, reply: Row) -> Row:
        thoughts = [{"subject": "A look", "description": (reply["content"] or "Hm.")[:80], "timestamp": self._time()}]
        members: Row = {"content": reply["content"] or "", "thoughts": thoughts, "tokens": _TOKENS}
        if calls := reply.get("tool_calls"):
            members["toolCalls"] = [
                {
                    "id": call["id"],
                    "name": call["function"]["name"],
                    "args": orjson.loads(call["function"]["arguments"]),
                }
                for call in calls
            ]
        return self._row("gemini", **members, model="gemini-example")

    def _row(self, of: str, **members: Any) -> Row:
        return {"id": f"{self._rng.getrandbits(64):016x}", "timestamp": self._time(), "type": of, **members}

    def _time(self) -> str:
        self._now += timedelta(milliseconds=self._rng.randint(5, 9_000))
        return self._now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
