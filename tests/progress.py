"""The progress of a run of many tests: one line for each tenth, instead of a dot for each test."""

from __future__ import annotations

import time

import pytest

MANY = 1000
"""Runs of fewer tests print a dot for each."""


class Progress:
    """Prints how many tests are done, and after how many seconds."""

    def __init__(self) -> None:
        self.session: pytest.Session | None = None
        self.done = 0
        self.started = time.monotonic()

    def total(self) -> int:
        return self.session.testscollected if self.session else 0

    def pytest_sessionstart(self, session):
        self.session = session

    def pytest_report_teststatus(self, report):
        if self.total() >= MANY and report.outcome in ("passed", "skipped") and not hasattr(report, "wasxfail"):
            counted = report.skipped or report.when == "call"
            return (report.outcome if counted else ""), "", report.outcome.upper()
        return None

    def pytest_runtest_logfinish(self, nodeid):
        self.done += 1
        total = self.total()
        tenth = 10 * self.done // total if total >= MANY else 0
        if tenth > 10 * (self.done - 1) // max(total, 1) and total >= MANY:
            seconds = time.monotonic() - self.started
            reporter = self.session.config.pluginmanager.getplugin("terminalreporter")
            reporter.ensure_newline()
            reporter.write_line(f"{10 * tenth:3} %  {self.done:,} of {total:,} tests in {seconds:.0f} s")
