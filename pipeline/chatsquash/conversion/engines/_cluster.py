"""A Ray cluster: joined or started, and left; the one place that imports Ray."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from chatsquash.core.errors import ChatsquashError, UsageError
from chatsquash.core.text import error_text

_STORE = 80_000_000
"""Bytes of shared memory for values that tasks pass on, of which there are none: the least that Ray takes."""
_PATIENCE = 20.0
"""Seconds for which the head of a cluster may not answer, since one can be started anew in its place."""
_CONNECTING = 2.0
"""Seconds in which it has to answer each time."""
_ALWAYS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_NUM_REDIS_GET_RETRIES": "2",  # attempts to find the head, of five seconds each
    "RAY_task_oom_retries": "3",
}
_ALONE = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # the way to have all ports on loopback only
    "RAY_memory_monitor_refresh_ms": "0",  # the system ends what takes all memory, as it does without Ray
    "RAY_worker_niceness": "0",  # as the processes of a local run
    "RAY_AUTH_MODE": "token",
}


def refuse_missing() -> None:
    """Raise ``UsageError`` where Ray is not installed."""
    if find_spec("ray") is None:
        raise UsageError("--engine ray needs the package ray: pip install 'chatsquash[ray]'")


@contextmanager
def connect(address: str | None, cores: int) -> Iterator[Any]:
    """Ray, connected to a cluster, or to a new one on this machine with so many cores that ends with this.

    Raises ``UsageError`` where that cannot be.
    """
    refuse_missing()
    if address and "://" in address:
        raise UsageError(f"--address {address}: run the command on a node of the cluster, with --address auto")
    here = None if address else tempfile.mkdtemp(prefix="cs-ray-", dir="/tmp" if Path("/tmp").is_dir() else None)  # noqa: S108
    own = {} if address else {**_ALONE, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    try:
        with _variables({**_ALWAYS, **own}):
            ray: Any = import_module("ray")
            _silence()
            at_end = signal.getsignal(signal.SIGTERM)
            try:
                _begin(ray, address, cores, here)
                signal.signal(signal.SIGTERM, at_end)  # which Ray takes
                yield ray
            finally:
                ray.shutdown()
    finally:
        if here:
            shutil.rmtree(here, ignore_errors=True)


@contextmanager
def _variables(wanted: dict[str, str]) -> Iterator[None]:
    """Variables of the environment, as they are to be inside."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _begin(ray: Any, address: str | None, cores: int, here: str | None) -> None:
    quiet = {"configure_logging": False, "log_to_driver": False}
    alone = {
        "num_cpus": cores,
        "object_store_memory": _STORE,
        "include_dashboard": False,
        "_node_ip_address": "127.0.0.1",
        "_temp_dir": here,
    }
    if address and address != "auto":
        _refuse_nobody(address)
    try:
        ray.init(address=address or "local", **quiet, **({} if address else alone))
    except Exception as problem:  # noqa: BLE001 - Ray has no class for what may go wrong here
        why = error_text(problem)
        if address:
            raise _unjoined(address, why) from None
        raise UsageError(f"--engine ray: Ray does not start on this machine ({why})") from None


def _refuse_nobody(address: str) -> None:
    """Raise ``UsageError`` where nothing listens, which Ray would wait for."""
    try:
        _connect(address)
    except (OSError, ValueError) as problem:
        raise _unjoined(address, error_text(problem)) from None


def _unjoined(address: str, why: str) -> UsageError:
    hint = "name it as HOST:PORT, and see whether it runs with: ray status"
    return UsageError(f"--address {address}: no Ray cluster can be joined there ({why}); {hint}")


def _connect(address: str) -> None:
    host, _, port = address.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), _CONNECTING).close()


def _silence() -> None:
    """Let Ray write nothing to the screen: what matters is told by the exceptions that it raises."""
    logger = logging.getLogger("ray")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False


class Head:
    """The head of a cluster, without which Ray waits for a minute and then ends the process."""

    def __init__(self, ray: Any) -> None:
        self.address = str(ray.get_runtime_context().gcs_address)
        self._answered = time.monotonic()

    def answers(self) -> bool:
        """Whether it is there now; raises ``ChatsquashError`` where it has not been for long."""
        try:
            _connect(self.address)
        except OSError:
            if time.monotonic() - self._answered > _PATIENCE:
                hint = "join another one with --address"
                raise ChatsquashError(f"{self.address}: the head of the Ray cluster is gone; {hint}") from None
            return False
        self._answered = time.monotonic()
        return True


def alive(ray: Any) -> list[dict[str, Any]]:
    """The nodes of a cluster that are up."""
    return [node for node in ray.nodes() if node["Alive"]]
