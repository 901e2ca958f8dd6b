"""The command line as the user typed it: sources and spelling of options, and errors for options without effect."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from chatsquash.core.options import Options
    from chatsquash.dataset.option_rules import Pair

SETTINGS_FILE = "chatsquash.cli.command"
"""The member of a context's ``meta`` with the path of the settings file."""


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
