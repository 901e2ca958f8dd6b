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
from typing import Any

from tests.agents.clients import IMAGE, Client
from tests.agents.litellm_proxy import Proxy
from tests.agents.scenarios import Prompt, Scenario
from tests.agents.server import ModelServer

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
        with proxy as gateway:
            client.url = gateway.url
            client.prepare()
            ends = [_answer(client, server, run, number, prompt) for number, prompt in enumerate(scenario.prompts, 1)]
    truth = {
        "agent": kind.name, "version": kind.version(install), "scenario": scenario.name, "ends": ends,
        "exchanges": [each._asdict() for each in server.exchanges],
    }  # fmt: skip
    (folder / "truth.json").write_text(json.dumps(truth, indent=1), encoding="utf-8")


def _answer(client: Client, server: ModelServer, run: str, number: int, prompt: Prompt) -> str:
    """Run one process of the agent; how it ended."""
    words = prompt.command or f"Please continue with the work, ux{run}x{number:03}"
    server.holds.clear()
    image = client.work / IMAGE.name if prompt.has_image else None
    process = client.start(client.command(words, prompt.how, model=prompt.model, image=image))
    end = time.monotonic() + SECONDS
    while process.poll() is None and time.monotonic() < end and not server.holds.is_set():
        server.holds.wait(0.1)
    if process.poll() is None:
        outcome = "interrupted" if server.holds.is_set() else "timeout"
        if outcome == "interrupted":
            time.sleep(1)  # so that the client has read what was sent
        _stop(process)
        return outcome
    return f"exit code {process.returncode}"


def _stop(process: subprocess.Popen[Any]) -> None:
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
