"""Formats in installed packages: the entry points in the group ``chatsquash.formats``."""

from __future__ import annotations

import os
import sys
from functools import cache

from msgspec import Struct

from chatsquash.core.errors import UsageError

GROUP = "chatsquash.formats"


class Plugin(Struct, frozen=True):
    """An entry point: a module provided by an installed package."""

    name: str
    module: str
    package: str
    """The name and version of the package: ``acme-logs 1.2``."""

    def __str__(self) -> str:
        return f"the format {self.name!r} from the package {self.package}"


@cache
def plugins() -> tuple[Plugin, ...]:
    """Return the entry points by name; raise ``UsageError`` if two packages provide a format with the same name."""
    # The working folder is never searched, because it may contain logs.
    folders = [folder for folder in sys.path if folder and folder != os.getcwd()]  # noqa: PTH109 - pathlib takes time
    # Importing importlib.metadata takes longer than converting a small log.
    if not any(map(_mentions_group, folders)):
        return ()
    from importlib.metadata import distributions

    packages = dict[str, list[Plugin]]()
    for package in distributions(path=folders):  # of packages with one name, the first one is imported
        points = (point for point in package.entry_points if point.group == GROUP)
        provided = [Plugin(each.name, each.module, f"{package.name} {package.version}") for each in points]
        packages.setdefault(package.name, provided)
    known = dict[str, Plugin]()
    for plugin in (each for provided in packages.values() for each in provided):
        if (other := known.setdefault(plugin.name, plugin)) != plugin:
            raise UsageError(f"{other} is also provided by {plugin.package}; uninstall one of the packages")
    return tuple(known[name] for name in sorted(known))


def versions() -> dict[str, str]:
    """Return the package and version of each format that is not part of chatsquash."""
    return {plugin.name: plugin.package for plugin in plugins()}


def _mentions_group(folder: str) -> bool:
    """Return whether a package in a folder of ``sys.path`` has an entry point in the group."""
    try:
        with os.scandir(folder) as entries:
            packages = [each.path for each in entries if each.name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return False
    return any(GROUP.encode() in _content(f"{path}/entry_points.txt") for path in packages)


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
