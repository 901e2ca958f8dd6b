"""The message that the assistant's items make."""

from __future__ import annotations

from chatsquash import reasoning
from chatsquash.chat import BREAKS
from chatsquash.formats.base import with_private
from chatsquash.formats.calls import Remembering, arguments, assistant, numbered, tool_call
from chatsquash.formats.openai_responses.items import (
    Content,
    collapsed,
    content_of,
    joined,
    own_part,
    slot,
    some,
    type_of,
)
from chatsquash.formats.values import Object, string
from chatsquash.model import Json, Message


def assistant_message(items: list[Object], number: int) -> Message:
    """The message that the assistant's items make; calls without an id get the next numbers."""
    return _remembered(items, number)


def _message(items: list[Object], number: int) -> Message:
    order = "".join(map(slot, items))
    said = [content_of(item.get("content"), own_part) for item in _of_slot("m", items, order)]
    early = order.partition("c")[0].count("m")
    content = joined(_of_type("text", said[:early]))
    refusals = [part["refusal"] for part in _of_type("refusal", said)]
    thoughts = [_thought(item) for item in _of_slot("r", items, order)]
    calls = numbered(_of_slot("c", items, order), number, _call)
    message = assistant(content, reasoning.joined(thoughts), calls, "\n\n".join(refusals) if refusals else None)
    extra: Object = {"after": [part["text"] for part in _of_type("text", said[early:])], "thinking": some(thoughts)}
    extra[BREAKS] = _breaks(said[:early])
    return with_private(message, {**extra, **_beside(items, order, said, content)})


_remembered = Remembering(_message)


def _breaks(said: list[Content]) -> list[int]:
    """The places of texts that begin a message of their own, or follow what is none."""
    found: list[int] = []
    place = 0
    for held in said:
        is_apart = True
        for part in held.parts:
            found += [place] if is_apart and place and part["type"] == "text" else []
            place += part["type"] == "text"
            is_apart = part["type"] != "text"
    return found


def _of_slot(wanted: str, items: list[Object], order: str) -> list[Object]:
    return [item for item, own in zip(items, order, strict=True) if own == wanted]


def _of_type(of: str, said: list[Content]) -> list[Json]:
    return [part for held in said for part in held.parts if part["type"] == of]


def _beside(items: list[Object], order: str, said: list[Content], content: Json) -> Object:
    """What the canonical form has no place for; ``order`` only where it is not what a canonical message implies."""
    messages, contents = _of_slot("m", items, order), iter(said)
    native = [
        [item] if where == "n" else next(contents).native if where == "m" else []
        for item, where in zip(items, order, strict=True)
    ]
    return {
        "content_list": any(collapsed(item.get("content"), content) for item in messages),
        "native": [block for blocks in native for block in blocks],
        "order": None if order == "".join(sorted(order, key="rmcn".index)) else order,
        "phase": some([item.get("phase") for item in messages]),
        "annotations": some([noted for held in said for noted in held.citations]),
    }


def _thought(item: Object) -> Object:
    """A reasoning item: its text is the reasoning, else the summary; its id is of use only with encrypted reasoning."""
    content, summary = (_said_in(item.get(member)) for member in ("content", "summary"))
    encrypted = item.get("encrypted_content")
    found = {"text": "\n\n".join(content or summary), "encrypted": encrypted, "id": encrypted and item.get("id")}
    # Two parts, or a summary beside what it sums up, cannot be told from the text.
    whole = item if content or len(summary) > 1 else None
    return {key: value for key, value in {**found, "item": whole}.items() if value}


def _said_in(blocks: Json) -> list[str]:
    """The texts of a reasoning item's content or summary that are not empty."""
    found = [blocks] if isinstance(blocks, str) else blocks if isinstance(blocks, list) else []
    texts = [block.get("text") if isinstance(block, dict) else block for block in found]
    return [text for text in texts if isinstance(text, str) and text]


def _call(item: Object, number: int) -> Object:
    """A call, its arguments as logged."""
    is_custom = type_of(item) == "custom_tool_call"
    of, member, missing = ("custom", "input", "") if is_custom else ("function", "arguments", "{}")
    called = {"name": item.get("name"), member: arguments(item.get(member), missing)}
    extra = {"namespace": item.get("namespace"), "caller": item.get("caller")}
    return tool_call(string(item, "call_id"), number, called, extra, of)
