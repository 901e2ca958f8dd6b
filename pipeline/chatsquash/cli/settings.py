"""What a file says of a command's options: ``chatsquash.toml``, or ``[tool.chatsquash]`` of ``pyproject.toml``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from chatsquash.core.errors import UsageError
from chatsquash.core.text import meant

OWN, SHARED = "chatsquash.toml", "pyproject.toml"
_PROFILES = "profile"
_LARGEST = 1 << 20
"""Bytes of a file of settings."""


class Settings(NamedTuple):
    """What a file says."""

    path: Path
    tables: dict[str, Any]
    """The tables of commands, and that of profiles."""

    def of(self, command: str, commands: Iterable[str], profile: str | None) -> dict[str, Any]:
        """The options of a command, those of a profile before the others; raises ``UsageError`` for unknown names."""
        known = [*commands]
        profiles = self._table(self.tables, _PROFILES, "profile")
        self._refuse_unknown("command", self.tables, [*known, _PROFILES])
        found = dict(self._table(self.tables, command, command))
        for name in profiles:
            self._refuse_unknown("command", self._table(profiles, name, f"profile.{name}"), known)
        if profile is None:
            return found
        if profile not in profiles:
            raise UsageError(f"--profile {profile}: {self.path} has none of this name{_near(profile, profiles)}")
        return found | self._table(profiles[profile], command, f"profile.{profile}.{command}")

    def _table(self, tables: dict[str, Any], name: str, shown: str) -> dict[str, Any]:
        table = tables.get(name, {})
        if not isinstance(table, dict):
            raise UsageError(f"{self.path}: {shown} is no table: write [{shown}]")
        return table

    def _refuse_unknown(self, what: str, names: Iterable[str], known: list[str]) -> None:
        for name in names:
            if name not in known:
                raise UsageError(f"{self.path}: {name}: there is no {what} of this name{_near(name, known)}")

    def values(self, given: dict[str, Any], known: dict[str, str], paths: set[str]) -> dict[str, Any]:
        """Options by their parameters, given the parameters by the names of options; ``paths`` are names of files.

        A path counts from the folder of the file that names it.
        """
        found: dict[str, Any] = {}
        for spelled, value in given.items():
            name = spelled.replace("_", "-")
            self._refuse_unknown("option", [name], [*known])
            if isinstance(value, dict):
                raise UsageError(
                    f"{self.path}: {spelled}: is a table; an option is a text, a number, true or false, or a list"
                )
            parameter = known[name]
            found[parameter] = self._placed(value) if parameter in paths and isinstance(value, str) else value
        return found

    def _placed(self, path: str) -> str:
        if not path or "://" in path:
            return path
        return str(self.path.parent / Path(path).expanduser())


def may_be_found(folder: Path) -> bool:
    """Whether there is any file to look at, which mostly there is not."""
    return next(_candidates(folder), None) is not None


def find(folder: Path, logs: Iterable[str]) -> Settings | None:
    """The settings for a working folder: its own, else those of the next folder above it, up to one with ``.git``.

    Outside of such a folder it is the working folder's alone.  A file within the logs is none: who sends logs says
    nothing of what becomes of them.  Raises ``UsageError`` for one that cannot be read, or is somebody else's.
    """
    inside = [place for each in logs if "://" not in each and (place := Path(each)).exists()]
    roots = [place.resolve() for place in inside]
    for path in _candidates(folder):
        if any(path.resolve().is_relative_to(root) for root in roots if root.is_dir()):
            continue
        if (tables := _read(path)) is not None:
            return Settings(path, tables)
    return None


def _candidates(folder: Path) -> Iterator[Path]:
    above = [folder, *folder.parents]
    top = next((number for number, each in enumerate(above) if (each / ".git").exists()), 0)
    for each in above[: top + 1]:
        yield from (path for name in (OWN, SHARED) if (path := each / name).is_file())


def _read(path: Path) -> dict[str, Any] | None:
    """The tables of a file; ``None`` where it is a shared one that says nothing of us."""
    import tomllib  # which only a project with such a file needs

    try:
        with path.open("rb") as file:
            if hasattr(os, "geteuid") and os.fstat(file.fileno()).st_uid not in (0, os.geteuid()):
                raise UsageError(
                    f"{path}: belongs to somebody else, so it is not followed: remove it, or work elsewhere"
                )
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise UsageError(f"{path}: is larger than {_LARGEST:,} bytes")
        held = tomllib.loads(data.decode("utf-8"))
    except OSError as problem:
        raise UsageError(f"{path}: cannot be read ({problem.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        if path.name == SHARED:
            return None  # it is for others to say what is wrong with it
        raise UsageError(f"{path}: is no TOML ({problem})") from None
    if path.name == OWN:
        return held
    tool = held.get("tool")
    found = tool.get("chatsquash") if isinstance(tool, dict) else None
    return found if isinstance(found, dict) else None


def _near(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    return "; " + meant(name, names, f"known are {', '.join(names)}") if names else ""
