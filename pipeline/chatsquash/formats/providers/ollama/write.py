"""Write a conversation as a request to Ollama: messages and tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from chatsquash.core.blocks import Block, Call, Media, Other, Reasoning, Result, Text, Turn
from chatsquash.core.model import Conversation, Json, Tool
from chatsquash.formats import parts
from chatsquash.formats.base import without_private
from chatsquash.formats.calls import State, call_input, is_custom, takes_text
from chatsquash.formats.providers.ollama.read import PROVIDER, START
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.providers.openai_chat.write import named_tools
from chatsquash.formats.values import Object, string
from chatsquash.formats.writing import failure_mark, failure_text, instructions_mark, native, text_of, with_tool_names

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_EMPTY = {"role": "assistant", "content": ""}


def dump(conversation: Conversation) -> Json:
    """Write the members of a request that contain the conversation.

    Text and refusals of a turn are joined, and images are separate.  Linked images, audio, files and signatures cannot
    be expressed.
    """
    body: dict[str, Any] = {"messages": list(_Writer(turns_of(conversation)).messages())}
    if tools := list(map(_tool, named_tools(conversation.tools))):
        body["tools"] = tools
    return body


class _Writer:
    """A writer for messages in order; generated ids are omitted if reading the request generates the same ids."""

    def __init__(self, turns: tuple[Turn, ...]) -> None:
        self.turns, self.names = with_tool_names(turns)
        self.state: State = START
        results = (block for turn in turns for block in turn.blocks if type(block) is Result)
        self.logged_ids = {block.id for block in results if not block.made_up}

    def messages(self) -> Iterator[Object]:
        """Write the messages of turns; turns with only unsupported content are skipped, empty turns are not."""
        for turn in self.turns:
            if turn.role == "tool":
                yield from (self._result(block) for block in turn.blocks if type(block) is Result)
            elif turn.role == "assistant":
                message = self._assistant_message(turn)
                if message != _EMPTY or not turn.blocks:
                    yield message
            elif turn.role in _ROLES and (content := _content(turn.blocks)):
                self.state = self.state.evolve(by_assistant=False)
                message = {"role": _ROLES[turn.role], "content": "", **content, **instructions_mark(turn)}
                yield {**message, **native(turn, PROVIDER), **message}

    def _assistant_message(self, turn: Turn) -> Object:
        message = {**_EMPTY, **_content(turn.blocks, by_assistant=True)}
        thoughts = [block.text for block in turn.blocks if type(block) is Reasoning and block.text]
        for thinking in ["\n\n".join(thoughts)] if thoughts else _others(turn.blocks, "thinking"):
            message["thinking"] = thinking
        if calls := list(self._calls(turn)):
            message["tool_calls"] = calls
        return {**message, **native(turn, PROVIDER), **message}

    def _calls(self, turn: Turn) -> Iterator[Json]:
        number, numbered_calls = self.state.call, list[Block]()
        for block in turn.blocks:
            if type(block) is Call:
                can_omit_id = block.made_up and block.id == f"call_{number}" and block.id not in self.logged_ids
                number += can_omit_id
                numbered_calls.append(replace(block, made_up=can_omit_id))
                yield _call(block, {} if can_omit_id else {"id": block.id})
            else:
                yield from _others([block], "tool_calls")
        self.state = self.state.after_calls(numbered_calls, by_assistant=True)

    def _result(self, block: Result) -> Object:
        """Write a result; a generated id is omitted if the result matches the same call without it."""
        name = block.name or self.names.get(block.id, "")
        call_id, state = self.state.answer("", name)
        can_omit_id = block.made_up and call_id == block.id
        if not can_omit_id:
            _, state = self.state.answer(block.id, name)
        self.state = state.evolve(by_assistant=False)
        content = {"content": "", **_content(block.content)}
        content["content"] = failure_text(content["content"], block)
        id_member = {} if can_omit_id else {"tool_call_id": block.id}
        name_member = {"tool_name": name} if name else {}
        message = {"role": "tool", **id_member, **name_member, **content, **failure_mark(block)}
        return {**message, **native(block, PROVIDER), **message}


def _call(block: Call, id_member: Object) -> Object:
    own = native(block, PROVIDER)
    members = {
        **id_member,
        "function": {"name": block.name or "", "arguments": call_input(block), **own.get("function", {})},
    }
    # The members are repeated, so that native members neither replace them nor change their order.
    return {**members, **own, **members}


def _content(blocks: Iterable[Block], *, by_assistant: bool = False) -> Object:
    """Write the joined text and the images as members; empty members are omitted."""
    blocks = list(blocks)
    if len(blocks) == 1 and type(blocks[0]) is Text:  # the usual case
        return {"content": blocks[0].text}
    text = text_of(blocks, by_assistant=by_assistant)
    images = [block.data for block in blocks if type(block) is Media and _is_supported(block)] + _others(
        blocks, "images"
    )
    return {**({"content": text} if text else {}), **({"images": images} if images else {})}


def _is_supported(block: Media) -> bool:
    """Return whether a media block is an image with valid data."""
    return block.kind == "image" and block.mime.startswith("image/") and bool(parts.decode_base64(block.data))


def _others(blocks: Iterable[Block], member: str) -> list[Json]:
    """Return the logged values of a member from native blocks."""
    others = (block.value for block in blocks if type(block) is Other and block.provider == PROVIDER)
    return [value[member] for value in others if isinstance(value, dict) and member in value]


def _tool(tool: Tool) -> Object:
    """Write a definition; a custom tool becomes a function with a string argument."""
    if not is_custom(tool):
        return without_private(tool)
    function = {key: value for key in ("name", "description") if (value := string(tool["custom"], key))}
    return {"type": "function", "function": {**function, "parameters": takes_text()}}
