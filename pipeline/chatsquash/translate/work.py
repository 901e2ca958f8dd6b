"""One piece after the other from one format to another, in this process or several, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from msgspec import Struct, field
from msgspec.structs import replace

from chatsquash.checks import private
from chatsquash.core import footprint, jsonio, platform
from chatsquash.core.chat import strings
from chatsquash.core.errors import ChatsquashError, UsageError
from chatsquash.core.model import Json
from chatsquash.core.options import Options
from chatsquash.core.text import printable_json
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.redaction.addresses import addresses, may_contain_address, may_have_address
from chatsquash.redaction.hits import Value
from chatsquash.redaction.placeholders import words
from chatsquash.redaction.privacy import Privacy
from chatsquash.redaction.redactor import UnsearchedError
from chatsquash.translate import conversations, logs, losses
from chatsquash.translate.reading import Reader, Source
from chatsquash.translate.sendable import ForeignReasoning, NothingToSendError
from chatsquash.translate.sources import Piece

_AHEAD = 3
"""Pieces a worker that wait to be read or to be written, since what is done waits in memory."""


class Task(Struct, frozen=True):
    """What is to be made of a piece."""

    to: str
    from_format: str | None = None
    every_branch: bool = False
    lossless: bool = False
    sendable: bool = False
    foreign_reasoning: ForeignReasoning = "drop"
    indented: bool = False
    """Whether documents are spelled for people."""
    private: Options | None = None
    """What is replaced, with the key."""


class Tally(Struct, kw_only=True):
    """Counts of a translation, of a piece or of all, each by its description."""

    lost: Counter[str] = field(default_factory=Counter)
    """What the target has no place for, by the kind of its path."""
    kept: Counter[str] = field(default_factory=Counter)
    """What it has no place for and chatsquash alone reads again, by the kind of its path."""
    fitted: Counter[str] = field(default_factory=Counter)
    """What was changed for the service."""
    passed_over: Counter[str] = field(default_factory=Counter)
    """What was not read."""
    options: Counter[str] = field(default_factory=Counter)
    """The options of requests, which are no part of a conversation, by their names."""
    unlinked: Counter[str] = field(default_factory=Counter)
    """Calls without results and results without calls; they are written as they are."""
    replaced: Counter[str] = field(default_factory=Counter)
    """Values replaced by placeholders, by kind; e-mail addresses aside."""
    bad_lines: list[str] = field(default_factory=list)
    """The lines that cannot be read, and the conversations that cannot be searched: where, and what is wrong."""
    has_addresses: bool = False
    """Whether an e-mail address is in the output."""

    def add(self, other: Tally) -> None:
        """Add the counts of a piece."""
        for name in LABELS:
            if counts := getattr(other, name):  # as is rare
                getattr(self, name).update(counts)
        self.bad_lines += other.bad_lines
        self.has_addresses = self.has_addresses or other.has_addresses

    def hide(self, hide: Callable[[str], str]) -> None:
        """Replace what is private in all descriptions."""
        for name in LABELS:
            hidden: Counter[str] = Counter()
            for text, count in getattr(self, name).items():
                hidden[hide(text) if name != "replaced" else text] += count
            setattr(self, name, hidden)
        self.bad_lines = list(map(hide, self.bad_lines))


LABELS = {
    "lost": "not held",
    "kept": "kept for chatsquash",
    "fitted": "fitted",
    "passed_over": "not read",
    "options": "request option",
    "unlinked": "not linked",
    "replaced": "replaced",
}
"""The counters of a ``Tally``, with their labels."""


class PieceResult(Tally, kw_only=True):
    """What came of a piece."""

    piece: Piece
    documents: list[tuple[str | None, bytes]] = field(default_factory=list)
    """What was written, each with the name of its session where the log names that."""
    cut: int = 0
    empty: str = ""
    """Where nothing is left to send, and why."""
    refused: str = ""
    """Why nothing is to be written, where nothing may be lost."""
    failure: str = ""
    """Why the piece cannot be read or written."""
    is_unreadable: bool = False
    """Whether that is so because no line of it can be read."""


class Translator:
    """Translates pieces."""

    def __init__(self, wanted: Task) -> None:
        self._wanted = wanted
        self._together = conversations.holds_branches(wanted.to)
        self._private = _Private(wanted.private) if wanted.private else None

    def __call__(self, piece: Piece) -> PieceResult:
        """What comes of a piece; never raises for what is wrong with it."""
        done = PieceResult(piece=replace(piece, data=None, lines=None))
        reader = Reader(self._wanted.from_format, every_branch=self._wanted.every_branch)
        try:
            for sources in self._group(reader.read(piece)):
                self._write(sources, done)
        except UsageError as problem:
            done.failure, done.is_unreadable = str(problem), isinstance(problem, logs.NoLineLeftError)
        done.passed_over.update(reader.passed_over)
        done.bad_lines += reader.bad_lines
        done.cut = reader.cut
        if self._wanted.lossless and not done.refused and (done.passed_over or done.empty):
            done.refused = done.empty or f"{piece.name}: not read: {next(iter(done.passed_over))}"
        return self._private.hide(done, is_whole=piece.lines is None) if self._private else done

    def _group(self, sources: Iterable[Source]) -> Iterator[list[Source]]:
        """Conversations one by one, the branches of a history together where one document holds them."""
        if not self._together:
            yield from ([source] for source in sources)
            return
        for key, group in groupby(sources, lambda each: (each.group, each.conversation.branch is not None)):
            if key[1]:
                yield list(group)
            else:
                yield from ([source] for source in group)

    def _write(self, sources: list[Source], done: PieceResult) -> None:
        to, branches = self._wanted.to, [source.conversation for source in sources]
        if self._together and branches[0].branch:
            document = _check_memory(conversations.dump_all(branches, to))
        elif self._wanted.sendable:
            try:
                made = conversations.request(branches[0], to, self._wanted.foreign_reasoning)
            except NothingToSendError as problem:
                done.empty = done.empty or f"{sources[0].name or done.piece.name}: {problem}"
                done.fitted["conversations that say nothing left out"] += 1
                return
            # What is left out counts as lost where nothing may be, else once, among what is fitted.
            document, branches = made.body, [made.original if self._wanted.lossless else made.without_fitted()]
            done.fitted.update(made.fitted)
        else:
            document = _check_memory(conversations.dump(branches[0], to))
        measure = conversations.lost_of_all if self._wanted.sendable else conversations.lost_of_dump
        for source, lost in zip(sources, measure(branches, document, to), strict=True):
            self._refuse(source, lost, done)
            _count(source, lost, done)
        name = sources[0].name
        if self._private:
            try:
                document, name = self._private.document(document, name, done.replaced)
            except UnsearchedError as problem:
                self._leave_out(name or done.piece.name, problem, done)
                return
        spelled = printable_json(document) if self._wanted.indented else jsonio.dumps(document)
        done.has_addresses = done.has_addresses or _has_address(document, spelled)
        done.documents.append((name, spelled + b"\n"))

    def _leave_out(self, name: str, problem: UnsearchedError, done: PieceResult) -> None:
        """Note that a conversation is not written, since it cannot be searched."""
        why = private.redaction_failed(str(problem))
        done.bad_lines.append(f"{name}: {why.text} [{why.code}]")
        if self._wanted.lossless:
            done.refused = done.refused or f"{name}: {why.text}"

    def _refuse(self, source: Source, lost: losses.Losses, done: PieceResult) -> None:
        """Note why nothing is written, where something is lost that must not be."""
        missing = [*source.left_out]
        count = len(missing) + len(lost) + len(lost.kept_for_chatsquash)
        if not self._wanted.lossless or not count or done.refused:
            return
        paths = [*lost, *lost.kept_for_chatsquash]
        what = f"{self._wanted.to} cannot hold {paths[0]}" if paths else f"not read: {missing[0]}"
        done.refused = f"{source.name or done.piece.name}: {what}" + (f" and {count - 1:,} more" if count > 1 else "")


class _Private:
    """Replaces what is private in conversations, and in what is reported of them."""

    def __init__(self, options: Options) -> None:
        self._privacy = Privacy(options)
        self._values: set[Value] = set()
        """Those replaced in the documents of a piece."""

    def document(self, document: Json, name: str | None, counts: Counter[str]) -> tuple[Json, str | None]:
        """A document and the name of its session without what is private, which is counted by kind.

        What is found in one of them is replaced in both.  Raises ``UnsearchedError``.
        """
        if self._privacy.redactor:
            # A copy, since parts of it may be those of other documents.
            values = [jsonio.loads(jsonio.dumps(document)), [name or ""]]
            for (at, value), count in self._privacy.replace(values).items():
                self._values.add(value)
                counts[words(value.kind)] += count if at == 0 else 0
            document, name = values[0], name and values[1][0]
        document, _, passwords = self._privacy.anonymized(document)
        counts.update(words(hit.kind) for hit in passwords)
        return document, name and self._privacy.anonymized(name).value

    def hide(self, done: PieceResult, *, is_whole: bool) -> PieceResult:
        """What came of a piece, with nothing private in what is reported of it.

        A name goes without what is found in the documents where the piece is the whole file: all of it has one name.
        """
        also = self._privacy.value_finder(self._values)
        self._values.clear()

        def hide(text: str) -> str:
            return self._privacy.text(text, also)

        name = self._privacy.text(done.piece.name, also if is_whole else None)
        before, shown = done.piece.shown, hide(done.piece.shown)
        done.piece = replace(done.piece, shown=shown, name=name)

        def hide_all(text: str) -> str:
            return hide(text.replace(before, shown))

        done.hide(hide_all)
        done.empty, done.refused, done.failure = hide_all(done.empty), hide_all(done.refused), hide_all(done.failure)
        return done


def _has_address(document: Json, spelled: bytes) -> bool:
    """Whether an e-mail address of somebody stands in a document; pseudonyms are none."""
    if not may_contain_address(spelled):
        return False
    return any(True for text in filter(may_have_address, strings(document)) for _ in addresses(text))


def _check_memory(document: Json) -> Json:
    """A document, unless this process may not take enough memory to compare it with what it is made of."""
    if platform.available_memory() is not None:
        footprint.require_memory(jsonio.dumps(document))
    return document


def _count(source: Source, lost: losses.Losses, done: PieceResult) -> None:
    for counts, more in (
        (done.lost, map(losses.kind, lost) if lost else None),
        (done.kept, map(losses.kind, lost.kept_for_chatsquash) if lost.kept_for_chatsquash else None),
        (done.passed_over, source.left_out),
        (done.options, source.options),
        (done.unlinked, logs.unlinked(turns_of(source.conversation))),
    ):
        if more:  # as is rare
            counts.update(more)
    done.bad_lines += source.bad_lines


# Processes


class LostWorkerError(ChatsquashError):
    """A worker process ended before its work did."""


def translate_all(pieces: Iterable[Piece], wanted: Task, workers: int) -> Iterator[PieceResult]:
    """The results of pieces, in their order; with more than one worker, from as many processes.

    Raises ``LostWorkerError`` if a piece ends its process twice, which happens if memory runs out.
    """
    if workers <= 1:
        yield from map(Translator(wanted), pieces)
        return
    from chatsquash.conversion.pool import Pool, Queue  # which a small translation does not need

    queue: Queue[Piece, PieceResult | Exception] = Queue(((piece,) for piece in pieces), _AHEAD * workers, _lose)
    for results in Pool(_prepare, wanted).run(queue, workers):
        for _, result in results:
            if isinstance(result, Exception):
                raise result
            yield result


def _prepare(wanted: Task) -> Callable[[Piece], PieceResult | Exception]:
    """What translates a piece in a worker process; an error is raised again in this one."""
    translate = Translator(wanted)

    def attempt(piece: Piece) -> PieceResult | Exception:
        try:
            return translate(piece)
        except Exception as problem:  # noqa: BLE001
            return problem

    return attempt


def _lose(piece: Piece, how: str) -> PieceResult:  # noqa: ARG001 - the signature of the queue
    raise LostWorkerError("a worker process ended, as it does where memory runs out; try --workers 1")
