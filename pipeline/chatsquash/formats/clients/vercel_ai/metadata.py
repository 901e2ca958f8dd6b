"""What providers know of a part, which the AI SDK keeps by their names, as what is native to blocks, and back.

It stands under the name of whoever knows it, and once more where Pydantic AI's adapter for UI messages reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, groupby
from typing import Any

from msgspec.structs import replace

from chatsquash.blocks import Block, Native, Reasoning
from chatsquash.formats.calls import EMPTY
from chatsquash.formats.clients.pydantic_ai.members import whose
from chatsquash.formats.values import Object, at, string, without
from chatsquash.formats.writing import KEY
from chatsquash.model import Json

PROVIDER, PYDANTIC = "vercel_ai", "pydantic_ai"
HELD = "providerMetadata"
"""The member of what is native in which the metadata of other providers are, however the part calls it."""
BREAKS = "breaks"
"""Where the texts of several parts of reasoning are one, the places at which the others begin."""
_NAME, _DETAILS, _REDACTED = "provider_name", "provider_details", "redacted_thinking"
"""Members of Pydantic AI, and what it has for an id where reasoning is encrypted whole."""
_SHARED = (
    ("google", "thoughtSignature", "thoughtSignature", "thought_signature"),
    ("openai", "id", "itemId", "id"),
    ("openai", "phase", "phase", "phase"),
)
"""What texts and calls have of a provider: whose it is, and its name for him, here, and in Pydantic AI."""
_REDACTS = dict.fromkeys(("anthropic", "bedrock"), ("signature", "redactedData", ""))
_PROVES = dict.fromkeys(("google", "vertex"), ("thoughtSignature", "", ""))
_ENCRYPTS = dict.fromkeys(("openai", "azure", "xai"), ("", "reasoningEncryptedContent", "itemId"))
_SIGNERS = {**_REDACTS, **_PROVES, **_ENCRYPTS}
"""The members for a signature, for encrypted reasoning, and for its id, by who signs."""
_NAMES = {"vertex": "google-cloud"}
"""Who signs, where Pydantic AI calls him otherwise; and what the AI SDK calls him."""
_KEYS = {"google-cloud": "vertex", "google-vertex": "vertex", "google-gla": "google"}
_CARRIED = (
    *("id", _NAME, _DETAILS, "canonical_system", "tool_kind", "citations", "structured_content"),
    *("vendor_metadata", "identifier", "force_download", "kind", "user_prompt_start", "retry"),
)
"""The members of what is native to Pydantic AI that its adapter writes and reads here."""


def members(value: Json) -> Object:
    """An object; without members for anything else."""
    return value if isinstance(value, dict) else {}


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


def native(metadata: Json, more: Object | None = None, *, ids: bool = True) -> Native:
    """What is native to a part with such metadata; ``more`` is what the AI SDK itself knows of it.

    Without ``ids`` those of items are no more than members of the metadata.
    """
    if not (metadata or more):
        return {}
    found: Native = {}
    more = without(more, HELD) if more else {}
    if isinstance(metadata, dict) and metadata:
        found, metadata = _shared(metadata, _SHARED if ids else _SHARED[:1])
        own = at(metadata, PYDANTIC)
        if isinstance(own, dict):
            told = {key: value for key, value in own.items() if key in _CARRIED and value not in EMPTY}
            found |= {PYDANTIC: told} if told else {}
            metadata = {**metadata, PYDANTIC: without(own, *_CARRIED)}
        more[HELD] = {name: held for name, held in metadata.items() if name != KEY and members(held)}
    kept = {name: value for name, value in more.items() if value not in EMPTY}
    return {**found, PROVIDER: kept} if kept else found


def _shared(metadata: Json, table: tuple[tuple[str, ...], ...]) -> tuple[Native, Json]:
    """What its provider has in a place of its own, and what is left then."""
    found: Native = {}
    name = string(at(metadata, PYDANTIC), _NAME)
    for provider, ours, here, there in table:
        path = (PYDANTIC, there) if there == "id" else (PYDANTIC, _DETAILS, there)
        paths = [(provider, here), *([path] if whose(name) == provider else [])]
        values = [value for each in paths if isinstance(value := at(metadata, *each), str) and value]
        if values:
            found.setdefault(provider, {})[ours] = values[-1]
            for each in paths:
                metadata = less(metadata, *each)
    return found, unclaimed(metadata, _NAME) if name in found else metadata


def metadata(native: Native, *, mirrored: bool = True, **own: Json) -> Object:
    """The metadata of a part; ``own`` is for Pydantic AI, for which what others know is ``mirrored``."""
    if not native and not own:
        return {}
    found: dict[str, Json] = dict(members(at(native, PROVIDER, HELD)))
    told = {key: value for key, value in native.get(PYDANTIC, {}).items() if key in _CARRIED}
    for provider, ours, here, there in _SHARED:
        value = at(native, provider, ours)
        if isinstance(value, str):
            found[provider] = {**found.get(provider, {}), here: value}
            if mirrored and whose(str(told.setdefault(_NAME, provider))) == provider:
                told |= {"id": value} if there == "id" else {_DETAILS: {**members(told.get(_DETAILS)), there: value}}
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


# Reasoning


def thought(text: str, given: Json, more: Object) -> Reasoning | None:
    """Reasoning with what its metadata say of who signed it; ``None`` for what says nothing."""
    name, signature, encrypted, own, given = _signed(given)
    held = at(given, PYDANTIC)
    if isinstance(held, dict):
        name, proof, ident = string(held, _NAME) or name, string(held, "signature"), string(held, "id")
        if ident == _REDACTED or whose(name) in _ENCRYPTS:
            signature, encrypted = "", proof or encrypted
        else:
            signature = proof or signature
        is_known = signature or encrypted or own or (whose(name) in _ENCRYPTS and ident.startswith("rs_"))
        name, own = name or ("anthropic" if ident == _REDACTED else ""), own if ident == _REDACTED else ident or own
        if is_known:
            given = unclaimed(given, "signature", "id", *([_NAME] if name == whose(name) else []))
        else:
            name, own = "", ""
    made = native(given, more, ids=False)
    if name not in ("", whose(name)):
        made = {**made, PYDANTIC: {**made.get(PYDANTIC, {}), _NAME: name}}
    found = Reasoning(text, whose(name), signature, encrypted, own, made)
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
    name = string(found.get(PYDANTIC), _NAME) or block.signer
    key, values = _KEYS.get(name, name), (block.signature, block.encrypted, block.id)
    here = {member: value for member, value in zip(_SIGNERS.get(key, ()), values, strict=False) if member and value}
    own = _REDACTED if block.encrypted and block.signer in _REDACTS else block.id
    there = {"id": own, "signature": block.signature or block.encrypted, _NAME: name}
    found |= {key: {**found.get(key, {}), **here}} if here else {}
    if (said := {member: value for member, value in there.items() if value}) and (is_ui or not here):
        found[PYDANTIC] = {**found.get(PYDANTIC, {}), **said}
    breaks = known(block.native).get(BREAKS, [])
    for start, end in zip([0, *(place + 2 for place in breaks)], [*breaks, len(block.text)], strict=True):
        made = {"type": "reasoning", "text": block.text[start:end]}
        yield {**made, holder: found} if found else made


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
    if isinstance(block, Reasoning) and block.encrypted:
        return block.signer, block.encrypted, block.id
    return None
