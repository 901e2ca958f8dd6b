"""Aider speaks OpenAI chat completions by LiteLLM, without tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.agents.clients import PYTHON, Client


class Aider(Client):
    """``aider --message``; its calls are none, so each of its scenarios has texts only."""

    name, title = "aider", "Aider"
    package, registry, binary = "aider-chat", PYTHON, "aider"
    pythons = ("python3.12", "python3.11", "python3.10")
    has_tools = False
    abilities = frozenset({"resume"})
    files = ("work/.aider.chat.history.md",)

    def env(self) -> dict[str, str]:
        return {"OPENAI_API_BASE": f"{self.url}/v1", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "AIDER_ANALYTICS": "false"}

    def command(self, prompt: str, how: str, *, model: int, image: Path | None) -> list[str]:
        more = ["--restore-chat-history"] if how == "resume" else []
        head = [self.program, "--model", "openai/m", "--yes-always", "--no-check-update", "--no-show-model-warnings"]
        return [*head, "--no-gitignore", "--analytics-disable", *more, "--message", prompt]

    def call(self, do: str, mark: str, of: str, tools: list[str]) -> tuple[Any, ...]:
        return ()
