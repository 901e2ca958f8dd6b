"""Encoded forms of a secret: base64 at each offset, URL and JSON escapes, lines that break it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from random import Random
from urllib.parse import quote

from bench.redact.contexts import Context
from bench.redact.kinds import BLOCK, SHAPE, TOLD, Kind
from bench.redact.shapes import Value, text

Form = Callable[[Random, Kind, Context, Value], tuple[str, Value] | None]
"""Makes of a secret the text that it stands in, and says who writes that; ``None`` where this form does not occur."""

_COLUMNS = 76
"""At which ``base64`` breaks lines."""
_BEFORE = ("", "git:", "user:")
"""What shifts a value by 0, 1 and 2 bytes of the 3 that base64 takes at once."""
_VALUES = (
    (
        "file secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {word}\ndata:\n  <<NAME>>: <<value>>\ntype: Opaque\n",
    ),
    ("output", '{"apiVersion":"v1","data":{"<<NAME>>":"<<value>>"},"kind":"Secret","metadata":{"name":"{word}"}}\n'),
    ("shell", "export <<NAME>>=$(echo <<value>> | base64 -d) && ./{word}\n"),
)
_CONFIGS = (
    ("file secret.yml", "kind: Secret\ndata:\n  config.yaml: <<value>>\nmetadata:\n  name: {word}\n"),
    ("shell", "echo '<<value>>' | base64 --decode > {word}.conf\n"),
    ("output", '{"UserData": {"Value": "<<value>>"}, "InstanceId": "i-0{h16}"}\n'),
    ("file main.tf", '  user_data_base64 = "<<value>>"\n  tags = { Name = "{word}" }\n'),
)
_URLS = (
    ("output", "302 https://{word}.com/callback?state={h16}&<<name>>=<<value>>\n"),
    ("shell", "curl -X POST https://{word}.io/form --data '<<name>>=<<value>>&next=%2F'\n"),
    ("output", '10.1.0.{n1} - - [12/May/2024:11:20:3{n1} +0000] "GET /{word}?<<name>>=<<value>> HTTP/1.1" 302 0\n'),
)
_BODIES = (
    ("output", "https://{word}.app/share?text=<<value>>&source=cli\n"),
    ("output", "form body: title={word}&content=<<value>>&submit=1\n"),
)
_LOOKS: tuple[dict[str, str], ...] = (
    {},
    {"/": "\\/"},  # as PHP writes it
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"},  # as Go does
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "=": "\\u003d", "'": "\\u0027", "+": "\\u002b", "/": "\\/"},
)


def forms() -> dict[str, Form]:
    """All encoded forms by name."""
    made: dict[str, Form] = {}
    for offset in range(3):
        made[f"base64-value-{offset}"] = _value_at(offset)
        made[f"base64-config-{offset}"] = _config_at(offset)
    made |= {"base64-lines": _lines, "url-all": _every_character, "url-config": _quoted}
    made |= {f"json-{depth}": _escaped(depth) for depth in range(1, 5)}
    return made | {"split": _split(_wrapped), "split-indented": _split(_indented), "split-diff": _split(_added)}


def _value_at(offset: int) -> Form:
    def form(rng: Random, kind: Kind, context: Context, value: Value) -> tuple[str, Value] | None:  # noqa: ARG001
        if kind.how not in (SHAPE, TOLD, BLOCK):
            return None
        return _put(rng, kind, _VALUES, in_base64(value.within(_BEFORE[offset], "")))

    return form


def _config_at(offset: int) -> Form:
    def form(rng: Random, kind: Kind, context: Context, value: Value) -> tuple[str, Value] | None:
        config = context.around(rng, kind, value)
        fill = "#" * ((offset - config.spans[0][0] - 3) % 3)
        return _put(rng, kind, _CONFIGS, in_base64(config.within(f"##{fill}\n", "")))

    return form


def _lines(rng: Random, kind: Kind, context: Context, value: Value) -> tuple[str, Value]:
    config = in_base64(context.around(rng, kind, value))
    places = iter(range(len(config.text)))

    def spell(character: str) -> str:
        return "\n" + character if (at := next(places)) and at % _COLUMNS == 0 else character

    return "output", config.mapped(spell).within(f"$ base64 {rng.choice(('.env', 'config'))}\n", "\n$\n")


def _every_character(rng: Random, kind: Kind, context: Context, value: Value) -> tuple[str, Value] | None:  # noqa: ARG001
    if kind.how not in (SHAPE, TOLD):
        return None
    return _put(rng, kind, _URLS, value.mapped(lambda character: f"%{ord(character):02X}"))


def _quoted(rng: Random, kind: Kind, context: Context, value: Value) -> tuple[str, Value]:
    config = context.around(rng, kind, value)
    return _put(rng, kind, _BODIES, config.mapped(lambda character: quote(character, safe="")))


def _escaped(depth: int) -> Form:
    def form(rng: Random, kind: Kind, context: Context, value: Value) -> tuple[str, Value]:
        look, made = rng.choice(_LOOKS), context.around(rng, kind, value)
        for _ in range(depth):
            name = rng.choice(("output", "text", "body", "stdout", "content"))
            made, look = _in_json(made, look).within(f'{{"{name}":"', f'","code":{rng.randint(0, 9)}}}'), {}
        return "output", made.within("", "\n")

    return form


def _in_json(value: Value, look: dict[str, str]) -> Value:
    return value.mapped(lambda character: look.get(character) or json.dumps(character)[1:-1])


def in_base64(value: Value) -> Value:
    """A value in base64; what is left of it is what follows from its characters alone."""
    spans, ends = [], [0]
    for character in value.text:
        ends.append(ends[-1] + len(character.encode()))
    for start, end in value.spans:
        spans.append((-(-ends[start] * 4 // 3), ends[end] * 4 // 3))
    return Value(base64.b64encode(value.text.encode()).decode(), tuple(spans))


def _split(spell: Callable[[Random, Value, int], Value]) -> Form:
    def form(rng: Random, kind: Kind, context: Context, value: Value) -> tuple[str, Value] | None:
        if kind.how not in (SHAPE, TOLD) or len(value.text) < 20 or "<<value>>" not in context.template:
            return None
        before, after = context.around(rng, kind, Value("\0", ())).text.split("\0")
        return context.where, spell(rng, value, rng.randint(2, len(value.text) - 2)).within(before, after)

    return form


def _broken(value: Value, at: int, between: str) -> Value:
    spans = []
    for start, end in value.spans:
        if start < at < end:
            spans += [(start, at), (at + len(between), end + len(between))]
        else:
            by = len(between) if start >= at else 0
            spans.append((start + by, end + by))
    return Value(value.text[:at] + between + value.text[at:], tuple(spans))


def _wrapped(rng: Random, value: Value, at: int) -> Value:  # noqa: ARG001
    return _broken(value, at, "\n")


def _indented(rng: Random, value: Value, at: int) -> Value:
    return _broken(value, at, "\n" + " " * rng.choice((2, 4, 6, 8)))


def _added(rng: Random, value: Value, at: int) -> Value:
    return _broken(value, at, "\n" + rng.choice(("+", "-", "+    ", "> ", "| ")))


def _put(rng: Random, kind: Kind, places: tuple[tuple[str, str], ...], value: Value) -> tuple[str, Value]:
    where, template = rng.choice(places)
    named = template.replace("<<NAME>>", kind.variable).replace("<<name>>", kind.variable.lower())
    before, after = (text(rng, part) for part in named.split("<<value>>"))
    return where, value.within(before, after)
