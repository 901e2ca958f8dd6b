"""Every promise of SECURITY.md names how it is kept, and tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (?P<promise>[^|]+) \| (?P<how>[^|]*) \| (?P<tests>[^|]*) \|$", re.MULTILINE)


def test_every_promise_has_a_test():
    rows = [
        row for row in ROW.finditer((ROOT / "SECURITY.md").read_text(encoding="utf-8")) if row["promise"] != "Promise"
    ]
    promises = [row for row in rows if not row["promise"].startswith("**")]
    assert len(promises) > 15
    for row in promises:
        assert row["how"], row["promise"]
        named = re.findall(r"`([^`]+)`", row["tests"])
        assert named, row["promise"]
        assert all((ROOT / name).exists() for name in named), row["promise"]
