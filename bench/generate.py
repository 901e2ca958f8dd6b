"""Seeded logs on disk: made once, and anew when this code or a profile changes."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, BinaryIO

import orjson

from bench import agents, bodies, content
from bench.bodies import BODIES, MESSAGES, REPLY, TOOLS, Answer, Body
from bench.content import Shape, Step

_BROKEN_EVERY, _FIRST_BROKEN = 5_000, 700  # lines
_SHORT_EVERY, _FIRST_SHORT = 50, 3  # sessions
_DAYS = 10
_START = datetime(2026, 1, 5, 8, tzinfo=UTC)
_TOKEN = "@@@token@@@@"
_MARKER = re.compile(rb'"@(messages|tools|reply)@"')
_SMALL = Shape(prompt=900, tools=(3, 4), result=400)

Bytes = bytes | bytearray


@dataclass(frozen=True)
class Profile:
    """A set of logs."""

    sessions: int
    requests: int = 27
    """The median."""
    spread: float = 0.0
    """The sigma of the lognormal number of requests."""
    style: str = "growing"
    client: str = "plain"
    """Whose prompts and mishaps these are."""
    shape: Shape = field(default_factory=Shape)
    repeats: int = 1
    """How often each session is there; if more than once, half of them in each of two folders."""


_STANDARD = Profile(200, spread=0.62)
_LONG = Profile(6, requests=250)
_CHAT = replace(_STANDARD, sessions=60)
_AGENT = Profile(60, requests=260, spread=0.55, shape=Shape(result=1_100))
PROFILES = {
    "standard": _STANDARD,
    "long": _LONG,
    "real": replace(_STANDARD, client="goose"),
    "tiny": Profile(20_000, requests=2, shape=_SMALL),
    "spaced": replace(_STANDARD, style="spaced"),
    "hostile": replace(_STANDARD, style="hostile"),
    "worst": replace(_STANDARD, style="worst"),
    "chat": _CHAT,
    **{name: replace(_CHAT, style=name) for name in BODIES},
    **{name: replace(_AGENT, style=name) for name in agents.FILES},
    "giant": Profile(1, requests=1_000, shape=Shape(result=780)),
    "giant_rewritten": Profile(1, requests=1_000, style="worst", shape=Shape(result=780)),
    "standard10": replace(_STANDARD, repeats=10),
    "long10": replace(_LONG, repeats=10),
    "small": Profile(1, requests=2, shape=Shape(tools=(16, 16))),
}
_FEWER = {"giant": 1, "giant_rewritten": 1, "small": 1}


def profile(name: str, *, quick: bool, share: float = 1.0) -> Profile:
    """A profile by name; ``quick`` makes it small, and ``share`` takes less of what must stay in the page cache."""
    chosen = PROFILES[name]
    if chosen.repeats > 1:
        chosen = replace(chosen, repeats=2 * max(1, int(chosen.repeats * share / 2)))
    if quick and name.startswith("giant"):
        return replace(chosen, requests=chosen.requests // 3)
    return replace(chosen, sessions=max(1, chosen.sessions // _FEWER.get(name, 4))) if quick else chosen


def generate(name: str, chosen: Profile, root: Path) -> Path:
    """The folder with a profile's logs."""
    home = root / name
    stamp = home / "stamp"
    version = sha256(repr(chosen).encode())
    for source in (agents.__file__, bodies.__file__, content.__file__, __file__):
        version.update(Path(str(source)).read_bytes())
    if not stamp.exists() or stamp.read_text() != version.hexdigest():
        print(f"generating {name} ...", flush=True)
        shutil.rmtree(home, ignore_errors=True)
        _write(home / "logs", chosen)
        stamp.write_text(version.hexdigest())
    return home / "logs"


def _write(folder: Path, chosen: Profile) -> None:
    count = 0
    for number in range(chosen.sessions):
        path, *others = (
            folder / _half(chosen, again) / f"{_START + timedelta(days=number % _DAYS):%Y-%m-%d}" / name
            for again in range(chosen.repeats)
            if (name := f"agent-{number:05}{f'-{again}' if again else ''}.jsonl")
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            count = _session(file, number, chosen, count)
        for other in others:
            other.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, other)


def _half(chosen: Profile, again: int) -> str:
    return "" if chosen.repeats == 1 else "ab"[again % 2]


def _session(file: BinaryIO, number: int, chosen: Profile, count: int) -> int:
    """Write a session; takes and gives the number of lines so far."""
    for line in _lines(number, chosen):
        if count % _BROKEN_EVERY == _FIRST_BROKEN:
            whole = b"".join(line)
            file.write(whole[: len(whole) * 3 // 5])
        else:
            file.writelines(line)
        file.write(b"\n")
        count += 1
    return count


def _lines(number: int, chosen: Profile) -> Iterator[list[Bytes]]:
    """A session's lines, in pieces.

    What is said depends on the number and the shape alone, so that the styles say the same.
    """
    rng = Random(f"{number} {chosen.requests} {chosen.shape}")
    requests = max(2, round(rng.lognormvariate(math.log(chosen.requests), chosen.spread)))
    tools = content.definitions(rng, chosen.shape)
    names = [tool["function"]["name"] for tool in tools]
    if write := agents.FILES.get(chosen.style):
        start = _START + timedelta(days=number % _DAYS, seconds=number)
        steps = content.steps(rng, requests, chosen.shape, names)
        yield from ([row] for row in write(number, Random(f"style {number}"), start, steps))
        return
    make = partial(STYLES[chosen.style], Random(f"style {number}"), tools)
    history = make()
    short = number % _SHORT_EVERY == _FIRST_SHORT
    when = _START + timedelta(days=number % _DAYS, seconds=number)
    said = content.steps(rng, requests - short, chosen.shape, names, chosen.client)
    for turn, step in enumerate(said):
        when += timedelta(seconds=rng.randint(1, 40), milliseconds=rng.randint(0, 999))
        history.add(step.added)
        yield history.line(_Envelope(number, turn, when, step))
    if short:
        last = content.title_request(rng, chosen.client)
        history = make()
        history.add(last.added)
        yield history.line(_Envelope(number, requests, when + timedelta(seconds=3), last))


@dataclass(frozen=True)
class _Envelope:
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


class _Growing:
    """Every request repeats the bytes of the one before."""

    comma = b","

    def __init__(self, rng: Random, tools: list[dict[str, Any]]) -> None:
        self.rng = rng
        self._body = bytearray()
        self._tools = self.encode(tools)

    def encode(self, value: Any) -> bytes:
        return orjson.dumps(value)

    def add(self, messages: list[dict[str, Any]]) -> None:
        """Take what the next request adds."""
        for message in messages:
            self._body += (self.comma if self._body else b"") + self.encode(message)

    def reply(self, message: dict[str, Any]) -> Any:
        """What stands for a reply in a response."""
        return message

    def line(self, envelope: _Envelope) -> list[Bytes]:
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


class _Spaced(_Growing):
    """As ``json.dumps`` writes it."""

    comma = b", "

    def encode(self, value: Any) -> bytes:
        return json.dumps(value).encode()


class _Provider(_Growing):
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

    def line(self, envelope: _Envelope) -> list[Bytes]:
        request, response = self._of.request(self._system), self._of.response(envelope.answer(), self._system)
        messages: list[Bytes] = [b"[", self._body, b"]"]
        return self.filled(envelope.around(request, response), messages, self._tools, envelope.step)


class _Hostile(_Growing):
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

    def line(self, envelope: _Envelope) -> list[Bytes]:
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


class _Worst(_Growing):
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

    def line(self, envelope: _Envelope) -> list[Bytes]:
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


STYLES: dict[str, Callable[[Random, list[dict[str, Any]]], _Growing]] = {
    "growing": _Growing,
    "spaced": _Spaced,
    "hostile": _Hostile,
    "worst": _Worst,
    **{name: partial(_Provider, body) for name, body in BODIES.items()},
}
