"""Write a result once that a client sent twice."""

from __future__ import annotations

from msgspec.structs import replace

from chatsquash.checks import shapes
from chatsquash.core import chat
from chatsquash.core.model import Conversation, Json, Message, StageResult

_REMEMBERED = 8
"""Contents that are compared for one id."""


def write_once(conversation: Conversation, *, loaded_only: bool) -> StageResult:
    """The conversation without results that repeat the id and the content of one to the same message.

    ``loaded_only``: results stay as they were logged unless the conversation was loaded from another format.
    """
    if loaded_only and not conversation.has_private:
        return conversation, ()
    ids = [message.get("tool_call_id") for message in conversation.messages if message["role"] == "tool"]
    if len(set(map(chat.id_key, ids))) == len(ids):
        return conversation, ()
    messages: list[Message] = []
    sent: dict[str | bytes, list[Json]] | None = None
    """The contents of the results since an assistant's message, by id."""
    for message in conversation.messages:
        if message["role"] == "assistant":
            sent = {}
        elif message["role"] == "tool" and sent is not None and (key := chat.id_key(message.get("tool_call_id"))):
            contents = sent.setdefault(key, [])
            if message.get("content") in contents[:_REMEMBERED]:
                continue
            contents.append(message.get("content"))
        messages.append(message)
    repeated = len(conversation.messages) - len(messages)
    if not repeated:
        return conversation, ()
    return replace(conversation, messages=messages), [shapes.shape_changed({"results sent twice": repeated})]
