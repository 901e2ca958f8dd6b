"""Readable texts: indented JSON, syntax highlighting of diffs and code, collapsed tools, records as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from chatsquash.core import chat, jsonio
from chatsquash.core.model import Json, Message
from chatsquash.core.text import escape, pluralize, printable_json
from chatsquash.pages.html.markup import Child, Html, tag, text, together
from chatsquash.pages.html.record import cut, size
from chatsquash.records.reading import MessagePart, message_parts

_MAX_COLOURED = 70_000
"""Characters of the longest text that is highlighted; longer ones are shown as they are."""
_SPANS = 20_000
"""Highlighted words per text."""
_LOOKED_AT = 20_000
"""A diff must start within this many characters."""
_BREAKS = 5_000
"""Escaped line feeds in JSON that are shown as line breaks."""
_FENCE = re.compile(
    r"^(?P<fence>```++|~~~++)[ \t]*+(?P<name>[\w.+#-]*+)[^\n]*+\n(?P<code>.*?)(?:^(?P=fence)[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_DIFF = re.compile(r"^(?:diff --git |@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|--- [^\n]+\n\+\+\+ )", re.MULTILINE)
_OF_DIFF = re.compile(
    r"[ +\-@\\]|(?:diff --git|index|new file|deleted file|old mode|new mode|similarity|rename|copy|Binary files) |\Z"
)
"""The beginnings of lines of a diff; empty lines match as well."""
_LINE = re.compile(r"[^\n]*+\n|[^\n]++")
_ESCAPE = re.compile(r"\\.")
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
    """Text of a message: ``kind`` is ``said``, ``thought``, ``call`` or ``result``."""
    inside = together(_inside(kind, said)) if len(said) <= _MAX_COLOURED else text(said)
    return tag("pre", Html("\n"), inside, class_=kind, dir="auto")


def json(value: str) -> Html:
    """Render JSON with syntax highlighting."""
    inside = together(_json(value)) if len(value) <= _MAX_COLOURED else text(value)
    return tag("pre", Html("\n"), inside, class_="json")


def diff(lines: str) -> Html:
    """Render the diff of an edit; it is derived from a call, so the search on the page skips it."""
    inside = together(_diff(lines)) if len(lines) <= _MAX_COLOURED else text(lines)
    return tag("pre", Html("\n"), inside, class_="edit")


def has_bare_diff(said: str) -> bool:
    """Return whether a text has a diff outside of code fences; Markdown would turn its lines into lists."""
    return bool(_DIFF.search(_FENCE.sub("", said[:_LOOKED_AT])))


def fenced(info: str, content: str) -> Html:
    """Render a block of code with syntax highlighting, below its language."""
    label = tag("span", info[:_NAME], class_="language") if info else None
    inside = tag("code", together(_fenced(info.partition(" ")[0], content)))
    return together((label, tag("pre", Html("\n"), inside, class_="code")))


def _inside(kind: str, said: str) -> Iterator[Html]:
    if kind in ("call", "result") and (spelled := readable(said)) and len(spelled) <= _MAX_COLOURED:
        yield from _json(spelled)
    elif kind in ("said", "thought"):
        yield from _prose(said)
    elif _DIFF.search(said[:_LOOKED_AT]):
        yield from _diff(said)
    else:
        yield text(said)


def _prose(said: str) -> Iterator[Html]:
    """Highlight the code in a text, which is detected by fences or the header of a diff."""
    at = 0
    for fence in _FENCE.finditer(said):
        yield from _unfenced(said[at : fence.start("code")])
        code = fence["code"]
        yield tag("code", together(_fenced(fence["name"], code)), class_="fenced")
        at = fence.end("code")
    yield from _unfenced(said[at:])


def _unfenced(said: str) -> Iterator[Html]:
    """Highlight the lines of a diff in a text without fences."""
    match = _DIFF.search(said[:_LOOKED_AT])
    if not match:
        yield text(said)
        return
    stop = begin = match.start()
    for line in _LINE.finditer(said, begin):
        if not _OF_DIFF.match(line[0].rstrip("\r\n")):
            break
        stop = line.end()
    yield text(said[:begin])
    yield tag("code", together(_diff(said[begin:stop])), class_="fenced")
    yield text(said[stop:])


def _fenced(name: str, code: str) -> Iterator[Html]:
    if name in ("diff", "patch"):
        return _diff(code)
    return _json(code) if name == "json" else _highlight(_TOKEN.finditer(code), code)


def _diff(said: str) -> Iterator[Html]:
    """Highlight the lines of a diff."""
    kinds = {"+": "added", "-": "removed", "@": "hunk"}
    for number, line in enumerate(said.split("\n")):
        yield text("\n") if number else text("")
        kind = kinds.get(line[:1]) if number < _SPANS else None
        yield tag("span", line, class_=kind) if kind else text(line)


def _highlight(words: Iterator[re.Match[str]], code: str) -> Iterator[Html]:
    at = 0
    for match in islice(words, _SPANS):
        yield text(code[at : match.start()])
        yield tag("span", match[0], class_=match.lastgroup)
        at = match.end()
    yield text(code[at:])


def _json(code: str) -> Iterator[Html]:
    """Highlight JSON, with a line break after each escaped line feed inside a text."""
    # The style sheet breaks the lines, so that search and copying still see the original text.
    at = breaks = 0
    for match in islice(_JSON.finditer(code), _SPANS):
        yield text(code[at : match.start()])
        word = match[0]
        inside: list[Html] = [text(word)]
        if match.lastgroup == "string" and "\\n" in word and breaks < _BREAKS:
            inside = list(_line_breaks(word))
            breaks += len(inside)
        yield tag("span", *inside, class_=match.lastgroup)
        at = match.end()
    yield text(code[at:])


def _line_breaks(word: str) -> Iterator[Html]:
    at = 0
    for match in _ESCAPE.finditer(word):
        if match[0] == r"\n" and match.end() < len(word) - 1:
            yield text(word[at : match.start()])
            yield tag("span", match[0], class_="break")
            at = match.end()
    yield text(word[at:])


_MAX_TOOLS = 200
"""Tools listed on a page."""
_TEXT = 16_000
"""Bytes of a description or a schema."""
_MOST = 500_000
"""Characters of HTML after which no more tools are listed."""
_OPENING = 90
"""Characters of the description next to the name of a tool."""
_NAME = 120


def tools(definitions: Json) -> Html | None:
    """Render tool definitions; return ``None`` if there are none."""
    if not isinstance(definitions, list) or not definitions:
        return None
    items: list[Html] = []
    remaining = _MOST
    for tool in definitions[:_MAX_TOOLS]:
        items.append(_tool(tool))
        remaining -= len(items[-1])
        if remaining < 0:
            break
    more = len(definitions) - len(items)
    items += [tag("p", f"… {pluralize(more, 'more tool')} (see the JSON of the record)", class_="cut")] if more else []
    return tag("details", tag("summary", pluralize(len(definitions), "tool")), *items, class_="tools")


def _tool(tool: Json) -> Html:
    inner = chat.custom(tool) or (tool.get("function") if isinstance(tool, dict) else None)
    definition: dict[str, Any] = inner if isinstance(inner, dict) else tool if isinstance(tool, dict) else {}
    name = chat.tool_name(definition) or "?"
    description = definition.get("description")
    said = description if isinstance(description, str) else ""
    rest = {key: value for key, value in definition.items() if key not in ("name", "description", "type")} or None
    opening = " ".join(said[: 4 * _OPENING].split())[:_OPENING]
    summary: list[Child] = [tag("code", name[:_NAME], class_="name", dir="auto"), " "]
    summary.append(tag("span", opening, class_="opening", dir="auto"))
    return tag("details", tag("summary", *summary), *_texts(said, rest if definition else tool))


def _texts(description: str, schema: Json) -> Iterator[Html]:
    if description:
        beginning, omitted_bytes = cut(description, _TEXT)
        yield tag("pre", Html("\n"), beginning, class_="said", dir="auto")
        yield from _cut(omitted_bytes)
    if schema is not None:
        beginning, omitted_bytes = cut(printable_json(schema, indent=True).decode(), _TEXT)
        yield json(beginning)
        yield from _cut(omitted_bytes)


def _cut(omitted_bytes: int) -> Iterator[Html]:
    if omitted_bytes:
        yield tag("p", f"… {size(omitted_bytes)} more (see the JSON of the record)", class_="cut")


_READABLE = 1 << 20
"""Characters of the longest JSON that is indented."""
_FARTHER, _LITTLE = 8, 10_000
"""Limits for the growth of indented JSON: a factor, plus a number of characters."""


def readable(text: str, most: int = _READABLE) -> str | None:
    """Indent a JSON object or array; return ``None`` for anything else, or if it is longer than ``most``."""
    if not text.lstrip().startswith(("{", "[")) or len(text) > most:
        return None
    try:
        value = jsonio.loads(text.encode())
    except (ValueError, RecursionError):
        return None
    return (
        printable_json(value, indent=True).decode() if _indentation(value) <= _FARTHER * len(text) + _LITTLE else None
    )


def _indentation(value: Json) -> int:
    """Estimate the number of spaces that indentation adds, which is large for deep values with many members."""
    spaces = 0
    waiting = [(value, 1)]
    while waiting:
        each, depth = waiting.pop()
        if isinstance(each, dict | list):
            spaces += 2 * depth * len(each)
            waiting += ((inner, depth + 1) for inner in (each.values() if isinstance(each, dict) else each))
    return spaces


_BACKTICKS = re.compile(r"^[ \t]*(`{3,})", re.MULTILINE)


def markdown(messages: list[Message], title: str) -> str:
    """Return a conversation as Markdown; everything but texts is fenced, with fences longer than any in the content."""
    return "\n\n".join([f"# {_line(title)}", *(block for message in messages for block in _message(message))]) + "\n"


def _message(message: Message) -> Iterator[str]:
    beside = [message.get(name) for name in ("name", "tool_call_id")]
    names = [text for text in (message["role"], *beside) if isinstance(text, str) and text]
    yield f"## {_line(' '.join(names))}"
    for part in message_parts(message):
        yield _part(part)


def _part(part: MessagePart) -> str:
    if part.kind == "text":
        return part.text
    if part.kind == "part":
        return f"({_line(part.name)})"
    title = f"**{part.kind}{f' {_line(part.name)}' if part.name else ''}**"
    spelled = readable(part.text)
    return f"{title}\n\n{_fence_text(spelled or part.text, 'json' if spelled else '')}"


def _fence_text(text: str, name: str) -> str:
    longest = max((len(match[1]) for match in _BACKTICKS.finditer(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{name}\n{text}\n{fence}"


def _line(text: str) -> str:
    return escape(" ".join(text.split()))
