"""Sessions as OpenCode exports them: a document of messages and parts, as in the golden cases ``opencode``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from random import Random
from typing import Any

import orjson

from bench.content import Step

Row = dict[str, Any]
_TOKENS = {"input": 500, "output": 50, "reasoning": 0, "cache": {"read": 0, "write": 0}}


def opencode(number: int, rng: Random, start: datetime, steps: Iterable[Step]) -> Iterator[bytes]:
    """Yield the document of a session."""
    yield orjson.dumps(_OpenCode(number, rng, start).document(steps))


class _OpenCode:
    """Writes one document."""

    def __init__(self, number: int, rng: Random, start: datetime) -> None:
        self._rng, self._now = rng, int(start.timestamp() * 1000)
        self._session = f"ses_{number:08x}"
        self._messages: list[Row] = []
        self._calls: dict[str, Row] = {}
        """The parts of calls by id, which their results complete."""

    def document(self, steps: Iterable[Step]) -> Row:
        """Return a session with all messages."""
        created = self._now
        for step in steps:
            for message in step.added:
                if message["role"] == "user":
                    self._add_prompt(message["content"])
                elif message["role"] == "tool":
                    self._complete(message)
            self._add_reply(step.reply)
        head = {"id": self._session, "slug": "quiet-river", "version": "1.1.53", "projectID": "5f0c7a9e"}
        time = {"created": created, "updated": self._now}
        return {
            "info": {**head, "directory": "/srv/kiln", "title": "A title for it", "time": time},
            "messages": self._messages,
        }

    def _add_prompt(self, text: str) -> None:
        info = self._info("user", model={"providerID": "example", "modelID": "example-5"}, time={"created": self._now})
        self._messages.append({"info": info, "parts": [self._part(info["id"], "text", text=text)]})

    def _add_reply(self, reply: Row) -> None:
        finish = "tool-calls" if reply.get("tool_calls") else "stop"
        info = self._info(
            "assistant",
            time={"created": self._now, "completed": self._tick()},
            parentID=self._messages[-1]["info"]["id"] if self._messages else "",
            modelID="example-5",
            providerID="example",
            mode="build",
            path={"cwd": "/srv/kiln", "root": "/srv/kiln"},
            cost=0,
            tokens=_TOKENS,
            finish=finish,
        )
        parts = [self._part(info["id"], "step-start", snapshot="9a1f")]
        if reply["content"]:
            time = {"start": self._now - 500, "end": self._now - 100}
            parts.append(self._part(info["id"], "text", text=reply["content"], time=time))
        for call in reply.get("tool_calls", ()):
            state = {"status": "running", "input": orjson.loads(call["function"]["arguments"])}
            part = self._part(info["id"], "tool", callID=call["id"], tool=call["function"]["name"], state=state)
            self._calls[call["id"]] = part
            parts.append(part)
        parts.append(self._part(info["id"], "step-finish", reason=finish, snapshot="9a1f", cost=0.001, tokens=_TOKENS))
        self._messages.append({"info": info, "parts": parts})

    def _complete(self, result: Row) -> None:
        """Add a result to the part of its call, if the session has it."""
        if part := self._calls.get(result["tool_call_id"]):
            text, time = result["content"], {"start": self._now, "end": self._tick()}
            metadata = {"preview": text[:200]}
            part["state"].update(status="completed", output=text, title="a file", metadata=metadata, time=time)

    def _info(self, role: str, **members: Any) -> Row:
        return {"id": self._id("msg"), "sessionID": self._session, "role": role, "agent": "build", **members}

    def _part(self, message: str, of: str, **members: Any) -> Row:
        return {"id": self._id("prt"), "sessionID": self._session, "messageID": message, "type": of, **members}

    def _id(self, kind: str) -> str:
        """Return an id; ids rise, since the order of messages is that of their ids."""
        return f"{kind}_{self._tick():012x}{self._rng.getrandbits(40):010x}"

    def _tick(self) -> int:
        self._now += self._rng.randint(5, 2_000)
        return self._now
