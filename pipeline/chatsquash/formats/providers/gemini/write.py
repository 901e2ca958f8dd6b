"""Write a conversation as a request to Gemini: the system instruction, turns and tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from chatsquash.core import chat
from chatsquash.core.blocks import (  # fmt: skip
    FAILED,
    FORM,
    PROMPTS,
    Block,
    Call,
    HostedCall,
    HostedResult,
    Media,
    Other,
    Reasoning,
    Refusal,
    Result,
    Text,
    Turn,
)
from chatsquash.core.model import Conversation, Json, Tool
from chatsquash.formats import parts
from chatsquash.formats.calls import (
    ResultContent,
    State,
    arguments_object,
    call_input,
    definition,
    is_custom,
    parse_json,
    takes_text,
)
from chatsquash.formats.definitions import once_per_definition
from chatsquash.formats.providers.gemini.blocks import CODE, PROVIDER, SIGNATURE, TOOLS, WAS_SYSTEM, output
from chatsquash.formats.providers.gemini.read import HOSTED, START, match_calls
from chatsquash.formats.providers.gemini.response import CITATION_MEMBERS
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.values import Object, string, without
from chatsquash.formats.writing import EXTENSIONS, instructions_mark, join_results, native, text_of, with_tool_names

_ROLES = (*PROMPTS, "user", "assistant", "tool")
_TYPES = {ours: theirs for theirs, ours in TOOLS.items()}
_MIMES = {"jpeg": "image/jpeg", "htm": "text/html", **{end: mime for mime, end in EXTENSIONS.items()}}
"""Media types by the extension of a URL."""


def dump(conversation: Conversation) -> Json:
    """Write the members of a request that contain the conversation.

    Leading system prompts are joined; later ones become marked user turns.  Developer prompts become system prompts,
    refusals become text, and the text blocks of a result are joined.  Sources, and signatures, encrypted reasoning and
    hosted calls of other providers, cannot be expressed.
    """
    turns, tool_names = with_tool_names(turns_of(conversation))
    turns = tuple(turn for turn in turns if turn.role in _ROLES)
    writer, prompt, contents = _Writer(turns, tool_names), list[Any](), list[Object]()
    body, own = dict[str, Any](), dict[str, Any]()
    for group in join_results(turns):
        if group[0].role in PROMPTS and not contents:
            own = own or {**native(group[0], FORM).get(PROVIDER, {}), **native(group[0], PROVIDER)}
            prompt += _prompt_parts(group[0])
        elif converted := writer.content(group):
            contents.append(converted)
    if prompt:
        body["systemInstruction"] = {"parts": prompt, **own}
    body["contents"] = contents
    if declared := [converted for tool in conversation.tools if (converted := _declaration(tool))]:
        body["tools"] = [{"functionDeclarations": declared}]
    return body


def _prompt_parts(turn: Turn) -> Iterator[Any]:
    """Write the parts of a system prompt."""
    mark_members = {"partMetadata": instructions_mark(turn)} if turn.instructions else {}
    yield from ({**part, **mark_members} for part in _parts(turn.blocks, iter(()), {}) if isinstance(part, dict))


class _Writer:
    """A writer for turns in order; generated ids are omitted if reading the request generates the same ids."""

    def __init__(self, turns: tuple[Turn, ...], names: dict[str, str]) -> None:
        self.state: State = START
        self.names = names
        results = [block for turn in turns for block in turn.blocks if type(block) is Result]
        self.with_tool_names = {block.id for block in results if not block.made_up}

    def content(self, group: list[Turn]) -> Object | None:
        """Write a group of turns as one turn; return ``None`` if Gemini supports none of its content."""
        first, before = group[0], self.state
        is_model = first.role == "assistant"
        blocks = [block for turn in group for block in turn.blocks if type(block) is not (Result if is_model else Call)]
        ids = self._call_ids(blocks) if is_model else self._result_ids(blocks)
        content_parts = list(_parts(blocks, iter(ids), self.names))
        if not content_parts and (first.blocks or not is_model):
            # A turn that is not written must not affect generated ids.
            self.state = before
            return None
        content_parts = (
            [_mark(part) for part in content_parts] if first.role in PROMPTS else content_parts or [{"text": ""}]
        )
        own = {key: value for key, value in native(first, PROVIDER).items() if key not in CITATION_MEMBERS}
        return {"role": "model" if is_model else "user", "parts": content_parts, **own}

    def _call_ids(self, blocks: list[Block]) -> list[str]:
        """Return the ids of calls; omitted ids are empty."""
        number, calls = self.state.call, list[Call]()
        for block in blocks:
            if type(block) is Call:
                is_next = block.made_up and block.id == f"call_{number}" and block.id not in self.with_tool_names
                number += is_next
                calls.append(replace(block, made_up=is_next))
        self.state = self.state.after_calls(calls, by_assistant=True)
        return ["" if call.made_up else call.id for call in calls]

    def _result_ids(self, blocks: list[Block]) -> list[str]:
        """Return the ids of results; generated ids are empty if the results match the same calls without them."""
        results = [block for block in blocks if type(block) is Result]
        expected_ids = [block.id for block in results]
        names = [block.name or self.names.get(block.id, "") for block in results]
        for ids in (["" if block.made_up else block.id for block in results], expected_ids):
            matched_ids, state = match_calls(list(zip(ids, names, strict=True)), self.state)
            if matched_ids == expected_ids:
                break
        self.state = state
        return ids


# Parts


def _parts(blocks: Iterable[Block], ids: Iterator[str], tool_names: dict[str, str]) -> Iterator[Any]:
    """Write parts.

    Args:
        blocks: the blocks
        ids: the ids of the calls and results among the blocks, in order
        tool_names: the tool names of calls by id
    """
    hosted = 0
    for block in blocks:
        own: Object = {} if type(block) is Other else block.native.get(PROVIDER, {})
        match block:
            case Text() | Refusal():
                yield _part("text", block.text, own)
            case Reasoning() if thought := _reasoning_part(block, own):
                yield thought
            case Media() if medium := _medium(block):
                yield _part(*medium, own)
            case Call():
                name_member = without({"id": next(ids, "") or None, "name": block.name})
                yield _part("functionCall", {**name_member, "args": call_input(block)}, own)
            case Result():
                yield _part("functionResponse", _result(block, next(ids, ""), tool_names), own)
            case HostedCall() | HostedResult() if block.provider == PROVIDER:
                if hosted_part := _hosted(block, HOSTED.format(hosted + (type(block) is HostedCall))):
                    hosted += type(block) is HostedCall
                    yield _part(*hosted_part, own)
            case Other() if block.provider == PROVIDER:
                yield block.value


def _part(kind: str, value: Json, own: Object) -> Object:
    """Write a part with its native members."""
    if not own:
        return {kind: value}
    inner = own.get(kind)
    members = {**value, **inner} if isinstance(value, dict) and isinstance(inner, dict) else value
    # The SDK accepts signatures only in base64.
    excluded_keys = (kind, *CITATION_MEMBERS, *(() if _is_signature(own.get(SIGNATURE)) else (SIGNATURE,)))
    return {kind: members, **{key: each for key, each in own.items() if key not in excluded_keys}}


def _is_signature(value: Json) -> bool:
    return isinstance(value, str) and bool(parts.decode_base64(parts.standard_base64(value)))


def _reasoning_part(block: Reasoning, own: Object) -> Object | None:
    """Write reasoning; a signature without reasoning becomes an empty text part, as in streams."""
    is_signed = block.signer == PROVIDER and _is_signature(block.signature)
    if not (block.text or is_signed):
        return None
    signature_member = {SIGNATURE: block.signature} if is_signed else {}
    return _part("text", block.text, {**({"thought": True} if block.text else {}), **signature_member, **own})


def _medium(media: Media) -> tuple[str, Object] | None:
    """Write media; return ``None`` if neither data nor an address is available."""
    mime = "audio/mp3" if media.mime == "audio/mpeg" else media.mime  # Gemini's name for the type
    if media.data:
        name_member = {"displayName": media.name} if media.name and media.kind != "audio" else {}
        return "inlineData", {"mimeType": mime or "application/octet-stream", "data": media.data, **name_member}
    address = media.url or media.file_id
    if not address or address.startswith("data:"):
        return None
    mime_type = mime or _MIMES.get(re.split(r"[?#]", address)[0].rpartition(".")[2].lower(), "")
    if not mime and mime_type.startswith("image/") != (media.kind == "image"):
        mime_type = "image/*" if media.kind == "image" else ""
    return "fileData", {"fileUri": address, **({"mimeType": mime_type} if mime_type else {})}


def _hosted(block: HostedCall | HostedResult, made_up: str) -> tuple[str, Object] | None:
    """Write a call that Gemini ran, or its result; an id that equals the generated id is omitted.

    The result is ``None`` for a code execution without code, which has no other representation.
    """
    members = {} if block.id == made_up else {"id": block.id}
    of = {"toolType": _TYPES.get(block.name, block.name)}
    if isinstance(block, HostedCall):
        value: Json = arguments_object(block.arguments)
        if block.name == CODE:
            return ("executableCode", {**value, **members}) if "code" in value else None
        return "toolCall", {**members, **of, "args": value}
    value = block.value
    if block.name == CODE:
        return ("codeExecutionResult", {**value, **members}) if isinstance(value, dict) else None
    value = value if isinstance(value, dict | None) else {"output": value}
    return "toolResponse", without({**members, **of, "response": value})


def _mark(part: Json) -> Json:
    """Mark a part of a system prompt among the turns, which have no system role."""
    if not isinstance(part, dict):
        return part
    text = {"text": f"<system>{part['text']}</system>"} if isinstance(part.get("text"), str) else {}
    return {**part, **text, "partMetadata": WAS_SYSTEM}


def _result(block: Result, call_id: str, tool_names: dict[str, str]) -> Object:
    """Write a result with its text joined and its media as separate parts."""
    name = block.name or tool_names.get(block.id, "")
    inner = list(_parts([each for each in block.content if not isinstance(each, Text | Refusal)], iter(()), {}))
    response = {"id": call_id, "name": name, "response": _response(block, name), "parts": inner}
    return {key: value for key, value in response.items() if value or key == "response"}


def _response(block: Result, name: str) -> Object:
    """Write the content of a result as an object; JSON is written unquoted if reading it yields the same text."""
    text = text_of(block.content)
    if block.outcome in FAILED:
        return {"error": text}
    value = parse_json(text) if block.json else None
    for response in (value, {"output": value}):
        if isinstance(response, dict) and output(response, name) == (ResultContent((Text(text),), json=True), False):
            return response
    return {"output": text}


# Tools


@once_per_definition
def _declaration(tool: Tool) -> Object | None:
    """Write a function declaration; a custom tool becomes a function with a string argument."""
    function = definition(tool)
    if not isinstance(function, dict) or not string(function, "name"):
        return None
    declaration = {key: function[key] for key in ("name", "description") if isinstance(function.get(key), str)}
    if is_custom(tool):
        declaration["parametersJsonSchema"] = takes_text()
    elif function.get("parameters") is not None:
        declaration["parametersJsonSchema"] = function["parameters"]
    return {**declaration, **chat.private(tool).get(PROVIDER, {})}
