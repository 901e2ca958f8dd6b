"""Convert a folder of sessions with a library that has no command: ``python libraries.py LIBRARY KIND FOLDER OUT``.

Runs in the environment of the library. Writes a record for each session that it returns, and for each sub-agent. A file
that it rejects is reported, and the others are still converted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SOURCES = {"claude_code": "claude-code", "codex": "codex"}
"""What agent-trajectory calls the agents."""


def main(library: str, kind: str, folder: str, out: str) -> int:
    """Write the records to a file of JSON lines; return 1 if a file was rejected."""
    code = 0
    with Path(out).open("w", encoding="utf-8") as file:
        for path in sorted(Path(folder).rglob("*.jsonl")):
            try:
                records = [json.dumps({"messages": each}) + "\n" for each in _READERS[library](path, kind)]
                file.writelines(records)
            except Exception as error:  # noqa: BLE001 - the libraries have errors of their own
                print(f"{type(error).__name__}: {error}", file=sys.stderr)
                code = 1
    return code


def _agentpile(path: Path, _kind: str) -> Iterator[Any]:
    import agentpile

    if "subagents" in path.parts:  # in the record of their session
        return
    for run in agentpile.load(str(path)):
        trajectory = _written(run, path)
        yield trajectory["steps"]
        yield from (each["steps"] for each in trajectory.get("subagent_trajectories") or [])


def _written(run: Any, path: Path) -> Any:
    target = path.with_suffix(".atif")
    run.to_json(str(target))
    written = json.loads(target.read_text(encoding="utf-8"))
    target.unlink()
    return written


def _agent_trajectory(path: Path, kind: str) -> Iterator[Any]:
    import trajectory

    result = trajectory.normalize_transcript(source=SOURCES[kind], transcript=path.read_text(encoding="utf-8"))
    yield result["records"]


_READERS = {"agentpile": _agentpile, "agent-trajectory": _agent_trajectory}

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
