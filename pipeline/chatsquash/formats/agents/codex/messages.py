"""The messages that items are: most at once, others as the requests of OpenAI Responses are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from chatsquash import chat, reasoning
from chatsquash.formats import openai_responses
from chatsquash.formats.base import TurnError, with_private
from chatsquash.formats.bodies import unlisted
from chatsquash.formats.calls import State as Calls
from chatsquash.formats.calls import assistant, names
from chatsquash.formats.evidence import Evidence, Told, Turn, together
from chatsquash.formats.openai_responses.request import Item, State
from chatsquash.formats.values import Object, string
from chatsquash.model import Message

_TEXT = 2
"""How many members a block of text has that has nothing else."""
_TEXTS = ("input_text", "output_text")
_ASSISTANT = ("reasoning", "function_call")
_OTHERS = ("user", "developer", "system")
_REFUSED = ("tool_calls", "function_call")
"""Members that a message of this format has not."""


def told(turns: Iterable[Turn], head: list[Message], of_head: Evidence) -> Told:
    """The messages of items, behind those of the head; raises ``TurnError`` that names the place."""
    told_of = _Messages(Told(list(head), [of_head] * len(head)))
    for turn in turns:
        told_of.add(turn)
    told_of.close()
    return told_of.found


class _Messages:
    """Messages while their items are read."""

    def __init__(self, found: Told) -> None:
        self.found = found
        self._open: list[Turn] = []
        """The assistant's items that are no message yet."""
        self._calls = Calls()
        """What messages left that were read as those of a request, the last of which stands before this place."""
        self._read = len(found.messages)

    def add(self, turn: Turn) -> None:
        """Take one item; of anybody but the assistant it is a message of its own."""
        of = turn.turn.get("type")
        is_said = of == "message" and turn.turn.get("role") == "assistant" and _text(turn.turn) is not None
        if of in _ASSISTANT or is_said:
            self._open.append(turn)
        elif message := _message(turn.turn):
            self.close()
            self._tell(message, turn.evidence)
        else:
            self._load(turn)

    def close(self) -> None:
        """Make a message of the assistant's items."""
        if not self._open:
            return
        message = _assistant([turn.turn for turn in self._open])
        if message is None:
            calls = self._behind()
            items = tuple(Item(turn.turn) for turn in self._open)
            message = unlisted(openai_responses.close(State(items, calls))[0])
            self._take(calls.called(chat.calls(message)))
        opened, self._open = self._open, []
        self._tell(message, together(opened))

    def _load(self, turn: Turn) -> None:
        """Read an item as one of a request."""
        try:
            if not openai_responses.load(turn.turn, State()).messages:
                self._open.append(turn)
                return
            self.close()
            (message,), state = openai_responses.load(turn.turn, State(calls=self._behind()))
        except TurnError as problem:
            raise TurnError(f"{turn.place} {problem}") from None
        self._take(state.calls)
        self._tell(unlisted(message), turn.evidence)

    def _tell(self, message: Message, evidence: Evidence) -> None:
        self.found.messages.append(message)
        self.found.evidence.append(evidence)

    def _take(self, calls: Calls) -> None:
        """Keep what the next message leaves, which was read as one of a request."""
        self._calls, self._read = calls, len(self.found.messages) + 1

    def _behind(self) -> Calls:
        """What the messages so far leave."""
        answered: Counter[str] = Counter()
        opened = self._calls.open
        for at in range(len(self.found.messages) - 1, self._read - 1, -1):
            message = self.found.messages[at]
            if message["role"] == "assistant":
                opened = names(message.get("tool_calls") or [])
                break
            answered[message.get("tool_call_id", "")] += 1
        left = []
        for call in opened:
            answered[call[0]] -= 1
            left += [call] if answered[call[0]] < 0 else []
        return self._calls.but(open=tuple(left))


def _text(item: Object) -> str | None:
    """The text of a message, where that is the only thing in it."""
    content = item.get("content")
    if isinstance(content, list) and len(content) == 1:
        block = content[0]
        is_text = isinstance(block, dict) and len(block) == _TEXT and block.get("type") in _TEXTS
        content = block.get("text") if is_text else None
    return content if isinstance(content, str) and item.keys().isdisjoint(_REFUSED) else None


def _message(item: Object) -> Message | None:
    """The message of what was said to the assistant, or of the result of a call."""
    role, text, call_id, output = item.get("role"), _text(item), item.get("call_id"), item.get("output")
    if item.get("type") == "message" and role in _OTHERS and text is not None:
        return {"role": role, "content": text}
    is_result = item.get("type") == "function_call_output" and not string(item, "name")
    if is_result and call_id and isinstance(call_id, str) and isinstance(output, str):
        return {"role": "tool", "tool_call_id": call_id, "content": output}
    return None


def _assistant(items: list[Object]) -> Message | None:
    """The message of what the assistant thinks, says and calls, in this order."""
    text: str | None = None
    thoughts, calls, phase = list[Object](), list[Object](), None
    for item in items:
        of = item.get("type")
        if of == "function_call" and (call := _call(item)):
            calls.append(call)
        elif calls or text is not None:
            return None
        elif of == "reasoning" and (thought := _thought(item)) is not None:
            thoughts.append(thought)
        elif of == "message" and (text := _text(item)) is not None:
            phase = item.get("phase")
        else:
            return None
    message = assistant(text, reasoning.joined(thoughts), calls)
    beside = {"thinking": thoughts if any(thoughts) else None, "phase": [phase] if phase else None}
    return with_private(message, beside) if thoughts or phase else message


def _thought(item: Object) -> Object | None:
    """What is kept of reasoning that has one text at most, and no id of use but that of what is encrypted."""
    summary, encrypted = item.get("summary"), item.get("encrypted_content")
    if item.get("content") or not isinstance(summary, list) or len(summary) > 1:
        return None
    found = {"text": string(summary[0], "text") if summary else "", "encrypted": encrypted}
    found["id"] = encrypted and item.get("id")
    return {key: value for key, value in found.items() if value}


def _call(item: Object) -> Object | None:
    call_id, name, given = item.get("call_id"), item.get("name"), item.get("arguments")
    is_usual = isinstance(name, str) and isinstance(given, str) and not (item.get("namespace") or item.get("caller"))
    if not call_id or not isinstance(call_id, str) or not is_usual:
        return None
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": given}}
