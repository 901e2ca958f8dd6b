"""Plug-ins: the modules in a folder, imported on demand, each as a value with defaults for missing members.

Formats may also be modules of installed packages: the entry points in the group ``chatsquash.formats``.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar, cast

from msgspec import NODEFAULT, Struct

from chatsquash.core.errors import UsageError

T = TypeVar("T")
GROUP = "chatsquash.formats"
"""The group of entry points for formats."""
_path = attrgetter("__path__")
_LAST_LINE_END = re.compile(r"\n(?![ )])")
"""The end of a top-level assignment, which may have several lines."""


class Item(Struct, frozen=True, order=True):
    """A module or a package in a folder."""

    name: str
    path: str
    """The path of its file; for a package, the path of ``__init__.py``."""


def items(folders: Iterable[str]) -> list[Item]:
    """List the public modules and packages in the folders of a package, given its ``__path__``."""
    # pkgutil would also search archives, and importing it takes longer than reading a small log.
    entries = (item for folder in folders for item in os.scandir(folder) if not item.name.startswith(("_", ".")))
    files = ((item.name, f"{item.path}/__init__.py" if item.is_dir() else item.path) for item in entries)
    known = (Item(name.removesuffix(".py"), path) for name, path in files if path.endswith(".py"))
    return [item for item in known if Path(item.path).is_file()]


def declaration(item: Item, name: str) -> str:
    """Return the value of a top-level assignment in the source text of a module, or an empty string without one.

    Importing all modules of a folder takes longer than converting a small log, and most runs need few of them.
    """
    return assigned_value(Path(item.path).read_text(encoding="utf-8"), name)


def assigned_value(source: str, name: str) -> str:
    """Return the value of a top-level assignment in a source text, or an empty string without one."""
    start = source.find(f"\n{name} = ")
    if start < 0:
        return ""
    start += len(f"\n{name} = ")
    end = _LAST_LINE_END.search(source, start)
    return source[start : end.end() if end else None]


def declare(kind: type[T], module: ModuleType) -> T:
    """Return the value that a module declares: its members with the names of the fields of ``kind``, a struct.

    Missing members have the default of their field; ``module`` and ``doc`` are the module's name and docstring.
    """
    members = {**vars(module), "module": module.__name__, "doc": module.__doc__ or ""}
    declared: Any = kind
    return cast("T", declared(**{name: members[name] for name in declared.__struct_fields__ if name in members}))


def _required(kind: Any) -> list[str]:
    """Return the fields of a struct that have no default."""
    names, defaults = kind.__struct_fields__, kind.__struct_defaults__
    known = dict(zip(reversed(names), reversed(defaults), strict=False))  # the first fields may be missing
    return [name for name in names if known.get(name, NODEFAULT) is NODEFAULT]


class Room(Generic[T]):
    """The plug-ins in the folders of some packages, as values of the struct ``T`` or as modules.

    A folder that is appended to the ``__path__`` of such a package is also searched. Rooms of formats include those
    of installed packages.
    """

    def __init__(
        self,
        kind: type[T],
        *packages: ModuleType,
        place: Callable[[Item], int | None] = lambda _: 0,
        accepts: Callable[[ModuleType], bool] | None = None,
    ) -> None:
        """Search the folders of ``packages``.

        Args:
            kind: The struct of a plug-in, or ``ModuleType``.
            packages: The chatsquash packages that contain the modules.
            place: Returns the sort key of a module that precedes its name; ``None`` if the module is not a plug-in.
            accepts: Returns whether a module of an installed package belongs here; by default, none does.
        """
        self._kind = kind
        self._packages = packages
        self._place = place
        self._accepts = accepts
        self._load = cache(self._import)
        self._folders: list[list[str]] | None = None
        """The folders in which ``_paths`` were searched."""
        self._paths: dict[str, str] = {}

    def names(self) -> tuple[str, ...]:
        """Return the names in order, without importing a module."""
        return tuple(self._modules())

    def module(self, name: str) -> str:
        """Return the name of the module of a plug-in, without importing it."""
        return self._modules()[name]

    def get(self, name: str) -> T:
        """Return the plug-in with the given name."""
        return self._load(self._modules()[name])

    def all(self) -> dict[str, T]:
        """Return all plug-ins by name, in order."""
        return {name: self._load(path) for name, path in self._modules().items()}

    def _import(self, path: str) -> T:
        module = importlib.import_module(path)
        return cast("T", module) if self._kind in (ModuleType, object) else declare(self._kind, module)

    def _modules(self) -> dict[str, str]:
        """Return the import path of each module, by name, searching again if a folder was added."""
        if list(map(_path, self._packages)) != self._folders:
            folders = [[*package.__path__] for package in self._packages]
            self._paths, self._folders = self._search(folders), folders
        return self._paths

    def _search(self, folders: list[list[str]]) -> dict[str, str]:
        inside = zip(self._packages, map(items, folders), strict=True)
        own = [(item, f"{package.__name__}.{item.name}") for package, entries in inside for item in entries]
        known = [(self._place(item), item.name, path) for item, path in own]
        names = {name for place, name, _ in known if place is not None}
        known += [self._installed(plugin, module, names) for plugin, module in self._modules_of_packages()]
        return {name: path for place, name, path in sorted(each for each in known if each[0] is not None)}

    def _modules_of_packages(self) -> Iterator[tuple[Plugin, ModuleType]]:
        """Import the modules of installed packages that belong here; raise ``UsageError`` if an import fails."""
        for plugin in plugins() if self._accepts else ():
            try:
                module = importlib.import_module(plugin.module)
            except Exception as problem:
                from chatsquash.core.text import error_text  # imports packages that this module does not need

                raise UsageError(
                    f"{plugin} cannot be imported: {type(problem).__name__}: {error_text(problem)}"
                ) from problem
            if self._accepts and self._accepts(module):
                yield plugin, module

    def _installed(self, plugin: Plugin, module: ModuleType, names: set[str]) -> tuple[int, str, str]:
        """Return the sort key, the name and the import path of a plug-in in an installed package."""
        if plugin.name in names:
            raise UsageError(f"{plugin} has the same name as a built-in format; rename it, or uninstall the package")
        missing = [
            name for name in _required(self._kind) if name not in ("module", "doc") and not hasattr(module, name)
        ]
        if missing:
            raise UsageError(f"{plugin} does not define {', '.join(missing)}; see chatsquash.formats.base")
        if vars(module)["NAME"] != plugin.name:
            raise UsageError(f"{plugin} has a different NAME in its module: {vars(module)['NAME']!r}")
        place = self._place(Item(plugin.name, module.__file__ or ""))
        if place is None:
            raise UsageError(f"{plugin} must have a line that begins with NAME = in its module")
        return place, plugin.name, plugin.module


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


def plugin_versions() -> dict[str, str]:
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
