"""Gemini CLI speaks Gemini's API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.agents.clients import TASK, Client, find_tool, mcp_server, shell
from tests.agents.terminal import CLEAR, ENTER, UP, Keys


class GeminiCli(Client):
    """``gemini -p``."""

    name, title = "gemini_cli", "Gemini CLI"
    package, binary = "@google/gemini-cli", "gemini"
    abilities = frozenset({"resume", "agents", "models", "screenshot", "mcp", "terminal", "rewind", "compact"})
    compact_command = "/compress"
    compacts_at_terminal = True
    opening = (Keys("Type your message", ()), Keys("", ()))
    taking_back = (
        Keys("", ("/rewind", ENTER)),
        Keys("Stay at current position", (UP, UP, ENTER)),  # results are in the list, too
        Keys("Rewind conversation", (ENTER,)),
        Keys("", (CLEAR,)),
    )
    files = (".gemini/tmp",)

    def configure(self) -> None:
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"disableAutoUpdate": True},
            "privacy": {"usageStatisticsEnabled": False}, "model": {"compressionThreshold": 0.15},
            "experimental": {"enableAgents": True}, "mcpServers": {"words": {**mcp_server(), "trust": True}},
        }  # fmt: skip
        self.write_json(".gemini/settings.json", settings)

    def env(self) -> dict[str, str]:
        return {"GOOGLE_GEMINI_BASE_URL": self.url, "GEMINI_CLI_NO_RELAUNCH": "1", "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def command(self, prompt: str, how: str, *, model: int, image: Path | None) -> list[str]:
        more = ["--resume", "latest"] if how == "resume" else []
        model_name = ("gemini-2.5-pro", "gemini-2.5-flash")[model]
        return [self.program, "-p", prompt, "--yolo", "--skip-trust", "-o", "stream-json", "-m", model_name, *more]

    def interactive(self) -> list[str]:
        return [self.program, "--yolo", "--skip-trust", "-m", "gemini-2.5-pro"]

    def call(self, do: str, mark: str, of: str, tools: list[str]) -> tuple[Any, ...]:
        if do == "wait":
            return ()
        if do == "agent" and "invoke_agent" in tools:
            return "invoke_agent", {"agent_name": "generalist", "prompt": TASK.format(of=of, mark=mark)}
        if do == "image":
            return "read_file", {"file_path": str(self.work / "pixel.png")}
        if do == "mcp":
            return find_tool(tools, "echo_words") or "mcp_words_echo_words", {"words": mark}
        return "run_shell_command", {"command": shell(mark, do), "description": f"Print {mark}"}
