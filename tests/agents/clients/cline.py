"""Cline's CLI speaks OpenAI chat completions; it resumes sessions only at a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.agents.clients import TASK, Client, shell


class Cline(Client):
    """``cline``."""

    name, title = "cline", "Cline"
    package, binary = "cline", "cline"
    abilities = frozenset({"agents", "screenshot"})
    files = (".cline-data/sessions",)

    def configure(self) -> None:
        auth = ["auth", "openai-compatible", "-k", "k", "-m", "m", "-b", f"{self.url}/v1"]
        self.start([self.program, *auth]).wait(60)

    def env(self) -> dict[str, str]:
        data = str(self.home / ".cline-data")
        return {"CLINE_DATA_DIR": data, "CLINE_TELEMETRY_DISABLED": "1", "CLINE_NO_AUTO_UPDATE": "1"}

    def command(self, prompt: str, how: str, *, model: int, image: Path | None) -> list[str]:
        return [self.program, "--json", "--auto-approve", "true", "-P", "openai-compatible", "-m", "m", prompt]

    def call(self, do: str, mark: str, of: str, tools: list[str]) -> tuple[Any, ...]:
        if do == "wait":
            return ()
        if do == "agent" and "spawn_agent" in tools:
            return "spawn_agent", {"systemPrompt": "You look at files.", "task": TASK.format(of=of, mark=mark)}
        if do == "image":
            return "read_files", {"files": [{"path": str(self.work / "pixel.png")}]}
        return "run_commands", {"commands": [shell(mark, do)]}
