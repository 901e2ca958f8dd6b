"""Shared parts of convert, shards, merge and report: click options, the run's options, the summary and the report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from chatsquash.cli import exits
from chatsquash.cli.click_options import option
from chatsquash.cli.command import is_given, is_typed, refuse_idle, refuse_replacing, without_idle
from chatsquash.cli.exits import fail_on, tolerate_closed_pipe
from chatsquash.core.lazy import LazyModule

if TYPE_CHECKING:
    from chatsquash.cli import printing
    from chatsquash.conversion.engines import EngineSettings
    from chatsquash.conversion.progress import Watch
    from chatsquash.core.options import GroupBy, Options
else:
    printing = LazyModule("chatsquash.cli.printing")

output_option = option(
    "--output",
    "-o",
    default="out",
    show_default=True,
    metavar="DIR",
    help="Folder or URL for records and reports.",
)
single_file = option("--single-file", is_flag=True, help="Write a single file (same as --group-by none).")
DECIDING = (
    *("cleaning", "sessions", "sampling", "shape", "supplied", "reading"),
    *("addresses", "privacy", "checks", "grouping"),
)
TAKING = ("dataset", "filters", "alike", "reports", "paths", "days", "links", "bounds")


def run_output(run: Any) -> Any:
    """Add the options for the output of a run: summary, progress and exit code."""
    as_json = option("--json", "as_json", is_flag=True, help="Print the summary as JSON on standard output.")
    quiet = option("--quiet", "-q", is_flag=True, help="Do not print progress or a summary.")
    verbose = option(
        "--verbose", "-v", is_flag=True, help="List all findings, and the message roles in sessions with errors."
    )
    codes = fail_on("and not for skipped sessions and lines")
    progress = option(
        "--progress",
        type=click.Choice(["auto", "json"]),
        default="auto",
        show_default=True,
        help="Show progress as a bar on a terminal and a line every 30 s elsewhere (auto), or as JSON lines (json).",
    )
    return as_json(quiet(verbose(progress(codes(run)))))


def make_watch(values: dict[str, Any]) -> Watch:
    """Return the progress display that the options select."""
    from chatsquash.conversion.progress import Watch

    if is_typed("quiet") and is_typed("verbose"):
        raise click.UsageError("--verbose has no effect with --quiet; use only one of them")
    if is_typed("quiet") and is_typed("progress"):
        raise click.UsageError(f"--progress {values['progress']} has no effect with --quiet; use only one of them")
    return Watch(quiet=values["quiet"], verbose=values["verbose"], as_json=values["progress"] == "json")


def print_summary(done: Any, values: dict[str, Any], complete: bool | None = None) -> int:
    """Print the summary of a run; return its exit code."""
    from chatsquash.core.text import printable_json

    if values["as_json"]:
        with tolerate_closed_pipe():
            click.echo(printable_json(done.as_json(), indent=True))
    elif not values["quiet"]:
        printing.print_overview(done.overview(), verbose=values["verbose"])
    is_complete = done.complete if complete is None else complete
    return exits.code(done, values["fail_on"], is_complete=is_complete, is_shard=complete is not None)


def write_report(output: str, *, quiet: bool = False) -> None:
    """Write the report of a result, and print its path."""
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
"""Options allowed with ``--shard``; the listing of shards determines the others."""


def engine_settings(values: dict[str, Any]) -> EngineSettings:
    """Return the settings of the engine; raise ``UsageError`` for typed options that have no effect with it."""
    from chatsquash.conversion.engines import EngineSettings
    from chatsquash.core.options import list_options

    settings = EngineSettings(**{each.name: values[each.name] for each in list_options(EngineSettings)})
    engine = f"--engine {settings.engine}"
    if settings.engine == "local":
        idle = {"address": engine, "merge": engine}
    else:
        idle = {"resume": f"{engine}, which always continues from the existing output"}
        if settings.address:
            idle["workers"] = f"--address {settings.address} because the cluster determines the number of workers"
    for name, why in idle.items():
        refuse_idle([name], f"with {why}")
    return settings


def build_options(values: dict[str, Any], *, makes_key: bool = True) -> Options:
    """Build the options of a conversion: resolve defaults and shorthands, and load the key and the other files.

    Args:
        values: Parameters of the command by name.
        makes_key: Whether to use the default key file, and create it if needed, when the user named none.

    Raises:
        UsageError: Options contradict each other or have no effect, or a file cannot be read.
    """
    from dataclasses import replace

    from chatsquash.conversion.complete_options import file_contents
    from chatsquash.core.options import Options, list_options
    from chatsquash.core.platform import cores
    from chatsquash.dataset.option_rules import refuse_invalid_values
    from chatsquash.redaction.pseudonyms import load_key

    for each in list_options():
        if each.secret or each.content:
            values[each.name] = values[each.name] or None  # an empty text means that no file is given
    refuse_replacing(values)
    _ignore_alias_variable(values)
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
    """Return the shorthands that the user set."""
    from chatsquash.core.options import SHORTHANDS

    return [name for name in SHORTHANDS if values.get(name)]


def _for_mask(values: dict[str, Any]) -> dict[str, Any]:
    """Return the options set by shorthands on which the mask of a trainer depends."""
    from chatsquash.core.options import SHORTHANDS

    options = {each: value for name in _shorthands(values) for each, value in SHORTHANDS[name].options.items()}
    names = options.keys() & {"conversations", "samples"}
    return {name: options[name] for name in names if not is_typed(name)}


def _with_shorthands(options: Options, values: dict[str, Any]) -> Options:
    """Return the options with shorthands expanded; print the expansion unless ``--quiet`` is set."""
    names = _shorthands(values)
    if not names:
        return options
    from chatsquash.core.options import list_options
    from chatsquash.core.shorthands import expand

    expanded = expand(options, names, {each.name for each in list_options() if is_typed(each.name)})
    if not values.get("quiet"):
        printing.print_options(*expanded.lines)
    return expanded.options


def _set_for_trainer(values: dict[str, Any]) -> None:
    """Set the options for the trainer of ``--for`` that the user did not set, and print both."""
    from chatsquash.core.options import list_options
    from chatsquash.dataset import trainers

    explicit = {name for name in values if is_given(name)}
    settings = trainers.settings(values["trainer"], values, explicit)
    own = trainers.settings(values["trainer"], values, ()).keys() & explicit
    values.update(settings)
    if values.get("quiet"):
        return
    flags = {each.name: each.flag for each in list_options()}

    def spelled(names: Iterable[str]) -> str:
        return " ".join(flags[each] if values[each] is True else f"{flags[each]} {values[each]}" for each in names)

    unchanged = f"; set by you: {spelled(sorted(own))}" if own else ""
    printing.print_options(
        f"--for {trainers.parse(values['trainer'])[0]} sets {spelled(settings) or 'nothing'}{unchanged}"
    )


def _with_kinds(options: Options) -> Options:
    """Return the options with the effects of ``--redact`` kinds on other options."""
    from chatsquash.redaction.requests import parts, with_kinds

    kinds, _ = parts(options.redact)
    if kinds == "none" and is_typed("anonymize") and options.anonymize:
        raise click.UsageError("--redact none has no effect with --anonymize; use only one of them")
    if kinds and "emails" in kinds.split(",") and not options.anonymize:
        raise click.UsageError("--redact emails has no effect with --no-anonymize; use only one of them")
    return with_kinds(options)


def _ignore_alias_variable(values: dict[str, Any]) -> None:
    """Ignore the variable of one option on duplicates if the other one is on the command line."""
    both = "duplicates", "drop_duplicates"
    if any(map(is_typed, both)):
        values.update({name: None for name in both if not is_typed(name)})


def shard_options(values: dict[str, Any]) -> Options:
    """Return the options of a shard that the listing does not determine."""
    from chatsquash.core.options import Options
    from chatsquash.core.platform import cores
    from chatsquash.redaction.pseudonyms import load_key

    key = load_key(values["anonymize_key"]) if values["anonymize_key"] else None
    return Options(anonymize_key=key, full=values["full"], workers=values["workers"] or cores())


def _group_by(group_by: GroupBy) -> GroupBy:
    """Return the grouping with ``--single-file``; the command line takes precedence over variables."""
    if group_by == "none" or not is_typed("group_by"):
        return "none"
    if is_typed("single_file"):
        raise click.UsageError(f"--group-by {group_by} has no effect with --single-file; use only one of them")
    return group_by
