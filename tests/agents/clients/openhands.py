"""OpenHands speaks OpenAI chat completions by LiteLLM; a driver runs a conversation of its SDK."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from tests.agents.clients import DRIVERS, PYTHON, Client, find_tool, shell

_NAMES = UUID("6f1c7a52-3a55-4c8e-9a53-0d4b1c2f7e11")


class OpenHands(Client):
    """``openhands.sdk``; a conversation is resumed by its id."""

    name, title = "openhands", "OpenHands"
    package, registry, binary = "openhands-tools", PYTHON, "python"
    pythons = ("python3.12", "python3.13")
    extras = ("openhands-sdk",)
    abilities = frozenset({"resume"})
    files = ("conversations",)
    number = 0

    def env(self) -> dict[str, str]:
        return {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENHANDS_SUPPRESS_BANNER": "1"}

    def command(self, prompt: str, how: str, *, model: int, image: Path | None) -> list[str]:
        self.number += how == "new"
        driver, folder = str(DRIVERS / "openhands_driver.py"), str(self.home / "conversations")
        return [
            self.program,
            driver,
            prompt,
            f"{self.url}/v1",
            str(self.work),
            folder,
            str(uuid5(_NAMES, str(self.number))),
        ]

    def call(self, do: str, mark: str, of: str, tools: list[str]) -> tuple[Any, ...]:
        return () if do == "wait" else (find_tool(tools, "terminal", "bash"), {"command": shell(mark, do)})
