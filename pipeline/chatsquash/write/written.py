"""The record of what is ours in an output folder: the names of the files that runs wrote there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from chatsquash.errors import UsageError
from chatsquash.folder import Folder
from chatsquash.model import OURS

RECORD = "written.json"


def record(names: Iterable[str]) -> bytes:
    """The record of these: written before files appear and after others went, so that it never says too little."""
    return json.dumps({"files": sorted(names)}, indent=1).encode()


def recorded(ours: Folder) -> list[str]:
    """The files that earlier runs wrote, as paths below OUT."""
    try:
        return [inside(name) for name in json.loads(ours.read(RECORD))["files"]]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError, RecursionError):
        raise damaged(ours.path / RECORD) from None


def damaged(path: Path) -> UsageError:
    """The error for a file that says what is ours and cannot be read."""
    hint = f"delete {path.parent}, after which all that stands beside it counts as foreign"
    return UsageError(f"{path}: is damaged; choose another folder with --output, or {hint}")


def inside(name: Any) -> str:
    """A name that leads nowhere else, whoever wrote it."""
    parts = PurePosixPath(name).parts
    is_plain = "/".join(parts) == name and ".." not in parts and b"\0" not in os.fsencode(name)
    if not parts or not is_plain or parts[0].casefold() == OURS:
        raise ValueError(name)
    return str(name)
