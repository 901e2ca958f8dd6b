"""Pydantic AI's ModelMessage JSON: requests and responses made of parts, instructions beside them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from chatsquash.core.blocks import PROMPTS, Block, Media, Other, Result, Turn
from chatsquash.core.model import Conversation, Json
from chatsquash.formats.clients.pydantic_ai import media
from chatsquash.formats.clients.pydantic_ai.members import MESSAGE, PART, PROVIDER, shown_wording
from chatsquash.formats.clients.pydantic_ai.parts import said
from chatsquash.formats.clients.pydantic_ai.read import INSTRUCTIONS, PartTurn, read
from chatsquash.formats.evidence import Evidence, conversation, line_numbers, message_lists, moment
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.values import Object, at, count, objects, string
from chatsquash.formats.writing import native, text_of, with_tool_names

NAME = "pydantic_ai"
HAS_TOOLS = False
MEMBERS = ("kind", "messages", "message_history")

_USED = (("input_tokens", "request_tokens"), ("output_tokens", "response_tokens"))
"""The members of usage, and what they were called before version 1."""

LOSES = "developer role, developer mid, approval, refusal, custom tool call"
BLURS = "result parts"

__all__ = ["HAS_TOOLS", "NAME", "conversations", "dump", "fits"]


def fits(objects: list[Json]) -> str | None:
    """A message with ``kind`` and parts with ``part_kind``."""
    matches = any(
        _is_message(turn)
        for each in message_lists(objects, line_numbers(objects, None), *MEMBERS)
        for turn in each.turns
    )
    return "messages with kind and part_kind" if matches else None


def conversations(objects: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """One per list of messages; messages that are lines of their own are one together."""
    return [
        _conversation(each.turns, each.lines) for each in message_lists(objects, line_numbers(objects, lines), *MEMBERS)
    ]


def _conversation(messages: list[Json], lines: Sequence[int]) -> Conversation:
    turns = read(messages)
    said = ((each.turn, _evidence(messages[each.message], each, lines)) for each in turns)
    renamed = (name for message in messages if (name := string(message, "conversation_id")))
    return conversation(said, {}, session_id=next(renamed, None))


_EARLY, _INTERRUPTED = ("incomplete", "interrupted"), "interrupted"
"""States of responses that were stopped before the model finished, and the finish reason that they get."""


def _evidence(message: Object, turn: PartTurn, lines: Sequence[int]) -> Evidence:
    """What a message says of itself: a response of its model and its tokens, parts of a request when they came."""
    line = lines[turn.message]
    if message["kind"] != "response":
        return Evidence(line, moment(turn.part.get("timestamp") or message.get("timestamp")))
    used = message.get("usage")
    asked, said = (count(at(used, new) if at(used, new) is not None else at(used, old)) for new, old in _USED)
    names = ("model_name", "finish_reason", "provider_response_id")
    model, ended, answer = (string(message, name) or None for name in names)
    ended = _INTERRUPTED if message.get("state") in _EARLY else ended
    return Evidence(line, moment(message.get("timestamp")), True, model, asked, said, ended, answer)


def _is_message(turn: Json) -> bool:
    """Whether this is a request or a response; one without parts tells too little."""
    if not isinstance(turn, dict) or turn.get("kind") not in ("request", "response"):
        return False
    return any(isinstance(part.get("part_kind"), str) for part in objects(turn.get("parts")))


_ASIDE = (
    *("capability-load-delta", "instruction-baseline", "instruction-delta", "model-settings-delta"),
    "tool-availability-delta",
)
"""The parts of requests that no model is shown."""


def dump(conversation: Conversation) -> list[Json]:
    """A request for each run of turns that are not the assistant's, a response for each of his.

    Every request has the instructions, as Pydantic AI writes them.  A developer's prompt is the system's, and a refusal
    is a text; tools, approvals and what an assistant shows by its address have no place.
    """
    turns, called = with_tool_names(turns_of(conversation))
    prompts = [turn for turn in turns if _is_prompt(turn)]
    instructions = "\n\n".join(filter(None, (text_of(turn.blocks) for turn in prompts)))
    document = _Document(called, instructions)
    others = [turn for turn in turns if not _is_prompt(turn)]
    for turn in others:
        document.add(turn)
    leads = bool(others) and turns[0] is not others[0] and others[0].role in PROMPTS and document.messages[0]["parts"]
    if instructions and (leads or not any(message.get(INSTRUCTIONS) == instructions for message in document.messages)):
        return [{"kind": "request", "parts": [], INSTRUCTIONS: instructions}, *document.messages]
    return document.messages


def _is_prompt(turn: Turn) -> bool:
    return turn.instructions and turn.role in PROMPTS


class _Document:
    """The messages that turns make."""

    def __init__(self, called: dict[str, str], instructions: str) -> None:
        """``called`` has the names of tools by the ids of their calls, ``told`` are the instructions."""
        self.messages: list[Json] = []
        self._called = called
        self._instructions = {INSTRUCTIONS: instructions} if instructions else {}
        self._open: list[Json] | None = None
        """The parts of the last message, if it is a request that goes on."""

    def add(self, turn: Turn) -> None:
        """Add a turn, and what stands among its blocks of which no model is shown anything."""
        own = native(turn, PROVIDER)
        members = {key.removeprefix(MESSAGE): value for key, value in own.items() if key.startswith(MESSAGE)}
        of_request = _is_aside if turn.role == "assistant" else _is_part
        for is_aside, group in groupby(turn.blocks, key=of_request):
            blocks = list(group)
            if is_aside:
                self._aside(blocks)
            elif turn.role == "assistant":
                self._reply(said(blocks), members)
            else:
                self._ask(_request_parts(turn, blocks, self._called), members)
                members = {}
        if turn.role == "assistant" and all(map(of_request, turn.blocks)):
            self._reply([], members)

    def _ask(self, parts: list[Json], members: Object) -> None:
        """Parts of a request, of a new one if there is something to say of it."""
        if parts and (self._open is None or members):
            self._open = []
            self.messages.append({"kind": "request", "parts": self._open, **self._instructions, **members})
        if parts and self._open is not None:
            self._open += parts

    def _reply(self, parts: list[Json], members: Object) -> None:
        self.messages.append({"kind": "response", "parts": parts, **members})
        self._open = None

    def _aside(self, blocks: list[Block]) -> None:
        for value in (block.value for block in blocks if isinstance(block, Other)):
            if "part_kind" in value:
                self._ask([value], {})
            else:
                self.messages.append({**value})
                self._open = None


def _is_part(block: Block) -> bool:
    """Whether a block is a part, or a message without any other."""
    value = block.value if isinstance(block, Other) and block.provider == PROVIDER else None
    return isinstance(value, dict) and (value.get("kind") == "request" or isinstance(value.get("part_kind"), str))


def _is_aside(block: Block) -> bool:
    """Whether that is none of a response."""
    return isinstance(block, Other) and _is_part(block) and block.value.get("part_kind") in (None, *_ASIDE)


def _request_parts(turn: Turn, blocks: list[Block], called: dict[str, str]) -> list[Json]:
    """The parts of a turn; none for a prompt of which Pydantic AI has no place for anything."""
    if turn.role == "tool":
        return [_result(block, called) for block in blocks if isinstance(block, Result)]
    members = {key: value for key, value in native(turn, PROVIDER).items() if not key.startswith(MESSAGE)}
    part, text = members.pop(PART, None), text_of(blocks)
    if isinstance(part, dict) and (shown := shown_wording(part)) and shown[1] == text:
        return [{**part, **members}]
    if at(part, "part_kind") == "speech":
        heard = next((media.item(block) for block in blocks if isinstance(block, Media)), None)
        return [{**part, **({"transcript": text} if text else {}), **({"audio": heard} if heard else {})}]
    if turn.role in PROMPTS:
        return [{"part_kind": "system-prompt", "content": text, **members}] if text else []
    items = [item for block in blocks if (item := media.item(block)) is not None]
    content = items[0] if len(items) == 1 and isinstance(items[0], str) else items
    return [{"part_kind": "user-prompt", "content": content, **members}] if items else []


def _result(block: Result, called: dict[str, str]) -> Object:
    """What a tool returned; one that stood in a prompt to call it again is such a prompt."""
    members, name = native(block, PROVIDER), block.name or called.get(block.id, "")
    content, files = media.as_returned(block, media.returned_file)
    made = {"part_kind": "tool-return", "tool_name": name, "content": content, "tool_call_id": block.id}
    if "part_kind" in members:
        return {**made, **members}
    if block.outcome != "success":
        made["outcome"] = block.outcome
    if isinstance(content, dict | list):
        made["content_file_digests"] = sorted({media.digest(file) for file in files if file["kind"] != "binary"})
    return {**made, **members}
