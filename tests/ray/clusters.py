"""Ray clusters on this machine, with nodes that can be killed, and the command that runs on them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

# Ray reads them when it is imported; clusters here ask for a token, as the one that the command starts does.
os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN="0" * 64, RAY_USAGE_STATS_ENABLED="0")

from ray.cluster_utils import Cluster

ROOT = Path(__file__).parents[2]
_FAST = {"health_check_period_ms": 500, "health_check_failure_threshold": 4, "health_check_initial_delay_ms": 500}
_NODE = {"num_cpus": 1, "object_store_memory": 80_000_000, "include_dashboard": False}
KEY = "0123456789abcdef0123456789abcdef"


def cluster() -> Cluster:
    """A head and another node, with a core each; the death of a node is seen within two seconds."""
    started = Cluster(initialize_head=True, head_node_args={**_NODE, "_system_config": _FAST})
    started.add_node(**_NODE)
    return started


def node(cluster: Cluster) -> Any:
    """Another node of a cluster."""
    return cluster.add_node(**_NODE)


def kill(cluster: Cluster, killed: Any) -> None:
    """End all processes of a node at once."""
    cluster.remove_node(killed, allow_graceful=False)


def command(*args: Any, module: str = "tests.ray.driver") -> list[str]:
    """The command with small shards, or as it is."""
    return [sys.executable, "-m", module, "convert", *map(str, args)]


def started(*args: Any, **more: Any) -> subprocess.Popen[str]:
    """A conversion on its way."""
    return subprocess.Popen(
        command(*args), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=surroundings(), **more
    )


def ran(*args: Any, module: str = "tests.ray.driver") -> subprocess.CompletedProcess[str]:
    """A conversion that has ended."""
    return subprocess.run(
        command(*args, module=module), cwd=ROOT, capture_output=True, text=True, timeout=300, env=surroundings()
    )


def surroundings() -> dict[str, str]:
    """The variables of a command: none of ours."""
    return {name: value for name, value in os.environ.items() if not name.startswith("CHATSQUASH_")}


def markers(out: Path) -> int:
    """The shards that are converted."""
    return len(list(out.glob(".chatsquash/shards/done-*")))


def wait_for(count: int, out: Path, under_way: subprocess.Popen[str]) -> None:
    """Wait until so many shards are converted, or the run is at its end."""
    while under_way.poll() is None and markers(out) < count:
        time.sleep(0.005)
