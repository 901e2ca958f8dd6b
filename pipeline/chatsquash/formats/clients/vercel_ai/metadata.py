"""Convert the AI SDK's provider metadata to native members of blocks, and back.

Metadata is stored by provider, and repeated for Pydantic AI's adapter for UI messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, groupby, pairwise
from typing import Any

from msgspec.structs import replace

from chatsquash.core.blocks import Block, Native, Reasoning
from chatsquash.core.model import Json
from chatsquash.formats.calls import EMPTY
from chatsquash.formats.clients.pydantic_ai import parts
from chatsquash.formats.clients.pydantic_ai.members import by_provider, provider_of, with_providers
from chatsquash.formats.values import Object, at, members, string, without
from chatsquash.formats.writing import is_own_mark

PROVIDER, PYDANTIC = "vercel_ai", "pydantic_ai"
METADATA = "providerMetadata"
"""The native member for the metadata of other providers, which has other names in some parts."""
BREAKS = "breaks"
"""The native member for the boundaries between reasoning parts that were joined."""
_NAME, _REDACTED = "provider_name", "redacted_thinking"
"""A Pydantic AI member, and Pydantic AI's id for completely encrypted reasoning."""
COMMON_MEMBERS = (
    ("google", "thoughtSignature", "thoughtSignature"),
    ("openai", "id", "itemId"),
    ("openai", "phase", "phase"),
)
"""Provider-specific members: the provider, the native name, and the name in the metadata."""
_REDACTS = dict.fromkeys(("anthropic", "bedrock"), ("signature", "redactedData", ""))
_PROVES = dict.fromkeys(("google", "vertex"), ("thoughtSignature", "", ""))
_ENCRYPTS = dict.fromkeys(("openai", "azure", "xai"), ("", "reasoningEncryptedContent", "itemId"))
_SIGNERS = {**_REDACTS, **_PROVES, **_ENCRYPTS}
"""The members for a signature, encrypted reasoning and its id, by signer."""
_NAMES = {"vertex": "google-cloud"}
"""Pydantic AI's names for signers that differ from the AI SDK's; ``_KEYS`` is for the opposite direction."""
_KEYS = {"google-cloud": "vertex", "google-vertex": "vertex", "google-gla": "google"}
_PYDANTIC_MEMBERS = (
    *("id", _NAME, "provider_details", "canonical_system", "tool_kind", "citations", "structured_content"),
    *("vendor_metadata", "identifier", "force_download", "kind", "user_prompt_start", "retry"),
)
"""The native members of Pydantic AI that its adapter reads and writes in metadata."""
_REASONING_MEMBERS = ("signature", *_PYDANTIC_MEMBERS)


def without_path(value: Json, *path: str) -> Json:
    """Return a value without the member at a path, and without objects that become empty."""
    if not isinstance(value, dict) or path[0] not in value:
        return value
    inner = without_path(value[path[0]], *path[1:]) if len(path) > 1 else None
    return {key: each if key != path[0] else inner for key, each in value.items() if key != path[0] or inner}


def without_members(metadata: Json, *names: str) -> Json:
    """Return metadata without these members of Pydantic AI."""
    for name in names:
        metadata = without_path(metadata, PYDANTIC, name)
    return metadata


def native(metadata: Json, more: Object | None = None, *, has_provider: bool = False) -> Native:
    """Return the native members of a part.

    Args:
        metadata: the metadata of the part
        more: members that only the AI SDK has
        has_provider: whether the block itself contains the provider
    """
    if not (metadata or more):
        return {}
    providers: Native = {}
    more = without(more, METADATA) if more else {}
    if isinstance(metadata, dict) and metadata:
        own = members(metadata.get(PYDANTIC))
        for provider, ours, here in COMMON_MEMBERS:
            if value := string(metadata.get(provider), here):
                providers.setdefault(provider, {})[ours] = value
                metadata = without_path(metadata, provider, here)
        pydantic_members = {key: value for key, value in own.items() if key in _PYDANTIC_MEMBERS and value not in EMPTY}
        has_provider = has_provider or provider_of(string(pydantic_members, _NAME)) in providers
        by_name = by_provider(pydantic_members, has_provider=has_provider)
        providers = {name: {**providers.get(name, {}), **by_name.get(name, {})} for name in {**providers, **by_name}}
        other_metadata = {**metadata, PYDANTIC: without(own, *_PYDANTIC_MEMBERS)}
        more[METADATA] = {
            name: each for name, each in other_metadata.items() if members(each) and not is_own_mark(name, each)
        }
    own_members = {name: value for name, value in more.items() if value not in EMPTY}
    return {**providers, PROVIDER: own_members} if own_members else providers


def ran_by(metadata: Json) -> str:
    """Return the provider that ran a tool, based on the metadata of the call, or an empty string if it is unknown."""
    return next((provider for provider, _, here in COMMON_MEMBERS if at(metadata, provider, here)), "")


def metadata(native: Native, *, mirror: bool = True, **own: Json) -> Object:
    """Write the metadata of a part.

    Args:
        native: the native members of the block
        mirror: whether members of other providers are repeated for Pydantic AI
        own: additional members for Pydantic AI
    """
    if not native and not own:
        return {}
    providers: Object = dict(members(at(native, PROVIDER, METADATA)))
    for provider, ours, here in COMMON_MEMBERS:
        if isinstance(value := at(native, provider, ours), str):
            providers[provider] = {**providers.get(provider, {}), here: value}
    pydantic_members = with_providers(native, {}) if mirror else native.get(PYDANTIC, {})
    pydantic_members = {key: value for key, value in pydantic_members.items() if key in _PYDANTIC_MEMBERS}
    pydantic_members |= {key: value for key, value in own.items() if value not in EMPTY}
    return (
        {**providers, PYDANTIC: {**providers.get(PYDANTIC, {}), **pydantic_members}} if pydantic_members else providers
    )


def own_members(native: Native) -> Object:
    """Return the native members that only the AI SDK has, for the part."""
    extra = native.get(PROVIDER)
    return without(extra, METADATA) if extra else {}


def with_metadata(part: Object, native: Native, **own: Json) -> Object:
    """Add native members and metadata to a part; ``own`` contains additional members for Pydantic AI."""
    values = metadata(native, **own)
    return {**part, **own_members(native), **({METADATA: values} if values else {})}


def load_reasoning(text: str, part_metadata: Json, more: Object) -> Reasoning | None:
    """Load reasoning, with its signer from the metadata; return ``None`` if there is no content."""
    name, signature, encrypted, ident, part_metadata = _signature(part_metadata)
    own = _REDACTED if encrypted and name in _REDACTS else ident
    signer_members = {_NAME: name, "signature": signature or encrypted, "id": own}
    own_members = members(at(part_metadata, PYDANTIC))
    pydantic_members = {
        key: value for key, value in own_members.items() if key in _REASONING_MEMBERS and value not in EMPTY
    }
    other_metadata = (
        {**part_metadata, PYDANTIC: without(own_members, *_REASONING_MEMBERS)} if own_members else part_metadata
    )
    reasoning = next(
        parts.load_reasoning({"content": text, **signer_members, **pydantic_members}, is_item=bool(ident)), Reasoning()
    )
    reasoning = replace(reasoning, native={**reasoning.native, **native(other_metadata, more)})
    return None if reasoning == Reasoning() else reasoning


def _signature(part_metadata: Json) -> tuple[str, str, str, str, Json]:
    """Return the signer, the signature, the encrypted reasoning and its id, and the remaining metadata."""
    for key, member_names in _SIGNERS.items() if isinstance(part_metadata, dict) else ():
        signature, encrypted, own = (string(at(part_metadata, key), member) for member in member_names)
        if signature or encrypted or own:
            return (
                _NAMES.get(key, key),
                signature,
                encrypted,
                own,
                {**part_metadata, key: without(part_metadata[key], *member_names)},
            )
    return "", "", "", "", part_metadata


def reasoning_parts(block: Reasoning, holder: str) -> Iterator[Object]:
    """Write the parts of reasoning, with the signature for its signer, and in UI messages also for Pydantic AI.

    Args:
        block: the reasoning, which may consist of several joined parts
        holder: the member for the metadata
    """
    is_ui = holder == METADATA
    providers = metadata(block.native, mirror=is_ui)
    reasoning_members = {key: value for key, value in parts.reasoning_part(block).items() if key in _REASONING_MEMBERS}
    name = string(reasoning_members, _NAME)
    key, values = _KEYS.get(name, name), (block.signature, block.encrypted, block.id)
    here = {member: value for member, value in zip(_SIGNERS.get(key, ()), values, strict=False) if member and value}
    providers |= {key: {**providers.get(key, {}), **here}} if here else {}
    # Model messages contain members for Pydantic AI only if the AI SDK does not support the signer.
    if reasoning_members and (is_ui or not here):
        providers[PYDANTIC] = {**providers.get(PYDANTIC, {}), **reasoning_members}
    breaks = own_members(block.native).get(BREAKS)
    breaks = breaks if isinstance(breaks, list) and _are_valid(breaks, block.text) else []
    for start, end in zip([0, *(place + 2 for place in breaks)], [*breaks, len(block.text)], strict=True):
        part = {"type": "reasoning", "text": block.text[start:end]}
        yield {**part, holder: providers} if providers else part


def _are_valid(breaks: list[Json], text: str) -> bool:
    """Return whether boundaries fit the text."""
    # The boundaries may come from a log, so they can be any values.
    are_places = all(type(each) is int and each >= 0 and text.startswith("\n\n", each) for each in breaks)
    return are_places and all(start + 2 <= end for start, end in pairwise(breaks))


def join_reasoning(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Join consecutive reasoning blocks of the same item."""
    blocks = tuple(blocks)
    if not any(type(block) is Reasoning for block in blocks):  # the usual case
        return blocks
    result = list[Any]()
    for item, run in groupby(blocks, _item):
        parts: list[Any] = list(run)
        if item and len(parts) > 1:
            ends = accumulate(len(each.text) + 2 for each in parts[:-1])
            more = {**parts[0].native.get(PROVIDER, {}), BREAKS: [end - 2 for end in ends]}
            text = "\n\n".join(each.text for each in parts)
            parts = [replace(parts[0], text=text, native={**parts[0].native, PROVIDER: more})]
        result += parts
    return tuple(result)


def _item(block: Block) -> tuple[str, str, str] | None:
    """Return a key for the item of an encrypted reasoning block, or ``None`` for other blocks."""
    if isinstance(block, Reasoning) and block.encrypted and block.id:
        return block.signer, block.encrypted, block.id
    return None
