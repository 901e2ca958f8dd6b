"""The manifest of a run, ``run.json``: its options and counts, and all inputs and outputs with their hashes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

import orjson
from xxhash import xxh3_128_hexdigest

from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.options import Options, list_options
from chatsquash.core.outcome import Record
from chatsquash.core.registry import plugin_versions
from chatsquash.core.text import printable, printable_json
from chatsquash.core.version import __version__
from chatsquash.dataset.option_rules import can_have
from chatsquash.dataset.store import RUN, Output
from chatsquash.dataset.summary import Summary
from chatsquash.redaction.pseudonyms import fingerprint

SCHEMA_VERSION = 1
_MAX_MEMORY = 4 << 20
"""Maximum number of bytes of inputs in memory; more are written to a temporary file."""


class Manifest:
    """Collects the inputs of a run and writes the manifest at its end."""

    def __init__(self, out: Output, options_json: dict[str, object]) -> None:
        self._out, self._options_json = out, options_json
        self._inputs = bytearray()  # as JSON text, which needs a tenth of the memory of objects
        self._spill: BinaryIO | None = None  # earlier inputs, if there are many
        self.records_made = RecordsMade()
        self.logs = 0
        """Number of files that the inputs are from; the inputs of one file are consecutive."""
        self._last: tuple[int, str, str] | None = None

    def add(self, log: Log, digest: str, path_digest: str = "") -> None:
        """Add an input; ``path_digest`` identifies its path if private values in it were replaced."""
        path, key = log.display_path, (log.number, log.display_path, path_digest)
        if key != self._last:
            self.logs += 1
            self._last = key
        entry = {"path": printable(path), "size": log.size, "xxh3_128": digest}
        if path_digest:
            entry["path_digest"] = path_digest
        self._inputs += (b",\n    " if self._inputs or self._spill else b"") + printable_json(entry)
        if len(self._inputs) > _MAX_MEMORY:
            self._spill = self._spill or self._out.scratch()
            self._spill.write(self._inputs)
            self._inputs.clear()

    def write(self, summary: Summary) -> None:
        """Write the manifest, which lists all staged files."""
        outputs = [
            {"path": file.name, "size": file.size, "lines": file.lines, "sha256": file.digest.hexdigest()}
            for file in self._out.staged_files()
        ]
        manifest = {
            "schema_version": SCHEMA_VERSION,
            "chatsquash_version": __version__,
            **({"plugins": packages} if (packages := plugin_versions()) else {}),
            "compiled": None,
            "options": self._options_json,
            "counts": summary.counts(),
            "records_made": self.records_made.as_json(),
            "seconds": round(summary.seconds, 3),
            "outputs": outputs,
        }
        # The inputs are already encoded, so they are appended one per line.
        rest = orjson.dumps(manifest, option=orjson.OPT_INDENT_2).removesuffix(b"\n}")
        self._out.write(RUN, rest + b',\n  "inputs": [\n    ')
        for piece in self._spilled():
            self._out.write(RUN, piece)
        self._out.write(RUN, self._inputs + b"\n  ]\n}\n")

    def _spilled(self) -> Iterator[bytes]:
        if self._spill:
            self._spill.seek(0)
            yield from iter(partial(self._spill.read, _MAX_MEMORY), b"")


class RecordsMade:
    """The number and a checksum of the records of sessions, before any are filtered."""

    def __init__(self) -> None:
        self._count = self._sum = 0

    def add(self, records: Iterable[Record]) -> None:
        """Add records."""
        for record in records:
            self._count += 1
            self._sum += int.from_bytes(record.digest, "big")

    def add_counts(self, counts: dict[str, Any]) -> None:
        """Add the counts of a part of the sessions, as returned by ``as_json``."""
        self._count += counts["count"]
        self._sum += int(counts["xxh3_128_sum"], 16)

    def as_json(self) -> dict[str, Any]:
        """Return the member of ``run.json``; the sum of hashes does not depend on the order of records."""
        return {"count": self._count, "xxh3_128_sum": f"{self._sum % (1 << 128):032x}"}


def describe(options: Options) -> dict[str, object]:
    """Return the options that affect the output, as in ``run.json``; the key is replaced by its fingerprint."""
    names = (each.name for each in list_options(type(options)) if each.decides != "nothing" and not each.secret)
    values = {name: _json_value(getattr(options, name)) for name in names}
    key = options.anonymize_key if options.has_key else None
    return {**values, "anonymize_key_fingerprint": fingerprint(key) if key else None}


def _json_value(value: object) -> object:
    if isinstance(value, bytes):  # the content of a file
        return xxh3_128_hexdigest(value)
    return [printable(each) for each in value] if isinstance(value, tuple | list) else value


def non_default_options(options_json: Mapping[str, object], kind: type[Options] = Options) -> dict[str, object]:
    """Return the options in ``run.json`` that differ from their defaults, without the key and paths of logs."""
    usual = describe(kind())
    on_card = {each.name for each in list_options(kind) if each.on_card}
    return {name: value for name, value in options_json.items() if name in on_card and value != usual[name]}


def parse_options(options_json: Mapping[str, Any], groups: Collection[str]) -> dict[str, Any]:
    """Parse the options of some groups from ``run.json``; options stored as a hash are skipped.

    Raises:
        UsageError: If an option cannot have its value.
    """
    values: dict[str, Any] = {}
    for option in list_options():
        if option.group not in groups or option.content or option.secret or option.name not in options_json:
            continue
        value = options_json[option.name]
        value = tuple(value) if isinstance(value, list) else value
        if not can_have(option, value):
            raise UsageError(f"run.json: {option.name} has an invalid value; chatsquash verify lists all changes")
        values[option.name] = value
    return values
