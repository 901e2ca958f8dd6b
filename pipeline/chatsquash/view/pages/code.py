"""Texts as people read them: JSON on several lines, lines of diffs and words of code in colours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from chatsquash.html.markup import Html, tag, text, together
from chatsquash.view.texts import readable

_COLOURED = 70_000
"""Characters of a text that are coloured; a longer one is shown as it is."""
_SPANS = 20_000
"""Coloured words of a text."""
_LOOKED_AT = 20_000
"""Characters in which a diff has to begin."""
_FENCE = re.compile(
    r"^(?P<fence>```++|~~~++)[ \t]*+(?P<name>[\w.+#-]*+)[^\n]*+\n(?P<code>.*?)(?:^(?P=fence)[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_DIFF = re.compile(r"^(?:diff --git |@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|--- [^\n]+\n\+\+\+ )", re.MULTILINE)
_WORDS = (
    "and as assert async await begin break case catch class const continue def del do done echo elif else end enum "
    "except export extends false fi final finally fn for from func function global if impl import in interface is "
    "lambda let match mod mut new nil none not null or package pass private protected pub public raise return self "
    "static struct super switch then this throw trait true try type undefined use var void while with yield"
)
_TOKEN = re.compile(
    r"(?P<string>\"(?:[^\"\\\n]|\\.){0,500}\"|'(?:[^'\\\n]|\\.){0,500}')"
    r"|(?P<comment>(?:#|//)[^\n]*)"
    r"|(?P<number>\b\d[\d_.]*\b)"
    rf"|(?P<word>\b(?:{'|'.join(_WORDS.split())})\b)",
    re.IGNORECASE,
)
_JSON = re.compile(
    r"(?P<key>\"(?:[^\"\\\n]|\\.)*+\"(?= ?:))|(?P<string>\"(?:[^\"\\\n]|\\.)*+\"?)"
    r"|(?P<number>-?\b\d[\d.eE+-]*)|(?P<word>\b(?:true|false|null)\b)"
)


def body(kind: str, said: str) -> Html:
    """A text of a message: ``kind`` is ``said``, ``thought``, ``call`` or ``result``."""
    inside = together(_inside(kind, said)) if len(said) <= _COLOURED else text(said)
    return tag("pre", Html("\n"), inside, class_=kind, dir="auto")


def json(value: str) -> Html:
    """A text of JSON in colours."""
    inside = together(_coloured(_JSON.finditer(value), value)) if len(value) <= _COLOURED else text(value)
    return tag("pre", Html("\n"), inside, class_="json")


def _inside(kind: str, said: str) -> Iterator[Html]:
    if kind in ("call", "result") and (spelled := readable(said)) and len(spelled) <= _COLOURED:
        yield from _coloured(_JSON.finditer(spelled), spelled)
    elif _DIFF.search(said[:_LOOKED_AT]):
        yield from _diff(said)
    elif kind in ("said", "thought"):
        yield from _prose(said)
    else:
        yield text(said)


def _prose(said: str) -> Iterator[Html]:
    """A text with its fenced code in colours."""
    at = 0
    for fence in _FENCE.finditer(said):
        yield text(said[at : fence.start("code")])
        code = fence["code"]
        yield tag("code", together(_fenced(fence["name"], code)), class_="fenced")
        at = fence.end("code")
    yield text(said[at:])


def _fenced(name: str, code: str) -> Iterator[Html]:
    if name in ("diff", "patch"):
        return _diff(code)
    return _coloured(_JSON.finditer(code) if name == "json" else _TOKEN.finditer(code), code)


def _diff(said: str) -> Iterator[Html]:
    """A diff, a line each."""
    kinds = {"+": "added", "-": "removed", "@": "hunk"}
    for number, line in enumerate(said.split("\n")):
        yield text("\n") if number else text("")
        kind = kinds.get(line[:1]) if number < _SPANS else None
        yield tag("span", line, class_=kind) if kind else text(line)


def _coloured(words: Iterator[re.Match[str]], code: str) -> Iterator[Html]:
    at = 0
    for found in islice(words, _SPANS):
        yield text(code[at : found.start()])
        yield tag("span", found[0], class_=found.lastgroup)
        at = found.end()
    yield text(code[at:])
