"""How options of the command are declared: with a variable each, and those that several commands share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable


class _Option(click.Option):
    """An option that a ``CHATSQUASH_`` variable of its name sets, too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        name = max(self.opts, key=len).lstrip("-")
        self.envvar = f"CHATSQUASH_{name.replace('-', '_').upper()}"


def option(*names: str, **settings: Any) -> Callable[..., Any]:
    """A click option with its variable."""
    return click.option(*names, cls=_Option, **settings)


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}


class Size(click.ParamType[int]):
    """A number of bytes, as in 64MB, or in powers of 1024 as in 64MiB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes; fails for what is no such number."""
        found = re.fullmatch(r"([0-9]{1,15})\s*((?:[kmg]i?)?)b?", str(value), re.IGNORECASE)
        if not found:
            self.fail(f"{value!r} is no size; write one as 256MB, 64kB or 1000000.", param, ctx)
        number, unit = found.groups()
        return int(number) * _UNITS[unit.lower()]


_SIZE = Size()


def _bound(name: str, kind: click.ParamType, default: Any, text: str) -> Callable[..., Any]:  # type: ignore[type-arg]
    metavar = "SIZE" if kind is _SIZE else "N"
    return option(name, type=kind, default=default, show_default=True, metavar=metavar, help=text)


_BOUNDS = (
    _bound("--max-line", _SIZE, "256MiB", "Bytes of a line; a longer one is left out."),
    _bound("--max-nesting", click.IntRange(1, 800), 500, "Levels of a message; a line with more is left out."),
    _bound("--max-messages", click.IntRange(min=1), 100_000, "Messages of a request; a line with more is left out."),
    _bound("--max-expansion", click.IntRange(min=1), 200, "Times its size that a compressed log may expand to."),
    _bound("--max-expanded", _SIZE, "16GiB", "Bytes that a compressed log may expand to."),
)


def bounds(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that bound what is read."""
    for each in reversed(_BOUNDS):
        command = each(command)
    return command
