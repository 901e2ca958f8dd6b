"""Runs docs/recipes/slurm.sh on a cluster of one node on loopback: ``python -m tests.recipes.slurm``.

It needs Slurm and munge, and nothing of them that runs already: keys, sockets and states stand in a temporary folder.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from getpass import getuser
from pathlib import Path

from .clusters import RECIPES, Cluster

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "scontrol")
_PATH = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/usr/local/sbin"])
_LONG = 60  # seconds
_CONFIG = (Path(__file__).parent / "slurm.conf").read_text("utf-8")


def main() -> None:
    """Run the recipe, and hold what it gives to a local run."""
    missing = [name for name in NEEDED if not shutil.which(name, path=_PATH)]
    if missing:
        print(f"Slurm is not tested: {', '.join(missing)} is not installed (Debian: slurm-wlm, munge)")
        return
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:
        cluster = Cluster(Path(folder))
        cluster.break_a_log()
        cluster.divide()
        with _slurm(Path(folder) / "slurm") as config:
            last = _submitted(cluster, config)
            _wait(f"job {last}", lambda: not _said(config, "squeue", "--noheader"))
        _told(cluster)
        cluster.holds_what_a_local_run_gives(code=3)
    print("Slurm: the dataset of an array of 4 jobs is that of a local run")


@contextmanager
def _slurm(home: Path) -> Iterator[Path]:
    """A cluster of one node, with as many cores as this machine has; what was started for it ends with it."""
    for name in ("state", "spool"):
        (home / name).mkdir(parents=True)
    key = home / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    config = home / "slurm.conf"
    host, ports = socket.gethostname().partition(".")[0], _free_ports()
    config.write_text(_CONFIG.format(host=host, user=getuser(), home=home, ports=ports, cores=os.cpu_count()))
    files = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    munge = [f"--{option}={home}/munge.{suffix}" for option, suffix in files.items()]
    with ExitStack() as stack:
        stack.enter_context(_daemon(home, config, "munged", "--foreground", "--force", *munge))
        _wait("munged", (home / "munge.socket").exists)
        stack.enter_context(_daemon(home, config, "slurmctld", "-D", "-f", str(config)))
        stack.enter_context(_daemon(home, config, "slurmd", "-D", "-f", str(config)))
        _wait("the node", lambda: _said(config, "sinfo", "--noheader", "--format=%t") == "idle")
        yield config


@contextmanager
def _daemon(home: Path, config: Path, *command: str) -> Iterator[None]:
    """A process that runs meanwhile; what it prints stands in a file, and is shown where something fails."""
    said = home / f"{command[0]}.out"
    with said.open("wb") as out:
        running = subprocess.Popen(command, env=_environment(config), stdout=out, stderr=out)
    try:
        yield
    except BaseException:
        print(f"{command[0]}:", said.read_text(), file=sys.stderr)
        raise
    finally:
        running.terminate()
        running.wait(_LONG)


def _free_ports() -> list[int]:
    """Two ports of loopback that nobody listens at."""
    with ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(2)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in found]


def _environment(config: Path) -> dict[str, str]:
    return {**os.environ, "PATH": _PATH, "SLURM_CONF": str(config)}


def _said(config: Path, *command: str) -> str:
    done = subprocess.run(command, env=_environment(config), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.decode().strip()


def _submitted(cluster: Cluster, config: Path) -> str:
    """The number of the job that merges."""
    environment = cluster.environment() | {"SLURM_CONF": str(config), "CPUS": "1"}
    command = ["sh", str(RECIPES / "slurm.sh"), str(cluster.out), str(cluster.key), "4"]
    done = subprocess.run(command, env=environment, cwd=cluster.shared, stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().splitlines()[-1]


def _wait(what: str, is_there: Callable[[], object]) -> None:
    ends = time.monotonic() + _LONG
    while not is_there():
        if time.monotonic() > ends:
            sys.exit(f"{what}: nothing after {_LONG} s")
        time.sleep(0.2)


def _told(cluster: Cluster) -> None:
    """Show what the jobs printed, if the merge left no result."""
    if not (cluster.out / "run.json").exists():
        files = sorted(cluster.shared.glob("slurm-*.out"))
        sys.exit("\n".join(f"{path.name}: {path.read_text()}" for path in files) or "no job printed anything")


if __name__ == "__main__":
    main()
