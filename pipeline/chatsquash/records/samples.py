"""Records as samples, of which some replies are trained on: as prompt and completion, or by flags."""

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
from chatsquash.records import presets
from chatsquash.records.line import digest

CONTEXT = "context"
"""Why a message before a sample's reply is not trained on: it has a sample of its own, or shall have none."""


class MessageSpan(Struct, frozen=True):
    """The messages that a reply became in a record: those from ``start`` up to, not including, ``stop``."""

    start: int
    stop: int


class Draft(Struct, frozen=True):
    """A record whose last messages are a reply, before it is known what else is trained on in it."""

    record: Record
    marks: list[Mark]
    """As ``Record.marks``."""
    messages: int
    """How many the record has."""

    def span(self, ordinal: int) -> MessageSpan | None:
        """Where an assistant's message of the snapshot stands; ``None``: nowhere, or together with another one."""
        own_marks = [mark for mark in self.marks if ordinal in mark.at]
        if not own_marks or any(len(mark.at) > 1 for mark in own_marks):
            return None
        span = MessageSpan(own_marks[0].place, own_marks[-1].place + 1)
        return span if span.stop - span.start == len(own_marks) else None

    def covers_rest(self, first: MessageSpan, ordinals: Collection[int]) -> bool:
        """Whether all that assistants say from a place on are these of the snapshot's messages."""
        following = (mark for mark in self.marks if mark.place >= first.start)
        return all(at in ordinals for mark in following for at in mark.at)


def draft(record: Record) -> Draft:
    """A record that was just made, with the marks of its assistant messages."""
    value = jsonio.loads(record.line)
    return Draft(record, record.marks, len(_messages_of(value)))


def _messages_of(value: Json) -> list[Any]:
    """The list of what is said in a record."""
    messages: list[Any] = value["messages" if "messages" in value else "conversations"]
    return messages


def reply_marks(draft: Draft, models: Mapping[int, str]) -> list[Mark]:
    """The marks of a sample in which messages of the snapshot are trained on, by the models that wrote them."""
    trained = [models.keys() >= set(mark.at) for mark in draft.marks]
    return [
        mark._replace(why="", model=models.get(mark.at[0], "") if mark.at else "")
        if is_trained
        else mark._replace(why=CONTEXT)
        for mark, is_trained in zip(draft.marks, trained, strict=True)
    ]


def make_sample(draft: Draft, sample_marks: list[Mark], options: Options) -> Record:
    """The sample of a draft with these marks."""
    value = jsonio.loads(draft.record.line)
    flag = options.flag
    if options.shape == "prompt-completion":
        value = split_prompt(value, min(mark.place for mark in sample_marks if not mark.why))
    elif flag != "none":
        preset = presets.get_preset(options.preset)
        everywhere = any(column.members for column in preset.COLUMNS)
        value = marks.flag_record(value, sample_marks, flag, everywhere=everywhere)
    line = jsonio.dumps(value)
    unflagged = digest(draft.record.line)
    return replace(draft.record, line=line, marks=sample_marks, unflagged=unflagged, digest=xxh3_128_digest(line))


def split_prompt(value: dict[str, Any], place: int) -> dict[str, Any]:
    """A record with its messages as prompt and, from a place on, completion; other members stay behind them."""
    rest = {name: member for name, member in value.items() if name != "messages"}
    return {"prompt": value["messages"][:place], "completion": value["messages"][place:], **rest}
