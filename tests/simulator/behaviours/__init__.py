"""What sessions do, a function each; each can be played alone by its name.  Modules of this folder are found by looking."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal, NamedTuple

When = Literal["layout", "client", "opening", "event"]
"""Before the session, as a habit of its client, before its first turn, or between turns."""


class Behaviour(NamedTuple):
    """Something that a session does."""

    name: str
    when: When
    play: Callable[[Any], bool | None]
    """Takes the ``Layout``, the ``Client`` or the ``Session``; an event gives false where it cannot happen yet."""
    hard: bool
    beside: tuple[str, ...]
    """What a habit shows in, where it shows in nothing else."""
    styles: tuple[str, ...] = ()
    """The styles in which it exists, if not in all."""

    def of(self, name: str) -> bool:
        """Whether this is meant by a name: its own, or that of a group, which it begins with; ``=NAME`` is no group."""
        return name in (self.name, f"={self.name}") or self.name.startswith(f"{name}-")


_FOUND: dict[str, Behaviour] = {}


def behaviour(
    name: str, when: When = "event", *, hard: bool = False, beside: tuple[str, ...] = (), styles: tuple[str, ...] = ()
) -> Callable[[Any], Any]:
    """Add a function to what is played."""

    def add(play: Callable[[Any], bool | None]) -> Callable[[Any], bool | None]:
        _FOUND[name] = Behaviour(name, when, play, hard, beside, styles)
        return play

    return add


@cache
def behaviours() -> dict[str, Behaviour]:
    """All of them by name, in an order that does not depend on how they were found."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return dict(sorted(_FOUND.items()))


def named(names: tuple[str, ...]) -> list[Behaviour]:
    """Those that are meant by some names."""
    for name in names:
        if not any(each.of(name) for each in behaviours().values()):
            raise ValueError(f"no behaviour is called {name}; there are {', '.join(behaviours())}")
    return [each for each in behaviours().values() if any(map(each.of, names))]
