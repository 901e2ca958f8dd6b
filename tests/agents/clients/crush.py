"""Crush speaks OpenAI chat completions; its npm package fetches a binary from elsewhere, which may fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.agents.clients import Client, shell


class Crush(Client):
    """``crush run``, started as its documentation says."""

    name, title = "crush", "Crush"
    package, binary = "@charmland/crush", "crush"
    files = ("work/.crush/crush.db",)

    def configure(self) -> None:
        model = {"id": "m", "name": "m", "context_window": 200000, "default_max_tokens": 8000}
        provider = {"type": "openai-compat", "base_url": f"{self.url}/v1", "api_key": "k", "models": [model]}
        chosen = {size: {"model": "m", "provider": "x"} for size in ("large", "small")}
        self.write_json(".config/crush/crush.json", {"providers": {"x": provider}, "models": chosen})

    def env(self) -> dict[str, str]:
        return {"CRUSH_DISABLE_METRICS": "1", "CRUSH_DISABLE_PROVIDER_AUTO_UPDATE": "1"}

    def command(self, prompt: str, how: str, *, model: int, image: Path | None) -> list[str]:
        return [self.program, "run", "--quiet", prompt]

    def call(self, do: str, mark: str, of: str, tools: list[str]) -> tuple[Any, ...]:
        return () if do == "wait" else ("bash", {"command": shell(mark, do), "description": f"Print {mark}"})
