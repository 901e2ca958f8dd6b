"""What providers know of a part, which the AI SDK keeps by their names, as what is native to blocks, and back.

It stands under the name of whoever knows it, and once more where Pydantic AI's adapter for UI messages reads it.
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
from chatsquash.formats.clients.pydantic_ai.members import by_provider, whose, with_providers
from chatsquash.formats.values import Object, at, members, string, without
from chatsquash.formats.writing import is_own_mark

PROVIDER, PYDANTIC = "vercel_ai", "pydantic_ai"
METADATA = "providerMetadata"
"""The member of what is native in which the metadata of other providers are, however the part calls it."""
BREAKS = "breaks"
"""Where the texts of several parts of reasoning are one, the places at which the others begin."""
_NAME, _REDACTED = "provider_name", "redacted_thinking"
"""Members of Pydantic AI, and what it has for an id where reasoning is encrypted whole."""
SHARED = (("google", "thoughtSignature", "thoughtSignature"), ("openai", "id", "itemId"), ("openai", "phase", "phase"))
"""What blocks have of a provider: whose it is, and its name for him and here."""
_REDACTS = dict.fromkeys(("anthropic", "bedrock"), ("signature", "redactedData", ""))
_PROVES = dict.fromkeys(("google", "vertex"), ("thoughtSignature", "", ""))
_ENCRYPTS = dict.fromkeys(("openai", "azure", "xai"), ("", "reasoningEncryptedContent", "itemId"))
_SIGNERS = {**_REDACTS, **_PROVES, **_ENCRYPTS}
"""The members for a signature, for encrypted reasoning, and for its id, by who signs."""
_NAMES = {"vertex": "google-cloud"}
"""Who signs, where Pydantic AI calls him otherwise; and what the AI SDK calls him."""
_KEYS = {"google-cloud": "vertex", "google-vertex": "vertex", "google-gla": "google"}
_CARRIED = (
    *("id", _NAME, "provider_details", "canonical_system", "tool_kind", "citations", "structured_content"),
    *("vendor_metadata", "identifier", "force_download", "kind", "user_prompt_start", "retry"),
)
"""The members of what is native to Pydantic AI that its adapter writes and reads here."""
_OF_THOUGHTS = ("signature", *_CARRIED)


def less(value: Json, *path: str) -> Json:
    """A value without the member at the end of a path; what is empty then goes with it."""
    if not isinstance(value, dict) or path[0] not in value:
        return value
    left = less(value[path[0]], *path[1:]) if len(path) > 1 else None
    return {key: each if key != path[0] else left for key, each in value.items() if key != path[0] or left}


def unclaimed(metadata: Json, *names: str) -> Json:
    """Metadata without what Pydantic AI has by these names in it."""
    for name in names:
        metadata = less(metadata, PYDANTIC, name)
    return metadata


def native(metadata: Json, more: Object | None = None, *, is_told: bool = False) -> Native:
    """What is native to a part with such metadata; ``more`` is what the AI SDK itself knows of it.

    ``is_told``: the block itself says whose it is.
    """
    if not (metadata or more):
        return {}
    providers: Native = {}
    more = without(more, METADATA) if more else {}
    if isinstance(metadata, dict) and metadata:
        own = members(metadata.get(PYDANTIC))
        for provider, ours, here in SHARED:
            if value := string(metadata.get(provider), here):
                providers.setdefault(provider, {})[ours] = value
                metadata = less(metadata, provider, here)
        carried = {key: value for key, value in own.items() if key in _CARRIED and value not in EMPTY}
        is_told = is_told or whose(string(carried, _NAME)) in providers
        theirs = by_provider(carried, is_told=is_told)
        providers = {name: {**providers.get(name, {}), **theirs.get(name, {})} for name in {**providers, **theirs}}
        left = {**metadata, PYDANTIC: without(own, *_CARRIED)}
        more[METADATA] = {name: each for name, each in left.items() if members(each) and not is_own_mark(name, each)}
    kept = {name: value for name, value in more.items() if value not in EMPTY}
    return {**providers, PROVIDER: kept} if kept else providers


def ran_by(metadata: Json) -> str:
    """The provider that ran a tool, as far as the AI SDK's own metadata of the call tell."""
    return next((who for who, _, here in SHARED if at(metadata, who, here)), "")


def metadata(native: Native, *, mirrored: bool = True, **own: Json) -> Object:
    """The metadata of a part; ``own`` is for Pydantic AI, for which what others know is ``mirrored``."""
    if not native and not own:
        return {}
    providers: Object = dict(members(at(native, PROVIDER, METADATA)))
    for provider, ours, here in SHARED:
        if isinstance(value := at(native, provider, ours), str):
            providers[provider] = {**providers.get(provider, {}), here: value}
    carried = with_providers(native, {}) if mirrored else native.get(PYDANTIC, {})
    carried = {key: value for key, value in carried.items() if key in _CARRIED}
    carried |= {key: value for key, value in own.items() if value not in EMPTY}
    return {**providers, PYDANTIC: {**providers.get(PYDANTIC, {}), **carried}} if carried else providers


def own_members(native: Native) -> Object:
    """What the AI SDK itself knows of a block, as members of its part."""
    extra = native.get(PROVIDER)
    return without(extra, METADATA) if extra else {}


def with_metadata(made: Object, native: Native, **own: Json) -> Object:
    """A part with what is native to it; ``own`` is for Pydantic AI."""
    values = metadata(native, **own)
    return {**made, **own_members(native), **({METADATA: values} if values else {})}


def thought(text: str, given: Json, more: Object) -> Reasoning | None:
    """Reasoning with what its metadata say of who signed it; ``None`` for what says nothing."""
    name, signature, encrypted, ident, given = _signature(given)
    own = _REDACTED if encrypted and name in _REDACTS else ident
    signed = {_NAME: name, "signature": signature or encrypted, "id": own}
    own_members = members(at(given, PYDANTIC))
    carried = {key: value for key, value in own_members.items() if key in _OF_THOUGHTS and value not in EMPTY}
    left = {**given, PYDANTIC: without(own_members, *_OF_THOUGHTS)} if own_members else given
    reasoning = next(parts.thought({"content": text, **signed, **carried}, is_item=bool(ident)), Reasoning())
    reasoning = replace(reasoning, native={**reasoning.native, **native(left, more)})
    return None if reasoning == Reasoning() else reasoning


def _signature(given: Json) -> tuple[str, str, str, str, Json]:
    """Who signed, the signature, what is encrypted, its id, and the metadata without these."""
    for key, spelled in _SIGNERS.items() if isinstance(given, dict) else ():
        signature, encrypted, own = (string(at(given, key), member) for member in spelled)
        if signature or encrypted or own:
            return _NAMES.get(key, key), signature, encrypted, own, {**given, key: without(given[key], *spelled)}
    return "", "", "", "", given


def thoughts(block: Reasoning, holder: str) -> Iterator[Object]:
    """The parts of reasoning, signed for its signer, where he is known, and for Pydantic AI in UI messages.

    They are several where one item was; their metadata are in the member ``holder``.
    """
    is_ui = holder == METADATA
    providers = metadata(block.native, mirrored=is_ui)
    said = {key: value for key, value in parts.said_thought(block).items() if key in _OF_THOUGHTS}
    name = string(said, _NAME)
    key, values = _KEYS.get(name, name), (block.signature, block.encrypted, block.id)
    here = {member: value for member, value in zip(_SIGNERS.get(key, ()), values, strict=False) if member and value}
    providers |= {key: {**providers.get(key, {}), **here}} if here else {}
    if said and (is_ui or not here):
        providers[PYDANTIC] = {**providers.get(PYDANTIC, {}), **said}
    breaks = own_members(block.native).get(BREAKS)
    breaks = breaks if isinstance(breaks, list) and _fit(breaks, block.text) else []
    for start, end in zip([0, *(place + 2 for place in breaks)], [*breaks, len(block.text)], strict=True):
        made = {"type": "reasoning", "text": block.text[start:end]}
        yield {**made, holder: providers} if providers else made


def _fit(breaks: list[Json], text: str) -> bool:
    """Whether the texts of several parts begin there, which a log may say of any."""
    are_places = all(type(each) is int and each >= 0 and text.startswith("\n\n", each) for each in breaks)
    return are_places and all(before + 2 <= after for before, after in pairwise(breaks))


def join_reasoning(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Blocks, with parts of reasoning that are one item as one."""
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
    """What is equal for parts of one item; ``None`` for what is none."""
    if isinstance(block, Reasoning) and block.encrypted and block.id:
        return block.signer, block.encrypted, block.id
    return None
