"""A response of Converse, whole or streamed, as Anthropic's is read."""

from __future__ import annotations

from msgspec.structs import replace

from chatsquash.core import jsonio
from chatsquash.core.model import Json, Response
from chatsquash.formats.base import Stream, missing_reply
from chatsquash.formats.providers import anthropic
from chatsquash.formats.providers.bedrock.blocks import blocks
from chatsquash.formats.values import Object, at, objects, string

_FINISHED = {"guardrail_intervened": "content_filter", "content_filtered": "content_filter"}


def reply(body: Json) -> Response:
    """The message of a response."""
    if problem := missing_reply(body):
        return problem
    message = at(body, "output", "message")
    if not isinstance(message, dict):
        why = string(body, "message")
        return Response(
            problem=f"the response is an error: {why[:100]}" if why else "the response has no output.message"
        )
    content = message.get("content")
    content_blocks = blocks(content) if isinstance(content, list) else content
    response = anthropic.reply(
        {"role": message.get("role"), "content": content_blocks, "stop_reason": body.get("stopReason")}
    )
    return replace(response, finish_reason=_FINISHED.get(response.finish_reason or "", response.finish_reason))


def assemble(events: list[Json]) -> Stream:
    """The body of a response that was streamed."""
    built: dict[int, Object] = {}
    body: Object = {}
    is_whole, role = False, "assistant"
    error: Json = None
    for event in objects(events):
        if isinstance(start := event.get("messageStart"), dict):
            role = string(start, "role") or role
        elif isinstance(start := event.get("contentBlockStart"), dict):
            _begin(built, start)
        elif isinstance(delta := event.get("contentBlockDelta"), dict):
            _add(built, delta)
        elif isinstance(stop := event.get("messageStop"), dict):
            is_whole = True
            body["stopReason"] = stop.get("stopReason")
        elif isinstance(metadata := event.get("metadata"), dict):
            body["usage"] = metadata.get("usage")
        elif (failed := next(filter(_is_error, event), None)) is not None:
            error = event[failed] or True
            break
    content = [_finish_block(built[place]) for place in sorted(built)]
    return Stream(
        {"output": {"message": {"role": role, "content": content}}, **body}, is_whole and error is None, error
    )


def _is_error(name: str) -> bool:
    return name == "error" or name.endswith("Exception")


def _place(holder: Object) -> int:
    place = holder.get("contentBlockIndex")
    return place if type(place) is int else 0


def _begin(built: dict[int, Object], start: Object) -> None:
    called = at(start, "start", "toolUse")
    if isinstance(called, dict):
        built[_place(start)] = {"toolUse": {**called, "input": []}}


def _add(built: dict[int, Object], event: Object) -> None:
    """A piece of a block."""
    block, delta = built.setdefault(_place(event), {}), event.get("delta")
    match delta:
        case {"text": str(piece)}:
            block.setdefault("text", []).append(piece)
        case {"toolUse": {"input": str(piece)}}:
            inputs = block.setdefault("toolUse", {}).setdefault("input", [])
            if isinstance(inputs, list):
                inputs.append(piece)
        case {"reasoningContent": {"text": str(piece)}}:
            block.setdefault("reasoningContent", {}).setdefault("text", []).append(piece)
        case {"reasoningContent": {"signature": str(signature)}}:
            block.setdefault("reasoningContent", {})["signature"] = signature


def _finish_block(block: Object) -> Object:
    """A block of which all pieces are there."""
    if "toolUse" in block:
        called = block["toolUse"]
        written = "".join(called.get("input") or [])
        input_value = jsonio.value(written, written) if written.strip() else {}
        return {"toolUse": {**called, "input": input_value}}
    if "reasoningContent" in block:
        reasoning = block["reasoningContent"]
        signed = {"signature": reasoning["signature"]} if "signature" in reasoning else {}
        return {"reasoningContent": {"reasoningText": {"text": "".join(reasoning.get("text", [])), **signed}}}
    return {"text": "".join(block.get("text", []))}
