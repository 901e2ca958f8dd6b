"""Records of agents at work, in which texts are planted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from random import Random
from typing import Any, NamedTuple

from bench.redact import ordinary
from bench.redact.shapes import text

Record = dict[str, Any]
Message = dict[str, Any]


class Planted(NamedTuple):
    """A text, and who writes it: ``file PATH``, ``shell``, ``output`` or ``chat``."""

    where: str
    text: str


def record(rng: Random, planted: Iterable[Planted], turns: int) -> Record:
    """A record with these texts, among as many turns of ordinary work."""
    work: list[Planted | None] = [*planted, *[None] * turns]
    rng.shuffle(work)
    system = f"You are a coding agent. {ordinary.sentences(rng, 3)}"
    messages: list[Message] = [{"role": "system", "content": system}]
    messages.append(
        {"role": "user", "content": text(rng, "The {word} job of {word} fails since yesterday, please fix it.")}
    )
    for number, each in enumerate(work):
        messages += _turn(rng, number, each) if each else _usual(rng, number)
    return {"messages": [*messages, {"role": "assistant", "content": ordinary.sentences(rng, 4)}], "tools": _TOOLS}


def texts(value: Record) -> list[str]:
    """All texts of a record, those in arguments as what reads the arguments sees them."""
    found: list[str] = []
    inside: list[Any] = [value]
    while inside:
        member = inside.pop()
        if isinstance(member, str):
            found.append(member)
        elif isinstance(member, dict):
            for key, each in member.items():
                inside += [key, json.loads(each) if key == "arguments" and isinstance(each, str) else each]
        elif isinstance(member, list):
            inside += member
    return found


def _turn(rng: Random, number: int, planted: Planted) -> list[Message]:
    where, _, path = planted.where.partition(" ")
    path = text(rng, path)
    if where == "chat":
        return [
            {"role": "user", "content": planted.text},
            {"role": "assistant", "content": ordinary.sentences(rng, 2)},
        ]
    if where == "shell":
        if rng.random() < 0.2:
            return [{"role": "assistant", "content": f"Run this:\n\n```sh\n{planted.text}```\n"}]
        return _called(rng, number, "bash", {"command": planted.text}, ordinary.lines(rng, 300))
    if where == "output":
        around = [ordinary.lines(rng, rng.randint(50, 500)) if rng.random() < 0.5 else "" for _ in range(2)]
        return _called(rng, number, "bash", {"command": f"./{path or 'run'}.sh"}, planted.text.join(around))
    if rng.random() < 0.3:
        return _called(rng, number, "write_file", {"path": path, "content": planted.text}, "ok")
    return _called(rng, number, "read_file", {"path": path}, planted.text)


def _usual(rng: Random, number: int) -> list[Message]:
    kind, length = rng.random(), int(rng.lognormvariate(7, 0.9))
    if kind < 0.1:
        return [
            {"role": "user", "content": ordinary.sentences(rng, 2)},
            {"role": "assistant", "content": ordinary.lines(rng, 400, "markdown")},
        ]
    if kind < 0.35:
        content = ordinary.lines(rng, length, rng.choice(("python", "javascript", "go", "yaml", "markdown")))
        path = text(rng, "src/{word}/{word}.py")
        return _called(
            rng, number, "write_file", {"path": path, "content": content}, text(rng, "wrote {d4} characters")
        )
    if kind < 0.65:
        return _called(
            rng, number, "read_file", {"path": text(rng, "src/{word}/{word}.ts")}, ordinary.lines(rng, length)
        )
    command = text(rng, rng.choice(_COMMANDS))
    return _called(rng, number, "bash", {"command": command, "timeout": 120_000}, ordinary.lines(rng, length))


def _called(rng: Random, number: int, name: str, arguments: dict[str, Any], result: str) -> list[Message]:
    called = f"call_{number}_{rng.getrandbits(48):012x}"
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    call = {"id": called, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": ordinary.sentences(rng, 1), "tool_calls": [call]},
        {"role": "tool", "tool_call_id": called, "content": result},
    ]


_COMMANDS = (
    "pytest -q tests/{word}",
    "git log --oneline -n {n1} -- src/{word}",
    "rg -n '{word}' src | head -{d2}",
    "npm run build --workspace {word}",
    "kubectl get pods -n {word} -o wide",
    "ls -la packages/{word}",
    "sed -n '{n1},{d2}p' src/{word}/{word}.py",
)


def _tool(name: str, **parameters: str) -> dict[str, Any]:
    properties = {key: {"type": "string", "description": what} for key, what in parameters.items()}
    described = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"type": "function", "function": {"name": name, "description": f"Runs {name}.", "parameters": described}}


_TOOLS = [
    _tool("bash", command="The command to run."),
    _tool("read_file", path="The path of the file."),
    _tool("write_file", path="The path of the file.", content="What to write."),
]
