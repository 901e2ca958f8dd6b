"""Qwen Code speaks OpenAI chat completions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.agents.clients import TASK, Client, find_tool, mcp_server, shell


class QwenCode(Client):
    """``qwen -p``."""

    name, title = "qwen_code", "Qwen Code"
    package, binary = "@qwen-code/qwen-code", "qwen"
    abilities = frozenset({"resume", "agents", "models", "screenshot", "mcp", "compact"})
    compact_command = "/compress"
    unwritten = frozenset({"subagent"})
    files = (".qwen/projects",)

    def configure(self) -> None:
        settings = {
            "security": {"auth": {"selectedType": "openai"}}, "general": {"disableAutoUpdate": True},
            "privacy": {"usageStatisticsEnabled": False},
            "model": {"chatCompression": {"contextPercentageThreshold": 0.5}},
            "mcpServers": {"words": {**mcp_server(), "trust": True}},
        }  # fmt: skip
        self.write_json(".qwen/settings.json", settings)

    def env(self) -> dict[str, str]:
        return {"OPENAI_BASE_URL": f"{self.url}/v1", "OPENAI_MODEL": "qwen3-coder-plus", "QWEN_CODE_NO_RELAUNCH": "1"}

    def command(self, prompt: str, how: str, *, model: int, image: Path | None) -> list[str]:
        more = ["--continue"] if how == "resume" else []
        model_name = ("qwen3-coder-plus", "qwen3-coder-flash")[model]
        return [self.program, "-p", prompt, "--yolo", "-o", "stream-json", "-m", model_name, *more]

    def is_side(self, last: str) -> bool:
        return "memory" in last[:2000].lower() and "extract" in last[:2000].lower()

    def call(self, do: str, mark: str, of: str, tools: list[str]) -> tuple[Any, ...]:
        if do == "wait":
            return ()
        agent = find_tool(tools, "agent", "task")
        if do == "agent" and agent in ("agent", "task"):
            task = TASK.format(of=of, mark=mark)
            return agent, {"description": "Look around", "prompt": task, "subagent_type": "general-purpose"}
        if do == "image":
            key = "file_path" if "read_file" in tools else "absolute_path"
            return "read_file", {key: str(self.work / "pixel.png")}
        if do == "mcp":
            return find_tool(tools, "echo_words") or "mcp__words__echo_words", {"words": mark}
        return "run_shell_command", {"command": shell(mark, do), "description": f"Print {mark}", "is_background": False}
