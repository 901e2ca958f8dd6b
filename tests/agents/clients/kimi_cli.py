"""Kimi CLI speaks OpenAI chat completions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.agents.clients import PYTHON, TASK, Client, shell

_CONFIG = """\
default_model = "m"
[providers.x]
type = "kimi"
base_url = "{url}/v1"
api_key = "k"
[models.m]
provider = "x"
model = "m"
max_context_size = 200000
"""


class KimiCli(Client):
    """``kimi --print``, the last release before Kimi Code."""

    name, title = "kimi_cli", "Kimi CLI"
    package, registry, binary = "kimi-cli", PYTHON, "python"
    pythons = ("python3.13", "python3.14", "python3.12")
    abilities = frozenset({"resume", "agents", "compact"})
    files = (".kimi/sessions",)

    def configure(self) -> None:
        (self.home / ".kimi").mkdir()
        (self.home / ".kimi" / "config.toml").write_text(_CONFIG.format(url=self.url), encoding="utf-8")

    def env(self) -> dict[str, str]:
        return {"KIMI_SHARE_DIR": str(self.home / ".kimi")}

    def command(self, prompt: str, how: str, *, model: int, image: Path | None) -> list[str]:
        more = ["--continue"] if how == "resume" else []
        head = [self.program, "-m", "kimi_cli.cli", "--print", "--yolo", "--output-format", "stream-json"]
        return [*head, "-w", str(self.work), *more, "-p", prompt]

    def call(self, do: str, mark: str, of: str, tools: list[str]) -> tuple[Any, ...]:
        if do == "wait":
            return ()
        if do == "agent" and "Agent" in tools:
            return "Agent", {
                "description": "Look around",
                "prompt": TASK.format(of=of, mark=mark),
                "subagent_type": "coder",
            }
        if do == "agent" and "Task" in tools:
            return "Task", {
                "description": "Look around",
                "prompt": TASK.format(of=of, mark=mark),
                "subagent_name": "coder",
            }
        return "Shell", {"command": shell(mark, do)}
