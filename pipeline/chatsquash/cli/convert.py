"""``chatsquash convert``: session logs into a dataset."""

from __future__ import annotations

from typing import Any

import click

from chatsquash.cli import exits
from chatsquash.cli.click_options import KnownName, argument, engine_options, option, options, shorthands
from chatsquash.cli.command import Command
from chatsquash.cli.command_line import refuse_beside
from chatsquash.cli.conversion import (
    DECIDING,
    SHARD_OPTIONS,
    TAKING,
    options_of,
    output_option,
    print_summary,
    run_output,
    shard_options,
    single_file,
    watch_of,
    where_of,
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
def convert(logs: tuple[str, ...], *, agents: tuple[str, ...], shard: str | None, report: bool, **given: Any) -> int:
    """Convert session logs (folders, files, globs or URLs) into a dataset, one record per session.

    Exit codes: 0 if everything was written, 3 if sessions, lines or most replies of a log were skipped or there is no
    record, 1 if the run was stopped by an error, 2 if it could not start.
    """
    from chatsquash.conversion.engines import engine
    from chatsquash.core.platform import collect_less

    collect_less()
    exits.refuse_unknown(given["fail_on"])
    if shard is not None:
        return _convert_shard(shard, logs, given)
    if agents:
        logs = (*logs, *_agent_paths(agents))
    if not logs:
        raise click.UsageError("LOGS is missing: name folders, files, globs or URLs, as in chatsquash convert logs.")
    where = where_of(given)
    runs = engine(where.engine)
    if report and not where.merge:
        raise click.UsageError("--report has no effect with --no-merge: use only one of them.")
    if report:
        from chatsquash.pages.report import refuse

        refuse(given["output"])
    converting = options_of(given, makes_key=runs.MAKES_KEY)
    with watch_of(given) as watch:
        done = runs.convert(logs, given["output"], converting, where, watch)
    code = print_summary(done, given)
    if report:
        write_report(given["output"], quiet=given["quiet"])
    return code


def _agent_paths(agents: tuple[str, ...]) -> list[str]:
    from chatsquash.inspect.agents import paths  # which few runs need

    return paths(agents)


def _convert_shard(shard: str, logs: tuple[str, ...], given: dict[str, Any]) -> int:
    from chatsquash.conversion.shards import place
    from chatsquash.conversion.shards.convert import convert_shard
    from chatsquash.dataset.store import place_of

    wanted = place.parse_shard(shard)
    refuse_beside("--shard", SHARD_OPTIONS, logs)
    with watch_of(given) as watch:
        done = convert_shard(place_of(given["output"]), wanted, shard_options(given), watch.observer)
    return print_summary(done, given, done.marker.complete)
