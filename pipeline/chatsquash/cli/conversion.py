"""What convert, shards, merge and report share: options, the run's options made of them, summary and page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from chatsquash.cli import exits
from chatsquash.cli.click_options import option
from chatsquash.cli.command_line import is_given, is_typed, refuse_idle, refuse_replacing, without_idle
from chatsquash.cli.exits import fail_on, tolerate_closed_pipe
from chatsquash.cli.printing import print_options, print_overview

if TYPE_CHECKING:
    from chatsquash.conversion.engines import Where
    from chatsquash.conversion.progress import Watch
    from chatsquash.core.options import GroupBy, Options

output_option = option(
    "--output",
    "-o",
    default="out",
    show_default=True,
    metavar="DIR",
    help="Folder or URL for records and reports.",
)
single_file = option("--single-file", is_flag=True, help="Same as --group-by none.")
DECIDING = (
    *("cleaning", "sessions", "sampling", "shape", "supplied", "reading"),
    *("addresses", "privacy", "checks", "grouping"),
)
TAKING = ("dataset", "filters", "alike", "reports", "paths", "days", "links", "bounds")


def run_output(run: Any) -> Any:
    """What a run says on the screen."""
    as_json = option("--json", "as_json", is_flag=True, help="Print the summary as JSON on standard output.")
    quiet = option("--quiet", "-q", is_flag=True, help="Print no progress and no summary.")
    verbose = option("--verbose", "-v", is_flag=True, help="List all findings, and the roles of sessions with errors.")
    codes = fail_on("instead of for skipped sessions and lines")
    progress = option(
        "--progress",
        type=click.Choice(["auto", "json"]),
        default="auto",
        show_default=True,
        help="Progress as a bar on a terminal and a line every 30 s elsewhere (auto), or as JSON lines (json).",
    )
    return as_json(quiet(verbose(progress(codes(run)))))


def watch_of(values: dict[str, Any]) -> Watch:
    """How a run shows its progress."""
    from chatsquash.conversion.progress import Watch

    if is_typed("quiet") and is_typed("verbose"):
        raise click.UsageError("--verbose has no effect with --quiet: use only one of them.")
    if is_typed("quiet") and is_typed("progress"):
        raise click.UsageError(f"--progress {values['progress']} has no effect with --quiet: use only one of them.")
    return Watch(quiet=values["quiet"], verbose=values["verbose"], as_json=values["progress"] == "json")


def print_summary(done: Any, values: dict[str, Any], complete: bool | None = None) -> int:
    """Say what a run did; its exit code."""
    from chatsquash.core.text import printable_json

    if values["as_json"]:
        with tolerate_closed_pipe():
            click.echo(printable_json(done.as_json(), indent=True))
    elif not values["quiet"]:
        print_overview(done.overview(), verbose=values["verbose"])
    is_complete = done.complete if complete is None else complete
    return exits.code(done, values["fail_on"], is_complete=is_complete, is_shard=complete is not None)


def write_report(output: str, *, quiet: bool = False) -> None:
    """Write the page of a result, and say where it is."""
    from chatsquash.conversion.progress import Bar
    from chatsquash.core.text import escape
    from chatsquash.pages.report import report as run

    with Bar(quiet=quiet) as bar:
        page = run(output, bar.observe)
    if not quiet:
        with tolerate_closed_pipe():
            click.echo(f"report: {escape(str(page))}", err=True)


SHARD_OPTIONS = (
    *("output", "shard", "full", "workers", "anonymize_key"),
    *("quiet", "verbose", "as_json", "fail_on", "progress"),
)
"""What may stand beside ``--shard``: the listing has the rest."""


def where_of(values: dict[str, Any]) -> Where:
    """Where a conversion runs; what is typed beside that and has no effect there is refused."""
    from chatsquash.conversion.engines import Where
    from chatsquash.core.options import list_options

    where = Where(**{each.name: values[each.name] for each in list_options(Where)})
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


def options_of(values: dict[str, Any], *, makes_key: bool = True) -> Options:
    """The options of ``convert``; the key, and what files hold, are their names until it is known what is needed.

    Without ``makes_key`` there is no key where none is named.
    """
    from dataclasses import replace

    from chatsquash.conversion.complete_options import file_contents
    from chatsquash.core.options import Options, list_options
    from chatsquash.core.platform import cores
    from chatsquash.dataset.option_rules import refuse_invalid_values
    from chatsquash.redaction.pseudonyms import load_key

    for each in list_options():
        if each.secret or each.content:
            values[each.name] = values[each.name] or None  # no name is none
    refuse_replacing(values)
    _pass_over_alias(values)
    if values.get("trainer"):
        values.update(_for_mask(values))
        _set_for_trainer(values)
    options = Options(**{each.name: values[each.name] for each in list_options() if each.name in values})
    options = without_idle(_with_shorthands(options, values))
    group_by = _group_by(options.group_by) if values["single_file"] else options.group_by
    options = _with_kinds(options)
    needs_key = options.has_key and (makes_key or values["anonymize_key"])
    key = load_key(values["anonymize_key"]) if needs_key else None
    complete = replace(
        options, group_by=group_by, anonymize_key=key, workers=options.workers or cores(), **file_contents(options)
    )
    refuse_invalid_values(complete)
    if complete.folder:
        refuse_idle(["group_by", "single_file"], "on the files of a dataset folder")
    return complete


def _shorthands(values: dict[str, Any]) -> list[str]:
    """The shorthands that the user gave."""
    from chatsquash.core.shorthands import SHORTHANDS

    return [name for name in SHORTHANDS if values.get(name)]


def _for_mask(values: dict[str, Any]) -> dict[str, Any]:
    """What shorthands set by which the mask of a trainer is chosen."""
    from chatsquash.core.shorthands import SHORTHANDS

    options = {each: value for name in _shorthands(values) for each, value in SHORTHANDS[name].options.items()}
    deciding = options.keys() & {"conversations", "samples"}
    return {name: options[name] for name in deciding if not is_typed(name)}


def _with_shorthands(options: Options, values: dict[str, Any]) -> Options:
    """The options with what shorthands set, which is said unless ``--quiet`` is given."""
    from chatsquash.core.options import list_options
    from chatsquash.core.shorthands import expand

    names = _shorthands(values)
    if not names:
        return options
    expanded = expand(options, names, {each.name for each in list_options() if is_typed(each.name)})
    if not values.get("quiet"):
        print_options(*expanded.lines)
    return expanded.options


def _set_for_trainer(values: dict[str, Any]) -> None:
    """Set the options of ``--for`` that the user did not give, and name both."""
    from chatsquash.core.options import list_options
    from chatsquash.dataset import trainers

    given = {name for name in values if is_given(name)}
    chosen = trainers.settings(values["trainer"], values, given)
    own = trainers.settings(values["trainer"], values, ()).keys() & given
    values.update(chosen)
    if values.get("quiet"):
        return
    flags = {each.name: each.flag for each in list_options()}

    def spelled(names: Iterable[str]) -> str:
        return " ".join(flags[each] if values[each] is True else f"{flags[each]} {values[each]}" for each in names)

    kept = f"; as given: {spelled(sorted(own))}" if own else ""
    print_options(f"--for {trainers.parse(values['trainer'])[0]} sets {spelled(chosen) or 'nothing'}{kept}")


def _with_kinds(options: Options) -> Options:
    """The options with what the kinds of ``--redact`` say of others."""
    from chatsquash.redaction.requests import parts, with_kinds

    kinds, _ = parts(options.redact)
    if kinds == "none" and is_typed("anonymize") and options.anonymize:
        raise click.UsageError("--redact none has no effect with --anonymize: use only one of them.")
    if kinds and "emails" in kinds.split(",") and not options.anonymize:
        raise click.UsageError("--redact emails has no effect with --no-anonymize: use only one of them.")
    return with_kinds(options)


def _pass_over_alias(values: dict[str, Any]) -> None:
    """Of two options on duplicates, one that is typed wins over the other's variable."""
    both = "duplicates", "drop_duplicates"
    if any(map(is_typed, both)):
        values.update({name: None for name in both if not is_typed(name)})


def shard_options(values: dict[str, Any]) -> Options:
    """The options of a shard that no listing has."""
    from chatsquash.core.options import Options
    from chatsquash.core.platform import cores
    from chatsquash.redaction.pseudonyms import load_key

    key = load_key(values["anonymize_key"]) if values["anonymize_key"] else None
    return Options(anonymize_key=key, full=values["full"], workers=values["workers"] or cores())


def _group_by(group_by: GroupBy) -> GroupBy:
    """The grouping beside ``--single-file``; what stands on the command line wins over a variable."""
    if group_by == "none" or not is_typed("group_by"):
        return "none"
    if is_typed("single_file"):
        raise click.UsageError(f"--group-by {group_by} has no effect with --single-file: use only one of them.")
    return group_by
