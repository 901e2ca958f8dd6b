"""Pi speaks OpenAI chat completions to a provider of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.agents.clients import Client, shell


class Pi(Client):
    """``pi -p``."""

    name, title = "pi", "Pi"
    package, binary = "@mariozechner/pi-coding-agent", "pi"
    abilities = frozenset({"resume", "fork", "models", "image", "screenshot"})
    litellm = "openai"
    files = (".pi/agent/sessions",)

    def configure(self) -> None:
        model = {"contextWindow": 200000, "maxTokens": 8000, "reasoning": True, "input": ["text", "image"]}
        models = [{"id": name, **model} for name in ("m", "n")]
        provider = {"baseUrl": f"{self.url}/v1", "api": "openai-completions", "apiKey": "k", "models": models}
        self.write_json(".pi/agent/models.json", {"providers": {"x": provider}})
        self.write_json(".pi/agent/settings.json", {"compaction": {"keepRecentTokens": 30, "reserveTokens": 16000}})

    def env(self) -> dict[str, str]:
        return {"PI_OFFLINE": "1"}

    def command(self, prompt: str, how: str, *, model: int, image: Path | None) -> list[str]:
        more = {"new": [], "resume": ["-c"], "fork": ["--fork", self._last() if how == "fork" else ""]}[how]
        head = [self.program, "-p", "--mode", "json", "--model", ("x/m", "x/n")[model], "--offline", *more]
        return [*head, f"@{image}", prompt] if image else [*head, prompt]

    def _last(self) -> str:
        """The file of the session that was written last."""
        return str(
            max((self.home / ".pi" / "agent" / "sessions").rglob("*.jsonl"), key=lambda path: path.stat().st_mtime)
        )

    def call(self, do: str, mark: str, of: str, tools: list[str]) -> tuple[Any, ...]:
        if do == "wait":
            return ()
        if do == "image":
            return "read", {"path": str(self.work / "pixel.png")}
        return "bash", {"command": shell(mark, do)}
