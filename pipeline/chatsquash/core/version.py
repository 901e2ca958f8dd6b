"""The package version, and fingerprints that distinguish states of the code with the same version."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from operator import attrgetter

__version__ = "0.1.0"
_FOLDER = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120 - pathlib takes time to import
"""The package folder."""


@cache
def code_version() -> str:
    """Return the version with a fingerprint of the code, based on the sizes and modification times of its modules."""
    from array import array

    from xxhash import xxh3_128_hexdigest

    names, states = [], array("q")
    for entry in _modules(_FOLDER):
        status = entry.stat()
        names.append(entry.name)
        states.extend((status.st_size, status.st_mtime_ns))
    modules = "\n".join(names).encode("utf-8", "surrogateescape") + states.tobytes()
    return f"{__version__} {xxh3_128_hexdigest(modules + _packages())}"


@cache
def code_digest() -> str:
    """Return the XXH3 of the modules, which is the same on every machine with this code."""
    from xxhash import xxh3_128

    seen = xxh3_128()
    for entry in _modules(_FOLDER):
        with open(entry.path, "rb") as file:
            seen.update(file.read())
    seen.update(_packages())
    return seen.hexdigest()


def _packages() -> bytes:
    """Return the versions of the packages that add formats."""
    from chatsquash.core.registry import plugins  # not needed to show the version or a help text

    return "".join(f"{plugin.name} {plugin.package}\n" for plugin in plugins()).encode()


def _modules(folder: str) -> Iterator[os.DirEntry[str]]:
    """Yield the modules under a folder in order."""
    # scandir avoids a system call per name.
    with os.scandir(folder) as items:
        entries = sorted(items, key=attrgetter("name"))
    for entry in entries:
        if entry.name.endswith(".py"):
            yield entry
        elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
            yield from _modules(entry.path)
