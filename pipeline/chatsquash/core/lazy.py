"""Patterns and modules that are loaded on first use, because loading all of them takes longer than a small run."""

from __future__ import annotations

import re
from importlib import import_module
from types import ModuleType
from typing import Any, AnyStr, cast


class LazyPattern:
    """A pattern that is compiled when one of its attributes is first used; it then has the same attributes."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text, self._flags = text, flags
        self._compiled: re.Pattern[Any] | None = None

    def compile(self) -> re.Pattern[Any]:
        """Compile the pattern on the first call, and return it."""
        self._compiled = self._compiled or re.compile(self._text, self._flags)
        return self._compiled

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.compile(), name)
        setattr(self, name, value)  # later uses take as long as with a compiled pattern
        return value


def lazy_compile(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern that is compiled on first use."""
    return cast("re.Pattern[AnyStr]", LazyPattern(text, flags))


class LazyModule(ModuleType):
    """A module that is imported when one of its attributes is first used."""

    def __getattr__(self, name: str) -> Any:
        # Unlike a look-up in sys.modules, this waits while another thread is importing the module.
        return getattr(import_module(self.__name__), name)
