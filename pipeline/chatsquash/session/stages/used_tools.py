"""Leave out the definitions of tools that are not called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from chatsquash.checks import shapes
from chatsquash.checks.tags import has_markup, outlined
from chatsquash.core import chat
from chatsquash.core.model import Conversation, Message, Staged


def used_tools(conversation: Conversation) -> Staged:
    """The conversation with the definitions of the tools that it calls; how many others there were is reported.

    Calls are those of all assistant messages, also in the legacy form and as markup in the text.
    """
    said = conversation.messages
    named = _called([*said, *outlined(said)] if has_markup(said) else said)
    called = {name for name in named if isinstance(name, str)}
    # A custom tool has the name that its calls have further inside.
    tools = [
        tool for tool in conversation.tools if (chat.tool_name(tool) or chat.tool_name(chat.custom(tool))) in called
    ]
    gone = len(conversation.tools) - len(tools)
    if not gone:
        return conversation, ()
    return replace(conversation, tools=tools), [shapes.shape_changed({"definitions of tools not called": gone})]


def _called(messages: list[Message]) -> Iterator[object]:
    for message in messages:
        for call in chat.calls(message):
            yield chat.call_name(call) or (chat.custom(call) or {}).get("name")
        legacy: Any = message.get("function_call")
        if isinstance(legacy, dict):
            yield legacy.get("name")
