"""A record as Markdown, to be pasted elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

from chatsquash.core.model import Message
from chatsquash.core.text import escaped
from chatsquash.records.message_texts import Part, parts
from chatsquash.view.texts import readable

_FENCE = re.compile(r"^[ \t]*(`{3,})", re.MULTILINE)


def markdown(messages: list[Message], title: str) -> str:
    """A conversation; texts stand as they are, all else in fences that nothing in it ends."""
    return "\n\n".join([f"# {_line(title)}", *(block for message in messages for block in _message(message))]) + "\n"


def _message(message: Message) -> Iterator[str]:
    beside = [message.get(name) for name in ("name", "tool_call_id")]
    told = [text for text in (message["role"], *beside) if isinstance(text, str) and text]
    yield f"## {_line(' '.join(told))}"
    for part in parts(message):
        yield _part(part)


def _part(part: Part) -> str:
    if part.kind == "text":
        return part.text
    if part.kind == "part":
        return f"({_line(part.name)})"
    title = f"**{part.kind}{f' {_line(part.name)}' if part.name else ''}**"
    spelled = readable(part.text)
    return f"{title}\n\n{_fenced(spelled or part.text, 'json' if spelled else '')}"


def _fenced(text: str, name: str) -> str:
    longest = max((len(found[1]) for found in _FENCE.finditer(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{name}\n{text}\n{fence}"


def _line(text: str) -> str:
    return escaped(" ".join(text.split()))
