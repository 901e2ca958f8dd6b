"""What a run left in its output folder."""

import csv
import json
from pathlib import Path

from tests.conftest import tree


def report(name, out="out"):
    with (Path(out) / "reports" / name).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines)) if name.endswith(".csv") else list(map(json.loads, lines))


def findings(*codes, out="out"):
    return [each for each in report("findings.jsonl", out) if not codes or each["code"] in codes]


def manifest(out="out"):
    return json.loads((Path(out) / "run.json").read_bytes())


def comparable(out) -> dict[str, bytes | None]:
    """An output folder without what may differ between two runs: the seconds in ``run.json``."""
    files = tree(Path(out))
    run = json.loads(files["run.json"])
    assert run.pop("seconds") >= 0
    return {**files, "run.json": json.dumps(run).encode()}


def put(name, *lines):
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)
    )
    return name
