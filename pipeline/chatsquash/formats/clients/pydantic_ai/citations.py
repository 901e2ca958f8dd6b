"""Citations of Pydantic AI, which say on which sources a text rests; beside them may stand Anthropic's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chatsquash.blocks import Source
from chatsquash.formats.calls import native
from chatsquash.formats.clients.pydantic_ai.members import own, tagged
from chatsquash.formats.values import Object, at, objects, string
from chatsquash.model import Json

THEIRS = "anthropic"
_TOGETHER = "together"
"""Says that a source is of the citation of the one before."""


def sources(part: Object) -> Iterator[Source]:
    """The sources of a text, each with what Anthropic says of it where it says as much of all."""
    cited = [
        {**source, "anchor": citation.get("anchor"), _TOGETHER: place > 0 or None}
        for citation in objects(part.get("citations"))
        for place, source in enumerate(objects(citation.get("sources")))
    ]
    theirs = objects(at(part, "provider_details", "citations")) if part.get("provider_name") == THEIRS else []
    for source, raw in zip(cited, theirs if len(theirs) == len(cited) else [{}] * len(cited), strict=True):
        url, title, ident = (string(source, name) for name in ("url", "title", "document_id"))
        quoted = ("excerpts",) if raw and source.get("excerpts") == [raw.get("cited_text")] else ()
        known = own(source, "kind", "url", "title", "document_id", *quoted)
        titled = "title" if url else "document_title"
        yield Source(url, title, ident, native={**tagged(known), **native(THEIRS, raw, "url", titled)})


def cite(part: Object, found: Iterable[Source]) -> None:
    """Say in a text's part on which sources it rests; what is neither an address nor a document is left out."""
    citations, raw = list[Object](), list[Json]()
    whole = {"kind": "content", "start": 0, "end": len(part["content"])}
    for source in found:
        known, theirs = source.native.get("pydantic_ai", {}), source.native.get(THEIRS, {})
        quoted = [theirs["cited_text"]] if string(theirs, "cited_text") else None
        kind, titled = ("web", "title") if source.url else ("document", "document_title")
        named = {"url": source.url, "document_id": source.id, "title": source.title}
        made = own({**named, "excerpts": known.get("excerpts", quoted)}, *(("document_id",) if source.url else ()))
        if not made:
            continue
        if theirs:
            raw.append(own({"url": source.url, titled: source.title, **theirs}))
        if citations and known.get(_TOGETHER):
            citations[-1]["sources"].append({"kind": kind, **made})
        else:
            anchor = own({"anchor": known.get("anchor", whole if theirs else None)})
            citations.append({"sources": [{"kind": kind, **made}], **anchor})
    if citations:
        part["citations"] = citations
    if raw and part.setdefault("provider_name", THEIRS) == THEIRS:
        part["provider_details"] = {**part.get("provider_details", {}), "citations": raw}
