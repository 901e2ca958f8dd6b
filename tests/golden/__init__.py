"""Golden cases: what stands in ``<format>/<case>/logs`` becomes ``<format>/<case>/expected.jsonl``.

A case is a folder.  ``logs/*.jsonl`` are converted in the order of their names, with the options in ``options.json`` if
there is one (fields of ``chatsquash.Options``; addresses are left alone unless it says otherwise).  What is expected comes
from ``tests/oracle.py`` for OpenAI chat, whose records ``presets`` shape, and from ``tests/golden/naive`` for all else,
never from the code under test: ``python -m tests.golden`` writes every ``expected.jsonl`` anew.  Read what it changed
before committing it.  What is expected of documents, ``logs/*.json`` among them, was written by hand, and is not
written anew.

``written`` holds one conversation, a request to Anthropic, and what it is in each format that is written; that was
compared with the formats by reading, and a change of it has to be, too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import orjson

from chatsquash import Options
from chatsquash.formats import documents
from tests import oracle
from tests.golden import naive
from tests.golden.naive import presets

ROOT = Path(__file__).parent
BY_ID = ("litellm_two_sessions", "sessions_by_id")
"""The cases whose logs hold several sessions."""
WRITTEN = ROOT / "written"


def cases() -> list[Path]:
    """The folders of all cases."""
    return sorted(folder.parent for folder in ROOT.glob("*/*/logs"))


def logs(case: Path) -> list[Path]:
    return sorted((case / "logs").iterdir())


def is_by_hand(case: Path) -> bool:
    """Whether what is expected was written by hand."""
    return case.parent.name in documents.names()


def options(case: Path) -> Options:
    given = case / "options.json"
    chosen = json.loads(given.read_text(encoding="utf-8")) if given.exists() else {}
    return Options(**{"anonymize": False, **chosen})


def by_other_means(case: Path) -> bytes:
    """The records of a case, a line each, as code converts them that has nothing in common with what is tested."""
    records = [record for log in logs(case) for record in _converted(case, log)]
    return b"".join(record + b"\n" for record in records if record is not None)


def _converted(case: Path, log: Path) -> Sequence[bytes | None]:
    if case.parent.name == "openai_chat":
        return [oracle.convert(log.read_bytes(), log.stem, options(case))]
    if case.parent.name == "presets":
        specified = oracle.convert(log.read_bytes(), log.stem, options(case))
        made = presets.shaped(json.loads(specified), options(case)) if specified else None
        return [orjson.dumps(made) if made else None]
    form = case.parent.name if case.parent.name in naive.FORMATS else None
    return naive.convert(log.read_bytes(), options(case), form, by_id=case.name in BY_ID)


def write() -> None:
    """Write what is expected of every case."""
    for case in cases():
        if is_by_hand(case):
            continue
        expected = case / "expected.jsonl"
        written = by_other_means(case)
        if not expected.exists() or expected.read_bytes() != written:
            expected.write_bytes(written)
            print(expected.relative_to(ROOT))
