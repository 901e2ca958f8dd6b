"""Click options and arguments built from declarations: types, shell completion, and help in chapters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from chatsquash.core.option_declarations import OptionDeclaration


_Run = TypeVar("_Run", bound="Callable[..., Any]")
PARAMETER_FACTORIES = "makers_of_parameters"
_RENDERING_HELP = "Give up on records whose rendering takes more than {}."
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


def argument(*names: str, **settings: Any) -> Callable[[_Run], _Run]:
    """Add an argument to a command."""
    return _with(lambda: [click.Argument(names, **settings)])


def option(*names: str, **settings: Any) -> Callable[[_Run], _Run]:
    """Add an option to a command; the environment variable ``CHATSQUASH_<NAME>`` sets it as well."""
    return _with(lambda: [Option(names, **settings)])


def options(*names: str) -> Callable[[_Run], _Run]:
    """Add declared options, selected by group or by name, in this order."""
    return _with(lambda: from_declarations(*names))


def shorthands(run: _Run) -> _Run:
    """Add the shorthand options, each of which sets other options."""

    def declarations() -> list[click.Option]:
        from chatsquash.core.options import SHORTHANDS

        flags = ((f"--{name.replace('_', '-')}", each.help) for name, each in SHORTHANDS.items())
        return [Option([flag], is_flag=True, help=text) for flag, text in flags]

    return _with(declarations)(run)


def engine_options(run: _Run) -> _Run:
    """Add the options that select the engine a conversion runs on."""

    def declarations() -> list[click.Option]:
        from chatsquash.conversion.engines import EngineSettings

        return from_declarations("engine", of=EngineSettings)

    return _with(declarations)(run)


def _with(make: Callable[[], Iterable[click.Parameter]]) -> Callable[[_Run], _Run]:
    """Add parameters to a command; ``make`` runs only when the command needs its parameters."""

    def decorate(run: _Run) -> _Run:
        # Decorators are applied from the last to the first, so prepending keeps the order of the source.
        setattr(run, PARAMETER_FACTORIES, [make, *getattr(run, PARAMETER_FACTORIES, ())])
        return run

    return decorate


class Option(click.Option):
    """An option that an environment variable can set."""

    group: str | None = None
    """The group of a declared option."""

    def __init__(self, names: Sequence[str], **settings: Any) -> None:
        super().__init__(names, **settings)
        self.envvar = f"CHATSQUASH_{option_name(self).replace('-', '_').upper()}"


def option_name(option: click.Option) -> str:
    """Return the longest name of an option, without dashes."""
    return max(option.opts, key=len).lstrip("-")


class _Phrase(click.ParamType):  # type: ignore[type-arg]  # in click 8.2 it takes none
    """A text; an environment variable contains one per line."""

    name = "text"
    envvar_list_splitter = "\n"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text without its trailing line feed."""
        del param, ctx
        return str(value).rstrip("\r\n")


class _Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes, such as 64MB, or 64MiB for powers of 1024."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of bytes; fail if the text is not a size."""
        match = re.fullmatch(r"([0-9]{1,15})\s*((?:[kmg]i?)?)b?", str(value), re.IGNORECASE)
        if not match:
            self.fail(f"{value!r} is not a size; use a form such as 256MB, 64kB or 1000000.", param, ctx)
        number, unit = match.groups()
        return int(number) * {each.lower(): many for each, many in _UNITS.items()}[unit.lower()]


def rendering(run: _Run) -> _Run:
    """Add the options that limit the time and memory of rendering a record with a chat template."""
    limit = partial(option, show_default=True)
    least = click.IntRange(min=1)
    time = limit("--render-time", type=least, default=10, metavar="SECONDS", help=_RENDERING_HELP.format("SECONDS"))
    memory = limit(
        "--render-memory", type=_Size(), default="1GB", metavar="SIZE", help=_RENDERING_HELP.format("SIZE of memory")
    )
    return time(memory(run))


def from_declarations(*names: str, of: type[Any] | None = None) -> list[click.Option]:
    """Return click options for the declared options of these groups or names, in this order."""
    from chatsquash.core.options import Options, list_options

    known = list_options(of or Options)
    return [_click_option(each) for name in names for each in known if name in (each.group, each.name)]


def _click_option(option: OptionDeclaration) -> click.Option:
    default = None if option.usually else option.default
    has_opposite = option.kind is bool and (option.default is not False or "/" in option.short)
    flag = f"{option.flag}/--no-{option.flag[2:]}" if has_opposite else option.flag
    click_option = Option(
        [*filter(None, (flag, option.short, option.name))],
        type=_type(option),
        is_flag=option.kind is bool,
        multiple=option.kind == tuple[str, ...],
        default=_as_size(default) if option.metavar == "SIZE" and default else default,
        show_default=default not in (None, ()) and default is not False,
        metavar=option.metavar or ("N" if option.kind is int else None),
        help=option.help + (f"  [default: {option.usually}]" if option.usually else ""),
    )
    click_option.group = option.group
    return click_option


def _type(option: OptionDeclaration) -> Any:
    if option.metavar == "SIZE":
        return _Size()
    if option.metavar in ("TEXT", "NAME=REGEX") and option.kind == tuple[str, ...]:
        return _Phrase()
    if option.least is not None:
        return click.IntRange(option.least, option.most)
    if option.has_choices or option.metavar in ("CODE", "KIND,..."):
        return _type_of_name(option)
    if option.kind is bool:
        return None  # click 8.2 treats a flag with a type as switched off
    return int if option.kind is int else str


class _Choice(click.Choice):  # type: ignore[type-arg]  # in click 8.1 it takes none
    """One of the values of an option; the error for a trainer's name names the option that writes for it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the declared value."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            from chatsquash.dataset import trainers  # which only an error needs

            trainers.refuse_as_value(f"--{param.name}" if param else "", value)
            raise


def _type_of_name(option: OptionDeclaration) -> click.ParamType:  # type: ignore[type-arg]
    from chatsquash.core.options import ERRORS

    if option.metavar == "CODE":
        return Codes(ERRORS)
    if option.metavar == "KIND,...":
        return _Kinds()
    return KnownName(lambda: option.choices) if option.metavar else _Choice(option.choices)


def _as_size(size: int) -> str:
    """Format a number of bytes in the unit that gives the shortest text."""
    return min((f"{size // many}{unit}B" for unit, many in _UNITS.items() if size % many == 0), key=len)


class KnownName(click.ParamType):  # type: ignore[type-arg]  # in click 8.2 it takes none
    """A name in which hyphens and underscores are equivalent; the caller rejects unknown names."""

    name = "text"

    def __init__(
        self, known: Callable[[], Iterable[str]], completions: Callable[[], Iterable[str]] | None = None
    ) -> None:
        """Create the type; the shell completes ``completions``, by default all known names."""
        self._known, self._completions = known, completions or known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the known spelling of the name."""
        del param, ctx
        spelled = {_normalize(name): name for name in self._known()}
        return spelled.get(_normalize(str(value)), str(value))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete a name, with either hyphens or underscores."""
        del ctx, param
        prefix = _normalize(incomplete)
        return _items(name for name in self._completions() if _normalize(name).startswith(prefix))


class Codes(click.ParamType):  # type: ignore[type-arg]
    """Codes of findings; the shell completes the last one, and the caller rejects unknown codes."""

    name = "text"

    def __init__(self, any_error: str = "", divider: str = "") -> None:
        """Create the type; ``any_error`` is accepted as a code, and ``divider`` separates several codes."""
        self._any_error, self._divider = any_error, divider

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the last code."""
        from chatsquash.checks import rules  # which only a completion needs here

        del ctx, param
        before, divider, prefix = incomplete.rpartition(self._divider) if self._divider else ("", "", incomplete)
        known = sorted(filter(None, [self._any_error, *rules()]))
        return _items(f"{before}{divider}{code}" for code in known if code.startswith(prefix))


class _Kinds(click.ParamType):  # type: ignore[type-arg]
    """Kinds of facts, separated by commas; the shell completes the last one, and the caller rejects unknown kinds."""

    name = "text"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the last kind."""
        from chatsquash.core.accounting import STEP_FACTS

        del ctx, param
        before, divider, prefix = incomplete.rpartition(",")
        return _items(f"{before}{divider}{kind}" for kind in STEP_FACTS if kind.startswith(prefix))


def _normalize(name: str) -> str:
    return name.replace("_", "-")


def _items(values: Iterable[str]) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(value) for value in values]


PROFILE, SHOW = "settings_profile", "shows_settings"
"""The parameters of the options that select and show settings."""


def settings_options() -> list[click.Option]:
    """Return the options ``--profile`` and ``--show-config``."""
    profile = "Use the settings of this profile in chatsquash.toml first."
    shows = "Show the value of every option and where it comes from, then exit."
    return [
        Option(["--profile", PROFILE], metavar="NAME", help=profile),
        Option(["--show-config", SHOW], is_flag=True, help=shows),
    ]


MANY_OPTIONS = 25
"""Commands with more options than this show only the most used ones in ``--help``."""
SHOWS_ALL = "chatsquash.help_all"
"""The member of a context's ``meta`` that is set if all options are shown."""


def help_all() -> click.Option:
    """Return the option that shows all options."""

    def show(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
        if is_asked and not context.resilient_parsing:
            context.meta[SHOWS_ALL] = True
            click.echo(context.get_help())
            context.exit()

    description = "Show all options and exit."
    return click.Option(
        ["--help-all"], is_flag=True, expose_value=False, is_eager=True, callback=show, help=description
    )
