"""Other converters from PyPI, each in a separate environment, on the logs that they read."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from bench.commands import HERE, Bench, Command, in_turns

_CLAUDE_CONVERTER = """
import json, sys
from pathlib import Path
from claude_converter import Converter
converter = Converter(converter=sys.argv[1])
with open(sys.argv[3], "w") as out:
    for path in sorted(Path(sys.argv[2]).rglob("*.jsonl")):
        out.write(json.dumps({"messages": converter.session_to_messages(path)}) + "\\n")
"""
_HOMES = {
    "claude_code": (".claude", "projects"),
    "codex": (".codex", "sessions"),
    "pi": (".pi", "agent", "sessions"),
}
"""The folder of an agent's files, below the home folder."""
_LONG = 90  # seconds
_LIMIT = 600  # seconds
_SHOWN = 100  # characters of an error


class Peer(NamedTuple):
    """Another converter."""

    package: str
    command: Callable[[Path, str, Path, Path], Command]
    """Of its environment's programs, the name of a profile, a home folder with its logs, and an output file."""
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
    Peer("teich", _teich, ("claude_code", "codex", "pi")),
    Peer("dataclaw", _dataclaw, ("claude_code", "codex")),
    Peer("claude-converter", _claude_converter, ("claude_code", "codex", "pi")),
)


def profiles(package: str) -> tuple[str, ...]:
    """Return the profiles that a converter is tried on."""
    return next(peer.logs for peer in PEERS if peer.package == package)


def timed(bench: Bench, logs: dict[str, Path], rounds: int) -> list[dict[str, Any]]:
    """Return a row for each peer and profile: the runs, or the reason why there are none."""
    return [row for peer in PEERS for row in _rows(bench, peer, logs, rounds)]


def _rows(bench: Bench, peer: Peer, logs: dict[str, Path], rounds: int) -> Iterator[dict[str, Any]]:
    print(f"timing {peer.package} ...", flush=True)
    try:
        programs, version = installed(peer.package, HERE / ".data" / "peers")
    except (OSError, subprocess.SubprocessError):
        programs, version = Path(), ""
    for name in peer.logs:
        row = {"peer": peer.package, "version": version, "logs": name}
        if not version:
            yield row | {"why": "could not be installed"}
            continue
        home = _home(bench, name, logs[name])
        yield row | row_of(bench, peer.command(programs, name, home, bench.out / "peer.jsonl"), home, rounds)


def row_of(bench: Bench, command: Command, home: Path, rounds: int) -> dict[str, Any]:
    """Return the runs of a converter over the logs in a home folder, or why there are none: no failure is raised."""
    paths = list(home.rglob("*.jsonl"))
    try:
        if why := _why_not(bench, command, len(paths)):
            return {"why": why}
        runs = in_turns(bench, {"peer": [command]}, rounds, _LONG)["peer"]
    except SystemExit:
        return {"why": "fails in a later round"}
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return {"why": f"fails: {type(error).__name__}"}
    return {"runs": runs, "bytes": sum(path.stat().st_size for path in paths)}


def _why_not(bench: Bench, command: Command, sessions: int) -> str | None:
    """Return why a converter cannot be timed: it fails, or writes no messages for most sessions."""
    shutil.rmtree(bench.out, ignore_errors=True)
    bench.out.mkdir()
    done = subprocess.run(command, env=bench.environment(), capture_output=True, text=True, check=False, timeout=_LIMIT)
    output = (done.stderr.strip() or done.stdout.strip()).splitlines()
    if done.returncode:
        return f"fails: {output[-1][:_SHOWN] if output else f'exit code {done.returncode}'}"
    return why_empty((bench.out / "peer.jsonl").read_bytes().splitlines(), sessions)


def why_empty(lines: list[bytes], sessions: int) -> str | None:
    """Return why records do not count: most sessions have no record with messages."""
    records = map(orjson.loads, lines)
    full = sum(1 for record in records if isinstance(record, dict) and record.get("messages"))
    return None if full * 2 > sessions else f"writes messages for only {full:,} of {sessions:,} sessions"


def installed(package: str, folder: Path) -> tuple[Path, str]:
    """The folder of a package's programs and its version, which is empty where pip could not install it."""
    home = folder / package
    programs = home / "bin"
    stamp = home / "version"
    if not stamp.exists():
        shutil.rmtree(home, ignore_errors=True)
        venv.create(home, symlinks=True, with_pip=False)
        quiet = ["--quiet", "--disable-pip-version-check", "--retries", "1", "--python", str(programs / "python")]
        install = [sys.executable, "-m", "pip", *quiet, "install", package]
        subprocess.run(install, check=False, stderr=subprocess.DEVNULL, timeout=_LIMIT)
        asked = f"import importlib.metadata as m; print(m.version({package!r}))"
        done = subprocess.run([programs / "python", "-c", asked], capture_output=True, text=True, check=False)
        if done.returncode:
            return programs, ""
        stamp.write_text(done.stdout.strip())
    return programs, stamp.read_text()


def _home(bench: Bench, name: str, logs: Path) -> Path:
    """Create a home folder with the logs of a profile, without truncated lines: they end some converters."""
    home = bench.data / "home" / name
    shutil.rmtree(home, ignore_errors=True)
    for path in sorted(logs.rglob("*.jsonl")):
        copy = _logs(name, home) / path.relative_to(logs)
        copy.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as lines, copy.open("wb") as file:
            file.writelines(filter(is_complete, lines))
    return home


def is_complete(line: bytes) -> bool:
    """Check that a line was not truncated; a truncated one may end with a bracket, too."""
    try:
        return line.endswith(b"}\n") and bool(orjson.loads(line))
    except ValueError:
        return False


def _logs(name: str, home: Path) -> Path:
    return home.joinpath(*_HOMES.get(name, ("logs",)))
