"""What is installed, and what a start loads."""

import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import chatsquash
from chatsquash import checks, formats
from chatsquash.core.registry import items
from chatsquash.formats import agents, clients
from chatsquash.records import presets

ROOT = Path(__file__).parents[1]


def python(*args: str) -> str:
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, check=True, cwd=ROOT).stdout


def test_the_core_install_is_small():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {requirement.split(">=")[0] for requirement in project["dependencies"]}
    assert names == {"click", "msgspec", "orjson", "polars", "tqdm", "xxhash"}
    assert all(">=" in requirement and "==" not in requirement for requirement in project["dependencies"])


@pytest.mark.parametrize(
    ("start", "absent"),
    [
        (
            "from chatsquash.cli.main import cli",
            {"polars", "orjson", "msgspec", "tqdm", "multiprocessing", "chatsquash.core.model"},
        ),
        ("import chatsquash.conversion.convert", {"polars", "tqdm", "multiprocessing", "concurrent.futures"}),
    ],
    ids=["help", "converting"],
)
def test_a_start_loads_only_what_it_needs(start, absent):
    loaded = set(python("-c", f"import sys; {start}; print(*sys.modules, sep='\\n')").split())
    assert not absent & loaded


@pytest.mark.parametrize("package", [checks, agents, clients, formats, presets], ids=lambda package: package.__name__)
def test_the_parts_of_a_package_are_the_public_ones_that_lie_in_its_folder(package):
    found = (info.name for info in pkgutil.iter_modules(package.__path__))
    listed = sorted(item.name for item in items(package.__path__))
    assert listed == sorted(name for name in found if not name.startswith("_"))


def test_the_module_and_the_script_are_the_same():
    version = f"chatsquash, version {chatsquash.__version__}\n"
    assert python("-m", "chatsquash", "--version") == version


def test_who_watches_a_run_sees_its_end():
    assert "function calls" in python("-m", "cProfile", "-m", "chatsquash", "--version")


def test_public_names_are_there():
    assert all(getattr(chatsquash, name) is not None for name in chatsquash.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        chatsquash.nothing
