"""Record a scenario of an agent: its own files, the gateway's log, and the truth about each exchange."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Self

from tests.agents.clients import IMAGE, Client
from tests.agents.litellm_proxy import Proxy
from tests.agents.scenarios import Prompt, Scenario
from tests.agents.server import ModelServer
from tests.agents.terminal import ENTER, LEAVE, Terminal

SECONDS = 120
"""How long a process of an agent may take."""


def record(kind: type[Client], install: Path, scenario: Scenario, folder: Path, litellm: Path | None = None) -> None:
    """Write ``folder/home``, ``folder/log/gateway.jsonl`` and ``folder/truth.json``.

    If ``litellm`` is the folder in which LiteLLM is installed, its proxy is between both, and writes ``folder/litellm``.
    """
    shutil.rmtree(folder, ignore_errors=True)
    client = kind(install, (folder / "home").resolve(), "")
    script = {f"u{number}": list(prompt.steps) for number, prompt in enumerate(scenario.prompts, 1)}
    script |= {mark: list(steps) for mark, steps in scenario.agents.items()}
    run = f"{kind.name[0]}{scenario.name[0]}{scenario.name[-1]}"
    with ModelServer(run, script, client, folder / "log" / "gateway.jsonl") as server:
        proxy = Proxy(litellm, folder / "litellm", kind.litellm, server.url) if litellm else nullcontext(server)
        at_terminal = client.compacts_at_terminal and any(prompt.compacts for prompt in scenario.prompts)
        with proxy as gateway, _Run(client, server, run, is_typed=at_terminal) as started:
            client.url = gateway.url
            client.prepare()
            ends = [started.answer(number, prompt) for number, prompt in enumerate(scenario.prompts, 1)]
    truth = {
        "agent": kind.name, "version": kind.version(install), "scenario": scenario.name, "ends": ends,
        "exchanges": [each._asdict() for each in server.exchanges],
    }  # fmt: skip
    (folder / "truth.json").write_text(json.dumps(truth, indent=1), encoding="utf-8")


class _Run:
    """The processes of an agent, one after another; one at a terminal stays until another one is started."""

    def __init__(self, client: Client, server: ModelServer, run: str, *, is_typed: bool) -> None:
        self._client, self._server, self._run, self._is_typed = client, server, run, is_typed
        self._terminal: Terminal | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def answer(self, number: int, prompt: Prompt) -> str:
        """Have the agent answer a prompt; how that ended."""
        words = f"Please continue with the work, ux{self._run}x{number:03}"
        how = "typed" if self._is_typed else prompt.how
        if prompt.compacts:
            words = self._client.compact_command
        self._server.holds.clear()
        if how in ("terminal", "typed", "rewind"):
            return self._type(f"u{number}", how, words)
        self._close()
        image = self._client.work / IMAGE.name if prompt.has_image else None
        return self._wait(self._client.start(self._client.command(words, how, model=prompt.model, image=image)))

    def _type(self, prompt: str, how: str, words: str) -> str:
        """Type a prompt at a terminal, and wait until its steps are done."""
        if how == "terminal" or self._terminal is None:
            self._close()
            self._terminal = self._client.open_terminal()
        if how == "rewind":
            self._terminal.follow(*self._client.taking_back)
        before = len(self._server.exchanges)
        self._terminal.press(words)
        self._terminal.press(ENTER)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and (self._server.script[prompt] or len(self._server.exchanges) == before):
            if self._terminal.process.poll() is not None:
                return f"exit code {self._terminal.process.returncode}"
            time.sleep(0.1)
        return "answered" if self._terminal.wait() else "timeout"

    def _close(self) -> None:
        if self._terminal is not None:
            self._terminal.press(LEAVE, LEAVE, LEAVE)
            stop(self._terminal.process)
            self._terminal = None

    def _wait(self, process: subprocess.Popen[Any]) -> str:
        holds, end = self._server.holds, time.monotonic() + SECONDS
        while process.poll() is None and time.monotonic() < end and not holds.is_set():
            holds.wait(0.1)
        if process.poll() is None:
            outcome = "interrupted" if holds.is_set() else "timeout"
            if outcome == "interrupted":
                time.sleep(2)  # so that the client has read what was sent, and started its tool
            stop(process)
            return outcome
        return f"exit code {process.returncode}"


def stop(process: subprocess.Popen[Any]) -> None:
    """Interrupt a process that was started here, and end its group if it does not leave."""
    for each, seconds in ((signal.SIGINT, 10), (signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, each)
            process.wait(seconds)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
        break
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
