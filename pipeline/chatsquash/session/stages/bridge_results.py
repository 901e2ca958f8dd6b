"""Put what a user says right behind a result into it, for trainers in which the assistant speaks behind a result."""

from __future__ import annotations

from chatsquash.checks import shapes
from chatsquash.core.model import Conversation, Message, Staged
from chatsquash.session.stages.merge_consecutive import together


def bridge_results(conversation: Conversation) -> Staged:
    """Texts with an empty line between them, parts behind the result's; how often is reported.

    Messages with members beside their content stay, and so does content that is no string, list or null.
    """
    messages: list[Message] = []
    for message in conversation.messages:
        if messages and messages[-1]["role"] == "tool" and _fits(messages[-1], message):
            said = together(messages[-1].get("content"), message.get("content"))
            messages[-1] = {**messages[-1], "content": said}
        else:
            messages.append(message)
    count = len(conversation.messages) - len(messages)
    found = [shapes.shape_changed({"messages of the user joined to the result before": count})] if count else []
    return Conversation(messages, conversation.tools, marks=conversation.marks), found


def _fits(result: Message, message: Message) -> bool:
    if message["role"] != "user" or message.keys() - {"role", "content"}:
        return False
    return all(isinstance(each.get("content"), str | list | None) for each in (result, message))
