"""``chatsquash convert``: convert session logs into a dataset."""

from __future__ import annotations

from typing import Any

import click

from chatsquash.cli import exits
from chatsquash.cli.click_options import KnownName, argument, engine_options, option, options, shorthands
from chatsquash.cli.command import Command, refuse_with_shard
from chatsquash.cli.conversion import (
    DECIDING,
    SHARD_OPTIONS,
    TAKING,
    build_options,
    engine_settings,
    make_watch,
    output_option,
    print_summary,
    run_output,
    shard_options,
    single_file,
    write_report,
)


def _agents() -> tuple[str, ...]:
    from chatsquash.inspect.agents import known_agents  # which few runs need

    return known_agents()


@click.command(cls=Command, epilog="Example: chatsquash convert logs --preset hf --format parquet --redact secrets")
@argument("logs", nargs=-1, metavar="LOGS...")
@output_option
@option(
    "--agent",
    "agents",
    multiple=True,
    type=KnownName(_agents),
    metavar="NAME",
    help="Convert the sessions of this agent on this machine.",
)
@shorthands
@option("--shard", metavar="K/N", help="Convert shard K of the N that chatsquash shards listed. Takes no LOGS.")
@options(*DECIDING)
@single_file
@options(*TAKING, "run")
@option("--report", is_flag=True, help="Also write report.html, as chatsquash report does.")
@engine_options
@run_output
def convert(logs: tuple[str, ...], *, agents: tuple[str, ...], shard: str | None, report: bool, **values: Any) -> int:
    """Convert session logs (folders, files, globs or URLs) into a dataset, one record per session.

    Exit codes: 0 if everything was written, 3 if sessions, lines or most replies of a log were skipped or there is no
    record, 1 if the run was stopped by an error, 2 if it could not start.
    """
    from chatsquash.conversion.engines import engine
    from chatsquash.core.platform import collect_less

    collect_less()
    exits.refuse_unknown(values["fail_on"])
    if shard is not None:
        return _convert_shard(shard, logs, values)
    if agents:
        logs = (*logs, *_agent_paths(agents))
    if not logs:
        raise click.UsageError("LOGS is missing; pass folders, files, globs or URLs, as in chatsquash convert logs")
    settings = engine_settings(values)
    runs = engine(settings.engine)
    if report and not settings.merge:
        raise click.UsageError("--report has no effect with --no-merge; use only one of them")
    if report:
        from chatsquash.pages.report import refuse, refuse_tokens

        refuse(values["output"])
    converting = build_options(values, makes_key=runs.MAKES_KEY)
    if report:
        refuse_tokens(converting.samples)
    with make_watch(values) as watch:
        done = runs.convert(logs, values["output"], converting, settings, watch)
    code = print_summary(done, values)
    if report:
        write_report(values["output"], quiet=values["quiet"])
    return code


def _agent_paths(agents: tuple[str, ...]) -> list[str]:
    from chatsquash.inspect.agents import paths  # which few runs need

    return paths(agents)


def _convert_shard(shard: str, logs: tuple[str, ...], values: dict[str, Any]) -> int:
    from chatsquash.conversion.shards import place
    from chatsquash.conversion.shards.convert import convert_shard
    from chatsquash.dataset.store import place_of

    shard_id = place.parse_shard(shard)
    refuse_with_shard("--shard", SHARD_OPTIONS, logs)
    with make_watch(values) as watch:
        done = convert_shard(place_of(values["output"]), shard_id, shard_options(values), watch.observer)
    return print_summary(done, values, done.marker.complete)
