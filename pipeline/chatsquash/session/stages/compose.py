"""The first and the last stage: a snapshot becomes a conversation, a conversation becomes the line of a record."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from chatsquash.checks import reading
from chatsquash.checks.phrases import Phrases
from chatsquash.core import chat, jsonio, marks
from chatsquash.core.model import Conversation, Message, Response, StageResult, Violation
from chatsquash.records.line import RecordLine, digest
from chatsquash.records.presets import Choices, Preset
from chatsquash.session.session import Snapshot
from chatsquash.session.stages.tools import encode_definitions

_OTHER = "developer"
"""What OpenAI calls the system since its models reason."""


def compose(
    snapshot: Snapshot, *, loaded: bool = False, source: str | None = None, version: str | None = None
) -> StageResult:
    """Append the reply and normalise roles; says what is missing about the reply.

    ``loaded``, ``source`` and ``version`` are as in ``Conversation``.
    """
    reply = snapshot.entry.reply
    messages = list(snapshot.entry.messages)
    if reply.message is not None:
        messages.append(_with_ids(reply.message, messages))
    for at in [at for at, message in enumerate(messages) if None in message.values() or message["role"] == _OTHER]:
        messages[at] = normalise(messages[at])
    return Conversation(messages, snapshot.tools, has_private=loaded, source=source, version=version), _missing(reply)


def _missing(reply: Response) -> Iterator[Violation]:
    if reply.message is None and not reply.included:
        yield reading.missing_reply(reply.problem or "")
    if reply.message is not None and reply.cut:
        yield reading.stream_interrupted()
    is_known = (reply.included or reply.cut) and reply.finish_reason == "incomplete"  # which is reported already
    if (reply.message is not None or reply.included) and chat.is_truncated(reply.finish_reason) and not is_known:
        yield reading.reply_truncated(reply.finish_reason or "")
    if reply.choices > 1:
        yield reading.extra_choices(reply.choices)


def _with_ids(reply: Message, messages: list[Message]) -> Message:
    """A reply whose calls got ids from us, counted on from those of the request."""
    flags = chat.made_up_ids(reply)
    if not flags:
        return reply
    pairs = list(zip(chat.calls(reply), flags, strict=True))
    logged = [call for call, is_made_up in pairs if not is_made_up]
    taken = {call.get("id") for call in [*logged, *(call for message in messages for call in chat.calls(message))]}
    free = (f"call_{number}" for number in count(1) if f"call_{number}" not in taken)
    calls = [{**call, "id": next(free)} if is_made_up else call for call, is_made_up in pairs]
    return {**reply, "tool_calls": calls}


def normalise(message: Message) -> Message:
    """``developer`` becomes ``system``, null-valued fields go; nothing else changes."""
    kept = {key: value for key, value in message.items() if value is not None}
    if kept["role"] == _OTHER:
        kept["role"] = "system"
    return kept  # type: ignore[return-value]


def specified(
    conversation: Conversation, *, phrases: Phrases | None, in_folder: bool, flag: str | None = None
) -> RecordLine:
    """The specified record; for a dataset folder only if loaders would give it back.

    With a flag, if one is named, in its assistant messages.
    """
    made = _specified(conversation, phrases, in_folder=in_folder)
    if conversation.marks is None or made.data is None:
        return made
    placed = marks.with_places(conversation)
    if flag is None:
        return made._replace(marks=placed)
    flagged = _specified(marks.add_flags(conversation, flag), None, in_folder=False)
    return made._replace(data=flagged.data, marks=placed, unflagged=digest(made.data))


def _specified(conversation: Conversation, phrases: Phrases | None, *, in_folder: bool) -> RecordLine:
    if conversation.encoded_messages is None:
        messages, rounded = jsonio.encode(conversation.messages)
    else:
        messages, rounded = b"[%b]" % b",".join(conversation.encoded_messages), []
    tools, rounded_too = encode_definitions(conversation.tools)
    spellings = [*rounded, *rounded_too]
    findings = [reading.number_changed(spellings, len(spellings))] if spellings else []
    record = b'{"messages":%b,"tools":%b}' % (messages, tools)
    if in_folder:
        from chatsquash.records import shaping  # which only a dataset folder needs

        findings += shaping.specified(conversation, record)
        if why := next((each for each in findings if each.severity == "error"), None):
            return RecordLine(None, findings, why)
    return RecordLine(record, [*findings, *(phrases.violations_in(messages) if phrases else ())])


def shape(
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
    return made._replace(findings=[*made.findings, *phrases.violations_in(made.data)])
