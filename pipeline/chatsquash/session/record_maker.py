"""A snapshot to its record, with the facts that the log states about it, and a digest of what it begins with."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from itertools import takewhile
from typing import TYPE_CHECKING

from msgspec import structs

from chatsquash.core import jsonio
from chatsquash.core.accounting import of_entry
from chatsquash.core.log import Log
from chatsquash.core.model import Conversation, LogHead, Mark, Message, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Facts, Record, Rejection, SelectedEntry
from chatsquash.core.text import printable
from chatsquash.core.times import stamp
from chatsquash.records.line import digest
from chatsquash.records.reading import record
from chatsquash.redaction.pseudonyms import Anonymizer, anonymizer, with_passwords
from chatsquash.session.plan import Plan, plan, run_stages
from chatsquash.session.session import Session, Snapshot
from chatsquash.session.stages.compose import normalise
from chatsquash.sources.compression import stem

if TYPE_CHECKING:
    from chatsquash.session.lengths import Lengths
    from chatsquash.templates.confined import Inference, Template


class RecordMaker:
    """Makes the records of sessions by one plan."""

    def __init__(self, options: Options, plan: Plan, anonymizer: Anonymizer | None) -> None:
        self._options, self._plan, self._anonymizer = options, plan, anonymizer
        self._template: Template | None = None
        self.lengths = _lengths(options)
        """Counts the tokens of records, if a tokenizer is set."""

    def make(
        self, seen: LogHead | None, session: Session, log: Log, snapshot: Snapshot, marks: list[Mark] | None
    ) -> tuple[Record | Rejection, list[Violation]]:
        """The record of a snapshot with facts, pseudonyms, lengths and logprobs, or why there is none; and findings."""
        source, version = (seen.format, seen.version) if seen else (None, None)
        before = self._anonymizer.count if self._anonymizer else 0
        if self._anonymizer:
            self._anonymizer.passwords.clear()  # those of what became no record
        has_private = session.has_private
        snapshot = session.other_files.with_failures(snapshot) if session.other_files else snapshot
        made, findings = self._plan.make_record(
            snapshot, has_private=has_private, source=source, version=version, marks=marks
        )
        if isinstance(made, Rejection):
            return made, findings
        addresses = self._anonymizer.count - before if self._anonymizer else 0
        facts = self._facts(session, snapshot, log, made.line)
        if self._options.tools_file is not None:
            facts = facts._replace(tools_supplied=any(found.code == "supplied-tools" for found in findings))
        made = structs.replace(made, facts=facts, addresses=addresses)
        made = with_passwords(made, self._anonymizer)
        if self._options.keep != "none" and self._options.samples == "session":
            from chatsquash.session.samples import with_logprobs  # which few runs ask for

            made = with_logprobs(session, snapshot, made)
        if self.lengths:
            fitted, more = self.lengths.measure(made)
            findings = [*findings, *more]
            if isinstance(fitted, Violation):
                return Rejection(fitted), findings
            made = fitted
        made = session.other_files.with_exit_code(made, snapshot) if session.other_files else made
        if session.entries:
            made = structs.replace(made, entry=self.selection(snapshot), size=snapshot.entry.size)
        return made, findings

    def selection(self, snapshot: Snapshot) -> SelectedEntry:
        """What the log says about the entry that becomes the record."""
        entry = snapshot.entry
        model = entry.reply.model
        if model is None:
            model = of_entry(entry).model
        ended = entry.origin.ended_at if entry.origin else snapshot.ended_at
        return SelectedEntry(entry.line, _stamped(snapshot.started_at), _stamped(ended), model, snapshot.superseded + 1)

    def _facts(self, session: Session, snapshot: Snapshot, log: Log, line: bytes) -> Facts:
        """What the log says beside the conversation, without addresses where these are replaced."""
        entry = snapshot.entry
        used = of_entry(entry)
        named, dot, suffix = log.name.rpartition(".")  # with a suffix behind it, no address is one
        names = (session.id or stem(log), named or suffix, used.model)
        name, source, model = self._anonymizer.counted(list(names))[0] if self._anonymizer else names
        return Facts(
            prefix=prefix_of_line(line) if self._options.split else "",
            session=printable(name),
            source=printable(f"{source}{dot}{suffix}" if named else source),
            model=printable(model) if model else None,
            started_at=_stamped(snapshot.started_at),
            entries=snapshot.superseded + 1,
            prompt_tokens=used.prompt_tokens,
            completion_tokens=used.completion_tokens,
        )

    def location(self, log: Log, line: int | None) -> str:
        """Where something was logged, without addresses where these are replaced."""
        file, at = log.at(line) if log.pieces or log.agents else (log.name, line)
        named, dot, suffix = file.rpartition(".")
        name = self._anonymizer.counted([named or suffix])[0][0] if self._anonymizer else named or suffix
        whole = printable(f"{name}{dot}{suffix}" if named else name)
        return whole if at is None else f"{whole}:{at}"

    def inference(self) -> Inference | None:
        """What the samples of a session are rendered with."""
        if self._options.samples != "auto":
            return None
        from chatsquash.templates.confined import Inference, open_template

        assert self._options.template
        self._template = self._template or open_template(self._options.template)
        return Inference(self._template, self.lengths.tokenizer if self.lengths else None)


def _lengths(options: Options) -> Lengths | None:
    """What counts the tokens of records, where somebody asks."""
    if options.tokenizer is None:
        return None
    from chatsquash.session.lengths import Lengths

    return Lengths(options)


def _stamped(at: int | None) -> str | None:
    return None if at is None else stamp(at)


_REPLY: Message = {"role": "assistant", "content": "."}
"""Stands behind a beginning, since presets hold no conversation without a reply."""


def prefix_of_line(line: bytes) -> str:
    """The digest of what a record begins with; of all of it where parsing it would take more memory than may be."""
    try:
        return prefix(record(jsonio.loads(line)).messages)
    except jsonio.TooLargeError:
        return digest(line).hex()


def prefix_of_messages(messages: Iterable[Message], options: Options, *, has_private: bool) -> str:
    """The digest of what the record of a conversation would begin with, which may not be written itself.

    Where the preset cannot hold the beginning, no record has it, and what was logged tells such sessions apart.
    """
    # All that is said before a reply, since some presets make one message of several.
    said = takewhile(lambda message: message["role"] != "assistant", messages)
    first = [normalise(message) for message in said]
    made = _plan(options)
    conversation, _ = run_stages(made.logged_stages, Conversation([*first, _REPLY], [], has_private=has_private))
    conversation, _ = run_stages(made.record_stages, conversation)
    line = made.encode(conversation).data
    return prefix(first) if line is None else prefix_of_line(line)


@lru_cache(maxsize=1)
def _plan(options: Options) -> Plan:
    """That of the run, with pseudonyms of its own, which are the same with one key."""
    return plan(options, anonymizer(options))


def prefix(messages: list[Message]) -> str:
    """A digest of what a conversation begins with: its system prompt and its first message of anybody else."""
    digest = sha256()
    for message in messages:
        role = message["role"]
        digest.update(jsonio.dumps([role, message.get("content")]))
        if role not in ("system", "developer"):
            break
    return digest.hexdigest()[:32]
