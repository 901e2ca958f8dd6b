"""What the AI SDK sees of model messages, by hand."""

from __future__ import annotations

from typing import Any

from .common import Links, Object, arguments, block, both, compact, kind_of, linked, merged, rest, text, turn, usual
from .vercel_ai import DENIED, UNKNOWN, VERCEL, native, thought, whole

OPTIONS = "providerOptions"
MODEL_MESSAGES = "model_messages"
FILES = ("file-data", "image-data", "file-url", "image-url", "file-id", "image-file-id")


def read(document: Any) -> list[Object]:
    """The turns of messages; what was answered to a request for approval belongs to that."""
    links = Links()
    parts = [part for message in document if isinstance(message["content"], list) for part in message["content"]]
    answered = {part["approvalId"]: part for part in parts if part["type"] == "tool-approval-response"}
    found: list[Object] = []
    for message in document:
        role, content = message["role"], message["content"]
        held = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks = [made for part in held for made in _part(part, role, links, answered)]
        own = _own(message, "role", "content")
        if role != "tool" or blocks:
            found.append(turn(role, whole(blocks), native=own))
    return merged(found)


def _own(holder: Object, *read: str) -> Object:
    """What only providers know of a part or a message, and what only model messages have."""
    return both(native(holder.get(OPTIONS)), rest(MODEL_MESSAGES, holder, *read, OPTIONS))


def _part(part: Object, role: str, links: Links, answered: Object) -> list[Object]:
    held = part.get(OPTIONS)
    match part["type"]:
        case "text":
            return text(part["text"], _own(part, "type", "text"))
        case "reasoning":
            made = thought(part["text"], held, {})
            return [
                {**made, "native": both(made.get("native", {}), rest(MODEL_MESSAGES, part, "type", "text", OPTIONS))}
            ]
        case "file":
            return [_file(part, part["data"])]
        case "tool-call":
            return [_call(part, links)]
        case "tool-result":
            return [_gave(part) if role == "assistant" else _result(part, links)]
        case "tool-approval-request":
            return [_asked(part, answered.get(part["approvalId"], {}))]
        case "tool-approval-response":
            return []
        case "custom":
            return [
                block(
                    "other",
                    provider=VERCEL,
                    value={("providerMetadata" if key == OPTIONS else key): each for key, each in part.items()},
                )
            ]
    return [block("other", provider=VERCEL, value={"content": part})]


def _file(part: Object, data: Any, kind: str = "") -> Object:
    """A file by its data, its address or its id."""
    mime = part.get("mediaType", "")
    own = _own(part, "type", "data", "url", "fileId", "mediaType", "filename")
    more = {
        "name": part.get("filename"),
        "native": own,
        "mime": "" if mime == UNKNOWN or mime.endswith("/*") else usual(mime),
    }
    kind = kind or kind_of(mime)
    if isinstance(data, dict):
        whose, known = next(iter(data["reference"].items()))
        return block("media", kind=kind, file_id=known, provider=whose, **more)
    if data.startswith(("data:", "http:", "https:")):
        return linked(kind, data, **more)
    if "fileId" in part or data.startswith(("file-", "file_")):
        return block("media", kind=kind, file_id=data, **more)
    return block("media", kind=kind, data=data, **more)


def _call(part: Object, links: Links) -> Object:
    is_hosted = part.get("providerExecuted") is True
    own = _own(part, "type", "toolCallId", "toolName", "input", "providerExecuted")
    more = {"name": part["toolName"], "arguments": arguments(part["input"]), "native": own}
    if is_hosted:
        return block("hosted_call", id=part["toolCallId"], **more)
    return block("call", id=links.call(part["toolCallId"], part["toolName"]), **more)


def _asked(part: Object, answer: Object) -> Object:
    own, call = part["approvalId"], part["toolCallId"]
    more = {"approved": answer.get("approved"), "reason": answer.get("reason")}
    asked = {**part, "requestReason": part.get("reason")}
    rests = rest(VERCEL, asked, "type", "approvalId", "toolCallId", "reason")
    return block("approval", call=call, id="" if own == call else own, native=rests, **more)


def _result(part: Object, links: Links) -> Object:
    output = part["output"]
    of, value = output["type"], output.get("value")
    told: Object = (
        {"content": text(value)} if isinstance(value, str) else {"content": text(compact(value)), "json": True}
    )
    if of == "execution-denied":
        told = {"content": text(output.get("reason", DENIED)), "outcome": "denied"}
    elif of == "content":
        told = {"content": [made for each in value for made in _given(each)]}
    elif of in ("json", "error-json"):
        told = {"content": text(compact(value)), "json": True}
    told |= {"outcome": "failed"} if of.startswith("error-") else {}
    own = _own(part, "type", "toolCallId", "toolName", "output")
    return block(
        "result", id=links.answer(part["toolCallId"], part["toolName"]), name=part["toolName"], native=own, **told
    )


def _given(part: Object) -> list[Object]:
    of = part["type"]
    if of == "text":
        return text(part["text"], _own(part, "type", "text"))
    if of in FILES:
        data = next(part[key] for key in ("data", "url", "fileId") if key in part)
        return [_file(part, data, "image" if of.startswith("image") else "")]
    return [block("other", provider=VERCEL, value={"content": part})]


def _gave(part: Object) -> Object:
    output = part["output"]
    of = output["type"]
    value = output.get("value") if of != "execution-denied" else output.get("reason", DENIED)
    outcome = "denied" if of == "execution-denied" else "failed" if of.startswith("error-") else "success"
    own = _own(part, "type", "toolCallId", "toolName", "output")
    return block(
        "hosted_result", id=part["toolCallId"], name=part["toolName"], value=value, outcome=outcome, native=own
    )
