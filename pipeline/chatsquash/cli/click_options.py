"""Options and arguments as click has them, made of their declarations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from chatsquash.cli import click_help
from chatsquash.cli.names import Codes, Name

if TYPE_CHECKING:
    from chatsquash.core.option_declarations import Declared


_Run = TypeVar("_Run", bound="Callable[..., Any]")


PARAMETERS = "makers_of_parameters"


_TAKES = "Give up a record whose rendering takes more {}."


_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


def argument(*names: str, **settings: Any) -> Callable[[_Run], _Run]:
    """An argument of a command."""
    return _with(lambda: [click.Argument(names, **settings)])


def option(*names: str, **settings: Any) -> Callable[[_Run], _Run]:
    """An option of a command, which a ``CHATSQUASH_`` variable of its name sets, too."""
    return _with(lambda: [Option(names, **settings)])


def options(*chosen: str) -> Callable[[_Run], _Run]:
    """The declared options of groups, or of names, one after the other."""
    return _with(lambda: from_declarations(*chosen))


def engine_options(run: _Run) -> _Run:
    """Where a conversion runs."""

    def declarations() -> list[click.Option]:
        from chatsquash.conversion.engines import Where

        return from_declarations("engine", of=Where)

    return _with(declarations)(run)


def _with(make: Callable[[], Iterable[click.Parameter]]) -> Callable[[_Run], _Run]:
    """Put parameters before the others of a command; decorators are applied from the last to the first."""

    def decorate(run: _Run) -> _Run:
        setattr(run, PARAMETERS, [make, *getattr(run, PARAMETERS, ())])
        return run

    return decorate


class Option(click.Option):
    """An option that a variable sets, too."""

    chapter: str | None = None
    """Where it stands in the help of a command with many."""

    def __init__(self, names: Sequence[str], **settings: Any) -> None:
        super().__init__(names, **settings)
        self.envvar = f"CHATSQUASH_{option_name(self).replace('-', '_').upper()}"


def option_name(option: click.Option) -> str:
    """The longest name of an option, without dashes."""
    return max(option.opts, key=len).lstrip("-")


class _Phrase(click.ParamType):  # type: ignore[type-arg]  # in click 8.2 it takes none
    """A text, of which a variable holds one a line."""

    name = "text"
    envvar_list_splitter = "\n"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text without the line feed that ends its line."""
        del param, ctx
        return str(value).rstrip("\r\n")


class _Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes, as in 64MB, or in powers of 1024 as in 64MiB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes; fails for what is no such number."""
        found = re.fullmatch(r"([0-9]{1,15})\s*((?:[kmg]i?)?)b?", str(value), re.IGNORECASE)
        if not found:
            self.fail(f"{value!r} is no size; write one as 256MB, 64kB or 1000000.", param, ctx)
        number, unit = found.groups()
        return int(number) * {each.lower(): many for each, many in _UNITS.items()}[unit.lower()]


def rendering(run: _Run) -> _Run:
    """The options that bound what a chat template may take."""
    bound = partial(option, show_default=True)
    least = click.IntRange(min=1)
    time = bound("--render-time", type=least, default=10, metavar="SECONDS", help=_TAKES.format("time"))
    memory = bound("--render-memory", type=_Size(), default="1GB", metavar="SIZE", help=_TAKES.format("memory"))
    return time(memory(run))


def from_declarations(*chosen: str, of: type[Any] | None = None) -> list[click.Option]:
    """The options of groups, or of names, one after the other."""
    from chatsquash.core.options import Options, declared

    known = declared(of or Options)
    return [_click_option(each) for name in chosen for each in known if name in (each.group, each.name)]


def _click_option(option: Declared) -> click.Option:
    default = None if option.usually else option.default
    has_opposite = option.kind is bool and (option.default is not False or "/" in option.short)
    flag = f"{option.flag}/--no-{option.flag[2:]}" if has_opposite else option.flag
    made = Option(
        [*filter(None, (flag, option.short, option.name))],
        type=_type(option),
        is_flag=option.kind is bool,
        multiple=option.kind == tuple[str, ...],
        default=_as_size(default) if option.metavar == "SIZE" and default else default,
        show_default=default not in (None, ()) and default is not False,
        metavar=option.metavar or ("N" if option.kind is int else None),
        help=option.help + (f"  [default: {option.usually}]" if option.usually else ""),
    )
    made.chapter = click_help.chapter(option.group)
    return made


def _type(option: Declared) -> Any:
    if option.metavar == "SIZE":
        return _Size()
    if option.metavar in ("TEXT", "NAME=REGEX") and option.kind == tuple[str, ...]:
        return _Phrase()
    if option.least is not None:
        return click.IntRange(option.least, option.most)
    if option.has_choices or option.metavar == "CODE":
        return _type_of_name(option)
    if option.kind is bool:
        return None  # click 8.2 takes a flag that has a type for one that is off
    return int if option.kind is int else str


def _type_of_name(option: Declared) -> click.ParamType:  # type: ignore[type-arg]
    from chatsquash.core.options import ERRORS

    if option.metavar == "CODE":
        return Codes(ERRORS)
    return Name(lambda: option.choices) if option.metavar else click.Choice(option.choices)


def _as_size(size: int) -> str:
    """A number of bytes in the unit that makes it shortest."""
    return min((f"{size // many}{unit}B" for unit, many in _UNITS.items() if size % many == 0), key=len)
