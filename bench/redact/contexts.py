"""Contexts: what stands around a secret where agents meet it."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import NamedTuple
from urllib.parse import quote
from xml.sax.saxutils import escape

from bench.redact import configs, prose, shell
from bench.redact.kinds import BASIC, BLOCK, COOKIE, SHAPE, TOLD, Kind
from bench.redact.shapes import Value, text

_VALUE = re.compile(r"<<(value|xml|url|json|line|indented|plus)>>")
_BARE = re.compile(r"(?![@*%?,:~=-])[\w./+=~@^:*?%,-]+")
"""What needs no quotes in a shell, in YAML and elsewhere."""
_PASSWORD = re.compile(r"PASS|_PW$")


class Context(NamedTuple):
    """A place in which a secret stands."""

    name: str
    where: str
    """``file PATH``, ``shell``, ``output`` or ``chat``: who writes it."""
    template: str
    takes: str
    """``names`` what has a name, ``any`` what is told by its form alone, ``token``, ``password``, ``block``, …"""

    def holds(self, kind: Kind, value: str) -> bool:
        """Whether a secret of this kind may stand here."""
        if self.takes in (BLOCK, BASIC, COOKIE):
            return kind.how == self.takes
        if not self._takes(kind):
            return False
        before = self.template[: _place(self.template).start()][-1:]
        spelled = _place(self.template)[1]
        return spelled != "value" or before in ('"', "'", "`") or bool(_BARE.fullmatch(value))

    def _takes(self, kind: Kind) -> bool:
        is_token = "TOKEN" in kind.variable or "KEY" in kind.variable
        is_password = bool(_PASSWORD.search(kind.variable))
        if kind.how == SHAPE:
            is_url = kind.shape.startswith(("http", "{", "Default", "Endpoint")) or "://" in kind.shape
            return self.takes in ("names", "any") or (self.takes == "token" and is_token and not is_url)
        wanted = {"names": True, "token": is_token and not is_password, "password": is_password}
        return kind.how == TOLD and wanted.get(self.takes, False)

    def around(self, rng: Random, kind: Kind, value: Value) -> Value:
        """A text with the secret in this context."""
        found = _place(self.template)
        before, after = (_filled(rng, part, kind) for part in self.template.split(found[0], 1))
        return _SPELLED[found[1]](value).within(before, after)


def contexts() -> list[Context]:
    """All contexts."""
    return [
        Context(name, where, template.strip("\n") + "\n", takes)
        for module in (configs, shell, prose)
        for takes, rows in module.CONTEXTS.items()
        for name, (where, template) in rows.items()
    ]


def _place(template: str) -> re.Match[str]:
    found = _VALUE.search(template)
    assert found, template
    return found


def _filled(rng: Random, part: str, kind: Kind) -> str:
    name = kind.variable
    words = name.lower().replace(".", "_").split("_")
    spelled = {
        "NAME": name,
        "name": "_".join(words),
        "kebab": "-".join(words),
        "camel": words[0] + "".join(word.title() for word in words[1:]),
        "Pascal": "".join(word.title() for word in words),
        "Header": "-".join(word.title() for word in words),
        "dots": ".".join(words),
    }
    for what, written in spelled.items():
        part = part.replace(f"<<{what}>>", written)
    return text(rng, part)


def _indented(value: Value) -> Value:
    return value.mapped(lambda character: "\n    " if character == "\n" else character)


_SPELLED: dict[str, Callable[[Value], Value]] = {
    "value": lambda value: value,
    "xml": lambda value: value.mapped(escape),
    "url": lambda value: value.mapped(lambda character: quote(character, safe="")),
    "json": lambda value: value.mapped(lambda character: {"\n": "\\n", '"': '\\"'}.get(character, character)),
    "line": lambda value: value.mapped(lambda character: " " if character == "\n" else character),
    "indented": _indented,
    "plus": lambda value: value.mapped(lambda character: "\n+" if character == "\n" else character),
}
