"""Canonical messages as UI messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby

from chatsquash import chat, jsonio
from chatsquash.formats import parts
from chatsquash.formats.calls import as_text
from chatsquash.formats.clients.pydantic_ai import thinking as signed
from chatsquash.formats.clients.pydantic_ai.remainder import KEY, difference
from chatsquash.formats.clients.pydantic_ai.write import called, outcome, output, shown_parts
from chatsquash.formats.clients.vercel_ai import media, thinking
from chatsquash.formats.clients.vercel_ai.read import MARKS, read
from chatsquash.formats.values import Object, listed, string
from chatsquash.model import Conversation, Json, Message


def numbered(number: int) -> str:
    """The id of a message by its number."""
    return f"msg_{number}"


def dump(conversation: Conversation, ids: Callable[[int], str] = numbered) -> list[Json]:
    """A UI message for each run of messages that are the assistant's or results, and for each other message.

    What its parts cannot say of a message stands beside them, in metadata or in a part that no model is sent.  ``ids``
    gives the id of each UI message by its number, which begins at 1.
    """
    writer = _Writer(conversation.messages)
    turns = writer.turns(ids)
    told = read(turns)
    order = [writer.holders[id(each.rest)] for each in told]
    for each, index in zip(told, order, strict=True):
        each.rest.update(difference(each.message, conversation.messages[index]) or {})
    if order != sorted(order):
        for index, own in writer.answered:
            own["place"] = index
    return [_pruned(turn) for turn in turns]


def _answers(messages: list[Message]) -> dict[int, tuple[int, int]]:
    """For each result that answers a call, the index of the message with the call, and the call's number in it."""
    waiting: dict[str, list[tuple[int, int]]] = {}
    found: dict[int, tuple[int, int]] = {}
    for index, message in enumerate(messages):
        for number, call in enumerate(chat.calls(message)):
            waiting.setdefault(string(call, "id"), []).append((index, number))
        calls = waiting.get(string(message, "tool_call_id"), []) if message["role"] == "tool" else []
        if calls:
            nearest = max(place for place, _ in calls)
            found[index] = next(call for call in calls if call[0] == nearest)
            calls.remove(found[index])
    return found


@dataclass(slots=True)
class _Writer:
    """UI messages while they are written; whatever may be said beside a message has a place from the start."""

    messages: list[Message]
    holders: dict[int, int] = field(default_factory=dict)
    """The indexes of the messages by the identities of their remainders."""
    answered: list[tuple[int, Object]] = field(default_factory=list)
    """The indexes of results that stand with their calls, and our metadata of these."""
    results: dict[tuple[int, int], int] = field(default_factory=dict)
    """The indexes of results by the calls that they answer."""

    def turns(self, ids: Callable[[int], str]) -> list[Object]:
        """All of them."""
        answers = _answers(self.messages)
        self.results = {call: index for index, call in answers.items()}
        own = [(index, message) for index, message in enumerate(self.messages) if index not in answers]
        found: list[Object] = []
        for by_assistant, group in groupby(own, key=lambda pair: pair[1]["role"] in ("assistant", "tool")):
            run = list(group)
            made = [self.assistant(run)] if by_assistant else [self.heard(*pair) for pair in run]
            found += [{"id": ids(len(found) + number), **turn} for number, turn in enumerate(made, 1)]
        return found

    def rest(self, index: int) -> Object:
        """The place for what is said beside a message."""
        held: Object = {}
        self.holders[id(held)] = index
        return held

    def heard(self, index: int, message: Message) -> Object:
        """A message of anybody but the assistant; a system prompt has nothing but text."""
        role = "system" if message["role"] in ("system", "developer") else "user"
        content = message.get("content")
        given = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
        shown = [part for each in given if (part := media.shown(each)) and (role == "user" or part["type"] == "text")]
        return {"role": role, "metadata": {KEY: self.rest(index)}, "parts": shown or [media.spoken("")]}

    def assistant(self, run: list[tuple[int, Message]]) -> Object:
        """What the assistant says and calls, a step for each of his messages, and results that answer nothing."""
        shown: list[Object] = []
        for index, message in run:
            if message["role"] == "tool":
                shown.append(self.orphan(index, message))
            else:
                after = [text for text in listed(chat.private(message).get("after")) if isinstance(text, str)]
                said = [*_said(message), *self.calls(index, message)]
                said += [media.spoken("".join(after))] if after else []
                marks = {"type": MARKS, "data": self.rest(index)}
                shown += [{"type": "step-start"}, marks, *(said or [media.spoken("")])]
        return {"role": "assistant", "parts": shown}

    def calls(self, index: int, message: Message) -> list[Object]:
        """The calls of a message, with their results."""
        found = []
        for number, call in enumerate(chat.calls(message)):
            answer, part = self.results.get((index, number)), _call(call, message)
            if answer is not None:
                own = {"result": self.rest(answer)}
                self.answered.append((answer, own))
                part = _answered(part, self.messages[answer], own)
            found.append(part)
        return found

    def orphan(self, index: int, message: Message) -> Object:
        """A result without a call."""
        part = _tool(string(message, "name"), string(message, "tool_call_id"), {})
        return _answered(part, message, {"orphan": True, "result": self.rest(index)})


def _said(message: Message) -> list[Object]:
    """Reasoning and what is said, neighbouring texts as one."""
    provider = string(chat.private(message), "provider")
    thoughts = [thinking.shown(block, provider) for block in signed.blocks(message)]
    found: list[Json] = []
    for part in shown_parts(message):
        text, before = chat.part_text(part), chat.part_text(found[-1]) if found else None
        if text is not None and before is not None:
            found[-1] = parts.text(before + text)
        else:
            found.append(part if text is None else parts.text(text))
    return [*thoughts, *(part for each in found if (part := media.shown(each)))]


def _tool(name: str, call_id: str, given: Json) -> Object:
    """A call without a result."""
    return {
        "type": "dynamic-tool",
        "toolName": name,
        "toolCallId": call_id,
        "state": "input-available",
        "input": given,
        "callProviderMetadata": {},
    }


def _call(call: Object, message: Message) -> Object:
    name, arguments = called(call)
    given = jsonio.value(arguments) if arguments.strip() else {}
    part = _tool(name, string(call, "id"), given if isinstance(given, dict) else {"INVALID_JSON": arguments})
    if signature := string(chat.private(call), "signature"):
        provider = string(chat.private(message), "provider") or "google"
        own = {"provider_name": provider, "provider_details": {"thought_signature": signature}}
        part["callProviderMetadata"] = {"google": {"thoughtSignature": signature}, thinking.PYDANTIC: own}
    return part


def _answered(part: Object, message: Message, own: Object) -> Object:
    """A call with its result."""
    came, metadata = outcome(message), dict(part["callProviderMetadata"])
    if came in ("interrupted", "retried"):
        metadata[thinking.PYDANTIC] = {**metadata.get(thinking.PYDANTIC, {}), "outcome": came}
    if came in ("success", "interrupted"):
        told = {"state": "output-available", "output": output(message)}
    else:
        told = {"state": "output-error", "errorText": as_text(message) or ""}
    return {**part, **told, "callProviderMetadata": {**metadata, KEY: own}}


def _pruned(turn: Object) -> Object:
    """A message without places where nothing is said."""
    shown = [_without_empty(part) for part in turn["parts"] if part["type"] != MARKS or part["data"]]
    return _without_empty({**turn, "parts": shown}, "metadata")


def _without_empty(holder: Object, member: str = "callProviderMetadata") -> Object:
    if member not in holder:
        return holder
    metadata = holder[member]
    own = {key: value for key, value in metadata.get(KEY, {}).items() if value != {}}
    kept = {**{key: value for key, value in metadata.items() if key != KEY}, **({KEY: own} if own else {})}
    return {key: value for key, value in {**holder, member: kept}.items() if key != member or kept}
