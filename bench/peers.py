"""Other converters from PyPI, each in an environment of its own, on the logs that they read."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from bench.commands import HERE, Bench, Command, measured

_CLAUDE_CONVERTER = """
import json, sys
from pathlib import Path
from claude_converter import Converter
converter = Converter(converter=sys.argv[1])
with open(sys.argv[3], "w") as out:
    for path in sorted(Path(sys.argv[2]).rglob("*.jsonl")):
        out.write(json.dumps({"messages": converter.session_to_messages(path)}) + "\\n")
"""
_HOMES = {"claude_code": (".claude", "projects"), "codex": (".codex", "sessions")}
"""Where an agent keeps its files, below the home folder."""


class Peer(NamedTuple):
    """Another converter."""

    package: str
    command: Callable[[Path, str, Path, Path], Command]
    """Of its environment's programs, the name of a profile, a home that holds its logs, and an output file."""
    logs: tuple[str, ...]
    """The profiles that it is tried on."""


def _teich(programs: Path, name: str, home: Path, out: Path) -> Command:
    return [str(programs / "teich"), "convert", str(_logs(name, home)), "--out", str(out)]


def _dataclaw(programs: Path, name: str, home: Path, out: Path) -> Command:
    given = [str(programs / "dataclaw"), "export", "--no-push", "--all-projects", "--output", str(out)]
    source = {"claude_code": "claude", "codex": "codex"}[name]
    return [str(shutil.which("env")), f"HOME={home}", *given, "--source", source]


def _claude_converter(programs: Path, name: str, home: Path, out: Path) -> Command:
    agent = name.replace("_", "-")
    return [str(programs / "python"), "-c", _CLAUDE_CONVERTER, agent, str(_logs(name, home)), str(out)]


PEERS = (
    Peer("teich", _teich, ("standard", "claude_code", "codex")),
    Peer("dataclaw", _dataclaw, ("claude_code", "codex")),
    Peer("claude-converter", _claude_converter, ("claude_code", "codex")),
)
WHY_NOT = {
    ("dataclaw", "standard"): "reads only agent files, from their default locations",
    ("claude-converter", "standard"): "reads only agent files",
}
"""What is not tried, since it cannot be asked for."""


def timed(bench: Bench, logs: dict[str, Path], rounds: int) -> list[dict[str, Any]]:
    """A row for each peer and profile: what it took, or why it was not timed."""
    return [row for peer in PEERS for row in _rows(bench, peer, logs, rounds)]


def _rows(bench: Bench, peer: Peer, logs: dict[str, Path], rounds: int) -> Iterator[dict[str, Any]]:
    print(f"timing {peer.package} ...", flush=True)
    for (package, name), why in WHY_NOT.items():
        if package == peer.package and name in logs:
            yield {"peer": package, "version": "", "logs": name, "why": why}
    asked = [name for name in peer.logs if name in logs]
    programs, version = _installed(peer.package, HERE / ".data" / "peers") if asked else (Path(), "")
    for name in asked:
        row = {"peer": peer.package, "version": version, "logs": name}
        if not version:
            yield row | {"why": "pip could not install it"}
            continue
        home = _home(bench, name, logs[name])
        yield row | _row(bench, peer.command(programs, name, home, bench.out / "peer.jsonl"), home, rounds)


def _row(bench: Bench, command: Command, home: Path, rounds: int) -> dict[str, Any]:
    paths = list(home.rglob("*.jsonl"))
    if why := _why_not(bench, command, len(paths)):
        return {"why": why}
    size = sum(path.stat().st_size for path in paths)
    return {"runs": [measured(bench, [command]) for _ in range(rounds)], "bytes": size}


def _why_not(bench: Bench, command: Command, sessions: int) -> str | None:
    """Why there is nothing to time: it fails, or what it writes says nothing of most sessions."""
    shutil.rmtree(bench.out, ignore_errors=True)
    bench.out.mkdir()
    done = subprocess.run(command, env=bench.environment(), capture_output=True, text=True, check=False)
    told = (done.stderr.strip() or done.stdout.strip()).splitlines()
    if done.returncode:
        return f"fails: {told[-1] if told else f'exit code {done.returncode}'}"
    return why_empty((bench.out / "peer.jsonl").read_bytes().splitlines(), sessions)


def why_empty(lines: list[bytes], sessions: int) -> str | None:
    """Why records do not count: most of the sessions have none, or one without messages."""
    full = sum(1 for line in lines if orjson.loads(line).get("messages"))
    return None if full * 2 > sessions else f"writes messages for only {full:,} of {sessions:,} sessions"


def _installed(package: str, folder: Path) -> tuple[Path, str]:
    """The folder of a package's programs and its version, which is empty where pip could not install it."""
    home = folder / package
    programs = home / "bin"
    stamp = home / "version"
    if not stamp.exists():
        shutil.rmtree(home, ignore_errors=True)
        venv.create(home, symlinks=True, with_pip=False)
        quiet = ["--quiet", "--disable-pip-version-check", "--retries", "1", "--python", str(programs / "python")]
        subprocess.run(
            [sys.executable, "-m", "pip", *quiet, "install", package], check=False, stderr=subprocess.DEVNULL
        )
        asked = f"import importlib.metadata as m; print(m.version({package!r}))"
        done = subprocess.run([programs / "python", "-c", asked], capture_output=True, text=True, check=False)
        if done.returncode:
            return programs, ""
        stamp.write_text(done.stdout.strip())
    return programs, stamp.read_text()


def _home(bench: Bench, name: str, logs: Path) -> Path:
    """A home folder with the logs of a profile, but for lines that are cut: a peer may end at the first of them."""
    home = bench.data / "home" / name
    shutil.rmtree(home, ignore_errors=True)
    for path in sorted(logs.rglob("*.jsonl")):
        copy = _logs(name, home) / path.relative_to(logs)
        copy.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as lines, copy.open("wb") as file:
            file.writelines(line for line in lines if line.endswith(b"}\n"))
    return home


def _logs(name: str, home: Path) -> Path:
    return home.joinpath(*_HOMES.get(name, ("logs",)))
