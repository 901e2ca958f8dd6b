"""The options of the command as click has them, made of their declarations; and what was typed of them."""

from __future__ import annotations

import os
import re
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from chatsquash.cli import click_help
from chatsquash.cli.names import Codes, Name
from chatsquash.cli.settings import find, may_be_found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from chatsquash.cli.settings import Settings
    from chatsquash.conversion.engines import Where
    from chatsquash.core.options import Declared, GroupBy, Options
    from chatsquash.dataset.option_rules import Pair

_Run = TypeVar("_Run", bound="Callable[..., Any]")
_MAKERS = "makers_of_parameters"
_TAKES = "Give up a record whose rendering takes more {}."
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


class Command(click.Command):
    """A command whose parameters are made when they are first asked for; those of the others cost a start nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.params

    @cached_property
    def params(self) -> list[click.Parameter]:  # type: ignore[override]  # it is set as an attribute is
        """Arguments and options, in the order of ``--help``."""
        found = [*(each for make in getattr(self.callback, _MAKERS) for each in make()), *_of_settings()]
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
        if not (_asks_for_settings(args) or may_be_found(Path.cwd())):
            return _without_settings(super().make_context(info_name, args, parent, **extra))
        glance = super().make_context(info_name, [*args], parent, resilient_parsing=True)
        settings = _settings(glance)
        if settings:
            extra["default_map"] = _defaults(self, info_name or "", settings, glance)
        elif profile := glance.params.get(_PROFILE):
            raise click.UsageError(f"--profile {profile}: there is no chatsquash.toml here.")
        if glance.params.get(_SHOW):
            shown = super().make_context(info_name, [*args], parent, resilient_parsing=True, **extra)
            click.echo("\n".join(_in_force(shown, settings)))
            raise click.exceptions.Exit
        context = _without_settings(super().make_context(info_name, args, parent, **extra))
        context.meta[_FILE] = settings.path if settings else None
        return context


def _asks_for_settings(args: list[str]) -> bool:
    typed = any(each.startswith(("--profile", "--show-config")) for each in args)
    return typed or any(os.environ.get(f"CHATSQUASH_{name}") for name in ("PROFILE", "SHOW_CONFIG"))


def _without_settings(context: click.Context) -> click.Context:
    """A context whose command is not given what chose its settings."""
    for name in (_PROFILE, _SHOW):
        context.params.pop(name, None)
    return context


_PROFILE, _SHOW, _FILE = "settings_profile", "shows_settings", "chatsquash.cli.settings"


def _of_settings() -> list[click.Option]:
    """The options on settings."""
    told = "Prefer the settings of this profile in chatsquash.toml."
    shows = "Show the value of every option and where it comes from, and do nothing else."
    return [
        _Option(["--profile", _PROFILE], metavar="NAME", help=told),
        _Option(["--show-config", _SHOW], is_flag=True, help=shows),
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
    known = {_spelled(each): str(each.name) for each in options}
    found = settings.values(given, known, _paths(options))
    for each in options:
        if each.name in found and (why := _misfit(each, found[each.name], glance)):
            raise click.UsageError(f"{settings.path}: {_spelled(each)}: {why}")
    return found


def _misfit(option: click.Option, value: Any, context: click.Context) -> str | None:
    """Why an option cannot have this value of a file, where values have types; none where it can."""
    if option.is_flag:
        return None if isinstance(value, bool) else f"{value!r} is neither true nor false."
    if option.multiple and not isinstance(value, list):
        return f'{value!r} is no list; write one, as in {_spelled(option)} = ["{value}"]'
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


def _in_force(context: click.Context, settings: Settings | None) -> Iterable[str]:
    """Each option with its value as TOML has it, and where that comes from."""
    from chatsquash.core import jsonio
    from chatsquash.core.text import escaped

    file = escaped(os.path.relpath(settings.path)) if settings else ""
    yield f"# settings: {file or 'no file'}"
    for each in context.command.params:
        if not isinstance(each, _Option) or each.name in (_PROFILE, _SHOW):
            continue
        value, source = context.params.get(str(each.name)), context.get_parameter_source(str(each.name))
        told = {
            ParameterSource.COMMANDLINE: "command line",
            ParameterSource.ENVIRONMENT: str(each.envvar),
            ParameterSource.DEFAULT_MAP: file,
        }.get(source or ParameterSource.DEFAULT, "default")
        name = _spelled(each)
        if value is None or value == ():
            yield f"# {name} is not set"
        else:
            yield f"{name} = {jsonio.dumps(value).decode()}  # {told}"


def argument(*names: str, **settings: Any) -> Callable[[_Run], _Run]:
    """An argument of a command."""
    return _with(lambda: [click.Argument(names, **settings)])


def option(*names: str, **settings: Any) -> Callable[[_Run], _Run]:
    """An option of a command, which a ``CHATSQUASH_`` variable of its name sets, too."""
    return _with(lambda: [_Option(names, **settings)])


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
        setattr(run, _MAKERS, [make, *getattr(run, _MAKERS, ())])
        return run

    return decorate


class _Option(click.Option):
    chapter: str | None = None
    """Where it stands in the help of a command with many."""

    def __init__(self, names: Sequence[str], **settings: Any) -> None:
        super().__init__(names, **settings)
        self.envvar = f"CHATSQUASH_{_spelled(self).replace('-', '_').upper()}"


def _spelled(option: click.Option) -> str:
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


def refuse_alone(template: str | None, bounds: Iterable[str]) -> None:
    """Refuse bounds on rendering that are typed without a template, by their names."""
    for name in bounds:
        if not template and is_typed(name):
            raise click.UsageError(f"{_written(name)} has no effect without --template: add it.")


def refuse_idle(names: Iterable[str], why: str) -> None:
    """Refuse options that are typed where they have no effect, by their names."""
    for name in names:
        if is_typed(name):
            raise click.UsageError(f"{_written(name)} has no effect {why}: leave it out.")


SHARD_OPTIONS = (
    "output",
    "shard",
    "full",
    "workers",
    "anonymize_key",
    "quiet",
    "verbose",
    "as_json",
    "fail_on",
    "progress",
)
"""What may stand beside ``--shard``: the listing has the rest."""


def refuse_beside(flag: str, allowed: Iterable[str], logs: tuple[str, ...]) -> None:
    """Refuse arguments and options that are typed beside another that has them from elsewhere."""
    why = "the listing has them: leave it out, or make another listing with chatsquash shards"
    if logs:
        raise click.UsageError(f"{logs[0]} has no effect with {flag}, since {why}.")
    for name in click.get_current_context().params:
        if name not in allowed and is_typed(name):
            raise click.UsageError(f"{_written(name)} has no effect with {flag}, since {why}.")


def where_of(given: dict[str, Any]) -> Where:
    """Where a conversion runs; what is typed beside that and has no effect there is refused."""
    from chatsquash.conversion.engines import Where
    from chatsquash.core.options import declared

    where = Where(**{each.name: given[each.name] for each in declared(Where)})
    engine = f"--engine {where.engine}"
    if where.engine == "local":
        idle = {"address": engine, "merge": engine}
    else:
        idle = {"resume": f"{engine}, which always goes on with what is there"}
        if where.address:
            idle["workers"] = f"--address {where.address}, which has as many as it has"
    for name, why in idle.items():
        refuse_idle([name], f"with {why}")
    return where


def from_declarations(*chosen: str, of: type[Any] | None = None) -> list[click.Option]:
    """The options of groups, or of names, one after the other."""
    from chatsquash.core.options import Options, declared

    known = declared(of or Options)
    return [_click_option(each) for name in chosen for each in known if name in (each.group, each.name)]


def _click_option(option: Declared) -> click.Option:
    default = None if option.usually else option.default
    has_opposite = option.kind is bool and (option.default is not False or "/" in option.short)
    flag = f"{option.flag}/--no-{option.flag[2:]}" if has_opposite else option.flag
    made = _Option(
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


def is_typed(name: str) -> bool:
    """Whether an option stands on the command line."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def without_idle(given: Options) -> Options:
    """The options, where a variable's that has no effect is passed over, and one that is typed is an error."""
    from dataclasses import replace

    from chatsquash.core.options import Options
    from chatsquash.dataset.option_rules import met

    usual, left = Options(), given
    for pair in met(given):
        if is_typed(pair.idle):
            raise click.UsageError(f"{_told(pair)}.")
        rest: Any = pair.rest(given) if pair.rest else getattr(usual, pair.idle)
        left = replace(left, **{pair.idle: rest})
    return left


def _told(pair: Pair) -> str:
    """A pair as an error that names both as the user wrote them."""
    from chatsquash.dataset.option_rules import problem

    source = click.get_current_context().get_parameter_source(pair.other)
    is_given = source is not ParameterSource.DEFAULT
    other = f"--{pair.other.replace('_', '-')}"
    return problem(pair, _written, other, f"{other} {pair.example}", is_given=is_given)


def _written(name: str) -> str:
    """An option as the user wrote it: its name, or its variable, and a value that is a word."""
    context = click.get_current_context()
    option = next(each for each in context.command.params if each.name == name)
    value = context.params[name]
    named = max(option.secondary_opts if value is False and option.secondary_opts else option.opts, key=len)
    if context.get_parameter_source(name) is ParameterSource.ENVIRONMENT:
        return f"{option.envvar}={os.environ[str(option.envvar)]}"
    if context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP:
        from chatsquash.core.text import escaped

        return f"{named.lstrip('-')} of {escaped(str(context.meta.get(_FILE)))}"
    said = [value] if isinstance(value, str) else value if isinstance(value, tuple) else ()
    return " ".join([named, *said])


# What was typed, as the options of a run


def options_of(given: dict[str, Any], *, makes_key: bool = True) -> Options:
    """The options of ``convert``; the key, and what files hold, are their names until it is known what is needed.

    Without ``makes_key`` there is no key where none is named.
    """
    from dataclasses import replace

    from chatsquash.core.options import Options, declared
    from chatsquash.core.platform import cores
    from chatsquash.dataset.option_rules import refuse_typed
    from chatsquash.redact.pseudonyms import load_key

    for each in declared():
        if each.secret or each.content:
            given[each.name] = given[each.name] or None  # no name is none
    _pass_over_alias(given)
    asked = without_idle(Options(**{each.name: given[each.name] for each in declared() if each.name in given}))
    group_by = _group_by(asked.group_by) if given["single_file"] else asked.group_by
    asked = _with_kinds(asked)
    needs_key = asked.has_key and (makes_key or given["anonymize_key"])
    key = load_key(given["anonymize_key"]) if needs_key else None
    made = replace(asked, group_by=group_by, anonymize_key=key, workers=asked.workers or cores(), **_contents(asked))
    refuse_typed(made)
    return made


def _with_kinds(asked: Options) -> Options:
    """The options with what the kinds of ``--redact`` say of others."""
    from chatsquash.redact.requests import parts, with_kinds

    kinds, _ = parts(asked.redact)
    if kinds == "none" and is_typed("anonymize") and asked.anonymize:
        raise click.UsageError("--redact none has no effect with --anonymize: leave one of them out.")
    if kinds and "emails" in kinds.split(",") and not asked.anonymize:
        raise click.UsageError("--redact emails has no effect with --no-anonymize: leave one of them out.")
    return with_kinds(asked)


def _pass_over_alias(given: dict[str, Any]) -> None:
    """Of two options on duplicates, one that is typed wins over the other's variable."""
    both = "duplicates", "drop_duplicates"
    if any(map(is_typed, both)):
        given.update({name: None for name in both if not is_typed(name)})


def shard_options(given: dict[str, Any]) -> Options:
    """The options of a shard that no listing has."""
    from chatsquash.core.options import Options
    from chatsquash.core.platform import cores
    from chatsquash.redact.pseudonyms import load_key

    key = load_key(given["anonymize_key"]) if given["anonymize_key"] else None
    return Options(anonymize_key=key, full=given["full"], workers=given["workers"] or cores())


def _contents(asked: Options) -> dict[str, Any]:
    """What the files hold that options name."""
    found: dict[str, Any] = {}
    if asked.tools_file or asked.system_file:
        from chatsquash.session.stages import supplied_definitions

        readers = {"tools_file": supplied_definitions.tools, "system_file": supplied_definitions.system}
        named = {name: getattr(asked, name) for name in readers if getattr(asked, name)}
        found = {name: supplied_definitions.read(path, readers[name]) for name, path in named.items()}
    for name in ("redact_names", "redact_rules", "redact_known", "allow", "deny"):
        if isinstance(path := getattr(asked, name), str):
            from chatsquash.redact.requests import content

            found[name] = content(path)
    if asked.template:
        from chatsquash.templates.source import packed

        found["template"] = packed(str(asked.template))
    if asked.tokenizer or (asked.template and asked.max_tokens is not None):
        from chatsquash.templates import counting

        if model := str(asked.tokenizer or "") or counting.of_template(str(asked.template)):
            found["tokenizer"] = counting.packed(model)
    return found


def _group_by(group_by: GroupBy) -> GroupBy:
    """The grouping beside ``--single-file``; what stands on the command line wins over a variable."""
    if group_by == "none" or not is_typed("group_by"):
        return "none"
    if is_typed("single_file"):
        raise click.UsageError(f"--single-file and --group-by {group_by} exclude each other.")
    return group_by
