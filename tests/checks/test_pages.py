"""The page of each finding: it has its parts, and its example gives the finding."""

import json
import re

import pytest

from chatsquash import Options, convert_session
from chatsquash.checks import rules
from chatsquash.cli import explain

PARTS = ["What it means", "Why it matters", "Example", "What to do"]
CODES = sorted(rules())
_BLOCK = re.compile(r"```json(?: (\{[^\n]*\}))?\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("code", CODES)
def test_every_finding_has_a_page_with_all_parts(code):
    page = explain.page(code)
    title, said, *_ = page.split("\n\n")
    assert title == f"# {code}"
    assert said.endswith(".")
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == PARTS
    assert all(len(line) <= 120 or line.startswith(("{", "|", "$")) for line in page.splitlines())


@pytest.mark.parametrize("code", [code for code in CODES if _BLOCK.search(explain.page(code))])
def test_the_example_gives_the_finding(code):
    """The options of an example stand behind ``json``, as fields of ``Options``."""
    given, log = _BLOCK.search(explain.page(code)).groups()
    options = {"anonymize": False, **json.loads(given or "{}")}
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    outcomes = convert_session(log.encode().splitlines(), Options(**options))
    assert code in {found.code for outcome in outcomes for found in outcome.findings}


def test_most_pages_have_an_example_that_is_tried():
    assert sum(bool(_BLOCK.search(explain.page(code))) for code in CODES) > len(CODES) / 2
