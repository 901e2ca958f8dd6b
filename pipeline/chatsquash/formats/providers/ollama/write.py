"""A conversation as a request to Ollama: messages and tools."""

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
    """The request's members that hold the conversation.

    The texts of a turn are one, refusals included, with the images beside them; there is no place for images that are
    elsewhere, sounds, files and signatures.
    """
    body: dict[str, Any] = {"messages": list(_Writer(turns_of(conversation)).messages())}
    if tools := list(map(_tool, named_tools(conversation.tools))):
        body["tools"] = tools
    return body


class _Writer:
    """What is known of the turns before; ids that the reader makes up just so are left out."""

    def __init__(self, turns: tuple[Turn, ...]) -> None:
        self.turns, self.names = with_tool_names(turns)
        self.state: State = START
        results = (block for turn in turns for block in turn.blocks if type(block) is Result)
        self.linked = {block.id for block in results if not block.made_up}

    def messages(self) -> Iterator[Object]:
        """The messages of turns but those that say nothing here; an assistant that says nothing at all stays."""
        for turn in self.turns:
            if turn.role == "tool":
                yield from (self._result(block) for block in turn.blocks if type(block) is Result)
            elif turn.role == "assistant":
                made = self._said(turn)
                if made != _EMPTY or not turn.blocks:
                    yield made
            elif turn.role in _ROLES and (content := _content(turn.blocks)):
                self.state = self.state.evolve(by_assistant=False)
                made = {"role": _ROLES[turn.role], "content": "", **content, **instructions_mark(turn)}
                yield {**made, **native(turn, PROVIDER), **made}

    def _said(self, turn: Turn) -> Object:
        made = {**_EMPTY, **_content(turn.blocks, by_assistant=True)}
        thoughts = [block.text for block in turn.blocks if type(block) is Reasoning and block.text]
        for thinking in ["\n\n".join(thoughts)] if thoughts else _others(turn.blocks, "thinking"):
            made["thinking"] = thinking
        if calls := list(self._calls(turn)):
            made["tool_calls"] = calls
        return {**made, **native(turn, PROVIDER), **made}

    def _calls(self, turn: Turn) -> Iterator[Json]:
        number, read = self.state.call, list[Block]()
        for block in turn.blocks:
            if type(block) is Call:
                is_found = block.made_up and block.id == f"call_{number}" and block.id not in self.linked
                number += is_found
                read.append(replace(block, made_up=is_found))
                yield _call(block, {} if is_found else {"id": block.id})
            else:
                yield from _others([block], "tool_calls")
        self.state = self.state.after_calls(read, by_assistant=True)

    def _result(self, block: Result) -> Object:
        """A result, without its id if that is found without it."""
        name = block.name or self.names.get(block.id, "")
        answered, state = self.state.answer("", name)
        is_found = block.made_up and answered == block.id
        if not is_found:
            _, state = self.state.answer(block.id, name)
        self.state = state.evolve(by_assistant=False)
        content = {"content": "", **_content(block.content)}
        content["content"] = failure_text(content["content"], block)
        linked = {} if is_found else {"tool_call_id": block.id}
        name_member = {"tool_name": name} if name else {}
        made = {"role": "tool", **linked, **name_member, **content, **failure_mark(block)}
        return {**made, **native(block, PROVIDER), **made}


def _call(block: Call, linked: Object) -> Object:
    own = native(block, PROVIDER)
    made = {**linked, "function": {"name": block.name or "", "arguments": call_input(block), **own.get("function", {})}}
    return {**made, **own, **made}


def _content(blocks: Iterable[Block], *, by_assistant: bool = False) -> Object:
    """The texts as one, and the images; neither where there is none."""
    blocks = list(blocks)
    if len(blocks) == 1 and type(blocks[0]) is Text:  # as most are
        return {"content": blocks[0].text}
    text = text_of(blocks, by_assistant=by_assistant)
    images = [block.data for block in blocks if type(block) is Media and _is_taken(block)] + _others(blocks, "images")
    return {**({"content": text} if text else {}), **({"images": images} if images else {})}


def _is_taken(block: Media) -> bool:
    """Whether it is an image by its data."""
    return block.kind == "image" and block.mime.startswith("image/") and bool(parts.decode_base64(block.data))


def _others(blocks: Iterable[Block], member: str) -> list[Json]:
    """What of a member was logged and is Ollama's alone."""
    others = (block.value for block in blocks if type(block) is Other and block.provider == PROVIDER)
    return [value[member] for value in others if isinstance(value, dict) and member in value]


def _tool(tool: Tool) -> Object:
    """A function as it stands; that of a custom tool takes a text, as its calls give it."""
    if not is_custom(tool):
        return without_private(tool)
    told = {key: value for key in ("name", "description") if (value := string(tool["custom"], key))}
    return {"type": "function", "function": {**told, "parameters": takes_text()}}
