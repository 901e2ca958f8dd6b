"""Holds a page to what ours consist of: nothing in it runs, loads or styles anything that is not ours."""

from __future__ import annotations

import re
from html.parser import HTMLParser

TAGS = set(
    "html head meta title link script body a header main nav strong span p h1 h2 h4 form label input select option button "
    "output table thead tbody tr th td div dl dt dd details summary ul ol li section article pre code mark img progress "
    "noscript br hr em s blockquote svg rect".split()
)
URLS = re.compile(r"(/(?!/)\S*|#\S*|\?\S*|)")
OUTSIDE = re.compile(r"(https?://|mailto:)[^\s\\]+", re.IGNORECASE)
"""Where links of Markdown lead, which tell nothing of the page."""
SOURCES = re.compile(r"/static/[a-z]+\.(js|css)|/r/[0-9a-f]{16}/s/\d+/image/[0-9a-f]{40}\.(png|jpg|gif|webp)")
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\u200b\ufeff]")


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.inside = ""
        self.said: list[str] = []

    def handle_starttag(self, tag, attrs):
        assert tag in TAGS, tag
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            assert name not in ("style", "srcdoc", "target"), (tag, name)
            if name == "href" and OUTSIDE.fullmatch(value or ""):
                assert (tag, dict(attrs)["rel"]) == ("a", "noopener noreferrer nofollow")
            elif name in ("href", "action"):
                assert URLS.fullmatch(value or ""), (tag, name, value)
            if name == "src":
                assert SOURCES.fullmatch(value or ""), (tag, value)
        if tag == "meta":
            assert dict(attrs).get("http-equiv") is None, attrs
        if tag == "script":
            assert dict(attrs).get("src"), attrs
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        assert self.inside not in ("script", "style") or not data.strip(), data
        self.said.append(data)


def hold(page: str) -> None:
    """Fail where something in a page is not ours."""
    assert page.startswith('<!doctype html>\n<html lang="en">')
    assert not CONTROLS.search(page), repr(CONTROLS.search(page))
    parser = _Page()
    parser.feed(page)
    parser.close()
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))


def hold_part(part: str) -> None:
    """Fail where something in a part of a page is not ours."""
    parser = _Page()
    parser.feed(part)
    parser.close()


def said(page: str) -> str:
    """The text of a page."""
    parser = _Page()
    parser.feed(page)
    return "".join(parser.said)
