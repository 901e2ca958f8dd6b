"""What is shown while a conversion runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Self

import click

from chatsquash.log import Log
from chatsquash.outcome import Outcome
from chatsquash.text import escaped

Observer = Callable[[Log, Outcome, int], None]
"""Told each session's log and outcome in order, and the bytes of all logs."""


class Bar:
    """A bar of bytes on a terminal."""

    def __init__(self, *, quiet: bool) -> None:
        self._bar: Any = None
        self._wanted = not quiet and bool(sys.stderr) and sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def observe(self, size: int, total: int) -> None:
        """So many bytes more are done, of so many in all."""
        if self._wanted and self._bar is None:
            from tqdm import tqdm

            tqdm.monitor_interval = 0  # no thread beside worker processes
            self._bar = tqdm(total=total, unit="B", unit_scale=True, unit_divisor=1000, file=sys.stderr, leave=False)
        if self._bar is not None:
            self._bar.update(size)

    def note(self, text: str) -> None:
        """What stands behind the bar, if there is one."""
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)

    def begin(self) -> None:
        """Begin another bar, from nothing."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def say(self, line: str) -> None:
        """A line beside the bar."""
        if self._bar is not None:
            self._bar.write(line, file=sys.stderr)
        else:
            click.echo(line, err=True)


class Watch(Bar):
    """Progress of a conversion, and the traces of sessions with errors."""

    def __init__(self, *, quiet: bool, verbose: bool) -> None:
        super().__init__(quiet=quiet)
        self._verbose = verbose
        self.observer: Observer | None = self._observe if self._wanted or verbose else None
        """What to tell each session's outcome to; ``None`` where nothing is to be shown."""

    def _observe(self, log: Log, outcome: Outcome, total: int) -> None:
        self.observe(log.size, total)
        if self._verbose and outcome.trace:
            self.say(f"{escaped(log.shown)}: {escaped(outcome.trace)}")
