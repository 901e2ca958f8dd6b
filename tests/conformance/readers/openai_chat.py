"""What OpenAI's library, and services that speak as OpenAI does, see of a request's messages."""

from __future__ import annotations

from typing import Any

from .common import SOUNDS, Object, block, both, linked, merged, rest, text, turn, usual

OPENAI, CHAT = "openai", "openai_chat"
SHARED = ("detail", "prompt_cache_breakpoint")
"""Members of parts that OpenAI's other format has, too."""
SIGNERS = ("anthropic", "google", "openai", "xai")


def _own(holder: Object, *read: str) -> Object:
    """What only OpenAI knows of something, that of both its formats apart."""
    shared = {name: holder[name] for name in SHARED if name in holder}
    return both(rest(CHAT, holder, *read, *SHARED), rest(OPENAI, shared))


def read(document: Any) -> list[Object]:
    """The turns of a request."""
    return merged(map(_turn, document["messages"]))


def _turn(message: Object) -> Object:
    role, content = message["role"], message.get("content")
    if role == "assistant":
        return turn(role, _said(message), native=_rest(message))
    if role == "tool":
        return turn(role, [result(message)])
    return turn(role, parts(content), native=_own(message, "role", "content"))


def _rest(message: Object) -> Object:
    read = ("role", "content", "refusal", "reasoning_content", "reasoning_details", "annotations", "tool_calls")
    return _own(message, *read)


def _said(message: Object) -> list[Object]:
    found = _thoughts(message) + parts(message.get("content"))
    if message.get("refusal"):
        found.append(block("refusal", text=message["refusal"]))
    found += map(_source, message.get("annotations") or [])
    return found + list(map(call, message.get("tool_calls") or []))


def _thoughts(message: Object) -> list[Object]:
    details = message.get("reasoning_details")
    if details:
        return list(map(_detail, details))
    told = message.get("reasoning_content")
    return [block("reasoning", text=told)] if told else []


def _detail(detail: Object) -> Object:
    signer = next((who for who in SIGNERS if str(detail.get("format", "")).startswith(who)), "")
    said = detail.get("text") or detail.get("summary")
    own = _own(detail, "text", "summary", "data", "id", "signature", "index")
    more = {"signature": detail.get("signature"), "encrypted": detail.get("data"), "id": detail.get("id")}
    return block("reasoning", text=said, signer=signer, native=own, **more)


def _source(noted: Object) -> Object:
    cited = noted["url_citation"]
    return block("source", url=cited["url"], title=cited.get("title"), native=rest(OPENAI, cited, "url", "title"))


def call(logged: Object) -> Object:
    """A call of a function or of a custom tool."""
    is_custom = logged["type"] == "custom"
    held = logged[logged["type"]]
    given = held["input" if is_custom else "arguments"]
    signature = logged.get("extra_content", {}).get("google", {}).get("thought_signature")
    signed = {"google": {"thoughtSignature": signature}} if signature else {}
    own = both(_own(logged, "id", "type", "function", "custom", "extra_content"), signed)
    return block("call", id=logged["id"], name=held["name"], arguments=given, custom=is_custom, native=own)


def result(message: Object) -> Object:
    """The result of a call."""
    own = _own(message, "role", "tool_call_id", "name", "content")
    answered, name = message["tool_call_id"], message.get("name")
    return block("result", id=answered, name=name, content=parts(message["content"]), native=own)


def parts(content: Any) -> list[Object]:
    """What a content says."""
    if content is None or isinstance(content, str):
        return text(content)
    return [made for part in content for made in _part(part)]


def _part(part: Object) -> list[Object]:
    of = part["type"]
    inner = part.get(of)
    match of:
        case "text":
            return text(inner, _own(part, "type", "text"))
        case "refusal":
            return [block("refusal", text=inner, native=_own(part, "type", "refusal"))]
        case "image_url" | "video_url":
            more = both(_own(part, "type", of), _own(inner, "url"))
            return [linked("image" if of == "image_url" else "video", inner["url"], native=more)]
        case "input_audio":
            mime = SOUNDS.get(inner["format"], usual(f"audio/{inner['format']}"))
            more = both(_own(part, "type", of), _own(inner, "data", "format"))
            return [block("media", kind="audio", mime=mime, data=inner["data"], native=more)]
        case "file":
            more = both(_own(part, "type", of), _own(inner, "file_data", "file_id", "filename"))
            name = inner.get("filename")
            if "file_id" in inner:
                return [
                    block("media", kind="file", file_id=inner["file_id"], provider="openai", name=name, native=more)
                ]
            return [linked("file", inner["file_data"], name=name, native=more)]
    return [block("other", provider=OPENAI, value=part)]
