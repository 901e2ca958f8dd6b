"""The files of older versions and of gateways: a line with the tools and the model, then messages of OpenAI chat."""

from __future__ import annotations

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.agents.hermes import messages
from chatsquash.formats.evidence import Logged, Unread, origin, told
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.values import Object, string

META = "session_meta"
"""The role of the line that stands before messages."""


def conversations(placed: list[tuple[int, int, Object]], unread: Unread) -> list[Conversation]:
    """The one that the lines are; each reply has the model of the line of the session before it."""
    turns: list[Logged] = []
    tools: list[Json] = []
    model = ""
    for place, line, value in placed:
        where = f"entry {place}"
        message = messages.checked(where, value)
        if message["role"] == META:
            model = string(message, "model") or model
            tools = openai_chat.tools(message.get("tools")).functions or tools
            unread.rest(META, message, "role", "model", "tools", "timestamp")
        elif not messages.is_said(message):
            unread.one(f"message of the role {message['role']}")
        else:
            known = messages.evidence(message, line, model, is_copied=False)
            turns.append(Logged(where, messages.turn(where, message, unread), known))
    if not turns:
        return []
    found = told(openai_chat, turns)
    return [Conversation(found.messages, tools, origin=origin(found))]
