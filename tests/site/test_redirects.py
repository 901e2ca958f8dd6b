"""Links to pages and anchors of the earlier site lead to a page and an anchor of today."""

import json
import re

import pytest

from tests.conftest import cases

from . import redirects

EXISTING = redirects.today()
MAPPINGS = redirects.redirects()
OLD = redirects.old_places()
PAGES = sorted({place.partition("#")[0] for place in OLD})


@pytest.mark.parametrize("page", PAGES)
def test_every_old_place_of_a_page_exists_or_redirects(page):
    assert redirects.unmapped([page]) == []


def test_every_new_place_exists():
    assert [each.new for each in MAPPINGS if each.new not in EXISTING] == []


def test_only_places_of_the_earlier_site_that_are_gone_are_mapped():
    assert [each.old for each in MAPPINGS if each.old in EXISTING or each.old not in OLD] == []


def test_no_place_is_mapped_twice():
    olds = [each.old for each in MAPPINGS]
    assert sorted(set(olds)) == sorted(olds)


TODAY = {"a.md", "a.md#x", "new/b.md", "new/b.md#kept", "new/b.md#renamed"}
MOVES = {
    "a.md#old": redirects.Redirect("a.md#old", "a.md#x"),
    "b.md": redirects.Redirect("b.md", "new/b.md"),
    "b.md#was": redirects.Redirect("b.md#was", "new/b.md#renamed"),
    "c.md": redirects.Redirect("c.md", "a.md#x", any_anchor=True),
}


@cases(
    "sentence, place, expected",
    ("a page that still exists", "a.md", "a.md"),
    ("an anchor that still exists", "a.md#x", "a.md#x"),
    ("a renamed anchor", "a.md#old", "a.md#x"),
    ("an anchor without a mapping", "a.md#lost", None),
    ("a page that moved", "b.md", "new/b.md"),
    ("an anchor that moved with its page", "b.md#kept", "new/b.md#kept"),
    ("an anchor renamed on the new page", "b.md#was", "new/b.md#renamed"),
    ("an anchor that is not on the new page", "b.md#lost", None),
    ("any anchor of a page that was merged", "c.md#any", "a.md#x"),
    ("a page that never existed", "d.md", None),
)
def test_an_old_place_leads_to_its_mapping(sentence, place, expected):
    assert redirects.target(place, MOVES, TODAY) == expected, sentence


def test_headings_in_code_blocks_have_no_anchors_and_repeated_ones_are_numbered():
    page = "# A `b`\n\n```sh\n# no heading\n```\n\n## To [the Hub](x.md)\n\n## A b\n"
    assert redirects.anchors(page) == ["a-b", "to-the-hub", "a-b_1"]


@cases(
    "place, at, expected",
    ("cli.md#x", "output.md", "cli.html#x"),
    ("how-to/trl.md", "goals/trl.md", "../how-to/trl.html"),
    ("cli.md", "goals/trl.md", "../cli.html"),
)
def test_urls_are_relative_to_the_old_page(place, at, expected):
    assert redirects.url(place, at) == expected


def test_the_page_at_an_old_url_has_a_script_a_refresh_and_a_link():
    page = redirects.moved_page("goals/trl.md", {"": "how-to/trl.md", "old": "how-to/trl.md#new"}, "default-src 'self'")
    table = json.loads(re.search(r"Object\.entries\((\{.*?\})\)", page)[1])
    assert table == {"": "../how-to/trl.html", "old": "../how-to/trl.html#new"}
    assert '<meta http-equiv="refresh" content="0; url=../how-to/trl.html">' in page
    assert '<a href="../how-to/trl.html">' in page


def test_a_line_that_is_not_a_mapping_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "docs" / "redirects").mkdir(parents=True)
    (tmp_path / "docs" / "redirects" / "a.txt").write_text("a.md b.md\n\nonly-one\n")
    monkeypatch.setattr(redirects, "ROOT", tmp_path)
    with pytest.raises(ValueError, match=r"a\.txt:3"):
        redirects.redirects()


@cases(
    "title, anchor",
    ("reports/sessions.jsonl", "reportssessionsjsonl"),
    ("To the Hub", "to-the-hub"),
    ("`--where` and SQL", "--where-and-sql"),
)
def test_headings_have_the_anchors_of_github(title, anchor):
    assert redirects.slug(title) == anchor
