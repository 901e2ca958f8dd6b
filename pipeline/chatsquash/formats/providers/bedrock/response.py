"""Load complete and streamed Converse responses by converting them to Anthropic's."""

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
    """Load the message of a response."""
    if problem := missing_reply(body):
        return problem
    message = at(body, "output", "message")
    if not isinstance(message, dict):
        error_message = string(body, "message")
        return Response(
            problem=f"the response is an error: {error_message[:100]}"
            if error_message
            else "the response has no output.message"
        )
    content = message.get("content")
    content_blocks = blocks(content) if isinstance(content, list) else content
    response = anthropic.reply(
        {"role": message.get("role"), "content": content_blocks, "stop_reason": body.get("stopReason")}
    )
    return replace(response, finish_reason=_FINISHED.get(response.finish_reason or "", response.finish_reason))


def assemble(events: list[Json]) -> Stream:
    """Assemble the body of a streamed response."""
    drafts: dict[int, Object] = {}
    body: Object = {}
    is_complete, role = False, "assistant"
    error: Json = None
    for event in objects(events):
        if isinstance(start := event.get("messageStart"), dict):
            role = string(start, "role") or role
        elif isinstance(start := event.get("contentBlockStart"), dict):
            _begin(drafts, start)
        elif isinstance(delta := event.get("contentBlockDelta"), dict):
            _add(drafts, delta)
        elif isinstance(stop := event.get("messageStop"), dict):
            is_complete = True
            body["stopReason"] = stop.get("stopReason")
        elif isinstance(metadata := event.get("metadata"), dict):
            body["usage"] = metadata.get("usage")
        elif (error_name := next(filter(_is_error, event), None)) is not None:
            error = event[error_name] or True
            break
    content = [_finish_block(drafts[place]) for place in sorted(drafts)]
    return Stream(
        {"output": {"message": {"role": role, "content": content}}, **body}, is_complete and error is None, error
    )


def _is_error(name: str) -> bool:
    return name == "error" or name.endswith("Exception")


def _place(holder: Object) -> int:
    place = holder.get("contentBlockIndex")
    return place if type(place) is int else 0


def _begin(drafts: dict[int, Object], start: Object) -> None:
    tool_use = at(start, "start", "toolUse")
    if isinstance(tool_use, dict):
        drafts[_place(start)] = {"toolUse": {**tool_use, "input": []}}


def _add(drafts: dict[int, Object], event: Object) -> None:
    """Add a piece of a block."""
    block, delta = drafts.setdefault(_place(event), {}), event.get("delta")
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
    """Join the pieces of a block."""
    if "toolUse" in block:
        tool_use = block["toolUse"]
        input_text = "".join(tool_use.get("input") or [])
        # Arguments are streamed as pieces of JSON; invalid JSON is kept as a string.
        input_value = jsonio.value(input_text, input_text) if input_text.strip() else {}
        return {"toolUse": {**tool_use, "input": input_value}}
    if "reasoningContent" in block:
        reasoning = block["reasoningContent"]
        signature_member = {"signature": reasoning["signature"]} if "signature" in reasoning else {}
        return {"reasoningContent": {"reasoningText": {"text": "".join(reasoning.get("text", [])), **signature_member}}}
    return {"text": "".join(block.get("text", []))}
