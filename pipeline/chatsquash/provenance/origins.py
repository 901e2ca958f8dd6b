"""Add the origins of messages to an outcome: the bytes of the log, and the changes that lead to the record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from chatsquash.core import jsonio, marks
from chatsquash.core.accounting import ReplyOutcome
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome, Record
from chatsquash.provenance.files import open_files
from chatsquash.provenance.index import Copy, Inserted, Piece
from chatsquash.provenance.rules import NOT_IN_LOG, SPELLING, Rules
from chatsquash.provenance.sources import Sources
from chatsquash.provenance.tokens import JSON, texts_of
from chatsquash.provenance.values import MessageOrigin, Proof, StoredFile, pack
from chatsquash.redaction.placeholders import PLACEHOLDER

_LISTS = ("messages", "conversations", "prompt", "completion")
"""The members of records with messages, in their order."""
UNREADABLE, CHANGED = "unreadable", "replay-failed"
"""Reasons why a proof is not complete."""


def with_origins(outcome: Outcome, log: Log, options: Options) -> Outcome:
    """Return an outcome with the hashes of its files, and the origins of the messages of its records."""
    files = open_files(log, options)
    identities = [file.identity if file else StoredFile(0, "") for file in files]
    account = replace(outcome.account, files=pack(identities))
    tracer = _Tracer(outcome, options, Sources(files, log))
    records = [
        replace(record, origins=pack(tracer.record(number, record))) for number, record in enumerate(outcome.records)
    ]
    return replace(outcome, account=account).with_records(records)


class _TextOrigin(NamedTuple):
    path: str
    text: bytes
    pieces: list[tuple[int, Piece]]
    """Its pieces, each with the index of the file."""


class _Tracer:
    """Finds the origins of the messages of a session."""

    def __init__(self, outcome: Outcome, options: Options, sources: Sources) -> None:
        self._outcome, self._options, self._sources = outcome, options, sources
        self._rules = Rules(outcome, options)
        self._replies: dict[tuple[int | None, int | None], ReplyOutcome] = {}
        for row in outcome.replies.rows:
            self._replies[row.record, row.message] = row
            for place in row.others:
                self._replies.setdefault((place.record, place.message), row)

    def record(self, number: int, record: Record) -> list[MessageOrigin]:
        """Return the origins of the messages of a record."""
        try:
            messages = [*_messages(jsonio.loads(record.line), self._options)]
        except (ValueError, RecursionError):
            return []
        entry = record.entry or self._outcome.output.entry
        self._sources.select(entry.line if entry else None)
        return [self._message(number, at, *each) for at, each in enumerate(messages)]

    def _message(self, number: int, at: int, place: str, message: Any, trained: bool) -> MessageOrigin:
        try:
            texts = [self._text(path, text) for path, text in texts_of(message) if text]
        except RecursionError:
            texts = []
        changes = dict.fromkeys(name for text in texts for name in self._changes(text))
        proof, reason = self._proof(texts)
        origin = MessageOrigin(
            place,
            str(message.get("role", message.get("from", ""))) if isinstance(message, dict) else "",
            trained,
            proof,
            reason,
            changes=[*changes],
            texts=jsonio.dumps(
                [[text.path, [self._spell(text, *each) for each in text.pieces]] for text in texts]
            ).decode(),
        )
        origin = self._sources.place(origin, [each for text in texts for each in text.pieces])
        row = self._replies.get((number, at)) if trained else None
        return replace(origin, reply=self._sources.reply(row, origin)) if row else origin

    def _text(self, path: str, text: bytes) -> _TextOrigin:
        segments = _segments(text)
        for file, index in self._sources.all():
            if pieces := index.complete(text):
                return _TextOrigin(path, text, [(file, piece) for piece in pieces])
            if len(segments) > 1 and (copies := index.around(segments[::2])):
                inserted = [Inserted(each) for each in segments[1::2]]
                return _TextOrigin(path, text, [*_interleaved(file, copies, inserted)])
        return _TextOrigin(path, text, [each for segment in segments for each in self._pieces(segment)])

    def _pieces(self, segment: bytes) -> list[tuple[int, Piece]]:
        if not segment:
            return []
        if PLACEHOLDER.fullmatch(_decode(segment)):
            return [(0, Inserted(segment))]
        best: list[tuple[int, Piece]] = [(0, Inserted(segment))]
        for file, index in self._sources.all():
            pieces = index.complete(segment) or index.pieces(segment)
            if _inserted_size(pieces) < _inserted_size(piece for _, piece in best):
                best = [(file, piece) for piece in pieces]
            if not _inserted_size(pieces):
                break
        return best

    def _proof(self, texts: list[_TextOrigin]) -> tuple[Proof, str]:
        reasons: dict[str, int] = {}
        for text in texts:
            if self._sources.replay(text.pieces) != text.text:
                return "none", CHANGED
            for _, piece in text.pieces:
                if isinstance(piece, Inserted) and (reason := self._rules.reason(piece.text, text.path)):
                    reasons[reason] = reasons.get(reason, 0) + len(piece.text)
        if not reasons:
            return "complete", ""
        is_none = sum(reasons.values()) == sum(len(text.text) for text in texts)
        reason = NOT_IN_LOG if NOT_IN_LOG in reasons else next(iter(reasons))
        return "none" if is_none else "partial", reason if self._sources.are_readable else UNREADABLE

    def _spell(self, text: _TextOrigin, file: int, piece: Piece) -> Any:
        if isinstance(piece, Copy):
            return [file, *piece.steps]
        return {"text": _decode(piece.text), "rule": self._rules.insertion(piece.text, text.path)}

    def _changes(self, text: _TextOrigin) -> Iterator[str]:
        """Yield the rules that changed a text."""
        for _, piece in text.pieces:
            if isinstance(piece, Inserted):
                yield self._rules.insertion(piece.text, text.path) or NOT_IN_LOG
            elif piece.steps and piece.steps[-1] == JSON:
                yield SPELLING
        if any(isinstance(piece, Inserted) and PLACEHOLDER.search(_decode(piece.text)) for _, piece in text.pieces):
            return  # the values that were replaced are not in the text
        for omitted in _omitted(text.pieces):
            yield from self._rules.omissions(omitted)


def _messages(value: Any, options: Options) -> Iterator[tuple[str, Any, bool]]:
    """Yield the messages of a record with their JSON pointers, and whether they are trained on."""
    flag = options.flag
    for name in _LISTS:
        messages = value.get(name, [])
        for at, message in enumerate(messages if isinstance(messages, list) else [messages]):
            place = f"/{name}/{at}" if isinstance(messages, list) else f"/{name}"
            if name in ("prompt", "completion"):
                trained = name == "completion"
            elif not isinstance(message, dict):
                trained = False
            elif flag != "none":
                trained = marks.is_trained(message, flag)
            else:
                trained = marks.is_of_assistant(message)
            yield place, message, trained


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "surrogatepass")


def _segments(text: bytes) -> list[bytes]:
    """Return the parts of a text between placeholders, and the placeholders at the odd places."""
    decoded = _decode(text)
    at, segments = 0, []
    for match in PLACEHOLDER.finditer(decoded):
        segments += [decoded[at : match.start()], match[0]]
        at = match.end()
    return [each.encode("utf-8", "surrogatepass") for each in (*segments, decoded[at:])]


def _interleaved(file: int, copies: list[Copy], inserted: list[Inserted]) -> Iterator[tuple[int, Piece]]:
    for at, copy in enumerate(copies):
        if copy.text:
            yield file, copy
        if at < len(inserted):
            yield file, inserted[at]


def _inserted_size(pieces: Any) -> int:
    return sum(len(piece.text) for piece in pieces if isinstance(piece, Inserted))


def _omitted(pieces: list[tuple[int, Piece]]) -> Iterator[bytes]:
    """Yield the parts of strings that are not in a text, although other parts of these strings are."""
    ranges: dict[tuple[int, Any], tuple[bytes, list[tuple[int, int]]]] = {}
    for file, piece in pieces:
        if isinstance(piece, Copy) and piece.leaf and not piece.is_complete:
            start, stop = piece.steps[-1]
            key = file, repr(piece.steps[:-1])
            ranges.setdefault(key, (piece.leaf.text, []))[1].append((start, stop))
    for text, parts in ranges.values():
        at = 0
        for start, stop in [*sorted(parts), (len(text), len(text))]:
            if start > at:
                yield text[at:start]
            at = max(at, stop)
