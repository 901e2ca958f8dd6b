"""Inspect AI speaks OpenAI chat completions; a driver evaluates one sample with a tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.agents.clients import DRIVERS, PYTHON, Client, shell


class InspectAi(Client):
    """``inspect_ai.eval``."""

    name, title = "inspect_ai", "Inspect AI"
    package, registry, binary = "inspect-ai", PYTHON, "python"
    extras = ("openai",)
    files = ("logs",)

    def command(self, prompt: str, how: str, *, model: int, image: Path | None) -> list[str]:
        driver = str(DRIVERS / "inspect_driver.py")
        return [self.program, driver, prompt, f"{self.url}/v1", str(self.home / "logs")]

    def call(self, do: str, mark: str, of: str, tools: list[str]) -> tuple[Any, ...]:
        return () if do == "wait" else ("bash", {"cmd": shell(mark, do)})
