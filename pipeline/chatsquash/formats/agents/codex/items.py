"""Convert rollout items to OpenAI Responses items."""

from __future__ import annotations

from chatsquash.core.model import Json
from chatsquash.formats.calls import custom_input
from chatsquash.formats.evidence import Unread, member_path
from chatsquash.formats.values import Object, compact, objects, string, texts

ENCRYPTED = "[encrypted message]"
"""The placeholder for an encrypted message between agents."""
_UNSENT = frozenset(("ghost_snapshot", "compaction_trigger", "other"))
"""The types of items that are not sent to the model."""
_OWN = frozenset(("local_shell_call", "custom_tool_call", "custom_tool_call_output", "agent_message"))
"""The types of items that differ from OpenAI Responses."""
_BARE = ("message", "reasoning", "compaction")
"""The types of items other than calls and their outputs."""
_MESSAGE = ("type", "role", "content", "id", "status", "phase", "name")
_CALL = ("call_id", "arguments", "input", "output", "action", "namespace", "caller", "execution", "tools")
_THOUGHT = ("summary", "encrypted_content")
_BETWEEN_AGENTS = ("author", "recipient")
_READ = frozenset((*_MESSAGE, *_CALL, *_THOUGHT, *_BETWEEN_AGENTS))
_INJECTED = (
    *("<environment_context>", "<user_instructions>", "<codex_internal_context", "<goal_context>", "<turn_aborted>"),
    *("<subagent_notification>", "<user_shell_command>", "<skill>", "# AGENTS.md instructions for "),
)
"""The prefixes of user messages that Codex writes itself."""


def is_bare(line: Object) -> bool:
    """Return whether a line is an item without an envelope."""
    item_type = string(line, "type")
    return item_type in _BARE or item_type.endswith(("_call", "_call_output"))


def ordinary(item: Object, unread: Unread) -> Object | None:
    """Convert an item to OpenAI Responses; return ``None`` if it is not part of the conversation.

    Local shell calls and custom tool calls become function calls.
    """
    # Codex runs all calls in the same way, and not every output format supports the other types.
    item_type = string(item, "type")
    if item_type in _UNSENT:
        unread.count(member_path("response_item", str(item_type)))
        return None
    if not _READ.issuperset(item):
        unread.count_members(member_path("response_item", str(item_type)), item, *_READ)
    if item_type not in _OWN:
        return item
    if item_type == "agent_message" and not is_readable(item.get("content")):
        unread.count("response_item.agent_message, encrypted")
    return _rewrite(item)


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
    """Return whether a message between agents is readable text."""
    if isinstance(content, list):
        return bool(content) and all(isinstance(block.get("text"), str) for block in objects(content))
    return isinstance(content, str)


def between_agents(content: Json) -> Object:
    """Convert a message between agents; encrypted parts are replaced with a placeholder."""
    if not is_readable(content):
        known = [string(block, "text") or ENCRYPTED for block in objects(content)] or [ENCRYPTED]
        content = [{"type": "input_text", "text": text} for text in known]
    return {"type": "message", "role": "user", "content": content}


def is_hidden(item: Object) -> bool:
    """Return whether a message contains the placeholder for encrypted content."""
    return ENCRYPTED in texts(item.get("content"))


def is_of_model(item: Object) -> bool:
    """Return whether the model produced an item: an assistant message, reasoning or a call."""
    item_type = item.get("type")
    if type(item_type) is not str or item_type in ("message", ""):
        return item.get("role") == "assistant"
    return item_type == "reasoning" or item_type.endswith("_call")


def is_input(item: Object) -> bool:
    """Return whether an item is input for the model: a message of another role, or a summary."""
    return item.get("role") in ("user", "developer", "system") or item.get("type") == "compaction"


def is_prompt(item: Object) -> bool:
    """Return whether an item is a prompt from the user, not injected by Codex."""
    return item.get("role") == "user" and not any(text.startswith(_INJECTED) for text in texts(item.get("content")))
