"""Reasoning of UI messages, whose signatures stand under the name of who signed."""

from __future__ import annotations

from chatsquash.formats.clients.pydantic_ai import thinking
from chatsquash.formats.values import Object, at, string
from chatsquash.model import Json

PYDANTIC = "pydantic_ai"
_SIGNATURES = (
    ("anthropic", "signature"),
    ("bedrock", "signature"),
    ("google", "thoughtSignature"),
    ("vertex", "thoughtSignature"),
)
_ENCRYPTED = ("openai", "azure")


def as_part(reasoning: Object) -> Object:
    """A part as Pydantic AI's part of reasoning has it."""
    metadata = reasoning.get("providerMetadata")
    found = {"part_kind": "thinking", "content": string(reasoning, "text")}
    own = at(metadata, PYDANTIC)
    if isinstance(own, dict):
        return {**found, **{key: own.get(key) for key in ("id", "signature", "provider_name")}}
    return {**found, **_signed(metadata)}


def _signed(metadata: Json) -> Object:
    for provider in ("anthropic", "bedrock"):
        if redacted := string(at(metadata, provider), "redactedData"):
            return {"id": "redacted_thinking", "signature": redacted, "provider_name": provider}
    for provider in _ENCRYPTED:
        if encrypted := string(at(metadata, provider), "reasoningEncryptedContent"):
            return {"id": at(metadata, provider, "itemId"), "signature": encrypted, "provider_name": provider}
    for provider, member in _SIGNATURES:
        if signature := string(at(metadata, provider), member):
            return {"signature": signature, "provider_name": provider}
    return {}


def merged(blocks: list[Object]) -> list[Object]:
    """Blocks, with the parts of one encrypted item as one."""
    found: list[Object] = []
    for block in blocks:
        last = found[-1] if found else {}
        if "encrypted" in block and block.get("id") and block.get("id") == last.get("id"):
            texts = [text for each in (last, block) if (text := string(each, "text"))]
            found[-1] = {**block, **({"text": "\n\n".join(texts)} if texts else {})}
        else:
            found.append(block)
    return found


def shown(block: Object, provider: str) -> Object:
    """A block as a part, signed for its provider, where he is known, and for Pydantic AI."""
    made = thinking.part(block, provider)
    own = {key: value for key, value in made.items() if key not in ("part_kind", "content")}
    part = {"type": "reasoning", "text": made["content"], "state": "done"}
    vendor = _vendor(block, string(own, "provider_name"), string(own, "signature"))
    return {**part, "providerMetadata": {**vendor, PYDANTIC: own}} if own else part


def _vendor(block: Object, provider: str, signature: str) -> Object:
    if "redacted" in block:
        return {provider: {"redactedData": signature}} if signature else {}
    if "encrypted" in block:
        return {provider: {"itemId": string(block, "id"), "reasoningEncryptedContent": signature}} if signature else {}
    member = dict(_SIGNATURES).get(provider)
    return {provider: {member: signature}} if member and signature else {}
