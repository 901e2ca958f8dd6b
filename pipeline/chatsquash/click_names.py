"""Names that are typed: how they may be spelled."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click


class Name(click.ParamType):  # type: ignore[type-arg]  # in click 8.2 it takes none
    """A known name, in which hyphens and underscores are the same; whoever takes it refuses one that is not known."""

    name = "text"

    def __init__(self, known: Callable[[], Iterable[str]]) -> None:
        self._known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as it is known."""
        del param, ctx
        spelled = {_plain(name): name for name in self._known()}
        return spelled.get(_plain(str(value)), str(value))


def _plain(name: str) -> str:
    return name.replace("_", "-")
