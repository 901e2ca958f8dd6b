"""Make samples from records, in which some replies are trained on, marked by flags or as a prompt's completion."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_128_digest

from chatsquash.core import jsonio, marks
from chatsquash.core.model import Json, Mark
from chatsquash.core.options import Options
from chatsquash.core.outcome import Record
from chatsquash.core.scores import Verdict
from chatsquash.records import digest, presets

CONTEXT = "context"
"""The reason for not training on a message before a sample's reply: it has its own sample or is excluded."""


class MessageSpan(Struct, frozen=True):
    """The range of a reply's messages in a record: from ``start`` up to, but not including, ``stop``."""

    start: int
    stop: int


class Draft(Struct, frozen=True):
    """A record that ends with a reply, before it is decided which replies are trained on."""

    record: Record
    marks: list[Mark]
    """The marks, as in ``Record.marks``."""
    messages: int
    """The number of messages in the record."""

    def span(self, ordinal: int) -> MessageSpan | None:
        """Return the range of an assistant message of the snapshot; ``None`` if it is missing or joined to another."""
        own_marks = [mark for mark in self.marks if ordinal in mark.at]
        if not own_marks or any(len(mark.at) > 1 for mark in own_marks):
            return None
        span = MessageSpan(own_marks[0].place, own_marks[-1].place + 1)
        return span if span.stop - span.start == len(own_marks) else None

    def covers_rest(self, first: MessageSpan, ordinals: Collection[int]) -> bool:
        """Return whether all assistant messages from a place on are among these messages of the snapshot."""
        following = (mark for mark in self.marks if mark.place >= first.start)
        return all(at in ordinals for mark in following for at in mark.at)


def draft(record: Record) -> Draft:
    """Return the draft of a new record."""
    value = jsonio.loads(record.line)
    return Draft(record, record.marks, len(_messages_of(value)))


def _messages_of(value: Json) -> list[Any]:
    """Return the list of messages or turns in a record."""
    messages: list[Any] = value["messages" if "messages" in value else "conversations"]
    return messages


def reply_marks(draft: Draft, models: Mapping[int, str], weights: Mapping[int, float]) -> list[Mark]:
    """Return the marks of a sample that trains on some messages of the snapshot.

    Args:
        draft: The draft of the sample.
        models: The models of these messages, by ordinal.
        weights: Their weights, by ordinal.
    """
    trained = [models.keys() >= set(mark.at) for mark in draft.marks]
    return [
        mark._replace(
            why="",
            model=models.get(mark.at[0], "") if mark.at else "",
            weight=min((weights.get(at, 1.0) for at in mark.at), default=1.0),
        )
        if is_trained
        else mark
        if mark.why == CONTEXT
        else mark._replace(why=CONTEXT)
        for mark, is_trained in zip(draft.marks, trained, strict=True)
    ]


def make_sample(draft: Draft, sample_marks: list[Mark], options: Options, judgement: Verdict | None = None) -> Record:
    """Return the sample of a draft with these marks; with ``judgement``, as a completion with a label."""
    value = jsonio.loads(draft.record.line)
    flag = options.flag
    if options.shape in ("prompt-completion", "kto"):
        value = split_prompt(value, min(mark.place for mark in sample_marks if not mark.why))
    if judgement:
        return _labelled(draft.record, value, sample_marks, judgement)
    if options.shape == "messages" and flag != "none":
        preset = presets.get_preset(options.preset)
        everywhere = any(column.members for column in preset.COLUMNS)
        value = marks.flag_record(value, sample_marks, flag, everywhere=everywhere)
    line = jsonio.dumps(value)
    unflagged = digest(draft.record.line)
    return replace(draft.record, content=line, marks=sample_marks, unflagged=unflagged, digest=xxh3_128_digest(line))


def _labelled(record: Record, value: dict[str, Any], sample_marks: list[Mark], judgement: Verdict) -> Record:
    """Return a sample with its label; samples that differ in their labels are not duplicates."""
    line = jsonio.dumps({**value, "label": judgement.is_good, "evidence": judgement.evidence})
    return replace(
        record,
        content=line,
        marks=sample_marks,
        unflagged=b"",
        digest=xxh3_128_digest(line),
        label=judgement.is_good,
    )


def make_prompt(draft: Draft, place: int) -> Record:
    """Return the messages of a draft before a place as a prompt without a completion."""
    value = split_prompt(jsonio.loads(draft.record.line), place)
    del value["completion"]
    line = jsonio.dumps(value)
    marks_before = [mark._replace(why=CONTEXT) for mark in draft.marks if mark.place < place]
    return replace(draft.record, content=line, marks=marks_before, unflagged=b"", digest=xxh3_128_digest(line))


def split_prompt(value: dict[str, Any], place: int) -> dict[str, Any]:
    """Return a record with its messages split into prompt and, from a place on, completion; other members follow."""
    rest = {name: member for name, member in value.items() if name != "messages"}
    return {"prompt": value["messages"][:place], "completion": value["messages"][place:], **rest}
