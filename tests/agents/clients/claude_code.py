"""Claude Code speaks Anthropic Messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.agents.clients import TASK, Client, find_tool, mcp_server, shell
from tests.agents.terminal import CLEAR, ENTER, ESCAPE, UP, Keys


class ClaudeCode(Client):
    """``claude -p``."""

    name, title = "claude_code", "Claude Code"
    package, binary = "@anthropic-ai/claude-code", "claude"
    session_header = "x-claude-code-session-id"
    abilities = frozenset({"resume", "fork", "agents", "compact", "models", "screenshot", "mcp", "terminal", "rewind"})
    opening = (Keys("Yes, I trust", (ENTER,)), Keys("use this API key", (UP, ENTER)), Keys("bypass permissions on", ()))
    taking_back = (
        Keys("", (ESCAPE, ESCAPE)),
        Keys("Restore the code", (UP, ENTER)),
        Keys("Restore conversation", (ENTER,)),
        Keys("", (CLEAR,)),
    )
    litellm = "anthropic"
    files = (".claude/projects",)

    def configure(self) -> None:
        self.write_json(".claude.json", {"hasCompletedOnboarding": True, "bypassPermissionsModeAccepted": True})

    def env(self) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": self.url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1", "API_TIMEOUT_MS": "20000", "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000",
        }  # fmt: skip

    def command(self, prompt: str, how: str, *, model: int, image: Path | None) -> list[str]:
        more = {"new": [], "resume": ["--continue"], "fork": ["--continue", "--fork-session"]}[how]
        servers = json.dumps({"mcpServers": {"words": mcp_server()}})
        return [
            self.program, "-p", prompt, "--dangerously-skip-permissions", "--output-format", "stream-json", "--verbose",
            "--model", ("claude-sonnet-4-5", "claude-haiku-4-5")[model], *more, "--mcp-config", servers,
        ]  # fmt: skip

    def interactive(self) -> list[str]:
        return [self.program, "--dangerously-skip-permissions", "--model", "claude-sonnet-4-5"]

    def call(self, do: str, mark: str, of: str, tools: list[str]) -> tuple[Any, ...]:
        if do == "wait":
            return ()
        agent = find_tool(tools, "Agent", "Task")
        if do == "agent" and agent in ("Agent", "Task"):
            task = TASK.format(of=of, mark=mark)
            return agent, {"description": "Look around", "prompt": task, "subagent_type": "general-purpose"}
        if do == "image":
            return "Read", {"file_path": str(self.work / "pixel.png")}
        if do == "mcp":
            return find_tool(tools, "echo_words") or "mcp__words__echo_words", {"words": mark}
        return "Bash", {"command": shell(mark, do), "description": f"Print {mark}"}
