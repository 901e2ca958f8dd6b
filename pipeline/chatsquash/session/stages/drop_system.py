"""Leave out system messages, for templates that have no place for them."""

from __future__ import annotations

from chatsquash.checks import shapes
from chatsquash.core.model import Conversation, Staged


def drop_system(conversation: Conversation) -> Staged:
    """The conversation without system messages; how many they were is reported."""
    kept = [message for message in conversation.messages if message["role"] != "system"]
    gone = len(conversation.messages) - len(kept)
    found = [shapes.shape_changed({"system messages dropped": gone})] if gone else []
    return Conversation(kept, conversation.tools, marks=conversation.marks), found
