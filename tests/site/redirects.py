"""Redirects from the pages and anchors of an earlier site to those of today.

Pages move and headings change, but links to them stay in issues, posts and bookmarks. ``docs/redirects/*.txt`` maps old
places to new ones, one mapping per line::

    goals/trl.md how-to/trl.md
    cli.md#old-anchor output.md#new-anchor

Pages are named by their path on the site (``changes.md`` is ``CHANGELOG.md``). A mapping of a page also covers those of
its anchors that the new page has. Other anchors need a separate mapping, or a mapping of the page that ends with ``*``,
which sends all of them to the new place::

    ideas/log.md explanation/how-it-decides.md *

``old_anchors.txt`` lists the pages and anchors of the earlier site. ``python -m tests.site.redirects`` prints those that
neither exist nor redirect, ``python -m tests.site.redirects PAGE...`` only those of some pages;
``python -m tests.site.redirects --record COMMIT`` writes the list from a commit.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
OLD = Path(__file__).with_name("old_anchors.txt")
FINDINGS = "pipeline/chatsquash/checks/pages/"
ELSEWHERE = {
    "changes.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "readme.md": "README.md",
    "sample-logs.md": "sample_logs/README.md",
    "security.md": "SECURITY.md",
}
"""Pages with files outside docs/, except those of the findings."""

_FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} +(.*?) *$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


class Redirect(NamedTuple):
    """A mapping from an old place to a new one; both are ``page`` or ``page#anchor``."""

    old: str
    new: str
    any_anchor: bool = False


def slug(title: str, separator: str = "-") -> str:
    """Return the anchor of a heading, as GitHub computes it."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", separator)


def anchors(markdown: str) -> list[str]:
    """Return the anchors of a page in order; the second of two equal ones ends with ``_1``, as on the site."""
    titles = _HEADING.findall(_FENCED.sub("", markdown))
    seen: Counter[str] = Counter()
    names = []
    for title in titles:
        anchor = slug(_LINK.sub(r"\1", title))
        names.append(f"{anchor}_{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return names


def page_of(file: str) -> str | None:
    """Return the page of the site that a file of the repository becomes; None if it is not a page."""
    for page, source in ELSEWHERE.items():
        if file == source:
            return page
    if file.startswith(FINDINGS) and file.endswith(".md"):
        return f"findings/{file.removeprefix(FINDINGS)}"
    return file.removeprefix("docs/") if file.startswith("docs/") and file.endswith(".md") else None


def places(files: Iterable[str], read: Callable[[str], str]) -> Iterator[str]:
    """Return every page and every ``page#anchor`` that the files become."""
    for file in sorted(files):
        page = page_of(file)
        if page:
            yield page
            yield from (f"{page}#{anchor}" for anchor in anchors(read(file)))
    yield "findings/index.md"


def today() -> set[str]:
    """Return the pages and anchors of the current files."""
    folders = [ROOT / "docs", ROOT / FINDINGS]
    files = [path for folder in folders for path in folder.rglob("*.md")]
    names = [path.relative_to(ROOT).as_posix() for path in files] + list(ELSEWHERE.values())
    return set(places(names, lambda name: (ROOT / name).read_text(encoding="utf-8")))


def at_commit(commit: str) -> list[str]:
    """Return the pages and anchors of a commit."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    files = git("ls-tree", "-r", "--name-only", commit).splitlines()
    return list(places(files, lambda name: git("show", f"{commit}:{name}")))


def redirects() -> list[Redirect]:
    """Return the mappings of ``docs/redirects``.

    Raises:
        ValueError: A line is not a mapping.
    """
    mappings = []
    for file in sorted((ROOT / "docs" / "redirects").glob("*.txt")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
            words = line.split()
            if not words:
                continue
            if len(words) not in {2, 3} or words[2:] not in ([], ["*"]):
                raise ValueError(f"{file.name}:{number}: expected 'OLD NEW' or 'OLD NEW *', got {line!r}")
            mappings.append(Redirect(words[0], words[1], any_anchor=len(words) == 3))
    return mappings


def old_places() -> list[str]:
    """Return the pages and anchors of the earlier site."""
    return OLD.read_text(encoding="utf-8").splitlines()


def target(place: str, mappings: dict[str, Redirect], existing: set[str]) -> str | None:
    """Return where a link to an old place leads today, or None if it leads nowhere."""
    if place in existing:
        return place
    if place in mappings:
        return mappings[place].new
    page, _, anchor = place.partition("#")
    mapping = mappings.get(page)
    if mapping is None:
        return None
    here = f"{mapping.new.partition('#')[0]}#{anchor}"
    if here in existing:
        return here
    return mapping.new if mapping.any_anchor else None


def unmapped(pages: Iterable[str] = ()) -> list[str]:
    """Return the old places that neither exist nor redirect, of some pages or of all."""
    existing, mappings, only = today(), {each.old: each for each in redirects()}, set(pages)
    old = (place for place in old_places() if not only or place.partition("#")[0] in only)
    return [place for place in old if target(place, mappings, existing) not in existing]


@cache
def by_page() -> dict[str, dict[str, str]]:
    """Return the redirects of each old page: the anchor (empty for the page itself) and the new place.

    Only places that no longer exist are redirected.
    """
    existing, mappings = today(), {each.old: each for each in redirects()}
    places_by_page: dict[str, dict[str, str]] = {}
    for place in old_places():
        new = target(place, mappings, existing)
        if place not in existing and new is not None:
            page, _, anchor = place.partition("#")
            places_by_page.setdefault(page, {})[anchor] = new
    return places_by_page


def moved_pages() -> dict[str, dict[str, str]]:
    """Return the redirects of the pages that no longer exist."""
    return {page: targets for page, targets in by_page().items() if "" in targets}


def url(place: str, at: str) -> str:
    """Return the relative URL of a place, seen from a page."""
    page, _, anchor = place.partition("#")
    there = os.path.relpath(page, os.path.dirname(at) or ".").replace(os.sep, "/").removesuffix(".md") + ".html"
    return f"{there}#{anchor}" if anchor else there


def script(at: str, targets: dict[str, str]) -> str:
    """Return the script that sends the old anchors of a page, and the page itself if it moved, to the new places."""
    urls = {anchor: url(place, at) for anchor, place in targets.items()}
    table = json.dumps(urls, sort_keys=True).replace("</", "<\\/")
    return (
        f"<script>(function () {{ var moved = new Map(Object.entries({table})); function go() {{ "
        "var there = moved.get(decodeURIComponent(location.hash.slice(1))) || moved.get(''); "
        "if (there) location.replace(there); } "
        'go(); addEventListener("hashchange", go); })();</script>'
    )


def moved_page(at: str, targets: dict[str, str], policy: str) -> str:
    """Return the HTML page at the URL of a page that no longer exists."""
    there = url(targets[""], at)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta charset="utf-8">
<title>This page has moved</title>
<link rel="canonical" href="{there}">
<meta name="robots" content="noindex">
{script(at, targets)}
<noscript><meta http-equiv="refresh" content="0; url={there}"></noscript>
</head>
<body><p>This page has moved to <a href="{there}">{there}</a>.</p></body>
</html>
"""


def main(arguments: list[str]) -> int:
    """Print the old places without a redirect, or record those of a commit."""
    if arguments[:1] == ["--record"]:
        OLD.write_text("\n".join(at_commit(arguments[1])) + "\n", encoding="utf-8")
        return 0
    missing = unmapped(arguments)
    print("\n".join([*missing, f"{len(missing)} unmapped"]))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
