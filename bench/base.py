"""An older version, as git holds it, in an environment that lasts as long as the benchmark.

It uses the packages of the environment that runs the benchmark, so that both versions differ in nothing but their code,
and nothing has to be downloaded.
"""

from __future__ import annotations

import io
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
_SOURCES = ("pipeline", "pyproject.toml")
_ACCELERATOR = "accelerator"
"""The folder of the compiled module that some revisions had."""
_SCRIPT = """#!{python}
import sys
from {module} import {function}
if __name__ == "__main__":
    sys.exit({function}())
"""


class NoBaseError(Exception):
    """There is no such version here, or it does not run."""


def build(revision: str, folder: Path) -> str:
    """Put a revision into a folder and give its chatsquash command."""
    sources, environment = folder / "sources", folder / "environment"
    with tarfile.open(fileobj=io.BytesIO(_archive(revision))) as archive:
        archive.extractall(sources, filter="data")
    venv.create(environment, symlinks=True, with_pip=False)
    module, function = _entry(sources)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    (packages / "base.pth").write_text(f"{_home(sources, module)}\n")
    for item in Path(sysconfig.get_path("purelib")).iterdir():
        if "chatsquash" not in item.name:
            (packages / item.name).symlink_to(item)
    if (sources / _ACCELERATOR).is_dir():
        _compile(sources / _ACCELERATOR, packages)
    command = environment / "bin" / "chatsquash"
    command.write_text(_SCRIPT.format(python=command.with_name("python"), module=module, function=function))
    command.chmod(0o755)
    _try(command, revision, module, sources)
    return str(command)


def _archive(revision: str) -> bytes:
    """The sources of a revision, as a tar."""
    try:
        tree = _git("ls-tree", "--name-only", revision, _ACCELERATOR)
        paths = [*_SOURCES, *tree.stdout.decode().split()]
        done = _git("archive", revision, *paths)
    except OSError as error:
        raise NoBaseError(f"{revision}: git is needed for it ({error})") from error
    if done.returncode:
        raise NoBaseError(f"{revision}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def _git(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False)


def _compile(accelerator: Path, packages: Path) -> None:
    """Build the compiled module of a revision into its environment."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", packages, accelerator]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoBaseError(f"{accelerator.name} does not build here: {done.stderr.strip()}")


def _entry(sources: Path) -> tuple[str, str]:
    """The module and the function of the command."""
    project = tomllib.loads((sources / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["scripts"]["chatsquash"].partition(":")
    return module, function


def _home(sources: Path, module: str) -> Path:
    """The folder that the package lies in: of old, that of the sources itself."""
    package = module.partition(".")[0]
    return next((path for path in (sources / "pipeline", sources) if (path / package).is_dir()), sources)


def _try(command: Path, revision: str, module: str, sources: Path) -> None:
    """Start it, and see that it is the one: the editable install of this version must not come before it."""
    python = command.with_name("python")
    asked = f"import {module.partition('.')[0]} as package; print(package.__file__)"
    subprocess.run([python, "-m", "compileall", "-q", sources], check=True)
    found = subprocess.run([python, "-c", asked], cwd=sources.parent, capture_output=True, text=True, check=False)
    if not Path(found.stdout.strip() or "/").is_relative_to(sources):
        raise NoBaseError(f"{revision}: another version was found, {found.stdout.strip() or found.stderr.strip()}")
    done = subprocess.run([command, "--help"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoBaseError(f"{revision}: it does not start here: {done.stderr.strip()}")
