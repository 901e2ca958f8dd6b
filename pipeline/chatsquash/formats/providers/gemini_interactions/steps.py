"""Steps of an interaction as turns of Gemini's ``generateContent``, which says the same with other members."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from chatsquash.core.blocks import Block, Other
from chatsquash.core.model import Json
from chatsquash.formats.base import TurnError
from chatsquash.formats.values import Object, as_list, kind, objects, string

FORMAT = "gemini_interactions"
"""Whose blocks are that Gemini's ``generateContent`` does not have."""
CONTENTS = ("text", "image", "audio", "document", "video")
"""The types of contents; a request may have them without a step around them."""
OF_USER = ("user_input", "function_result")
"""The types of steps that a request adds."""
_GOOGLES = (
    *("code_execution", "file_search", "google_maps", "google_search", "mcp_server_tool"),
    *("processing", "retrieval", "tool_search", "url_context"),
)
HOSTED = tuple(f"{tool}_{half}" for tool in _GOOGLES for half in ("call", "result"))
"""The types of steps that Google runs."""
TYPES = frozenset((*OF_USER, "model_output", "thought", *HOSTED))
"""The types of steps, but for that of a call, which others have, too."""
CALL = "function_call"
Side = Literal["model", "user", "tool"]


def side(step: Json) -> Side:
    """Who gives a step or a content; raises ``TurnError`` for a value that is neither."""
    if isinstance(step, str):
        return "user"
    if not isinstance(step, dict):
        raise TurnError(f"is {kind(step)}, not a step")
    of = step.get("type")
    if not isinstance(of, str):
        raise TurnError("has no type")
    if of == "function_result":
        return "tool"
    return "user" if of == "user_input" or of in CONTENTS else "model"


def parts(step: Json) -> list[Any]:
    """The parts of a turn of Gemini that say what a step or a content says."""
    if isinstance(step, str):
        return [{"text": step}]
    of = step["type"]
    if of in ("user_input", "model_output"):
        content = step.get("content")
        return [{"text": content}] if isinstance(content, str) else [_part(each) for each in as_list(content)]
    if of in CONTENTS:
        return [_part(step)]
    if of == "thought":
        return [_thought(step), *_pictures(step)]
    return [_hosted(step, of) if of in HOSTED else _PARTS.get(of, dict)(step)]


def errors(step: Json) -> list[Block]:
    """Why a step of the model failed, for which no other format has a place."""
    error = step.get("error") if string(step, "type") == "model_output" else None
    return [Other(FORMAT, {"error": error})] if error else []


def _part(content: Json) -> Json:
    """A text or a medium."""
    of = string(content, "type")
    if of == "text" and isinstance(content.get("text"), str):
        return {"text": content["text"]}
    if of in CONTENTS and (string(content, "data") or string(content, "uri")):
        mime = string(content, "mime_type") or f"{'application' if of == 'document' else of}/*"
        if data := string(content, "data"):
            return {"inlineData": {"mimeType": mime, "data": data}}
        return {"fileData": {"mimeType": mime, "fileUri": content["uri"]}}
    return content


def _thought(step: Object) -> Object:
    text = "\n\n".join(filter(None, (string(each, "text") for each in objects(step.get("summary")))))
    return {"text": text, "thought": True, **_signature(step)}


def _pictures(step: Object) -> list[Json]:
    """The media of a summary, as Gemini has parts of a thought."""
    shown = [each for each in objects(step.get("summary")) if string(each, "type") != "text"]
    return [{**part, "thought": True} for each in shown if isinstance(part := _part(each), dict)]


def _signature(step: Object) -> Object:
    signature = string(step, "signature")
    return {"thoughtSignature": signature} if signature else {}


def _result(step: Object) -> Object:
    """A result; one that is a list has texts, which are lines, and media."""
    given = step.get("result")
    called = {ours: step[theirs] for ours, theirs in (("id", "call_id"), ("name", "name")) if theirs in step}
    shown: list[Json] = []
    if isinstance(given, list) and all(string(each, "type") in CONTENTS for each in given):
        texts = [each["text"] for each in given if string(each, "type") == "text" and isinstance(each.get("text"), str)]
        shown = [_part(each) for each in given if string(each, "type") != "text"]
        given = "\n".join(texts)
    failed = step.get("is_error") is True and isinstance(given, str)
    response = {"error" if failed else "output": given} if given is not None else {}
    return {"functionResponse": {**called, "response": response, **({"parts": shown} if shown else {})}}


def _call(step: Object) -> Object:
    called = {name: step[name] for name in ("id", "name") if name in step}
    return {"functionCall": {**called, "args": step.get("arguments")}}


_PARTS: dict[str, Callable[[Object], Object]] = {CALL: _call, "function_result": _result}


def _hosted(step: Object, of: str) -> Object:
    tool, _, half = of.rpartition("_")
    server = string(step, "server_name")
    named = f"{server}__{string(step, 'name')}" if server else tool
    if half == "call":
        return {
            "toolCall": {"id": string(step, "id"), "toolType": named, "args": step.get("arguments")},
            **_signature(step),
        }
    response = {"output": step.get("result")}
    return {
        "toolResponse": {"id": string(step, "call_id"), "toolType": named, "response": response},
        **_signature(step),
    }
