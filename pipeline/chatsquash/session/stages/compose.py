"""The first and the last conversation stage: snapshot to conversation, and conversation to record line."""

from __future__ import annotations

from itertools import count

from msgspec.structs import replace

from chatsquash.checks import reading
from chatsquash.checks.phrases import Phrases
from chatsquash.core import chat, jsonio
from chatsquash.core.model import Conversation, Message, Response, StageResult, Violation
from chatsquash.records import RecordLine, digest
from chatsquash.records.presets import Choices, Preset
from chatsquash.session.session import Snapshot
from chatsquash.session.stages.tools import analyse_definitions

_DEVELOPER = "developer"
"""OpenAI's name for the ``system`` role since its reasoning models."""


def compose(
    snapshot: Snapshot, *, has_private: bool = False, source: str | None = None, version: str | None = None
) -> StageResult:
    """Append the reply to the messages of a snapshot and normalise roles; report problems with the reply.

    ``has_private``, ``source`` and ``version`` are as in ``Conversation``.
    """
    reply = snapshot.entry.reply
    messages = list(snapshot.entry.messages)
    if reply.message is not None:
        messages.append(_with_ids(reply.message, messages))
    # Most messages need no change, so only the others are copied.
    for at, message in enumerate(messages):
        if None in message.values() or message["role"] == _DEVELOPER:
            messages[at] = normalise(message)
    conversation = Conversation(messages, snapshot.tools, has_private=has_private, source=source, version=version)
    return conversation, _missing(reply)


def _missing(reply: Response) -> list[Violation]:
    findings: list[Violation] = []
    if reply.message is None and not reply.included:
        findings.append(reading.missing_reply(reply.problem or ""))
    if reply.message is not None and reply.cut:
        findings.append(reading.stream_interrupted())
    is_known = (reply.included or reply.cut) and reply.finish_reason == "incomplete"  # already reported
    if (reply.message is not None or reply.included) and chat.is_truncated(reply.finish_reason) and not is_known:
        findings.append(reading.reply_truncated(reply.finish_reason or ""))
    if reply.choices > 1:
        findings.append(reading.extra_choices(reply.choices))
    return findings


def _with_ids(reply: Message, messages: list[Message]) -> Message:
    """Give ids to the calls of a reply that were logged without one, continuing the numbering of the request."""
    flags = chat.made_up_ids(reply)
    if not flags:
        return reply
    pairs = list(zip(chat.calls(reply), flags, strict=True))
    known = [call for call, is_made_up in pairs if not is_made_up]
    known_ids = {call.get("id") for call in [*known, *(call for message in messages for call in chat.calls(message))]}
    unused = (f"call_{number}" for number in count(1) if f"call_{number}" not in known_ids)
    calls = [{**call, "id": next(unused)} if is_made_up else call for call, is_made_up in pairs]
    return {**reply, "tool_calls": calls}


def normalise(message: Message) -> Message:
    """Rename the role ``developer`` to ``system`` and drop null fields."""
    result = {key: value for key, value in message.items() if value is not None}
    if result["role"] == _DEVELOPER:
        result["role"] = "system"
    return result  # type: ignore[return-value]


def encode_record(
    conversation: Conversation, *, phrases: Phrases | None, in_folder: bool, flag: str | None = None
) -> RecordLine:
    """Encode a conversation as a record in the documented format; with ``flag``, add it to the assistant messages.

    Args:
        conversation: The conversation as it is written, with its marks.
        phrases: The phrases to search for.
        in_folder: The record is for a dataset folder; reject it if dataset loaders would change it.
        flag: The name of the field that marks messages for training.
    """
    line = _encode(conversation, phrases, in_folder=in_folder)
    if conversation.marks is None or line.data is None:
        return line
    from chatsquash.core.marks import add_flags, with_places  # most records have no marks

    placed_marks = with_places(conversation)
    if flag is None:
        return replace(line, marks=placed_marks)
    # The digest is computed without flags.
    flagged = _encode(add_flags(conversation, flag, placed_marks), None, in_folder=False)
    return replace(line, data=flagged.data, marks=placed_marks, unflagged=digest(line.data), value=flagged.value)


def _encode(conversation: Conversation, phrases: Phrases | None, *, in_folder: bool) -> RecordLine:
    messages = conversation.encoded_messages
    rounded: list[str] = []
    if messages is None:
        encoded, rounded = jsonio.encode(conversation.messages)
        messages = [encoded[1:-1]]
    tools = analyse_definitions(conversation.tools)
    spellings = [*rounded, *tools.rounded]
    findings = [reading.number_changed(spellings, len(spellings))] if spellings else []
    record = b"".join((b'{"messages":[', b",".join(messages), b'],"tools":', tools.encoded, b"}"))
    if in_folder:
        from chatsquash.records import shaping  # imported here because only dataset folders need it

        findings += shaping.specified_record_violations(conversation, record)
        if why := next((each for each in findings if each.severity == "error"), None):
            return RecordLine(None, findings, why)
    if phrases and phrases.may_be_in(messages):
        findings += phrases.violations(jsonio.loads(b"[%b]" % b",".join(messages)))
    return RecordLine(record, findings, value={"messages": conversation.messages, "tools": conversation.tools})


def shape_record(
    conversation: Conversation,
    *,
    preset: Preset,
    choices: Choices,
    phrases: Phrases | None,
    flag: str | None = None,
) -> RecordLine:
    """Encode a conversation as a record of a preset."""
    from chatsquash.records.shaping import line  # imported here because the default format does not need it

    result = line(preset, conversation, choices, flag)
    if not result.data or not phrases:
        return result
    return replace(result, findings=[*result.findings, *phrases.violations_in(result.data)])
