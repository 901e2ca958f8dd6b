"""What the AI SDK, and Pydantic AI's adapter beside it, see of UI messages."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from .common import (
    EMPTY,
    Links,
    Object,
    arguments,
    block,
    both,
    compact,
    kind_of,
    linked,
    merged,
    rest,
    text,
    turn,
    usual,
)
from .pydantic_ai import is_file, returned

VERCEL, PYDANTIC = "vercel_ai", "pydantic_ai"
HELD = "providerMetadata"
DENIED = "Tool call execution denied."
UNKNOWN = "application/octet-stream"
ANSWERED = ("output-available", "output-error", "output-denied")
URLS = {"image-url": "image", "audio-url": "audio", "video-url": "video", "document-url": "file"}
SIGNED = {
    "anthropic": ("signature", "redactedData", ""),
    "google": ("thoughtSignature", "", ""),
    "openai": ("", "reasoningEncryptedContent", "itemId"),
    "xai": ("", "reasoningEncryptedContent", "itemId"),
}
NAMED = {
    "google": {"thoughtSignature": "thoughtSignature"},
    "openai": {"itemId": "id", "phase": "phase", "imageDetail": "detail"},
}
"""What providers know of a part by the AI SDK's names, and what their own formats call it."""
VENDOR = {"context": "anthropic", "citations": "anthropic", "cache_control": "anthropic", "detail": "openai"}
"""Whose a member is of what Pydantic AI's adapter has for vendors."""
_TOOL = (
    "type", "toolName", "toolCallId", "input", "rawInput", "output", "errorText", "approval", "state",
    "providerExecuted",
)  # fmt: skip
_TOOL = (*_TOOL, "callProviderMetadata", "resultProviderMetadata")


def read(document: Any) -> list[Object]:
    """The turns of messages: one for each step of the assistant's, and one for its results."""
    links = Links()
    found: list[Object] = []
    for message in document:
        own = rest(VERCEL, message, "role", "parts")
        if message["role"] == "assistant":
            made = [each for step in _steps(message["parts"]) for each in _step(step, links)]
        else:
            made = [turn(message["role"], [each for part in message["parts"] for each in shown(part)])]
        made[0] |= {"native": own}
        found += made
    return merged(found)


def _steps(parts: list[Object]) -> list[list[Object]]:
    found: list[list[Object]] = []
    for part in parts:
        if part["type"] == "step-start" or not found:
            found.append([])
        if part["type"] != "step-start":
            found[-1].append(part)
    return found


def _step(parts: list[Object], links: Links) -> list[Object]:
    said: list[Object] = []
    results: list[Object] = []
    for part in parts:
        if not _is_tool(part):
            said += shown(part)
        elif part.get("providerExecuted"):
            said += _hosted(part)
        else:
            made, result = _tool(part, links)
            said += made
            results += result
    turns = [turn("assistant", whole(said))] if said or not results else []
    return [*turns, *([turn("tool", results)] if results else [])]


def _is_tool(part: Object) -> bool:
    return part["type"] == "dynamic-tool" or part["type"].startswith("tool-")


# What is said


def native(metadata: Any, **more: Any) -> Object:
    """What providers know of a part, by their names; that of others than Pydantic AI and Google is the AI SDK's."""
    left = {name: dict(each) for name, each in (metadata or {}).items() if isinstance(each, dict)}
    own = left.pop(PYDANTIC, {})
    found: Object = {}
    for provider, names in NAMED.items():
        held = left.get(provider, {})
        told = {ours: held.pop(theirs) for theirs, ours in names.items() if theirs in held}
        found |= {provider: told} if told else {}
    for member, value in (own.get("vendor_metadata") or {}).items():
        if member in VENDOR:
            found = both(found, {VENDOR[member]: {member: value}})
    found |= {PYDANTIC: own} if own else {}
    kept = {
        name: each
        for name, each in {**more, HELD: {key: each for key, each in left.items() if each}}.items()
        if each not in EMPTY
    }
    return both(found, {VERCEL: kept} if kept else {})


def shown(part: Object) -> list[Object]:
    """What a part says that is no tool's."""
    held = part.get(HELD)
    more = {
        key: value
        for key, value in part.items()
        if key not in ("type", "text", HELD) and (key, value) != ("state", "done")
    }
    match part["type"]:
        case "text":
            own = native(held, **more)
            return text(part["text"], own) or [block("other", provider=VERCEL, value=part)] * bool(own)
        case "reasoning":
            return [thought(part["text"], held, more)]
        case "file":
            return [medium(part)]
        case "source-url" | "source-document":
            return [_source(part)]
        case "data-compaction":
            return [block("other", provider=PYDANTIC, value={"part_kind": "compaction", **part["data"]})]
    return [block("other", provider=VERCEL, value=part)]


def thought(said: str, held: Any, more: Object) -> Object:
    """Reasoning, with who signed it."""
    own = native(held, **more)
    for signer, members in SIGNED.items():
        given = (held or {}).get(signer) or {}
        signature, encrypted, ident = (given.get(member, "") if member else "" for member in members)
        if signature or encrypted or ident:
            return block(
                "reasoning", text=said, signer=signer, signature=signature, encrypted=encrypted, id=ident, native=own
            )
    return block("reasoning", text=said, native=own)


def whole(blocks: list[Object]) -> list[Object]:
    """Blocks with the parts of one item of encrypted reasoning as one."""
    found: list[Object] = []
    for each in blocks:
        last = found[-1] if found else {}
        names = ("type", "signer", "encrypted", "id")
        if (
            each["type"] == "reasoning"
            and each.get("encrypted")
            and each.get("id")
            and [last.get(name) for name in names] == [each.get(name) for name in names]
        ):
            texts = [held.get("text", "") for held in (last, each)]
            own = last.get("native", {})
            places = [*own.get(VERCEL, {}).get("breaks", []), len(texts[0])]
            found[-1] = {**last, "text": "\n\n".join(texts), "native": both(own, {VERCEL: {"breaks": places}})}
        else:
            found.append(each)
    return found


def medium(part: Object) -> Object:
    """A file by its data, its address, or what a provider calls it."""
    mime, url = part["mediaType"], part["url"]
    known = ((part.get(HELD) or {}).get(PYDANTIC) or {}).get("file_id") or ""
    own = native(
        part.get(HELD), **{key: part[key] for key in part if key not in ("type", "mediaType", "url", "filename", HELD)}
    )
    more = {
        "mime": "" if mime == UNKNOWN or mime.endswith("/*") else usual(mime),
        "name": part.get("filename"),
        "native": own,
    }
    if known or url.startswith("file-id:"):
        whose = (part.get(HELD) or {}).get(PYDANTIC, {}).get("provider_name")
        known = known or unquote(url.removeprefix("file-id:"))
        return block("media", kind=kind_of(mime), file_id=known, provider=whose, **more)
    return linked(kind_of(mime), url, **more)


def _source(part: Object) -> Object:
    ident, mime = part.get("sourceId"), part.get("mediaType")
    own = native(
        part.get(HELD),
        **{
            key: part[key]
            for key in part
            if key not in ("type", "sourceId", "url", "title", "mediaType", "filename", HELD)
        },
    )
    more = {
        "id": "" if ident in (part.get("url"), part.get("title")) else ident,
        "mime": "" if mime == UNKNOWN else mime,
    }
    return block("source", url=part.get("url"), title=part.get("title"), name=part.get("filename"), native=own, **more)


# Tools


def _name(part: Object) -> str:
    return str(part["toolName"]) if part["type"] == "dynamic-tool" else part["type"].removeprefix("tool-")


def _tool(part: Object, links: Links) -> tuple[list[Object], list[Object]]:
    """A call, also where its input is null, with what was asked about it, and its result."""
    name, held, ident = _name(part), part.get("callProviderMetadata"), part["toolCallId"]
    own = dict((held or {}).get(PYDANTIC) or {})
    outcome, errors = own.pop("outcome", ""), own.pop("content", None)
    given = part.get("input") if part.get("input") is not None else part.get("rawInput")
    state = part["state"]
    more = {key: value for key, value in part.items() if key not in _TOOL and value not in EMPTY}
    more |= {"type": "dynamic-tool"} if part["type"] == "dynamic-tool" else {}
    meta = native({**(held or {}), PYDANTIC: own}, **more)
    called = block("call", id=links.call(ident, name), name=name, arguments=arguments(given), native=meta)
    blocks = [called, *_approval(part)]
    if state not in ANSWERED:
        return blocks, []
    outcomes = {"output-error": "retried" if outcome == "retried" else "failed", "output-denied": "denied"}
    told = given_by(errors if errors is not None else _output(part))
    came = outcomes.get(state, "interrupted" if outcome == "interrupted" else "success")
    meta = native({}, resultProviderMetadata=part.get("resultProviderMetadata"))
    return blocks, [block("result", id=links.answer(ident, name), name=name, outcome=came, native=meta, **told)]


def _output(part: Object) -> Any:
    if part["state"] == "output-error":
        return part["errorText"]
    if part["state"] == "output-denied":
        return part["approval"].get("reason", DENIED)
    return part["output"]


def _approval(part: Object) -> list[Object]:
    asked = part.get("approval")
    if not asked:
        return []
    rests = {key: asked[key] for key in asked if key not in ("id", "approved", "reason")}
    if part["state"] == "output-denied" and asked["id"] == part["toolCallId"] and not rests:
        return []
    own = {VERCEL: rests} if rests else {}
    more = {"approved": asked.get("approved"), "reason": asked.get("reason"), "native": own}
    return [block("approval", call=part["toolCallId"], id=asked["id"], **more)]


def given_by(output: Any) -> Object:
    """What a tool gave: a text, files, or JSON."""
    if isinstance(output, str):
        return {"content": text(output)}
    items = output if isinstance(output, list) else [output]
    if any(map(is_file, items)):
        return returned(items, lambda each: [made for item in each for made in _item(item)])
    return {"content": text(compact(output)), "json": True}


def _item(item: Any) -> list[Object]:
    if isinstance(item, str):
        return text(item)
    mime, vendor = item.get("media_type") or "", dict(item.get("vendor_metadata") or {})
    name = vendor.pop("title", None)
    read = ("kind", "media_type", "data", "url", "file_id", "provider_name")
    own = rest(PYDANTIC, {**item, "vendor_metadata": vendor}, *read)
    where = {key: item.get(key) for key in ("data", "url", "file_id")} | {"provider": item.get("provider_name")}
    kind = URLS.get(item["kind"]) or kind_of(mime)
    return [block("media", kind=kind, mime=usual(mime), name=name, native=own, **where)]


def _hosted(part: Object) -> list[Object]:
    """A call of a tool that a provider runs, and what it gave, with who it is."""
    name, ident, held = _name(part), part["toolCallId"], dict(part.get("callProviderMetadata") or {})
    own = dict(held.pop(PYDANTIC, {}))
    called, gave = own.pop("call_meta", {}), own.pop("return_meta", {})
    own |= called
    provider = own.pop("provider_name", "")
    more = {key: value for key, value in part.items() if key not in _TOOL and value not in EMPTY}
    more |= {"type": "dynamic-tool"} if part["type"] == "dynamic-tool" else {}
    meta = native({**held, PYDANTIC: own}, **more)
    given = arguments(part.get("input"))
    found = [block("hosted_call", id=ident, name=name, arguments=given, provider=provider, native=meta)]
    found += _approval(part)
    if part["state"] in ANSWERED:
        outcome = {"output-error": "failed", "output-denied": "denied"}.get(part["state"], "success")
        teller = gave.get("provider_name") or provider
        meta = native({PYDANTIC: {key: gave[key] for key in gave if key != "provider_name"}})
        found.append(
            block(
                "hosted_result", id=ident, name=name, value=_output(part), outcome=outcome, provider=teller, native=meta
            )
        )
    return found
