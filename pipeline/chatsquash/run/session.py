"""One session log to one outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, Protocol

from xxhash import xxh3_128

from chatsquash import chat, jsonio
from chatsquash.chat import REASONING_KEYS
from chatsquash.checks import examine, reading
from chatsquash.checks.contents import unfit
from chatsquash.checks.dataset import OF_TOOLS
from chatsquash.checks.phrases import Phrases
from chatsquash.checks.registry import View
from chatsquash.formats import PLAIN, documents
from chatsquash.formats.openai_chat import variants
from chatsquash.ledger import Ledger
from chatsquash.model import Chosen, Cleaned, Conversation, Entry, Facts, Finding, Found, Log, Message, Outcome, Usage
from chatsquash.options import Options
from chatsquash.read.reader import Reader
from chatsquash.read.times import day, stamp
from chatsquash.records import presets
from chatsquash.redact.keys import load_key
from chatsquash.redact.pseudonyms import Anonymizer
from chatsquash.report.usage import measure
from chatsquash.run.accounts import accounts
from chatsquash.run.options import refuse_wrong
from chatsquash.sources.changes import as_found, change
from chatsquash.sources.compression import opened
from chatsquash.sources.find import path_day
from chatsquash.stages import definitions, plan
from chatsquash.stages.compose import compose
from chatsquash.stages.public import leave_out, public, with_media
from chatsquash.stages.select import Snapshot, select
from chatsquash.text import printable

if TYPE_CHECKING:
    from chatsquash.records.shaping import Line
    from chatsquash.stages.join_texts import Wanted

_RULES = ("info messages", "system prompts", "empty assistants", "title requests")


def with_key(options: Options) -> Options:
    """The options with the key that they leave to the key file."""
    refuse_wrong(options)
    if not options.anonymize or options.anonymize_key:
        return options
    return replace(options, anonymize_key=load_key())


class Watch(Protocol):
    """Sees the entries of a session while it is converted."""

    def logged(self, stream: Iterator[Entry]) -> Iterator[Entry]:
        """The entries as they were read."""

    def left(self, stream: Iterator[Entry]) -> Iterator[Entry]:
        """Those that cleaning left."""

    def settle(self, snapshot: Snapshot | None, ledger: Ledger) -> None:
        """What was selected, and what is known of the log."""


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
        self._phrases = Phrases(options.flag_phrase) if options.integrity_analysis else None
        self._shape = None if options.preset == presets.DEFAULT else _shape(options)
        self._joins = _joins(options)
        self._lost = _lost() if options.folder and not self._shape else None

    def convert(self, log: Log, watch: Watch | None = None, also: Also | None = None) -> Outcome:
        """Convert a session log; raises ``OSError`` where it cannot be read, and as ``Reader.entries``.

        ``also`` looks at the open log once it was read.
        """
        with opened(log.path, self._options) as file:
            outcome = self.read(file, log, watch)
            if also:
                also(log, file)
            how = change(log)
            return self._changed(file, log, outcome, how) if how else outcome

    def _changed(self, file: BinaryIO, log: Log, outcome: Outcome, how: str) -> Outcome:
        """The outcome of a log that changed since it was found, which is as it was then as far as that can be."""
        if (before := as_found(file, log)) is not file:
            outcome = self.read(before, log)
        found = reading.changed_log(how)
        finding = Finding(found.code, found.severity, outcome.session, log.shown, None, None, found.text)
        return replace(outcome, findings=[*outcome.findings, finding])

    def read(self, file: BinaryIO, log: Log, watch: Watch | None = None) -> Outcome:
        """Convert an open session log, while somebody may watch."""
        ledger = Ledger(log.stem)
        digest = xxh3_128()
        logged = self._reader.entries(file, log, ledger, digest.update)
        left = self._plan.through(watch.logged(logged) if watch else logged, ledger)
        left = watch.left(left) if watch else left
        snapshot = select(left, ledger, trace_roles=self._options.integrity_analysis)
        if watch:
            watch.settle(snapshot, ledger)
        left_out = _left_out(snapshot, ledger)
        replaced = self._anonymizer.count if self._anonymizer else 0
        record, usage = (None, None) if snapshot is None or left_out else self._finish(snapshot, ledger)
        if snapshot and not left_out and record is None:
            left_out, usage = ledger.facts[-1][1].code, None
        failed = snapshot is not None and any(found.severity == "error" for _, found in ledger.facts)
        chosen = self._chosen(snapshot) if snapshot else None
        started = snapshot.started if snapshot else None
        account, sizes = accounts(snapshot, ledger, written=record is not None)
        return Outcome(
            session=ledger.session_id or ledger.stem,
            record=record,
            left_out=left_out,
            findings=ledger.findings(log.shown),
            rejected=ledger.rejected,
            lines=ledger.lines,
            account=account,
            cleaned=snapshot.entry.cleaned if snapshot and record else Cleaned(),
            addresses=self._anonymizer.count - replaced if self._anonymizer and record is not None else 0,
            usage=usage,
            day=path_day(log.name) or (day(started) if started is not None else None),
            trace=_trace(snapshot) if snapshot and failed else "",
            digest=_digest(ledger, digest),
            facts=self._facts(snapshot, ledger, log) if record and snapshot and self._tells_facts else None,
            size=ledger.size,
            sizes=sizes,
            images=ledger.images if record else {},
            chosen=chosen,
            without_tools=ledger.without_tools if record else "",
        )

    def _chosen(self, snapshot: Snapshot) -> Chosen:
        """What the log says about the entry that becomes the record; documents say nothing of models."""
        entry = snapshot.entry
        model = entry.reply.model
        if model is None:
            from chatsquash.read import usage  # which few logs need

            model = usage.told(entry.reply).model
        started, ended = (stamp(at) if at is not None else None for at in (snapshot.started, snapshot.ended))
        return Chosen(entry.line, started, ended, model, snapshot.superseded + 1)

    def _facts(self, snapshot: Snapshot, ledger: Ledger, log: Log) -> Facts:
        """What the log says beside the conversation, without addresses where these are replaced."""
        from chatsquash.read import usage  # which the specified record does not need

        entry, started = snapshot.entry, snapshot.started
        found = usage.told(entry.reply)
        named, dot, suffix = log.name.rpartition(".")  # with a suffix behind it, no address is one
        told = (ledger.session_id or ledger.stem, named or suffix, found.model)
        session, source, model = self._anonymizer.counted(list(told))[0] if self._anonymizer else told
        return Facts(
            prefix=_prefix(entry.messages),
            session=printable(session),
            source=printable(f"{source}{dot}{suffix}" if named else source),
            model=printable(model) if model else None,
            started_at=stamp(started) if started is not None else None,
            entries=snapshot.superseded + 1,
            prompt_tokens=found.prompt_tokens,
            completion_tokens=found.completion_tokens,
        )

    def _finish(self, snapshot: Snapshot, ledger: Ledger) -> tuple[bytes | None, Usage]:
        """The record and its use of tools; no record where the last fact is why the preset cannot hold it."""
        line = snapshot.entry.line
        conversation = compose(snapshot, ledger)
        if ledger.loaded:
            judged = self._shape is not None and self._options.media != "drop"
            conversation = leave_out(conversation, ledger, line, self._joins, judged=judged)
        view = View(conversation)
        if self._options.integrity_analysis:
            self._examine(view, ledger, line)
        usage = measure(view)
        if self._shape and (why := unfit(view)):  # before the stages, since what is logged counts
            ledger.refuse(why, line)
            return None, usage
        conversation = self._public(conversation, ledger, line)
        for stage in self._plan.conversation:
            conversation = stage(conversation, ledger, line)
        if self._shape:
            (record, findings), ledger.images = self._shape(conversation)
            for found in (*findings, *self._flagged(record)):
                ledger.note(found, line)
            return record, usage
        return self._specified(conversation, ledger, line), usage

    def _examine(self, view: View, ledger: Ledger, line: int) -> None:
        """Note what is wrong with what was logged."""
        ledger.without_tools = _without_tools(view, ledger)
        explained = OF_TOOLS if ledger.without_tools else ()
        for found in (*definitions.check(view.tools), *examine(view, "record", "native")):
            if found.code not in explained:
                ledger.note(found, line)
        logged = view.messages if ledger.seen and ledger.seen.format == PLAIN else []
        gone = () if self._options.reasoning == "keep" else REASONING_KEYS
        forms = [form for form in chain.from_iterable(map(variants, logged)) if form not in gone]
        if forms:
            ledger.note(reading.vendor_form(Counter(forms)), line)

    def _public(self, conversation: Conversation, ledger: Ledger, line: int) -> Conversation:
        """The conversation as canonical messages have it, texts as one where they are to be."""
        if self._shape and ledger.loaded:
            conversation = with_media(conversation)
        if self._joins and (ledger.loaded or self._options.reasoning != "keep"):
            from chatsquash.stages.join_texts import join_texts  # which the specified record does not need

            conversation = join_texts(conversation, ledger, line, self._joins)
        return public(conversation) if ledger.loaded else conversation

    def _specified(self, conversation: Conversation, ledger: Ledger, line: int) -> bytes | None:
        """The specified record, unless a dataset folder is written and no loader would give it back."""
        if conversation.written is None:
            messages, rounded = jsonio.encode(conversation.messages)
        else:
            messages, rounded = b"[%b]" % b",".join(conversation.written), []
        tools, rounded_too = definitions.encode(conversation.tools)
        if spellings := [*rounded, *rounded_too]:
            ledger.note(reading.number_changed(spellings, len(spellings)), line)
        record = b'{"messages":%b,"tools":%b}' % (messages, tools)
        lost = self._lost(conversation, record) if self._lost else []
        for found in lost:
            ledger.note(found, line)
        if any(found.severity == "error" for found in lost):
            return None
        for found in self._flagged(messages):
            ledger.note(found, line)
        return record

    def _flagged(self, written: bytes | None) -> Iterable[Found]:
        """The phrases in a record, or in the messages of one."""
        return self._phrases.written(written) if self._phrases and written else ()


def _shape(options: Options) -> Callable[[Conversation], tuple[Line, dict[str, bytes]]]:
    from chatsquash.records.shaping import written  # which the specified record does not need

    return partial(written, presets.named(options.preset), choices=presets.choices(options))


def _joins(options: Options) -> Wanted | None:
    """Of which messages the texts are to be one; of none in the specified record, unless calls are inlined."""
    if options.preset != presets.DEFAULT:
        return lambda message: True  # noqa: ARG005
    if not options.json_tool_calls:
        return None
    from chatsquash.stages.inline import is_inlined

    return is_inlined


def _lost() -> Callable[[Conversation, bytes], list[Found]]:
    from chatsquash.records.shaping import specified  # which only a dataset folder needs

    return specified


def _left_out(snapshot: Snapshot | None, ledger: Ledger) -> str | None:
    """The code of the finding for which a session is not written; with it, what cleaning did."""
    changed = (*(snapshot.entry.cleaned if snapshot else Cleaned()), ledger.cleaned)
    if any(changed):
        counts = dict(zip(_RULES, changed, strict=True))
        ledger.note(reading.cleaned(counts), snapshot.entry.line if snapshot else None)
    seen = ledger.seen
    if seen and seen.why and not seen.format and (seen.conflict or not (snapshot or ledger.cleaned)):
        ledger.note(reading.unknown_format(seen.why))
        return "unknown-format"
    if snapshot is None:
        ledger.note(reading.empty_session(ledger.cleaned, len(ledger.rejected)))
        return "empty-session"
    invalid = (found for _, found in ledger.facts if found.code in ("session-id-mismatch", "timestamp-order"))
    return next(found.code for found in invalid if found.severity == "error") if ledger.invalid else None


def _without_tools(view: View, ledger: Ledger) -> str:
    """The format of a log, where that explains that the record has no tools."""
    name = ledger.seen.format if ledger.loaded and ledger.seen and not view.tools else None
    return name if name and not documents.holds_tools(name) else ""


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


def _digest(ledger: Ledger, digest: xxh3_128) -> str:
    """The hash of a log; that of a document is found with its first conversation."""
    held = ledger.document
    if held is None:
        return digest.hexdigest()
    held.digest = held.digest or digest.hexdigest()
    return str(held.digest)
