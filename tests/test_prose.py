"""What people read has short sentences, in the words that CONTRIBUTING.md lists."""

import pytest

from tests.conftest import cases

from . import prose
from .prose import ROOT

FINDINGS = "pipeline/chatsquash/checks/pages"
PAGES = {
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "sample_logs/README.md")
} | {FINDINGS}


def text_of(page: str) -> str:
    """A page's text; the pages of the findings count as one, since each has only a few sentences."""
    path = ROOT / page
    pages = sorted(path.glob("*.md")) if path.is_dir() else [path]
    return "\n\n".join(page.read_text(encoding="utf-8") for page in pages)


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_page_is_plain(page):
    assert not [f"{page}:{found.line}: {found.says}" for found in prose.findings(text_of(page))]


@cases(
    "page, said",
    ("One two three.\n", []),
    (" ".join(["word"] * 30) + ".\n", []),
    (" ".join(["word"] * 31) + ".\n", ["31 words"]),
    ("chatsquash reads logs.\n\n" + " ".join(["word"] * 31) + ".\n", ["31 words"]),
    ("```text\n" + " ".join(["word"] * 31) + "\n```\n", []),
    ("| " + " ".join(["word"] * 31) + " |\n", []),
    ("It will utilize the dialogue.\n", ["'utilize', write use", "'dialogue', write conversation"]),
    ("It adds files, e.g. `a.json`.\n", ["write for example"]),
)
def test_what_is_hard_to_read_is_found(page, said):
    found = [found.says for found in prose.findings(page)]
    assert len(found) == len(said)
    assert all(part in says for part, says in zip(said, found, strict=True)), found


def test_a_finding_names_the_line_its_paragraph_begins_at():
    assert [found.line for found in prose.findings("# Title\n\nShort.\n\nIn order to go.\n")] == [5]
