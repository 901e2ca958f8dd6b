"""The browser, and two runs with their reports and viewers, which tests only read."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from chatsquash import Options, convert
from chatsquash.core.text import pluralize
from chatsquash.pages.report import report
from tests import hostile_logs
from tests.web.browser import ROOT, launched, watched, why_not

_URL = re.compile(r"(http://127\.0\.0\.1:\d+/)\?token=\S+")
TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"


class Run(NamedTuple):
    """A result that is shown."""

    report: str
    """The URL of its report."""
    url: str
    """The first URL of its viewer."""
    base: str
    """The same without the token."""


@contextmanager
def served(*arguments, cwd=None):
    """The command, and the URL that it prints, also without its token."""
    command = [sys.executable, "-m", "chatsquash", "view", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=cwd) as process:
        try:
            found = None
            while found is None:
                found = _URL.search(process.stdout.readline())
            yield found[0], found[1]
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)


@contextmanager
def shown(folder: Path, options: Options):
    convert(folder / "logs", folder / "out", options)
    (folder / "model.jinja").write_text(TEMPLATE, encoding="utf-8")
    page = report(folder / "out").as_uri()
    with served(folder / "out", "--template", folder / "model.jinja") as (url, base):
        yield Run(page, url, base)


def pytest_terminal_summary(terminalreporter):
    """Say in one line what is skipped, and why, since all of it is for want of one thing."""
    skipped = (each for each in terminalreporter.stats.get("skipped", ()) if each.nodeid.startswith("tests/web/"))
    for why, count in Counter(each.longrepr[2].removeprefix("Skipped: ") for each in skipped).items():
        terminalreporter.write_line(f"{pluralize(count, 'test')} skipped: {why}")


@pytest.fixture(scope="session")
def browser():
    if why := why_not():
        pytest.skip(why)
    with launched() as made:
        yield made


@pytest.fixture(scope="session")
def samples(browser, tmp_path_factory):
    """The sample run, with the pair that its logs hold."""
    folder = tmp_path_factory.mktemp("samples")
    shutil.copytree(ROOT / "sample_logs", folder / "logs")
    with shown(folder, Options(anonymize=False, format="jsonl", pairs="logged")) as run:
        yield run


@pytest.fixture(scope="session")
def hostile(browser, tmp_path_factory):
    """The hostile run."""
    folder = tmp_path_factory.mktemp("hostile")
    hostile_logs.write(folder / "logs")
    with shown(folder, hostile_logs.OPTIONS) as run:
        yield run


@pytest.fixture(params=["samples", "hostile"])
def either(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def reports(browser):
    """Opens the report of a run, and holds that nothing went wrong there."""

    @contextmanager
    def opened(run, **options):
        with watched(browser, run.report, **options) as watch:
            watch.page.goto(run.report)
            yield watch.page

    return opened


@pytest.fixture
def viewers(browser):
    """Opens the viewer of a run at its list, and holds that nothing went wrong there."""

    @contextmanager
    def opened(run, **options):
        with watched(browser, run.base, **options) as watch:
            watch.page.goto(run.url)
            watch.page.wait_for_url(run.base)
            watch.page.wait_for_load_state()
            yield watch.page

    return opened
