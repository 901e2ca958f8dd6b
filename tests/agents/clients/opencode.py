"""OpenCode speaks OpenAI chat completions to a provider of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.agents.clients import TASK, Client, find_tool, mcp_server, shell
from tests.agents.terminal import CLEAR, ENTER, Keys


class OpenCode(Client):
    """``opencode run``."""

    name, title = "opencode", "OpenCode"
    package, binary = "opencode-ai", "opencode"
    session_header = "x-session-id"
    abilities = frozenset(
        {"resume", "fork", "agents", "models", "image", "screenshot", "mcp", "terminal", "rewind", "compact"}
    )
    compacts_at_terminal = True
    opening = (Keys("Ask anything", ()), Keys("", ()))
    taking_back = (Keys("", ("/undo", ENTER)), Keys("message reverted", (CLEAR,)))
    litellm = "openai"
    files = (".local/share/opencode/opencode.db",)

    settings = ".config/opencode/opencode.json"
    prefix = "OPENCODE"

    def configure(self) -> None:
        model = {"name": "m", "limit": {"context": 200000, "output": 8000}, "tool_call": True, "reasoning": True,
                 "attachment": True, "modalities": {"input": ["text", "image"], "output": ["text"]}}  # fmt: skip
        options = {"baseURL": f"{self.url}/v1", "apiKey": "k"}
        models = {"m": model, "n": model, "small": model}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "x", "options": options, "models": models}
        server = mcp_server()
        values = {
            "provider": {"x": provider}, "model": "x/m", "small_model": "x/small", "permission": {"*": "allow"},
            "autoupdate": False, "share": "disabled",
            "mcp": {"words": {"type": "local", "command": [server["command"], *server["args"]]}},
        }  # fmt: skip
        self.write_json(self.settings, values)

    def env(self) -> dict[str, str]:
        names = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE", "DEFAULT_PLUGINS")
        return {f"{self.prefix}_DISABLE_{name}": "1" for name in names}

    def command(self, prompt: str, how: str, *, model: int, image: Path | None) -> list[str]:
        more = {"new": [], "resume": ["-c"], "fork": ["-c", "--fork"]}[how]
        head = [self.program, "run", "--format", "json", "--auto", "-m", ("x/m", "x/n")[model], *more]
        return [*head, "-f", str(image), "--", prompt] if image else [*head, prompt]

    def interactive(self) -> list[str]:
        return [self.program, "-m", "x/m", "--auto"]

    def call(self, do: str, mark: str, of: str, tools: list[str]) -> tuple[Any, ...]:
        if do == "wait":
            return ()
        if do == "agent" and "task" in tools:
            task = TASK.format(of=of, mark=mark)
            return "task", {"description": "Look around", "prompt": task, "subagent_type": "general"}
        if do == "image":
            return "read", {"filePath": str(self.work / "pixel.png")}
        if do == "mcp":
            return find_tool(tools, "echo_words") or "words_echo_words", {"words": mark}
        return "bash", {"command": shell(mark, do), "description": f"Print {mark}"}
