"""What an agent's session says: made up, but with the sizes, the languages and the mishaps of real ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import orjson

_CORPUS = 400_000  # characters of each kind of text, of which messages are slices
_LONGEST_RESULT = 50_000
_WORDS = """
    the of and to in a is that for it as was with be by on not he this are or his from at which but have an had they you
    were their one all we can her has there been if more when will would who so no out up into than them only its time
    some could these two may then do first any my now such like our over man even most made after also did many before
    must through file function module test error value return class server request response token session message path
    directory config parser index buffer thread lock cache query table column branch commit merge release build package
    version dependency import export schema field record stream handler timeout retry socket client header payload user
    account invoice order customer delivery report summary budget meeting schedule reply address number amount currency
""".split()
_FOREIGN = """
    Überprüfung der Änderungen an der Konfiguration größerer Straßenzüge façade déjà naïve coöperatie señor mañana
    проверка файла завершена успешно ошибка чтения данных Ελληνικά δοκιμή résumé “quoted” – → ✅ 🚀 ⚠️ corazón
    設定ファイルを確認しました 次の手順に進みます エラーが発生しました 请检查配置文件 测试已通过 错误信息如下
    파일을 확인했습니다 오류가 발생했습니다
""".split()
_CODE = (
    "def {a}_{b}(self, {c}: str | None = None) -> dict[str, int]:\n",
    '    """Return the {a} of the {b}, or none."""\n',
    '    if not {a} or {b}.{c} < {n}:\n        raise ValueError(f"{a} {{{b}!r}} is no {c}")\n',
    "    {a} = [{b}.{c}(item) for item in self._{c}[{n}:]]\n",
    "    for {a}, {b} in enumerate(self.{c}):\n        {a} += {n}\n",
    "@dataclass(frozen=True)\nclass {a}{b}:\n    {c}: int = {n}\n\n",
    "# {a} {b}: {c}\n",
    "\treturn self.{a}[\"{b}\"] + '{c}' * {n}\n\n",
    "import {a}.{b} as {c}\n",
)
_LISTING = (
    "-rw-r--r--  1 user user {n:>8} Jan 12 09:41 {a}/{b}_{c}.py\n",
    "2026-01-13 10:0{d}:{n:02.2} INFO  {a}.{b}: {c} took {n} ms\n",
    "tests/{a}/test_{b}.py::test_{c} PASSED   [ {d}%]\n",
    "src/{a}/{b}.ts:{n}:{d}: warning: {c} is deprecated\n",
    "  {a}-{b} {d}.{n} ({c})\n",
)
_SAYS = ("Let me look at", "I will change", "Now I can see", "This is caused by", "Next, I check", "Done:")


_FAILURES = (
    "bash: line {n}: {a}-{b}: command not found",
    "cat: src/{a}/{b}.py: No such file or directory",
    "Error: -32602: missing field `{a}` at line {d} column {n}",
    "error[E0{n}]: cannot find value `{a}` in module `{b}`\n  --> src/{c}.rs:{n}:{d}\n",
    "Traceback (most recent call last):\n  File \"src/{a}.py\", line {n}, in {b}\n    return {c}[{d}]\nKeyError: '{c}'",
    "{a} {b}: {c}\n\nThe command exited with exit code {d}1",
    '{{"stdout":"","stderr":"{a}: {b} is no {c}","exit_code":{d}}}',
    '{{"success":false,"message":"{a} of {b} has no {c}"}}',
)
_GOOSE = """You are a general-purpose AI agent called goose, created by Block.

The current date is 2026-01-{day:02} {hour:02}:00:00.

# Extensions

Extensions give you tools, and may be switched on and off during a conversation.

## developer

### Instructions

operating system: linux
current directory: /home/user/src/{folder}
shell: bash

{developer}

## memory

### Instructions

{memory}

# How to answer

• {answer}"""


class Step(NamedTuple):
    """What one request adds, and what was answered."""

    added: list[dict[str, Any]]
    reply: dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """How long a session's parts are."""

    prompt: int = 8_000
    tools: tuple[int, int] = (15, 40)
    result: int = 760
    """Characters of the median tool result."""
    shares_tools: bool = False
    """Whether all sessions have the same tools."""
    reads_source: bool = False
    """Whether tool results are parts of source files: of the standard library of the Python that runs."""


def steps(rng: Random, requests: int, shape: Shape, names: list[str], client: str = "plain") -> Iterator[Step]:
    """A conversation of an agent that has these tools, request by request."""
    talk = _TALKS[client](rng, shape, names)
    added = [{"role": "system", "content": talk.prompt()}, *talk.users()]
    for _ in range(requests):
        reply = talk.assistant()
        yield Step(added, reply)
        results = [talk.result(call) for call in reply.get("tool_calls", ())]
        added = [reply, *(results or talk.users())]


def title_request(rng: Random, client: str = "plain") -> Step:
    """A side request that a client sends at the end of a session: fewer messages, another system prompt."""
    told, before = _TITLES[client]
    asked = {"role": "user", "content": before + _slice(rng, "prose", 300)}
    return Step([{"role": "system", "content": told}, asked], {"role": "assistant", "content": "A title for it"})


def definitions(rng: Random, shape: Shape) -> list[dict[str, Any]]:
    """A session's tools."""
    return _tools()[: shape.tools[0]] if shape.shares_tools else rng.sample(_tools(), rng.randint(*shape.tools))


class _Talk:
    """Writes the messages of one session."""

    addresses = 1 / 40
    """The share of texts with one; fewer messages have one, as some texts do not come there."""

    def __init__(self, rng: Random, shape: Shape, names: list[str]) -> None:
        self._rng, self._shape, self._names = rng, shape, names

    def prompt(self) -> str:
        rules = _slice(self._rng, "prose", self._shape.prompt)
        return f"You are a coding agent — careful, and brief.\n\n# Rules\n\n• {rules}"

    def users(self) -> list[dict[str, Any]]:
        """What the user says, and what a client says in the user's name."""
        length = int(self._rng.lognormvariate(5, 0.8))
        return [{"role": "user", "content": self._with_address(_text(self._rng, min(length, 4_000)))}]

    def assistant(self) -> dict[str, Any]:
        rng = self._rng
        text = f"{rng.choice(_SAYS)} {_text(rng, int(rng.lognormvariate(4.6, 0.6)))}"
        if rng.random() < 0.12:
            return {"role": "assistant", "content": self._with_address(text)}
        calls = [self._call() for _ in range(2 if rng.random() < 0.1 else 1)]
        silent = rng.random() < 0.3
        return {"role": "assistant", "content": None if silent else self._with_address(text), "tool_calls": calls}

    def _call(self) -> dict[str, Any]:
        rng = self._rng
        arguments: dict[str, Any] = {
            "path": f"src/{rng.choice(_WORDS)}/{rng.choice(_WORDS)}.py",
            "limit": rng.randint(1, 999),
        }
        if rng.random() < 0.3:
            arguments["text"] = _slice(rng, "code", min(int(rng.lognormvariate(5.8, 0.9)), 8_000))
        function = {"name": rng.choice(self._names), "arguments": orjson.dumps(arguments).decode()}
        return {"id": f"call_{rng.getrandbits(96):024x}", "type": "function", "function": function}

    def result(self, call: dict[str, Any]) -> dict[str, Any]:
        rng = self._rng
        length = min(int(rng.lognormvariate(0, 1.1) * self._shape.result) + 20, _LONGEST_RESULT)
        kind = rng.random()
        if kind < 1 / 30:
            text = orjson.dumps({"error": f"no such {rng.choice(_WORDS)}", "code": rng.randint(1, 99)}).decode()
        elif kind < 0.2:
            text = _json_result(rng, length)
        else:
            code = _source(rng, length) if self._shape.reads_source else _slice(rng, "code", length)
            text = self._with_address(code if kind < 0.6 else _slice(rng, "listing", length))
        return {"role": "tool", "tool_call_id": call["id"], "content": text}

    def _with_address(self, text: str) -> str:
        rng = self._rng
        if rng.random() >= self.addresses:
            return text
        place = rng.randint(0, len(text))
        address = f"{rng.choice(_WORDS)}.{rng.choice(_WORDS)}{rng.randint(1, 999)}@{rng.choice(_WORDS)}-corp.com"
        return f"{text[:place]} {address} {text[place:]}"


class _Goose(_Talk):
    """Goose's: its prompt, more addresses, results that failed or are empty, and information in some sessions."""

    addresses = 1 / 8
    _failed, _empty, _informed = 1 / 10, 1 / 25, 1 / 12

    def __init__(self, rng: Random, shape: Shape, names: list[str]) -> None:
        super().__init__(rng, shape, names)
        self._is_informed = rng.random() < self._informed

    def prompt(self) -> str:
        rng, length = self._rng, self._shape.prompt // 3
        names = ("developer", "memory", "answer")
        texts = {name: _slice(rng, "prose", length) for name in names}
        return _GOOSE.format(day=rng.randint(1, 28), hour=rng.randint(0, 23), folder=rng.choice(_WORDS), **texts)

    def users(self) -> list[dict[str, Any]]:
        said = super().users()
        if not self._is_informed:
            return said
        now = f"2026-01-05 {self._rng.randint(8, 19):02}:{self._rng.randint(0, 59):02}:00"
        return [{"role": "user", "content": f"<info-msg>\nIt is currently {now}\n</info-msg>"}, *said]

    def result(self, call: dict[str, Any]) -> dict[str, Any]:
        rng, result = self._rng, super().result(call)
        kind = rng.random()
        if kind < self._failed:
            a, b, c = rng.sample(_WORDS, 3)
            text = rng.choice(_FAILURES).format(a=a, b=b, c=c, n=rng.randint(100, 999), d=rng.randint(1, 9))
            return {**result, "content": text}
        return {**result, "content": ""} if kind < self._failed + self._empty else result


_TALKS = {"plain": _Talk, "goose": _Goose}
_TITLES = {
    "plain": ("Name this conversation in a few words.", ""),
    "goose": ("Reply with only a description in four words or less", "Here are the first few user messages:\n"),
}
"""By client: what the system prompt is, and how what is asked begins."""


def _text(rng: Random, length: int) -> str:
    return _slice(rng, "foreign" if rng.random() < 0.15 else "prose", length)


def _slice(rng: Random, kind: str, length: int) -> str:
    start = rng.randrange(_CORPUS - length)
    return _corpus(kind)[start : start + length]


def _json_result(rng: Random, length: int) -> str:
    rows = []
    while length > 0:
        text = _text(rng, 60)
        rows.append(
            {"id": rng.randint(1, 10**6), "score": round(rng.random(), 3), "ok": True, "error": None, "text": text}
        )
        length -= 130
    return orjson.dumps({"status": "done", "rows": rows}).decode()


def _source(rng: Random, length: int) -> str:
    """Return a part of a source file, from a line on."""
    text = rng.choice(_source_files())
    start = text.rfind("\n", 0, rng.randrange(max(1, len(text) - length))) + 1
    return text[start : start + length]


@cache
def _source_files() -> list[str]:
    """Read the modules of the standard library, without its tests and packages."""
    return [path.read_text(encoding="utf-8") for path in sorted(Path(os.__file__).parent.glob("*.py"))]


@cache
def _corpus(kind: str) -> str:
    """A long text; the same in every run, since ``Random`` takes a string's bytes for its seed."""
    rng = Random(kind)
    pieces: list[str] = []
    length = 0
    while length < _CORPUS:
        pieces.append(_piece(rng, kind))
        length += len(pieces[-1])
    return "".join(pieces)[:_CORPUS]


def _piece(rng: Random, kind: str) -> str:
    if kind in ("code", "listing"):
        a, b, c = (rng.choice(_FOREIGN if rng.random() < 0.004 else _WORDS) for _ in range(3))
        template = rng.choice(_CODE if kind == "code" else _LISTING)
        return template.format(a=a, b=b, c=c, n=str(rng.randint(10, 9999)), d=rng.randint(0, 9))
    rare = 0.5 if kind == "foreign" else 0.001
    words = [rng.choice(_FOREIGN if rng.random() < rare else _WORDS) for _ in range(rng.randint(4, 18))]
    return " ".join(words).capitalize() + rng.choice((". ", ". ", ", ", ".\n", ".\n\n- ", ': "', '" (', ") "))


@cache
def _tools() -> list[dict[str, Any]]:
    rng = Random("tools")
    return [_tool(rng, f"{rng.choice(_WORDS)}_{rng.choice(_WORDS)}_{number}") for number in range(60)]


def _tool(rng: Random, name: str) -> dict[str, Any]:
    names = rng.sample(_WORDS, rng.randint(2, 5))
    properties = {each: {"type": "string", "description": _slice(rng, "prose", 70)} for each in names}
    parameters = {"type": "object", "properties": properties, "required": names[:2], "additionalProperties": False}
    text = f"{_slice(rng, 'prose', 180)}{rng.choice((' — see above', '…', '.', '.'))}"
    described = {"name": name, "description": text, "parameters": parameters}
    return {"type": "function", "function": described}
