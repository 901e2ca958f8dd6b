"""The items of a rollout as OpenAI Responses has them."""

from __future__ import annotations

from chatsquash.core.model import Json
from chatsquash.formats.calls import custom_input
from chatsquash.formats.evidence import Unread, member_path
from chatsquash.formats.values import Object, compact, objects, string, texts

ENCRYPTED = "[encrypted message]"
"""Instead of a message between agents that is not readable."""
_UNSAID = ("ghost_snapshot", "compaction_trigger", "other")
"""Items that Codex keeps for itself."""
_OWN = ("local_shell_call", "custom_tool_call", "custom_tool_call_output", "agent_message")
"""Those that are written otherwise than items of OpenAI Responses."""
_BARE = ("message", "reasoning", "compaction")
"""Types of items that no call and no output of one has."""
_MESSAGE = ("type", "role", "content", "id", "status", "phase", "name")
_CALL = ("call_id", "arguments", "input", "output", "action", "namespace", "caller", "execution", "tools")
_THOUGHT = ("summary", "encrypted_content")
_BETWEEN_AGENTS = ("author", "recipient")
_READ = frozenset((*_MESSAGE, *_CALL, *_THOUGHT, *_BETWEEN_AGENTS))
_INJECTED = (
    *("<environment_context>", "<user_instructions>", "<codex_internal_context", "<goal_context>", "<turn_aborted>"),
    *("<subagent_notification>", "<user_shell_command>", "<skill>", "# AGENTS.md instructions for "),
)
"""Beginnings of user messages that Codex writes itself."""


def is_bare(line: Object) -> bool:
    """Whether a line is an item without anything around it."""
    item_type = string(line, "type")
    return item_type in _BARE or item_type.endswith(("_call", "_call_output"))


def ordinary(item: Object, unread: Unread) -> Object | None:
    """Return an item of OpenAI Responses, or ``None`` for one that is not part of the conversation.

    Calls of the local shell and of tools that take a text are as any others, since Codex runs and answers them so, and
    not every format of records has a place for them.
    """
    item_type = string(item, "type")
    if item_type in _UNSAID:
        unread.count(member_path("response_item", str(item_type)))
        return None
    if not _READ.issuperset(item):
        unread.count_members(member_path("response_item", str(item_type)), item, *_READ)
    if item_type == "agent_message" and not is_readable(item.get("content")):
        unread.count("response_item.agent_message, encrypted")
    return _rewrite(item) if item_type in _OWN else item


def _rewrite(item: Object) -> Object:
    call_id = string(item, "call_id") or string(item, "id")
    match item:
        case {"type": "local_shell_call", "action": dict(action)}:
            return _call(call_id, "local_shell", action)
        case {"type": "custom_tool_call", "name": str(name), "input": str(text)}:
            return _call(call_id, name, custom_input(text))
        case {"type": "custom_tool_call_output"}:
            return {**item, "type": "function_call_output"}
        case {"type": "agent_message", "content": content}:
            return between_agents(content)
    return item


def _call(call_id: str, name: str, arguments: Object) -> Object:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": compact(arguments)}


def is_readable(content: object) -> bool:
    """Whether a message between agents is readable text."""
    if isinstance(content, list):
        return bool(content) and all(isinstance(block.get("text"), str) for block in objects(content))
    return isinstance(content, str)


def between_agents(content: Json) -> Object:
    """Return a message that an agent sent to another, with a placeholder instead of what is encrypted."""
    if not is_readable(content):
        known = [string(block, "text") or ENCRYPTED for block in objects(content)] or [ENCRYPTED]
        content = [{"type": "input_text", "text": text} for text in known]
    return {"type": "message", "role": "user", "content": content}


def is_hidden(item: Object) -> bool:
    """Whether a message has such a placeholder."""
    return ENCRYPTED in texts(item.get("content"))


def is_of_model(item: Object) -> bool:
    """Whether an item is the assistant's: a message, reasoning or a call."""
    item_type = string(item, "type")
    if item_type in ("", "message"):
        return item.get("role") == "assistant"
    return item_type == "reasoning" or item_type.endswith("_call")


def is_input(item: Object) -> bool:
    """Whether an item is no reply: someone else's message, or a summary."""
    return item.get("role") in ("user", "developer", "system") or item.get("type") == "compaction"


def is_prompt(item: Object) -> bool:
    """Whether an item is the user's own, not injected by Codex."""
    return item.get("role") == "user" and not any(text.startswith(_INJECTED) for text in texts(item.get("content")))
