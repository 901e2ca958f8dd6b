"""Settings from ``chatsquash.toml`` and ``pyproject.toml`` as defaults of options, and where values come from."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from msgspec import Struct

from chatsquash.cli.click_options import PROFILE, SHOW, Option, option_name
from chatsquash.core.errors import UsageError
from chatsquash.core.text import suggestion

_PROFILES = "profile"
"""The table of profiles."""


class Settings(Struct, frozen=True):
    """The contents of a settings file."""

    path: Path
    tables: dict[str, Any]
    """The tables of commands, and the table of profiles."""

    def of(self, command: str, commands: Iterable[str], profile: str | None) -> dict[str, Any]:
        """Return the options of a command; those of the profile take precedence.

        Raises:
            UsageError: A command or profile has an unknown name, or a value is not a table.
        """
        known = [*commands]
        profiles = self._table(self.tables, _PROFILES, "profile")
        self._refuse_unknown("command", self.tables, [*known, _PROFILES])
        options = dict(self._table(self.tables, command, command))
        for name in profiles:
            self._refuse_unknown("command", self._table(profiles, name, f"profile.{name}"), known)
        if profile is None:
            return options
        if profile not in profiles:
            raise UsageError(f"--profile {profile}: no such profile in {self.path}{_near(profile, profiles)}")
        return options | self._table(profiles[profile], command, f"profile.{profile}.{command}")

    def _table(self, tables: dict[str, Any], name: str, title: str) -> dict[str, Any]:
        table = tables.get(name, {})
        if not isinstance(table, dict):
            raise UsageError(f"{self.path}: {title} must be a table; write [{title}]")
        return table

    def _refuse_unknown(self, what: str, names: Iterable[str], known: list[str]) -> None:
        for name in names:
            if name not in known:
                raise UsageError(f"{self.path}: unknown {what} {name!r}{_near(name, known)}")

    def values(self, options: dict[str, Any], known: dict[str, str], paths: set[str]) -> dict[str, Any]:
        """Return option values by parameter.

        Args:
            options: Values by option name.
            known: Parameters by option name.
            paths: Parameters whose values are paths; these are relative to the folder of the settings file.

        Raises:
            UsageError: An option is unknown, or its value is a table.
        """
        values: dict[str, Any] = {}
        for key, value in options.items():
            name = key.replace("_", "-")
            self._refuse_unknown("option", [name], [*known])
            if isinstance(value, dict):
                raise UsageError(f"{self.path}: {key} cannot be a table; use a string, a number, true, false or a list")
            parameter = known[name]
            is_path = parameter in paths and isinstance(value, str)
            values[parameter] = self._resolve(value, parameter) if is_path else value
        return values

    def _resolve(self, path: str, parameter: str) -> str:
        if not path or "://" in path:
            return path
        full_path = self.path.parent / Path(path).expanduser()
        is_model = parameter in ("template", "tokenizer") and not full_path.exists()  # of the Hugging Face cache
        return path if is_model else str(full_path)


def _near(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    return "; " + suggestion(name, names, f"expected one of {', '.join(names)}") if names else ""


def defaults(command: click.Command, name: str, settings: Settings, preview: click.Context) -> dict[str, Any]:
    """Return the values that the settings have for a command, by parameter."""
    assert preview.parent
    group = preview.parent.command
    commands = group.list_commands(preview.parent) if isinstance(group, click.Group) else [name]
    table = settings.of(name, commands, preview.params.get(PROFILE))
    options = [each for each in command.params if isinstance(each, click.Option) and each.name not in (PROFILE, SHOW)]
    known = {option_name(each): str(each.name) for each in options}
    defaults = settings.values(table, known, _paths(options))
    for each in options:
        if each.name in defaults and (why := _type_problem(each, defaults[each.name], preview)):
            raise click.UsageError(f"{settings.path}: {option_name(each)}: {why}")
    return defaults


def _type_problem(option: click.Option, value: Any, context: click.Context) -> str | None:
    """Return why an option cannot have this value, or ``None`` if it can; unlike arguments, TOML values have types."""
    if option.is_flag:
        return None if isinstance(value, bool) else f"{value!r} is neither true nor false"
    if option.multiple and not isinstance(value, list):
        return f'{value!r} is not a list; write one, as in {option_name(option)} = ["{value}"]'
    for each in value if option.multiple else [value]:
        if isinstance(each, bool | float | list | dict):
            return f"{each!r} is neither a string nor a whole number"
    try:
        option.type_cast_value(context, value)
    except click.BadParameter as problem:
        return problem.message
    return None


def _paths(options: list[click.Option]) -> set[str]:
    """Return the options whose values are paths."""
    from chatsquash.core.options import list_options

    output_options = {"output", "write_known", "tool_report_path"}
    path_options = {each.name for each in list_options() if each.content or each.secret} | output_options
    return path_options & {str(each.name) for each in options}


def values_and_sources(context: click.Context, settings: Settings | None) -> Iterable[str]:
    """Yield each option with its value in TOML and the source of the value."""
    from chatsquash.core import jsonio
    from chatsquash.core.text import escape

    file = escape(os.path.relpath(settings.path)) if settings else ""
    yield f"# settings: {file or 'no file'}"
    for each in context.command.params:
        if not isinstance(each, Option) or each.name in (PROFILE, SHOW):
            continue
        value, source = context.params.get(str(each.name)), context.get_parameter_source(str(each.name))
        origin = {
            ParameterSource.COMMANDLINE: "command line",
            ParameterSource.ENVIRONMENT: str(each.envvar),
            ParameterSource.DEFAULT_MAP: file,
        }.get(source or ParameterSource.DEFAULT, "default")
        name = option_name(each)
        if value is None or value == ():
            yield f"# {name} is not set"
        else:
            yield f"{name} = {jsonio.dumps(value).decode()}  # {origin}"
