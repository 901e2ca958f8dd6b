"""Continue's CLI speaks OpenAI chat completions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.agents.clients import Client, find_tool, mcp_server, shell


class ContinueDev(Client):
    """``cn -p``."""

    name, title = "continue_dev", "Continue"
    package, binary = "@continuedev/cli", "cn"
    abilities = frozenset({"resume", "fork", "mcp"})
    files = (".continue/sessions",)

    def configure(self) -> None:
        model = {
            "name": "m", "model": "m", "provider": "openai", "apiBase": f"{self.url}/v1", "apiKey": "k",
            "capabilities": ["tool_use"], "roles": ["chat"], "defaultCompletionOptions": {"contextLength": 200000},
        }  # fmt: skip
        servers = [{"name": "words", **mcp_server()}]
        self.write_json(
            ".continue/config.yaml",
            {"name": "x", "version": "1", "schema": "v1", "models": [model], "mcpServers": servers},
        )

    def env(self) -> dict[str, str]:
        return {"CONTINUE_GLOBAL_DIR": str(self.home / ".continue"), "CONTINUE_TELEMETRY_ENABLED": "0"}

    def command(self, prompt: str, how: str, *, model: int, image: Path | None) -> list[str]:
        more = {"new": [], "resume": ["--resume"], "fork": ["--fork", self._last() if how == "fork" else ""]}[how]
        config = str(self.home / ".continue" / "config.yaml")
        return [self.program, "-p", prompt, "--auto", "--config", config, *more]

    def _last(self) -> str:
        """The id of the session that began last."""
        index = json.loads((self.home / ".continue" / "sessions" / "sessions.json").read_text(encoding="utf-8"))
        return str(index[-1]["sessionId"])

    def call(self, do: str, mark: str, of: str, tools: list[str]) -> tuple[Any, ...]:
        if do == "wait":
            return ()
        if do == "mcp":
            return find_tool(tools, "echo_words") or "echo_words", {"words": mark}
        return "Bash", {"command": shell(mark, do)}
