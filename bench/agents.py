"""Sessions in agents' files, row by row: Claude Code and Codex here, the others in modules of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

import orjson

from bench.content import Step
from bench.gemini_cli import gemini_cli
from bench.opencode import opencode
from bench.pi import pi

_COMPACTED_EVERY, _AGENT_EVERY, _QUEUED_EVERY, _EDITED_EVERY = 110, 45, 60, 90  # requests
_SEALED = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

Row = dict[str, Any]


def claude_code(number: int, rng: Random, start: datetime, steps: Iterable[Step]) -> Iterator[bytes]:
    """The rows of a file of Claude Code: a tree, with one block of a message in each."""
    return map(orjson.dumps, _ClaudeCode(number, rng, start).rows(steps))


def codex(number: int, rng: Random, start: datetime, steps: Iterable[Step]) -> Iterator[bytes]:
    """The rows of a rollout of Codex: items of OpenAI Responses, and events that repeat them."""
    return map(orjson.dumps, _Codex(number, rng, start).rows(steps))


FILES: dict[str, Callable[[int, Random, datetime, Iterable[Step]], Iterator[bytes]]] = {
    "claude_code": claude_code,
    "codex": codex,
    "pi": pi,
    "gemini_cli": gemini_cli,
    "opencode": opencode,
}


class _Clock:
    """Tells times that rise."""

    def __init__(self, rng: Random, start: datetime) -> None:
        self._rng, self._now = rng, start

    def next(self) -> str:
        """A moment later."""
        self._now += timedelta(milliseconds=self._rng.randint(5, 9_000))
        return self._now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _sealed(rng: Random, length: int) -> str:
    """What only the provider can read."""
    return "".join(rng.choices(_SEALED, k=length))


def _arguments(call: Row) -> Row:
    arguments: Row = orjson.loads(call["function"]["arguments"])
    return arguments


class _ClaudeCode:
    """Writes one file."""

    def __init__(self, number: int, rng: Random, start: datetime) -> None:
        self._rng, self._clock = rng, _Clock(rng, start)
        self._session = f"7f6c0c1e-1f6e-4c43-9d8e-{number:012x}"
        self._parent: str | None = None
        self._agent: str | None = None
        self._calls: list[Row] = []

    def rows(self, steps: Iterable[Step]) -> Iterator[Row]:
        """All rows of a session."""
        yield self._beside("mode", mode="normal")
        yield {"type": "file-history-snapshot", "messageId": self._uuid(), "snapshot": {"trackedFileBackups": {}}}
        for count, step in enumerate(steps):
            for message in step.added:
                yield from self._message(message, count)
            yield from self._reply(step.reply)
            if count % _AGENT_EVERY == _AGENT_EVERY - 1 and self._calls:
                yield from self._side(step)
            if count % _COMPACTED_EVERY == _COMPACTED_EVERY - 1:
                yield from self._compaction()
        yield self._beside("last-prompt", lastPrompt="go on")
        yield self._beside("ai-title", aiTitle="A title for it")

    def _message(self, message: Row, count: int) -> Iterator[Row]:
        if message["role"] == "system":
            held = {"type": "prompt_snapshot", "systemPrompt": [message["content"]]}
            yield self._row("attachment", attachment=held)
        elif message["role"] == "tool":
            yield from self._result(message)
        elif message["role"] == "user":
            yield from self._prompt(message["content"], count)

    def _prompt(self, text: str, count: int) -> Iterator[Row]:
        if count % _QUEUED_EVERY == _QUEUED_EVERY - 1:
            yield self._beside("queue-operation", operation="enqueue", content=text)
            yield self._row("attachment", attachment={"type": "queued_command", "prompt": text})
        if count % _EDITED_EVERY == _EDITED_EVERY - 1:
            parent = self._parent
            yield self._row("user", message={"role": "user", "content": f"{text} or not"})
            yield self._row("assistant", message=self._body([{"type": "text", "text": "Which of them?"}], "end_turn"))
            self._parent = parent
        snapshot = {"messageId": self._uuid(), "trackedFileBackups": {"src/a.py": {"version": count}}}
        yield {"type": "file-history-snapshot", "messageId": self._uuid(), "snapshot": snapshot, "isUpdate": False}
        yield self._row("user", message={"role": "user", "content": text}, permissionMode="default")
        yield self._row("attachment", attachment={"type": "task_reminder", "content": [], "itemCount": 0})

    def _reply(self, reply: Row) -> Iterator[Row]:
        self._calls = reply.get("tool_calls", [])
        blocks: list[Row] = []
        if self._rng.random() < 0.4:
            sealed = _sealed(self._rng, self._rng.randint(200, 1_200))
            blocks.append({"type": "thinking", "thinking": (reply["content"] or "Hm.")[:300], "signature": sealed})
        if reply["content"]:
            blocks.append({"type": "text", "text": reply["content"]})
        for call in self._calls:
            name = call["function"]["name"]
            block = {"type": "tool_use", "id": _tool_use(call["id"]), "name": name, "input": _arguments(call)}
            blocks.append(block)
        body = self._body([], "tool_use" if self._calls else "end_turn")
        request = f"req_{self._rng.getrandbits(96):024x}"
        for block in blocks:
            yield self._row("assistant", message={**body, "content": [block]}, requestId=request)
        if not self._calls:
            yield self._row("system", subtype="turn_duration", durationMs=self._rng.randint(1, 99_999), isMeta=False)

    def _body(self, content: list[Row], stopped: str) -> Row:
        cache = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 400}
        usage = {
            "input_tokens": 4,
            "cache_creation_input_tokens": 400,
            "cache_read_input_tokens": self._rng.randint(1_000, 150_000),
            "cache_creation": cache,
            "output_tokens": self._rng.randint(10, 900),
            "service_tier": "standard",
        }
        head = {"model": "claude-example-5", "id": f"msg_{self._rng.getrandbits(96):024x}", "type": "message"}
        told = {"role": "assistant", "content": content, "stop_reason": stopped, "stop_sequence": None}
        return {**head, **told, "usage": usage}

    def _result(self, message: Row) -> Iterator[Row]:
        call_id, text = _tool_use(message["tool_call_id"]), message["content"]
        data = {"type": "hook_progress", "hookEvent": "PostToolUse", "hookName": "PostToolUse:Read", "command": "true"}
        if self._rng.random() < 0.3:
            yield self._row("progress", data=data, toolUseID=call_id, parentToolUseID=call_id)
        block: Row = {"tool_use_id": call_id, "type": "tool_result", "content": text}
        if self._rng.random() < 0.05:
            block["is_error"] = True
        kept = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
        body = {"role": "user", "content": [block]}
        yield self._row("user", message=body, toolUseResult=kept, sourceToolAssistantUUID=self._parent)

    def _side(self, step: Step) -> Iterator[Row]:
        """What a sub-agent does, which older versions write into the same file."""
        parent, calls = self._parent, self._calls
        self._agent, self._parent = f"a{self._rng.getrandbits(28):07x}", None
        yield self._row("user", message={"role": "user", "content": f"Look into it: {step.reply['content']}"})
        for _ in range(4):
            yield from self._reply(step.reply)
            for call in self._calls:
                yield from self._result({"tool_call_id": call["id"], "content": "found nothing\n" * 40})
        yield from self._reply({"role": "assistant", "content": "There is nothing more to it."})
        self._agent, self._parent, self._calls = None, parent, calls

    def _compaction(self) -> Iterator[Row]:
        said = {"trigger": "auto", "preTokens": 167_042}
        parent, self._parent = self._parent, None
        system = {"subtype": "compact_boundary", "content": "Conversation compacted", "compactMetadata": said}
        yield self._row("system", **system, logicalParentUuid=parent)
        text = f"This session is being continued from a previous conversation.\n\n{'It went on so. ' * 200}"
        flags = {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
        yield self._row("user", message={"role": "user", "content": text}, **flags)

    def _row(self, of: str, **members: Any) -> Row:
        uuid = self._uuid()
        agent = {"agentId": self._agent} if self._agent else {}
        head = {"parentUuid": self._parent, "isSidechain": bool(agent), **agent, "userType": "external"}
        where = {"cwd": "/home/nora/tides", "sessionId": self._session, "version": "2.1.89", "gitBranch": "main"}
        self._parent = uuid
        return {**head, **where, "type": of, **members, "uuid": uuid, "timestamp": self._clock.next()}

    def _beside(self, of: str, **members: Any) -> Row:
        """A row that is no part of the tree."""
        return {"type": of, **members, "sessionId": self._session, "timestamp": self._clock.next()}

    def _uuid(self) -> str:
        spelled = f"{self._rng.getrandbits(128):032x}"
        return "-".join((spelled[:8], spelled[8:12], spelled[12:16], spelled[16:20], spelled[20:]))


def _tool_use(call_id: str) -> str:
    return call_id.replace("call_", "toolu_")


class _Codex:
    """Writes one rollout."""

    def __init__(self, number: int, rng: Random, start: datetime) -> None:
        self._rng, self._clock = rng, _Clock(rng, start)
        self._session = f"019ec9c0-0000-7000-8000-{number:012x}"
        self._said: list[Row] = []

    def rows(self, steps: Iterable[Step]) -> Iterator[Row]:
        """All rows of a session."""
        for count, step in enumerate(steps):
            for message in step.added:
                yield from self._message(message, count)
            yield from self._reply(step.reply, count)
            if count % _COMPACTED_EVERY == _COMPACTED_EVERY - 1:
                yield from self._compaction()

    def _message(self, message: Row, count: int) -> Iterator[Row]:
        text = message["content"]
        if message["role"] == "system":
            yield from self._head(text)
        elif message["role"] == "tool":
            name = "function_call_output" if not self._is_patch(message["tool_call_id"]) else "custom_tool_call_output"
            ran = {"type": "exec_command_end", "call_id": message["tool_call_id"], "stdout": text, "exit_code": 0}
            yield self._row("event_msg", ran)
            yield self._row("response_item", {"type": name, "call_id": message["tool_call_id"], "output": text})
        elif message["role"] == "user":
            yield from self._prompt(text)
            if count % _EDITED_EVERY == _EDITED_EVERY - 1:
                yield self._row("event_msg", {"type": "thread_rolled_back", "num_turns": 1})
                yield from self._prompt(f"{text} or not")

    def _head(self, prompt: str) -> Iterator[Row]:
        told = {"cwd": "/srv/kiln", "originator": "codex_cli_rs", "cli_version": "0.139.0", "source": "cli"}
        payload = {"id": self._session, "timestamp": self._clock.next(), **told, "base_instructions": {"text": prompt}}
        yield self._row("session_meta", payload)
        yield self._item("developer", "Ask before you delete.")
        yield self._item("user", "<environment_context>\n  <cwd>/srv/kiln</cwd>\n</environment_context>")

    def _prompt(self, text: str) -> Iterator[Row]:
        turn = f"t{self._rng.getrandbits(40):010x}"
        yield self._row("event_msg", {"type": "task_started", "turn_id": turn, "model_context_window": 258_400})
        context = {"turn_id": turn, "cwd": "/srv/kiln", "model": "example-codex", "approval_policy": "on-request"}
        yield self._row("turn_context", {**context, "sandbox_policy": {"type": "workspace-write"}, "summary": "auto"})
        self._said.append(self._item("user", text))
        yield self._said[-1]
        yield self._row("event_msg", {"type": "user_message", "message": text, "images": []})

    def _reply(self, reply: Row, count: int) -> Iterator[Row]:
        if self._rng.random() < 0.6:
            thought = (reply["content"] or "Looking")[:80]
            yield self._row("event_msg", {"type": "agent_reasoning", "text": f"**{thought}**"})
            sealed = _sealed(self._rng, self._rng.randint(400, 2_000))
            summary = [{"type": "summary_text", "text": f"**{thought}**"}]
            yield self._row("response_item", {"type": "reasoning", "summary": summary, "encrypted_content": sealed})
        if reply["content"]:
            yield self._row("event_msg", {"type": "agent_message", "message": reply["content"]})
            yield self._item("assistant", reply["content"])
        for call in reply.get("tool_calls", ()):
            yield self._row("response_item", self._call(call))
        used = {"input_tokens": 900 * (count + 1), "cached_input_tokens": 800, "output_tokens": 120}
        info = {"total_token_usage": used, "last_token_usage": used, "model_context_window": 258_400}
        yield self._row("event_msg", {"type": "token_count", "info": info, "rate_limits": {"primary": None}})

    def _call(self, call: Row) -> Row:
        call_id, name, arguments = call["id"], call["function"]["name"], call["function"]["arguments"]
        if self._is_patch(call_id):
            given = _arguments(call).get("text", "nothing")
            return {"type": "custom_tool_call", "call_id": call_id, "name": "apply_patch", "input": given}
        return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}

    def _is_patch(self, call_id: str) -> bool:
        return call_id.endswith(("0", "1"))

    def _compaction(self) -> Iterator[Row]:
        text = f"Another model began this task and left a summary: {'It went on so. ' * 200}"
        summary = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        history = [*(row["payload"] for row in self._said[-20:]), summary]
        yield self._row("compacted", {"message": "", "replacement_history": history})
        yield self._row("event_msg", {"type": "context_compacted"})

    def _item(self, role: str, text: str) -> Row:
        of = "output_text" if role == "assistant" else "input_text"
        return self._row("response_item", {"type": "message", "role": role, "content": [{"type": of, "text": text}]})

    def _row(self, of: str, payload: Row) -> Row:
        return {"timestamp": self._clock.next(), "type": of, "payload": payload}
