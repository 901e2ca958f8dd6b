"""Make the record of a snapshot, with the facts in the log and a digest of the record's beginning."""

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
from chatsquash.records import digest
from chatsquash.records.reading import record
from chatsquash.redaction.pseudonyms import Anonymizer, anonymizer, may_change, with_passwords
from chatsquash.session.plan import Plan, plan, run_stages
from chatsquash.session.session import Session, Snapshot
from chatsquash.session.stages.compose import normalise
from chatsquash.sources.compression import stem

if TYPE_CHECKING:
    from chatsquash.session.lengths import Lengths
    from chatsquash.templates.confined import Inference, Rerendering, Template
    from chatsquash.templates.counting import Tokenizer


class RecordMaker:
    """Makes the records of sessions with one plan."""

    def __init__(self, options: Options, plan: Plan, anonymizer: Anonymizer | None) -> None:
        self._options, self._plan, self._anonymizer = options, plan, anonymizer
        self._template: Template | None = None
        self.lengths = _lengths(options)
        """Counts the tokens of records if a tokenizer is set."""

    def make(
        self, seen: LogHead | None, session: Session, log: Log, snapshot: Snapshot, marks: list[Mark] | None
    ) -> tuple[Record | Rejection, list[Violation]]:
        """Make a record with facts, pseudonyms, lengths and logprobs.

        Returns:
            The record or the reason for rejecting it, and the findings.
        """
        source, version = (seen.format, seen.version) if seen else (None, None)
        before = self._anonymizer.count if self._anonymizer else 0
        if self._anonymizer:
            self._anonymizer.passwords.clear()  # left over from snapshots that became no record
        has_private = session.has_private
        snapshot = session.other_files.with_failures(snapshot) if session.other_files else snapshot
        record, findings = self._plan.make_record(
            snapshot, has_private=has_private, source=source, version=version, marks=marks
        )
        if isinstance(record, Rejection):
            return record, findings
        addresses = self._anonymizer.count - before if self._anonymizer else 0
        facts = self._facts(session, snapshot, log, record.line)
        if self._options.tools_file is not None:
            facts = structs.replace(
                facts, tools_supplied=any(violation.code == "supplied-tools" for violation in findings)
            )
        record = structs.replace(record, facts=facts, addresses=addresses)
        record = with_passwords(record, self._anonymizer)
        if self._options.keep != "none" and self._options.samples == "session":
            from chatsquash.session.samples import with_logprobs  # imported here because few runs need it

            record = with_logprobs(session, snapshot, record)
        if self.lengths and self._options.samples != "tokens":
            result, more = self.lengths.measure(record)
            findings = [*findings, *more]
            if isinstance(result, Violation):
                return Rejection(result), findings
            record = result
        record = session.other_files.with_exit_code(record, snapshot) if session.other_files else record
        if session.entries:
            record = structs.replace(record, entry=self.selection(snapshot), size=snapshot.entry.size)
        return record, findings

    def selection(self, snapshot: Snapshot) -> SelectedEntry:
        """Return the line, times, model and number of entries for the entry that becomes the record."""
        entry = snapshot.entry
        model = entry.reply.model
        if model is None:
            model = of_entry(entry).model
        ended_at = entry.origin.ended_at if entry.origin else snapshot.ended_at
        return SelectedEntry(
            entry.line, _format_time(snapshot.started_at), _format_time(ended_at), model, snapshot.superseded + 1
        )

    def _facts(self, session: Session, snapshot: Snapshot, log: Log, line: bytes) -> Facts:
        """Return the facts about the session in its log, with addresses replaced if requested."""
        entry = snapshot.entry
        tokens = of_entry(entry)
        name_part, dot, suffix = log.name.rpartition(".")  # an address with a suffix after it is not recognised
        name, source, model = session.id or stem(log), name_part or suffix, tokens.model
        if self._anonymizer and may_change(f"{name}\n{source}\n{model}"):
            name, source, model = self._anonymizer.anonymize([name, source, model])[0]
        return Facts(
            prefix=prefix_of_line(line) if self._options.split else "",
            session=printable(name),
            source=printable(f"{source}{dot}{suffix}" if name_part else source),
            model=printable(model) if model else None,
            started_at=_format_time(snapshot.started_at),
            entries=snapshot.superseded + 1,
            prompt_tokens=tokens.prompt_tokens,
            completion_tokens=tokens.completion_tokens,
        )

    def location(self, log: Log, line: int | None) -> str:
        """Return the file and line where something was logged, with addresses replaced if requested."""
        file, at = log.at(line) if log.pieces or log.agents else (log.name, line)
        name_part, dot, suffix = file.rpartition(".")
        name = self._anonymizer.anonymize([name_part or suffix])[0][0] if self._anonymizer else name_part or suffix
        path = printable(f"{name}{dot}{suffix}" if name_part else name)
        return path if at is None else f"{path}:{at}"

    def inference(self) -> Inference | None:
        """Return the template and tokenizer for rendering samples."""
        if self._options.samples != "auto":
            return None
        from chatsquash.templates.confined import Inference, open_template

        assert self._options.template
        self._template = self._template or open_template(self._options.template)
        return Inference(self._template, self.lengths.tokenizer if self.lengths else None)

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer of the options, if any."""
        return self.lengths.tokenizer if self.lengths else None

    def rerendering(self) -> Rerendering | None:
        """Return the template and tokenizer for comparing samples of token ids with their rendering."""
        if self._options.samples != "tokens" or self._options.template is None or self.lengths is None:
            return None
        from chatsquash.templates.confined import Rerendering, open_template

        self._template = self._template or open_template(self._options.template)
        return Rerendering(self._template, self.lengths.tokenizer)


def _lengths(options: Options) -> Lengths | None:
    """Return the counter of tokens if a tokenizer is set."""
    if options.tokenizer is None:
        return None
    from chatsquash.session.lengths import Lengths

    return Lengths(options)


@lru_cache(maxsize=2)  # facts and selections contain the same times
def _format_time(at: int | None) -> str | None:
    return None if at is None else stamp(at)


_REPLY: Message = {"role": "assistant", "content": "."}
"""Appended to a beginning, because presets reject conversations without a reply."""


def prefix_of_line(line: bytes) -> str:
    """Return the digest of a record's beginning, or of the complete record if parsing would take too much memory."""
    try:
        return prefix(record(jsonio.loads(line)).messages)
    except jsonio.TooLargeError:
        return digest(line).hex()


def prefix_of_messages(messages: Iterable[Message], options: Options, *, has_private: bool) -> str:
    """Return the digest of a conversation's beginning as it would be in a record."""
    # All messages before the first reply, because some presets join several into one.
    beginning = takewhile(lambda message: message["role"] != "assistant", messages)
    first = [normalise(message) for message in beginning]
    steps = _plan(options)
    conversation, _ = run_stages(steps.logged_stages, Conversation([*first, _REPLY], [], has_private=has_private))
    conversation, _ = run_stages(steps.record_stages, conversation)
    line = steps.encode(conversation).data
    # If the preset rejects the beginning, no record has it, and the logged messages distinguish such sessions.
    return prefix(first) if line is None else prefix_of_line(line)


@lru_cache(maxsize=1)
def _plan(options: Options) -> Plan:
    """Return the plan of the run with separate pseudonyms, which are the same for the same key."""
    return plan(options, anonymizer(options))


def prefix(messages: list[Message]) -> str:
    """Return a digest of the system prompt and the first other message."""
    digest = sha256()
    for message in messages:
        role = message["role"]
        digest.update(jsonio.dumps([role, message.get("content")]))
        if role not in ("system", "developer"):
            break
    return digest.hexdigest()[:32]
