"""The options of ``chatsquash archive`` that install and remove a timer."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from chatsquash.cli.archive._common import secret
from chatsquash.cli.click_options import option
from chatsquash.core.errors import UsageError

_Run = TypeVar("_Run", bound="Callable[..., Any]")
_EVERY = ("hourly", "daily", "weekly")
_LINGER = "loginctl enable-linger keeps it running while you are logged out"


class CopyCommand(NamedTuple):
    """The logs and agents that a timer copies."""

    logs: tuple[str, ...]
    agents: tuple[str, ...]
    store: str
    machine: str | None
    key_file: str | None

    def arguments(self) -> list[str]:
        """Return the arguments of ``chatsquash``, with absolute paths."""
        return ["archive", *map(_absolute, self.logs), *self._options()]

    def _options(self) -> Iterator[str]:
        for agent in self.agents:
            yield from ("--agent", agent)
        yield from ("--to", absolute_store(self.store))
        if self.machine is not None:
            yield from ("--machine", self.machine)
        if self.key_file is not None:
            yield from ("--key-file", _absolute(self.key_file))


class TimerOptions(NamedTuple):
    """The values of the options."""

    install: bool
    every: str | None
    remove: bool
    yes: bool

    def check(self) -> None:
        """Refuse options that have no effect without ``--install``."""
        for flag, value in (("--every", self.every), ("--yes", self.yes)):
            if value and not self.install:
                raise click.UsageError(f"{flag}: requires --install, which runs the command regularly")

    def install_timer(self, command: CopyCommand) -> None:
        """Show the units of a timer, ask, and write them; without systemd, print a line for cron."""
        from chatsquash.archive import timer
        from chatsquash.storage.archive.repository import open_archive

        new = timer.new_timer(command.arguments(), absolute_store(command.store), self.every or _EVERY[0])
        if not timer.has_systemd():
            click.echo("systemd does not answer here; add this line with crontab -e:", err=True)
            click.echo(timer.cron_line(new))
            return
        _show(f"{path}:\n{content}" for path, content in timer.units(new).items())
        if self._agrees("Write these files and start the timer?"):
            open_archive(command.store, secret(command.key_file), is_new=True).index.close()
            timer.install(new)
            click.echo(f"{new.name}.timer runs {new.schedule}; {_LINGER}", err=True)

    def remove_timers(self, store: str | None, *, is_alone: bool) -> None:
        """Show the units of an archive, or of all archives, ask, and remove them."""
        from chatsquash.archive import timer

        if self.install or self.every or not is_alone:
            raise click.UsageError("--remove: only --to and --yes can be combined with it")
        units = timer.installed(absolute_store(store) if store is not None else None)
        if not units:
            raise UsageError("--remove: no timer found; a line for cron is removed with crontab -e")
        _show(map(str, units))
        if self._agrees("Stop and remove these?"):
            timer.remove(units)

    def _agrees(self, question: str) -> bool:
        """Ask; raise ``UsageError`` without a terminal."""
        if self.yes:
            return True
        if not (sys.stdin and sys.stdin.isatty()):
            raise click.UsageError("this requires confirmation, but there is no terminal; add --yes")
        if click.confirm(question, err=True):
            return True
        raise click.exceptions.Exit(1)


def timer_options(run: _Run) -> _Run:
    """Add the options for a timer."""
    options = (
        option("--install", is_flag=True, help="Run this command regularly: show a systemd user timer and install it."),
        option(
            "--every", type=click.Choice(_EVERY), metavar="PERIOD", help="Timer: hourly (default), daily or weekly."
        ),
        option("--remove", is_flag=True, help="Remove the timer of an archive, or without --to, all timers."),
        option("--yes", "-y", is_flag=True, help="Install or remove without asking."),
    )
    for each in reversed(options):
        run = each(run)
    return run


def absolute_store(store: str) -> str:
    """Return a path as an absolute one; URLs are not changed."""
    from chatsquash.storage import is_remote

    return store.rstrip("/") if is_remote(store) else _absolute(store)


def _absolute(path: str) -> str:
    return os.path.abspath(Path(path).expanduser())  # noqa: PTH100 - links in it are not resolved


def _show(texts: Any) -> None:
    from chatsquash.core.text import printable

    click.echo("\n".join(map(printable, texts)))
