"""LiteLLM's proxy between an agent and the model server, with a log of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Self

from tests.agents.clients import PYTHON, Client

SECONDS = 90
"""How long the proxy may take to start."""
_NO_KEY = {"LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"}
_CALLBACK = """\
import json
from litellm.integrations.custom_logger import CustomLogger


class Log(CustomLogger):
    def write(self, values):
        with open({log!r}, "a", encoding="utf-8") as file:
            file.write(json.dumps(values["standard_logging_object"], default=str) + "\\n")

    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        self.write(kwargs)

    async def async_log_failure_event(self, kwargs, response_obj, start_time, end_time):
        self.write(kwargs)


log = Log()
"""
_CONFIG = """\
model_list:
  - model_name: "*"
    litellm_params: {{model: "{provider}/*", api_base: "{base}", api_key: k}}
litellm_settings: {{callbacks: callback.log}}
"""


class LiteLlm(Client):
    """The proxy, which is installed as agents are."""

    name, title = "litellm", "LiteLLM"
    package, registry, binary = "litellm[proxy]", PYTHON, "litellm"
    pythons = ("python3.13", "python3.12")


class Proxy:
    """A running proxy; use as a context, and send agents to ``url``."""

    def __init__(self, install: Path, folder: Path, provider: str, server: str) -> None:
        self.folder, self.command = folder, str(LiteLlm.path(install))
        folder.mkdir(parents=True)
        base = server if provider == "anthropic" else f"{server}/v1"
        (folder / "callback.py").write_text(_CALLBACK.format(log=str(folder / "log.jsonl")), encoding="utf-8")
        (folder / "config.yaml").write_text(_CONFIG.format(provider=provider, base=base), encoding="utf-8")

    def __enter__(self) -> Self:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LITELLM_LOCAL_MODEL_COST_MAP": "True", **_NO_KEY}
        command = [self.command, "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
        with (self.folder / "output.txt").open("w", encoding="utf-8") as output:
            self.process = subprocess.Popen(
                command, cwd=self.folder, env=env, stdout=output, stderr=output, start_new_session=True
            )
        end = time.monotonic() + SECONDS
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"LiteLLM did not start: see {self.folder / 'output.txt'}")
            time.sleep(0.5)
        return self

    def __exit__(self, *_: object) -> None:
        time.sleep(2)  # so that the last calls are logged
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(20)

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(f"{self.url}/health/liveliness", timeout=2).close()
        except (urllib.error.URLError, OSError):
            return False
        return True
