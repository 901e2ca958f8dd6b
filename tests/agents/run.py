"""Drive one agent through a day of work, and compare its gateway log with what the model was sent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.agents.protocols import Json, Turn
from tests.agents.server import ModelServer, Step, marks

BIN = Path(os.environ.get("AGENTS_BIN", "node_modules/.bin"))


class Agent:
    """How an agent is started offline."""

    name = ""
    session_header = ""

    def __init__(self, home: Path, url: str) -> None:
        self.home, self.url = home, url
        (home / "work").mkdir(parents=True, exist_ok=True)
        (home / "work" / "notes.txt").write_text("apples\npears\n")
        subprocess.run(["git", "init", "-q", str(home / "work")], check=False)
        self.configure()

    def configure(self) -> None:
        """Write settings."""

    def env(self) -> dict[str, str]:
        return {}

    def command(self, prompt: str, how: str) -> list[str]:
        raise NotImplementedError

    def prompt(self, prompt: str, how: str = "resume", timeout: int = 90) -> str:
        """Run one process for a prompt; ``how``: ``new``, ``resume`` or ``fork``."""
        keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        env = {
            **keep, "HOME": str(self.home), "CI": "1", "DO_NOT_TRACK": "1", "NO_COLOR": "1", "TERM": "dumb",
            "OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k", **self.env(),
        }  # fmt: skip
        try:
            ran = subprocess.run(
                self.command(prompt, how), cwd=self.home / "work", env=env, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=timeout, check=False,
            )  # fmt: skip
            return f"{ran.returncode} {ran.stderr[-600:]}"
        except subprocess.TimeoutExpired:
            return "timeout"

    @staticmethod
    def call(do: str, mark: str, of: str, tools: list[str]) -> tuple[str, Json]:
        raise NotImplementedError


class Claude(Agent):
    name = "claude"
    session_header = "x-claude-code-session-id"

    def configure(self) -> None:
        (self.home / ".claude.json").write_text('{"hasCompletedOnboarding": true, "bypassPermissionsModeAccepted": true}')

    def env(self) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": self.url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1", "API_TIMEOUT_MS": "20000", "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000",
        }  # fmt: skip

    def command(self, prompt: str, how: str) -> list[str]:
        more = {"new": [], "resume": ["--continue"], "fork": ["--continue", "--fork-session"]}[how]
        return [str(BIN / "claude"), "-p", prompt, "--dangerously-skip-permissions", "--output-format", "stream-json", "--verbose", "--model", "claude-sonnet-4-5", *more]

    @staticmethod
    def call(do: str, mark: str, of: str, tools: list[str]) -> tuple[str, Json]:
        if do == "agent":
            name = "Agent" if "Agent" in tools else "Task"
            return name, {"description": "Look around", "prompt": f"Please look at the files and report, {of} for {mark}.", "subagent_type": "general-purpose"}
        end = "; exit 1" if do == "fail" else ""
        return "Bash", {"command": f"echo {mark}{end}", "description": f"Print {mark}"}


class Codex(Agent):
    name = "codex"
    session_header = "session-id"

    def configure(self) -> None:
        folder = self.home / ".codex"
        folder.mkdir()
        (folder / "config.toml").write_text(
            f'model = "gpt-5"\nmodel_provider = "x"\ncheck_for_update_on_startup = false\nmodel_auto_compact_token_limit = 150000\n'
            f'[analytics]\nenabled = false\n[model_providers.x]\nname = "x"\nbase_url = "{self.url}/v1"\nenv_key = "OPENAI_API_KEY"\n'
            f'wire_api = "responses"\nsupports_websockets = false\n'
            f'[projects."{self.home}/work"]\ntrust_level = "trusted"\n'
        )

    def command(self, prompt: str, how: str) -> list[str]:
        head = [str(BIN / "codex"), "exec", "--dangerously-bypass-approvals-and-sandbox", "--json"]
        return [*head, "resume", "--last", prompt] if how != "new" else [*head, prompt]

    @staticmethod
    def call(do: str, mark: str, of: str, tools: list[str]) -> tuple[str, Json]:
        if do == "agent":
            return "spawn_agent", {"message": f"Please look at the files and report, {of} for {mark}."}, "multi_agent_v1"
        command = f"echo {mark}" + ("; exit 1" if do == "fail" else "")
        if "exec_command" in tools:
            return "exec_command", {"cmd": command}
        return "shell", {"command": ["bash", "-lc", command]}


class Gemini(Agent):
    name = "gemini"

    def configure(self) -> None:
        folder = self.home / ".gemini"
        folder.mkdir()
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"disableAutoUpdate": True},
            "privacy": {"usageStatisticsEnabled": False}, "model": {"compressionThreshold": 0.15},
            "experimental": {"enableAgents": True},
        }  # fmt: skip
        (folder / "settings.json").write_text(json.dumps(settings))

    def env(self) -> dict[str, str]:
        return {"GOOGLE_GEMINI_BASE_URL": self.url, "GEMINI_CLI_NO_RELAUNCH": "1", "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def command(self, prompt: str, how: str) -> list[str]:
        more = ["--resume", "latest"] if how != "new" else []
        return [str(BIN / "gemini"), "-p", prompt, "--yolo", "--skip-trust", "-o", "stream-json", "-m", "gemini-2.5-pro", *more]

    @staticmethod
    def call(do: str, mark: str, of: str, tools: list[str]) -> tuple[str, Json]:
        if do == "agent" and "invoke_agent" in tools:
            return "invoke_agent", {"agent_name": "generalist", "prompt": f"Please look at the files and report, {of} for {mark}."}
        return "run_shell_command", {"command": f"echo {mark}" + ("; exit 1" if do == "fail" else ""), "description": f"Print {mark}"}


class OpenCode(Agent):
    name = "opencode"
    session_header = "x-session-id"

    def configure(self) -> None:
        folder = self.home / ".config" / "opencode"
        folder.mkdir(parents=True)
        model = {"name": "m", "limit": {"context": 200000, "output": 8000}, "tool_call": True, "reasoning": True}
        options = {"baseURL": f"{self.url}/v1", "apiKey": "k"}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "x", "options": options, "models": {"m": model, "small": model}}
        settings = {"provider": {"x": provider}, "model": "x/m", "small_model": "x/small", "permission": {"*": "allow"}, "autoupdate": False, "share": "disabled"}
        (folder / "opencode.json").write_text(json.dumps(settings))

    def env(self) -> dict[str, str]:
        names = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE", "DEFAULT_PLUGINS")
        return {f"OPENCODE_DISABLE_{name}": "1" for name in names}

    def command(self, prompt: str, how: str) -> list[str]:
        more = {"new": [], "resume": ["-c"], "fork": ["-c", "--fork"]}[how]
        return [str(BIN / "opencode"), "run", "--format", "json", "--auto", "-m", "x/m", *more, prompt]

    @staticmethod
    def call(do: str, mark: str, of: str, tools: list[str]) -> tuple[str, Json]:
        if do == "agent":
            return "task", {"description": "Look around", "prompt": f"Please look at the files and report, {of} for {mark}.", "subagent_type": "general"}
        return "bash", {"command": f"echo {mark}" + ("; exit 1" if do == "fail" else ""), "description": f"Print {mark}"}


AGENTS = {each.name: each for each in (Claude, Codex, Gemini, OpenCode)}

DAY = [
    ("new", [Step("call"), Step("parallel"), Step("text")]),
    ("resume", [Step("fail"), Step("call"), Step("text")]),
    ("resume", [Step("agent", "s1"), Step("call"), Step("text")]),
    ("resume", [Step("error", "529"), Step("call"), Step("text")]),
    ("resume", [Step("cut"), Step("call"), Step("text")]),
    ("resume", [Step("call"), Step("compact")]),
    ("resume", [Step("call"), Step("text")]),
    ("resume", [Step("call"), Step("compact")]),
    ("resume", [Step("call"), Step("text")]),
    ("fork", [Step("call"), Step("text")]),
    ("new", [Step("text")]),
    ("resume", [Step("text")]),
]
"""A day: how each process starts, and what the model does for its prompt."""


def record(name: str, out: Path) -> ModelServer:
    """Run a day of an agent; the log is ``out/log/NAME.jsonl``."""
    kind = AGENTS[name]
    script = {f"u{number}": list(steps) for number, (_, steps) in enumerate(DAY, 1)}
    script |= {"s1": [Step("call"), Step("text")]}
    run = "c%02d" % (sum(map(ord, name)) % 100)
    with ModelServer(run, script, kind.call, out / "log" / f"{name}.jsonl", kind.session_header) as server:
        agent = kind(out / "home", server.url)
        for number, (how, _) in enumerate(DAY, 1):
            said = agent.prompt(f"Please go on with the work, ux{run}x{number:03}", how)
            print(number, how, server.number, said[:300].replace("\n", " "), flush=True)
    rows = [each._asdict() for each in server.sent]
    (out / "truth.json").write_text(json.dumps(rows, indent=1))
    return server


def compare(log: Path, truth: list[Json], options: tuple[str, ...]) -> list[str]:
    """What is wrong in the records of a gateway's log."""
    out = log.parent.parent / "out"
    command = [sys.executable, "-m", "chatsquash", "convert", str(log.parent), "-o", str(out), "--replace", "--conversations", "all",
               "--loss", "weight", "--metadata", "--format", "jsonl", "--quiet", "--trace-replies", *options]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    wrong = [f"exit code {ran.returncode}: {ran.stderr[-500:]}"] if ran.returncode not in (0,) else []
    trained: dict[int, list[tuple[Json, tuple[str, ...]]]] = {}
    for file in sorted(out.rglob("*.jsonl")):
        if "reports" in file.parts or ".chatsquash" in file.parts:
            continue
        for line in file.open():
            each = json.loads(line)
            turns: list[Turn] = []
            for message in each["messages"]:
                turn = Turn(message["role"], text_of(message))
                own = [mark for mark in marks([turn]) if mark[0] == "a"] if turn.role == "assistant" else []
                if own and message.get("weight", 1):
                    trained.setdefault(int(own[0][1:]), []).append((each, marks(turns)))
                turns.append(turn)
    return wrong + [text for one in truth for text in _wrong(one, trained.get(one["reply"], []))]


def text_of(message: Json) -> str:
    calls = [call["function"]["arguments"] if isinstance(call["function"]["arguments"], str) else json.dumps(call["function"]["arguments"]) for call in message.get("tool_calls") or ()]
    content = message.get("content")
    return "\n".join([content if isinstance(content, str) else json.dumps(content or ""), *calls])


def _wrong(one: Json, hits: list[tuple[Any, tuple[str, ...]]]) -> list[str]:
    head = f"reply {one['reply']} ({one['kind']}, {one['status']})"
    if one["status"] != "whole":
        return [f"{head} is trained on"] if hits else []
    if len(hits) != 1:
        return [f"{head} is trained on {len(hits)} times"]
    each, before = hits[0]
    metadata = each.get("metadata") or each
    wrong = []
    kinds = {"side": {"side"}, "subagent": {"subagent"}, "main": {"main", "compacted", "branch"}}[one["kind"]]
    if metadata.get("kind") not in kinds:
        wrong.append(f"{head} has the kind {metadata.get('kind')}; last message: {one['last'][:60]!r}")
    if list(before) != list(one["before"]):
        wrong.append(f"{head} follows {' '.join(before)}, not {' '.join(one['before'])}")
    return wrong


if __name__ == "__main__":
    name, folder = sys.argv[1], Path(sys.argv[2])
    if "--compare" not in sys.argv:
        record(name, folder)
    truth = json.loads((folder / "truth.json").read_text())
    print(Counter((row["kind"], row["status"]) for row in truth))
    for options in ([], ["--sessions-by", "chain"]):
        found = compare(folder / "log" / f"{name}.jsonl", truth, tuple(options))
        print(options, len(found), "wrong")
        print("\n".join(found))
