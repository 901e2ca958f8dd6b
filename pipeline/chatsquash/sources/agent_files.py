"""Where agents keep their files on this machine, by names, sizes and times alone: nothing is opened."""

from __future__ import annotations

import glob
import os
import re
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

_VARIABLE = re.compile(r"\$\{(\w+):-([^{}]*)\}")
_DATABASES = (".db", ".vscdb", ".sqlite")


class AgentFile(Struct, frozen=True):
    """A file that an agent keeps."""

    path: str
    size: int
    changed: float
    """When it was last changed, in seconds since the epoch."""

    @property
    def is_database(self) -> bool:
        """Whether it may hold many sessions."""
        return self.path.endswith(_DATABASES)


def files(patterns: Iterable[str]) -> list[AgentFile]:
    """The files that fit an agent's patterns, each once, by their paths."""
    files_by_name: dict[str, AgentFile] = {}
    for pattern in patterns:
        for path in glob.glob(place(pattern), recursive=True, include_hidden=True):
            try:
                status = os.stat(path)  # noqa: PTH116 - there may be very many
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                files_by_name[path] = AgentFile(path, status.st_size, status.st_mtime)
    return [files_by_name[path] for path in sorted(files_by_name)]


def place(pattern: str) -> str:
    """A pattern with what its variables and folders stand for here; empty where it names no folder."""
    filled = _VARIABLE.sub(lambda match: os.environ.get(match[1]) or match[2], pattern)
    filled = filled.replace("<config>", _configuration())
    filled = filled.replace("<data>", os.environ.get("XDG_DATA_HOME") or "~/.local/share")
    return str(Path(filled).expanduser()) if filled.startswith(("~", "/", "\\")) or filled[1:2] == ":" else ""


def _configuration() -> str:
    """The folder in which this system keeps what programs are set to."""
    if sys.platform == "darwin":
        return "~/Library/Application Support"
    if sys.platform == "win32":
        return os.environ.get("APPDATA") or "~/AppData/Roaming"
    return os.environ.get("XDG_CONFIG_HOME") or "~/.config"
