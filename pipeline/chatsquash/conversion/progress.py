"""The progress of a conversion: a bar on terminals, otherwise lines of text or JSON."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Self

import click

from chatsquash.core.log import Log
from chatsquash.core.outcome import Outcome
from chatsquash.core.text import escape, pluralize

Observer = Callable[[Log, Outcome, int], None]
"""Called after each session, in order, with its log, its outcome and the bytes of all logs."""
_SECOND, _HALF_MINUTE = 1, 30
"""Seconds between two progress lines: for programs, and for people who read them later."""
_MIN_RATE = 1e6
"""Minimum rate that is shown, in bytes per second."""


class Bar:
    """A progress bar of bytes on a terminal."""

    def __init__(self, *, quiet: bool) -> None:
        self._bar: Any = None
        self._is_shown = not quiet and bool(sys.stderr) and sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def observe(self, size: int, total: int) -> None:
        """Advance the bar by ``size`` of ``total`` bytes."""
        if self._is_shown and self._bar is None:
            from tqdm import tqdm

            tqdm.monitor_interval = 0  # no thread, since worker processes are forked
            self._bar = tqdm(total=total, unit="B", unit_scale=True, unit_divisor=1000, file=sys.stderr, leave=False)
        if self._bar is not None:
            self._bar.update(size)

    def note(self, text: str) -> None:
        """Set the text after the bar, if there is one."""
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)

    def begin(self) -> None:
        """Start a new bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        if self._bar is not None:
            self._bar.write(line, file=sys.stderr)
        else:
            click.echo(line, err=True)


class Watch(Bar):
    """Shows the progress of a conversion and the tracebacks of sessions with errors.

    Progress is a bar on a terminal and a line every half minute otherwise; as JSON, one line per second.
    """

    needs_records = False
    """Whether the observer needs the lines of records, which take time to read again."""

    def __init__(
        self, *, quiet: bool, verbose: bool, as_json: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(quiet=quiet or as_json)
        self._verbose, self._as_json, self._clock = verbose, as_json, clock
        self._prints_lines = not quiet and not self._is_shown
        self._began = self._last_report = clock()
        self._size = self._total = self._sessions = self._read_size = 0
        self._findings: Counter[str] = Counter()
        self.observer: Observer | None = self if verbose or not quiet else None
        """The observer for ``convert``; ``None`` if nothing is to be shown."""

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        if self._as_json and self._prints_lines and self._sessions:
            self.say(self._line())

    def read(self, log: Log, total: int) -> None:
        """Count a log that was read to find its sessions, and show the progress."""
        self._read_size += log.size
        if self._is_shown:
            self.observe(log.size, total)
            self.note("finding sessions")
        if self._is_due():
            if self._as_json:
                seconds = round(self._clock() - self._began, 1)
                self.say(json.dumps({"bytes_read": self._read_size, "of": total, "seconds": seconds}))
            else:
                self.say(f"{self._read_size / 1e6:,.1f} of {total / 1e6:,.1f} MB read to find sessions")

    def __call__(self, log: Log, outcome: Outcome, total: int) -> None:
        """Count a finished session, and show the progress."""
        if self._read_size:
            self.begin()
            self._read_size, self._began = 0, self._clock()
        self._size, self._total, self._sessions = self._size + log.size, total, self._sessions + 1
        for finding in outcome.findings:
            self._findings[finding.severity] += 1
        if self._is_shown:
            self.observe(log.size, total)
            self.note(self._counts())
        if self._is_due():
            self.say(self._line())
        if self._verbose and outcome.report.trace:
            self.say(f"{escape(log.display_path)}: {escape(outcome.report.trace)}")

    def _is_due(self) -> bool:
        """Return whether to print a line, which restarts the time until the next one."""
        if not self._prints_lines or self._clock() - self._last_report < (_SECOND if self._as_json else _HALF_MINUTE):
            return False
        self._last_report = self._clock()
        return True

    def _counts(self) -> str:
        graves = (pluralize(self._findings[each], each) for each in ("error", "warning") if self._findings[each])
        return ", ".join([pluralize(self._sessions, "session"), *graves])

    def _line(self) -> str:
        seconds = self._clock() - self._began
        rate = self._size / seconds if seconds else 0.0
        remaining = (self._total - self._size) / rate if rate else None
        if self._as_json:
            members = {
                "bytes": self._size,
                "of": self._total,
                "sessions": self._sessions,
                "seconds": round(seconds, 1),
                "bytes_per_second": round(rate),
                "seconds_left": None if remaining is None else round(max(remaining, 0.0), 1),
                "findings": dict(sorted(self._findings.items())),
            }
            return json.dumps(members)
        ahead = "" if remaining is None else f", {max(remaining, 0.0):,.0f} s left"
        done = f"{self._size / 1e6:,.1f} of {self._total / 1e6:,.1f} MB"
        speed = f", {rate / 1e6:,.0f} MB/s" if rate >= _MIN_RATE else ""
        return f"{done}{speed}{ahead}: {self._counts()}"
