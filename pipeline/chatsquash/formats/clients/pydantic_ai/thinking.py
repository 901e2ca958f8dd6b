"""Blocks of reasoning, whose signatures Pydantic AI keeps with the name of who signed."""

from __future__ import annotations

from chatsquash import reasoning
from chatsquash.chat import private
from chatsquash.formats.values import Object, objects, string
from chatsquash.model import Message

_REDACTED = "redacted_thinking"
"""What stands for an id where the reasoning is encrypted whole."""
_ENCRYPTS = ("openai", "azure")
"""Whose signatures are the reasoning itself, encrypted."""


def block(part: Object) -> Object:
    """A part as a block with our names for its members."""
    text, signature, own = string(part, "content"), string(part, "signature"), string(part, "id")
    if own == _REDACTED:
        found = {"text": text, "redacted": signature}
    elif signature and string(part, "provider_name").startswith(_ENCRYPTS):
        found = {"text": text, "encrypted": signature, "id": own}
    else:
        found = {"text": text, "signature": signature, "id": own}
    return {key: value for key, value in found.items() if value}


def signer(part: Object) -> str:
    """Who signed a part, where the block does not tell; only he can make use of it."""
    name = string(part, "provider_name")
    told = {"redacted": "anthropic", "encrypted": "openai"}
    implied = next((who for key, who in told.items() if key in block(part)), "")
    return name if string(part, "signature") and name != implied else ""


def part(found: Object, provider: str) -> Object:
    """A block as a part; one that only its provider can read says so."""
    text = string(found, "text")
    if redacted := string(found, "redacted"):
        made = {"id": _REDACTED, "signature": redacted, "provider_name": provider or "anthropic"}
    elif encrypted := string(found, "encrypted"):
        made = {"id": string(found, "id"), "signature": encrypted, "provider_name": provider or "openai"}
    else:
        signature = string(found, "signature")
        made = {"id": string(found, "id"), "signature": signature, "provider_name": provider if signature else ""}
    return {"part_kind": "thinking", "content": text, **{key: value for key, value in made.items() if value}}


def blocks(message: Message) -> list[Object]:
    """The blocks of a message; its reasoning, if none of them has a text."""
    # A text that is none makes no block.
    held = [each for each in objects(private(message).get("thinking")) if isinstance(each.get("text", ""), str)]
    told = string(message, "reasoning_content")
    return [{"text": told}, *held] if told and not reasoning.joined(held) else held


def worth_keeping(found: list[Object]) -> list[Object]:
    """Blocks, unless they say no more than the reasoning does."""
    told = reasoning.joined(found)
    return [] if found == [{"text": told}] else found
