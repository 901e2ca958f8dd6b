"""The Chromium that pages are opened in, and what drives it."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = ROOT / ".venv" / "web"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def chromium() -> str | None:
    """The one that ``CHROMIUM`` names, else the one on PATH."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)


def why_not() -> str:
    """Why no page can be opened; empty where one can."""
    if not chromium():
        return "no Chromium on PATH: name one with CHROMIUM="
    if not shutil.which("node"):
        return "no node on PATH"
    return (
        "" if (MODULES / "node_modules").is_dir() else "playwright-core and axe-core are not installed (make test-web)"
    )


needs_browser = pytest.mark.skipif(bool(why_not()), reason=f"skipped, pages are not opened: {why_not()}")


def seen(script: str, *arguments: str) -> dict:
    """What a script of this folder saw."""
    command = ["node", str(Path(__file__).parent / script), str(MODULES), str(chromium()), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
