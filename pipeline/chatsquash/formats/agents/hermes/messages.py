"""Convert Hermes messages, which repeat their reasoning in several members, to OpenAI chat turns."""

from __future__ import annotations

from msgspec.structs import replace

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.formats.base import TurnError, expect_object
from chatsquash.formats.calls import tool_message
from chatsquash.formats.evidence import Evidence, Unread, moment
from chatsquash.formats.values import Object, compact, objects, string, without

_JSON = "\0json:"
"""The prefix of database content that is not a string."""
_ROLES = ("user", "assistant", "tool")
_REASONING, _DETAILS, _ITEMS = ("reasoning_content", "reasoning"), "reasoning_details", "codex_reasoning_items"
_READ = (
    *("id", "session_id", "role", "content", "api_content", "tool_call_id", "tool_calls", "tool_name", "timestamp"),
    *("finish_reason", *_REASONING, _DETAILS, _ITEMS, "active", "compacted", "_compressed_summary"),
)
_SUMMARIES = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:")
_REVIEWS = (
    "Review the conversation above and update the skill library",
    "Review the conversation above and consider saving to memory",
)
"""The prefixes of review prompts, which older versions stored among the user's messages."""


def is_sent(message: Object) -> bool:
    """Return whether a message is sent to a model; Hermes removes notes, which have other roles."""
    return message.get("role") in _ROLES


def content(message: Object) -> Json:
    """Return the content of a message: a string, or OpenAI chat parts."""
    value = message.get("content")
    if isinstance(value, str) and value.startswith(_JSON):
        return jsonio.value(_bytes(value.removeprefix(_JSON)), value)
    return value


def is_summary(message: Object) -> bool:
    """Return whether a message replaces compressed messages."""
    body = content(message)
    is_marked = message.get("_compressed_summary") in (1, True)
    return is_marked or (isinstance(body, str) and body.lstrip()[:40].startswith(_SUMMARIES))


def is_review(message: Object) -> bool:
    """Return whether a message is the prompt of a review, which is not part of the conversation."""
    body = content(message)
    is_prompt = message.get("role") in ("user", "system")
    return is_prompt and isinstance(body, str) and body.lstrip()[:80].startswith(_REVIEWS)


def turn(place: str, message: Object, unread: Unread) -> Object:
    """Convert a message to OpenAI chat; raise ``TurnError`` for calls that are not valid JSON."""
    unread.count_members("message", message, *_READ)
    role, body = message["role"], content(message)
    if role not in ("assistant", "tool"):
        return {"role": role, "content": string(message, "api_content") or body}
    if role == "tool":
        content_of = "" if body is None else body
        return tool_message(message.get("tool_call_id"), content_of, name=message.get("tool_name"))
    calls = list(map(_call, objects(_parse(place, message, "tool_calls"))))
    thoughts = _thoughts(place, message)
    return {"role": role, "content": body or None, **thoughts, **({"tool_calls": calls} if calls else {})}


def evidence(message: Object, line: int, model: str, *, is_copied: bool) -> Evidence:
    """Return the evidence for a message; copies and summaries are not treated as sampled."""
    known = Evidence(line, moment(message.get("timestamp")))
    if message.get("role") != "assistant" or is_copied or is_summary(message):
        return known
    return replace(known, is_sampled=True, model=model or None, finish_reason=string(message, "finish_reason") or None)


def _thoughts(place: str, message: Object) -> Object:
    """Return the reasoning as message members: its text, and detailed blocks."""
    text = next((summary_text for name in _REASONING if (summary_text := string(message, name)).strip()), "")
    details = _parse(place, message, _DETAILS) or [*map(_item, objects(_parse(place, message, _ITEMS)))]
    thoughts = {"reasoning_content": text} if text else {}
    return {**thoughts, **({_DETAILS: details} if details else {})}


def _item(item: Object) -> Object:
    """Convert an OpenAI Responses item to a reasoning block."""
    summary_text = "\n\n".join(text for each in objects(item.get("summary")) if (text := string(each, "text")))
    known = {"id": item.get("id"), "data": item.get("encrypted_content"), "summary": summary_text or None}
    return {"type": "reasoning.encrypted", "format": "openai-responses-v1", **without(known)}


def _call(call: Object) -> Object:
    """Return a call with the id that its result refers to."""
    id_member = {"id": call["call_id"]} if call.get("call_id") else {}
    return {**{name: value for name, value in call.items() if name != "call_id"}, **id_member}


def _parse(place: str, message: Object, name: str) -> Json:
    """Return the value of a member, which may be a JSON string."""
    value = message.get(name)
    if not isinstance(value, str) or not value:
        return value
    try:
        return jsonio.loads(_bytes(value))
    except (ValueError, RecursionError):
        raise TurnError(f"{place}: {name} is not valid JSON") from None


def _bytes(text: str) -> bytes:
    # JSON requires bytes, and strings from a database differ from strings in exports.
    return text.encode("utf-8", "surrogateescape" if _is_escaped(text) else "surrogatepass")


def _is_escaped(text: str) -> bool:
    """Return whether all surrogates in a text represent invalid bytes, rather than JSON escapes."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def identity(message: Object, *, with_time: bool = True) -> bytes:
    """Return a key for a message, which its copies share."""
    names = ("role", "content", "tool_call_id", "tool_calls", "tool_name", *(["timestamp"] if with_time else []))
    return compact([message.get(name) for name in names]).encode("utf-8", "surrogatepass")


def checked_message(place: str, message: Json) -> Object:
    """Return a value that must be a message; raise ``TurnError`` for other values."""
    checked_message = expect_object(message, f"{place} is")
    if not isinstance(checked_message.get("role"), str):
        raise TurnError(f"{place} has no role")
    return checked_message
