"""Load model messages as turns, and load and write their files and provider options."""

from __future__ import annotations

import re

from msgspec.structs import replace

from chatsquash.core.blocks import (
    Approval,
    Block,
    Call,
    HostedCall,
    HostedResult,
    Media,
    Medium,
    Native,
    Other,
    Outcome,
    Refusal,
    Result,
    Text,
    Turn,
)
from chatsquash.core.model import Json
from chatsquash.formats import calls, parts
from chatsquash.formats.base import TurnError, role_of
from chatsquash.formats.calls import EMPTY, ResultContent, arguments
from chatsquash.formats.clients.pydantic_ai.media import kind_of, octets
from chatsquash.formats.clients.vercel_ai.media import address, medium_at, mime_of, plain, result_content
from chatsquash.formats.clients.vercel_ai.metadata import (
    METADATA,
    PROVIDER,
    join_reasoning,
    load_reasoning,
    metadata,
    native,
    ran_by,
)
from chatsquash.formats.clients.vercel_ai.read import parts_of
from chatsquash.formats.clients.vercel_ai.tools import denial
from chatsquash.formats.values import Object, at, compact, kind, members, objects, string, without
from chatsquash.formats.writing import are_instructions

OPTIONS = "providerOptions"
"""The member for provider metadata."""
_OWN_MEMBERS = "model_messages"
"""The key for native members that only model messages have."""
_FILE = "file"
"""The native member of text that was the data of a file; contains the file's other members."""
_IDS = ("fileId", "providerReference")
_PLACES = ("image", "data", "url", *_IDS)
_FILE_ID = re.compile(r"file[-_][\w-]+")
"""A string in the data member that the AI SDK 5 and 6 treat as a file id."""
_URL = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)

ROLES = ("system", "user", "assistant", "tool")
_REQUIRED = {"text": "text", "reasoning": "text", "tool-call": "toolName", "tool-result": "toolName"}
"""The required member of each part type."""
_REQUEST, _RESPONSE = "tool-approval-request", "tool-approval-response"
_APPROVALS = (_REQUEST, _RESPONSE)
_TOOL = ("type", "toolCallId", "toolName", "input", "args", "output", "result", "isError", "providerExecuted", OPTIONS)
_OUTCOMES: dict[str, Outcome] = {"error-text": "failed", "error-json": "failed", "execution-denied": "denied"}


def read(messages: list[Json]) -> list[tuple[Turn, int]]:
    """Load messages.

    The response to an approval request becomes part of the request; without a request, it becomes a user turn.

    Returns:
        the turns with the numbers of their messages

    Raises:
        TurnError: with the place of malformed content
    """
    turns, call, responses = list[tuple[Turn, int]](), 1, _responses(messages)
    providers = dict[str, str]()
    for number, message in enumerate(messages):
        role, parts = _role_and_parts(number, message)
        blocks: list[Block] = []
        for part in parts:
            if block := _block(part, role, responses, call):
                call += type(block) is Call and block.made_up
                if type(block) is HostedCall:
                    providers[block.id] = block.provider
                elif type(block) is HostedResult:
                    # The part of a result does not contain the provider, only its call does.
                    block = replace(block, provider=providers.get(block.id, ""))
                blocks.append(block)
        options = message.get(OPTIONS)
        own = native_of(options, without(message, "role", "content", OPTIONS)) if len(message) > 2 else {}
        results = tuple(block for block in blocks if type(block) is Result)
        if role != "tool":
            turns.append((Turn(role, join_reasoning(blocks), are_instructions(options), own), number))
        elif results:
            turns.append((Turn(role, results, native=own), number))
        if role == "tool" and len(results) < len(blocks):
            turns.append((Turn("user", tuple(block for block in blocks if type(block) is not Result)), number))
    return turns


def _responses(messages: list[Json]) -> dict[str, Object]:
    """Return the responses to approval requests, by request id."""
    parts = [part for message in objects(messages) for part in objects(message.get("content"))]
    approvals = [part for part in parts if part.get("type") in _APPROVALS]
    if not approvals:
        return {}
    request_ids = {string(part, "approvalId") for part in approvals if part.get("type") == _REQUEST}
    responses = {string(part, "approvalId"): part for part in approvals if part.get("type") == _RESPONSE}
    # Responses without a request are loaded separately.
    return {name: part for name, part in responses.items() if name in request_ids}


def _role_and_parts(number: int, message: Json) -> tuple[str, list[Object]]:
    """Return the role of a message and its parts."""
    if not isinstance(message, dict):
        raise TurnError(f"[{number}] is {kind(message)}, expected an object")
    try:
        role = role_of(message, ROLES)
    except TurnError as problem:
        raise TurnError(f"[{number}]: {problem}") from None
    content = message.get("content")
    if isinstance(content, str) and role != "tool":
        return role, [{"type": "text", "text": content}]
    if not isinstance(content, list):
        expectation = "a list" if role == "tool" else "a string or a list"
        raise TurnError(f"[{number}]: content is {kind(content)}, expected {expectation}")
    return role, parts_of(message, "content", number, _REQUIRED)


def _block(part: Object, role: str, responses: dict[str, Object], call: int) -> Block | None:
    """Load a part; return ``None`` for empty text, and for the response to an approval request."""
    match part["type"]:
        case "tool-call":
            return _call_block(part, call)
        case "tool-result":
            return _hosted(part) if role == "assistant" else _result(part)
        case "tool-approval-request":
            return _approval(part, responses.get(string(part, "approvalId"), {}))
        case "tool-approval-response":
            ident = string(part, "approvalId")
            return None if ident in responses else _approval({"approvalId": ident}, part)
    return _content_block(part)


def _call_block(part: Object, call: int) -> Block:
    own, input_text = string(part, "toolCallId"), arguments(part.get("input", part.get("args")))
    extra = native_of(part.get(OPTIONS), without(part, *_TOOL))
    if part.get("providerExecuted") is True:
        return HostedCall(own, part["toolName"], input_text, ran_by(part.get(OPTIONS)), extra)
    return calls.call(own, call, part["toolName"], input_text, extra)


def _approval(request: Object, response: Object) -> Approval:
    """Load an approval request and its response."""
    own, call = string(request, "approvalId"), string(request, "toolCallId")
    rest = without(request, "type", "approvalId", "toolCallId", "reason")
    extra = native({}, {**rest, "requestReason": request.get("reason")})
    approved = response["approved"] if isinstance(response.get("approved"), bool) else None
    return Approval(call, "" if own == call else own, approved, string(response, "reason"), extra)


def _content_block(part: Object) -> Block | None:
    """Load a part that is neither a call nor a result; return ``None`` for empty text."""
    if len(part) == 2 and part["type"] == "text" and type(words := part.get("text")) is str:  # the usual case
        return Text(words) if words else None
    options, more = part.get(OPTIONS), without(part, "type", "text", OPTIONS)
    block: Block | None = None
    match part:
        case {"type": "text", "text": str(text)} if text:
            return Text(text, native=native_of(options, more) if options or more else {})
        case {"type": "reasoning", "text": str(text)} if thinking := load_reasoning(text, options, {}):
            return replace(thinking, native={**thinking.native, **native_of(None, more)})
        case {"type": "text" | "reasoning", "text": str()} if not (options or more):
            return None
        case {"type": "file" | "image"}:
            block = _inline_text(part) or read_file(part)
        case {"type": "custom"}:
            block = Other(PROVIDER, {METADATA if key == OPTIONS else key: value for key, value in part.items()})
    return block or Other(PROVIDER, {"content": part})


def _result(part: Object) -> Result:
    """Load the result of a call."""
    output = part.get("output")
    content, outcome = _output(output), _OUTCOMES.get(string(output, "type"), "success")
    if "result" in part and output is None:  # version 4 stores the value itself
        content, outcome = result_content(part["result"]), "failed" if part.get("isError") is True else "success"
    rest = without(members(output), "type", "value", "reason")
    extra = native_of(part.get(OPTIONS), without(part, *_TOOL), output=rest)
    return Result(string(part, "toolCallId"), part["toolName"], content.content, content.json, outcome, native=extra)


def _output(output: Json) -> ResultContent:
    """Load the output of a result."""
    match output:
        case {"type": "text" | "error-text" | "json" | "error-json", "value": str(text)}:
            return ResultContent((Text(text),) if text else ())
        case {"type": "json" | "error-json"}:
            return ResultContent((Text(compact(output.get("value"))),), json=True)
        case {"type": "execution-denied"}:
            return ResultContent((Text(reason),) if (reason := denial(output)) else ())
        case {"type": "content", "value": list(items)}:
            return ResultContent(tuple(block for each in items if (block := _returned_block(each))))
    return result_content(output)


def _returned_block(part: Json) -> Block | None:
    """Load text or a file in the output of a tool."""
    match part:
        case {"type": "text", "text": str()}:
            return _content_block(part)
        case {"type": str(of)} if of.startswith(("file", "image", "media")):
            return _inline_text(part) or read_file(part) or Other(PROVIDER, {"content": part})
    return Other(PROVIDER, {"content": part})


def _hosted(part: Object) -> HostedResult:
    """Load a hosted result."""
    output = part.get("output")
    of = string(output, "type")
    value = at(output, "value") if isinstance(output, dict) else part.get("result")
    if of == "execution-denied":
        value = denial(output)
    extra = native_of(part.get(OPTIONS), without(part, *_TOOL), output={"type": of} if of == "content" else {})
    outcome = _OUTCOMES.get(of, "success")
    return HostedResult(string(part, "toolCallId"), part["toolName"], value, outcome, native=extra)


def native_of(options: Json, rest: Object, **more: Json) -> Native:
    """Return the native members of a part or a message; ``more`` contains those that UI messages also have."""
    own = {key: value for key, value in rest.items() if value not in EMPTY}
    return {**native(options, more), **({_OWN_MEMBERS: own} if own else {})}


def with_options(part: Object, native_members: Native) -> Object:
    """Add native members to a part or a message."""
    if not native_members:
        return part
    options = metadata(native_members, mirror=False)
    return {**native_members.get(_OWN_MEMBERS, {}), **part, **({OPTIONS: options} if options else {})}


def _inline_text(part: Object) -> Text | None:
    """Load a ``file`` part that contains text; return ``None`` for other parts."""
    match part:
        case {"type": "file", "data": {"type": "text", "text": str(text)}} if text:
            file = without(part, "type", "data", OPTIONS)
            return Text(text, native=native_of(part.get(OPTIONS), {_FILE: file}))
    return None


def write_text(block: Text | Refusal) -> Object:
    """Write text, or the file that contained it."""
    own = block.native.get(_OWN_MEMBERS, {})
    if not isinstance(file := own.get(_FILE), dict):
        return with_options({"type": "text", "text": block.text}, block.native)
    extra = {**block.native, _OWN_MEMBERS: without(own, _FILE)}
    return with_options({"type": "file", **file, "data": {"type": "text", "text": block.text}}, extra)


def read_file(part: Object) -> Media | None:
    """Load a ``file`` or ``image`` part of a message or a result; return ``None`` if it contains no file."""
    of: Medium | None = "image" if part["type"].startswith("image") else None
    mime = string(part, "mediaType") or string(part, "mimeType") or (f"{of}/*" if of else "")
    place = next((name for name in _PLACES if name in part), "")
    names = _references(part.get(place))
    provider, reference = next(iter(names.items()), ("", ""))
    media = _medium(mime, part.get(place), reference, is_id=place in _IDS)
    if media is None:
        return None
    more = without(part, "type", "mediaType", "mimeType", "filename", OPTIONS, place)
    extra = native_of(part.get(OPTIONS), more, providerReference=names)
    return replace(media, name=string(part, "filename"), provider=provider, native=extra)


def _references(value: Json) -> Object:
    """Return the ids of a file, by provider."""
    references = at(value, "reference") if at(value, "type") == "reference" else value
    if not isinstance(references, dict) or not references or octets(references) or "type" in references:
        return {}
    return references if all(isinstance(each, str) and each for each in references.values()) else {}


def _medium(mime: str, value: Json, reference: str, *, is_id: bool) -> Media | None:
    """Load media from data, a URL or an id, in the form of any version."""
    match value:
        case {"type": "data", "data": inner} | {"type": "url", "url": inner}:
            return _medium(mime, inner, "", is_id=False)
        case str(text) if text and (is_id or (_FILE_ID.fullmatch(text) and parts.decode_base64(text) is None)):
            return Media(kind_of(mime), plain(mime), file_id=text)
        case str(url) if _URL.match(url):
            return medium_at(mime, url)
    if reference:
        return Media(kind_of(mime), plain(mime), file_id=reference)
    data = octets(value)
    return Media(kind_of(mime), data_type(mime, data), data) if data else None


def data_type(mime: str, data: str) -> str:
    """Return the media type of data; for ``image/*``, it is detected from the first bytes."""
    if mime.startswith("image/") and not plain(mime):
        return parts.image_type(parts.decode_base64(data[:16]) or b"") or ""
    return "" if mime.endswith("/*") else parts.canonical_type(mime)


def write_file(block: Media) -> Object | None:
    """Write media as a ``file`` part; return ``None`` if data, id and URL are missing."""
    reference = at(block.native, PROVIDER, "providerReference")
    place: Json = {"type": "reference", "reference": reference} if reference else block.data or block.file_id
    if not place and not (place := address(block)):
        return None
    return _with_name({"type": "file", "data": place, "mediaType": mime_of(block)}, block)


def write_returned_file(block: Media) -> Object | None:
    """Write media in the output of a tool; return ``None`` if data, id and URL are missing."""
    of = "image" if block.kind == "image" and not block.name else "file"
    if block.data:
        return _with_name({"type": f"{of}-data", "data": block.data, "mediaType": mime_of(block)}, block)
    if block.file_id:
        reference = at(block.native, PROVIDER, "providerReference") or block.file_id
        # The AI SDK's names for parts with ids differ from those for data.
        of = "image-file" if block.kind == "image" else of
        return _with_name({"type": f"{of}-id", "fileId": reference}, block)
    if not address(block):
        return None
    if of == "image" and not block.mime:
        return _with_name({"type": "image-url", "url": block.url}, block)
    return _with_name({"type": "file-url", "url": block.url, "mediaType": mime_of(block)}, block)


def _with_name(part: Object, block: Media) -> Object:
    return with_options({**part, **({"filename": block.name} if block.name else {})}, block.native)
