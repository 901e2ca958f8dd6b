"""A model server on loopback that answers from a script, records what it was sent, and writes a gateway's log."""

from __future__ import annotations

import json
import re
import threading
from datetime import UTC, datetime
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Self

from tests.agents.protocols import PROTOCOLS, Call, Json, Scripted, Turn, error
from tests.agents.scenarios import Step

MARK = re.compile(r"([qrus])x(\w{3})x(\d{3})")
"""Marks: ``q`` in texts and arguments of replies, ``r`` in reasoning, ``u`` in prompts, ``s`` in prompts of sub-agents."""
WORDS = (Path(__file__).parents[1] / "simulator" / "words.txt").read_text(encoding="utf-8").split()
COMPACTING_USAGE = 190_000
STATUSES = {"cut": "cut", "hold": "cut", "error": "error", "length": "length", "refusal": "refusal"}
CALLS = ("call", "parallel", "fail", "sleep", "agent", "wait", "image", "mcp")
_SECTIONS = ("Files", "Errors and fixes", "Decisions", "Open questions", "Next step")
_NOTES = ("NOT USER INPUT", "<subagent_notification>", "You have stopped calling tools", "response was too brief")


class Exchange(NamedTuple):
    """The truth about a request and its reply."""

    reply: int
    kind: str
    """``main``, ``subagent`` or ``side``."""
    status: str
    """``whole``, ``cut``, ``length``, ``refusal`` or ``error``."""
    before: str
    """The marks in the request's messages, in order: ``u1``, ``a2`` (the assistant), ``t2`` (a tool), ``q2`` (quoted)."""
    text: str
    reasoning: str
    calls: list[tuple[str, Json]]
    api: str
    """The name of the class in ``protocols`` that the request is of."""


def marks(turns: list[Turn]) -> str:
    """The marks of messages, in order, without repetitions that follow each other."""
    words: list[str] = []
    for turn in turns:
        roles = {"assistant": {"q": "a"}, "tool": {"q": "t"}}.get(turn.role, {})
        words += [f"{roles.get(kind, kind)}{int(number)}" for kind, _, number in MARK.findall(turn.text) if kind != "r"]
    return " ".join(word for word, _ in groupby(words))


class ModelServer:
    """A scripted model; use as a context, and send agents to ``url``."""

    def __init__(self, run: str, script: dict[str, list[Step]], client: Any, log: Path) -> None:
        self.run, self.script, self.client, self.log = run, script, client, log
        self.exchanges: list[Exchange] = []
        self.holds = threading.Event()
        self.leave = threading.Event()
        self._lock = threading.Lock()
        log.parent.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        self.leave.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, handler: Any, protocol: Any, body: Json) -> None:
        """Answer a request, and log the exchange."""
        with self._lock:
            turns, tools = protocol.turns(body), protocol.tools(body)
            kind, step, prompt = self._next(turns, tools)
            number = len(self.exchanges) + 1
            reply = self._reply(number, kind, step, prompt, turns, tools)
            streams = bool(body.get("stream")) or "streamGenerate" in handler.path
            if not streams and step.do in ("cut", "hold"):
                step = Step("error", "500")  # nothing of a body that is not complete is used
            status = STATUSES.get(step.do, "whole")
            calls = [
                (f"{call.namespace}__{call.name}" if call.namespace else call.name, call.arguments)
                for call in reply.calls
            ]
            texts = (reply.text, reply.reasoning, calls, protocol.__name__)
            self.exchanges.append(Exchange(number, kind, status, marks(turns), *texts))
            events = list(protocol.events(reply, number, body)) if streams else []
            if status == "cut":
                events = events[: len(events) // 2]
            whole = protocol.whole(reply, number, body)
            self._write_log(body, _logged(step, whole, events), dict(handler.headers))
        if step.do == "error":
            handler.send_body(int(step.of), error(int(step.of)))
        elif streams:
            handler.send_events(events, held=step.do == "hold")
        else:
            handler.send_body(200, whole)
        if step.do == "sleep":
            self.holds.set()

    def _next(self, turns: list[Turn], tools: list[str]) -> tuple[str, Step, str]:
        """The kind of a request, the step of the script that answers it, and the mark of its prompt."""
        said = [turn for turn in turns if turn.role in ("user", "tool")]
        prompts = [
            f"{kind}{int(number)}"
            for turn in said
            if turn.role == "user"
            for kind, _, number in MARK.findall(turn.text)
            if kind in "us"
        ]
        is_side = not prompts or bool(tools) != self.client.has_tools or not self._continues(turns, said[-1])
        if is_side:
            return "side", Step("summary"), prompts[-1] if prompts else ""
        steps = self.script.get(prompts[-1], [])
        step = steps.pop(0) if steps else Step("text")
        if step.do == "wait" and not self.client.call("wait", "", said[-1].text, tools):
            step = steps.pop(0)
        return ("subagent" if prompts[-1][0] == "s" else "main"), step, prompts[-1]

    def _continues(self, turns: list[Turn], last: Turn) -> bool:
        """Whether the last message is a prompt, a result, or a note of the client behind them."""
        if last.role == "tool":
            return True
        if self.client.is_side(last.text):
            return False
        has_mark = any(kind in "us" for kind, _, _ in MARK.findall(last.text))
        is_note = (
            turns[-1].role == "user"
            and len(turns) > 1
            and turns[-2].role == "tool"
            and "summar" not in last.text.lower()
        )
        # A client may ask for the rest of a reply that did not end.
        is_rest = bool(self.exchanges) and self.exchanges[-1].status in ("cut", "length", "refusal")
        return has_mark or is_note or is_rest or any(note in last.text for note in _NOTES)

    def _reply(self, number: int, kind: str, step: Step, prompt: str, turns: list[Turn], tools: list[str]) -> Scripted:
        mark = f"qx{self.run}x{number:03}"
        tokens = COMPACTING_USAGE if step.do == "compact" else 1000 + 10 * len(turns)
        if kind == "side":
            return Scripted(text=_side_reply(mark, turns), tokens=tokens)
        calls: tuple[Call, ...] = ()
        if step.do in CALLS and not self.client.has_tools:
            step = Step("text")
        if step.do in CALLS or (step.do == "text" and self.client.ends_with_call):
            count = 2 if step.do == "parallel" else 1
            of = turns[-1].text if step.do == "wait" else ""
            of = f"{step.of[0]}x{self.run}x{int(step.of[1:]):03}" if step.of else of
            wanted = [self.client.call(step.do, f"{mark}-{place}", of, tools) for place in range(count)]
            calls = tuple(Call(each[0], each[1], _call_id(mark, place), *each[2:]) for place, each in enumerate(wanted))
        text = f"Reply {mark} to {prompt}: the number is {number * 37}." if not calls or number % 2 else ""
        reasoning = f"I think about rx{self.run}x{number:03} first." if number % 3 else ""
        return Scripted(text, reasoning, calls, step.do if step.do in ("length", "refusal") else "stop", tokens)

    def _write_log(self, body: Json, response: Any, headers: dict[str, str]) -> None:
        line: Json = {"timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z")}
        ids = [value for name, value in headers.items() if name.lower() == self.client.session_header]
        if ids:
            line["session_id"] = ids[0]
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**line, "request": body, "response": response}) + "\n")


def _logged(step: Step, whole: Json, events: list[str]) -> Any:
    """A reply as a gateway logs it: a truncated one has the events that were sent."""
    if step.do == "error":
        return error(int(step.of))
    if STATUSES.get(step.do) == "cut" and events:
        data = [each.split("data: ", 1)[1] for each in events]
        return [json.loads(each) for each in data if not each.startswith("[DONE]")]
    return whole


def _side_reply(mark: str, turns: list[Turn]) -> str:
    """What a model replies to a request of the client's own: a short title, or a summary that lists the prompts."""
    if "title" in turns[-1].text[-600:] or any(
        "title" in turn.text for turn in turns if turn.role == "system" and len(turn.text) < 3000
    ):
        return f'{{"title": "Work {mark}"}}'
    prompts = [line.strip() for turn in turns if turn.role == "user" for line in turn.text.splitlines()]
    quoted = dict.fromkeys(line for line in prompts if len(line) < 200 and re.search(r"[us]x\w{3}x\d{3}", line))
    done = [turn.text.strip()[:80] for turn in turns if turn.role == "assistant" and turn.text.strip()][-2:]
    done = [MARK.sub("", each) for each in done]  # so that a mark is in one reply only
    text = "\n".join(
        (
            f"State of the work ({mark}).",
            "What the user asked for, in their words:",
            *quoted,
            "What was done last:",
            *done,
            *(f"{number}. {head}:\n{_prose(mark, number)}" for number, head in enumerate(_SECTIONS, 1)),
        )
    )
    return f"<analysis>The history has {len(turns)} messages.</analysis>\n<summary>\n{text}\n</summary>"


def _call_id(mark: str, place: int) -> str:
    """An id as long as those of providers: a short one may be another call's, too."""
    return f"call_{sha256(f'{mark}-{place}'.encode()).hexdigest()[:24]}"


def _prose(mark: str, number: int) -> str:
    """Invented sentences, as long as a section of a summary: others for each summary and section."""
    words = Random(f"{mark} {number}")
    sentences = (" ".join(words.choices(WORDS, k=12)) for _ in range(3))
    return " ".join(f"{sentence.capitalize()}." for sentence in sentences)


def _handler(model: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

        def do_GET(self) -> None:
            self.send_body(200, {"object": "list", "data": [{"id": "m", "object": "model"}], "models": []})

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            path = self.path.partition("?")[0]
            protocols = [each for each in PROTOCOLS if path.endswith(each.paths)]
            if protocols:
                model.answer(self, protocols[0], json.loads(raw))
            else:
                self.send_body(200, {"input_tokens": 100, "totalTokens": 100})

        def send_body(self, status: int, value: Json) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.send_header("retry-after", "0")
            self.end_headers()
            self.wfile.write(body)

        def send_events(self, events: list[str], *, held: bool) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            for event in events:
                self.wfile.write(event.encode())
                self.wfile.flush()
            if held:
                model.holds.set()
                model.leave.wait(60)
            self.close_connection = True

    return Handler
