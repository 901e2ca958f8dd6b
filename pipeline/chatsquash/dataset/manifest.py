"""The manifest of a run, ``run.json``: its options as JSON, its counts, and all its files with their hashes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

import orjson
from xxhash import xxh3_128_hexdigest

from chatsquash.core import plugins
from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.options import Options, list_options
from chatsquash.core.outcome import Record
from chatsquash.core.text import printable, printable_json
from chatsquash.core.version import __version__
from chatsquash.dataset.option_rules import can_have
from chatsquash.dataset.store import RUN, Output
from chatsquash.dataset.summary import Summary
from chatsquash.redaction.pseudonyms import fingerprint

SCHEMA_VERSION = 1
_HELD = 4 << 20
"""Bytes of inputs in memory; more wait in a file."""


class Manifest:
    """Gathers the inputs of a run, and writes the manifest at its end."""

    def __init__(self, out: Output, described: dict[str, object]) -> None:
        self._out, self._described = out, described
        self._inputs = bytearray()  # as they will be written, which takes a tenth of the memory of objects
        self._before: BinaryIO | None = None  # those before them, where there are many
        self.records_made = RecordsMade()
        self.logs = 0
        """The files that the inputs are of; those of one file follow each other."""
        self._last: tuple[int, str, str] | None = None

    def add(self, log: Log, digest: str, path_digest: str = "") -> None:
        """Add an input; ``path_digest`` tells its path where something private was replaced in that."""
        if (log.number, log.display_path, path_digest) != self._last:
            self.logs += 1
            self._last = log.number, log.display_path, path_digest
        logged = {"path": printable(log.display_path), "size": log.size, "xxh3_128": digest}
        if path_digest:
            logged["path_digest"] = path_digest
        self._inputs += (b",\n    " if self._inputs or self._before else b"") + printable_json(logged)
        if len(self._inputs) > _HELD:
            self._before = self._before or self._out.scratch()
            self._before.write(self._inputs)
            self._inputs.clear()

    def write(self, summary: Summary) -> None:
        """Write the manifest of all files that are staged."""
        written = [
            {"path": file.name, "size": file.size, "lines": file.lines, "sha256": file.digest.hexdigest()}
            for file in self._out.staged_files()
        ]
        manifest = {
            "schema_version": SCHEMA_VERSION,
            "chatsquash_version": __version__,
            **({"plugins": packages} if (packages := plugins.versions()) else {}),
            "compiled": None,
            "options": self._described,
            "counts": summary.counts(),
            "records_made": self.records_made.as_json(),
            "seconds": round(summary.seconds, 3),
            "outputs": written,
        }
        # The inputs, a line each, go behind the rest as they are.
        rest = orjson.dumps(manifest, option=orjson.OPT_INDENT_2).removesuffix(b"\n}")
        self._out.write(RUN, rest + b',\n  "inputs": [\n    ')
        for piece in self._spilled():
            self._out.write(RUN, piece)
        self._out.write(RUN, self._inputs + b"\n  ]\n}\n")

    def _spilled(self) -> Iterator[bytes]:
        if self._before:
            self._before.seek(0)
            yield from iter(partial(self._before.read, _HELD), b"")


class RecordsMade:
    """Records that sessions gave, before any of them is filtered: how many, and what tells them from others."""

    def __init__(self) -> None:
        self._count = self._sum = 0

    def add(self, records: Iterable[Record]) -> None:
        """Count some of them."""
        for record in records:
            self._count += 1
            self._sum += int.from_bytes(record.digest, "big")

    def add_made(self, made: dict[str, Any]) -> None:
        """Add those that a part of the sessions gave, as ``as_json`` has them."""
        self._count += made["count"]
        self._sum += int(made["xxh3_128_sum"], 16)

    def as_json(self) -> dict[str, Any]:
        """As ``run.json`` has them; the sum of their hashes is one whatever their order."""
        return {"count": self._count, "xxh3_128_sum": f"{self._sum % (1 << 128):032x}"}


def describe(options: Options) -> dict[str, object]:
    """The options that decide the output's bytes, as ``run.json`` holds them; the key as its fingerprint."""
    deciding = (each.name for each in list_options(type(options)) if each.decides != "nothing" and not each.secret)
    chosen = {name: _json_value(getattr(options, name)) for name in deciding}
    key = options.anonymize_key if options.has_key else None
    return {**chosen, "anonymize_key_fingerprint": fingerprint(key) if key else None}


def _json_value(value: object) -> object:
    if isinstance(value, bytes):  # what a file holds
        return xxh3_128_hexdigest(value)
    return [printable(each) for each in value] if isinstance(value, tuple | list) else value


def requests(described: Mapping[str, object], kind: type[Options] = Options) -> dict[str, object]:
    """Of options as ``run.json`` has them those that are not as by default, without the key and paths of logs."""
    usual = describe(kind())
    on_card = {each.name for each in list_options(kind) if each.on_card}
    return {name: value for name, value in described.items() if name in on_card and value != usual[name]}


def as_described(recorded: Mapping[str, Any], groups: Collection[str]) -> dict[str, Any]:
    """The options of some groups that ``run.json`` tells, as ``Options`` takes them.

    Those that it has as a hash are left out.  Raises ``UsageError`` for a value that the option cannot have.
    """
    values: dict[str, Any] = {}
    for option in list_options():
        if option.group not in groups or option.content or option.secret or option.name not in recorded:
            continue
        value = recorded[option.name]
        value = tuple(value) if isinstance(value, list) else value
        if not can_have(option, value):
            raise UsageError(
                f"run.json: {option.name} cannot be what it says there: chatsquash verify says what changed"
            )
        values[option.name] = value
    return values
