"""Factory Droid speaks OpenAI chat completions to a model of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.agents.clients import PLATFORM, Client, shell


class Droid(Client):
    """``droid exec``."""

    name, title = "droid", "Factory Droid"
    package, binary = f"@factory/cli{PLATFORM}", "droid"
    abilities = frozenset({"resume", "fork"})
    files = (".factory/sessions",)

    def configure(self) -> None:
        model = {"model": "m", "displayName": "m", "baseUrl": f"{self.url}/v1", "apiKey": "k",
                 "provider": "generic-chat-completion-api", "maxOutputTokens": 8000}  # fmt: skip
        self.write_json(".factory/settings.json", {"customModels": [model]})

    def env(self) -> dict[str, str]:
        return {"FACTORY_API_KEY": "k"}

    def command(self, prompt: str, how: str, *, model: int, image: Path | None) -> list[str]:
        more = {"new": [], "resume": ["-s"], "fork": ["--fork"]}[how] + ([self._last()] if how != "new" else [])
        return [self.program, "exec", "--skip-permissions-unsafe", "-m", "custom:m", *more, prompt]

    def _last(self) -> str:
        """The id of the session that was written last."""
        paths = (self.home / ".factory" / "sessions").rglob("*.jsonl")
        return max(paths, key=lambda path: path.stat().st_mtime).stem

    def call(self, do: str, mark: str, of: str, tools: list[str]) -> tuple[Any, ...]:
        return () if do == "wait" else ("Execute", {"command": shell(mark, do)})
