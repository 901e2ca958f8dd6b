"""A model server on loopback that answers from a script, keeps what it was sent, and writes a gateway's log."""

from __future__ import annotations

import json
import re
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from tests.agents.protocols import PROTOCOLS, Call, Json, Scripted, Turn

MARK = re.compile(r"([qus])x(\w{3})x(\d{3})")
"""Marks: ``q`` in replies, ``u`` in prompts of the user, ``s`` in prompts of sub-agents."""


class Step(NamedTuple):
    """What the server does next for a prompt."""

    do: str
    """``text``, ``call``, ``parallel``, ``fail`` (a call that fails), ``agent`` (a sub-agent), ``error``, ``cut``,
    ``length``, ``compact`` (usage that makes the client compact)."""
    of: str = ""
    """Of ``agent``: the mark of the sub-agent's prompt; of ``error``: the status."""


class Sent(NamedTuple):
    """The truth about an exchange."""

    reply: int
    kind: str
    """``main``, ``subagent``, ``side``."""
    status: str
    """``whole``, ``cut``, ``length`` or ``error``."""
    before: tuple[str, ...]
    """The marks in the request's messages, in order, as ``u1``, ``a2``, ``t2``."""
    last: str
    """The beginning of the last message."""
    text: str


def marks(turns: list[Turn]) -> tuple[str, ...]:
    """The marks of messages: ``a1`` for reply 1, ``t1`` for a result after it, ``u1`` for a prompt, ``q1`` quoted."""
    found: list[str] = []
    for turn in turns:
        for kind, _, number in MARK.findall(turn.text):
            word = {"assistant": {"q": "a"}, "tool": {"q": "t"}}.get(turn.role, {}).get(kind, kind)
            found.append(f"{word}{int(number)}")
    return tuple(dict.fromkeys(found))


def _side(mark: str, turns: list[Turn]) -> str:
    """What a model replies to a request of the client's own: a short title, or a summary that lists the prompts."""
    last = turns[-1].text
    if "title" in last[-600:] or any("title" in turn.text for turn in turns if turn.role == "system" and len(turn.text) < 3000):
        return f'{{"title": "Work {mark}"}}'
    prompts = [line.strip() for turn in turns if turn.role == "user" for line in turn.text.splitlines()]
    quoted = dict.fromkeys(line for line in prompts if len(line) < 200 and re.search(r"[us]x\w{3}x\d{3}", line))
    done = [turn.text.strip()[:80] for turn in turns if turn.role == "assistant" and turn.text.strip()][-2:]
    text = "\n".join((f"State of the work ({mark}).", "What the user asked for, in their words:", *quoted, "What was done last:", *done))
    return f"<analysis>The history has {len(turns)} messages.</analysis>\n<summary>\n{text}\n</summary>"


class ModelServer:
    """Use as a context; ``url`` is where agents are sent to."""

    def __init__(self, name: str, script: dict[str, list[Step]], tools: Any, log: Path, session_header: str = "") -> None:
        self.name, self.script, self.call_of, self.log = name, script, tools, log
        self.session_header = session_header
        self.sent: list[Sent] = []
        self.requests: list[tuple[str, Json]] = []
        self.number = 0
        self.now = datetime(2026, 1, 13, 9, tzinfo=UTC)
        self.lock = threading.Lock()
        log.parent.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> ModelServer:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:  # noqa: N802
                self._json(200, {"object": "list", "data": [{"id": "m", "object": "model"}], "models": []})

            def do_POST(self) -> None:  # noqa: N802
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                path = self.path.partition("?")[0]
                spoken = [each for each in PROTOCOLS if path.endswith(each.paths)]
                if not spoken:
                    self._json(200, {"input_tokens": 100, "totalTokens": 100})
                    return
                outer.answer(self, spoken[0], json.loads(raw), dict(self.headers))

            def _json(self, status: int, value: Json) -> None:
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, handler: Any, protocol: Any, body: Json, headers: dict[str, str]) -> None:
        """Answer a request, and log the exchange."""
        with self.lock:
            turns = protocol.turns(body)
            kind, step, prompt = self._next(turns, protocol.tools(body))
            self.number += 1
            number = self.number
            reply = self._reply(number, kind, step, prompt, turns, protocol.tools(body))
            status = {"cut": "cut", "error": "error", "length": "length"}.get(step.do, "whole")
            said = next((turn.text for turn in reversed(turns)), "")
            self.sent.append(Sent(number, kind, status, marks(turns), said[:100], reply.text[:60]))
            self.requests.append((handler.path, body))
            streams = bool(body.get("stream")) or "streamGenerate" in handler.path
            self._write_log(protocol, body, reply, number, step, headers)
        if step.do == "error":
            handler._json(int(step.of or 529), {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
        elif streams:
            self._stream(handler, protocol.events(reply, number, body), cut=step.do == "cut")
        else:
            handler._json(200, protocol.whole(reply, number, body))

    def _stream(self, handler: Any, events: Any, *, cut: bool) -> None:
        lines = list(events)
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("connection", "close")
        handler.end_headers()
        for line in lines[: len(lines) // 2] if cut else lines:
            handler.wfile.write(line.encode())
            handler.wfile.flush()
        handler.close_connection = True

    def _next(self, turns: list[Turn], tools: list[str]) -> tuple[str, Step, str]:
        """The kind of a request, and the step of the script that answers it."""
        asked = [turn for turn in turns if turn.role in ("user", "tool")]
        last = asked[-1] if asked else Turn("user", "")
        prompts = [f"{kind}{int(number)}" for turn in asked if turn.role == "user" for kind, _, number in MARK.findall(turn.text) if kind != "q"]
        prompt = prompts[-1] if prompts else ""
        is_marked = last.role == "tool" or "NOT USER INPUT" in last.text or "<subagent_notification>" in last.text or last.text.startswith("You have stopped calling tools") or any(kind != "q" for kind, _, _ in MARK.findall(last.text)) or self._is_note(turns)
        if not tools or not is_marked or not prompt:
            return "side", Step("summary"), prompt
        steps = self.script.get(prompt, [])
        step = steps.pop(0) if steps else Step("text")
        return ("subagent" if prompt[0] == "s" else "main"), step, prompt

    def _is_note(self, turns: list[Turn]) -> bool:
        """Whether the last message is a note of the client behind results or a prompt."""
        return len(turns) > 1 and turns[-1].role == "user" and turns[-2].role == "tool"

    def _reply(self, number: int, kind: str, step: Step, prompt: str, turns: list[Turn], tools: list[str]) -> Scripted:
        mark = f"qx{self.name}x{number:03}"
        tokens = 190_000 if step.do == "compact" else 1000 + 10 * len(turns)
        if kind == "side":
            return Scripted(text=_side(mark, turns), tokens=tokens)
        calls: tuple[Call, ...] = ()
        if step.do in ("call", "parallel", "fail", "agent"):
            count = 2 if step.do == "parallel" else 1
            of = f"{step.of[0]}x{self.name}x{int(step.of[1:]):03}" if step.of else ""
            given = [self.call_of(step.do, f"{mark}-{place}", of, tools) for place in range(count)]
            calls = tuple(Call(each[0], each[1], f"call_{number:03}_{place}", *each[2:]) for place, each in enumerate(given))
        text = f"Reply {mark} to {prompt}: the number is {number * 37}." if not calls or number % 2 else ""
        finish = "length" if step.do == "length" else "stop"
        return Scripted(text, f"I think about {mark} first." if number % 3 else "", calls, finish, tokens)

    def _write_log(self, protocol: Any, body: Json, reply: Scripted, number: int, step: Step, headers: dict[str, str]) -> None:
        self.now += timedelta(seconds=7)
        line: Json = {"timestamp": self.now.isoformat().replace("+00:00", "Z")}
        if self.session_header:
            line["session_id"] = next((value for name, value in headers.items() if name.lower() == self.session_header), None)
        response = protocol.whole(reply, number, body)
        if step.do == "error":
            line["error"] = "Overloaded"
            response = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        elif step.do == "cut":
            events = list(protocol.events(reply, number, body))
            lines = "".join(events[: len(events) // 2]).split("\n\n")
            response = [json.loads(each.split("data: ", 1)[1]) for each in lines if "data: " in each and "[DONE]" not in each]
        with self.log.open("a") as file:
            file.write(json.dumps({**line, "request": body, "response": response}) + "\n")
