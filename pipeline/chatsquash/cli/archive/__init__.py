"""``chatsquash archive``: copy logs into an archive; its subcommands are the modules of this package."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from chatsquash.cli.archive._common import Duration, key_option, print_report, secret
from chatsquash.cli.archive._timer import CopyCommand, TimerOptions, timer_options
from chatsquash.cli.click_options import argument, option
from chatsquash.cli.command import Command

SUBCOMMANDS: dict[str, str] = {
    "restore": "Write files of an archive to a folder.",
    "ls": "List the files of an archive.",
    "verify": "Compare every byte of an archive with its hash.",
    "prune": "Remove old snapshots, and files deleted long ago.",
    "status": "List sessions that agents delete soon, and those archived.",
}
"""The subcommands with their descriptions. The module of a subcommand has its name."""
_WIDEST = 8


class _Archive(Command):
    """A command with subcommands; any other first argument is a log."""

    @property
    def commands(self) -> dict[str, click.Command]:
        """All subcommands, which only documentation needs."""
        return {name: subcommand(name) for name in SUBCOMMANDS}

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Create the context of the subcommand if the first argument is one."""
        if args and args[0] in SUBCOMMANDS:
            return subcommand(args[0]).make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options and the subcommands for ``--help``."""
        super().format_options(ctx, formatter)
        with formatter.section("Subcommands"):
            formatter.write_dl([(name.ljust(_WIDEST), text) for name, text in SUBCOMMANDS.items()])


def subcommand(name: str) -> click.Command:
    """Return a subcommand, importing its module."""
    command: click.Command = getattr(import_module(f"chatsquash.cli.archive.{name}"), name)
    command.short_help = SUBCOMMANDS[name]
    return command


@click.command(cls=_Archive, epilog="Example: chatsquash archive --agent all --to ~/archive")
@argument("logs", nargs=-1)
@option("--agent", "agents", multiple=True, metavar="NAME|all", help="Also copy the files of this agent (repeatable).")
@option("--to", "store", metavar="STORE", help="Archive: a folder or a URL (s3://, gs://, az://).")
@option("--machine", metavar="NAME", help="Name of this machine in the archive (default: USER@HOST).")
@option("--watch", type=Duration(), metavar="PERIOD", help="Copy repeatedly with this pause, as in 5m, until stopped.")
@key_option
@timer_options
@option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def archive(  # noqa: PLR0913 - one parameter per option
    logs: tuple[str, ...],
    *,
    agents: tuple[str, ...],
    store: str | None,
    machine: str | None,
    watch: int | None,
    key_file: str | None,
    as_json: bool,
    **timer: Any,
) -> None:
    """Copy session files and gateway logs into an archive before their owners delete them.

    LOGS are files and folders. They are only read; links in them are not followed. Files that were deleted stay in the
    archive. A folder with the name of a subcommand is written as ./NAME.
    """
    from chatsquash.archive.copying import copy, this_machine
    from chatsquash.archive.selection import sources
    from chatsquash.cli.archive._watching import watch_sources
    from chatsquash.storage.archive.repository import open_archive

    schedule = TimerOptions(**timer)
    if schedule.remove:
        schedule.remove_timers(store, is_alone=not (logs or agents or machine or watch or as_json))
        return
    if store is None:
        raise click.UsageError("missing option '--to': the folder or URL of the archive")
    if not logs and not agents:
        raise click.UsageError("nothing to copy: pass LOGS, --agent NAME or --agent all")
    names = sources(logs, agents)
    schedule.check()
    if watch and schedule.install:
        raise click.UsageError("--watch: cannot be combined with --install, which runs the command regularly itself")
    if schedule.install:
        schedule.install_timer(CopyCommand(logs, agents, store, machine, key_file))
        return
    opened_archive = open_archive(store, secret(key_file), is_new=True)
    if watch:
        watch_sources(opened_archive, machine or this_machine(), names, watch)
    print_report(copy(opened_archive, machine or this_machine(), names), as_json=as_json)
