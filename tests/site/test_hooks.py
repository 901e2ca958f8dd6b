"""Links, titles of blocks, lists and the nav of the site correspond to the files."""

import pytest

pytest.importorskip("mkdocs", reason="mkdocs is not installed: make docs-site installs it")

from tests.conftest import cases

from . import hooks

PAGES = {"cli.md", "changes.md", "contributing.md", "findings/no-tools.md", "explanation/log.md", "readme.md"}


@cases("sentence, at, text, expected",
        ("a page of the same folder", "output.md", "[x](cli.md#variables)", "[x](cli.md#variables)"),
        ("a page from another folder", "explanation/log.md", "[x](../cli.md)", "[x](../cli.md)"),
        ("a file that is a page of another name", "explanation/log.md", "[x](../../README.md#limits)", "[x](../readme.md#limits)"),
        ("a link of a page from another folder", "readme.md", "[x](docs/cli.md)", "[x](cli.md)"),
        ("from one of these to another", "readme.md", "[Changes](CHANGELOG.md)", "[Changes](changes.md)"),
        ("a heading of the page itself", "cli.md", "[x](#variables)", "[x](#variables)"),
        ("another host", "cli.md", "[x](https://example.com/a.md)", "[x](https://example.com/a.md)"),
        ("a file without a page", "cli.md", "[the rules](../pyproject.toml)", "the rules (`pyproject.toml`)"),
        ("one whose name is said", "cli.md", "[`Makefile`](../Makefile)", "`Makefile`"),
        ("a link in code", "cli.md", "`[x](../README.md)`", "`[x](../README.md)`"),
        ("code in a link", "cli.md", "[`README`](../README.md)", "[`README`](readme.md)"),
        ("a drawing", "explanation/log.md", "![x](log.svg)", "![x](log.svg)"),
)  # fmt: skip
def test_a_link_leads_to_the_page_that_is_made_of_its_file(sentence, at, text, expected):
    files = PAGES | {"explanation/log.svg"}
    assert hooks.relinked(text, at, files.__contains__, None) == expected, sentence


def test_a_file_that_is_no_page_is_linked_where_the_repository_has_a_url():
    link = hooks.relinked("[x](../Makefile)", "cli.md", PAGES.__contains__, "https://example.com/chatsquash")
    assert link == "[x](https://example.com/chatsquash/blob/HEAD/Makefile)"


@cases(
    "fence, expected",
    ("```sh\n", "```sh\n"),
    ("```json file=a.jsonl\n", '```json title="a.jsonl"\n'),
    ("```json before\n", '```json title="before"\n'),
    ("```json after --preset hf\n", '```json title="after, with --preset hf"\n'),
)
def test_the_words_behind_a_fence_become_a_title(fence, expected):
    assert hooks.titled(f"{fence}x\n```") == f"{expected}x\n```"


def test_what_stands_in_a_block_stays_as_it_is():
    block = "```text\n  [x](../README.md)\n```\n"
    assert hooks.outside_of_blocks(f"a\n\n{block}\nb\n", str.upper) == f"A\n\n{block}\nB\n"


def test_lists_are_indented_as_the_library_wants_it():
    assert hooks.indent("- a\n  - b\n    c\n\n1. d\n\n   e\n") == "- a\n    - b\n        c\n\n1. d\n\n    e\n"


def test_a_pattern_of_the_nav_stands_for_the_pages_that_are_not_named():
    nav = [
        "index.md",
        {"Start": ["start/index.md", {"All": "start/*.md"}]},
        {"How-to": "how-to/*.md"},
        {"More": ["x/*.md"]},
    ]
    pages = ["how-to/a.md", "how-to/b.md", "index.md", "start/c.md", "start/index.md"]
    assert hooks.expand(nav, pages, set(hooks.pages_in(nav))) == [
        "index.md",
        {"Start": ["start/index.md", {"All": ["start/c.md"]}]},
        {"How-to": ["how-to/a.md", "how-to/b.md"]},
    ]


def test_the_pages_of_an_index_are_grouped_by_its_headings():
    index = "# Start\n\n## First\n\n| [A](a.md) | `a` |\n| [B](b.md) | `b` |\n\n## Second\n\n| [C, D](c.md) | `c` |\n| x |\n"
    assert hooks.groups(index, "start") == [{"First": ["start/a.md", "start/b.md"]}, {"Second": ["start/c.md"]}]
