"""The click command class: lazily built parameters, and defaults from ``chatsquash.toml``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from msgspec import Struct

from chatsquash.cli.click_options import (
    MANY_OPTIONS,
    PARAMETER_FACTORIES,
    Option,
    help_all,
    option_name,
    write_chapters,
)
from chatsquash.cli.command_line import SETTINGS_FILE
from chatsquash.core.errors import UsageError
from chatsquash.core.text import error_text, suggestion

_PROFILE, _SHOW = "settings_profile", "shows_settings"


class Command(click.Command):
    """A command whose parameters are built on first use, so that other commands do not slow down the start."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.params

    @cached_property
    def params(self) -> list[click.Parameter]:  # type: ignore[override]  # it is set as an attribute is
        """The arguments and options, in the order of ``--help``."""
        params = [
            *(each for make in getattr(self.callback, PARAMETER_FACTORIES) for each in make()),
            *settings_options(),
        ]
        return [*params, help_all()] if len(params) > MANY_OPTIONS else params

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options for ``--help``; a command with many options shows the most used ones, in chapters."""
        options = self.get_params(ctx)
        if len(options) <= MANY_OPTIONS:
            super().format_options(ctx, formatter)
        else:
            write_chapters(ctx, options, formatter)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Create the context with defaults from the settings file; the command line and variables take precedence."""
        # Most runs have no settings: only a run that may have some parses its arguments twice.
        if not (_requests_settings(args) or may_apply(Path.cwd())):
            return _without_settings(super().make_context(info_name, args, parent, **extra))
        preview = super().make_context(info_name, [*args], parent, resilient_parsing=True)
        settings = _settings(preview)
        if settings:
            extra["default_map"] = _defaults(self, info_name or "", settings, preview)
        elif profile := preview.params.get(_PROFILE):
            raise click.UsageError(f"--profile {profile}: no chatsquash.toml applies in this folder")
        if preview.params.get(_SHOW):
            resolved_context = super().make_context(info_name, [*args], parent, resilient_parsing=True, **extra)
            click.echo("\n".join(_values_and_sources(resolved_context, settings)))
            raise click.exceptions.Exit
        context = _without_settings(super().make_context(info_name, args, parent, **extra))
        context.meta[SETTINGS_FILE] = settings.path if settings else None
        return context


def _requests_settings(args: list[str]) -> bool:
    has_flag = any(each.startswith(("--profile", "--show-config")) for each in args)
    return has_flag or any(os.environ.get(f"CHATSQUASH_{name}") for name in ("PROFILE", "SHOW_CONFIG"))


def _without_settings(context: click.Context) -> click.Context:
    """Return the context without the options that select and show settings, which commands do not accept."""
    for name in (_PROFILE, _SHOW):
        context.params.pop(name, None)
    return context


def settings_options() -> list[click.Option]:
    """Return the options ``--profile`` and ``--show-config``."""
    profile = "Use the settings of this profile in chatsquash.toml first."
    shows = "Show the value of every option and where it comes from, then exit."
    return [
        Option(["--profile", _PROFILE], metavar="NAME", help=profile),
        Option(["--show-config", _SHOW], is_flag=True, help=shows),
    ]


def _settings(preview: click.Context) -> Settings | None:
    """Return the settings that apply in the working folder; files inside the logs on the command line are ignored."""
    arguments = [each.name for each in preview.command.params if isinstance(each, click.Argument)]
    values = [preview.params.get(name or "") for name in arguments]
    logs = [path for each in values for path in (each if isinstance(each, tuple) else [each]) if isinstance(path, str)]
    return find(Path.cwd(), logs)


def _defaults(command: click.Command, name: str, settings: Settings, preview: click.Context) -> dict[str, Any]:
    """Return the values that the settings have for a command, by parameter."""
    assert preview.parent
    group = preview.parent.command
    commands = group.list_commands(preview.parent) if isinstance(group, click.Group) else [name]
    table = settings.of(name, commands, preview.params.get(_PROFILE))
    options = [each for each in command.params if isinstance(each, click.Option) and each.name not in (_PROFILE, _SHOW)]
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


def _values_and_sources(context: click.Context, settings: Settings | None) -> Iterable[str]:
    """Yield each option with its value in TOML and the source of the value."""
    from chatsquash.core import jsonio
    from chatsquash.core.text import escape

    file = escape(os.path.relpath(settings.path)) if settings else ""
    yield f"# settings: {file or 'no file'}"
    for each in context.command.params:
        if not isinstance(each, Option) or each.name in (_PROFILE, _SHOW):
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


CHATSQUASH_TOML, PYPROJECT_TOML = "chatsquash.toml", "pyproject.toml"
_PROFILES = "profile"
_LARGEST = 1 << 20
"""Size limit of a settings file, in bytes."""


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


def may_apply(folder: Path) -> bool:
    """Return whether settings, or an error about their file, may apply, which is rarely the case."""
    return any(path.name == CHATSQUASH_TOML or _may_have_settings(path) for path in _candidates(folder))


def _may_have_settings(path: Path) -> bool:
    """Return whether a ``pyproject.toml`` may have a table for chatsquash, or cannot be used, without parsing it."""
    try:
        data = _content(path)
    except (OSError, UsageError):
        return True
    return b"chatsquash" in data or b"\\" in data  # TOML can spell a name with escapes


def find(folder: Path, logs: Iterable[str]) -> Settings | None:
    """Find the settings for a working folder: in the folder itself, or else in the nearest parent up to the repository.

    Outside a repository only the working folder is searched. Files inside the logs are ignored.

    Raises:
        UsageError: The file cannot be read, or belongs to another user.
    """
    # The sender of logs must not be able to configure how they are converted, so files inside them do not count.
    inside = [place for each in logs if "://" not in each and (place := Path(each)).exists()]
    roots = [place.resolve() for place in inside]
    for path in _candidates(folder):
        if any(path.resolve().is_relative_to(root) for root in roots if root.is_dir()):
            continue
        if (tables := _read(path)) is not None:
            return Settings(path, tables)
    return None


def _candidates(folder: Path) -> Iterator[Path]:
    above = [folder, *folder.parents]
    top = next((number for number, each in enumerate(above) if (each / ".git").exists()), 0)
    for each in above[: top + 1]:
        yield from (path for name in (CHATSQUASH_TOML, PYPROJECT_TOML) if (path := each / name).is_file())


def _read(path: Path) -> dict[str, Any] | None:
    """Return the tables of a file, or ``None`` if a ``pyproject.toml`` has no table for chatsquash."""
    import tomllib  # which only a project with such a file needs

    try:
        document = tomllib.loads(_content(path).decode("utf-8"))
    except OSError as problem:
        raise UsageError(f"{path}: cannot be read ({problem.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        if path.name == PYPROJECT_TOML:
            return None  # other tools read this file as well and report the error
        raise UsageError(f"{path}: not valid TOML ({error_text(problem)})") from None
    if path.name == CHATSQUASH_TOML:
        return document
    tool = document.get("tool")
    own = tool.get("chatsquash") if isinstance(tool, dict) else None
    return own if isinstance(own, dict) else None


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        if hasattr(os, "geteuid") and os.fstat(file.fileno()).st_uid not in (0, os.geteuid()):
            raise UsageError(
                f"{path}: file belongs to another user, so it is not used; remove it, or run in another folder"
            )
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise UsageError(f"{path}: file is larger than {_LARGEST:,} bytes")
    return data


def _near(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    return "; " + suggestion(name, names, f"expected one of {', '.join(names)}") if names else ""
