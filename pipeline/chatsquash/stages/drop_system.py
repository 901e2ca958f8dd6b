"""Leave out system messages, for templates that have no place for them."""

from __future__ import annotations

from chatsquash.checks import shapes
from chatsquash.ledger import Ledger
from chatsquash.model import Conversation


def drop_system(conversation: Conversation, ledger: Ledger, line: int) -> Conversation:
    """The conversation without system messages; how many they were is noted."""
    kept = [message for message in conversation.messages if message["role"] != "system"]
    if gone := len(conversation.messages) - len(kept):
        ledger.note(shapes.shape_changed({"system messages dropped": gone}), line)
    return Conversation(kept, conversation.tools)
