"""Charts are SVG that a page may hold: no style, no place elsewhere, the same bytes each time."""

import re

import pytest

from chatsquash.pages.report.charts import Bar, Chart, figure, sanitize
from tests.conftest import cases


def chart(*labels, **others):
    given = {"is_horizontal": True, **others}
    return Chart(
        "Title <b>",
        "Told.",
        {"one": "blue", "two": "red"},
        [Bar(each, "one", n) for n, each in enumerate(labels, 1)],
        "things",
        **given,
    )


def texts(page):
    return re.findall(r"<text[^>]*>([^<]*)</text>", page)


def test_a_chart_has_its_numbers_as_a_table_and_no_style():
    page = figure(chart("a", "b"))
    assert "style=" not in page
    assert 'fill="var(--blue)"' in page
    assert 'font-family="sans-serif"' in page
    assert '<th scope="row">b</th><td>2</td><td>0</td>' in page
    assert 'role="img" aria-label="Title &lt;b&gt;: the numbers are in the table below"' in page
    assert figure(chart("a", "b")) == page
    assert figure(chart("a", "b", is_horizontal=False)) != page


def test_without_bars_there_are_words():
    page = figure(chart())
    assert "<svg" not in page
    assert "Told." in page


def test_labels_are_short_and_different():
    page = figure(chart("x" * 50 + "1", "x" * 50 + "2", "a"))
    shown = [each for each in texts(page) if "x" in each]
    assert len(set(shown)) == 2
    assert max(map(len, shown)) <= 28


@cases(
    "bad",
    "<script>alert(1)</script>",
    "</svg><img src=x onerror=alert(1)>",
    "\x00\x1b[2J",
    "\u202eevil",
    "a'\"&",
    "url(x)",
    "\ud800",
)
@pytest.mark.parametrize("lies", [True, False])
def test_a_label_of_a_log_is_text(bad, lies):
    page = figure(chart(bad, "other", is_horizontal=lies))
    assert set(re.findall(r"<([a-z0-9]+)", page)) <= set(
        "figure figcaption h3 p ul li span svg g path line rect text details summary table thead tbody tr th td".split()
    )
    assert not re.search("[\\x00-\\x08\\x0b-\\x1f\\u202e\\ud800]", page)
    assert "url(" not in re.sub(r">[^<]*<", "><", page)


def test_styles_become_attributes_and_what_a_chart_does_not_need_goes():
    drawn = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="10px" height="20"><style>x</style><script>x</script>'
        '<a href="https://evil.example"><text>in a link</text></a><image href="https://evil.example/x"/>'
        '<g onclick="x" style="fill: red; behavior: x; stroke:url(#a)"><path d="M0,0" class="c" fill="blue"/><path d=""/></g>'
        '<text style="font-size:13px" x="1">&lt;b&gt;</text><rect width="1" filter="url(#x)" display="none"/></svg>'
    )
    assert sanitize(drawn, {"13px": "11px"}, "A") == (
        '<svg role="img" aria-label="A" viewBox="0 0 10 20" width="10" height="20">'
        '<g fill="red"><path d="M0,0" fill="blue"></path></g><text x="1" font-size="11px">&lt;b&gt;</text></svg>'
    )
