"""What the readers of the formats that are written see of a document: turns of blocks, as plain objects.

Nothing here imports anything of ours, so that no mistake of a reader of ours is taken for what a format holds.  Each
module has ``read``, which gives the turns of a document, and where its format has definitions of tools, ``tools``.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

NAMES = sorted(module.name for module in iter_modules(__path__) if module.name != "common")


def named(name: str) -> Any:
    """The reader of a format."""
    return import_module(f"{__name__}.{name}")
