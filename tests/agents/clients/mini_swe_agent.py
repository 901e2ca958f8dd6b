"""mini-swe-agent speaks OpenAI chat completions by LiteLLM, without streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.agents.clients import PYTHON, Client, shell


class MiniSweAgent(Client):
    """``mini``; a reply without a call is not the end, so its last call submits the work."""

    name, title = "mini_swe_agent", "mini-swe-agent"
    package, registry, binary = "mini-swe-agent", PYTHON, "mini"
    ends_with_call = True
    files = ("trajectories",)

    def env(self) -> dict[str, str]:
        return {
            "OPENAI_API_BASE": f"{self.url}/v1", "MSWEA_COST_TRACKING": "ignore_errors", "MSWEA_CONFIGURED": "true",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }  # fmt: skip

    def command(self, prompt: str, how: str, *, model: int, image: Path | None) -> list[str]:
        (self.home / "trajectories").mkdir(exist_ok=True)
        output = str(self.home / "trajectories" / "run.traj.json")
        return [self.program, "-m", "openai/m", "-y", "-l", "0", "--exit-immediately", "-o", output, "-t", prompt]

    def call(self, do: str, mark: str, of: str, tools: list[str]) -> tuple[Any, ...]:
        if do == "wait":
            return ()
        if do == "text":
            return "bash", {"command": f"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo {mark}"}
        return "bash", {"command": shell(mark, do)}
