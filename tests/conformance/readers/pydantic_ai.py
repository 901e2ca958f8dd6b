"""What Pydantic AI sees of its messages."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import Any

from .common import Links, Object, arguments, block, both, compact, kind_of, merged, rest, text, turn, usual

PYDANTIC = "pydantic_ai"
_URLS = {"image-url": "image", "audio-url": "audio", "video-url": "video", "document-url": "file"}
_VENDOR = {
    "context": "anthropic", "citations": "anthropic", "cache_control": "anthropic", "source": "anthropic",
    "detail": "openai",
}  # fmt: skip
"""Whose a member of the vendor's metadata is."""
_SILENT = ("timestamp", "usage", "model_name", "run_id", "conversation_id", "provider_url", "finish_reason", "state")


def read(document: Any) -> list[Object]:
    """The turns of messages: one for each part of a request, one for each response."""
    links = Links()
    found: list[Object] = []
    waiting: list[Object] = []
    """Requests without parts of which something is known, which go with the next turn."""
    for message in document:
        if message["kind"] == "response":
            fresh = [turn("assistant", [made for part in message["parts"] for made in _said(part, links)])]
        else:
            fresh = [_heard(part, links) for part in message["parts"]]
        if fresh and waiting:
            fresh[0]["blocks"] = [*waiting, *fresh[0].get("blocks", [])]
            waiting = []
        found += fresh
        own = rest(PYDANTIC, message, "kind", "parts", "instructions", *_SILENT).get(PYDANTIC, {})
        if own and not fresh:
            waiting.append(block("other", provider=PYDANTIC, value=message))
        if found and own and (message["parts"] or message["kind"] == "response"):
            first = found[-1 if message["kind"] == "response" else -len(message["parts"])]
            first["native"] = both(first.get("native", {}), {PYDANTIC: {f"message.{key}": own[key] for key in own}})
    return merged(_instructed(found, document))


def _instructed(found: list[Object], document: Any) -> list[Object]:
    """With the instructions of the last request, behind the prompts that lead unless they are told alone before them."""
    told = [message.get("instructions") for message in document if message["kind"] == "request"]
    if not told or not told[-1]:
        return found
    is_behind = bool(document[0]["parts"])
    place = len(list(takewhile(lambda each: is_behind and each["role"] == "system", found)))
    return [*found[:place], turn("system", text(told[-1]), instructions=True), *found[place:]]


# Requests


def _heard(part: Object, links: Links) -> Object:
    own = rest(PYDANTIC, part, "part_kind", "content", "timestamp")
    match part["part_kind"]:
        case "system-prompt":
            return turn("system", text(part["content"]), native=own)
        case "user-prompt":
            content = part["content"]
            return turn("user", text(content) if isinstance(content, str) else _items(content), native=own)
        case "tool-return":
            return turn("tool", [_result(part, links)])
    return turn("user", [block("other", provider=PYDANTIC, value=part)])


def _result(part: Object, links: Links) -> Object:
    content = part["content"]
    told: Object = {"content": text(compact(content)), "json": True}
    if isinstance(content, str):
        told = {"content": text(content)}
    else:
        items = content if isinstance(content, list) else [content]
        told |= returned(items, _items) if any(map(is_file, items)) else {}
    read = ("part_kind", "content", "tool_name", "tool_call_id", "outcome", "timestamp", "content_file_digests")
    answered, name = links.answer(part.get("tool_call_id"), part["tool_name"]), part["tool_name"]
    return block(
        "result", id=answered, name=name, outcome=part.get("outcome"), native=rest(PYDANTIC, part, *read), **told
    )


def returned(items: list[Any], read: Callable[[list[Any]], list[Object]]) -> Object:
    """What a tool returned with files: texts among them, or a value, which is JSON; several are one."""
    values = [item for item in items if not is_file(item)]
    if all(isinstance(value, str) for value in values):
        return {"content": read(items), "json": False}
    value = text(compact(values[0] if len(values) == 1 else values))
    return {"content": value + read([item for item in items if is_file(item)]), "json": True}


def is_file(item: Any) -> bool:
    """Whether an item has the shape of a file."""
    return isinstance(item, dict) and item.get("kind") in ("binary", "uploaded-file", *_URLS)


def _items(items: list[Any]) -> list[Object]:
    return [made for item in items for made in _item(item)]


def _item(item: Any) -> list[Object]:
    if isinstance(item, str):
        return text(item)
    kind = item["kind"]
    if kind == "text-content":
        metadata = item.get("metadata") or {}
        own = rest(PYDANTIC, item, "kind", "content", "metadata")
        if list(metadata) == ["anthropic"]:
            return text(item["content"], both(own, metadata))
        return text(item["content"], both(own, {PYDANTIC: {"metadata": metadata}} if metadata else {}))
    if not is_file(item):
        return [block("other", provider=PYDANTIC, value=item)]
    mime = item.get("media_type") or ""
    own = rest(
        PYDANTIC,
        item,
        "kind",
        "media_type",
        "data",
        "url",
        "file_id",
        "provider_name",
        "vendor_metadata",
        "identifier",
        "force_download",
    )
    vendor = dict(item.get("vendor_metadata") or {})
    name = vendor.pop("title", None)
    for member, provider in _VENDOR.items():
        if member in vendor:
            own = both(own, {provider: {member: vendor.pop(member)}})
    own = both(own, {PYDANTIC: {"vendor_metadata": vendor}} if vendor else {})
    where = {key: item.get(key) for key in ("data", "url", "file_id")} | {"provider": item.get("provider_name")}
    return [block("media", kind=_URLS.get(kind) or _medium(mime), mime=usual(mime), name=name, native=own, **where)]


def _medium(mime: str) -> str:
    return kind_of(mime)


# Responses


def _said(part: Object, links: Links) -> list[Object]:
    match part["part_kind"]:
        case "text":
            return _text(part)
        case "thinking":
            return [_thought(part)]
        case "tool-call":
            own = _shared(rest(PYDANTIC, part, "part_kind", "tool_name", "args", "tool_call_id"))
            name = part["tool_name"]
            ident = links.call(part.get("tool_call_id"), name)
            return [block("call", id=ident, name=name, arguments=_given(part, own), native=own)]
        case "builtin-tool-call":
            own = rest(PYDANTIC, part, "part_kind", "tool_name", "args", "tool_call_id", "provider_name")
            more = {"arguments": _given(part, own), "provider": part.get("provider_name"), "native": own}
            return [block("hosted_call", id=part["tool_call_id"], name=part["tool_name"], **more)]
        case "builtin-tool-return":
            read = ("part_kind", "tool_name", "content", "tool_call_id", "provider_name", "outcome", "timestamp")
            more = {"value": part["content"], "outcome": part.get("outcome"), "provider": part.get("provider_name")}
            return [
                block(
                    "hosted_result",
                    id=part["tool_call_id"],
                    name=part["tool_name"],
                    native=rest(PYDANTIC, part, *read),
                    **more,
                )
            ]
        case "file":
            (made,) = _item(part["content"])
            made["native"] = both(made.get("native", {}), rest(PYDANTIC, part, "part_kind", "content"))
            return [made]
    return [block("other", provider=PYDANTIC, value={key: each for key, each in part.items() if each is not None})]


def _given(part: Object, own: Object) -> str:
    if isinstance(part.get("args"), dict):
        own[PYDANTIC] = {**own.get(PYDANTIC, {}), "object": True}
    return arguments(part.get("args"))


def _text(part: Object) -> list[Object]:
    cited = [
        {**source, "anchor": each.get("anchor")} for each in part.get("citations") or [] for source in each["sources"]
    ]
    details = part.get("provider_details") or {}
    theirs = details.get("citations") or [{} for _ in cited]
    left = {**part, "provider_details": {key: each for key, each in details.items() if key != "citations"}}
    own = _shared(rest(PYDANTIC, left, "part_kind", "content", "citations"))
    return text(part["content"], own) + [_source(source, more) for source, more in zip(cited, theirs, strict=True)]


def _source(source: Object, theirs: Object) -> Object:
    own = rest("anthropic", theirs, "url", "title", "document_title")
    own = both(own, rest(PYDANTIC, source, "kind", "url", "title", "document_id"))
    return block("source", url=source.get("url"), title=source.get("title"), id=source.get("document_id"), native=own)


def _shared(own: Object) -> Object:
    """What is native, with what a provider that is named knows of it."""
    held = dict(own.get(PYDANTIC, {}))
    details = dict(held.get("provider_details") or {})
    found: Object = {}
    if held.get("provider_name") == "openai":
        found = {
            key: each for key, each in (("id", held.pop("id", None)), ("phase", details.pop("phase", None))) if each
        }
        own = {"openai": found}
    elif held.get("provider_name") == "google" and "thought_signature" in details:
        own = {"google": {"thoughtSignature": details.pop("thought_signature")}}
    else:
        return own
    held.pop("provider_name")
    left = (
        {**held, "provider_details": details}
        if details
        else {key: held[key] for key in held if key != "provider_details"}
    )
    return both(own, {PYDANTIC: left} if left else {})


def _thought(part: Object) -> Object:
    """Reasoning; what some call a signature is the reasoning itself, encrypted."""
    signer, proof, ident = (part.get(key) or "" for key in ("provider_name", "signature", "id"))
    own = rest(PYDANTIC, part, "part_kind", "content", "signature", "id", "provider_name")
    is_whole = ident == "redacted_thinking"
    place = "encrypted" if is_whole or signer in ("openai", "xai") else "signature"
    more = {place: proof, "id": "" if is_whole else ident}
    return block("reasoning", text=part["content"], signer=signer, native=own, **more)
