"""Seeded logs on disk, regenerated if this code or a profile changes."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, BinaryIO

import orjson

from bench import agents, bodies, content, documents, gemini_cli, opencode, pi, styles
from bench.bodies import BODIES
from bench.content import Shape
from bench.documents import DOCUMENTS
from bench.styles import STYLES, Bytes, Envelope

_BROKEN_EVERY, _FIRST_BROKEN = 5_000, 700  # lines
_SHORT_EVERY, _FIRST_SHORT = 50, 3  # sessions
_DAYS = 10
_START = datetime(2026, 1, 5, 8, tzinfo=UTC)
_SMALL = Shape(prompt=900, tools=(3, 4), result=400)
_CODE = Shape(tools=(16, 16), result=6_000, shares_tools=True, reads_source=True)


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
    document: str = ""
    """The kind of the only file, if it contains all sessions."""


_STANDARD = Profile(200, spread=0.62)
_LONG = Profile(6, requests=250)
_CHAT = replace(_STANDARD, sessions=60)
_TINY = Profile(20_000, requests=2, shape=_SMALL)
_AGENT = Profile(60, requests=260, spread=0.55, shape=Shape(result=1_100))
PROFILES = {
    "standard": _STANDARD,
    "long": _LONG,
    "real": replace(_STANDARD, client="goose"),
    "tiny": _TINY,
    "small": replace(_TINY, shape=replace(_SMALL, shares_tools=True)),
    "code": Profile(1_500, requests=4, shape=_CODE),
    "code_growing": Profile(100, spread=0.62, shape=_CODE),
    "spaced": replace(_STANDARD, style="spaced"),
    "hostile": replace(_STANDARD, style="hostile"),
    "worst": replace(_STANDARD, style="worst"),
    "chat": _CHAT,
    **{name: replace(_CHAT, style=name) for name in BODIES},
    **{name: replace(_AGENT, style=name) for name in agents.FILES},
    **{name: replace(_TINY, document=name) for name in DOCUMENTS},
    "giant": Profile(1, requests=1_000, shape=Shape(result=780)),
    "giant_rewritten": Profile(1, requests=1_000, style="worst", shape=Shape(result=780)),
    "standard10": replace(_STANDARD, repeats=10),
    "long10": replace(_LONG, repeats=10),
    "one": Profile(1, requests=2, shape=Shape(tools=(16, 16))),
}
COPIES = tuple(name for name, each in PROFILES.items() if each.repeats > 1)
"""Profiles that contain each session several times."""
CONTENT = {
    "standard": "gateway, about 27 requests per session",
    "long": "gateway, 250 requests per session",
    "real": "standard; Goose's system prompt and failed results",
    "tiny": "gateway, 2 requests per session",
    "small": "tiny, the same tools in all sessions",
    "code": "4 requests per session, source files in results",
    "code_growing": "about 27 requests, source files in results",
    "spaced": "standard; the spaces and escapes of `json.dumps`",
    "hostile": "standard; a clock in the prompt, other ids and key order in each request",
    "worst": "standard; random key order, also in tools, and other ids in each request",
    "chat": "fewer sessions of standard",
    "anthropic": "standard, Anthropic API",
    "gemini": "standard, Gemini API",
    "openai_responses": "standard, OpenAI Responses API",
    "ollama": "standard, Ollama API",
    **dict.fromkeys(agents.FILES, "agent's files, about 260 requests per session"),
    "array": "tiny, one JSON array",
    "litellm": "tiny, rows of LiteLLM's proxy",
    "langfuse": "tiny, Langfuse export",
    "giant": "one session, 1,000 requests",
    "giant_rewritten": "giant; other ids and key order in each request",
    "standard10": "standard, ten times",
    "long10": "long, ten times",
    "one": "one session of 2 requests",
    "own": "your logs",
}
"""The content of the logs of each profile, and of the logs of a user."""
_FEWER = {"giant": 1, "giant_rewritten": 1, "one": 1}


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
    for module in (agents, bodies, content, documents, gemini_cli, opencode, pi, styles):
        version.update(Path(str(module.__file__)).read_bytes())
    version.update(Path(__file__).read_bytes())
    if not stamp.exists() or stamp.read_text() != version.hexdigest():
        print(f"generating {name} ...", flush=True)
        shutil.rmtree(home, ignore_errors=True)
        _write(home / "logs", chosen)
        stamp.write_text(version.hexdigest())
    return home / "logs"


def _write(folder: Path, chosen: Profile) -> None:
    if chosen.document:
        name, write = DOCUMENTS[chosen.document]
        folder.mkdir(parents=True)
        with (folder / name).open("wb") as file:
            file.writelines(write(_entries(chosen)))
        return
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


def _entries(chosen: Profile) -> Iterator[dict[str, Any]]:
    """Yield the entries of all sessions, without those that are malformed in the files of single sessions."""
    lines = (line for number in range(chosen.sessions) for line in _lines(number, chosen))
    for count, line in enumerate(lines):
        if count % _BROKEN_EVERY != _FIRST_BROKEN:
            yield orjson.loads(b"".join(line))


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
        yield history.line(Envelope(number, turn, when, step))
    if short:
        last = content.title_request(rng, chosen.client)
        history = make()
        history.add(last.added)
        yield history.line(Envelope(number, requests, when + timedelta(seconds=3), last))
