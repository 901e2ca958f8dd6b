"""Find members of tool definitions that are unknown to all providers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatsquash.checks import DEFINITION_MEMBERS, are_usual
from chatsquash.checks.registry import Fact, rule
from chatsquash.core import chat
from chatsquash.core.model import Json, Tool
from chatsquash.core.text import pluralize, quote

_USUAL = (None, "", "function", "custom")
"""Types of definitions whose members do not depend on the tool."""
_MAX_NAMES = 5
"""The maximum number of members in a finding."""


@rule("info")
def tool_members(tool: Tool, members: list[str]) -> Fact:
    """Reported when a tool definition has members that no provider defines; reported once per definition.

    The definition and its `function` or `custom` are checked, but not schemas or hosted tools. The record is not
    changed: it has the members of the `function`, or of the definition if it has no `function`.
    """
    name = chat.tool_name(next(_holders(tool)))
    label = f"tool {quote(name)}" if name else "a tool without a name"
    names = [
        *map(quote, members[:_MAX_NAMES]),
        *([f"{len(members) - _MAX_NAMES:,} more"] if len(members) > _MAX_NAMES else []),
    ]
    count = pluralize(len(members), "member")
    hint = "check whether the model saw them"
    return Fact(f"{label} has {count} that no provider defines: {', '.join(names)}; {hint}")


def unknown_members(tool: Json) -> list[str]:
    """Return the members of a definition that no provider defines, in any spelling and in order."""
    if not isinstance(tool, dict) or chat.is_hosted(tool):
        return []
    holders = [holder for holder in _holders(tool) if holder.get("type") in _USUAL]
    names = (name for holder in holders for name, value in holder.items() if not _is_known(name, value))
    return list(dict.fromkeys(names))


def definitions_with_unknown(tools: list[Tool]) -> list[tuple[Tool, list[str]]]:
    """Return the definitions with unknown members, each with these members."""
    functions = [tool.get("function") or () for tool in tools if isinstance(tool, dict)]
    if are_usual(*tools, *functions):
        return []
    return [(tool, members) for tool in tools if (members := unknown_members(tool))]


def _holders(tool: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a definition that may have members of its provider, beginning with the one with its name."""
    inner = [holder for name in ("function", "custom") if isinstance(holder := tool.get(name), dict)]
    own = tool.get(chat.PRIVATE)
    native = [each for each in own.values() if isinstance(each, dict)] if isinstance(own, chat.Private) else []
    yield from (*inner, tool, *native)


def _is_known(name: str, value: Json) -> bool:
    return name in DEFINITION_MEMBERS or name == "custom" or (name == chat.PRIVATE and isinstance(value, chat.Private))
