"""Translates files, folders and streams of conversations to another format, and reports the outcome."""

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
from chatsquash.redaction.pseudonyms import load_key
from chatsquash.storage import refuse_remote
from chatsquash.translate import conversations, sendable
from chatsquash.translate.output import DocumentWriter, Layout, is_lines, output
from chatsquash.translate.sendable import ForeignReasoning
from chatsquash.translate.sources import STREAM, Sources
from chatsquash.translate.work import LABELS, PieceResult, Tally, Task, translate_all

_MAX_LINES = 20
"""Unreadable lines that are listed."""
_MIN_PROCESS_BYTES = 8 << 20
"""Input bytes per process; with fewer, starting it takes longer than it saves."""


@dataclass(frozen=True, slots=True)
class Translation:
    """The options of a translation."""

    to: str
    output: str
    """A folder; a plain or compressed file if ``jsonl`` is set or it has such a suffix; ``-`` for standard output."""
    from_format: str | None = None
    all_branches: bool = False
    """Also write branches of a history that other branches continue."""
    jsonl: bool = False
    lossless: bool = False
    force: bool = False
    sendable: bool = False
    """Adapt the output to the service."""
    foreign_reasoning: ForeignReasoning | None = None
    """With ``sendable``: how to handle reasoning that the service has not signed."""
    anonymize: bool = False
    """Replace e-mail addresses by pseudonyms."""
    anonymize_key_file: str | None = None
    private: Options | None = None
    """Options for redaction, which may include e-mail addresses, with the key."""
    workers: int = 1

    @property
    def is_jsonl(self) -> bool:
        """Whether the output has one line per conversation."""
        return self.jsonl or (is_lines(self.output) and not Path(self.output).is_dir())

    def redaction(self) -> Options | None:
        """Return the options for redaction with the key, or ``None`` if nothing is replaced."""
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
    """Whether all lines and files were readable."""
    anonymized: bool = False

    def add_result(self, done: PieceResult) -> None:
        """Add the outcome of a piece."""
        self.add(done)
        self.written += len(done.documents)
        self.complete = self.complete and not (done.truncated or done.bad_lines)

    def lines(self) -> Iterator[str]:
        """Yield the first unreadable lines, escaped, and the number of further ones."""
        yield from map(escape, self.bad_lines[:_MAX_LINES])
        if len(self.bad_lines) > _MAX_LINES:
            yield f"... and {pluralize(len(self.bad_lines) - _MAX_LINES, 'more line')} that cannot be read"

    def overview(self) -> Overview:
        """Return the summary that is printed for the user."""
        headline = Headline((f"{pluralize(self.written, 'conversation')} written as {self.to}",))
        counts = {label: getattr(self, name) for name, label in LABELS.items()}
        rows = tuple(Row(label, sum(kinds.values()), _most_first(kinds)) for label, kinds in counts.items() if kinds)
        has_unchanged_addresses = self.has_addresses and not self.anonymized
        step = Headline(("e-mail addresses are unchanged;", "add --anonymize to replace them"), "warning")
        return Overview((headline,), rows, step if has_unchanged_addresses else None)


def _most_first(kinds: Mapping[str, int]) -> tuple[str, ...]:
    return count_parts(sorted(kinds.items(), key=lambda each: (-each[1], each[0])))


class LossError(ChatsquashError):
    """Content would be lost although ``lossless`` is set."""


Observer = Callable[[int, int], None]
"""Called after each piece with its bytes and with the bytes of all known inputs."""


def write_all(
    inputs: Iterable[str],
    translation: Translation,
    stdin: BinaryIO | None,
    stdout: BinaryIO | None,
    observe: Observer | None = None,
) -> TranslationReport:
    """Translate files, folders and globs to a folder, a file of lines or a stream; an error leaves no partial output.

    Args:
        inputs: Paths, globs, or ``-`` for standard input.
        translation: The options.
        stdin: Standard input, or ``None`` if it is closed.
        stdout: Standard output, or ``None`` if it is closed.
        observe: Called after each piece, for progress.

    Raises:
        UsageError: An input cannot be read, its format cannot be detected, or the output cannot be written.
        LossError: Content would be lost although ``lossless`` is set.
    """
    _check_options(translation)
    refuse_remote(translation.output)
    inputs = list(inputs)
    sources = Sources(translation.from_format, None if translation.output == STREAM else Path(translation.output))
    size = _size(inputs)
    workers = min(translation.workers, size // _MIN_PROCESS_BYTES + 1) if STREAM not in inputs else translation.workers
    private = translation.redaction()
    anonymized = bool(private and private.anonymize)
    report = TranslationReport(to=translation.to, ignored=sources.ignored, anonymized=anonymized)
    layout = Layout(is_file=translation.is_jsonl, has_lines=conversations.writes_lines(translation.to))
    with output(translation.output, stdout, layout, force=translation.force) as writer:
        names = _DocumentNames(writer)
        failures = _Failures()
        for done in translate_all(sources.pieces(inputs, stdin), _task(translation, private), workers):
            if done.refusal:
                raise LossError(f"{done.refusal}; remove --lossless to write the rest")
            failures.add(done)
            names.write(done)
            report.add_result(done)
            if observe:
                observe(done.piece.size, size)
        names.flush()
        failures.report_to(report, lossless=translation.lossless)
        writer.commit()
    return report


def _check_options(translation: Translation) -> None:
    conversations.supports_branches(translation.to)  # raises for a format that cannot be written
    conversations.named_format(translation.from_format or translation.to)
    if translation.jsonl and conversations.writes_lines(translation.to):
        raise UsageError(f"--jsonl {translation.to}: each conversation is a file of lines; remove --jsonl")
    if translation.force and translation.output == STREAM:
        raise UsageError("--force has no effect with --output -; use only one of them")
    if translation.foreign_reasoning and not translation.sendable:
        raise UsageError("--foreign-reasoning has no effect without --sendable; add it")
    if translation.sendable and sendable.service_of(conversations.named_format(translation.to)) is None:
        raise UsageError(f"--sendable {translation.to}: no service accepts this format; remove --sendable")


def _task(translation: Translation, private: Options | None) -> Task:
    return Task(
        translation.to,
        translation.from_format,
        translation.all_branches,
        translation.lossless,
        translation.sendable,
        translation.foreign_reasoning or "drop",
        indent=not translation.is_jsonl and translation.output == STREAM,
        private=private,
    )


def _size(inputs: list[str]) -> int:
    """Return the bytes of all input files, for progress; compressed files count with their size on disk."""
    size = 0
    for place in inputs:
        path = Path(place)
        files = path.rglob("*") if path.is_dir() else [path]
        size += sum(each.stat().st_size for each in files if each.is_file())
    return size


class _DocumentNames:
    """Names documents after their session or file, with a number if a file has several."""

    def __init__(self, writer: DocumentWriter) -> None:
        self._writer = writer
        self._file = 0
        self._count = 0
        self._first: tuple[str, bytes] | None = None
        """The first document of a file.  It waits until a second one shows that it needs a number."""

    def write(self, done: PieceResult) -> None:
        """Write the documents of a piece."""
        if done.piece.file != self._file:
            self.flush()
            self._file, self._count = done.piece.file, 0
        for session, data in done.documents:
            self._count += 1
            if session is not None:
                self._writer.write(session, data)
            elif self._count == 1:
                self._first = done.piece.name, data
            else:
                self._write_first(f"{done.piece.name}-1")
                self._writer.write(f"{done.piece.name}-{self._count}", data)

    def flush(self) -> None:
        """Write the document that is still waiting."""
        if self._first:
            self._write_first(self._first[0])

    def _write_first(self, name: str) -> None:
        if self._first:
            self._writer.write(name, self._first[1])
            self._first = None


class _Failures:
    """Collects the pieces that cannot be read.

    In a folder, they are only reported if another file is readable.  A file that the user named is an error.
    """

    def __init__(self) -> None:
        self._file_counts: Counter[int] = Counter()
        """The number of pieces per argument."""
        self._failed: dict[int, list[str]] = {}
        self._unreadable: list[str] = []
        self._empty = ""

    def add(self, done: PieceResult) -> None:
        """Count the outcome of a piece; raise ``UsageError`` if it had to be readable."""
        argument = done.piece.argument
        self._file_counts[argument] += 1
        self._empty = self._empty or done.nothing_to_send
        if not done.failure:
            return
        if done.is_unreadable and not done.piece.is_found:
            self._unreadable.append(done.failure)
        elif done.piece.is_found:
            self._failed.setdefault(argument, []).append(done.failure)
        else:
            raise UsageError(done.failure)

    def report_to(self, report: TranslationReport, *, lossless: bool) -> None:
        """Add the failures to a report.

        Raises ``UsageError`` if nothing was readable, and ``LossError`` if nothing may be lost.
        """
        for argument, folder_failures in self._failed.items():
            if len(folder_failures) == self._file_counts[argument]:
                raise UsageError(folder_failures[-1])
        said = [*self._unreadable, *(failure for failures in self._failed.values() for failure in failures)]
        if said and lossless:
            raise LossError(f"{said[0]}; remove --lossless to write the rest")
        if said and not report.written:
            raise UsageError(said[-1])
        if self._empty and not report.written:
            raise UsageError(self._empty)
        report.ignored.update(said)
        report.complete = report.complete and not said
