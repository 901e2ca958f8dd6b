"""Convert steps of an interaction to parts of Gemini's ``generateContent``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from chatsquash.core.blocks import Block, Other
from chatsquash.core.model import Json
from chatsquash.formats.base import TurnError
from chatsquash.formats.values import Object, as_list, kind, objects, string

FORMAT = "gemini_interactions"
"""The provider of blocks that ``generateContent`` does not support."""
CONTENTS = ("text", "image", "audio", "document", "video")
"""The types of content, which requests may also contain outside steps."""
OF_USER = ("user_input", "function_result")
"""The types of steps that a request adds."""
_HOSTED_TOOLS = (
    *("code_execution", "file_search", "google_maps", "google_search", "mcp_server_tool"),
    *("processing", "retrieval", "tool_search", "url_context"),
)
HOSTED = tuple(f"{tool}_{half}" for tool in _HOSTED_TOOLS for half in ("call", "result"))
"""The types of steps for tools that Google runs."""
TYPES = frozenset((*OF_USER, "model_output", "thought", *HOSTED))
"""The types of steps, except calls, which have the same type in OpenAI Responses."""
CALL = "function_call"
Side = Literal["model", "user", "tool"]


def side(step: Json) -> Side:
    """Return the author of a step or of content outside steps; raise ``TurnError`` for other values."""
    if isinstance(step, str):
        return "user"
    if not isinstance(step, dict):
        raise TurnError(f"expected a step, not {kind(step)}")
    of = step.get("type")
    if not isinstance(of, str):
        raise TurnError("no type")
    if of == "function_result":
        return "tool"
    return "user" if of == "user_input" or of in CONTENTS else "model"


def parts(step: Json) -> list[Any]:
    """Convert a step, or content outside steps, to parts."""
    if isinstance(step, str):
        return [{"text": step}]
    of = step["type"]
    if of in ("user_input", "model_output"):
        content = step.get("content")
        return [{"text": content}] if isinstance(content, str) else [_part(each) for each in as_list(content)]
    if of in CONTENTS:
        return [_part(step)]
    if of == "thought":
        return [_thought_part(step), *_media_parts(step)]
    return [_hosted(step, of) if of in HOSTED else _PARTS.get(of, dict)(step)]


def errors(step: Json) -> list[Block]:
    """Return the error of a failed model step as a native block, because other formats cannot express it."""
    error = step.get("error") if string(step, "type") == "model_output" else None
    return [Other(FORMAT, {"error": error})] if error else []


def _part(content: Json) -> Json:
    """Convert text or media; other content is returned unchanged."""
    of = string(content, "type")
    if of == "text" and isinstance(content.get("text"), str):
        return {"text": content["text"]}
    if of in CONTENTS and (string(content, "data") or string(content, "uri")):
        # Gemini's parts require a media type, so a wildcard is used if it is unknown.
        mime = string(content, "mime_type") or f"{'application' if of == 'document' else of}/*"
        if data := string(content, "data"):
            return {"inlineData": {"mimeType": mime, "data": data}}
        return {"fileData": {"mimeType": mime, "fileUri": content["uri"]}}
    return content


def _thought_part(step: Object) -> Object:
    text = "\n\n".join(filter(None, (string(each, "text") for each in objects(step.get("summary")))))
    return {"text": text, "thought": True, **_signature(step)}


def _media_parts(step: Object) -> list[Json]:
    """Convert the media in a thought's summary to parts of a thought."""
    media = [each for each in objects(step.get("summary")) if string(each, "type") != "text"]
    return [{**part, "thought": True} for each in media if isinstance(part := _part(each), dict)]


def _signature(step: Object) -> Object:
    signature = string(step, "signature")
    return {"thoughtSignature": signature} if signature else {}


def _result(step: Object) -> Object:
    """Convert a result; the text in a list is joined with newlines, and its media become parts."""
    output = step.get("result")
    call_members = {ours: step[theirs] for ours, theirs in (("id", "call_id"), ("name", "name")) if theirs in step}
    media_parts: list[Json] = []
    if isinstance(output, list) and all(string(each, "type") in CONTENTS for each in output):
        texts = [
            each["text"] for each in output if string(each, "type") == "text" and isinstance(each.get("text"), str)
        ]
        media_parts = [_part(each) for each in output if string(each, "type") != "text"]
        output = "\n".join(texts)
    # Gemini's error member contains a string.
    failed = step.get("is_error") is True and isinstance(output, str)
    response = {"error" if failed else "output": output} if output is not None else {}
    return {
        "functionResponse": {**call_members, "response": response, **({"parts": media_parts} if media_parts else {})}
    }


def _call(step: Object) -> Object:
    call_members = {name: step[name] for name in ("id", "name") if name in step}
    return {"functionCall": {**call_members, "args": step.get("arguments")}}


_PARTS: dict[str, Callable[[Object], Object]] = {CALL: _call, "function_result": _result}


def _hosted(step: Object, of: str) -> Object:
    tool, _, half = of.rpartition("_")
    server = string(step, "server_name")
    # MCP tools of different servers may have the same name.
    tool_type = f"{server}__{string(step, 'name')}" if server else tool
    if half == "call":
        return {
            "toolCall": {"id": string(step, "id"), "toolType": tool_type, "args": step.get("arguments")},
            **_signature(step),
        }
    response = {"output": step.get("result")}
    return {
        "toolResponse": {"id": string(step, "call_id"), "toolType": tool_type, "response": response},
        **_signature(step),
    }
