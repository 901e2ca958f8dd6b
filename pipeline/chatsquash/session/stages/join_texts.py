"""Join the texts of a message that are to be one, while it is known what stood between them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

from chatsquash.checks import shapes
from chatsquash.core import chat, reasoning
from chatsquash.core.model import Conversation, Json, Message, Staged

Wanted = Callable[[Message], bool]
"""Whether the texts of a message are to be one."""


def join_texts(conversation: Conversation, *, wanted: Wanted, loaded_only: bool) -> Staged:
    """Texts between which no other part stands become one; those behind calls come before them, which is reported.

    ``loaded_only``: those of plain chat stay as they were logged.
    """
    if loaded_only and not conversation.loaded:
        return conversation, ()
    moved = 0
    messages: list[Message] = []
    for message in conversation.messages:
        late = chat.after(message)
        if (late or isinstance(message.get("content"), list)) and wanted(message):
            moved += len(late)
            messages.append(_joined(message, late))
        else:
            messages.append(message)
    found = [shapes.shape_changed({"texts behind calls moved before them": moved})] if moved else []
    return Conversation(messages, conversation.tools, loaded=conversation.loaded, marks=conversation.marks), found


def _joined(message: Message, late: list[str]) -> Message:
    content = message.get("content")
    parts: list[Json] = content if isinstance(content, list) else [content] if content else []
    breaks = {*chat.breaks(message), *range(len(parts), len(parts) + len(late))}
    made: dict[str, Any] = {**message, "content": _runs([*parts, *late], message["role"] == "assistant", breaks)}
    return made  # type: ignore[return-value]


def _runs(content: list[Json], by_assistant: bool, breaks: set[int]) -> Json:
    """The parts with each run of texts as one, and reasoning in front of all; a text alone is a string."""
    thoughts: list[Json] = []
    others: list[Json] = []
    apart: set[int] = set()
    for at, part in enumerate(content):
        is_thought = by_assistant and reasoning.is_part(part)
        if is_thought or at in breaks:
            apart.add(len(others))
        (thoughts if is_thought else others).append(part)
    parts = [*thoughts, *_joined_runs(others, by_assistant, apart)]
    text = chat.part_text(parts[0]) if len(parts) == 1 else None
    return parts if text is None else text


def _joined_runs(parts: list[Json], by_assistant: bool, apart: set[int]) -> list[Json]:
    found: list[Json] = []
    for is_text, run in groupby(range(len(parts)), key=lambda at: chat.part_text(parts[at]) is not None):
        places = list(run)
        held = parts[places[0] : places[-1] + 1]
        if is_text:
            inner = {at - places[0] for at in places if at in apart}
            found.append({"type": "text", "text": chat.join(held, by_assistant, inner)})
        else:
            found += held
    return found
