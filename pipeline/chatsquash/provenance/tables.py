"""Write the provenance of a dataset: tables of its logs, its records and their messages, in Parquet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from chatsquash.core import jsonio
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome, Place, Record
from chatsquash.core.text import printable
from chatsquash.dataset.claim import PROVENANCE
from chatsquash.dataset.columns import Field
from chatsquash.dataset.parquet import ParquetFile
from chatsquash.dataset.store import Output
from chatsquash.provenance import statement
from chatsquash.provenance.values import MessageOrigin, SourceReply, StoredFile, unpack_files, unpack_origins

_LARGEST = 64 << 20
"""Bytes of rows in a file of a table."""
_PROOFS = ("none", "partial", "complete")
LOGS = (Field("path", "text"), Field("size", "int"), Field("sha256", "text"))
RECORDS = (
    *(Field("file", "text"), Field("row", "int"), Field("session", "text"), Field("conversation", "text")),
    *(Field("log", "text"), Field("sha256", "text"), Field("line", "int")),
    *(Field("start", "int"), Field("stop", "int")),
    *(Field("messages", "int"), Field("trained", "int"), Field("proof", "text"), Field("changes", "json")),
)
MESSAGES = (
    *(Field("file", "text"), Field("row", "int"), Field("place", "text"), Field("role", "text")),
    *(Field("trained", "bool"), Field("proof", "text"), Field("reason", "text")),
    *(Field("log", "text"), Field("sha256", "text"), Field("line", "int"), Field("offset", "int")),
    *(Field("start", "int"), Field("stop", "int"), Field("changes", "json"), Field("texts", "json")),
    *(Field("logs", "json"), Field("reply_log", "text"), Field("reply_line", "int")),
    *(Field("model", "text"), Field("model_at", "json"), Field("time", "text"), Field("time_at", "json")),
)


class Provenance:
    """Collects the rows of the tables, which are written at the end, since places are only known then."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._rows = {"logs": out.scratch(), "records": out.scratch(), "messages": out.scratch()}
        self._paths: set[str] = set()
        self._proofs: Counter[tuple[str, str]] = Counter()
        self._trained: Counter[str] = Counter()
        # Checked now to fail before the conversion rather than after it.
        out.refuse_foreign(f"{PROVENANCE}/any")

    def add(self, log: Log, outcome: Outcome, places: Iterable[Place]) -> None:
        """Add a session and its records."""
        names, files = _names(log), unpack_files(outcome.account.files)
        for path, file in zip(names, files, strict=False):
            if path not in self._paths:
                self._paths.add(path)
                self._write("logs", {"path": path, "size": file.size, "sha256": file.sha256})
        for record, place in zip(outcome.records, places, strict=False):
            where = {"file": place.file, "row": place.row}
            origins = unpack_origins(record.origins)
            about = _record(log, outcome, record)
            number = names.index(about["log"]) if about["log"] in names else 0
            about["sha256"] = files[number].sha256 if number < len(files) else ""
            self._write("records", {**where, **about, **_summary(origins, number)})
            for origin in origins:
                self._proofs[origin.proof, origin.reason] += 1
                if origin.trained:
                    self._trained[origin.proof] += 1
                self._write("messages", {**where, **_message(origin, names, files)})

    def finish(self, final: dict[str, str]) -> dict[str, object]:
        """Write the tables, with placeholders in places replaced as in ``final``; return counts for ``run.json``."""
        for name, fields in (("logs", LOGS), ("records", RECORDS), ("messages", MESSAGES)):
            self._table(name, [*fields], final)
        return {
            "messages": self._proofs.total(),
            "complete": self._proofs["complete", ""],
            "partial": self._reasons("partial"),
            "none": self._reasons("none"),
            "trained": {proof: self._trained[proof] for proof in reversed(_PROOFS)},
        }

    def write_statement(self, options: Options) -> None:
        """Write the statement about all files, after ``run.json``."""
        statement.write(self._out, map(jsonio.loads, _lines(self._rows["logs"], {})), options.provenance_key)

    def _reasons(self, proof: str) -> dict[str, int]:
        return {reason: count for (each, reason), count in sorted(self._proofs.items()) if each == proof}

    def _write(self, name: str, row: dict[str, Any]) -> None:
        self._rows[name].write(jsonio.dumps(row) + b"\n")

    def _table(self, name: str, fields: list[Field], final: dict[str, str]) -> None:
        count = size = 0
        table: ParquetFile | None = None
        for line in _lines(self._rows[name], final):
            if table is None or size > _LARGEST:
                if table:
                    table.finish()
                table, size = ParquetFile(self._out, f"{PROVENANCE}/{name}-{count:05}.parquet", fields), 0
                count += 1
            table.add(line, {})
            size += len(line)
        table = table or ParquetFile(self._out, f"{PROVENANCE}/{name}-00000.parquet", fields)
        table.finish()


def _lines(file: BinaryIO, final: dict[str, str]) -> Iterator[bytes]:
    """Yield the rows in a file; only the beginning of a row, its place, contains placeholders."""
    replacements = [(unknown.encode(), known.encode()) for unknown, known in final.items()]
    file.seek(0)
    for line in file:
        head, comma, rest = line.rstrip(b"\n").partition(b",")
        for unknown, known in replacements:
            head = head.replace(unknown, known)
        yield head + comma + rest


def _names(log: Log) -> list[str]:
    """Return the names of the files of a session, in the order of ``files.file_paths``."""
    own = [piece.display_path for piece in log.pieces] or [log.display_path]
    return [printable(path) for path in (*own, *(agent.display_path for agent in log.agents))]


def _record(log: Log, outcome: Outcome, record: Record) -> dict[str, Any]:
    entry = record.entry or outcome.output.entry
    path, line = log.at(entry.line if entry else None)
    return {
        "session": printable(outcome.session),
        "conversation": printable(record.conversation),
        "log": printable(path),
        "line": line,
    }


def _summary(origins: list[MessageOrigin], file: int) -> dict[str, Any]:
    """Return what the messages of a record have in common; the range is that of those in its file."""
    proofs = [origin.proof for origin in origins]
    own = [origin for origin in origins if origin.file == file]
    return {
        "start": min((origin.start for origin in own if origin.start is not None), default=None),
        "stop": max((origin.stop for origin in own if origin.stop is not None), default=None),
        "messages": len(origins),
        "trained": sum(origin.trained for origin in origins),
        "proof": min(proofs, key=_PROOFS.index, default="none"),
        "changes": [*dict.fromkeys(change for origin in origins for change in origin.changes)],
    }


def _message(origin: MessageOrigin, names: list[str], files: list[StoredFile]) -> dict[str, Any]:
    file, reply = origin.file, origin.reply
    return {
        "place": origin.place,
        "role": origin.role,
        "trained": origin.trained,
        "proof": origin.proof,
        "reason": origin.reason or None,
        "log": names[file] if file is not None else None,
        "sha256": files[file].sha256 if file is not None else None,
        "line": origin.line,
        "offset": origin.offset,
        "start": origin.start,
        "stop": origin.stop,
        "changes": origin.changes,
        "texts": jsonio.loads(origin.texts),
        "logs": names,
        **(_reply(reply, names) if reply else {}),
    }


def _reply(reply: SourceReply, names: list[str]) -> dict[str, Any]:
    return {
        "reply_log": names[reply.file],
        "reply_line": reply.line,
        "model": printable(reply.model) or None,
        "model_at": list(reply.model_at) or None,
        "time": reply.time or None,
        "time_at": list(reply.time_at) or None,
    }
