"""What the tests of pages look for is found where it is there."""

import pytest

from tests.hostile_logs import ELSEWHERE, HACK
from tests.web.browser import NARROW, serious, too_wide, unreached, watched

WRONG = {
    "a script of a log": f"<script>{HACK}</script>",
    "a frame with a script of a log": "<iframe srcdoc='<script>parent.hacked=1</script>'></iframe>",
    "an error": "<script>throw new Error('no')</script>",
    "a word on the console": "<script>console.error('no')</script>",
    "a dialog": "<script>alert('no')</script>",
    "an image of another host": f"<img src=https://{ELSEWHERE}/x.png>",
    "a style sheet of another host": f"<link rel=stylesheet href=https://{ELSEWHERE}/x.css>",
}


@pytest.mark.parametrize("inside", WRONG.values(), ids=WRONG)
def test_what_goes_wrong_on_a_page_is_caught(browser, tmp_path, inside):
    (tmp_path / "a.html").write_text(f"<!doctype html><title>a</title>{inside}", encoding="utf-8")
    url = (tmp_path / "a.html").as_uri()
    with pytest.raises(AssertionError), watched(browser, url) as watch:
        watch.page.goto(url)


def test_what_tab_does_not_reach_and_what_is_too_wide_and_grey_is_found(browser, tmp_path):
    (tmp_path / "a.html").write_text(
        "<!doctype html><html lang=en><title>a</title><body><main><a href=#b>b</a><a href=#c tabindex=-1>c</a>"
        "<p style='width: 50rem; color: #ddd'>wide and grey</p><div style='overflow: auto'><p style='width: 50rem'>x"
        "</div></main><style>main { overflow-x: clip; }</style>",
        encoding="utf-8",
    )
    url = (tmp_path / "a.html").as_uri()
    with watched(browser, url, width=NARROW) as watch:  # which has one look for both
        page = watch.page
        page.goto(url)
        assert unreached(page) == ['<a href="#c" tabindex="-1">c</a>']
        assert [each[:16] for each in too_wide(page)][:2] == ["something is cut", '<p style="width:']
        page.add_style_tag(content="main { overflow-x: visible !important; }")
        assert too_wide(page) == ["the page scrolls"]
        assert [code for code, _ in serious(page)] == ["light: color-contrast", "dark: color-contrast"]
