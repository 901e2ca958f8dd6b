"""Builds what is released into ``dist/``, and tries it as who installs it would: ``python -m tests.release``.

A line a step says what was done. It needs what the extra ``release`` names, and an index of packages.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests import test_docs as pages

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
_TESTS = (
    "tests/test_package.py",
    "tests/test_rooms.py",
    "tests/dataset/test_summary.py",
    "tests/pages",
    "tests/release/test_dist.py",
)
"""Run from the sdist: what looks at the files beside the package above all; all others are collected there."""


class FailedError(Exception):
    """A step did not do what it has to."""


def run(*command: str | Path, at: Path = ROOT, umask: int = -1, **variables: str) -> str:
    """What a command prints; raises ``FailedError`` with that where the command fails."""
    aside = ("PYTHONPATH", "VIRTUAL_ENV", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")
    alone = {name: value for name, value in os.environ.items() if name not in aside} | variables
    joined = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run(list(map(str, command)), cwd=at, umask=umask, env=alone, **joined)
    if done.returncode:
        raise FailedError(f"exit code {done.returncode} of {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def built(source: Path, out: Path, umask: int, zone: str) -> dict[str, bytes]:
    """The sdist and the wheel of a source tree."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source, umask=umask, TZ=zone)
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def build(work: Path) -> str:
    """Build twice: from the checkout, and from the sdist of that, in another folder, later, with another umask."""
    shutil.rmtree(DIST, ignore_errors=True)
    once = built(ROOT, DIST, 0o022, "Pacific/Auckland")
    with tarfile.open(sdist()) as archive:
        archive.extractall(work / "a folder elsewhere", filter="data")
    twice = built(source(work), work / "twice", 0o077, "America/Lima")
    if once != twice:
        differing = ", ".join(sorted(name for name in once | twice if once.get(name) != twice.get(name)))
        raise FailedError(f"built twice, these are not the same bytes: {differing}")
    return "built twice, the same bytes: " + ", ".join(f"{name} ({len(data):,} bytes)" for name, data in once.items())


def sdist() -> Path:
    """The sdist."""
    return next(DIST.glob("*.tar.gz"))


def wheel() -> Path:
    """The wheel."""
    return next(DIST.glob("*.whl"))


def source(work: Path) -> Path:
    """Where the sdist is unpacked."""
    return next((work / "a folder elsewhere").iterdir())


def describe(_: Path) -> str:
    """Check what an index shows."""
    run(sys.executable, "-m", "twine", "check", "--strict", sdist(), wheel())
    return "twine check --strict: passed"


def versions() -> list[str]:
    """The versions of Python that the project names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = (each.rpartition(" :: ")[2] for each in project["classifiers"] if "Python :: 3." in each)
    return [each for each in named if each != "Only"]


def interpreter(version: str) -> str | None:
    """An interpreter of this version that makes environments: on the path, or one of pyenv's."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [shutil.which(f"python{version}"), *sorted(root.glob(f"versions/{version}.*/bin/python{version}"))]
    asked = f"import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != {tuple(map(int, version.split('.')))})"
    for each in filter(None, [*found, sys.executable]):
        if not subprocess.run([each, "-c", asked], capture_output=True).returncode:
            return str(each)
    return None


def environment(python: str, work: Path, what: Path) -> Path:
    """The commands of an empty environment, into which something is installed."""
    run(python, "-m", "venv", work)
    run(work / "bin/python", *_PIP, what)
    return work / "bin"


def tried(version: str, work: Path) -> str:
    """What came of a version of Python."""
    python = interpreter(version)
    if python is None:
        resolved = ("--dry-run", "--ignore-installed", "--only-binary=:all:", f"--python-version={version}")
        run(sys.executable, *_PIP, *resolved, "--target", work / version, wheel())
        return f"Python {version}: not on this machine, so nothing ran; the index has wheels of all that it needs"
    commands = environment(python, work / f"env-{version}", wheel())
    told = run(commands / "chatsquash", "--version", at=work)
    if run(commands / "python", "-m", "chatsquash", "--version", at=work) != told:
        raise FailedError(f"Python {version}: the module and the script are not the same")
    blocks = [block for block in pages.ALL if block.page == "README.md" and block.language == "console"]
    count = sum(shown(block, commands, work / f"{version}-{number}") for number, block in enumerate(blocks))
    exact = run(commands / "python", "--version").strip()
    return f"{exact}: {told.splitlines()[0]}; {count} commands of README.md print what it shows"


def shown(block: pages.Block, commands: Path, folder: Path) -> int:
    """How many commands of a block ran, each of which printed what stands there."""
    parts = [part for part in pages.exchanges(block.text) if part[0] not in pages.NOT_RUN]
    shutil.copytree(ROOT / "sample_logs", folder / "sample_logs")
    marker = "== next command =="
    script = "set -e\n" + "".join(f"{command}\nprintf '%s\\n' '{marker}'\n" for command, _ in parts)
    home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "LC_ALL": "C", "PYTHONUTF8": "1"}
    path = os.pathsep.join([str(commands), os.environ["PATH"]])
    printed = run("bash", "-c", script, at=folder, PATH=path, **home).split(f"{marker}\n")
    for (command, expected), lines in zip(parts, printed, strict=False):
        if not pages.shows(expected, lines.splitlines()):
            raise FailedError(f"{commands}: $ {command}\n{lines}")
    return len(parts)


def install(work: Path) -> str:
    """Install the wheel with each version of Python, and run what README.md shows."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return "\n".join(pool.map(lambda version: tried(version, work), versions()))


def from_source(work: Path) -> str:
    """Install the sdist, and run tests from it."""
    commands = environment(sys.executable, work / "env-sdist", sdist())
    run(commands / "chatsquash", "convert", source(work) / "sample_logs", "--output", work / "out", "--quiet")
    there = {"PYTHONPATH": str(source(work) / "pipeline"), "PYTHONDONTWRITEBYTECODE": "1"}
    (imported, *_) = run(sys.executable, "-c", "import chatsquash; print(chatsquash.__file__)", **there).splitlines()
    if not Path(imported).is_relative_to(source(work)):
        raise FailedError(f"the tests of the sdist would be those of {imported}")
    pytest = (sys.executable, "-m", "pytest")
    collected = run(*pytest, "-n0", "--collect-only", at=source(work), **there).splitlines()[-1]
    passed = run(*pytest, "-n", str(os.cpu_count()), *_TESTS, at=source(work), **there).splitlines()[-1]
    return f"sdist: installed, {sdist().name} converts; {collected}; of those that were run, {passed}"


STEPS: tuple[Callable[[Path], str], ...] = (build, describe, install, from_source)


def main() -> int:
    """Take all steps; 1 where one fails."""
    with tempfile.TemporaryDirectory(prefix="chatsquash-release-") as name:
        for step in STEPS:
            started = time.monotonic()
            try:
                told = step(Path(name))
            except FailedError as problem:
                print(f"{step.__name__}: {problem}", file=sys.stderr)
                return 1
            print(f"{told} ({time.monotonic() - started:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
