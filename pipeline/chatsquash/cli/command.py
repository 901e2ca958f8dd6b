"""A command: its parameters, made when they are needed, and the settings file that applies to it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from chatsquash.cli import click_help
from chatsquash.cli.click_options import PARAMETERS, Option, option_name
from chatsquash.cli.command_line import SETTINGS_FILE
from chatsquash.cli.settings import find, may_be_found

if TYPE_CHECKING:
    from chatsquash.cli.settings import Settings


_PROFILE, _SHOW = "settings_profile", "shows_settings"


class Command(click.Command):
    """A command whose parameters are made when they are first asked for; those of the others cost a start nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.params

    @cached_property
    def params(self) -> list[click.Parameter]:  # type: ignore[override]  # it is set as an attribute is
        """Arguments and options, in the order of ``--help``."""
        found = [*(each for make in getattr(self.callback, PARAMETERS) for each in make()), *settings_options()]
        return [*found, click_help.help_all()] if len(found) > click_help.MANY else found

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options as ``--help`` shows them: of many those that are used most, in chapters."""
        options = self.get_params(ctx)
        if len(options) <= click_help.MANY:
            super().format_options(ctx, formatter)
        else:
            click_help.write(ctx, options, formatter)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of a command, whose options a file of settings may have; what is typed, or a variable, wins."""
        if not (_requests_settings(args) or may_be_found(Path.cwd())):
            return _without_settings(super().make_context(info_name, args, parent, **extra))
        glance = super().make_context(info_name, [*args], parent, resilient_parsing=True)
        settings = _settings(glance)
        if settings:
            extra["default_map"] = _defaults(self, info_name or "", settings, glance)
        elif profile := glance.params.get(_PROFILE):
            raise click.UsageError(f"--profile {profile}: there is no chatsquash.toml here.")
        if glance.params.get(_SHOW):
            shown = super().make_context(info_name, [*args], parent, resilient_parsing=True, **extra)
            click.echo("\n".join(_values_and_sources(shown, settings)))
            raise click.exceptions.Exit
        context = _without_settings(super().make_context(info_name, args, parent, **extra))
        context.meta[SETTINGS_FILE] = settings.path if settings else None
        return context


def _requests_settings(args: list[str]) -> bool:
    typed = any(each.startswith(("--profile", "--show-config")) for each in args)
    return typed or any(os.environ.get(f"CHATSQUASH_{name}") for name in ("PROFILE", "SHOW_CONFIG"))


def _without_settings(context: click.Context) -> click.Context:
    """A context whose command is not given what chose its settings."""
    for name in (_PROFILE, _SHOW):
        context.params.pop(name, None)
    return context


def settings_options() -> list[click.Option]:
    """The options on settings."""
    told = "Prefer the settings of this profile in chatsquash.toml."
    shows = "Show the value of every option and where it comes from, and do nothing else."
    return [
        Option(["--profile", _PROFILE], metavar="NAME", help=told),
        Option(["--show-config", _SHOW], is_flag=True, help=shows),
    ]


def _settings(glance: click.Context) -> Settings | None:
    """The settings that hold in the working folder, given what is named as logs."""
    arguments = [each.name for each in glance.command.params if isinstance(each, click.Argument)]
    named = [glance.params.get(name or "") for name in arguments]
    logs = [path for each in named for path in (each if isinstance(each, tuple) else [each]) if isinstance(path, str)]
    return find(Path.cwd(), logs)


def _defaults(command: click.Command, name: str, settings: Settings, glance: click.Context) -> dict[str, Any]:
    """What the settings say of a command, by its parameters."""
    assert glance.parent
    group = glance.parent.command
    commands = group.list_commands(glance.parent) if isinstance(group, click.Group) else [name]
    given = settings.of(name, commands, glance.params.get(_PROFILE))
    options = [each for each in command.params if isinstance(each, click.Option) and each.name not in (_PROFILE, _SHOW)]
    known = {option_name(each): str(each.name) for each in options}
    found = settings.values(given, known, _paths(options))
    for each in options:
        if each.name in found and (why := _misfit(each, found[each.name], glance)):
            raise click.UsageError(f"{settings.path}: {option_name(each)}: {why}")
    return found


def _misfit(option: click.Option, value: Any, context: click.Context) -> str | None:
    """Why an option cannot have this value of a file, where values have types; none where it can."""
    if option.is_flag:
        return None if isinstance(value, bool) else f"{value!r} is neither true nor false."
    if option.multiple and not isinstance(value, list):
        return f'{value!r} is no list; write one, as in {option_name(option)} = ["{value}"]'
    for each in value if option.multiple else [value]:
        if isinstance(each, bool | float | list | dict):
            return f"{each!r} is neither a text nor a whole number."
    try:
        option.type_cast_value(context, value)
    except click.BadParameter as problem:
        return problem.message
    return None


def _paths(options: list[click.Option]) -> set[str]:
    """The options whose values are paths."""
    from chatsquash.core.options import declared

    named = {each.name for each in declared() if each.content or each.secret} | {"output", "write_known"}
    return named & {str(each.name) for each in options}


def _values_and_sources(context: click.Context, settings: Settings | None) -> Iterable[str]:
    """Each option with its value as TOML has it, and where that comes from."""
    from chatsquash.core import jsonio
    from chatsquash.core.text import escaped

    file = escaped(os.path.relpath(settings.path)) if settings else ""
    yield f"# settings: {file or 'no file'}"
    for each in context.command.params:
        if not isinstance(each, Option) or each.name in (_PROFILE, _SHOW):
            continue
        value, source = context.params.get(str(each.name)), context.get_parameter_source(str(each.name))
        told = {
            ParameterSource.COMMANDLINE: "command line",
            ParameterSource.ENVIRONMENT: str(each.envvar),
            ParameterSource.DEFAULT_MAP: file,
        }.get(source or ParameterSource.DEFAULT, "default")
        name = option_name(each)
        if value is None or value == ():
            yield f"# {name} is not set"
        else:
            yield f"{name} = {jsonio.dumps(value).decode()}  # {told}"
