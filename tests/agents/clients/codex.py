"""Codex speaks OpenAI Responses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.agents.clients import TASK, Client, find_tool, mcp_server, shell
from tests.agents.terminal import CLEAR, ENTER, ESCAPE, Keys

_CONFIG = """\
model_provider = "x"
check_for_update_on_startup = false
model_auto_compact_token_limit = 150000
[analytics]
enabled = false
[model_providers.x]
name = "x"
base_url = "{url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
supports_websockets = false
[projects."{work}"]
trust_level = "trusted"
[mcp_servers.words]
command = "{command}"
args = ["{script}"]
"""


class Codex(Client):
    """``codex exec``."""

    name, title = "codex", "Codex"
    package, binary = "@openai/codex", "codex"
    session_header = "session-id"
    abilities = frozenset(
        {"resume", "fork", "agents", "models", "image", "screenshot", "mcp", "terminal", "rewind", "compact"}
    )
    compacts_at_terminal = True
    opening = (Keys("YOLO mode", ()), Keys("gpt-5 default", ()))
    taking_back = (
        Keys("", (ESCAPE, ESCAPE)),
        Keys("Browsing transcript", (ENTER,)),
        Keys("Conversation reverted", (CLEAR,)),
    )
    litellm = "openai"
    files = (".codex/sessions",)

    def configure(self) -> None:
        server = mcp_server()
        values = {"url": self.url, "work": self.work, "command": server["command"], "script": server["args"][0]}
        (self.home / ".codex").mkdir()
        (self.home / ".codex" / "config.toml").write_text(_CONFIG.format(**values), encoding="utf-8")

    def command(self, prompt: str, how: str, *, model: int, image: Path | None) -> list[str]:
        model_name = ("gpt-5", "gpt-5-mini")[model]
        head = [self.program, "exec", "--dangerously-bypass-approvals-and-sandbox", "--json", "-m", model_name]
        if how == "fork":
            return [*head, "fork", self._last(), prompt]
        if how == "resume":
            return [*head, "resume", "--last", prompt]
        return [*head, "-i", str(image), "--", prompt] if image else [*head, prompt]

    def interactive(self) -> list[str]:
        return [self.program, "--no-daemon", "--dangerously-bypass-approvals-and-sandbox", "-m", "gpt-5"]

    def _last(self) -> str:
        """The id of the thread that was written last."""
        paths = sorted((self.home / ".codex" / "sessions").rglob("rollout-*.jsonl"))
        return paths[-1].stem[-36:]

    def call(self, do: str, mark: str, of: str, tools: list[str]) -> tuple[Any, ...]:
        if do == "agent":
            return "spawn_agent", {"message": TASK.format(of=of, mark=mark)}, "multi_agent_v1"
        if do == "wait":
            found = re.search(r'"agent_id":\s*"([^"]+)"', of)
            return ("wait_agent", {"targets": [found[1]]}, "multi_agent_v1") if found else ()
        if do == "image":
            return "view_image", {"path": str(self.work / "pixel.png")}
        if do == "mcp":
            return "echo_words", {"words": mark}, find_tool(tools, "mcp__words") or "mcp__words"
        command = shell(mark, do)
        if "exec_command" in tools:
            return "exec_command", {"cmd": command}
        return "shell", {"command": ["bash", "-lc", command]}
