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
from chatsquash.formats.clients.pydantic_ai.members import given, shared, whose
from chatsquash.formats.values import Object, at, members, string, without
from chatsquash.formats.writing import is_ours

PROVIDER, PYDANTIC = "vercel_ai", "pydantic_ai"
HELD = "providerMetadata"
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
    found: Native = {}
    more = without(more, HELD) if more else {}
    if isinstance(metadata, dict) and metadata:
        own = members(metadata.get(PYDANTIC))
        for provider, ours, here in SHARED:
            if value := string(metadata.get(provider), here):
                found.setdefault(provider, {})[ours] = value
                metadata = less(metadata, provider, here)
        told = {key: value for key, value in own.items() if key in _CARRIED and value not in EMPTY}
        is_told = is_told or whose(string(told, _NAME)) in found
        theirs = shared(told, is_told=is_told)
        found = {name: {**found.get(name, {}), **theirs.get(name, {})} for name in {**found, **theirs}}
        left = {**metadata, PYDANTIC: without(own, *_CARRIED)}
        more[HELD] = {name: held for name, held in left.items() if members(held) and not is_ours(name, held)}
    kept = {name: value for name, value in more.items() if value not in EMPTY}
    return {**found, PROVIDER: kept} if kept else found


def ran_by(metadata: Json) -> str:
    """The provider that ran a tool, as far as the AI SDK's own metadata of the call tell."""
    return next((who for who, _, here in SHARED if at(metadata, who, here)), "")


def metadata(native: Native, *, mirrored: bool = True, **own: Json) -> Object:
    """The metadata of a part; ``own`` is for Pydantic AI, for which what others know is ``mirrored``."""
    if not native and not own:
        return {}
    found: Object = dict(members(at(native, PROVIDER, HELD)))
    for provider, ours, here in SHARED:
        if isinstance(value := at(native, provider, ours), str):
            found[provider] = {**found.get(provider, {}), here: value}
    told = given(native, {}) if mirrored else native.get(PYDANTIC, {})
    told = {key: value for key, value in told.items() if key in _CARRIED}
    told |= {key: value for key, value in own.items() if value not in EMPTY}
    return {**found, PYDANTIC: {**found.get(PYDANTIC, {}), **told}} if told else found


def known(native: Native) -> Object:
    """What the AI SDK itself knows of a block, as members of its part."""
    held = native.get(PROVIDER)
    return without(held, HELD) if held else {}


def told(made: Object, native: Native, **own: Json) -> Object:
    """A part with what is native to it; ``own`` is for Pydantic AI."""
    held = metadata(native, **own)
    return {**made, **known(native), **({HELD: held} if held else {})}


def thought(text: str, given: Json, more: Object) -> Reasoning | None:
    """Reasoning with what its metadata say of who signed it; ``None`` for what says nothing."""
    name, signature, encrypted, ident, given = _signed(given)
    own = _REDACTED if encrypted and name in _REDACTS else ident
    signed = {_NAME: name, "signature": signature or encrypted, "id": own}
    held = members(at(given, PYDANTIC))
    told = {key: value for key, value in held.items() if key in _OF_THOUGHTS and value not in EMPTY}
    left = {**given, PYDANTIC: without(held, *_OF_THOUGHTS)} if held else given
    found = next(parts.thought({"content": text, **signed, **told}, is_item=bool(ident)), Reasoning())
    found = replace(found, native={**found.native, **native(left, more)})
    return None if found == Reasoning() else found


def _signed(given: Json) -> tuple[str, str, str, str, Json]:
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
    is_ui = holder == HELD
    found = metadata(block.native, mirrored=is_ui)
    said = {key: value for key, value in parts.said_thought(block).items() if key in _OF_THOUGHTS}
    name = string(said, _NAME)
    key, values = _KEYS.get(name, name), (block.signature, block.encrypted, block.id)
    here = {member: value for member, value in zip(_SIGNERS.get(key, ()), values, strict=False) if member and value}
    found |= {key: {**found.get(key, {}), **here}} if here else {}
    if said and (is_ui or not here):
        found[PYDANTIC] = {**found.get(PYDANTIC, {}), **said}
    breaks = known(block.native).get(BREAKS)
    breaks = breaks if isinstance(breaks, list) and _fit(breaks, block.text) else []
    for start, end in zip([0, *(place + 2 for place in breaks)], [*breaks, len(block.text)], strict=True):
        made = {"type": "reasoning", "text": block.text[start:end]}
        yield {**made, holder: found} if found else made


def _fit(breaks: list[Json], text: str) -> bool:
    """Whether the texts of several parts begin there, which a log may say of any."""
    are_places = all(type(each) is int and each >= 0 and text.startswith("\n\n", each) for each in breaks)
    return are_places and all(before + 2 <= after for before, after in pairwise(breaks))


def joined(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Blocks, with parts of reasoning that are one item as one."""
    found = list[Any]()
    for item, run in groupby(blocks, _item):
        parts: list[Any] = list(run)
        if item and len(parts) > 1:
            ends = accumulate(len(each.text) + 2 for each in parts[:-1])
            more = {**parts[0].native.get(PROVIDER, {}), BREAKS: [end - 2 for end in ends]}
            text = "\n\n".join(each.text for each in parts)
            parts = [replace(parts[0], text=text, native={**parts[0].native, PROVIDER: more})]
        found += parts
    return tuple(found)


def _item(block: Block) -> tuple[str, str, str] | None:
    """What is equal for parts of one item; ``None`` for what is none."""
    if isinstance(block, Reasoning) and block.encrypted and block.id:
        return block.signer, block.encrypted, block.id
    return None
