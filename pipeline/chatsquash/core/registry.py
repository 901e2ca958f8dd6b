"""Plug-ins: the modules of a folder, each as one value with defaults for what it leaves out, imported on demand."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, NamedTuple, TypeVar, cast

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


def declare(kind: type[T], module: ModuleType) -> T:
    """Return the value that a module declares: its members by the names of the fields of ``kind``, a dataclass.

    What the module leaves out has the default of its field; ``module`` and ``doc`` are its name and docstring.
    """
    members = {**vars(module), "module": module.__name__, "doc": module.__doc__ or ""}
    declared: Any = kind
    return cast("T", declared(**{each.name: members[each.name] for each in fields(declared) if each.name in members}))


class Room(Generic[T]):
    """The plug-ins in the folders of some packages, as values of the dataclass ``T``, or as modules.

    A folder that is appended to the ``__path__`` of such a package is searched, too; nothing else is.
    """

    def __init__(self, kind: type[T], *packages: ModuleType, place: Callable[[Item], int | None] = lambda _: 0) -> None:
        """``place`` returns what orders names before the alphabet does; ``None`` for a module that is not a plug-in."""
        self._kind = kind
        self._packages = packages
        self._place = place
        self._homes = cache(self._packages_by_name)
        self._load = cache(self._import)

    def names(self) -> tuple[str, ...]:
        """The names in order; no module is imported."""
        return tuple(self._homes(self._folders()))

    def named(self, name: str) -> T:
        """The plug-in of a name."""
        return self._load(f"{self._homes(self._folders())[name]}.{name}")

    def all(self) -> dict[str, T]:
        """Every plug-in by its name, in order."""
        return {name: self.named(name) for name in self.names()}

    def _import(self, path: str) -> T:
        module = importlib.import_module(path)
        return cast("T", module) if self._kind in (ModuleType, object) else declare(self._kind, module)

    def _folders(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(package.__path__) for package in self._packages)

    def _packages_by_name(self, folders: tuple[tuple[str, ...], ...]) -> dict[str, str]:
        """The package in which each module lies."""
        inside = zip(self._packages, map(items, folders), strict=True)
        placed = [(self._place(item), item.name, package.__name__) for package, entries in inside for item in entries]
        return {name: package for place, name, package in sorted(each for each in placed if each[0] is not None)}
