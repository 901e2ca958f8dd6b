"""Whole conversations from one format to another, file by file."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pipeline import codec, formats
from pipeline.errors import ChatsquashError, UsageError
from pipeline.formats import bodies, documents, losses
from pipeline.ledger import Ledger
from pipeline.model import OURS, Conversation, Job, Json, Options, Tool
from pipeline.read import documents as read_documents
from pipeline.read import envelopes
from pipeline.read.compressed import opened
from pipeline.read.discover import discover
from pipeline.read.logs import Reader
from pipeline.read.sessions import MixedSessionsError, parts_of
from pipeline.run import conversations
from pipeline.run.convert import nothing_to_read
from pipeline.stages.select import select
from pipeline.write.groups import sanitised

_PIECE = 1 << 24
STREAM = "-"
"""Standard input, or standard output."""


class Source(NamedTuple):
    """A conversation, and what its file is called."""

    name: str
    conversation: Conversation
    passed_over: int = 0
    """Lines of its log that could not be read."""


class Translated(NamedTuple):
    """What came of a translation."""

    written: int
    lost: Counter[str]
    """What the target could not hold, by the kind of its path."""
    passed_over: Counter[str]
    """What was not read, in words."""


class LossError(ChatsquashError):
    """The target cannot hold everything, and that was asked for."""


def sources(
    paths: Iterable[str], from_format: str | None, stdin: BinaryIO, passed_over: Counter[str]
) -> Iterator[Source]:
    """Every conversation in files and folders, in order; raises ``UsageError`` for what holds none.

    Of the output of a conversion only the records are taken.  What is not read in a folder is counted.
    """
    for path in paths:
        if path == STREAM:
            yield from _from_bytes("stdin", stdin.read(), from_format)
        elif (Path(path) / OURS).is_dir():
            for record_file in sorted(Path(path).glob("*.jsonl")):
                yield from _from_file(record_file, from_format)
        elif Path(path).is_dir():
            found = discover([path], Options(), is_known=_is_known)
            passed_over.update({f"{what} in {path}": count for what, count in found.others.items()})
            if not found.jobs:
                raise UsageError(nothing_to_read([path], found))
            yield from _from_folder([Path(job.path) for job in found.jobs], from_format, passed_over)
        else:
            yield from _from_file(Path(path), from_format)


def _from_folder(files: list[Path], from_format: str | None, passed_over: Counter[str]) -> Iterator[Source]:
    """The conversations of files that nobody named; one that cannot be read is counted, if another can."""
    problem: UsageError | None = None
    read = 0
    for path in files:
        try:
            found = list(_from_file(path, from_format))
        except UsageError as failed:
            problem = failed
            passed_over[str(failed)] += 1
        else:
            read += 1
            yield from found
    if problem and not read:
        raise problem


def translate(found: Iterable[Source], to: str, *, lossless: bool = False) -> Iterator[tuple[Source, Json, list[str]]]:
    """Of each conversation its document in a format, and the paths of what that does not hold.

    ``lossless``: raises ``LossError`` at the first that would lose something.
    """
    for source in found:
        document = conversations.dump(source.conversation, to)
        lost = losses.differences(source.conversation, conversations.load(document, to))
        if lost and lossless:
            more = f" and {len(lost) - 1:,} more" if len(lost) > 1 else ""
            raise LossError(f"{source.name}: {to} cannot hold {lost[0]}{more}; without --lossless the rest is written")
        yield source, document, lost


def _is_known(path: str) -> bool:
    """Whether a ``.json`` file in a folder is a document, or a body such as this writes, too."""
    if read_documents.is_document(path):
        return True
    try:
        if not Path(path).is_file() or Path(path).stat().st_size > read_documents.LONGEST:
            return False
        conversations.recognise(_objects(Path(path).read_bytes()))
    except (OSError, UsageError):
        return False
    return True


def _from_file(path: Path, from_format: str | None) -> Iterator[Source]:
    try:
        with opened(path) as file:
            data = b"".join(iter(lambda: file.read(_PIECE), b""))
    except OSError as problem:
        raise UsageError(f"{path}: cannot be read ({problem.strerror})") from None
    try:
        yield from _from_bytes(path.stem, data, from_format)
    except UsageError as problem:
        raise UsageError(f"{path}: {problem}") from None


def _from_bytes(name: str, data: bytes, from_format: str | None) -> Iterator[Source]:
    first = next((line for line in data.split(b"\n", 50) if line.strip()), b"")
    if from_format not in documents.names() and envelopes.recognise(first) is not None:
        yield from _sessions(Job("", name, name, len(data)), data, from_format)
        return
    found = conversations.load_all(_objects(data), from_format)
    for number, conversation in enumerate(found, 1):
        yield Source(name if len(found) == 1 else f"{name}-{number}", conversation)


def _objects(data: bytes) -> list[Json]:
    """The JSON value that a file holds, or those of its lines; raises ``UsageError`` for a line that is none."""
    found, broken = read_documents.parsed(data)
    if broken:
        raise UsageError(f"line {broken[0].line} is {broken[0].reason}")
    return found


def _sessions(job: Job, data: bytes, from_format: str | None) -> Iterator[Source]:
    """The conversation of a session log, or those of a log that is known to hold several sessions."""
    try:
        found = [_session(job, data, from_format)]
    except MixedSessionsError:
        found = [_session(part, data, from_format) for part in parts_of(job, io.BytesIO(data))]
    yield from found


def _session(job: Job, data: bytes, from_format: str | None) -> Source:
    """The conversation of one session: its last snapshot and the reply."""
    ledger, name = Ledger(job.name), job.name
    entries = Reader(Options(from_format=from_format)).entries(io.BytesIO(data), job, ledger)
    snapshot = select(entries, ledger, trace_roles=False)
    if snapshot is None:
        raise UsageError("the log has no usable entry")
    entry = snapshot.entry
    messages = [*entry.messages, *([entry.reply.message] if entry.reply.message else [])]
    tools = list(map(_wrapped, snapshot.tools))
    conversation = Conversation(messages, tools)
    if not ledger.loaded:
        conversation = bodies.load(formats.named(formats.PLAIN), {"messages": messages, "tools": tools})
    return Source(entry.session_id or name, conversation, len(ledger.rejected))


def _wrapped(tool: Tool) -> Tool:
    """A definition that a record has flattened, as OpenAI has it."""
    is_flat = isinstance(tool, dict) and "name" in tool and "type" not in tool
    return {"type": "function", "function": tool} if is_flat else tool


@dataclass(frozen=True, slots=True)
class Translation:
    """What the user asked of a translation."""

    to: str
    output: str
    """A folder; with ``jsonl`` a file; or ``-``."""
    from_format: str | None = None
    jsonl: bool = False
    lossless: bool = False
    force: bool = False


def write_all(inputs: Iterable[str], wanted: Translation, stdin: BinaryIO, stdout: BinaryIO) -> Translated:
    """Translate files and folders to a folder, a file of lines or a stream.

    Raises ``UsageError`` for what cannot be read, told or written, and ``LossError``.
    """
    lost: Counter[str] = Counter()
    passed_over: Counter[str] = Counter()
    found = sources(inputs, wanted.from_format, stdin, passed_over)
    written: list[tuple[str, bytes]] = []  # all of it, since nothing is written where one cannot be
    for source, document, paths in translate(found, wanted.to, lossless=wanted.lossless):
        written.append((source.name, codec.dumps(document) + b"\n"))
        passed_over[f"lines of {source.name} that cannot be read"] += source.passed_over
        lost.update(map(losses.kind, paths))
    if wanted.output == STREAM:
        if len(written) > 1 and not wanted.jsonl:
            raise UsageError(f"{len(written)} conversations: print them with --jsonl, or name a folder")
        stdout.writelines(data for _, data in written)
        stdout.flush()
    elif wanted.jsonl:
        _write_file(Path(wanted.output), b"".join(data for _, data in written), force=wanted.force)
    else:
        for path, data in _placed(Path(wanted.output), written, force=wanted.force):
            _write_file(path, data, force=wanted.force)
    return Translated(len(written), lost, +passed_over)


def _placed(folder: Path, written: list[tuple[str, bytes]], *, force: bool) -> list[tuple[Path, bytes]]:
    """Where each document goes; raises ``UsageError`` for a file that is there, before any is written."""
    taken: set[str] = set()
    placed = []
    for name, data in written:
        label = sanitised(name)
        names = chain([label], (f"{label}-{number}" for number in count(2)))
        free = next(each for each in names if each.casefold() not in taken)
        taken.add(free.casefold())
        path = folder / f"{free}.json"
        _refuse(path, force=force)
        placed.append((path, data))
    folder.mkdir(parents=True, exist_ok=True)
    return placed


def _refuse(path: Path, *, force: bool) -> None:
    if not force and os.path.lexists(path):
        raise UsageError(f"{path}: is there already; --force replaces it")


def _write_file(path: Path, data: bytes, *, force: bool) -> None:
    """Write a file, which appears whole."""
    _refuse(path, force=force)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    except OSError as problem:
        raise UsageError(f"{path}: cannot be written ({problem.strerror})") from None
    finally:
        beside.unlink(missing_ok=True)
