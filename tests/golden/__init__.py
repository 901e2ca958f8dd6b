"""Golden cases: what stands in ``<format>/<case>/logs`` becomes ``<format>/<case>/expected.jsonl``.

A case is a folder.  ``logs/*.jsonl`` are converted in the order of their names, with the options in ``options.json`` if
there is one (fields of ``chatsquash.Options``; addresses are left alone unless it says otherwise).  ``README.md`` says
of an agent's or a client's file which version writes it so, and where that was seen.  What is expected was
read beside the logs, record by record, and a change of it has to be, too: nothing writes it.

``written`` holds one conversation, a request to Anthropic, and what it is in each format that is written; that was
compared with the formats by reading.
"""

from __future__ import annotations

import json
from pathlib import Path

from chatsquash import Options
from chatsquash.core.log import Log
from chatsquash.formats import documents
from chatsquash.session.lineages import Lineages

ROOT = Path(__file__).parent
WRITTEN = ROOT / "written"


def cases() -> list[Path]:
    """The folders of all cases."""
    return sorted(folder.parent for folder in ROOT.glob("*/*/logs"))


def logs(case: Path) -> list[Path]:
    """The logs of a case; what lies in folders beside them is told by them."""
    files = [path for path in (case / "logs").iterdir() if path.is_file()]
    files = files or [path for path in (case / "logs").rglob("*") if path.is_file()]
    return sorted(path for path in files if not any(Path(each).exists() for each in documents.owners(str(path))))


def source(case: Path, log: Path) -> Path | list[bytes]:
    """The lines of a log, or its path where other files tell something of it."""
    has_others = any(path.is_dir() or path.suffix != ".jsonl" for path in (case / "logs").iterdir())
    has_others |= case.parent.name in documents.names() and bool(documents.get_format(case.parent.name).COMPANION_MARKS)
    return log if has_others else log.read_bytes().split(b"\n")


def is_of_logs_alone(case: Path) -> bool:
    """Whether each log of a case becomes what it does whatever stands beside it."""
    return len(logs(case)) == 1 or (options(case).sessions_by != "chain" and not _repeat(logs(case)))


def _repeat(paths: list[Path]) -> bool:
    """Whether a log begins with what another one has."""
    found = [Log(str(path), str(path), path.name, 0, number=number) for number, path in enumerate(paths)]
    return bool(Lineages(found, Options()).groups())


def options(case: Path, **more: object) -> Options:
    given = case / "options.json"
    chosen = json.loads(given.read_text(encoding="utf-8")) if given.exists() else {}
    return Options(**{"anonymize": False, **chosen, **more})
