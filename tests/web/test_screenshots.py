"""The pictures of docs/, of the sample logs as the README converts them; SCREENSHOTS names the folder to write them to."""

import os
import shutil
from contextlib import chdir
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.pages.report import report
from tests.conftest import KEY
from tests.web.browser import ROOT
from tests.web.conftest import Run, served

LARGEST = 150_000
SIZE = {"width": 1120, "height": 846}


@pytest.fixture(scope="module")
def documented(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("documented")
    shutil.copytree(ROOT / "sample_logs", folder / "sample_logs")
    with chdir(folder):
        convert("sample_logs", "out", Options(anonymize_key=KEY.encode()))
        page = report(Path("out")).absolute().as_uri()
    with served("out", cwd=folder) as (url, base):
        yield Run(page, url, base)


@pytest.fixture
def take(tmp_path):
    """Takes a picture of a page, which is as large as that in docs/."""

    def taken(page, name):
        page.set_viewport_size(SIZE)
        page.mouse.move(0, 0)
        path = ROOT / (os.environ.get("SCREENSHOTS") or tmp_path) / name
        picture = page.screenshot(path=path, animations="disabled", caret="hide")
        there = (ROOT / "docs" / name).read_bytes()
        assert len(picture) < LARGEST
        assert picture[16:24] == there[16:24]  # width and height

    return taken


def test_the_report(documented, reports, take):
    with reports(documented) as page:
        take(page, "report.png")


def test_the_viewer(documented, viewers, take):
    with viewers(documented) as page:
        page.locator("tr", has_text="1768212345678901234").locator("a.title").click()
        page.wait_for_url("**/s/*")
        page.wait_for_load_state()
        page.locator("#m2 .logged").wait_for()
        page.set_viewport_size(SIZE)
        page.locator("#m2 .pair").first.evaluate(
            "each => each.querySelectorAll('details').forEach((fold) => { fold.open = true; })"
        )
        page.locator("#m1").evaluate("each => each.scrollIntoView()")
        take(page, "view.png")
