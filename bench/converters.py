"""The converters that are compared: how each is installed, its documented command, and the messages that it wrote."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from bench.commands import CHATSQUASH, HERE, Command

LOGS = {"plain": "logs", "claude_code": ".claude/projects", "codex": ".codex/sessions"}
"""Where logs of a kind lie, below the home folder."""
ALBICILLA, ALBICILLA_COMMIT = "https://github.com/grzegorz-aniol/albicilla", "c14b297ff6187ba22dbfa3793ee71416ce445932"
"""The last commit that has the converter: the next one takes it out of the project."""
_ALBICILLA_PYTHON = ("python3.13", "python3.14")
ALL = ("--sessions-by", "chain", "--conversations", "all", "--restore", "all")


class Converter(NamedTuple):
    """A command that is compared."""

    name: str
    package: str
    """Its distribution, in an environment of that name; empty is this project's own."""
    needs: tuple[str, ...]
    """What pip is given."""
    reads: tuple[str, ...]
    command: Callable[[Path, str, Path, Path], Command]
    """Of its environment's programs, the kind of logs, the home that holds them, and an output folder that is there."""
    written: Callable[[Path], Iterator[str]]
    """The messages of each record in the output folder, as JSON."""


def _chatsquash(_programs: Path, kind: str, home: Path, out: Path) -> Command:
    return [CHATSQUASH, "convert", str(home / LOGS[kind]), "--output", str(out / "out")]


def _chatsquash_all(programs: Path, kind: str, home: Path, out: Path) -> Command:
    return [*_chatsquash(programs, kind, home, out), *ALL]


def _teich(programs: Path, kind: str, home: Path, out: Path) -> Command:
    return [str(programs / "teich"), "convert", str(home / LOGS[kind]), "--out", str(out / "teich.jsonl")]


def _dataclaw(programs: Path, kind: str, home: Path, out: Path) -> Command:
    source = {"claude_code": "claude", "codex": "codex"}[kind]
    given = ["export", "--no-push", "--all-projects", "--source", source, "--output", str(out / "dataclaw.jsonl")]
    return [str(shutil.which("env")), f"HOME={home}", str(programs / "dataclaw"), *given]


def _inspect_scout(programs: Path, kind: str, home: Path, out: Path) -> Command:
    given = ["import", kind, "-P", f"path={home / LOGS[kind]}", "-T", str(out / "transcripts"), "--display", "none"]
    return [str(programs / "scout"), *given]


def _albicilla(programs: Path, kind: str, home: Path, out: Path) -> Command:
    return [str(programs / "albicilla-conv"), "--logs", str(home / LOGS[kind]), "--output", str(out / "output")]


def _library(name: str) -> Callable[[Path, str, Path, Path], Command]:
    def command(programs: Path, kind: str, home: Path, out: Path) -> Command:
        return [
            str(programs / "python"),
            str(HERE / "libraries.py"),
            name,
            kind,
            str(home / LOGS[kind]),
            str(out / "out.jsonl"),
        ]

    return command


def _of_lines(out: Path) -> Iterator[str]:
    for path in sorted(path for path in out.rglob("*.jsonl") if "reports" not in path.parts):
        with path.open("rb") as lines:
            yield from (json.dumps(json.loads(line)["messages"]) for line in lines)


def _of_tables(out: Path) -> Iterator[str]:
    for path in sorted(out.rglob("*.parquet")):
        yield from pl.read_parquet(path)["messages"].to_list()


CONVERTERS = (
    Converter("chatsquash", "", (), tuple(LOGS), _chatsquash, _of_lines),
    Converter("teich", "teich", ("teich==0.3.6",), ("claude_code", "codex"), _teich, _of_lines),
    Converter("dataclaw", "dataclaw", ("dataclaw==0.4.2",), ("claude_code", "codex"), _dataclaw, _of_lines),
    Converter(
        "inspect-scout",
        "inspect-scout",
        ("inspect-scout==0.6.1", "inspect-ai==0.3.285"),
        ("claude_code",),
        _inspect_scout,
        _of_tables,
    ),
    Converter("agentpile", "agentpile", ("agentpile==0.3.1",), ("claude_code",), _library("agentpile"), _of_lines),
    Converter(
        "agent-trajectory",
        "agent-trajectory",
        ("agent-trajectory==0.4.3",),
        ("claude_code", "codex"),
        _library("agent-trajectory"),
        _of_lines,
    ),
    Converter("albicilla", "albicilla", (), ("plain",), _albicilla, _of_lines),
)
WHOLE = CONVERTERS[0]._replace(name="chatsquash, all", command=_chatsquash_all)


def installed(converter: Converter, folder: Path, albicilla: str) -> tuple[Path, str]:
    """The folder of its programs and its version; the version is empty where it cannot be installed."""
    if not converter.package:
        return Path(CHATSQUASH).parent, _version(Path(sys.executable), "chatsquash")
    home = folder / f"{converter.package}-compared"
    python = home / "bin" / "python"
    if not (home / "whole").exists():
        shutil.rmtree(home, ignore_errors=True)
        if not _install(converter, home, python, albicilla):
            return python.parent, ""
        (home / "whole").touch()
    return python.parent, _version(python, converter.package)


def _install(converter: Converter, home: Path, python: Path, albicilla: str) -> bool:
    """Whether an environment could be made for it."""
    print(f"installing {converter.name} ...", flush=True)
    if converter.package != "albicilla":
        venv.create(home, symlinks=True, with_pip=False)
        return _succeeds(*_pip(python), *converter.needs)
    found = next((name for name in _ALBICILLA_PYTHON if shutil.which(name) and _succeeds(name, "--version")), "")
    source = home / "source"
    return (
        bool(found)
        and _succeeds(found, "-m", "venv", "--without-pip", str(home))
        and _succeeds("git", "clone", "--quiet", albicilla, str(source))
        and _succeeds("git", "-C", str(source), "checkout", "--quiet", ALBICILLA_COMMIT)
        and _succeeds(*_pip(python), "--editable", str(source))
    )


def _pip(python: Path) -> Command:
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", str(python)]
    return [*pip, "install", "--no-compile"]


def _succeeds(*command: str) -> bool:
    return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0


def _version(python: Path, package: str) -> str:
    asked = f"import importlib.metadata as m; print(m.version({package!r}))"
    return subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()
