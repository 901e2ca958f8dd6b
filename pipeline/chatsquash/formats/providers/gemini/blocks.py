"""The parts of Gemini's contents, and the blocks that they are read as."""

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
"""The tool that runs code, for which there are parts of its own."""
TOOLS = {"GOOGLE_SEARCH_WEB": "web_search", "URL_CONTEXT": "web_fetch", "FILE_SEARCH": "file_search"}
"""Other tools that Gemini runs, by its names for them; those that are not here keep theirs."""
WAS_SYSTEM = {"role": "system"}
"""The metadata of parts that are a system prompt among the contents, where Gemini has no role for it."""
_NAMES = """blockReason boolValue citationMetadata codeExecutionResult createTime displayName executableCode fileData
fileUri finishReason functionCall functionDeclarations functionResponse groundingChunks groundingMetadata inlineData
jsonPath mediaResolution mimeType modelVersion nullValue numberValue parametersJsonSchema partMetadata partialArgs
promptFeedback responseId responseJsonSchema stringValue thoughtSignature toolCall toolResponse toolType
urlContextMetadata usageMetadata videoMetadata willContinue"""
_CAMEL = {re.sub("(?=[A-Z])", "_", name).lower(): name for name in _NAMES.split()}
_SNAKE = frozenset(_CAMEL)

Blocks = list[Block]


def camel(value: Json) -> Object:
    """The members of an object that are not null, known ones in camel case; a bare string is a part's text."""
    if isinstance(value, str):
        return {"text": value}
    if type(value) is dict and _SNAKE.isdisjoint(value) and None not in value.values():
        return value.copy()
    items: Any = value.items() if isinstance(value, dict) else ()
    return {_CAMEL.get(key, key): member for key, member in items if member is not None}


def blocks_of(content: list[Json], role: str) -> Blocks:
    """What parts say; only the assistant thinks and calls, and only the user answers its calls, as its client does.

    A result has the id that it was logged with, which may be empty.
    """
    readers = _BY_ROLE[role]
    blocks: Blocks = []
    for part in content:
        if type(part) is dict and len(part) == 1 and type(text := part.get("text")) is str:  # as most are
            blocks += (Text(text),) if text else ()
        else:
            blocks += _read(part, readers)
    return blocks


def _read(part: Json, readers: dict[str, _Reader]) -> Blocks:
    """A block for each thing that a part holds, the first with what else it has; itself, where it is none of these."""
    known = camel(part)
    if known.keys() <= {SIGNATURE, "thought"} and isinstance(part, dict):
        known["text"] = ""
    kinds = [kind for kind in known if kind in KINDS]
    if len(kinds) > 1 and known.get("text") == "":
        kinds.remove("text")
    more = {key: value for key, value in known.items() if key not in KINDS and not _is_empty(value)}
    blocks: Blocks = []
    for kind in kinds:
        made = readers[kind](known[kind], more, kind) if kind in readers else None
        if made is None:
            return [Other(PROVIDER, part)]
        blocks += made
        more = {}
    return blocks if kinds else [Other(PROVIDER, part)]


def _is_empty(value: Json) -> bool:
    return value is False or value in EMPTY


def _rest(more: Object, kind: str, value: Object, *read: str) -> Native:
    """What a part has beside what is read of it, and under its kind what that has; ids and names are read if texts."""
    texts = [name for name in _TEXTS.get(kind, ()) if isinstance(value.get(name), str)]
    inner = {key: each for key, each in value.items() if key not in (*read, *texts) and not _is_empty(each)}
    members = {**more, kind: inner} if inner else more
    return {PROVIDER: members} if members else {}


# Each reads the value of a kind, and what else its part has; ``None``: the part is none


def _text(value: Json, more: Object, _: str) -> Blocks | None:
    if not isinstance(value, str) or more.get("thought") is True or (more and not value):
        return None
    return [Text(value, native=native(PROVIDER, more))] if value else []


def _said_text(value: Json, more: Object, of: str) -> Blocks | None:
    """A text, or a thought; an empty one may be there for its signature."""
    thinks, signature = more.get("thought") is True, string(more, SIGNATURE)
    if not isinstance(value, str) or not (thinks or (signature and not value)):
        return _text(value, more, of)
    if not (value or signature):
        return None if more.keys() - {"thought"} else []
    rest = native(PROVIDER, more, "thought" if value else "", SIGNATURE if signature else "")
    return [Reasoning(value, PROVIDER if signature else "", signature, native=rest)]


def _call(value: Json, more: Object, of: str) -> Blocks | None:
    if not isinstance(value, dict):
        return None
    known = camel(value)
    rest = _rest(more, of, known, "args") if more or known.keys() - {"name", "args"} else {}
    return [call(string(known, "id"), 0, known.get("name"), arguments(known.get("args")), rest)]


def _result(value: Json, more: Object, of: str) -> Blocks | None:
    """A result; its media stand behind its text."""
    if not isinstance(value, dict):
        return None
    known = camel(value)
    logged, name = string(known, "id"), string(known, "name")
    said, failed = output(known.get("response"), name)
    if "parts" in known:
        said = ResultContent((*said.content, *blocks_of(as_list(known["parts"]), "tool")), said.json)
    rest = _rest(more, of, known, "response", "parts")
    return [result(logged, logged, name, said, "failed" if failed else "success", rest)]


def output(value: Json, name: str) -> tuple[ResultContent, bool]:
    """What the tool of a name gave, and whether it failed, as Gemini documents it, else the whole of it as JSON.

    Documented are ``{"output": ...}`` and ``{"error": "..."}``; OpenAF writes ``{"name": ..., "content": ...}``.
    """
    failed = False
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
    """An image, a sound, a film or a file; ``None`` for one that belongs to a thought.

    Names of sounds and of what is elsewhere Google alone knows, since messages show those media without a name.
    """
    known, is_inline = camel(value), of == "inlineData"
    where = "data" if is_inline else "fileUri"
    mime, place = known.get("mimeType", ""), string(known, where)
    if not isinstance(mime, str) or not place or more.get("thought") is True:
        return None
    family = mime.partition("/")[0]
    kind: Any = family if family in ("image", "audio", "video") else "file"
    name = string(known, "displayName") if is_inline and kind != "audio" else ""
    rest = _rest(more, of, known, where, "mimeType", "displayName" if name else "")
    mime = "" if mime.endswith("/*") else parts.canonical_type(mime)
    if is_inline:
        return [Media(kind, mime, parts.standard_base64(place), name=name, native=rest)]
    return [Media(kind, mime, url=place, native=rest)]


def _hosted(value: Json, more: Object, of: str) -> Blocks | None:
    """A call that Gemini ran, or what it gave."""
    known = camel(value)
    logged, name, hosted_value = string(known, "id"), string(known, "toolType"), known.get(_HOSTED[of])
    if of in ("executableCode", "codeExecutionResult"):
        name, hosted_value = CODE, {key: each for key, each in known.items() if key != "id" or not logged}
        known = {}
    rest = _rest(more, of, known, "toolType", _HOSTED[of])
    if not name or not isinstance(value, dict):
        return None
    if of in ("executableCode", "toolCall"):
        return [HostedCall(logged, TOOLS.get(name, name), arguments(hosted_value), PROVIDER, rest)]
    if (
        of == "toolResponse"
        and isinstance(hosted_value, dict)
        and len(hosted_value) == 1
        and not isinstance(hosted_value.get("output"), dict | None)
    ):
        hosted_value = hosted_value["output"]  # as it is written where it is no object
    failed = at(hosted_value, "outcome") in ("OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED")
    return [
        HostedResult(logged, TOOLS.get(name, name), hosted_value, "failed" if failed else "success", PROVIDER, rest)
    ]


_ID, _ID_AND_NAME = ("id",), ("id", "name")
_TEXTS = {"functionCall": _ID_AND_NAME, "functionResponse": _ID_AND_NAME, "toolCall": _ID, "toolResponse": _ID}
"""The members of a part's value that are read if they are texts."""
_HOSTED = {"executableCode": "", "codeExecutionResult": "", "toolCall": "args", "toolResponse": "response"}
"""The parts of calls that Gemini runs, and the members with what is called with or given."""
_Reader = Callable[[Json, Object, str], Blocks | None]
_SHOWN: dict[str, _Reader] = {"text": _text, "inlineData": _medium, "fileData": _medium}
_BY_ROLE: dict[str, dict[str, _Reader]] = {
    "system": _SHOWN,
    "user": {**_SHOWN, "functionResponse": _result},
    "assistant": {**_SHOWN, "text": _said_text, "functionCall": _call, **dict.fromkeys(_HOSTED, _hosted)},
    "tool": _SHOWN,
}
KINDS = frozenset(kind for readers in _BY_ROLE.values() for kind in readers)
"""The members of a part that say what it is."""
