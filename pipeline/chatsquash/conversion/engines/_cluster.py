"""Connects to a Ray cluster, or starts one; the only module that imports Ray."""

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
"""Bytes of shared memory for values between tasks: the minimum that Ray accepts, since tasks exchange none."""
_PATIENCE = 20.0
"""Seconds for which the head node may be unreachable, since it can be restarted."""
_CONNECT_TIMEOUT = 2.0
"""Timeout of a connection to the head node, in seconds."""
_VARIABLES = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_NUM_REDIS_GET_RETRIES": "2",  # attempts to find the head, of five seconds each
    "RAY_task_oom_retries": "3",
}
_LOCAL_VARIABLES = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # otherwise Ray does not restrict all ports to loopback
    "RAY_memory_monitor_refresh_ms": "0",  # the system kills processes that exhaust memory, as without Ray
    "RAY_worker_niceness": "0",  # like the processes of a local run
    "RAY_AUTH_MODE": "token",
}


def refuse_missing() -> None:
    """Raise ``UsageError`` if Ray is not installed."""
    if find_spec("ray") is None:
        raise UsageError("--engine ray requires the ray package: pip install 'chatsquash[ray]'")


@contextmanager
def connect(address: str | None, cores: int) -> Iterator[Any]:
    """Connect to a Ray cluster, and yield the ``ray`` module.

    Args:
        address: The cluster as HOST:PORT, or ``auto``; by default, one is started on this machine and stopped at the
            end.
        cores: Number of cores of the new cluster.

    Raises:
        UsageError: Ray is not installed, or the cluster cannot be reached or started.
    """
    refuse_missing()
    if address and "://" in address:
        raise UsageError(f"--address {address}: run the command on a node of the cluster with --address auto")
    folder = None if address else tempfile.mkdtemp(prefix="cs-ray-", dir="/tmp" if Path("/tmp").is_dir() else None)  # noqa: S108
    variables = {} if address else {**_LOCAL_VARIABLES, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    try:
        with _variables({**_VARIABLES, **variables}):
            ray: Any = import_module("ray")
            _silence()
            handler = signal.getsignal(signal.SIGTERM)
            try:
                _start(ray, address, cores, folder)
                signal.signal(signal.SIGTERM, handler)  # Ray installs its own
                yield ray
            finally:
                ray.shutdown()
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _variables(values: dict[str, str]) -> Iterator[None]:
    """Set environment variables, and restore them at the end."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _start(ray: Any, address: str | None, cores: int, folder: str | None) -> None:
    quiet = {"configure_logging": False, "log_to_driver": False}
    local = {
        "num_cpus": cores,
        "object_store_memory": _STORE,
        "include_dashboard": False,
        "_node_ip_address": "127.0.0.1",
        "_temp_dir": folder,
    }
    if address and address != "auto":
        _refuse_unreachable(address)
    try:
        ray.init(address=address or "local", **quiet, **({} if address else local))
    except Exception as problem:  # noqa: BLE001 - Ray has no common class for its errors here
        why = error_text(problem)
        if address:
            raise _connection_error(address, why) from None
        raise UsageError(f"--engine ray: Ray could not be started on this machine ({why})") from None


def _refuse_unreachable(address: str) -> None:
    """Raise ``UsageError`` if nothing listens at an address, since Ray would wait."""
    try:
        _connect(address)
    except (OSError, ValueError) as problem:
        raise _connection_error(address, error_text(problem)) from None


def _connection_error(address: str, why: str) -> UsageError:
    hint = "use the form HOST:PORT, and check the cluster with: ray status"
    return UsageError(f"--address {address}: cannot connect to a Ray cluster ({why}); {hint}")


def _connect(address: str) -> None:
    host, _, port = address.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), _CONNECT_TIMEOUT).close()


def _silence() -> None:
    """Keep log messages of Ray off the screen; errors are reported as exceptions."""
    logger = logging.getLogger("ray")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False


class Head:
    """Checks the head node of a cluster; if it is gone, Ray waits for a minute and then ends the process."""

    def __init__(self, ray: Any) -> None:
        self.address = str(ray.get_runtime_context().gcs_address)
        self._last_answer = time.monotonic()

    def is_reachable(self) -> bool:
        """Return whether the head node is reachable; raise ``ChatsquashError`` if it was unreachable for too long."""
        try:
            _connect(self.address)
        except OSError:
            if time.monotonic() - self._last_answer > _PATIENCE:
                hint = "use another cluster with --address"
                raise ChatsquashError(
                    f"{self.address}: the head node of the Ray cluster is unreachable; {hint}"
                ) from None
            return False
        self._last_answer = time.monotonic()
        return True


def live_nodes(ray: Any) -> list[dict[str, Any]]:
    """Return the nodes of a cluster that are running."""
    return [node for node in ray.nodes() if node["Alive"]]
