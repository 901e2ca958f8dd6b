"""Whole bodies of exchange formats as conversations, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pipeline import chat
from pipeline.formats.base import Format, TurnError, with_private, without_private
from pipeline.model import Conversation, Json, Message, Tool


def load(form: Format, body: Json) -> Conversation:
    """The conversation in a request's body, or in its list of turns; raises ``TurnError``."""
    members: dict[str, Any] = body if isinstance(body, dict) else {form.TURNS: body}
    turns = members.get(form.TURNS)
    turns = [turns] if isinstance(turns, (str, dict)) else turns
    if not isinstance(turns, list):
        raise TurnError(f"has no list of {form.TURNS}")
    placed = [(f"{form.TURNS}[{number}]", turn) for number, turn in enumerate(turns)]
    return Conversation([*_system(form, members), *_messages(form, placed)], _tools(form, members))


def replayed(form: Any, turns: Iterable[tuple[str, Json]]) -> list[Message]:
    """The messages of an agent's turns, each with its place; raises ``TurnError`` that names the place.

    Agents write every content as a list, so that being one says nothing of a message.
    """
    return [_unlisted(message) for message in _messages(form, turns)]


def _messages(form: Format, turns: Iterable[tuple[str, Json]]) -> list[Message]:
    messages: list[Message] = []
    state = form.START
    for place, turn in turns:
        try:
            loaded, state = form.load(turn, state)
        except TurnError as problem:
            raise TurnError(f"{place} {problem}") from None
        messages += loaded
    return [*messages, *form.close(state)]


def _unlisted(message: Message) -> Message:
    held = chat.private(message)
    if "content_list" not in held:
        return message
    plain: Any = without_private(message)
    return with_private(plain, {name: value for name, value in held.items() if name != "content_list"})


def _system(form: Format, members: dict[str, Any]) -> list[Message]:
    given = next((members[name] for name in form.SYSTEM if members.get(name) is not None), None)
    return list(form.system(given)) if given is not None else []


def _tools(form: Format, members: dict[str, Any]) -> list[Tool]:
    given = next((members[name] for name in form.TOOLS if members.get(name) is not None), None)
    return list(form.tools(given).functions) if given is not None else []
