"""Whole conversations from one format to another: what is read, what is written, what is said of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from chatsquash.core.errors import ChatsquashError, UsageError
from chatsquash.core.options import Options
from chatsquash.core.overview import Headline, Overview, Row, count_parts
from chatsquash.core.text import escape, pluralize
from chatsquash.core.urls import refuse_remote
from chatsquash.redaction.pseudonyms import load_key
from chatsquash.translate import conversations, sendable
from chatsquash.translate.output import DocumentWriter, is_lines, output
from chatsquash.translate.sendable import ForeignReasoning
from chatsquash.translate.sources import STREAM, Sources
from chatsquash.translate.work import LABELS, PieceResult, Tally, Task, translate_all

_SHOWN = 20  # lines that cannot be read
_WORTH_A_PROCESS = 8 << 20
"""Bytes below which starting a process takes longer than it saves."""


@dataclass(frozen=True, slots=True)
class Translation:
    """What the user asked of a translation."""

    to: str
    output: str
    """A folder; with ``jsonl``, or where its name says so, a file, plain or compressed; or ``-``."""
    from_format: str | None = None
    all_branches: bool = False
    """Also the branches of a history that others go on from."""
    jsonl: bool = False
    lossless: bool = False
    force: bool = False
    sendable: bool = False
    """Fitted to what the service takes."""
    foreign_reasoning: ForeignReasoning | None = None
    """With ``sendable``: what becomes of reasoning that the service has not signed."""
    anonymize: bool = False
    """Replace e-mail addresses by pseudonyms."""
    anonymize_key_file: str | None = None
    private: Options | None = None
    """What else is replaced, addresses too where they say so, with the key."""
    workers: int = 1

    @property
    def is_jsonl(self) -> bool:
        """Whether a line is written for each conversation."""
        return self.jsonl or (is_lines(self.output) and not Path(self.output).is_dir())

    def redaction(self) -> Options | None:
        """What is replaced, with the key; ``None`` where that is nothing."""
        options = self.private or Options(anonymize=False)
        options = replace(options, anonymize=options.anonymize or self.anonymize)
        if options.has_key and options.anonymize_key is None:
            options = replace(options, anonymize_key=load_key(self.anonymize_key_file))
        return options if options.has_key else None


class TranslationReport(Tally, kw_only=True):
    """The outcome of a translation."""

    to: str
    """The format that was written."""
    written: int = 0
    complete: bool = True
    """Whether every line and every file could be read."""
    anonymized: bool = False

    def take(self, done: PieceResult) -> None:
        """Add the outcome of a piece."""
        self.add(done)
        self.written += len(done.documents)
        self.complete = self.complete and not (done.cut or done.bad_lines)

    def lines(self) -> Iterator[str]:
        """The first lines that cannot be read, escaped, and how many more there are."""
        yield from map(escape, self.bad_lines[:_SHOWN])
        if len(self.bad_lines) > _SHOWN:
            yield f"... and {pluralize(len(self.bad_lines) - _SHOWN, 'more line')} that cannot be read"

    def overview(self) -> Overview:
        """What people should know about the translation."""
        written = Headline((f"{pluralize(self.written, 'conversation')} written as {self.to}",))
        counts = {label: getattr(self, name) for name, label in LABELS.items()}
        rows = tuple(Row(label, sum(kinds.values()), _most_first(kinds)) for label, kinds in counts.items() if kinds)
        stay = self.has_addresses and not self.anonymized
        step = Headline(("e-mail addresses are unchanged;", "add --anonymize to replace them"), "warning")
        return Overview((written,), rows, step if stay else None)


def _most_first(kinds: Mapping[str, int]) -> tuple[str, ...]:
    return count_parts(sorted(kinds.items(), key=lambda each: (-each[1], each[0])))


class LossError(ChatsquashError):
    """Something would be lost, and that was forbidden."""


Observer = Callable[[int, int], None]
"""Told the bytes of each piece that is done, and those of all that is known to be there."""


def write_all(
    inputs: Iterable[str],
    wanted: Translation,
    stdin: BinaryIO | None,
    stdout: BinaryIO | None,
    observe: Observer | None = None,
) -> TranslationReport:
    """Translate files, folders and globs to a folder, a file of lines or a stream.

    What is written appears at the end, so nothing does where something is refused.  Raises ``UsageError`` for what
    cannot be read, told or written, and ``LossError``.
    """
    _refuse_wrong(wanted)
    refuse_remote(wanted.output)
    inputs = list(inputs)
    out = None if wanted.output == STREAM else Path(wanted.output)
    sources = Sources(wanted.from_format, out)
    size = _size(inputs)
    workers = min(wanted.workers, size // _WORTH_A_PROCESS + 1) if STREAM not in inputs else wanted.workers
    private = wanted.redaction()
    whole = TranslationReport(
        to=wanted.to, passed_over=sources.passed_over, anonymized=bool(private and private.anonymize)
    )
    with output(wanted.output, stdout, jsonl=wanted.is_jsonl, force=wanted.force) as writer:
        named = _DocumentNames(writer)
        failures = _Failures()
        for done in translate_all(sources.pieces(inputs, stdin), _work(wanted, private), workers):
            if done.refused:
                raise LossError(f"{done.refused}; without --lossless the rest is written")
            failures.take(done)
            named.write(done)
            whole.take(done)
            if observe:
                observe(done.piece.size, size)
        named.close()
        failures.settle(whole, lossless=wanted.lossless)
        writer.commit()
    return whole


def _refuse_wrong(wanted: Translation) -> None:
    conversations.holds_branches(wanted.to)  # which has to be written
    conversations.named(wanted.from_format or wanted.to)
    if wanted.force and wanted.output == STREAM:
        raise UsageError("--force has no effect with --output -: use only one of them")
    if wanted.foreign_reasoning and not wanted.sendable:
        raise UsageError("--foreign-reasoning has no effect without --sendable: add it")
    if wanted.sendable and sendable.service_of(conversations.named(wanted.to)) is None:
        raise UsageError(f"{wanted.to} is sent to no service: leave --sendable out")


def _work(wanted: Translation, private: Options | None) -> Task:
    return Task(
        wanted.to,
        wanted.from_format,
        wanted.all_branches,
        wanted.lossless,
        wanted.sendable,
        wanted.foreign_reasoning or "drop",
        indented=not wanted.is_jsonl and wanted.output == STREAM,
        private=private,
    )


def _size(inputs: list[str]) -> int:
    """Bytes of all files that are named or lie in folders, for progress; compressed ones as they lie there."""
    size = 0
    for place in inputs:
        path = Path(place)
        files = path.rglob("*") if path.is_dir() else [path]
        size += sum(each.stat().st_size for each in files if each.is_file())
    return size


class _DocumentNames:
    """Gives documents their names: that of the session or the file, with a number where a file has several."""

    def __init__(self, writer: DocumentWriter) -> None:
        self._writer = writer
        self._file = 0
        self._count = 0
        self._first: tuple[str, bytes] | None = None
        """The first document of a file, as long as it is the only one."""

    def write(self, done: PieceResult) -> None:
        """Write the documents of a piece."""
        if done.piece.file != self._file:
            self.close()
            self._file, self._count = done.piece.file, 0
        for session, data in done.documents:
            self._count += 1
            if session is not None:
                self._writer.write(session, data)
            elif self._count == 1:
                self._first = done.piece.name, data
            else:
                self._settle(f"{done.piece.name}-1")
                self._writer.write(f"{done.piece.name}-{self._count}", data)

    def close(self) -> None:
        """Write what is left."""
        if self._first:
            self._settle(self._first[0])

    def _settle(self, name: str) -> None:
        if self._first:
            self._writer.write(name, self._first[1])
            self._first = None


class _Failures:
    """The pieces that cannot be read: of folders they are counted, if another can be."""

    def __init__(self) -> None:
        self._found: Counter[int] = Counter()
        """How many files each folder has."""
        self._failed: dict[int, list[str]] = {}
        self._unreadable: list[str] = []
        self._empty = ""

    def take(self, done: PieceResult) -> None:
        """Note how a piece came out; raises ``UsageError`` for one that must be readable."""
        argument = done.piece.argument
        self._found[argument] += 1
        self._empty = self._empty or done.empty
        if not done.failure:
            return
        if done.is_unreadable and not done.piece.is_found:
            self._unreadable.append(done.failure)
        elif done.piece.is_found:
            self._failed.setdefault(argument, []).append(done.failure)
        else:
            raise UsageError(done.failure)

    def settle(self, whole: TranslationReport, *, lossless: bool) -> None:
        """Say what could not be read; raises where that is all there was, or where nothing may be lost."""
        for argument, failures in self._failed.items():
            if len(failures) == self._found[argument]:
                raise UsageError(failures[-1])
        said = [*self._unreadable, *(failure for failures in self._failed.values() for failure in failures)]
        if said and lossless:
            raise LossError(f"{said[0]}; without --lossless the rest is written")
        if said and not whole.written:
            raise UsageError(said[-1])
        if self._empty and not whole.written:
            raise UsageError(self._empty)
        whole.passed_over.update(said)
        whole.complete = whole.complete and not said
