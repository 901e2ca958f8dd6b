"""The last step of a session: its conversation becomes the line of a record, or what refuses it is said."""

from __future__ import annotations

from chatsquash.checks import reading
from chatsquash.checks.phrases import Phrases
from chatsquash.core import jsonio, marks
from chatsquash.core.model import Conversation
from chatsquash.records.line import RecordLine, digest
from chatsquash.records.presets import Choices, Preset
from chatsquash.session import definitions


def specified(
    conversation: Conversation, *, phrases: Phrases | None, in_folder: bool, flag: str | None = None
) -> RecordLine:
    """The specified record; for a dataset folder only if loaders would give it back.

    With a flag, if one is named, in its assistant messages.
    """
    made = _specified(conversation, phrases, in_folder=in_folder)
    if conversation.marks is None or made.data is None:
        return made
    placed = marks.placed(conversation)
    if flag is None:
        return made._replace(marks=placed)
    flagged = _specified(marks.flagged(conversation, flag), None, in_folder=False)
    return made._replace(data=flagged.data, marks=placed, unflagged=digest(made.data))


def _specified(conversation: Conversation, phrases: Phrases | None, *, in_folder: bool) -> RecordLine:
    if conversation.written is None:
        messages, rounded = jsonio.encode(conversation.messages)
    else:
        messages, rounded = b"[%b]" % b",".join(conversation.written), []
    tools, rounded_too = definitions.encode(conversation.tools)
    spellings = [*rounded, *rounded_too]
    found = [reading.number_changed(spellings, len(spellings))] if spellings else []
    record = b'{"messages":%b,"tools":%b}' % (messages, tools)
    if in_folder:
        from chatsquash.records import shaping  # which only a dataset folder needs

        found += shaping.specified(conversation, record)
        if why := next((each for each in found if each.severity == "error"), None):
            return RecordLine(None, found, why)
    return RecordLine(record, [*found, *(phrases.written(messages) if phrases else ())])


def shaped(
    conversation: Conversation,
    *,
    preset: Preset,
    choices: Choices,
    phrases: Phrases | None,
    flag: str | None = None,
) -> RecordLine:
    """The record of a preset."""
    from chatsquash.records.shaping import line  # which the specified record does not need

    made = line(preset, conversation, choices, flag)
    if not made.data or not phrases:
        return made
    return made._replace(findings=[*made.findings, *phrases.written(made.data)])
