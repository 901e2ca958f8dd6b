"""Copilot CLI speaks OpenAI chat completions to the user's own provider."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.agents.clients import TASK, Client, find_tool, mcp_server, shell


class CopilotCli(Client):
    """``copilot -p``."""

    name, title = "copilot_cli", "Copilot CLI"
    package, binary = "@github/copilot", "copilot"
    abilities = frozenset({"resume", "agents", "models", "screenshot", "mcp"})
    files = (".copilot/session-state",)

    def configure(self) -> None:
        server = {**mcp_server(), "type": "local", "tools": ["*"]}
        self.write_json(".copilot/mcp-config.json", {"mcpServers": {"words": server}})

    def env(self) -> dict[str, str]:
        return {
            "COPILOT_PROVIDER_BASE_URL": f"{self.url}/v1", "COPILOT_PROVIDER_API_KEY": "k", "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "200000", "COPILOT_HOME": str(self.home / ".copilot"),
        }  # fmt: skip

    def command(self, prompt: str, how: str, *, model: int, image: Path | None) -> list[str]:
        more = ["--continue"] if how == "resume" else []
        return [
            self.program, "-p", prompt, "--allow-all-tools", "--allow-all-paths", "--no-auto-update",
            "--output-format", "json", "--model", ("gpt-5", "gpt-5-mini")[model], *more,
        ]  # fmt: skip

    def call(self, do: str, mark: str, of: str, tools: list[str]) -> tuple[Any, ...]:
        if do == "wait":
            return ()
        if do == "agent" and "task" in tools:
            task = TASK.format(of=of, mark=mark)
            return "task", {
                "agent_type": "general-purpose",
                "name": "look",
                "description": "Look around",
                "prompt": task,
                "mode": "sync",
            }
        if do == "image":
            return "view", {"path": str(self.work / "pixel.png")}
        if do == "mcp":
            return find_tool(tools, "echo_words") or "words-echo_words", {"words": mark}
        return "bash", {"command": shell(mark, do), "description": f"Print {mark}"}
