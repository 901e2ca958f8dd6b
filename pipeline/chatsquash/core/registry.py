"""Discovery of the modules in a package by their names; a module is imported on first use."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, cast

if TYPE_CHECKING:
    from types import ModuleType

T = TypeVar("T")


class Item(NamedTuple):
    """A module or a package in a folder."""

    name: str
    path: str
    """The path of its file; for a package that of ``__init__.py``."""


def items(folders: Iterable[str]) -> list[Item]:
    """The public modules and packages in the folders of a package, given its ``__path__``.

    Loading ``pkgutil``, which would also look into archives, takes longer than reading a small log.
    """
    entries = (item for folder in folders for item in os.scandir(folder) if not item.name.startswith(("_", ".")))
    files = ((item.name, f"{item.path}/__init__.py" if item.is_dir() else item.path) for item in entries)
    known = (Item(name.removesuffix(".py"), path) for name, path in files if path.endswith(".py"))
    return [item for item in known if Path(item.path).is_file()]


class Room(Generic[T]):
    """The modules of some packages; ``T`` is the protocol that each module implements.

    Folders that are appended to the ``__path__`` of a package are searched, too; nothing else is.
    """

    def __init__(self, *packages: ModuleType, place: Callable[[Item], int | None] = lambda _: 0) -> None:
        """``place``: the sort key that precedes the name; ``None`` excludes a module."""
        self._packages = packages
        self._place = place
        self._homes = cache(self._packages_by_name)
        self._module = cache(importlib.import_module)

    def names(self) -> tuple[str, ...]:
        """The names in order; no module is imported."""
        return tuple(self._homes(self._folders()))

    def module(self, name: str) -> T:
        """The module of a name."""
        return cast("T", self._module(f"{self._homes(self._folders())[name]}.{name}"))

    def all(self) -> dict[str, T]:
        """Every module by its name, in order."""
        return {name: self.module(name) for name in self.names()}

    def _folders(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(package.__path__) for package in self._packages)

    def _packages_by_name(self, folders: tuple[tuple[str, ...], ...]) -> dict[str, str]:
        """The package in which each module lies."""
        inside = zip(self._packages, map(items, folders), strict=True)
        placed = [(self._place(item), item.name, package.__name__) for package, entries in inside for item in entries]
        return {name: package for place, name, package in sorted(each for each in placed if each[0] is not None)}
