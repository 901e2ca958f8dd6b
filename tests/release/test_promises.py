"""Every promise of docs/explanation/promises.md names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (?P<promise>[^|]+) \| (?P<tests>`tests/[^|]*) \|$", re.MULTILINE)


def test_every_promise_has_a_test():
    page = (ROOT / "docs" / "explanation" / "promises.md").read_text(encoding="utf-8")
    rows = list(ROW.finditer(page))
    assert len(rows) == len(re.findall(r"^\| (?!Promise|---)", page, re.MULTILINE)) > 15
    missing = [name for row in rows for name in re.findall(r"`([^`]+)`", row["tests"]) if not (ROOT / name).exists()]
    assert missing == []
