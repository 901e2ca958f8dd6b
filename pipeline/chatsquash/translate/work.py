"""Translates pieces in one process or several; the results are in the order of the pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct, field
from msgspec.structs import replace

from chatsquash.checks import private
from chatsquash.core import footprint, jsonio, platform
from chatsquash.core.chat import strings
from chatsquash.core.errors import ChatsquashError, UsageError
from chatsquash.core.model import Conversation, Json
from chatsquash.core.options import Options
from chatsquash.core.text import printable_json
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.redaction.addresses import addresses, may_contain_address, may_have_address
from chatsquash.redaction.privacy import Privacy
from chatsquash.redaction.values import UnsearchedError, Value, words
from chatsquash.translate import conversations, logs, losses
from chatsquash.translate.reading import Reader, Source
from chatsquash.translate.sendable import ForeignReasoning, NothingToSendError
from chatsquash.translate.sources import Piece

_QUEUED_PER_WORKER = 3
"""Pieces per worker that may wait to be read or written, since results wait in memory."""


class Task(Struct, frozen=True):
    """The options that apply to each piece."""

    to: str
    from_format: str | None = None
    every_branch: bool = False
    lossless: bool = False
    sendable: bool = False
    foreign_reasoning: ForeignReasoning = "drop"
    indent: bool = False
    """Whether documents are indented for reading."""
    private: Options | None = None
    """Options for redaction, with the key."""


class Tally(Struct, kw_only=True):
    """Counts of a translation, or of one of its pieces, by description."""

    unsupported: Counter[str] = field(default_factory=Counter)
    """Content that the target format cannot express, by path without indices."""
    kept_for_chatsquash: Counter[str] = field(default_factory=Counter)
    """Content that only chatsquash can read back, by path without indices."""
    adaptations: Counter[str] = field(default_factory=Counter)
    """Changes made for the service."""
    ignored: Counter[str] = field(default_factory=Counter)
    """Content that was not read."""
    options: Counter[str] = field(default_factory=Counter)
    """Request options, which are not part of a conversation, by name."""
    unlinked: Counter[str] = field(default_factory=Counter)
    """Calls without results and results without calls, which are written unchanged."""
    replacements: Counter[str] = field(default_factory=Counter)
    """Values replaced by placeholders, by kind, without e-mail addresses."""
    bad_lines: list[str] = field(default_factory=list)
    """Unreadable lines, and conversations that redaction could not search: location and reason."""
    has_addresses: bool = False
    """Whether the output contains an e-mail address."""

    def add(self, other: Tally) -> None:
        """Add the counts of a piece."""
        for name in LABELS:
            if counts := getattr(other, name):  # mostly empty, and this runs for every piece
                getattr(self, name).update(counts)
        self.bad_lines += other.bad_lines
        self.has_addresses = self.has_addresses or other.has_addresses

    def hide(self, hide: Callable[[str], str]) -> None:
        """Redact all descriptions."""
        for name in LABELS:
            hidden: Counter[str] = Counter()
            for text, count in getattr(self, name).items():
                hidden[hide(text) if name != "replacements" else text] += count
            setattr(self, name, hidden)
        self.bad_lines = list(map(hide, self.bad_lines))


LABELS = {
    "unsupported": "unsupported",
    "kept_for_chatsquash": "kept for chatsquash",
    "adaptations": "adapted",
    "ignored": "ignored",
    "options": "request option",
    "unlinked": "not linked",
    "replacements": "replaced",
}
"""The counters of a ``Tally`` with their labels in the summary."""


class PieceResult(Tally, kw_only=True):
    """The outcome of a piece."""

    piece: Piece
    documents: list[tuple[str | None, bytes]] = field(default_factory=list)
    """The written documents, each with the name of its session, if the log has one."""
    truncated: int = 0
    nothing_to_send: str = ""
    """The first conversation of which nothing remained to send, with the reason."""
    refusal: str = ""
    """The loss that forbids any output if ``lossless`` is set."""
    failure: str = ""
    """Why the piece cannot be read or written."""
    is_unreadable: bool = False
    """Whether it failed because all its lines are unreadable."""


class Translator:
    """Translates pieces."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._joins_branches = conversations.supports_branches(task.to)
        self._joins_subagents = conversations.supports_subagents(task.to)
        self._is_lines = conversations.writes_lines(task.to)
        self._redaction = _Redaction(task.private) if task.private else None

    def __call__(self, piece: Piece) -> PieceResult:
        """Translate a piece; its errors are in the result, not raised."""
        done = PieceResult(piece=replace(piece, data=None, lines=None))
        reader = Reader(
            self._task.from_format, every_branch=self._task.every_branch, with_families=self._joins_subagents
        )
        try:
            for sources in self._group(reader.read(piece)):
                self._write(sources, done)
        except UsageError as problem:
            done.failure, done.is_unreadable = str(problem), isinstance(problem, logs.NoReadableLineError)
        done.ignored.update(reader.ignored)
        done.bad_lines += reader.bad_lines
        done.truncated = reader.truncated
        if self._task.lossless and not done.refusal and (done.ignored or done.nothing_to_send):
            done.refusal = done.nothing_to_send or f"{piece.name}: ignored: {next(iter(done.ignored))}"
        return self._redaction.hide(done, is_whole=piece.lines is None) if self._redaction else done

    def _group(self, sources: Iterable[Source]) -> Iterator[list[Source]]:
        """Yield conversations one by one, but branches or sub-agents together if one document can contain them."""
        if self._joins_subagents:
            yield from _group_families(sources)
            return
        if not self._joins_branches:
            yield from ([source] for source in sources)
            return
        for key, group in groupby(sources, lambda each: (each.group, each.conversation.branch is not None)):
            if key[1]:
                yield list(group)
            else:
                yield from ([source] for source in group)

    def _write(self, sources: list[Source], done: PieceResult) -> None:
        to, branches = self._task.to, [source.conversation for source in sources]
        if len(sources) > 1 and self._joins_subagents:
            self._finish(sources[0], self._nest(sources, done), done)
            return
        if self._joins_branches and branches[0].branch:
            document = _check_memory(conversations.dump_all(branches, to))
        elif self._task.sendable:
            try:
                request = conversations.request(branches[0], to, self._task.foreign_reasoning)
            except NothingToSendError as problem:
                done.nothing_to_send = done.nothing_to_send or f"{sources[0].name or done.piece.name}: {problem}"
                done.adaptations["empty conversations dropped"] += 1
                return
            # Dropped reasoning is a loss with --lossless; otherwise it is only counted as an adaptation.
            document, branches = (
                request.body,
                [request.original if self._task.lossless else request.without_foreign_reasoning()],
            )
            done.adaptations.update(request.adaptations)
        else:
            document = _check_memory(conversations.dump(branches[0], to))
        measure = conversations.measured_losses if self._task.sendable else conversations.losses_of_dump
        for source, found_losses in zip(sources, measure(branches, document, to), strict=True):
            self._check_lossless(source, found_losses, done)
            _count(source, found_losses, done)
        self._finish(sources[0], document, done)

    def _nest(self, sources: list[Source], done: PieceResult) -> Json:
        """Return the document of a conversation and its sub-agents; each is measured by its own document."""
        to, family = self._task.to, list[tuple[int, Conversation, Json]]()
        for source in sources:
            document = _check_memory(conversations.dump(source.conversation, to))
            (found_losses,) = conversations.losses_of_dump([source.conversation], document, to)
            self._check_lossless(source, found_losses, done)
            _count(source, found_losses, done)
            family.append((source.depth, source.conversation, document))
        return conversations.nest(family, to)

    def _finish(self, source: Source, document: Json, done: PieceResult) -> None:
        """Redact a document and add it to the result under the name of its source."""
        name = source.name
        if self._redaction:
            try:
                document, name = self._redaction.redact(document, name, done.replacements)
            except UnsearchedError as problem:
                self._report_unsearched(name or done.piece.name, problem, done)
                return
        spelled = self._spell(document)
        done.has_addresses = done.has_addresses or _has_address(document, spelled)
        done.documents.append((name, spelled + b"\n"))

    def _spell(self, document: Json) -> bytes:
        """Return the JSON of a document, or its lines."""
        if self._is_lines:
            return b"\n".join(map(jsonio.dumps, document))
        return printable_json(document) if self._task.indent else jsonio.dumps(document)

    def _report_unsearched(self, name: str, problem: UnsearchedError, done: PieceResult) -> None:
        """Report a conversation that is not written, because redaction could not search it."""
        why = private.redaction_failed(str(problem))
        done.bad_lines.append(f"{name}: {why.text} [{why.code}]")
        if self._task.lossless:
            done.refusal = done.refusal or f"{name}: {why.text}"

    def _check_lossless(self, source: Source, losses_found: losses.Losses, done: PieceResult) -> None:
        """Set the reason why nothing is written, if ``lossless`` is set and something is lost."""
        missing = [*source.ignored]
        count = len(missing) + len(losses_found) + len(losses_found.kept_for_chatsquash)
        if not self._task.lossless or not count or done.refusal:
            return
        paths = [*losses_found, *losses_found.kept_for_chatsquash]
        what = f"{self._task.to} does not support {paths[0]}" if paths else f"ignored: {missing[0]}"
        done.refusal = f"{source.name or done.piece.name}: {what}" + (f" and {count - 1:,} more" if count > 1 else "")


def _group_families(sources: Iterable[Source]) -> Iterator[list[Source]]:
    """Yield each conversation with its sub-agents."""
    family: list[Source] = []
    for source in sources:
        if family and not source.depth:
            yield family
            family = []
        family.append(source)
    if family:
        yield family


class _Redaction:
    """Redacts conversations and the texts reported about them."""

    def __init__(self, options: Options) -> None:
        self._privacy = Privacy(options)
        self._values: set[Value] = set()
        """Values replaced in the documents of a piece."""

    def redact(self, document: Json, name: str | None, counts: Counter[str]) -> tuple[Json, str | None]:
        """Redact a document and the name of its session, and count the values by kind.

        A value detected in one of them is replaced in both.  Raises ``UnsearchedError``.
        """
        if self._privacy.redactor:
            # A copy, since other documents may share parts of it.
            values = [jsonio.loads(jsonio.dumps(document)), [name or ""]]
            for (at, value), count in self._privacy.replace(values).items():
                self._values.add(value)
                counts[words(value.kind)] += count if at == 0 else 0
            document, name = values[0], name and values[1][0]
        pseudonymous = self._privacy.anonymized(document)
        counts.update(words(hit.kind) for hit in pseudonymous.passwords)
        return pseudonymous.value, name and self._privacy.anonymized(name).value

    def hide(self, done: PieceResult, *, is_whole: bool) -> PieceResult:
        """Redact the texts reported about a piece.

        Values detected in the documents are only replaced in the name if the piece is the complete file.  Otherwise the
        pieces of one file would get different names.
        """
        value_finder = self._privacy.value_finder(self._values)
        self._values.clear()

        def hide(text: str) -> str:
            return self._privacy.text(text, value_finder)

        name = self._privacy.text(done.piece.name, value_finder if is_whole else None)
        path, redacted_path = done.piece.display_path, hide(done.piece.display_path)
        done.piece = replace(done.piece, display_path=redacted_path, name=name)

        def hide_all(text: str) -> str:
            return hide(text.replace(path, redacted_path))

        done.hide(hide_all)
        done.nothing_to_send, done.refusal, done.failure = (
            hide_all(done.nothing_to_send),
            hide_all(done.refusal),
            hide_all(done.failure),
        )
        return done


def _has_address(document: Json, data: bytes) -> bool:
    """Return whether a document contains an e-mail address that is not a pseudonym."""
    if not may_contain_address(data):
        return False
    return any(True for text in filter(may_have_address, strings(document)) for _ in addresses(text))


def _check_memory(document: Json) -> Json:
    """Return a document unless memory is too limited to compare it with its source; raises otherwise."""
    if platform.available_memory() is not None:
        footprint.require_memory(jsonio.dumps(document))
    return document


def _count(source: Source, losses_found: losses.Losses, done: PieceResult) -> None:
    for counts, increments in (
        (done.unsupported, map(losses.kind, losses_found) if losses_found else None),
        (
            done.kept_for_chatsquash,
            map(losses.kind, losses_found.kept_for_chatsquash) if losses_found.kept_for_chatsquash else None,
        ),
        (done.ignored, source.ignored),
        (done.options, source.options),
        (done.unlinked, logs.unlinked(turns_of(source.conversation))),
    ):
        if increments:  # mostly empty, and this runs for every piece
            counts.update(increments)
    done.bad_lines += source.bad_lines


# Processes


class LostWorkerError(ChatsquashError):
    """A worker process ended before its work was finished."""


def translate_all(pieces: Iterable[Piece], task: Task, workers: int) -> Iterator[PieceResult]:
    """Yield the results of pieces, in order; with more than one worker, from several processes.

    Raises ``LostWorkerError`` if a piece ends its process twice, which happens if memory runs out.
    """
    if workers <= 1:
        yield from map(Translator(task), pieces)
        return
    from chatsquash.conversion.pool import Pool, Queue  # slow to import, and not needed with one worker

    queue: Queue[Piece, PieceResult | Exception] = Queue(
        ((piece,) for piece in pieces), _QUEUED_PER_WORKER * workers, _raise_lost_worker
    )
    for results in Pool(_prepare, task).run(queue, workers):
        for _, result in results:
            if isinstance(result, Exception):
                raise result
            yield result


def _prepare(task: Task) -> Callable[[Sequence[Piece]], list[PieceResult | Exception]]:
    """Return the function that a worker process runs; it returns errors, which are raised in the main process."""
    translator = Translator(task)

    def attempt(piece: Piece) -> PieceResult | Exception:
        try:
            return translator(piece)
        except Exception as problem:  # noqa: BLE001
            return problem

    return lambda pieces: list(map(attempt, pieces))


def _raise_lost_worker(piece: Piece, how: str) -> PieceResult:  # noqa: ARG001 - the signature of the queue
    raise LostWorkerError("a worker process ended, possibly because memory ran out; try --workers 1")
