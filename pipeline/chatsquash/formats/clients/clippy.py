"""Saved conversations of clippy-code: messages of OpenAI in ``conversation_history``, once those of Anthropic."""

from __future__ import annotations

from typing import cast

from chatsquash import chat
from chatsquash.formats import anthropic, bodies, openai_chat, parts
from chatsquash.formats.base import Format, TurnError, of_each, with_private
from chatsquash.formats.calls import ERROR
from chatsquash.formats.evidence import Evidence, Told, at_line, moment, numbers, origin
from chatsquash.formats.values import compact, kind, string
from chatsquash.model import Conversation, Json, Message

NAME = "clippy"
HOLDS_TOOLS = False
MEMBERS = ("conversation_history",)

_HISTORY = "conversation_history"
_MEMBERS = {"model", "base_url", _HISTORY, "timestamp", "conversation_start_time", "system", "tools"}
_OWN = ("base_url", "conversation_start_time")
_OTHERS = ("chat_id", "format", "branches")
"""Members of Oumi's files, which have a history of that name, too."""


# Reading


def fits(objects: list[Json]) -> str | None:
    """Objects with a history, and with the members that clippy saves or none but those."""
    return "conversation_history as clippy saves it" if objects and all(map(_is_saved, objects)) else None


def _is_saved(document: Json) -> bool:
    if not isinstance(document, dict) or any(member in document for member in _OTHERS):
        return False
    known = document.keys() <= _MEMBERS or any(member in document for member in _OWN)
    history = document.get(_HISTORY)
    return known and isinstance(history, list) and all(isinstance(each, dict) and "role" in each for each in history)


def conversations(objects: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """One for each object; raises ``TurnError``."""
    return list(map(at_line, of_each(objects, _loaded), numbers(objects, lines)))


def _loaded(document: Json) -> Conversation:
    if not isinstance(document, dict):
        raise TurnError(f"is {kind(document)}, not an object")
    history = document.get(_HISTORY)
    if not isinstance(history, list):
        seen = f"is {kind(history)}, not a list" if _HISTORY in document else "is not there"
        raise TurnError(f"{_HISTORY} {seen}")
    body = {**document, "messages": history}
    try:
        # Messages were Anthropic's, which their blocks tell, before clippy came to OpenAI's.
        if any(mark.test({"messages": history}) for mark in anthropic.marks.request):
            loaded = bodies.load(cast("Format", anthropic), body)
        else:
            loaded = bodies.load(cast("Format", openai_chat), body)
            loaded = Conversation([_stripped(message) for message in loaded.messages], loaded.tools)
    except TurnError as problem:
        raise TurnError(f"{_HISTORY}: {problem}") from None
    saved = moment(document.get("timestamp") or document.get("conversation_start_time"))
    known = Evidence(time=saved, is_sampled=True, model=string(document, "model") or None)
    told = Told(loaded.messages, [known] * len(loaded.messages))
    return Conversation(loaded.messages, loaded.tools, origin=origin(told))


def _stripped(message: Message) -> Message:
    """A result with its failure beside the text; only in files of clippy is that what the prefix says."""
    if message.get("role") != "tool":
        return message
    content = message.get("content")
    stripped: Json = None
    if isinstance(content, str) and content.startswith(ERROR):
        stripped = content.removeprefix(ERROR)
    elif isinstance(content, list) and (said := chat.part_text(content[0])) and said.startswith(ERROR):
        told = said.removeprefix(ERROR)
        stripped = [*([{**content[0], "text": told}] if told else []), *content[1:]]
    if stripped is None:
        return message
    return with_private(cast("Message", {**message, "content": stripped}), {**chat.private(message), "is_error": True})


# Writing


def dump(conversation: Conversation) -> Json:
    """A file with the history alone: the model, its address and the times are not known, and clippy has defaults."""
    marked = Conversation([_marked(message) for message in conversation.messages], [])
    return {_HISTORY: openai_chat.dump(marked)["messages"]}


def _marked(message: Message) -> Message:
    """A result with its failure before the text."""
    if message.get("role") != "tool" or chat.private(message).get("is_error") is not True:
        return message
    content = message.get("content")
    if not isinstance(content, list):
        text = content if isinstance(content, str) else "" if content is None else compact(content)
        return cast("Message", {**message, "content": f"{ERROR}{text}"})
    said = chat.part_text(content[0]) if content else None
    first, others = (parts.text(ERROR), content) if said is None else (parts.text(f"{ERROR}{said}"), content[1:])
    return cast("Message", {**message, "content": [first, *others]})
