"""Locate agents' files on this machine by name, size and time only; no file is opened."""

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
    """A file that an agent writes."""

    path: str
    size: int
    changed: float
    """The modification time in seconds since the epoch."""

    @property
    def is_database(self) -> bool:
        """Whether the file may contain many sessions."""
        return self.path.endswith(_DATABASES)


def files(patterns: Iterable[str]) -> list[AgentFile]:
    """Return the files that match an agent's patterns, without duplicates, sorted by path."""
    files_by_name: dict[str, AgentFile] = {}
    for pattern in patterns:
        for path in glob.glob(expand_pattern(pattern), recursive=True, include_hidden=True):
            try:
                status = os.stat(path)  # noqa: PTH116 - faster for very many files
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                files_by_name[path] = AgentFile(path, status.st_size, status.st_mtime)
    return [files_by_name[path] for path in sorted(files_by_name)]


def expand_pattern(pattern: str) -> str:
    """Expand the variables and folders in a pattern for this machine; return an empty string if it is not absolute."""
    expanded = _VARIABLE.sub(lambda match: os.environ.get(match[1]) or match[2], pattern)
    expanded = expanded.replace("<config>", _configuration_folder())
    expanded = expanded.replace("<data>", os.environ.get("XDG_DATA_HOME") or "~/.local/share")
    return str(Path(expanded).expanduser()) if expanded.startswith(("~", "/", "\\")) or expanded[1:2] == ":" else ""


def _configuration_folder() -> str:
    """Return the folder in which programs store their configuration on this system."""
    if sys.platform == "darwin":
        return "~/Library/Application Support"
    if sys.platform == "win32":
        return os.environ.get("APPDATA") or "~/AppData/Roaming"
    return os.environ.get("XDG_CONFIG_HOME") or "~/.config"
