"""A report in Chromium: nothing of a log runs, nothing leaves the machine, and a reader gets everywhere."""

import os

import pytest

from chatsquash import Options, convert
from chatsquash.run.page.report import report
from tests.web import hostile
from tests.web.browser import ROOT, needs_browser, seen

pytestmark = needs_browser
SCREENSHOT = os.environ.get("SCREENSHOTS")


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    out = tmp_path_factory.mktemp("sample") / "out"
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        convert("sample_logs", out, Options(workers=2))
        page = report(out)
    finally:
        os.chdir(before)
    taken = [f"{SCREENSHOT}/report.png"] if SCREENSHOT else []
    return seen("report.mjs", str(page), "linkwalk", *taken)


@pytest.fixture(scope="module")
def hacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    convert(hostile.write(folder / "logs"), folder / "out", Options(workers=2))
    return seen("report.mjs", str(report(folder / "out")), "hacked")


@pytest.fixture(params=["sample", "hacked"])
def either(request):
    return request.getfixturevalue(request.param)


def test_nothing_is_wrong_and_nothing_leaves_the_machine(either):
    assert either["console"] == []
    assert {each.split(":")[0] for each in either["requests"]} == {"file"}
    assert len(set(either["requests"])) == 1


def test_no_script_of_a_log_runs(hacked):
    assert (hacked["hacked"], hacked["dialogs"], hacked["scripts"]) == ("undefined", 0, 1)
    assert hacked["title"].startswith("chatsquash report: ")


def test_findings_are_filtered_and_counted(sample):
    total = sample["count"].split(" of ")[1]
    assert sample["count"] == f"{total} of {total}"
    assert sample["errors"] == f"{sample['rows']} of {total}"
    assert 0 < sample["rows"] < int(total)
    assert sample["none"] == f"0 of {total}"


def test_search_finds_and_opens_what_is_folded(either):
    assert "place 1 of " in either["found"]
    assert either["hit"]["text"].lower() in ("linkwalk", "hacked")
    assert either["hit"]["visible"]
    assert either["hit"]["inside"]


def test_the_keyboard_alone_reaches_everything(either):
    assert either["keyboard"]["reached"] == either["keyboard"]["reachable"] > 50
    assert either["summary"]
    assert either["opened"]
    assert either["unfolded"]
    assert either["focused"] == "q"


def test_a_link_opens_what_is_folded(either):
    assert either["link"]


def test_axe_finds_nothing_serious(either):
    assert either["axe"] == []


def test_no_width_needs_scrolling_sideways(either):
    assert {name: width for name, width in either["widths"].items() if width > int(name.split()[1])} == {}
    assert len(either["widths"]) == 6
