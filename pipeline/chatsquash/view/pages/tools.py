"""Tool definitions, folded: what each is called, what it is for, and its schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatsquash.core import chat
from chatsquash.core.model import Json
from chatsquash.core.text import counted, shown
from chatsquash.pages.html.markup import Child, Html, tag
from chatsquash.pages.html.record import cut, size
from chatsquash.view.pages import code

_NAMED = 200
"""Tools that are shown."""
_TEXT = 16_000
"""Bytes of a description or a schema."""
_MOST = 500_000
"""Characters of HTML about which no more tools are shown."""
_OPENING = 90
"""Characters of a description beside the name."""
_NAME = 120


def tools(defined: Json) -> Html | None:
    """The definitions of a record or a request; ``None`` where there are none."""
    if not isinstance(defined, list) or not defined:
        return None
    items: list[Html] = []
    left = _MOST
    for tool in defined[:_NAMED]:
        items.append(_tool(tool))
        left -= len(items[-1])
        if left < 0:
            break
    more = len(defined) - len(items)
    items += (
        [tag("p", f"… {counted(more, 'tool')} more (the JSON of the record has all)", class_="cut")] if more else []
    )
    return tag("details", tag("summary", counted(len(defined), "tool")), *items, class_="tools")


def _tool(tool: Json) -> Html:
    inner = chat.custom(tool) or (tool.get("function") if isinstance(tool, dict) else None)
    told: dict[str, Any] = inner if isinstance(inner, dict) else tool if isinstance(tool, dict) else {}
    name = chat.tool_name(told) or "?"
    description = told.get("description")
    said = description if isinstance(description, str) else ""
    rest = {key: value for key, value in told.items() if key not in ("name", "description", "type")} or None
    opening = " ".join(said[: 4 * _OPENING].split())[:_OPENING]
    summary: list[Child] = [tag("code", name[:_NAME], class_="name", dir="auto"), " "]
    summary.append(tag("span", opening, class_="opening", dir="auto"))
    return tag("details", tag("summary", *summary), *_texts(said, rest if told else tool))


def _texts(description: str, schema: Json) -> Iterator[Html]:
    if description:
        kept, left = cut(description, _TEXT)
        yield tag("pre", Html("\n"), kept, class_="said", dir="auto")
        yield from _cut(left)
    if schema is not None:
        kept, left = cut(shown(schema, indent=True).decode(), _TEXT)
        yield code.json(kept)
        yield from _cut(left)


def _cut(left: int) -> Iterator[Html]:
    if left:
        yield tag("p", f"… {size(left)} more (the JSON of the record has all)", class_="cut")
