"""The site's ``llms.txt``: each page with its title and first sentence, in the sections of the nav (https://llmstxt.org)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

FIRST = "Start"
"""The section of pages that are entries of the nav themselves."""
LAST = "Optional"
"""The section that readers may skip, by the format's convention: the pages of the single findings."""

_BLOCKS = re.compile(r"^```.*?^```$|<!--.*?-->", re.MULTILINE | re.DOTALL)
_SENTENCE = re.compile(r"(.+?[.?!])(?=\s|$)", re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_NOT_TEXT = ("#", "|", "-", "!", ">", "<")


def text(name: str, summary: str, nav: list[Any], read: Callable[[str], str]) -> str:
    """Return the text of ``llms.txt`` for a nav without patterns.

    Args:
        name: Name of the site.
        summary: One sentence about it.
        nav: The nav of mkdocs.
        read: Returns the Markdown of a page.
    """
    lines = [f"# {name}", "", f"> {summary}"]
    for title, pages in sections(nav).items():
        lines += ["", f"## {title}", ""]
        lines += [entry(page, read(page)) for page in pages]
    return "\n".join([*lines, ""])


def sections(nav: list[Any]) -> dict[str, list[str]]:
    """Return the pages of each section, in the order of the nav."""
    by_title: dict[str, list[str]] = {FIRST: []}
    last = []
    for each in nav:
        title, inside = next(iter(each.items())) if isinstance(each, dict) else (FIRST, each)
        section = FIRST if isinstance(inside, str) else title
        for page in pages_of(inside):
            if page.startswith("findings/") and page != "findings/index.md":
                last.append(page)
            else:
                by_title.setdefault(section, []).append(page)
    return {**by_title, LAST: last} if last else by_title


def pages_of(nav: Any) -> Iterator[str]:
    """Yield the pages of an entry of the nav."""
    if isinstance(nav, str):
        yield nav
    else:
        for each in nav.values() if isinstance(nav, dict) else nav:
            yield from pages_of(each)


def entry(page: str, markdown: str) -> str:
    """Return the line of a page: its title as a link, and its first sentence if it has one."""
    title = _plain(markdown.split("\n", 1)[0].removeprefix("# "))
    link = f"- [{title}]({page.removesuffix('.md')}.html)"
    sentence = first_sentence(markdown)
    return f"{link}: {sentence}" if sentence else link


def first_sentence(markdown: str) -> str:
    """Return the first sentence of the first paragraph of text, without links, or an empty string."""
    for paragraph in re.split(r"\n\s*\n", _BLOCKS.sub("", markdown)):
        words = paragraph.strip()
        if words and not words.startswith(_NOT_TEXT):
            plain = " ".join(_plain(words).split())
            match = _SENTENCE.match(plain)
            return (match[1] if match else plain).rstrip(":")
    return ""


def _plain(words: str) -> str:
    return _LINK.sub(r"\1", words).replace("**", "")
