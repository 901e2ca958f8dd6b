"""Run the commands of a case with one version of the package."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

from tests.same_bytes.cases import EARLIER, Case
from tests.same_bytes.compare import Outcome, files, without_root

SECONDS = 300
"""After which a command is given up."""


class Side:
    """A version of the package; ``sources`` is the folder that contains the package."""

    def __init__(self, package: Path, cache: Path, earlier: Side | None = None) -> None:
        """``earlier`` runs the steps that precede both sides."""
        self._package, self._bytecode, self._earlier = package, cache / "bytecode", earlier or self
        asked = [sys.executable, "-c", "import chatsquash; print(chatsquash.__file__)"]
        done = subprocess.run(asked, env=self.environment(Path("/")), capture_output=True, text=True, check=False)
        if not Path(done.stdout.strip() or "/").is_relative_to(package):
            sys.exit(f"{package}: another version was imported, {done.stdout.strip() or done.stderr.strip()}")

    def environment(self, folder: Path) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(self._package),
            "PYTHONPYCACHEPREFIX": str(self._bytecode),
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder.parent),
            "CHATSQUASH_ANONYMIZE_KEY_FILE": "key",
            "NO_COLOR": "1",
            "COLUMNS": "100",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
        }

    def outcome(self, case: Case, root: Path, folders: Path) -> Outcome:
        """Run all steps of a case in a new folder below ``root``, which is removed."""
        folder = prepared(case, root / case.folder, folders)
        outcome: Outcome = {}
        for number, step in enumerate(case.steps, 1):
            if callable(step):
                step(folder)
                continue
            prefix = f"{number} {' '.join(step)}"
            if step[:1] == (EARLIER,):
                self._earlier._run(step[1:], folder)
                continue
            code, out, err = self._run(step, folder)
            outcome[f"{prefix} code"] = code
            outcome[f"{prefix} stdout"] = without_root(out, root)
            outcome[f"{prefix} stderr"] = without_root(err, root)
        outcome |= files(folder, root, lambda path: path.parts[0] in case.inputs)
        shutil.rmtree(folder)
        return outcome

    def _run(self, step: tuple[str, ...], folder: Path) -> tuple[bytes, bytes, bytes]:
        try:
            done = subprocess.run(
                self.command(*step),
                cwd=folder,
                env=self.environment(folder),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return b"timeout", b"", b""
        return str(done.returncode).encode(), done.stdout, done.stderr

    @staticmethod
    def command(*arguments: str) -> list[str]:
        return [sys.executable, "-m", "chatsquash", *arguments]


def prepared(case: Case, folder: Path, folders: Path) -> Path:
    """A new folder with the inputs of a case, which are copied from ``folders``."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "home").mkdir(parents=True)
    (folder / "key").write_bytes(b"a fixed key of pseudonyms, 32 by")
    (folder / "key").chmod(0o600)
    for name, source in case.inputs.items():
        shutil.copytree(folders / source, folder / name, symlinks=True)
    for name, text in case.texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def load(path: Path) -> Outcome | None:
    """An outcome in the cache."""
    return pickle.loads(zlib.decompress(path.read_bytes())) if path.exists() else None


def save(path: Path, outcome: Outcome) -> None:
    """Write an outcome to the cache; other processes see all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(zlib.compress(pickle.dumps(outcome), 1))
    temporary.replace(path)
