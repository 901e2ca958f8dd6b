"""Convert rollout items to messages: directly if possible, otherwise with the reader for OpenAI Responses."""

from __future__ import annotations

from collections.abc import Container, Iterable

from msgspec.structs import replace

from chatsquash.core.blocks import Block, Call, Reasoning, Text, Turn
from chatsquash.core.chat import PRIVATE
from chatsquash.core.model import Message
from chatsquash.formats import view
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import State as Calls
from chatsquash.formats.evidence import Evidence, LoggedMessages, LoggedTurn, merge_evidence
from chatsquash.formats.providers import openai_responses
from chatsquash.formats.providers.openai_responses.read import State, assistant_turn
from chatsquash.formats.values import Object, string

_TRUNCATED = "incomplete"
"""The finish reason of truncated replies."""
_TEXT = 2
"""The number of members of a text block without optional members."""
_PLAIN_SIZE = 3
"""The number of members of a message or a result without optional members."""
_CALL_SIZE = 4
"""The number of members of a call without optional members."""
_THOUGHT = frozenset(("type", "id", "summary", "content", "encrypted_content"))
_TEXTS = ("input_text", "output_text")
_ASSISTANT = ("reasoning", "function_call")
_OTHERS = ("user", "developer", "system")


def load_items(
    turns: Iterable[LoggedTurn],
    head: list[Message],
    head_evidence: Evidence,
    breaks: Container[str] = (),
    truncated: Container[str] = (),
) -> LoggedMessages:
    """Convert items to messages.

    Args:
        turns: the items
        head: messages to insert before the messages of the items
        head_evidence: the evidence for the inserted messages
        breaks: the places of items that start a reply
        truncated: the places of items in truncated replies

    Raises:
        TurnError: if an item is malformed; the message includes its place
    """
    messages = _Messages(LoggedMessages(list(head), [head_evidence] * len(head)))
    for turn in turns:
        if turn.place in breaks:
            messages.close()
        if turn.place in truncated:
            messages.add(replace(turn, evidence=replace(turn.evidence, finish_reason=_TRUNCATED)))
        else:
            messages.add(turn)
    messages.close()
    return messages.result


class _Messages:
    """The messages so far while items are read."""

    def __init__(self, logged_messages: LoggedMessages) -> None:
        self.result = logged_messages
        self._open: list[LoggedTurn] = []
        """The assistant items that are not converted yet."""
        self._calls = Calls()
        """The open calls before the last assistant message."""
        self._last_blocks: tuple[Block, ...] | None = None
        """The blocks of the last assistant message if ``_calls`` does not include it; all its calls have logged ids."""
        self._answered_ids: list[str] = []
        """The ids of the calls that were answered since that message."""

    def add(self, turn: LoggedTurn) -> None:
        """Add an item; items with roles other than the assistant's become separate messages."""
        item = turn.turn
        item_type = item.get("type")
        if item_type in _ASSISTANT or (
            item_type == "message" and item.get("role") == "assistant" and _text(item) is not None
        ):
            self._open.append(turn)
        # The most common items are converted directly, which avoids loading them as turns.
        elif message := _message(item):
            self.close()
            if message["role"] == "tool":
                self._answered_ids.append(message["tool_call_id"])
            self._append(message, turn.evidence)
        else:
            self._load(turn)

    def close(self) -> None:
        """Convert the open assistant items to a message."""
        if not self._open:
            return
        items_to_join, self._open = self._open, []
        items = [each.turn for each in items_to_join]
        if usual := _assistant(items):
            message, self._last_blocks = usual
            self._answered_ids = []
        else:
            calls = self._current_calls()
            turn = assistant_turn(items, calls.call)
            message, self._calls = view.message(turn), calls.after_calls(turn.blocks)
        self._append(message, merge_evidence(items_to_join))

    def _load(self, turn: LoggedTurn) -> None:
        """Load an item with the reader for OpenAI Responses."""
        try:
            # An item without turns belongs to the assistant, so it stays open.
            if not openai_responses.load(turn.turn, State()).turns:
                self._open.append(turn)
                return
            self.close()
            result = openai_responses.load(turn.turn, State(calls=self._current_calls()))
        except TurnError as problem:
            raise TurnError(f"{turn.place}: {problem}") from None
        self._calls = result.state.calls
        for message in view.messages(result.turns):
            self._append(message, turn.evidence)

    def _append(self, message: Message, evidence: Evidence) -> None:
        self.result.messages.append(message)
        self.result.evidence.append(evidence)

    def _current_calls(self) -> Calls:
        """Return the open calls after the messages so far."""
        if self._last_blocks is not None:
            self._calls, self._last_blocks = self._calls.after_calls(self._last_blocks), None
        for call_id in self._answered_ids:
            _, self._calls = self._calls.answer(call_id, None)
        self._answered_ids = []
        return self._calls


def _assistant(items: list[Object]) -> tuple[Message, tuple[Block, ...]] | None:
    """Convert items in the usual order of reasoning, text and calls; return ``None`` for other items."""
    blocks: list[Block] = []
    thoughts: list[str] = []
    calls: list[Object] = []
    text: str | None = None
    is_plain = True
    for item in items:
        item_type = item.get("type")
        block: Block | None
        if item_type == "function_call":
            if (block := _call(item)) is not None:
                calls.append(view.call(block))
        elif calls or text is not None:
            return None
        elif item_type == "reasoning":
            block, is_plain = _thought(item), False
            thoughts += [block.text] if block and block.text else []
        else:
            block = _plain_text(item)
            text = block.text if block else None
            is_plain = is_plain and not (block and block.native)
        if block is None:
            return None
        blocks.append(block)
    message: Object = {"role": "assistant", "content": text or (None if calls else "")}
    if thoughts:
        message["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    content = tuple(blocks)
    if not is_plain:
        message[PRIVATE] = Turn("assistant", content)
    return message, content  # type: ignore[return-value]


def _plain_text(item: Object) -> Text | None:
    """Return the text of a message whose only optional member is a phase, or ``None`` for other messages."""
    text, phase = _text(item), item.get("phase")
    if not text or len(item) != _PLAIN_SIZE + ("phase" in item) or not isinstance(phase, str | None):
        return None
    return Text(text, native={"openai": {"phase": phase}}) if phase else Text(text)


def _thought(item: Object) -> Reasoning | None:
    """Convert reasoning with at most one summary part; return ``None`` if a block cannot express it."""
    summary, encrypted, ident = item.get("summary"), item.get("encrypted_content"), item.get("id", "")
    is_text = isinstance(encrypted, str) and isinstance(ident, str)
    if (
        not (is_text and encrypted and isinstance(summary, list))
        or item.get("content")
        or not _THOUGHT.issuperset(item)
    ):
        return None
    if not summary:
        return Reasoning("", "openai", "", encrypted, ident)
    text = string(summary[0], "text")
    is_usual = text and len(summary) == 1 and summary[0] == {"type": "summary_text", "text": text}
    return Reasoning(text, "openai", "", encrypted, ident) if is_usual else None


def _call(item: Object) -> Call | None:
    call_id, name, arguments = item.get("call_id"), item.get("name"), item.get("arguments")
    if len(item) == _CALL_SIZE and call_id and type(call_id) is str and type(name) is str and type(arguments) is str:
        return Call(call_id, name, arguments)
    return None


def _text(item: Object) -> str | None:
    """Return the text of a message without other content, or ``None`` for other messages."""
    content = item.get("content")
    if type(content) is list and len(content) == 1:
        block = content[0]
        is_text = type(block) is dict and len(block) == _TEXT and block.get("type") in _TEXTS
        content = block.get("text") if is_text else None
    return content if type(content) is str and "tool_calls" not in item and "function_call" not in item else None


def _message(item: Object) -> Message | None:
    """Convert a prompt or a result without optional members; return ``None`` for other items."""
    if len(item) != _PLAIN_SIZE:
        return None
    item_type = item.get("type")
    if item_type == "message" and item.get("role") in _OTHERS and (text := _text(item)) is not None:
        return {"role": item["role"], "content": text}
    if item_type == "function_call_output":
        call_id, output = item.get("call_id"), item.get("output")
        if call_id and type(call_id) is str and type(output) is str:
            return {"role": "tool", "tool_call_id": call_id, "content": output}
    return None
