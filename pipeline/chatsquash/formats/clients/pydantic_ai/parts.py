"""The parts of Pydantic AI's responses, as blocks, and back."""

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
    tagged,
    whose,
    with_providers,
)
from chatsquash.formats.providers.anthropic.blocks import REQUIRED
from chatsquash.formats.values import Object, at, compact, objects, string
from chatsquash.formats.writing import native

OUTCOMES = ("success", "failed", "denied", "interrupted", "retried")
_REDACTED = "redacted_thinking"
"""What stands for an id where Anthropic's reasoning is encrypted whole."""
_ENCRYPTS = ("openai", "xai")
"""Whose signatures are the reasoning itself, encrypted."""
_OF_CALLS = ("part_kind", "tool_name", "args", "tool_call_id")
_ITEM = "rs_"
"""What the ids of OpenAI's reasoning begin with; others are names of members."""
_THEIRS = "anthropic"
"""Whose citations may stand beside those of Pydantic AI."""
_TOGETHER = "together"
"""Says that a source is of the citation of the one before."""
_OF_FILE = ("identifier", "vendor_metadata")
"""Members of a file itself, and not of the part that it stands in."""


def text_of(part: Object, member: str) -> str:
    """A member that must be a text; raises ``TurnError``."""
    if not isinstance(part.get(member), str):
        raise TurnError(f"has no text as its {member}")
    return str(part[member])


def blocks_of(of: str, part: Object, number: int) -> Iterator[Block]:
    """What a part of a response says; a call without an id gets the number; raises ``TurnError``."""
    match of:
        case "text":
            yield from _text(part, text_of(part, "content"))
        case "thinking":
            yield from thought(part)
        case "tool-call":
            name, members = text_of(part, "tool_name"), own(part, *_OF_CALLS)
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
    """A text with its sources behind it; one without words may be there for what its provider knows of it."""
    members = own(part, "part_kind", "content")
    if not members:
        yield from (Text(text),) if text else ()
        return
    sources = list(_sources(part)) if "citations" in members else []
    if sources:
        del members["citations"]
    if any(_THEIRS in source.native for source in sources):
        members["provider_details"] = own(part["provider_details"], "citations")
        members = own(members, *(() if members["provider_details"] or "id" in members else ("provider_name",)))
    yield Text(text, native=by_provider(members)) if text else Other(PROVIDER, part)
    yield from sources if text else ()


def thought(part: Object, *, is_item: bool = False) -> Iterator[Reasoning]:
    """Reasoning; a signature of those who encrypt is the reasoning itself.

    An id without one may be a mere name, unless it is known to be an item's.
    """
    text, signature, ident, name = (string(part, key) for key in ("content", "signature", "id", "provider_name"))
    signer, more = whose(name), own(part, "part_kind", "content", "signature", "id", "provider_name")
    encrypted = ""
    if ident == _REDACTED or signer in _ENCRYPTS:
        signature, encrypted = "", signature
    if ident == _REDACTED:
        signer, ident = signer or "anthropic", ""
    elif not (signature or encrypted or (signer in _ENCRYPTS and (is_item or ident.startswith(_ITEM)))):
        more, signer, ident = own({**more, "id": ident}), "", ""
    more = own({**more, "provider_name": name if name != signer else None})
    if text or signature or encrypted or ident or more:
        yield Reasoning(text, signer, signature, encrypted, ident, tagged(more))


def _hosted(part: Object, *, is_call: bool) -> Block:
    """A call of a tool that a provider ran, or what that gave."""
    ident, name, provider = string(part, "tool_call_id"), part["tool_name"], whose(string(part, "provider_name"))
    if is_call:
        more = by_provider(own(part, *_OF_CALLS), is_told=True)
        return HostedCall(ident, name, arguments(part.get("args")), provider, more)
    came: Any = part["outcome"] if part.get("outcome") in OUTCOMES else "success"
    if came == "success" and at(part, "content", "is_error") is True and "error_text" in part["content"]:
        came = "failed"  # as versions before outcomes had it
    more = by_provider(own(part, "part_kind", "tool_name", "tool_call_id", "content", "outcome"), is_told=True)
    return HostedResult(ident, name, part.get("content"), came, provider, more)


def _sources(part: Object) -> Iterator[Source]:
    """The sources of a text, each with what Anthropic says of it where it says as much of all."""
    cited = [
        {**source, "anchor": citation.get("anchor"), _TOGETHER: place > 0 or None}
        for citation in objects(part.get("citations"))
        for place, source in enumerate(objects(citation.get("sources")))
    ]
    theirs = objects(at(part, "provider_details", "citations")) if part.get("provider_name") == _THEIRS else []
    for source, raw in zip(cited, theirs if len(theirs) == len(cited) else [{}] * len(cited), strict=True):
        url, title, ident = (string(source, name) for name in ("url", "title", "document_id"))
        quoted = ("excerpts",) if raw and source.get("excerpts") == [raw.get("cited_text")] else ()
        known = own(source, "kind", "url", "title", "document_id", *quoted)
        titled = "title" if url else "document_title"
        read = [key for key in ("url", titled) if raw.get(key)]
        yield Source(url, title, ident, native={**tagged(known), **rest_of(_THEIRS, raw, *read, required=REQUIRED)})


# Writing


def said(blocks: Sequence[Block]) -> list[Object]:
    """The parts of a response; sources go with the text before them, else with the first behind them."""
    parts, waiting = list[Object](), list[Source]()
    cited = list[tuple[Object, list[Source]]]()
    for block in pack(blocks):
        if type(block) is Source:
            waiting.append(block)
        for part in _parts(block):
            parts.append(part)
            if part["part_kind"] == "text":
                waiting = waiting if not cited else []
                cited.append((part, waiting))
    for part, sources in cited:
        _cite(part, sources)
    return parts


def _cite(part: Object, sources: Iterable[Source]) -> None:
    """Say in a text's part on which sources it rests; what is neither an address nor a document is left out."""
    citations, raw = list[Object](), list[Json]()
    whole = {"kind": "content", "start": 0, "end": len(part["content"])}
    for source in sources:
        known, theirs = source.native.get(PROVIDER, {}), source.native.get(_THEIRS, {})
        quoted = [theirs["cited_text"]] if string(theirs, "cited_text") else None
        kind, titled = ("web", "title") if source.url else ("document", "document_title")
        named = {"url": source.url, "document_id": source.id, "title": source.title}
        made = own({**named, "excerpts": known.get("excerpts", quoted)}, *(("document_id",) if source.url else ()))
        if not made:
            continue
        if theirs:
            raw.append({**own({"url": source.url, titled: source.title}), **theirs})
        if citations and known.get(_TOGETHER):
            citations[-1]["sources"].append({"kind": kind, **made})
        else:
            anchor = own({"anchor": known.get("anchor", whole if theirs else None)})
            citations.append({"sources": [{"kind": kind, **made}], **anchor})
    if citations:
        part["citations"] = citations
    if raw and part.setdefault("provider_name", _THEIRS) == _THEIRS:
        part["provider_details"] = {**part.get("provider_details", {}), "citations": raw}


def _parts(block: Block) -> Iterator[Object]:
    match block:
        case Text() | Refusal():
            spoken = native(block, PROVIDER).get(PART)
            made = {"part_kind": "text", "content": block.text}
            yield (
                {**spoken, "transcript": block.text} if isinstance(spoken, dict) else with_providers(block.native, made)
            )
        case Reasoning() if part := said_thought(block):
            yield part
        case Call():
            text = compact(custom_input(block.arguments)) if block.custom else block.arguments
            yield _tool_part("tool-call", block, args=text)
        case HostedCall():
            yield _tool_part("builtin-tool-call", block, args=block.arguments)
        case HostedResult():
            yield _tool_part("builtin-tool-return", block, content=block.value)
        case Media() if block.data and (item := media.item(block)):
            more = {key: item.pop(key) for key in native(block, PROVIDER) if key not in _OF_FILE}
            yield {"part_kind": "file", "content": item, **more}
        case Other() if block.provider == PROVIDER and isinstance(block.value, dict) and "part_kind" in block.value:
            yield block.value


def said_thought(block: Reasoning) -> Object:
    """A part, whose signature is nobody's where nobody is named; an empty one for nothing."""
    members = native(block, PROVIDER)
    name = members.get("provider_name", block.signer)
    ident = _REDACTED if block.encrypted and name and block.signer not in _ENCRYPTS else block.id if name else ""
    known = own({"id": ident, "signature": block.encrypted or block.signature, **members})
    if not (block.text or known):
        return {}
    return {"part_kind": "thinking", "content": block.text, **known, **({"provider_name": name} if name else {})}


def _tool_part(kind: str, block: Call | HostedCall | HostedResult, **said: Json) -> Object:
    """A part of the tool that a block names, with what it says, how it came out, who ran it and what he knows of it."""
    outcome = block.outcome if isinstance(block, HostedResult) else None
    by = None if isinstance(block, Call) else block.provider
    known = {"tool_call_id": block.id, "outcome": outcome, "provider_name": by}
    return with_providers(block.native, {"part_kind": kind, "tool_name": block.name or "", **said, **own(known)})
