"""Load and write the parts of Pydantic AI responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from chatsquash.core.blocks import Block, Call, HostedCall, HostedResult, Media, Other, Reasoning, Refusal, Source, Text
from chatsquash.core.model import Json
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import arguments, call, custom_input
from chatsquash.formats.calls import native as rest_of
from chatsquash.formats.clients.pydantic_ai import media
from chatsquash.formats.clients.pydantic_ai.members import (
    PART,
    PROVIDER,
    by_provider,
    own,
    pack,
    provider_of,
    tagged,
    with_providers,
)
from chatsquash.formats.providers.anthropic.blocks import REQUIRED
from chatsquash.formats.values import Object, at, compact, objects, string
from chatsquash.formats.writing import native

OUTCOMES = ("success", "failed", "denied", "interrupted", "retried")
_REDACTED_ID = "redacted_thinking"
"""The id of reasoning that Anthropic encrypted completely."""
_ENCRYPTING = ("openai", "xai")
"""The providers whose signatures contain the encrypted reasoning."""
_CALL_MEMBERS = ("part_kind", "tool_name", "args", "tool_call_id")
_ITEM_PREFIX = "rs_"
"""The prefix of OpenAI's reasoning ids; other ids are member names."""
_ANTHROPIC = "anthropic"
"""The provider whose own citations are kept in addition to Pydantic AI's."""
_SAME_CITATION = "together"
"""The native member of sources that belong to the same citation as the preceding source."""
_FILE_MEMBERS = ("identifier", "vendor_metadata")
"""The members of a file, as opposed to the part that contains it."""


def text_of(part: Object, member: str) -> str:
    """Return a member that must be a string; may raise ``TurnError``."""
    if not isinstance(part.get(member), str):
        raise TurnError(f"{member} must be a string")
    return str(part[member])


def blocks_of(of: str, part: Object, number: int) -> Iterator[Block]:
    """Load a part of a response; may raise ``TurnError``.

    Args:
        of: the kind of the part
        part: the part as logged
        number: the number of the next call without an id
    """
    match of:
        case "text":
            yield from _text(part, text_of(part, "content"))
        case "thinking":
            yield from load_reasoning(part)
        case "tool-call":
            name, members = text_of(part, "tool_name"), own(part, *_CALL_MEMBERS)
            yield call(string(part, "tool_call_id"), number, name, arguments(part.get("args")), by_provider(members))
        case "builtin-tool-call" | "builtin-tool-return" if isinstance(part.get("tool_name"), str):
            yield _hosted(part, is_call=of == "builtin-tool-call")
        case "file" if medium := media.binary(part.get("content")):
            more = tagged({**own(part, "part_kind", "content"), **native(medium, PROVIDER)})
            yield Media(medium.kind, medium.mime, medium.data, name=medium.name, native={**medium.native, **more})
        case "speech" if text := string(part, "transcript"):
            yield Text(text, native=tagged({PART: own(part, "transcript")}))
        case _:
            yield Other(PROVIDER, part)


def _text(part: Object, text: str) -> Iterator[Block]:
    """Load text and its sources; empty text with other members becomes a native block."""
    members = own(part, "part_kind", "content")
    if not members:
        yield from (Text(text),) if text else ()
        return
    sources = list(_sources(part)) if "citations" in members else []
    if sources:
        del members["citations"]
    if any(_ANTHROPIC in source.native for source in sources):
        members["provider_details"] = own(part["provider_details"], "citations")
        members = own(members, *(() if members["provider_details"] or "id" in members else ("provider_name",)))
    yield Text(text, native=by_provider(members)) if text else Other(PROVIDER, part)
    yield from sources if text else ()


def load_reasoning(part: Object, *, is_item: bool = False) -> Iterator[Reasoning]:
    """Load reasoning; the signature of some providers contains the encrypted reasoning.

    Args:
        part: the part as logged
        is_item: whether the id is known to be an item id; an id without a signature may be a member name
    """
    text, signature, ident, name = (string(part, key) for key in ("content", "signature", "id", "provider_name"))
    signer, more = provider_of(name), own(part, "part_kind", "content", "signature", "id", "provider_name")
    encrypted = ""
    # Pydantic AI has no separate member for encrypted reasoning.
    if ident == _REDACTED_ID or signer in _ENCRYPTING:
        signature, encrypted = "", signature
    if ident == _REDACTED_ID:
        signer, ident = signer or "anthropic", ""
    elif not (signature or encrypted or (signer in _ENCRYPTING and (is_item or ident.startswith(_ITEM_PREFIX)))):
        more, signer, ident = own({**more, "id": ident}), "", ""
    more = own({**more, "provider_name": name if name != signer else None})
    if text or signature or encrypted or ident or more:
        yield Reasoning(text, signer, signature, encrypted, ident, tagged(more))


def _hosted(part: Object, *, is_call: bool) -> Block:
    """Load a hosted call or its result."""
    ident, name, provider = string(part, "tool_call_id"), part["tool_name"], provider_of(string(part, "provider_name"))
    if is_call:
        more = by_provider(own(part, *_CALL_MEMBERS), has_provider=True)
        return HostedCall(ident, name, arguments(part.get("args")), provider, more)
    outcome: Any = part["outcome"] if part.get("outcome") in OUTCOMES else "success"
    if outcome == "success" and at(part, "content", "is_error") is True and "error_text" in part["content"]:
        outcome = "failed"  # older versions have no outcome
    more = by_provider(own(part, "part_kind", "tool_name", "tool_call_id", "content", "outcome"), has_provider=True)
    return HostedResult(ident, name, part.get("content"), outcome, provider, more)


def _sources(part: Object) -> Iterator[Source]:
    """Load the sources of text, with Anthropic's own citations if there are as many citations as sources."""
    sources = [
        {**source, "anchor": citation.get("anchor"), _SAME_CITATION: place > 0 or None}
        for citation in objects(part.get("citations"))
        for place, source in enumerate(objects(citation.get("sources")))
    ]
    theirs = objects(at(part, "provider_details", "citations")) if part.get("provider_name") == _ANTHROPIC else []
    for source, raw in zip(sources, theirs if len(theirs) == len(sources) else [{}] * len(sources), strict=True):
        url, title, ident = (string(source, name) for name in ("url", "title", "document_id"))
        default_members = ("excerpts",) if raw and source.get("excerpts") == [raw.get("cited_text")] else ()
        known = own(source, "kind", "url", "title", "document_id", *default_members)
        title_member = "title" if url else "document_title"
        read = [key for key in ("url", title_member) if raw.get(key)]
        yield Source(url, title, ident, native={**tagged(known), **rest_of(_ANTHROPIC, raw, *read, required=REQUIRED)})


# Writing


def response_parts(blocks: Sequence[Block]) -> list[Object]:
    """Write the parts of a response; sources belong to the preceding text, or else to the first text."""
    parts, waiting = list[Object](), list[Source]()
    texts = list[tuple[Object, list[Source]]]()
    for block in pack(blocks):
        if type(block) is Source:
            waiting.append(block)
        for part in _parts(block):
            parts.append(part)
            if part["part_kind"] == "text":
                # Sources before the first text belong to it.
                waiting = waiting if not texts else []
                texts.append((part, waiting))
    for part, sources in texts:
        _cite(part, sources)
    return parts


def _cite(part: Object, sources: Iterable[Source]) -> None:
    """Add sources to a text part as citations; sources without a URL, document or title are omitted."""
    citations, raw = list[Object](), list[Json]()
    full_range = {"kind": "content", "start": 0, "end": len(part["content"])}
    for source in sources:
        known, theirs = source.native.get(PROVIDER, {}), source.native.get(_ANTHROPIC, {})
        excerpts = [theirs["cited_text"]] if string(theirs, "cited_text") else None
        kind, title_member = ("web", "title") if source.url else ("document", "document_title")
        all_members = {"url": source.url, "document_id": source.id, "title": source.title}
        source_members = own(
            {**all_members, "excerpts": known.get("excerpts", excerpts)}, *(("document_id",) if source.url else ())
        )
        if not source_members:
            continue
        if theirs:
            raw.append({**own({"url": source.url, title_member: source.title}), **theirs})
        if citations and known.get(_SAME_CITATION):
            citations[-1]["sources"].append({"kind": kind, **source_members})
        else:
            anchor = own({"anchor": known.get("anchor", full_range if theirs else None)})
            citations.append({"sources": [{"kind": kind, **source_members}], **anchor})
    if citations:
        part["citations"] = citations
    if raw and part.setdefault("provider_name", _ANTHROPIC) == _ANTHROPIC:
        part["provider_details"] = {**part.get("provider_details", {}), "citations": raw}


def _parts(block: Block) -> Iterator[Object]:
    match block:
        case Text() | Refusal():
            speech_part = native(block, PROVIDER).get(PART)
            text_part = {"part_kind": "text", "content": block.text}
            yield (
                {**speech_part, "transcript": block.text}
                if isinstance(speech_part, dict)
                else with_providers(block.native, text_part)
            )
        case Reasoning() if part := reasoning_part(block):
            yield part
        case Call():
            text = compact(custom_input(block.arguments)) if block.custom else block.arguments
            yield _tool_part("tool-call", block, args=text)
        case HostedCall():
            yield _tool_part("builtin-tool-call", block, args=block.arguments)
        case HostedResult():
            yield _tool_part("builtin-tool-return", block, content=block.value)
        case Media() if block.data and (item := media.item(block)):
            more = {key: item.pop(key) for key in native(block, PROVIDER) if key not in _FILE_MEMBERS}
            yield {"part_kind": "file", "content": item, **more}
        case Other() if block.provider == PROVIDER and isinstance(block.value, dict) and "part_kind" in block.value:
            yield block.value


def reasoning_part(block: Reasoning) -> Object:
    """Write reasoning, without its id if the provider is unknown; return an empty object if there is no content."""
    members = native(block, PROVIDER)
    name = members.get("provider_name", block.signer)
    ident = _REDACTED_ID if block.encrypted and name and block.signer not in _ENCRYPTING else block.id if name else ""
    known = own({"id": ident, "signature": block.encrypted or block.signature, **members})
    if not (block.text or known):
        return {}
    return {"part_kind": "thinking", "content": block.text, **known, **({"provider_name": name} if name else {})}


def _tool_part(kind: str, block: Call | HostedCall | HostedResult, **content: Json) -> Object:
    """Write the part of a call or a result, including its outcome, provider and native members."""
    outcome = block.outcome if isinstance(block, HostedResult) else None
    by = None if isinstance(block, Call) else block.provider
    known = {"tool_call_id": block.id, "outcome": outcome, "provider_name": by}
    return with_providers(block.native, {"part_kind": kind, "tool_name": block.name or "", **content, **own(known)})
