"""Texts as people read them: JSON, diffs and code."""

import re

import pytest

from chatsquash.view.pages import code
from tests.view import markup

DIFF = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n-old\n+new\n same\n"


def fenced(html):
    return [markup.said(each) for each in re.findall(r'<code class="fenced">(.*?)</code>', html, re.DOTALL)]


DIFFS = {
    "in a fence": (f"See:\n```diff\n{DIFF}```\nand so on", [DIFF]),
    "in a fence of another name": (f"See:\n```\n{DIFF}```\nand so on", [DIFF]),
    "without a fence": (f"See:\n{DIFF}\nand so on", [f"{DIFF}\n"]),
    "without a fence, to the end": (f"See:\ndiff --git a/x b/x\nindex 1..2\n{DIFF}", [f"diff --git a/x b/x\nindex 1..2\n{DIFF}"]),
    "beside code": (f"```py\nx = 1\n```\n{DIFF}\nand so on", ["x = 1\n", f"{DIFF}\n"]),
    "none": ("- a\n- list --- a", []),
}  # fmt: skip


@pytest.mark.parametrize(("said", "expected"), DIFFS.values(), ids=DIFFS)
@pytest.mark.parametrize("kind", ["said", "thought"])
def test_a_diff_in_a_text_is_code_and_the_text_around_it_is_none(kind, said, expected):
    html = code.body(kind, said)
    assert fenced(html) == expected
    assert markup.said(html) == f"\n{said}"


def test_lines_of_a_diff_have_colours():
    html = code.body("said", f"See:\n{DIFF}")
    for kind, line in {"removed": "-old", "added": "+new", "hunk": "@@ -1,2 +1,2 @@"}.items():
        assert f'<span class="{kind}">{line}</span>' in html


VALUES = {
    "two lines": (r'{"a": "x\ny"}', 1),
    "a last line feed": (r'{"a": "x\n"}', 0),
    "a backslash and a letter": (r'{"a": "C:\\new"}', 0),
    "a backslash before it": (r'{"a": "x\\\ny"}', 1),
    "carriage returns": (r'{"a": "x\r\ny\r\n"}', 1),
    "a name": (r'{"a\nb": 1}', 0),
    "no JSON": (r'{"a": "x\ny"', 0),
}


@pytest.mark.parametrize(("said", "breaks"), VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("kind", ["call", "result"])
def test_line_feeds_in_json_break_lines_and_the_text_stays_what_it_is(kind, said, breaks):
    html = code.body(kind, said)
    assert html.count('<span class="break">\\n</span>') == breaks
    assert "".join(markup.said(html).split()) == "".join(said.split())


def test_a_text_of_nothing_but_line_feeds_makes_a_page_no_larger_than_others():
    html = code.body("result", '{"a": "' + r"\n" * 30_000 + '"}')
    assert len(html) < 2_000_000
    html = code.body("result", '["' + '", "'.join([r"\n" * 1_000] * 30) + '"]')
    assert html.count("break") <= 6_000
