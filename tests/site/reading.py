"""Find the loads of a site's pages, styles and scripts from other hosts."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

NEVER_ASKED = {
    "https://unpkg.com/mermaid": 'class="mermaid"',
    "https://unpkg.com/resize-observer-polyfill": None,
    "https://api.github.com/": 'data-md-component="source"',
    "https://${e}/api/v4/": 'data-md-component="source"',
}
"""URLs that the theme's script loads where a page has something: the beginning of each, and that mark of a page.

``None``: in browsers from before 2020, which the policy of the pages keeps from it.
"""

_ELSEWHERE = re.compile(r"https?://[\w$]|(?<!:)//[\w-]+\.\w")
_OF_STYLES = re.compile(r"""(?:@import\s+(?:url\()?|url\()\s*["']?((?:https?:)?//[^\s"')]+)""")
_OF_SCRIPTS = re.compile(r"""["'`]((?:https?://(?!www\.w3\.org/)[\w$]|//[\w-]+\.\w)[^"'`\s]*)""")
_COMMENTS = re.compile(r"/\*.*?\*/", re.DOTALL)


def loads(site: Path) -> Iterator[tuple[str, str]]:
    """Yield each file of a site with each URL of another host that it loads."""
    readers = {".html": of_page, ".css": of_style, ".js": of_script, ".svg": of_page}
    for path in sorted(site.rglob("*")):
        if path.suffix in readers:
            urls = readers[path.suffix](path.read_text(encoding="utf-8"))
            yield from ((path.relative_to(site).as_posix(), url) for url in urls)


def of_style(text: str) -> list[str]:
    """Return the URLs that a style loads from other hosts."""
    return _OF_STYLES.findall(_COMMENTS.sub("", text))


def of_script(text: str) -> list[str]:
    """Return the URLs of other hosts in the strings of a script, except XML names."""
    return _OF_SCRIPTS.findall(_COMMENTS.sub("", text))


def of_page(text: str) -> list[str]:
    """Return the URLs that a page loads from other hosts; links to follow do not count."""
    page = _Page()
    page.feed(text)
    page.close()
    return page.urls


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        for name, value in attributes:
            if name == "style":
                self.urls += of_style(value or "")
            elif not name.startswith("xmlns") and (tag, name) != ("a", "href") and _ELSEWHERE.search(value or ""):
                self.urls.append(f"<{tag} {name}={value}>")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "style":
            self.urls += of_style(data)
        elif self._inside == "script":
            self.urls += of_script(data)
