"""Conversations as they are written in each format, with what is told as lost, and what is wrong with that."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from chatsquash.core.model import Conversation
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.translate import conversations
from tests.conformance import readers
from tests.formats import natives
from tests.formats.pairs import complaints, spelled, undefined


class Written(NamedTuple):
    """A conversation as it is written in a format."""

    held: Conversation
    document: Any
    told: list[str]
    """The paths of what is lost."""


def held(talk: Conversation, source: str, odd: Sequence[int] = ()) -> Conversation:
    """What a format holds of a talk, with members that nobody knows at ``odd`` places of its document."""
    document = natives.with_odd_members(conversations.dump(talk, source), odd)
    return conversations.load_all([document], source)[0]


def written(conversation: Conversation, target: str) -> Written:
    """A conversation in a format."""
    document = conversations.dump(conversation, target)
    lost = conversations.losses_in(conversation, document, target)
    return Written(conversation, document, [*lost, *lost.kept_for_chatsquash])


def mistakes(target: str, made: Written, seen: Any) -> str:
    """What is wrong with what is told, where this is seen of the document, with all that shows why; mostly nothing."""
    reader = readers.named(target)
    found = complaints(spelled(turns_of(made.held)), reader.read(seen), made.told)
    own = {provider: seen for provider in made.held.native if target.startswith(provider)}
    found += natives.complaints("native", made.held.native, own, set(made.told))[0]
    if hasattr(reader, "tools"):
        found += undefined(made.held.tools, reader.tools(seen), made.told)
    shown = [f"told: {made.told}", f"written: {json.dumps(made.document, ensure_ascii=False)}"]
    return "\n  ".join([f"to {target}: {found[0]}", *found[1:], *shown]) if found else ""
