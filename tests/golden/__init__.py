"""Golden cases: what stands in ``<format>/<case>/logs`` becomes ``<format>/<case>/expected.jsonl``.

A case is a folder.  ``logs/*.jsonl`` are converted in the order of their names, with the options in ``options.json`` if
there is one (fields of ``pipeline.Options``; addresses are left alone unless it says otherwise).  What is expected comes
from the oracle, never from the code under test: ``python -m tests.golden`` writes every ``expected.jsonl`` anew.  Read
what it changed before committing it.
"""

from __future__ import annotations

import json
from pathlib import Path

from pipeline import Options
from tests import oracle

ROOT = Path(__file__).parent


def cases() -> list[Path]:
    """The folders of all cases."""
    return sorted(folder.parent for folder in ROOT.glob("*/*/logs"))


def logs(case: Path) -> list[Path]:
    return sorted((case / "logs").glob("*.jsonl"))


def options(case: Path) -> Options:
    given = case / "options.json"
    chosen = json.loads(given.read_text(encoding="utf-8")) if given.exists() else {}
    return Options(**{"anonymize": False, **chosen})


def by_oracle(case: Path) -> bytes:
    """The records of a case, a line each, as the oracle converts them."""
    records = [oracle.convert(log.read_bytes(), log.stem, options(case)) for log in logs(case)]
    return b"".join(record + b"\n" for record in records if record is not None)


def write() -> None:
    """Write what is expected of every case."""
    for case in cases():
        expected = case / "expected.jsonl"
        written = by_oracle(case)
        if not expected.exists() or expected.read_bytes() != written:
            expected.write_bytes(written)
            print(expected.relative_to(ROOT))
