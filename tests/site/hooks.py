"""Hooks of mkdocs: pages from other folders, the nav, Markdown as GitHub reads it, redirects and ``llms.txt``.

Pages link to files, as on GitHub. On the site these links lead to the pages of the files. Files without a page are linked in
the repository if pyproject.toml contains its URL, and named by their paths otherwise.
"""

import math
import os
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from chatsquash.checks import rules
from chatsquash.cli import explain
from tests.site import llms, redirects

ROOT = redirects.ROOT
ELSEWHERE = {
    **redirects.ELSEWHERE,
    **{f"findings/{code}.md": f"{redirects.FINDINGS}{code}.md" for code in rules()},
}
"""Pages with files outside docs/, each with its file."""
PAGE_OF = {file: page for page, file in ELSEWHERE.items()}

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"```(\S*)[ \t]*(.*)")
_LINK = re.compile(r"(`+).+?\1|\[((?:`[^`]*`|[^\]`])*)\]\(([^)\s]+)\)", re.DOTALL)
_RANKS = {"findings/": 0.2, "start/": 2, "how-to/": 2, "training.md": 3, "presets.md": 3, "dataset.md": 2}
"""The ranks of pages in the search, by how their paths begin: a task finds first how to do it."""
_ROW = re.compile(r"\| \[[^\]]*\]\(([\w-]+\.md)\) \|")
_CODE = re.compile(r"^\| `([a-z-]+)` \|", re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Headings have the anchors that GitHub gives them."""
    config.mdx_configs["toc"]["slugify"] = redirects.slug
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from elsewhere, and fill in the entries of the nav that stand for folders."""
    for page, file in ELSEWHERE.items():
        files.append(File.generated(config, page, content=(ROOT / file).read_text(encoding="utf-8")))
    files.append(File.generated(config, "findings/index.md", content=findings_page()))
    config.nav = full_nav(config.nav)
    return files


def full_nav(nav: list[Any]) -> list[Any]:
    """Return the nav with the pages of groups and patterns."""
    pages = sorted((place for place in redirects.today() if "#" not in place), key=_index_first)
    complete = [_with_groups(each) for each in nav]
    return expand(complete, pages, set(pages_in(complete)))


def llms_text(name: str, summary: str, nav: list[Any]) -> str:
    """Return the text of ``llms.txt``."""

    def read(page: str) -> str:
        if page == "findings/index.md":
            return findings_page()
        return (ROOT / ELSEWHERE.get(page, f"docs/{page}")).read_text(encoding="utf-8")

    return llms.text(name, summary, nav, read)


def _with_groups(entry: Any) -> Any:
    """Return an entry of the nav; one that lists only an index gets the groups of pages of that index."""
    if isinstance(entry, dict):
        ((title, pages),) = entry.items()
        if isinstance(pages, list) and len(pages) == 1 and str(pages[0]).endswith("index.md"):
            text = (ROOT / "docs" / pages[0]).read_text(encoding="utf-8")
            return {title: [pages[0], *groups(text, posixpath.dirname(pages[0]))]}
    return entry


def groups(index: str, folder: str) -> list[dict[str, list[str]]]:
    """The pages that tables of an index link in their first column, by the heading above each table."""
    by_title: dict[str, list[str]] = {}
    title = ""
    for line in index.splitlines():
        if line.startswith("## "):
            title = line[3:]
        elif row := _ROW.match(line):
            by_title.setdefault(title, []).append(f"{folder}/{row[1]}")
    return [{title: pages} for title, pages in by_title.items()]


def _index_first(page: str) -> tuple[str, bool, str]:
    folder, name = posixpath.split(page)
    return folder, name != "index.md", name


def pages_in(nav: Any) -> Iterator[str]:
    """The pages and patterns of a nav."""
    if isinstance(nav, str):
        yield nav
    else:
        for each in nav.values() if isinstance(nav, dict) else nav:
            yield from pages_in(each)


def expand(nav: list[Any], pages: list[str], explicit: set[str]) -> list[Any]:
    """Return a nav with each pattern replaced by its pages, except those listed elsewhere; empty entries are removed."""
    entries: list[Any] = []
    for each in nav:
        title, entry = next(iter(each.items())) if isinstance(each, dict) else (None, each)
        if isinstance(entry, str) and "*" in entry:
            entry = [page for page in pages if fnmatchcase(page, entry) and page not in explicit]
            entries += [{title: entry}] if title and entry else entry
        elif isinstance(entry, list):
            inside = expand(entry, pages, explicit)
            entries += [{title: inside}] if inside else []
        else:
            entries.append(each)
    return entries


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Markdown as Python's library for it reads it."""
    at = page.file.src_uri
    page.meta["search"] = {"boost": next((rank for start, rank in _RANKS.items() if at.startswith(start)), 1)}
    if at == "index.md":
        page.meta["hide"] = ["navigation", "toc"]
    if at in ELSEWHERE and at.startswith("findings/"):
        markdown = with_severity(markdown, posixpath.basename(at).removesuffix(".md"))
    if at == "checks.md":
        markdown = _CODE.sub(r"| [`\1`](findings/\1.md) |", markdown)
        return outside_of_blocks(markdown, lambda text: indent(text))
    is_page = {each.src_uri for each in files}.__contains__
    return outside_of_blocks(markdown, lambda text: relinked(indent(text), at, is_page, repository()))


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Add the script that redirects the old anchors of a page."""
    targets = redirects.by_page().get(page.file.src_uri)
    return output.replace("</head>", f"{redirects.script(page.file.src_uri, targets)}</head>", 1) if targets else output


def on_post_build(config: MkDocsConfig) -> None:
    """Write ``llms.txt``, and a page at the URL of each page that has moved."""
    text = llms_text(config.site_name, config.site_description, config.nav)
    Path(config.site_dir, "llms.txt").write_text(text, encoding="utf-8")
    theme = (ROOT / "docs/.theme/main.html").read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', theme)[1]
    for page, targets in redirects.moved_pages().items():
        file = Path(config.site_dir, page).with_suffix(".html")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(redirects.moved_page(page, targets, policy), encoding="utf-8")


def with_severity(markdown: str, code: str) -> str:
    """The page of a finding with its severity below its title."""
    title, rest = markdown.split("\n", 1)
    return f"{title}\n\nSeverity: **{'** or **'.join(rules()[code].severities)}**\n{rest}"


def findings_page() -> str:
    """All findings in a table, as ``chatsquash explain`` lists them."""
    rows = [line.split(maxsplit=2) for line in explain.list_findings().splitlines()]
    table = [
        f"| [`{code}`]({code}.md) | {severities.replace('/', ', ')} | {sentence} |"
        for code, severities, sentence in rows
    ]
    head = ["# Findings", "", f"chatsquash has {len(rows)} findings. `chatsquash explain CODE` prints these pages."]
    return "\n".join([*head, "", "| code | severity | meaning |", "|---|---|---|", *table]) + "\n"


def outside_of_blocks(markdown: str, change: Callable[[str], str]) -> str:
    """Return Markdown with its text changed; in fenced blocks, only the words after the fence become a title."""
    parts, at = [], 0
    for block in _FENCED.finditer(markdown):
        parts += [change(markdown[at : block.start()]), titled(block[0])]
        at = block.end()
    return "".join([*parts, change(markdown[at:])])


def titled(block: str) -> str:
    """Return a fenced block with the words for tests replaced by a title for readers."""
    fence, rest = block.split("\n", 1)
    language, words = _FENCE.fullmatch(fence).groups()
    title = words.removeprefix("file=")
    if words.startswith("after "):
        title = f"after, with {words.removeprefix('after ')}"
    attribute = f' title="{title}"' if title else ""
    return f"```{language}{attribute}\n{rest}"


def indent(text: str) -> str:
    """Text with four spaces for each level of a list, where GitHub wants two or three."""
    return re.sub(r"^ +(?=\S)", lambda spaces: " " * 4 * math.ceil(len(spaces[0]) / 3), text, flags=re.MULTILINE)


def repository() -> str | None:
    """Where pyproject.toml says that the repository is."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {name.lower(): url for name, url in project.get("urls", {}).items()}.get("repository")


def relinked(text: str, at: str, is_page: Callable[[str], bool], repository: str | None) -> str:
    """Text of a page whose links to files lead to the pages that are made of them."""
    folder = posixpath.dirname(ELSEWHERE.get(at, f"docs/{at}"))

    def link(match: re.Match[str]) -> str:
        _, label, target = match.groups()
        if target is None or target.startswith("#") or re.match(r"[a-z]+:", target):
            return match[0]
        path, _, anchor = target.partition("#")
        file = posixpath.normpath(posixpath.join(folder, path))
        page = PAGE_OF.get(file, file.removeprefix("docs/"))
        if is_page(page) and (file in PAGE_OF or file.startswith("docs/")):
            there = os.path.relpath(page, posixpath.dirname(at) or ".").replace(os.sep, "/")
            return f"[{label}]({there}{'#' if anchor else ''}{anchor})"
        if not (ROOT / file).exists():
            return match[0]  # mkdocs reports it
        return f"[{label}]({repository}/blob/HEAD/{file})" if repository else named_file(label, file)

    return _LINK.sub(link, text)


def named_file(label: str, file: str) -> str:
    """Return a file of the repository as text, without a link."""
    return label if file in label else f"{label} (`{file}`)"
