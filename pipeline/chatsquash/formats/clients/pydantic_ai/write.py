"""Canonical messages as those of Pydantic AI."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from chatsquash import chat, jsonio
from chatsquash.formats.calls import as_text
from chatsquash.formats.clients.pydantic_ai import media, thinking
from chatsquash.formats.clients.pydantic_ai.read import INSTRUCTIONS, read
from chatsquash.formats.clients.pydantic_ai.remainder import KEY, difference
from chatsquash.formats.values import Object, at, compact, listed, objects, string
from chatsquash.model import Conversation, Json, Message

OUTCOMES = ("success", "failed", "denied", "interrupted", "retried")
_CAUSES = ("validation_error", "no_output", "model_retry")


def dump(conversation: Conversation) -> list[Json]:
    """A request for each run of messages that are not the assistant's, a response for each of his.

    What these cannot say of a message stands in their metadata, which no model is sent.
    """
    messages = conversation.messages
    told = _instructions(messages)
    turns = _turns([message for message in messages if message is not told])
    if told is not None:
        turns = _instructed(turns, told)
    for meant, found in zip(messages, read(turns), strict=True):
        if rest := difference(found.message, meant):
            metadata = turns[found.turn].setdefault("metadata", {KEY: {}})
            metadata[KEY] |= {found.part: rest} if found.part else rest
    return turns


def _turns(messages: list[Message]) -> list[Object]:
    """The turns without instructions."""
    calls = {string(each, "id"): chat.call_name(each) or custom_name(each) for m in messages for each in chat.calls(m)}
    found: list[Object] = []
    for by_assistant, run in groupby(messages, key=lambda message: message["role"] == "assistant"):
        if by_assistant:
            found += [{"kind": "response", "parts": list(_said(message))} for message in run]
        else:
            found.append({"kind": "request", "parts": [_heard(message, calls) for message in run]})
    return found


def custom_name(call: Object) -> str:
    """The tool that a call in free form is for."""
    return string(call.get("custom"), "name")


# Instructions


def _instructions(messages: list[Message]) -> Message | None:
    """The message that stands where instructions are read, if it is the only one that came from there."""
    leading = next((place for place, each in enumerate(messages) if not _is_system(each)), len(messages))
    came = [each for each in messages if chat.private(each).get("from") == INSTRUCTIONS]
    last = messages[leading - 1] if leading else None
    fits = last is not None and isinstance(last.get("content"), str) and last["content"] != ""
    return last if fits and len(came) == 1 and came[0] is last else None


def _is_system(message: Message) -> bool:
    return message["role"] in ("system", "developer")


def _instructed(turns: list[Object], told: Message) -> list[Object]:
    """Every request with the instructions, as Pydantic AI has them."""
    if not any(turn["kind"] == "request" for turn in turns):
        turns = [{"kind": "request", "parts": []}, *turns]
    return [{**turn, INSTRUCTIONS: told["content"]} if turn["kind"] == "request" else turn for turn in turns]


# Requests


def _heard(message: Message, calls: dict[str, str]) -> Object:
    if message["role"] == "tool":
        return _result(message, calls)
    if _is_system(message):
        return {"part_kind": "system-prompt", "content": as_text(message) or ""}
    if feedback := _feedback(message):
        return feedback
    return {"part_kind": "user-prompt", "content": _prompt(message)}


def _prompt(message: Message) -> Json:
    content = message.get("content")
    if isinstance(content, list):
        return _items(content)
    text = content if isinstance(content, str) else ""
    return [text] if chat.private(message).get("content_list") is True else text


def _items(content: list[Json]) -> list[Json]:
    return [item for part in content if (item := media.item(part)) is not None]


def _feedback(message: Message) -> Object | None:
    """What the application asks to be done again, where it is known for what cause."""
    feedback, content = chat.private(message).get("feedback"), message.get("content")
    if at(feedback, "cause") not in _CAUSES or not isinstance(content, str):
        return None
    value = jsonio.value(content, content) if chat.private(message).get("json") is True else content
    problems = [each.keys() >= {"type", "loc", "msg", "input"} for each in objects(value)]
    is_told = isinstance(value, str) or (isinstance(value, list) and len(problems) == len(value) and all(problems))
    return {"part_kind": "retry-feedback", "content": value, "retry": feedback} if is_told else None


def _result(message: Message, calls: dict[str, str]) -> Object:
    answered = string(message, "tool_call_id")
    part = {
        "part_kind": "tool-return",
        "tool_name": string(message, "name") or calls.get(answered, ""),
        "content": output(message),
        "tool_call_id": answered,
    }
    came = outcome(message)
    return part if came == "success" else {**part, "outcome": came}


def outcome(message: Message) -> str:
    """How a call came out."""
    held = chat.private(message)
    if held.get("outcome") in OUTCOMES:
        return str(held["outcome"])
    return "failed" if held.get("is_error") is True else "success"


def output(message: Message) -> Json:
    """A result as its tool returned it: a text, texts and files, or the value that was kept as JSON."""
    content = message.get("content")
    if isinstance(content, list):
        return _items(content)
    text = content if isinstance(content, str) else ""
    return jsonio.value(text, text) if chat.private(message).get("json") is True else text


# Responses


def _said(message: Message) -> Iterator[Object]:
    """Reasoning, what is said, calls, what is said behind them."""
    provider = string(chat.private(message), "provider")
    for block in thinking.blocks(message):
        yield thinking.part(block, provider)
    for shown in shown_parts(message):
        item = media.item(shown)
        if isinstance(item, str):
            yield {"part_kind": "text", "content": item}
        elif item is not None and item["kind"] == "binary":
            yield {"part_kind": "file", "content": item}
    for call in chat.calls(message):
        yield _call(call, provider)
    for text in listed(chat.private(message).get("after")):
        if isinstance(text, str):
            yield {"part_kind": "text", "content": text}


def shown_parts(message: Message) -> list[Json]:
    """What an assistant says, a refusal with it; nothing for an empty text."""
    content, refusal = message.get("content"), message.get("refusal")
    shown = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    return [*shown, *([{"type": "refusal", "refusal": refusal}] if isinstance(refusal, str) else [])]


def _call(call: Object, provider: str) -> Object:
    name, arguments = called(call)
    part: Object = {"part_kind": "tool-call", "tool_name": name, "args": arguments, "tool_call_id": string(call, "id")}
    if signature := string(chat.private(call), "signature"):
        part |= {"provider_name": provider or "google", "provider_details": {"thought_signature": signature}}
    return part


def called(call: Object) -> tuple[str, str]:
    """The name and the arguments of a call; a call in free form has its text as the only one."""
    if isinstance(call.get("custom"), dict):
        return custom_name(call), compact({"input": at(call, "custom", "input")})
    given = at(call, "function", "arguments")
    return chat.call_name(call) or "", given if isinstance(given, str) else "{}" if given is None else compact(given)
