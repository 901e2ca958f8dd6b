"""The MCP servers of tools, derived from the tool names that clients send to the model."""

from __future__ import annotations

import re
from collections.abc import Iterable

from chatsquash.core.chat import tool_name
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Tool

_NAME = lazy_compile(
    r"mcp__(.+?)__."  # Claude Code, Codex, Qwen Code
    r"|mcp_([^_]+)_."  # Gemini CLI, Crush and VS Code; Gemini CLI also ends the server at the first underscore
    r"|(?!mcp_)(.+?)__."  # goose, whose extensions are servers
    r"|([A-Za-z][\w-]*)\.[A-Za-z]",  # namespaces
    re.DOTALL,
)
_MAX_NAMES, _LONGEST = 20, 60
"""The maximum number of servers in a list, and of characters in a name."""


def server(name: str) -> str | None:
    """Return the server in a tool name, or ``None``.

    >>> [server(name) for name in ("mcp__git__log", "mcp_git_log", "git__log", "git.log", "git_log")]
    ['git', 'git', 'git', 'git', None]
    """
    match = _NAME.match(name)
    return match[match.lastindex] if match and match.lastindex else None


def servers(tools: Iterable[Tool]) -> list[str]:
    """Return the distinct servers of tool definitions, sorted by name."""
    definitions = (tool.get("function", tool) if isinstance(tool, dict) else tool for tool in tools)
    names = {server(name) for each in definitions if (name := tool_name(each))}
    return sorted(each for each in names if each)


def server_list(tools: Iterable[Tool]) -> str:
    """Return the servers of tool definitions as text, or an empty string if there are none."""
    names = [each if len(each) <= _LONGEST else f"{each[:_LONGEST]}…" for each in servers(tools)]
    if not names:
        return ""
    more = [f"{len(names) - _MAX_NAMES:,} more"] if len(names) > _MAX_NAMES else []
    return f"MCP servers: {', '.join([*names[:_MAX_NAMES], *more])}"
