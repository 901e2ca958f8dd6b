"""The inputs of all cases: taken from one revision, so that no change of the working tree changes them."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
REVISION = "182959f8"
GENERATED = 300
TIME = 1_790_000_000
"""When all inputs were last modified."""
_SOURCES = ("pipeline", "pyproject.toml", "tests", "bench", "sample_logs")
_GENERATE = """
import sys
from pathlib import Path
from tests.plain.logs import calm_log, log
for seed in range(int(sys.argv[2])):
    folder = Path(sys.argv[1], f"{seed % 10}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{seed:03}.jsonl").write_bytes((calm_log if seed % 3 == 0 else log)(seed))
"""


def sources(revision: str, cache: Path) -> Path:
    """The files of a revision, unpacked once."""
    return once(cache / f"sources-{_full(revision)[:12]}", lambda folder: _unpack(revision, folder))


def once(folder: Path, make: Callable[[Path], None]) -> Path:
    """Make a folder if it does not exist yet; another process may make it at the same time."""
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".making-", dir=folder.parent))
        make(temporary)
        temporary.chmod(0o755)
        try:
            temporary.rename(folder)
        except OSError:
            shutil.rmtree(temporary)
    return folder


def key(revision: str) -> str:
    """What the outcomes of the base depend on beside their cases, in a short name."""
    digest = hashlib.sha256(sys.version.encode())
    scripts = [Path(__file__).with_name(name) for name in ("inputs.py", "run.py", "states.py")]
    for path in [*scripts, *_exchanges()]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return f"{_full(revision)[:12]}-{digest.hexdigest()[:12]}"


def make(cache: Path, folder: Path) -> None:
    """Write all inputs into a folder."""
    source = sources(REVISION, cache)
    shutil.copytree(source / "sample_logs", folder / "samples")
    golden = source / "tests" / "golden"
    for case in sorted(logs.parent for logs in golden.glob("*/*/logs")):
        name = f"{case.parent.name}/{case.name}"
        shutil.copytree(case / "logs", folder / "golden" / name)
        options = case / "options.json"
        if options.exists():
            text = json.dumps(json.loads(options.read_text(encoding="utf-8")), sort_keys=True)
            group = folder / "options" / hashlib.sha256(text.encode()).hexdigest()[:8]
            shutil.copytree(case / "logs", group / "logs" / name)
            (group / "options.json").write_text(text, encoding="utf-8")
    shutil.copytree(golden / "written", folder / "written")
    shutil.copytree(source / "tests" / "templates" / "families", folder / "templates")
    environment = {**os.environ, "PYTHONPATH": f"{source}:{source / 'pipeline'}", "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-c", _GENERATE, str(folder / "generated"), str(GENERATED)]
    subprocess.run(command, cwd=source, env=environment, check=True)
    for path in _exchanges():
        target = folder / "exchanges" / path.relative_to(os.environ["REAL_EXCHANGES"])
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (TIME, TIME))


def _exchanges() -> list[Path]:
    given = os.environ.get("REAL_EXCHANGES")
    return sorted(path for path in Path(given).rglob("*") if path.is_file()) if given else []


def _full(revision: str) -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--verify", f"{revision}^{{commit}}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{revision}: no such revision here ({done.stderr.strip()})")
    return done.stdout.strip()


def _unpack(revision: str, folder: Path) -> None:
    done = subprocess.run(["git", "archive", revision, *_SOURCES], cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
