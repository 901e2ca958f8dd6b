"""The manifest of a run, ``run.json``: its options, its counts, and all its files with their hashes."""

from __future__ import annotations

import orjson

import chatsquash
from chatsquash import compiled
from chatsquash.log import Log
from chatsquash.report.summary import Summary
from chatsquash.text import printable, shown
from chatsquash.write.store import RUN, Output

SCHEMA_VERSION = 1


class Manifest:
    """Gathers the inputs of a run, and writes the manifest at its end."""

    def __init__(self, out: Output, described: dict[str, object]) -> None:
        self._out, self._described = out, described
        self._inputs = bytearray()  # as they will be written, which takes a tenth of the memory of objects

    def add(self, log: Log, digest: str) -> None:
        """Add an input."""
        logged = {"path": printable(log.shown), "size": log.size, "xxh3_128": digest}
        self._inputs += (b",\n    " if self._inputs else b"") + shown(logged)

    def write(self, summary: Summary) -> None:
        """Write the manifest of all files that are staged."""
        written = [
            {"path": file.name, "size": file.size, "lines": file.lines, "sha256": file.digest.hexdigest()}
            for file in self._out.staged()
        ]
        manifest = {
            "schema_version": SCHEMA_VERSION,
            "chatsquash_version": chatsquash.__version__,
            "compiled": compiled.told() if compiled.module() else None,
            "options": self._described,
            "counts": summary.counts(),
            "seconds": round(summary.seconds, 3),
            "outputs": written,
        }
        # The inputs, a line each, go behind the rest as they are.
        rest = orjson.dumps(manifest, option=orjson.OPT_INDENT_2).removesuffix(b"\n}")
        for piece in (rest, b',\n  "inputs": [\n    ', self._inputs, b"\n  ]\n}\n"):
            self._out.write(RUN, piece)
