"""Claude.ai's exported conversations: a list of Anthropic messages that includes edits and retries."""

from __future__ import annotations

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, bounds, moment
from chatsquash.formats.providers import anthropic
from chatsquash.formats.threads import ThreadEntry, link_entries, load_elements, load_paths, paths, text, with_unread
from chatsquash.formats.values import Object, at, compact, kind, objects, string

NAME = "claude_ai"
HAS_TOOLS = False
PER_ELEMENT = True
MEMBERS = ("chat_messages",)

_CONVERSATION = ("uuid", "name", "created_at", "updated_at", "chat_messages", "current_leaf_message_uuid", "model")
_MESSAGE = ("uuid", "text", "content", "sender", "created_at", "updated_at", "parent_message_uuid", "attachments")
_ROLES = {"human": "user", "assistant": "assistant"}
_RESULT = "tool_result"
_MEMBERS = {
    "text": ("text",),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "name", "input"),
    _RESULT: ("tool_use_id", "content", "is_error"),
    "image": ("source",),
}
"""The members of blocks that the API accepts, by block type."""


def fits(values: list[Json]) -> str | None:
    """Check for conversations with an id and chat messages."""
    fitting = values and all(isinstance(at(each, "chat_messages"), list) and "uuid" in each for each in values)
    return "chat_messages" if fitting else None


def conversations(values: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Return the path to the current or newest message of each conversation, then edited and regenerated branches.

    The system prompt is not exported.
    """
    return load_elements(values, lines, _conversation)


def _conversation(value: Json, where: str, line: int) -> list[Conversation]:
    messages = at(value, "chat_messages")
    if not isinstance(messages, list):
        raise TurnError(f"{where}: chat_messages is {kind(messages)}, expected a list")
    unread = Unread()
    unread.count_members("conversation", value, *_CONVERSATION)
    if not all(isinstance(each, dict) for each in messages):
        raise TurnError(f"{where}: a message is not an object")
    if not messages:
        return []
    model = text(value.get("model"))
    steps = [_step(f"{where}, chat_messages[{at}]", line, each, model, unread) for at, each in enumerate(messages)]
    names = [text(each.get("uuid")) for each in messages]
    if any(text(each.get("parent_message_uuid")) for each in messages):
        before = link_entries(names, [text(each.get("parent_message_uuid")) for each in messages])
    else:
        # Without parent ids, the messages are linear.
        before = list(range(-1, len(messages) - 1))
    current = text(value.get("current_leaf_message_uuid"))
    leaf = names.index(current) if current in names else _newest(messages, before)
    selected_paths = paths(before, leaf, [each.is_sampled for each in steps], unread)
    session: Object = {"session_id": text(value.get("uuid"))}
    session |= bounds(value.get("created_at"), value.get("updated_at"))
    return with_unread(load_paths(anthropic, steps, selected_paths, session), unread)


def _newest(messages: list[Object], before: list[int]) -> int:
    """Return the index of the newest leaf."""
    inner = {*before}
    leaves = [place for place in range(len(messages)) if place not in inner] or [len(messages) - 1]
    times = {place: moment(messages[place].get("created_at")) for place in leaves}
    return max(leaves, key=lambda place: (time.at if (time := times[place]) else -1, place))


def _step(place: str, line: int, message: Object, model: str | None, unread: Unread) -> ThreadEntry:
    sender = _ROLES.get(string(message, "sender"))
    if sender is None:
        raise TurnError(f"{place}: unknown sender {compact(message.get('sender'))[:40]}; expected human or assistant")
    unread.count_members("message", message, *_MESSAGE)
    blocks = [block for each in objects(message.get("content")) if (block := _block(each, unread))]
    # The text repeats the blocks, so it is used only without them.
    if not blocks and (words := text(message.get("text"))):
        blocks = [{"type": "text", "text": words}]
    for attachment in objects(message.get("attachments")):
        if words := text(attachment.get("extracted_content")):
            blocks.append({"type": "text", "text": words})
    if not blocks:
        return ThreadEntry()
    is_sampled = sender == "assistant"
    evidence = Evidence(line, moment(message.get("created_at")), is_sampled, model if is_sampled else None)
    return ThreadEntry(tuple(LoggedTurn(place, turn, evidence) for turn in _turns(sender, blocks)), is_sampled)


def _block(block: Object, unread: Unread) -> Object | None:
    """Convert a block to the API's form; blocks that are only displayed are counted as unread."""
    block_type = string(block, "type")
    if block_type == "voice_note":
        words = text(block.get("text"))
        return {"type": "text", "text": words} if words else None
    if block_type not in _MEMBERS:
        unread.count(f"block {block_type}")
        return None
    unread.count_members(
        f"block {block_type}", block, "type", "start_timestamp", "stop_timestamp", *_MEMBERS[block_type]
    )
    known = {name: block[name] for name in _MEMBERS[block_type] if block.get(name) is not None}
    if block_type == _RESULT and block.get("is_error") is not True:
        # The export writes the default explicitly.
        known.pop("is_error", None)
    if block_type == "text" and not text(block.get("text")):
        return None
    return {"type": block_type, **known}


def _turns(role: str, blocks: list[Object]) -> list[Object]:
    """Split the blocks of a message, which may contain both calls and results, into turns."""
    turns = list[Object]()
    for block in blocks:
        speaker = "user" if block["type"] == _RESULT else role
        if turns and turns[-1]["role"] == speaker:
            turns[-1]["content"].append(block)
        else:
            turns.append({"role": speaker, "content": [block]})
    return turns
