"""Remove tool results that a client sent twice."""

from __future__ import annotations

from msgspec.structs import replace

from chatsquash.checks import shapes
from chatsquash.core import chat
from chatsquash.core.model import Conversation, Json, Message, StageResult

_MAX_CONTENTS = 8
"""The number of results per call id with which later results are compared."""


def drop_repeated_results(conversation: Conversation, *, loaded_only: bool) -> StageResult:
    """Drop results that repeat the call id and content of an earlier result after the same assistant message.

    Args:
        conversation: The conversation.
        loaded_only: Keep repeated results unless the conversation was loaded from a format other than OpenAI chat.
    """
    if loaded_only and not conversation.has_private:
        return conversation, ()
    ids = [message.get("tool_call_id") for message in conversation.messages if message["role"] == "tool"]
    if len(set(map(chat.id_key, ids))) == len(ids):
        return conversation, ()
    messages: list[Message] = []
    # The contents of the results since the last assistant message, by call id; ``None`` before the first one.
    contents_by_id: dict[str | bytes, list[Json]] | None = None
    for message in conversation.messages:
        if message["role"] == "assistant":
            contents_by_id = {}
        elif (
            message["role"] == "tool"
            and contents_by_id is not None
            and (key := chat.id_key(message.get("tool_call_id")))
        ):
            contents = contents_by_id.setdefault(key, [])
            if message.get("content") in contents[:_MAX_CONTENTS]:
                continue
            contents.append(message.get("content"))
        messages.append(message)
    dropped = len(conversation.messages) - len(messages)
    if not dropped:
        return conversation, ()
    return replace(conversation, messages=messages), [shapes.shape_changed({"repeated results removed": dropped})]
