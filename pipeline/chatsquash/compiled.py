"""What is compiled: the distribution ``chatsquash-fast``, where it is installed and wanted, and fits."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

PURE = "CHATSQUASH_PURE"
"""The variable that leaves it alone, unless it is empty or 0."""
_WAY = 2
"""What is asked of it, and what it gives, as a number: one with another is of another version of chatsquash."""


@cache
def _found() -> tuple[Any, str]:
    """The module to use, if there is one, and what is to be said of it; nothing where it is not installed."""
    try:
        import chatsquash_fast  # type: ignore[import-not-found,unused-ignore]
    except ModuleNotFoundError:
        return None, ""
    except ImportError as problem:
        return None, f"chatsquash-fast is ignored, since it cannot be loaded: {problem}"
    version = f"chatsquash-fast {getattr(chatsquash_fast, '__version__', 'of no version')}"
    if getattr(chatsquash_fast, "WAY", None) != _WAY:
        return None, f"{version} is ignored, since it belongs to another version of chatsquash"
    if os.environ.get(PURE, "") not in ("", "0"):
        return None, f"{version} is ignored, as {PURE} asks for"
    return chatsquash_fast, version


def module() -> Any:
    """The compiled module; ``None`` where everything is done in Python."""
    return _found()[0]


def told() -> str:
    """Which one is used, or why none is; empty where none is installed."""
    return _found()[1]
