"""One session log to one outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from typing import BinaryIO, Protocol

from msgspec import structs
from xxhash import xxh3_128

from chatsquash import chat, jsonio
from chatsquash.checks import reading
from chatsquash.model import Entry, Found, Log, Message, Seen, Skipped
from chatsquash.option_rules import refuse_wrong
from chatsquash.options import Options
from chatsquash.outcome import Chosen, Facts, Outcome, Record, Refused
from chatsquash.read.reader import Reader, Reading
from chatsquash.read.times import day, stamp
from chatsquash.redact.keys import load_key
from chatsquash.redact.pseudonyms import Anonymizer
from chatsquash.sources.changes import as_found, change
from chatsquash.sources.compression import stem
from chatsquash.sources.days import path_day
from chatsquash.sources.open import opened
from chatsquash.stages import cleaning
from chatsquash.stages.plan import plan
from chatsquash.stages.session import Noted, Session, Snapshot, finding
from chatsquash.text import printable

EntryStream = Iterator[Entry | Skipped]


def with_key(options: Options) -> Options:
    """The options with the key that they leave to the key file."""
    refuse_wrong(options)
    if not options.anonymize or options.anonymize_key:
        return options
    return replace(options, anonymize_key=load_key())


class EntryObserver(Protocol):
    """Sees the entries of a session while it is converted."""

    def logged(self, items: EntryStream) -> EntryStream:
        """The entries as they were read."""

    def left(self, items: EntryStream) -> EntryStream:
        """Those that cleaning left."""

    def settle(self, seen: Seen | None, snapshot: Snapshot | None) -> None:
        """What is known of the log, and what was selected."""


Also = Callable[[Log, BinaryIO], None]
"""What looks at a log, too, while it is open."""


class Converter:
    """Converts sessions by one plan; the memory of pseudonyms lasts from one to the next."""

    def __init__(self, options: Options, *, whole: bool = False) -> None:
        """``whole``: a log is one session, whatever the options say."""
        self._options = options
        self._anonymizer = Anonymizer(options.anonymize_key or b"") if options.anonymize else None
        self._plan = plan(options, self._anonymizer)
        self._reader = Reader(replace(options, sessions_by="file") if whole else options)
        self._tells_facts = options.folder or bool(options.only_model)

    def convert(self, log: Log, observer: EntryObserver | None = None, also: Also | None = None) -> Outcome:
        """Convert a session log; raises ``OSError`` where it cannot be read, and as ``Reader.read``.

        ``also`` looks at the open log once it was read.
        """
        with opened(log.path, self._options) as file:
            outcome = self.read(file, log, observer)
            if also:
                also(log, file)
            how = change(log)
            return self._changed(file, log, outcome, how) if how else outcome

    def _changed(self, file: BinaryIO, log: Log, outcome: Outcome, how: str) -> Outcome:
        """The outcome of a log that changed since it was found, which is as it was then as far as that can be."""
        if (before := as_found(file, log)) is not file:
            outcome = self.read(before, log)
        changed = finding(reading.changed_log(how), outcome.session, log.shown)
        return outcome.also(changed)

    def read(self, file: BinaryIO, log: Log, observer: EntryObserver | None = None) -> Outcome:
        """Convert an open session log."""
        digest = xxh3_128()
        read = self._reader.read(file, log, digest.update)
        session = self._session(read, observer)
        assert _is_whole(session, file, log), log
        snapshot = session.snapshot
        replaced = self._anonymizer.count if self._anonymizer else 0
        made, later = self._made(read.seen, session)
        record = made if isinstance(made, Record) else None
        if record and snapshot and self._tells_facts:
            record = structs.replace(record, facts=self._facts(session, snapshot, log))
        name = session.id or stem(log)
        findings = session.findings(later, name, log.shown)
        account, sizes = session.accounts(written=record is not None)
        return Outcome(
            session=name,
            records=[record] if record else [],
            left_out=made.why.code if isinstance(made, Refused) else None,
            findings=findings,
            rejected=session.rejected,
            lines=session.lines.all,
            account=account,
            cleaned=snapshot.entry.cleaned if snapshot and record else {},
            dropped=session.dropped,
            addresses=self._anonymizer.count - replaced if self._anonymizer and record else 0,
            day=path_day(log.name) or (day(snapshot.started) if snapshot and snapshot.started is not None else None),
            trace=_trace(snapshot) if snapshot and any(each.severity == "error" for each in findings) else "",
            digest=_digest(read, digest),
            size=session.sizes.all,
            sizes=sizes,
            chosen=self._chosen(snapshot) if snapshot else None,
        )

    def _session(self, read: Reading, observer: EntryObserver | None) -> Session:
        """What the lines of a log come to."""
        if observer is None:
            return self._plan.select(self._plan.through(read.items))
        session = self._plan.select(observer.left(self._plan.through(observer.logged(read.items))))
        observer.settle(read.seen, session.snapshot)
        return session

    def _made(self, seen: Seen | None, session: Session) -> tuple[Record | Refused, list[Noted]]:
        """The record of a session, or why there is none, and what was found on the way."""
        snapshot = session.snapshot
        noted = _cleaned(session)
        if why := _unfit(seen, session):
            return Refused(why), [*noted, (None, why)]
        if session.invalid:
            return Refused(session.invalid), noted
        assert snapshot
        source, version = (seen.format, seen.version) if seen else (None, None)
        made, found = self._plan.finish(snapshot, loaded=session.loaded, source=source, version=version)
        return made, [*noted, *((snapshot.entry.line, each) for each in found)]

    def _chosen(self, snapshot: Snapshot) -> Chosen:
        """What the log says about the entry that becomes the record; documents say nothing of models."""
        entry = snapshot.entry
        model = entry.reply.model
        if model is None:
            from chatsquash.read import usage  # which few logs need

            model = usage.told(entry.reply).model
        return Chosen(entry.line, _stamped(snapshot.started), _stamped(snapshot.ended), model, snapshot.superseded + 1)

    def _facts(self, session: Session, snapshot: Snapshot, log: Log) -> Facts:
        """What the log says beside the conversation, without addresses where these are replaced."""
        from chatsquash.read import usage  # which the specified record does not need

        entry = snapshot.entry
        found = usage.told(entry.reply)
        named, dot, suffix = log.name.rpartition(".")  # with a suffix behind it, no address is one
        told = (session.id or stem(log), named or suffix, found.model)
        name, source, model = self._anonymizer.counted(list(told))[0] if self._anonymizer else told
        return Facts(
            prefix=_prefix(entry.messages),
            session=printable(name),
            source=printable(f"{source}{dot}{suffix}" if named else source),
            model=printable(model) if model else None,
            started_at=_stamped(snapshot.started),
            entries=snapshot.superseded + 1,
            prompt_tokens=found.prompt_tokens,
            completion_tokens=found.completion_tokens,
        )


def nothing(log: Log, why: Found) -> Outcome:
    """The outcome of a log of which nothing is known but why."""
    return Outcome(stem(log), [], why.code, [finding(why, stem(log), log.shown)])


def unreadable(log: Log, problem: OSError) -> Outcome:
    """The outcome of a log that cannot be opened or read."""
    return nothing(log, reading.unreadable_log(problem.strerror or type(problem).__name__))


def _cleaned(session: Session) -> list[Noted]:
    """What cleaning did."""
    snapshot = session.snapshot
    changed = {**(snapshot.entry.cleaned if snapshot else {}), **session.dropped}
    if not any(changed.values()):
        return []
    counts = {rule.replace("_", " "): changed.get(rule, 0) for rule in cleaning.names()}
    return [(snapshot.entry.line if snapshot else None, reading.cleaned(counts))]


def _unfit(seen: Seen | None, session: Session) -> Found | None:
    """Why nothing can be made of a log."""
    cleaned = session.lines.cleaned
    if seen and seen.why and not seen.format and (seen.conflict or not (session.snapshot or cleaned)):
        return reading.unknown_format(seen.why)
    return None if session.snapshot else reading.empty_session(cleaned, len(session.rejected))


def _is_whole(session: Session, file: BinaryIO, log: Log) -> bool:
    """Whether every byte of a file that is one session was counted, unless the rest of it was not read."""
    is_cut = any(found.code == "cut-short" for _, found in session.found)
    return is_cut or log.part is not None or log.spans is not None or session.sizes.all == file.tell()


def _stamped(at: int | None) -> str | None:
    return None if at is None else stamp(at)


def _trace(snapshot: Snapshot) -> str:
    reply = snapshot.entry.reply.message
    return chat.trace([*snapshot.entry.messages, *([reply] if reply else [])])


def _prefix(messages: list[Message]) -> str:
    """A digest of what a conversation begins with: its system prompt and its first message of anybody else."""
    digest = sha256()
    for message in messages:
        role = message["role"]
        digest.update(jsonio.dumps([role, message.get("content")]))
        if role not in ("system", "developer"):
            break
    return digest.hexdigest()[:32]


def _digest(read: Reading, digest: xxh3_128) -> str:
    """The hash of a log; that of a document is found with its first conversation."""
    held = read.document
    if held is None:
        return digest.hexdigest()
    held.digest = held.digest or digest.hexdigest()
    return str(held.digest)
