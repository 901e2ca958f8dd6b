"""The findings that docs/faq.md says to drop, or to keep, are findings that there are."""

import re

import pytest

from chatsquash import Options, convert_session
from chatsquash.checks import rules

from . import generate

LINE = b'{"session_id": "s", "timestamp": 1, "request": {"messages": [{"role": "user", "content": "Hi"}]}}'


def rows() -> list[tuple[str, str]]:
    """Of each row of the table the code and whether to drop it."""
    page = (generate.ROOT / "docs/faq.md").read_text(encoding="utf-8")
    section = page.split("## Which findings should I drop before training?\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\| `([a-z-]+)` \| ([^|]+?) \|", section, re.MULTILINE)


ROWS = rows()
DROPPED = [code for code, answer in ROWS if answer.startswith("yes") and "`check" not in answer]
KEPT = [code for code, answer in ROWS if answer.startswith("no")]


def test_the_codes_exist_and_stand_once():
    codes = [code for code, _ in ROWS]
    assert codes
    assert [code for code in codes if code not in rules()] == []
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("code", DROPPED)
def test_what_is_to_be_dropped_can_be_dropped(code):
    (outcome,) = convert_session([LINE], Options(drop=(code,), anonymize=False))
    assert (outcome.record is None) is (code == "missing-reply")


@pytest.mark.parametrize("code", KEPT)
def test_what_is_to_be_kept_is_no_error_which_drop_errors_would_drop(code):
    assert "error" not in rules()[code].severities


def test_each_side_has_rows():
    assert DROPPED
    assert KEPT
