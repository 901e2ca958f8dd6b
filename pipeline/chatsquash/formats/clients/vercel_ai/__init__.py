"""Vercel's UIMessage arrays, in which the AI SDK 4 to 7 stores conversations: a call and its result form one part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile

from msgspec.structs import replace

from chatsquash.core import blocks
from chatsquash.core.blocks import Block, Other, Turn
from chatsquash.core.model import Conversation, Json
from chatsquash.formats.clients.pydantic_ai.members import pack
from chatsquash.formats.clients.vercel_ai import media, tools
from chatsquash.formats.clients.vercel_ai.metadata import (
    METADATA,
    PROVIDER,
    PYDANTIC,
    own_members,
    reasoning_parts,
    with_metadata,
)
from chatsquash.formats.clients.vercel_ai.read import (
    DATA,
    ROLES,
    STEERING,
    VERSION_4,
    data_part,
    is_delta,
    is_version_4,
    message_id,
    read,
)
from chatsquash.formats.evidence import Evidence, MessageList, conversation, line_numbers, message_lists, moment
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.values import Object, at, members, objects, string, without
from chatsquash.formats.writing import SPEAKERS, instructions_mark, native, text_of

NAME = "vercel_ai"
HAS_TOOLS = False
MEMBERS = ("parts", "messages", *VERSION_4)
_MARKS = frozenset(("parts", *VERSION_4))

LOSES = "developer role, developer mid, results reordered, orphan result, refusal, custom tool call"
BLURS = "instructions, result parts, native members"

__all__ = ["HAS_TOOLS", "NAME", "conversations", "dump", "fits"]


def fits(documents: list[Json]) -> str | None:
    """Check for a message with a role and typed parts, or with the calls of version 4."""
    is_of_4 = False
    for chat in message_lists(documents, line_numbers(documents, None), "role", "messages"):
        if isinstance(at(chat.holder, "meta", "uuid"), str):
            continue  # a session printed by Crush, which has parts with the same names
        for turn in objects(chat.turns):
            if _MARKS.isdisjoint(turn) or turn.get("role") not in ROLES:
                continue
            if any(map(_is_ui_part, objects(turn.get("parts")))):
                return "messages with typed parts such as text and tool-*"
            is_of_4 = is_of_4 or is_version_4(turn)
    return "messages with toolInvocations or experimental_attachments" if is_of_4 else None


def conversations(objects: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Load a conversation from each list of messages; messages on separate lines form one conversation."""
    return [_conversation(chat) for chat in message_lists(objects, line_numbers(objects, lines), "role", "messages")]


def _conversation(chat: MessageList) -> Conversation:
    turns = ((turn, _evidence(chat.turns[place], turn, chat.lines[place])) for turn, place in read(chat.turns))
    holder = without(members(chat.holder), "messages")
    native = {PROVIDER: holder} if holder else {}
    return conversation(turns, native, session_id=string(chat.holder, "id") or None)


def _evidence(message: Object, turn: Turn, line: int) -> Evidence:
    """Return the evidence in a message, with the metadata names from the AI SDK's documentation."""
    metadata = message.get("metadata")
    time = moment(message.get("createdAt") or at(metadata, "createdAt"))
    if turn.role != "assistant":
        return Evidence(line, time)
    return Evidence(line, time, is_sampled=True, model=string(metadata, "model") or None)


def _is_ui_part(part: Object) -> bool:
    """Return whether a part occurs in no other format."""
    match part:
        case {"type": "text" | "reasoning", "text": str()} | {"type": "step-start"}:
            return True
        case {"type": "file", "mediaType": str(), "url": str()} | {"type": "dynamic-tool", "toolCallId": str()}:
            return True
        case {"type": "tool-invocation", "toolInvocation": {"toolName": str()}}:
            return True
        case {"type": str(of)}:
            return (of.startswith("tool-") and "toolCallId" in part) or (of.startswith("data-") and "data" in part)
    return False


_ROLES = {**SPEAKERS, "tool": "assistant"}
_DONE = {"state": "done"}


def dump(conversation: Conversation, ids: Callable[[int], str] = message_id) -> Json:
    """Write a UI message for each run of assistant turns and results, and for each other turn.

    The other members of a chat are written in an object with its messages.

    Args:
        conversation: the conversation
        ids: returns the id for a message without an id, given its number, which starts at 1
    """
    writer, messages = _MessageParts(turns_of(conversation)), list[Json]()
    for number, turn in enumerate(turns_of(conversation)):
        parts, own = writer.parts(number), without(native(turn, PROVIDER), METADATA)
        last = messages[-1] if messages else {}
        if turn.role == "assistant" and last.get("role") == "user":
            deltas = [data_part(block.value) for block in takewhile(is_delta, turn.blocks) if isinstance(block, Other)]
            # Pydantic AI's adapter writes these changes at the end of the preceding user message.
            last["parts"] += deltas
            parts = [part for part in parts if part not in deltas]
        if parts and own.get("type") == STEERING and last.get("role") == "assistant":
            last["parts"].append({**own, "parts": parts})
        elif parts and _continues(last, turn, own):
            last["parts"] += parts
        elif parts:
            messages.append(_message(turn, parts, own, ids(len(messages) + 1)))
    chat_members = conversation.native.get(PROVIDER, {})
    return {**chat_members, "messages": messages} if chat_members else messages


def _continues(last: Object, turn: Turn, own: Object) -> bool:
    """Return whether a turn continues the last message."""
    # Turns from separate messages have an id or metadata.
    if last.get("role") != _ROLES.get(turn.role) or own:
        return False
    first = getattr(turn.blocks[0], "native", {}) if turn.blocks else {}
    return last["role"] == "assistant" or (turn.role == "user" and at(first, PYDANTIC, "user_prompt_start") is True)


def _message(turn: Turn, parts: list[Json], own: Object, new: str) -> Object:
    metadata = {**members(own.get("metadata")), **instructions_mark(turn)} if turn.instructions else own.get("metadata")
    base_members = {"id": string(own, "id") or new, "role": _ROLES[turn.role], "metadata": metadata}
    return without({**base_members, "parts": parts, **without(own, "id", "metadata", "type")})


class _MessageParts:
    """A writer for the parts of turns."""

    def __init__(self, turns: tuple[Turn, ...]) -> None:
        packs = [pack(turn.blocks) for turn in turns]
        self._turns = [
            turn if pack is turn.blocks else replace(turn, blocks=tuple(pack))
            for turn, pack in zip(turns, packs, strict=True)
        ]
        self._answers = tools.answers(self._turns)
        self._result_places = {place for place, _ in self._answers.values()}
        self._approvals = {
            block.call: block for turn in turns for block in turn.blocks if type(block) is blocks.Approval
        }

    def parts(self, number: int) -> list[Json]:
        """Write the parts of a turn, with a step for an assistant turn; empty if its content is not supported."""
        turn = self._turns[number]
        match turn.role:
            case "assistant":
                turn_parts = [
                    part
                    for place, block in enumerate(turn.blocks)
                    for part in self._block_parts((number, place), block)
                ]
                # An empty turn would otherwise be lost.
                empty_part = [] if turn.blocks else [{"type": "text", "text": "", **_DONE}]
                return [{"type": "step-start"}, *(turn_parts or empty_part)] if turn_parts or empty_part else []
            case "tool":
                answers = [each for each in enumerate(turn.blocks) if isinstance(each[1], blocks.Result | blocks.Other)]
                return [part for place, block in answers for part in self._block_parts((number, place), block)]
            case "user" | "system" | "developer" as role:
                if worded := _reworded_part(turn):
                    return [worded]
                supported = blocks.Text | blocks.Media | blocks.Other if role == "user" else blocks.Text | blocks.Other
                return [part for block in turn.blocks if isinstance(block, supported) for part in _content_parts(block)]
        return []

    def _block_parts(self, place: tools.Place, block: Block) -> Iterator[Object]:
        """Write the parts of an assistant block, or of a result without a call."""
        if isinstance(block, blocks.Call | blocks.HostedCall):
            answer = self._answers.get(place)
            yield tools.write(block, answer[1] if answer else None, self._approvals.get(block.id))
        elif not isinstance(block, blocks.Result | blocks.HostedResult):
            yield from _content_parts(block)
        elif place not in self._result_places:
            yield tools.write(None, block, None)


def _reworded_part(turn: Turn) -> Object | None:
    """Write Pydantic AI's retry request or summary in the form of its adapter; return ``None`` for other turns."""
    part, text = members(native(turn, PYDANTIC).get("part")), text_of(turn.blocks)
    if string(part, "part_kind") == "retry-feedback" and text:
        return with_metadata({"type": "text", "text": text, **_DONE}, {}, retry_feedback=part)
    is_summed = string(part, "part_kind") == "compaction" and string(part, "content") in text
    return {"type": "data-compaction", "data": without(part, "part_kind")} if is_summed else None


def _content_parts(block: Block) -> Iterator[Object]:
    """Write the parts of a block that is neither a call nor a result."""
    match block:
        case blocks.Text() | blocks.Refusal():
            yield with_metadata({"type": "text", "text": block.text, **_DONE}, block.native)
        case blocks.Reasoning():
            own = without(own_members(block.native), "breaks")
            yield from ({**part, **_DONE, **own} for part in reasoning_parts(block, METADATA))
        case blocks.Media() if part := media.write(block):
            yield part
        case blocks.Source():
            yield with_metadata(_source(block), block.native)
        case blocks.Other() if block.provider == PROVIDER and string(block.value, "type"):
            yield block.value
        case blocks.Other() if block.provider == PYDANTIC and string(block.value, "part_kind") in DATA:
            yield data_part(block.value)


def _source(block: blocks.Source) -> Object:
    if block.url:
        part = {"type": "source-url", "sourceId": block.id or block.url, "url": block.url, "title": block.title or None}
    else:
        document_members = {
            "mediaType": block.mime or media.UNKNOWN,
            "title": block.title,
            "filename": block.name or None,
        }
        part = {"type": "source-document", "sourceId": block.id or block.title, **document_members}
    return without(part)
