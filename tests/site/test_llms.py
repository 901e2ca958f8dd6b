"""``llms.txt`` lists each page of the nav with its title and first sentence."""

import pytest

pytest.importorskip("mkdocs", reason="mkdocs is not installed: make docs-site installs it")

import re

import yaml

from tests.conftest import cases

from . import hooks, llms, redirects

NAV = [
    {"Home": "index.md"},
    {"How-to": ["how-to/index.md", {"Train": ["how-to/trl.md"]}]},
    {"Reference": [{"Findings": ["findings/index.md", "findings/no-tools.md"]}]},
]
PAGES = {
    "index.md": "# chatsquash\n\nTurn logs into [datasets](x.md): quickly.\n",
    "how-to/index.md": "# How-to\n\n| a | b |\n|---|---|\n",
    "how-to/trl.md": "# Train with TRL\n\n```sh\nno text.\n```\n\nFrom logs to\na run. More.\n",
    "findings/index.md": "# Findings\n\nAll of them.\n",
    "findings/no-tools.md": "# no-tools\n\nNo tools are defined.\n",
}


def test_sections_pages_and_sentences():
    assert llms.text("chatsquash", "Datasets from logs", NAV, PAGES.__getitem__) == (
        "# chatsquash\n\n> Datasets from logs\n\n"
        "## Start\n\n- [chatsquash](index.html): Turn logs into datasets: quickly.\n\n"
        "## How-to\n\n- [How-to](how-to/index.html)\n- [Train with TRL](how-to/trl.html): From logs to a run.\n\n"
        "## Reference\n\n- [Findings](findings/index.html): All of them.\n\n"
        "## Optional\n\n- [no-tools](findings/no-tools.html): No tools are defined.\n"
    )


@cases(
    "markdown, sentence",
    ("# T\n\nSee `a.b`. More.", "See `a.b`."),
    ("# T\n\n<!-- x -->\n\n![d](d.svg)\n\nText without an end", "Text without an end"),
    ("# T\n\n- a list\n\n## H\n", ""),
)
def test_the_first_sentence(markdown, sentence):
    assert llms.first_sentence(markdown) == sentence


def test_every_page_is_listed_and_every_link_leads_to_a_page():
    nav = hooks.full_nav(yaml.load((redirects.ROOT / "mkdocs.yml").read_text(encoding="utf-8"), yaml.BaseLoader)["nav"])
    names = re.findall(r"^- \[.+?\]\((.+?)\.html\)", hooks.llms_text("n", "s", nav), re.MULTILINE)
    pages = {place for place in redirects.today() if "#" not in place}
    assert sorted(names) == sorted(page.removesuffix(".md") for page in pages)
