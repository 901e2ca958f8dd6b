"""Session traces next to a dataset: one file per record, which the Hub's trace viewer opens."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

from chatsquash.checks import dataset as checks
from chatsquash.core import jsonio
from chatsquash.core.blocks import FORM, Call, Reasoning, Refusal, Result, Text, Turn
from chatsquash.core.log import Log
from chatsquash.core.model import Conversation, Json, Origin, OriginReply, Violation
from chatsquash.core.outcome import Outcome, Record
from chatsquash.core.text import pluralize
from chatsquash.dataset.card import TRACES
from chatsquash.dataset.groups import sanitise
from chatsquash.dataset.store import Output
from chatsquash.formats import documents
from chatsquash.formats.base import TurnError
from chatsquash.formats.exports import sts
from chatsquash.formats.providers.openai_chat.read import tools, turns_of
from chatsquash.records import NotARecordError, reading

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
"""Characters that names of files on the Hub do not have."""
_LONGEST = 80


class Traces:
    """Writes the traces of records, which must have their final content."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._names: set[str] = set()
        # Checked now to fail before the conversion rather than after it.
        out.refuse_foreign(f"{TRACES}/any")

    def add(self, log: Log, outcome: Outcome, record: Record) -> Violation | None:
        """Write the trace of a record; return a finding if a part of the record, or all of it, is missing."""
        try:
            conversation = conversation_of(outcome, record)
            lines = sts.dump(conversation)
        except (TurnError, NotARecordError, jsonio.TooLargeError) as problem:
            return checks.trace_incomplete(f"all of it ({problem})")
        data = b"".join(jsonio.dumps(line) + b"\n" for line in lines)
        self._out.write(f"{TRACES}/{self._name(log, outcome, record)}.jsonl", data)
        missing = sum(map(_count_other_parts, turns_of(conversation)))
        return (
            checks.trace_incomplete(f"{pluralize(missing, 'part')} other than text, such as images")
            if missing
            else None
        )

    def _name(self, log: Log, outcome: Outcome, record: Record) -> str:
        """Return the name of a file: the session, and a digest that no other session or conversation changes."""
        label = _UNSAFE.sub("_", sanitise(_session(outcome, record)))[:_LONGEST]
        place = [log.display_path, log.part, outcome.session, record.conversation, record.sample]
        digest, count = sha256(jsonio.dumps(place)).hexdigest()[:12], 1
        name = f"{label}-{digest}"
        while name.casefold() in self._names:
            count += 1
            name = f"{label}-{digest}-{count}"
        self._names.add(name.casefold())
        return name


def conversation_of(outcome: Outcome, record: Record) -> Conversation:
    """Return the conversation in a record, with the known facts about its session and the models of its replies.

    Raises ``TurnError`` or ``NotARecordError`` if the record contains messages that cannot be read.
    """
    stored_record = reading.native(reading.record(jsonio.loads(record.line)))
    messages, session = stored_record.messages, _session(outcome, record)
    replies = (at for at, message in enumerate(messages) if message["role"] == "assistant")
    known = tuple(OriginReply(at, model=model) for at, model in zip(replies, record.models, strict=False) if model)
    # Samples of a conversation are parts of it, so they have the same parent.
    own = f"{record.conversation or session}/{record.sample}" if record.sample else record.conversation
    origin = Origin(id=own, session_id=session, kind=record.kind, parent=record.parent, replies=known)
    harness = outcome.account.format
    header = {"harness": harness} if harness in documents.names() and harness != sts.NAME else {}
    conversation = Conversation(messages, _definitions(stored_record.tools), origin=origin)
    return Conversation(
        conversation.messages,
        conversation.tools,
        origin=origin,
        turns=turns_of(conversation),
        native={FORM: {"header": header}},
    )


def _session(outcome: Outcome, record: Record) -> str:
    return record.facts.session if record.facts else outcome.session


def _definitions(tools_member: Json) -> list[Any]:
    """Return the definitions of a record, some of which are JSON text."""
    value = jsonio.value(tools_member, []) if isinstance(tools_member, str) else tools_member
    return [jsonio.value(each, each) if isinstance(each, str) else each for each in tools(value).functions]


def _count_other_parts(turn: Turn) -> int:
    """Count the parts that a trace cannot contain, such as images."""
    blocks = [*turn.blocks, *(each for block in turn.blocks if type(block) is Result for each in block.content)]
    return sum(not isinstance(block, Text | Refusal | Reasoning | Call | Result) for block in blocks)
