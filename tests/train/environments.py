"""An environment for each trainer over one torch, which all of them see: ``.venv-train/NAME`` and ``.venv-train/base``."""

import json
import os
import platform
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from .trainers import Trainer

INDEX = "https://download.pytorch.org/whl/cpu"
"""Where PyTorch publishes its builds for CPUs; ``TORCH_INDEX`` names another index."""
ANY = "any"
NONE_FOUND = """\
make train: no build of PyTorch for CPUs was found, so nothing was downloaded.
PyPI's build for Linux needs 5.3 GB with what it requires of CUDA. Either
  make train TORCH_INDEX=URL        an index that has the build for CPUs ({index} was asked)
  make train PIP_FIND_LINKS=FOLDER  a folder that holds its wheel, torch-...+cpu-....whl
  make train TORCH=any              take PyPI's build all the same"""


class NoTorchError(Exception):
    """No build for CPUs was found, and none other is allowed."""


@dataclass(frozen=True)
class Made:
    """What an environment took: seconds and bytes of its own, those of the common torch aside."""

    seconds: float
    size: int


def builds_for_cpus(listing: str) -> list[str]:
    """The versions for CPUs in what ``pip index versions torch`` prints, the newest first."""
    listed = re.search(r"^Available versions: (.*)$", listing, re.MULTILINE)
    return [each for each in listed[1].split(", ") if each.endswith("+cpu")] if listed else []


def wanted_torch(listing: str, torch: str = "", system: str = platform.system()) -> str:
    """The requirement for the common torch: what ``TORCH`` names, or the newest build for CPUs.

    Outside Linux PyPI's own build is one for CPUs.
    """
    if torch and torch != ANY:
        return torch
    if torch == ANY or system != "Linux":
        return "torch"
    found = builds_for_cpus(listing)
    if not found:
        raise NoTorchError(NONE_FOUND.format(index=os.environ.get("TORCH_INDEX") or INDEX))
    return f"torch=={found[0]}"


def torch_listing(index: str = "") -> str:
    """What pip lists of torch, at an index or in the places it knows, without a download."""
    command = [sys.executable, "-m", "pip", "index", "versions", "torch", "--disable-pip-version-check"]
    there = ["--retries", "1", "--index-url", index] if index else []
    return subprocess.run([*command, *there], capture_output=True, text=True, check=False).stdout


def find_torch() -> list[str]:
    """What pip is to install as the common torch, by ``TORCH`` and ``TORCH_INDEX``, and where that is found."""
    torch, index = os.environ.get("TORCH", ""), os.environ.get("TORCH_INDEX", "")
    there = ["--extra-index-url", index or INDEX]
    if torch or platform.system() != "Linux":
        return [wanted_torch("", torch), *(there if index and torch != ANY else [])]
    known = torch_listing()
    if builds_for_cpus(known):
        return [wanted_torch(known)]
    return [wanted_torch(torch_listing(index or INDEX)), *there]


class Environments:
    """The environments below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.base = root / "base"
        self.constraints = root / "constraints.txt"

    def python(self, name: str) -> Path:
        """The interpreter of an environment."""
        return self.root / name / "bin" / "python"

    def make_base(self) -> None:
        """The one with torch, unless it is there; its exact version is what all others are held to."""
        if self.constraints.exists():
            return
        torch = find_torch()
        self.root.mkdir(exist_ok=True)
        print(f"Installing {torch[0]} into {self.base} ...", flush=True)
        run([sys.executable, "-m", "venv", "--clear", str(self.base)])
        pip = [str(self.python("base")), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, "--upgrade", "pip"])
        run([*pip, *torch])
        version = output(
            [str(self.python("base")), "-c", "from importlib.metadata import version; print(version('torch'))"]
        )
        self.constraints.write_text(f"torch=={version.strip()}\n", encoding="utf-8")

    def version(self, trainer: Trainer) -> str:
        """The version of a trainer that is installed."""
        ask = f"from importlib.metadata import version; print(version({trainer.distribution!r}))"
        return output([str(self.python(trainer.name)), "-c", ask]).strip()

    def make(self, trainer: Trainer) -> Made:
        """The environment of a trainer, unless it is there as the table has it."""
        stamp = self.root / trainer.name / "installed.json"
        wanted = {"trainer": repr(trainer), "torch": self.constraints.read_text(encoding="utf-8")}
        if stamp.exists() and (kept := json.loads(stamp.read_text(encoding="utf-8")))["wanted"] == wanted:
            return Made(kept["seconds"], kept["size"])
        started = time.monotonic()
        print(f"Installing {trainer.requirement} into {self.root / trainer.name} ...", flush=True)
        self._install(trainer)
        made = Made(time.monotonic() - started, size(self.root / trainer.name))
        stamp.write_text(json.dumps({"wanted": wanted, "seconds": made.seconds, "size": made.size}), encoding="utf-8")
        return made

    def _install(self, trainer: Trainer) -> None:
        own = self.root / trainer.name
        run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(own)])
        shared = next(iter((self.base / "lib").glob("python3*/site-packages")))
        packages = next(iter((own / "lib").glob("python3*/site-packages")))
        (packages / "base.pth").write_text(f"{shared.resolve()}\n", encoding="utf-8")
        if not trainer.without:
            self._pip(trainer.name, trainer.requirement, *trainer.beside)
            return
        self._pip(trainer.name, "--no-deps", trainer.requirement)
        ask = f"import importlib.metadata as m; print('\\n'.join(m.requires({trainer.distribution!r}) or []))"
        listed = output([str(self.python(trainer.name)), "-c", ask])
        self._pip(trainer.name, *kept_requirements(listed, trainer.without), *trainer.beside)

    def _pip(self, name: str, *arguments: str) -> None:
        pip = [str(self.python("base")), "-m", "pip", "--python", str(self.python(name)), "install", "--quiet"]
        run([*pip, "--disable-pip-version-check", "-c", str(self.constraints), *arguments])


def kept_requirements(listed: str, without: tuple[str, ...]) -> list[str]:
    """The requirements of a distribution, its extras and those named aside."""
    found = [line for line in listed.splitlines() if line and not re.search(r"\bextra\s*==", line)]
    return [line for line in found if plain_name(line) not in without]


def plain_name(requirement: str) -> str:
    """The name in a requirement, as PyPI spells it."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", name[0]).lower() if name else ""


def size(folder: Path) -> int:
    """The bytes of the files below a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def run(command: list[str]) -> None:
    """Run it, or end with what it printed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-6000:]}")


def output(command: list[str]) -> str:
    """What it prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
