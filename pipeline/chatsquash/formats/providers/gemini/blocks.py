"""Load the parts of Gemini turns as blocks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from chatsquash.core.blocks import Block, HostedCall, HostedResult, Media, Native, Other, Reasoning, Text
from chatsquash.core.model import Json
from chatsquash.formats import parts
from chatsquash.formats.calls import EMPTY, ResultContent, arguments, call, native, result
from chatsquash.formats.values import Object, as_list, at, compact, string

PROVIDER = "google"
SIGNATURE = "thoughtSignature"
CODE = "code_execution"
"""The code execution tool, which has its own kinds of parts."""
TOOLS = {"GOOGLE_SEARCH_WEB": "web_search", "URL_CONTEXT": "web_fetch", "FILE_SEARCH": "file_search"}
"""The canonical names of other tools that Gemini runs; tools that are not listed keep their names."""
WAS_SYSTEM = {"role": "system"}
"""The metadata that marks parts of a system prompt among the turns, because Gemini turns have no system role."""
_NAMES = """blockReason boolValue citationMetadata codeExecutionResult createTime displayName executableCode fileData
fileUri finishReason functionCall functionDeclarations functionResponse groundingChunks groundingMetadata inlineData
jsonPath mediaResolution mimeType modelVersion nullValue numberValue parametersJsonSchema partMetadata partialArgs
promptFeedback responseId responseJsonSchema stringValue thoughtSignature toolCall toolResponse toolType
urlContextMetadata usageMetadata videoMetadata willContinue"""
_CAMEL = {re.sub("(?=[A-Z])", "_", name).lower(): name for name in _NAMES.split()}
_SNAKE = frozenset(_CAMEL)

Blocks = list[Block]


def camel(value: Json) -> Object:
    """Return the non-null members of an object, with known names in camel case; a string becomes a text part."""
    if isinstance(value, str):
        return {"text": value}
    if type(value) is dict and _SNAKE.isdisjoint(value) and None not in value.values():
        return value.copy()
    items: Any = value.items() if isinstance(value, dict) else ()
    return {_CAMEL.get(key, key): member for key, member in items if member is not None}


def blocks_of(content: list[Json], role: str) -> Blocks:
    """Load parts; only the assistant has reasoning and calls, and only the user has results.

    Results keep their logged ids, which may be empty.
    """
    readers = _BY_ROLE[role]
    blocks: Blocks = []
    for part in content:
        if type(part) is dict and len(part) == 1:  # the usual case
            ((kind, value),) = part.items()
            if kind == "text" and type(value) is str:
                if value:
                    blocks.append(Text(value))
                continue
            if kind in readers and (converted := readers[kind](value, {}, kind)) is not None:
                blocks += converted
                continue
        blocks += _read(part, readers)
    return blocks


def _read(part: Json, readers: dict[str, _Reader]) -> Blocks:
    """Load one block per kind of content in a part; an unknown part becomes a native block.

    The first block contains the remaining members of the part.
    """
    known = camel(part)
    # A part with only a signature stands for an empty text.
    if known.keys() <= {SIGNATURE, "thought"} and isinstance(part, dict):
        known["text"] = ""
    kinds = [kind for kind in known if kind in KINDS]
    # An empty text next to other content has no meaning.
    if len(kinds) > 1 and known.get("text") == "":
        kinds.remove("text")
    more = {key: value for key, value in known.items() if key not in KINDS and not _is_empty(value)}
    blocks: Blocks = []
    for kind in kinds:
        converted = readers[kind](known[kind], more, kind) if kind in readers else None
        if converted is None:
            return [Other(PROVIDER, part)]
        blocks += converted
        more = {}
    return blocks if kinds else [Other(PROVIDER, part)]


def _is_empty(value: Json) -> bool:
    # Defaults such as ``thought: false`` may be written explicitly.
    return value is False or value in EMPTY


def _rest(more: Object, kind: str, value: Object, *read: str) -> Native:
    """Return the members of a part that are not loaded elsewhere, and those of its value under its kind."""
    texts = [name for name in _TEXTS.get(kind, ()) if isinstance(value.get(name), str)]
    inner = {key: each for key, each in value.items() if key not in (*read, *texts) and not _is_empty(each)}
    members = {**more, kind: inner} if inner else more
    return {PROVIDER: members} if members else {}


# Readers: each loads the value of one kind, given the other members of the part; ``None`` if it is malformed.


def _text(value: Json, more: Object, _: str) -> Blocks | None:
    if not isinstance(value, str) or more.get("thought") is True or (more and not value):
        return None
    return [Text(value, native=native(PROVIDER, more))] if value else []


def _assistant_text(value: Json, more: Object, of: str) -> Blocks | None:
    """Load text or a thought; empty text may have a signature."""
    is_thought, signature = more.get("thought") is True, string(more, SIGNATURE)
    if not isinstance(value, str) or not (is_thought or (signature and not value)):
        return _text(value, more, of)
    if not (value or signature):
        return None if more.keys() - {"thought"} else []
    rest = native(PROVIDER, more, "thought" if value else "", SIGNATURE if signature else "")
    return [Reasoning(value, PROVIDER if signature else "", signature, native=rest)]


def _call(value: Json, more: Object, of: str) -> Blocks | None:
    if not isinstance(value, dict):
        return None
    known = camel(value)
    rest = _rest(more, of, known, "args") if more or not _CALL.issuperset(known) else {}
    return [call(string(known, "id"), 0, known.get("name"), arguments(known.get("args")), rest)]


def _result(value: Json, more: Object, of: str) -> Blocks | None:
    """Load a result; its media follow its text."""
    if not isinstance(value, dict):
        return None
    known = camel(value)
    logged_id, name = string(known, "id"), string(known, "name")
    content, failed = output(known.get("response"), name)
    if "parts" in known:
        content = ResultContent((*content.content, *blocks_of(as_list(known["parts"]), "tool")), content.json)
    rest = _rest(more, of, known, "response", "parts") if more or not _RESULT.issuperset(known) or not name else {}
    return [result(logged_id, logged_id, name, content, "failed" if failed else "success", rest)]


def output(value: Json, name: str) -> tuple[ResultContent, bool]:
    """Load the response of a tool, and whether the tool failed.

    The forms are ``{"output": ...}`` and ``{"error": "..."}`` according to Gemini's documentation, and ``{"name": ...,
    "content": ...}`` in OpenAF.  Any other value becomes JSON.

    Args:
        value: the response as logged
        name: the name of the tool
    """
    failed = False
    if type(value) is dict and len(value) == 1 and type(text := value.get("output")) is str:  # the usual case
        return ResultContent((Text(text),) if text else ()), failed
    match value:
        case {"error": str(text)} if len(value) == 1:
            value, failed = text, True
        case {"output": inner} if len(value) == 1 and inner is not None:
            value = inner
        case {"name": str(own), "content": inner} if len(value) == 2 and own == name:
            value = inner
    if value is None or isinstance(value, str):
        return ResultContent((Text(value),) if value else ()), failed
    return ResultContent((Text(compact(value)),), json=True), failed


def _medium(value: Json, more: Object, of: str) -> Blocks | None:
    """Load an image, audio, a video or a file; return ``None`` if it belongs to a thought."""
    known, is_inline = camel(value), of == "inlineData"
    where = "data" if is_inline else "fileUri"
    mime, place = known.get("mimeType", ""), string(known, where)
    if not isinstance(mime, str) or not place or more.get("thought") is True:
        return None
    family = mime.partition("/")[0]
    kind: Any = family if family in ("image", "audio", "video") else "file"
    # Messages cannot express the names of audio and of linked media, so these names stay native members.
    name = string(known, "displayName") if is_inline and kind != "audio" else ""
    rest = _rest(more, of, known, where, "mimeType", "displayName" if name else "")
    # Wildcards are placeholders for an unknown type.
    mime = "" if mime.endswith("/*") else parts.canonical_type(mime)
    if is_inline:
        return [Media(kind, mime, parts.standard_base64(place), name=name, native=rest)]
    return [Media(kind, mime, url=place, native=rest)]


def _hosted(value: Json, more: Object, of: str) -> Blocks | None:
    """Load a call that Gemini ran, or its result."""
    known = camel(value)
    logged_id, name, hosted_value = string(known, "id"), string(known, "toolType"), known.get(_HOSTED[of])
    if of in ("executableCode", "codeExecutionResult"):
        name, hosted_value = CODE, {key: each for key, each in known.items() if key != "id" or not logged_id}
        known = {}
    rest = _rest(more, of, known, "toolType", _HOSTED[of])
    if not name or not isinstance(value, dict):
        return None
    if of in ("executableCode", "toolCall"):
        return [HostedCall(logged_id, TOOLS.get(name, name), arguments(hosted_value), PROVIDER, rest)]
    if (
        of == "toolResponse"
        and isinstance(hosted_value, dict)
        and len(hosted_value) == 1
        and not isinstance(hosted_value.get("output"), dict | None)
    ):
        hosted_value = hosted_value["output"]  # values other than objects are wrapped when written
    failed = at(hosted_value, "outcome") in ("OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED")
    return [
        HostedResult(logged_id, TOOLS.get(name, name), hosted_value, "failed" if failed else "success", PROVIDER, rest)
    ]


_CALL, _RESULT = frozenset(("name", "args")), frozenset(("name", "response"))
"""The members of calls and of results without further members."""
_ID, _ID_AND_NAME = ("id",), ("id", "name")
_TEXTS = {"functionCall": _ID_AND_NAME, "functionResponse": _ID_AND_NAME, "toolCall": _ID, "toolResponse": _ID}
"""The members of a part's value that are loaded if they are strings."""
_HOSTED = {"executableCode": "", "codeExecutionResult": "", "toolCall": "args", "toolResponse": "response"}
"""The kinds of parts for hosted calls and results, with the members for the arguments or the result."""
_Reader = Callable[[Json, Object, str], Blocks | None]
_CONTENT_READERS: dict[str, _Reader] = {"text": _text, "inlineData": _medium, "fileData": _medium}
_BY_ROLE: dict[str, dict[str, _Reader]] = {
    "system": _CONTENT_READERS,
    "user": {**_CONTENT_READERS, "functionResponse": _result},
    "assistant": {
        **_CONTENT_READERS,
        "text": _assistant_text,
        "functionCall": _call,
        **dict.fromkeys(_HOSTED, _hosted),
    },
    "tool": _CONTENT_READERS,
}
KINDS = frozenset(kind for readers in _BY_ROLE.values() for kind in readers)
"""The members of a part that determine its kind."""
