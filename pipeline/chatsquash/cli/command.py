"""The click command class, and the command line as the user typed it: sources of options, and those without effect."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from chatsquash.cli.click_options import (
    MANY_OPTIONS,
    PARAMETER_FACTORIES,
    PROFILE,
    SHOW,
    help_all,
    settings_options,
)
from chatsquash.core.errors import UsageError
from chatsquash.core.text import error_text

if TYPE_CHECKING:
    from chatsquash.core.options import Options
    from chatsquash.dataset.option_rules import Pair

SETTINGS_FILE = "chatsquash.cli.command"
"""The member of a context's ``meta`` with the path of the settings file."""
CHATSQUASH_TOML, PYPROJECT_TOML = "chatsquash.toml", "pyproject.toml"
_LARGEST = 1 << 20
"""Size limit of a settings file, in bytes."""


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
            from chatsquash.cli.help_chapters import write_chapters  # which only a help text needs

            write_chapters(ctx, options, formatter)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Create the context with defaults from the settings file; the command line and variables take precedence."""
        # Most runs have no settings: only a run that may have some parses its arguments twice.
        if not (_requests_settings(args) or may_apply(Path.cwd())):
            return _without_settings(super().make_context(info_name, args, parent, **extra))
        from chatsquash.cli.settings import Settings, defaults, values_and_sources  # which few runs need

        preview = super().make_context(info_name, [*args], parent, resilient_parsing=True)
        tables = _settings(preview)
        settings = Settings(*tables) if tables else None
        if settings:
            extra["default_map"] = defaults(self, info_name or "", settings, preview)
        elif profile := preview.params.get(PROFILE):
            raise click.UsageError(f"--profile {profile}: no chatsquash.toml applies in this folder")
        if preview.params.get(SHOW):
            resolved_context = super().make_context(info_name, [*args], parent, resilient_parsing=True, **extra)
            click.echo("\n".join(values_and_sources(resolved_context, settings)))
            raise click.exceptions.Exit
        context = _without_settings(super().make_context(info_name, args, parent, **extra))
        context.meta[SETTINGS_FILE] = settings.path if settings else None
        return context


def _requests_settings(args: list[str]) -> bool:
    has_flag = any(each.startswith(("--profile", "--show-config")) for each in args)
    return has_flag or any(os.environ.get(f"CHATSQUASH_{name}") for name in ("PROFILE", "SHOW_CONFIG"))


def _without_settings(context: click.Context) -> click.Context:
    """Return the context without the options that select and show settings, which commands do not accept."""
    for name in (PROFILE, SHOW):
        context.params.pop(name, None)
    return context


# The files with settings


def may_apply(folder: Path) -> bool:
    """Return whether settings, or an error about their file, may apply, which is rarely the case."""
    return any(path.name == CHATSQUASH_TOML or _may_have_settings(path) for path in _settings_files(folder))


def _may_have_settings(path: Path) -> bool:
    """Return whether a ``pyproject.toml`` may have a table for chatsquash, or cannot be used, without parsing it."""
    try:
        data = _content(path)
    except (OSError, UsageError):
        return True
    return b"chatsquash" in data or b"\\" in data  # TOML can spell a name with escapes


def _settings(preview: click.Context) -> tuple[Path, dict[str, Any]] | None:
    """Return the settings that apply in the working folder; files inside the logs on the command line are ignored."""
    arguments = [each.name for each in preview.command.params if isinstance(each, click.Argument)]
    values = [preview.params.get(name or "") for name in arguments]
    logs = [path for each in values for path in (each if isinstance(each, tuple) else [each]) if isinstance(path, str)]
    return find_settings(Path.cwd(), logs)


def find_settings(folder: Path, logs: Iterable[str]) -> tuple[Path, dict[str, Any]] | None:
    """Find the settings of a working folder, in it or the nearest parent up to the repository: the file and its tables.

    Outside a repository only the working folder is searched. Files inside the logs are ignored.

    Raises:
        UsageError: The file cannot be read, or belongs to another user.
    """
    # The sender of logs must not be able to configure how they are converted, so files inside them do not count.
    inside = [place for each in logs if "://" not in each and (place := Path(each)).exists()]
    roots = [place.resolve() for place in inside]
    for path in _settings_files(folder):
        if any(path.resolve().is_relative_to(root) for root in roots if root.is_dir()):
            continue
        if (tables := _read(path)) is not None:
            return path, tables
    return None


def _settings_files(folder: Path) -> Iterator[Path]:
    """Yield the files in which settings for a working folder may be, the nearest one first."""
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
    """Return the content of such a file; raise ``UsageError`` if it belongs to another user or is too large."""
    with path.open("rb") as file:
        if hasattr(os, "geteuid") and os.fstat(file.fileno()).st_uid not in (0, os.geteuid()):
            raise UsageError(
                f"{path}: file belongs to another user, so it is not used; remove it, or run in another folder"
            )
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise UsageError(f"{path}: file is larger than {_LARGEST:,} bytes")
    return data


# The options that the user typed


def is_typed(name: str) -> bool:
    """Return whether an option is on the command line."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def is_given(name: str) -> bool:
    """Return whether an option is on the command line, in an environment variable or in the settings file."""
    return click.get_current_context().get_parameter_source(name) not in (None, ParameterSource.DEFAULT)


def typed_text(name: str) -> str:
    """Return an option as the user wrote it: its name or variable, with its value if that is a text."""
    context = click.get_current_context()
    option = next(each for each in context.command.params if each.name == name)
    value = context.params[name]
    name_in_error = max(option.secondary_opts if value is False and option.secondary_opts else option.opts, key=len)
    if context.get_parameter_source(name) is ParameterSource.ENVIRONMENT:
        return f"{option.envvar}={os.environ[str(option.envvar)]}"
    if context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP:
        from chatsquash.core.text import escape

        return f"{name_in_error.lstrip('-')} of {escape(str(context.meta.get(SETTINGS_FILE)))}"
    words = [value] if isinstance(value, str) else value if isinstance(value, tuple) else ()
    return " ".join([name_in_error, *words])


def refuse_without_template(template: str | None, bounds: Iterable[str]) -> None:
    """Raise ``UsageError`` if a limit on rendering is on the command line without a template."""
    for name in bounds:
        if not template and is_typed(name):
            raise click.UsageError(f"{typed_text(name)} has no effect without --template; add it")


def refuse_idle(names: Iterable[str], why: str) -> None:
    """Raise ``UsageError`` if one of these options, which have no effect here, is on the command line.

    Args:
        names: Parameter names of options.
        why: The reason, which continues "--option has no effect".
    """
    for name in names:
        if is_typed(name):
            raise click.UsageError(f"{typed_text(name)} has no effect {why}; remove it")


def refuse_with_shard(flag: str, allowed: Iterable[str], logs: tuple[str, ...]) -> None:
    """Raise ``UsageError`` for logs and options on the command line that the listing of shards already determines."""
    why = "the listing determines it; remove it, or create a new listing with chatsquash shards"
    if logs:
        raise click.UsageError(f"{logs[0]} has no effect with {flag} because {why}")
    for name in click.get_current_context().params:
        if name not in allowed and is_typed(name):
            raise click.UsageError(f"{typed_text(name)} has no effect with {flag} because {why}")


def refuse_replacing(values: dict[str, Any]) -> None:
    """Raise ``UsageError`` if an option would write to a file that another option reads."""
    from chatsquash.core.options import list_options

    for output in ("write_known", "tool_report_path"):
        for each in list_options():
            path = values.get(each.name) if each.content or each.secret else None
            if isinstance(path, str) and values.get(output) and _are_same(path, values[output]):
                raise click.UsageError(
                    f"{typed_text(output)} would overwrite the file that {each.flag} reads; choose another path"
                )


def _are_same(path: str, other: str) -> bool:
    try:
        return Path(path).samefile(other)
    except (OSError, ValueError):
        return False


def without_idle(options: Options) -> Options:
    """Return the options without those that have no effect; one that is on the command line is an error."""
    from dataclasses import replace

    from chatsquash.core.options import Options
    from chatsquash.dataset.option_rules import matching_pairs

    defaults, result = Options(), options
    for pair in matching_pairs(options):
        if is_typed(pair.idle):
            raise click.UsageError(f"{_idle_error(pair)}.")
        rest: Any = pair.rest(options) if pair.rest else getattr(defaults, pair.idle)
        result = replace(result, **{pair.idle: rest})
    return result


def _idle_error(pair: Pair) -> str:
    """Return the error for a pair of options, with both as the user wrote them."""
    from chatsquash.dataset.option_rules import problem

    source = click.get_current_context().get_parameter_source(pair.other)
    is_given = source is not ParameterSource.DEFAULT
    other = f"--{pair.other.replace('_', '-')}"
    return problem(pair, typed_text, other, f"{other} {pair.example}", is_given=is_given)
