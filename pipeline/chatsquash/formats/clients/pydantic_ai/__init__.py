"""Pydantic AI's ModelMessage JSON: requests and responses consist of parts; instructions are separate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from chatsquash.core.blocks import PROMPTS, Block, Media, Other, Result, Turn
from chatsquash.core.model import Conversation, Json
from chatsquash.formats.clients.pydantic_ai import media
from chatsquash.formats.clients.pydantic_ai.members import MESSAGE, PART, PROVIDER, shown_wording
from chatsquash.formats.clients.pydantic_ai.parts import response_parts
from chatsquash.formats.clients.pydantic_ai.read import INSTRUCTIONS, PartTurn, read
from chatsquash.formats.evidence import Evidence, conversation, line_numbers, message_lists, moment
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.values import Object, at, count, objects, string
from chatsquash.formats.writing import native, text_of, with_tool_names

NAME = "pydantic_ai"
HAS_TOOLS = False
MEMBERS = ("kind", "messages", "message_history")

_USAGE_MEMBERS = (("input_tokens", "request_tokens"), ("output_tokens", "response_tokens"))
"""The members for token usage, with their names before version 1."""

LOSES = "developer role, developer mid, approval, refusal, custom tool call"
BLURS = "result parts"

__all__ = ["HAS_TOOLS", "NAME", "conversations", "dump", "fits"]


def fits(objects: list[Json]) -> str | None:
    """Check for a message with ``kind`` and parts with ``part_kind``."""
    matches = any(
        _is_message(turn)
        for each in message_lists(objects, line_numbers(objects, None), *MEMBERS)
        for turn in each.turns
    )
    return "messages with kind and part_kind" if matches else None


def conversations(objects: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Load a conversation from each list of messages; messages on separate lines form one conversation."""
    return [
        _conversation(each.turns, each.lines) for each in message_lists(objects, line_numbers(objects, lines), *MEMBERS)
    ]


def _conversation(messages: list[Json], lines: Sequence[int]) -> Conversation:
    turns = read(messages)
    turns_with_evidence = ((each.turn, _evidence(messages[each.message], each, lines)) for each in turns)
    session_ids = (name for message in messages if (name := string(message, "conversation_id")))
    return conversation(turns_with_evidence, {}, session_id=next(session_ids, None))


_EARLY, _INTERRUPTED = ("incomplete", "interrupted"), "interrupted"
"""The states of responses that were stopped before the model finished, and the finish reason for these responses."""


def _evidence(message: Object, turn: PartTurn, lines: Sequence[int]) -> Evidence:
    """Return the time in a message, and the model and token counts of a response."""
    line = lines[turn.message]
    if message["kind"] != "response":
        return Evidence(line, moment(turn.part.get("timestamp") or message.get("timestamp")))
    usage = message.get("usage")
    input_tokens, output_tokens = (
        count(at(usage, new) if at(usage, new) is not None else at(usage, old)) for new, old in _USAGE_MEMBERS
    )
    names = ("model_name", "finish_reason", "provider_response_id")
    model, finish_reason, answer = (string(message, name) or None for name in names)
    finish_reason = _INTERRUPTED if message.get("state") in _EARLY else finish_reason
    return Evidence(
        line, moment(message.get("timestamp")), True, model, input_tokens, output_tokens, finish_reason, answer
    )


def _is_message(turn: Json) -> bool:
    """Return whether a value is a request or a response with at least one part."""
    if not isinstance(turn, dict) or turn.get("kind") not in ("request", "response"):
        return False
    return any(isinstance(part.get("part_kind"), str) for part in objects(turn.get("parts")))


_HIDDEN_PARTS = (
    *("capability-load-delta", "instruction-baseline", "instruction-delta", "model-settings-delta"),
    "tool-availability-delta",
)
"""The kinds of request parts that models do not see."""


def dump(conversation: Conversation) -> list[Json]:
    """Write a response for each assistant turn, and a request for each run of other turns.

    Every request contains the instructions, as in Pydantic AI.  Developer prompts become system prompts, and refusals
    become text.  Tools, approvals and linked media in assistant turns cannot be expressed.
    """
    turns, tool_names = with_tool_names(turns_of(conversation))
    prompts = [turn for turn in turns if _is_prompt(turn)]
    instructions = "\n\n".join(filter(None, (text_of(turn.blocks) for turn in prompts)))
    document = _Document(tool_names, instructions)
    others = [turn for turn in turns if not _is_prompt(turn)]
    for turn in others:
        document.add(turn)
    leads = bool(others) and turns[0] is not others[0] and others[0].role in PROMPTS and document.messages[0]["parts"]
    # If they precede other prompts, or no request contains them, an additional request is written.
    if instructions and (leads or not any(message.get(INSTRUCTIONS) == instructions for message in document.messages)):
        return [{"kind": "request", "parts": [], INSTRUCTIONS: instructions}, *document.messages]
    return document.messages


def _is_prompt(turn: Turn) -> bool:
    return turn.instructions and turn.role in PROMPTS


class _Document:
    """The messages of a document under construction."""

    def __init__(self, tool_names: dict[str, str], instructions: str) -> None:
        """Create an empty document.

        Args:
            tool_names: the tool names of calls by id
            instructions: the instructions for every request
        """
        self.messages: list[Json] = []
        self._tool_names = tool_names
        self._instructions = {INSTRUCTIONS: instructions} if instructions else {}
        self._open: list[Json] | None = None
        """The parts of the last message if it is a request to which parts can be added."""

    def add(self, turn: Turn) -> None:
        """Add a turn, including native parts that models do not see."""
        own = native(turn, PROVIDER)
        members = {key.removeprefix(MESSAGE): value for key, value in own.items() if key.startswith(MESSAGE)}
        is_hidden = _is_hidden_part if turn.role == "assistant" else _is_part
        for hidden, group in groupby(turn.blocks, key=is_hidden):
            blocks = list(group)
            if hidden:
                self._add_hidden(blocks)
            elif turn.role == "assistant":
                self._add_response(response_parts(blocks), members)
            else:
                self._add_request(_request_parts(turn, blocks, self._tool_names), members)
                members = {}
        if turn.role == "assistant" and all(map(is_hidden, turn.blocks)):
            self._add_response([], members)

    def _add_request(self, parts: list[Json], members: Object) -> None:
        """Add parts to the open request, or to a new request if the turn has message members."""
        if parts and (self._open is None or members):
            self._open = []
            self.messages.append({"kind": "request", "parts": self._open, **self._instructions, **members})
        if parts and self._open is not None:
            self._open += parts

    def _add_response(self, parts: list[Json], members: Object) -> None:
        self.messages.append({"kind": "response", "parts": parts, **members})
        self._open = None

    def _add_hidden(self, blocks: list[Block]) -> None:
        for value in (block.value for block in blocks if isinstance(block, Other)):
            if "part_kind" in value:
                self._add_request([value], {})
            else:
                self.messages.append({**value})
                self._open = None


def _is_part(block: Block) -> bool:
    """Return whether a block is a native part, or a native message without other content."""
    value = block.value if isinstance(block, Other) and block.provider == PROVIDER else None
    return isinstance(value, dict) and (value.get("kind") == "request" or isinstance(value.get("part_kind"), str))


def _is_hidden_part(block: Block) -> bool:
    """Return whether a block is a native part or message that does not belong to a response."""
    return isinstance(block, Other) and _is_part(block) and block.value.get("part_kind") in (None, *_HIDDEN_PARTS)


def _request_parts(turn: Turn, blocks: list[Block], tool_names: dict[str, str]) -> list[Json]:
    """Write the parts of a turn; return an empty list for prompts whose content Pydantic AI does not support."""
    if turn.role == "tool":
        return [_result(block, tool_names) for block in blocks if isinstance(block, Result)]
    members = {key: value for key, value in native(turn, PROVIDER).items() if not key.startswith(MESSAGE)}
    part, text = members.pop(PART, None), text_of(blocks)
    if isinstance(part, dict) and (wording := shown_wording(part)) and wording[1] == text:
        return [{**part, **members}]
    if at(part, "part_kind") == "speech":
        audio = next((media.item(block) for block in blocks if isinstance(block, Media)), None)
        return [{**part, **({"transcript": text} if text else {}), **({"audio": audio} if audio else {})}]
    if turn.role in PROMPTS:
        return [{"part_kind": "system-prompt", "content": text, **members}] if text else []
    items = [item for block in blocks if (item := media.item(block)) is not None]
    content = items[0] if len(items) == 1 and isinstance(items[0], str) else items
    return [{"part_kind": "user-prompt", "content": content, **members}] if items else []


def _result(block: Result, tool_names: dict[str, str]) -> Object:
    """Write a result; results that were logged as retry prompts become retry prompts."""
    members, name = native(block, PROVIDER), block.name or tool_names.get(block.id, "")
    content, files = media.as_returned(block, media.returned_file)
    part = {"part_kind": "tool-return", "tool_name": name, "content": content, "tool_call_id": block.id}
    if "part_kind" in members:
        return {**part, **members}
    if block.outcome != "success":
        part["outcome"] = block.outcome
    if isinstance(content, dict | list):
        # Digests distinguish linked files from objects that a tool returned.
        part["content_file_digests"] = sorted({media.digest(file) for file in files if file["kind"] != "binary"})
    return {**part, **members}
