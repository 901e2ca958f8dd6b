"""All shapes of logs that are hard for a converter, and how a log of one is written."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

from . import agent_shapes, request_shapes, shapes

SHAPES = {**shapes.SHAPES, **request_shapes.REQUEST_SHAPES, **agent_shapes.AGENT_SHAPES}
"""Shapes of one log."""
FILES = {**shapes.FILES, **agent_shapes.AGENT_FILES}
"""Shapes of several logs."""


def write(shape: str, count: int, folder: Path) -> Path:
    """Write a log of a shape with so many exchanges, or so many files; return its folder."""
    folder.mkdir(parents=True)
    files = FILES[shape](count) if shape in FILES else [("log.jsonl", SHAPES[shape](count))]
    for name, rows in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    if shape == shapes.archived.__name__:
        with tarfile.open(folder / "logs.tar", "w") as archive:
            for file in sorted(folder.glob("*.jsonl")):
                archive.add(file, file.name)
                file.unlink()
    return folder
