"""A conversation as a request to Gemini: the system instruction, contents, tools."""

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
from chatsquash.formats.definition_cache import once_per_definition
from chatsquash.formats.providers.gemini.blocks import CODE, PROVIDER, SIGNATURE, TOOLS, WAS_SYSTEM, output
from chatsquash.formats.providers.gemini.read import HOSTED, START, match_calls
from chatsquash.formats.providers.gemini.response import CITED
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.values import Object, string, without
from chatsquash.formats.writing import EXTENSIONS, instructions_mark, join_results, native, text_of, with_tool_names

_ROLES = (*PROMPTS, "user", "assistant", "tool")
_TYPES = {ours: theirs for theirs, ours in TOOLS.items()}
_MIMES = {"jpeg": "image/jpeg", "htm": "text/html", **{end: mime for mime, end in EXTENSIONS.items()}}
"""Types by the ends of addresses."""


def dump(conversation: Conversation) -> Json:
    """The request's members that hold the conversation.

    Leading system prompts are one, and a later one is a user's turn, marked as what it is; a developer's is the
    system's.  A refusal is a text, and the texts of a result are one.  What others signed or encrypted, what they ran
    themselves, and sources have no place.
    """
    turns, called = with_tool_names(turns_of(conversation))
    turns = tuple(turn for turn in turns if turn.role in _ROLES)
    writer, prompt, contents = _Writer(turns, called), list[Any](), list[Object]()
    body, own = dict[str, Any](), dict[str, Any]()
    for group in join_results(turns):
        if group[0].role in PROMPTS and not contents:
            own = own or {**native(group[0], FORM).get(PROVIDER, {}), **native(group[0], PROVIDER)}
            prompt += _prompted(group[0])
        elif made := writer.content(group):
            contents.append(made)
    if prompt:
        body["systemInstruction"] = {"parts": prompt, **own}
    body["contents"] = contents
    if declared := [made for tool in conversation.tools if (made := _declaration(tool))]:
        body["tools"] = [{"functionDeclarations": declared}]
    return body


def _prompted(turn: Turn) -> Iterator[Any]:
    """The parts of a system prompt."""
    marked = {"partMetadata": instructions_mark(turn)} if turn.instructions else {}
    yield from ({**part, **marked} for part in _parts(turn.blocks, iter(()), {}) if isinstance(part, dict))


class _Writer:
    """What is known of the turns before; ids that were made up, and are made up just so again, are left out."""

    def __init__(self, turns: tuple[Turn, ...], names: dict[str, str]) -> None:
        self.state: State = START
        self.names = names
        results = [block for turn in turns for block in turn.blocks if type(block) is Result]
        self.with_tool_names = {block.id for block in results if not block.made_up}

    def content(self, group: list[Turn]) -> Object | None:
        """The content of a turn; ``None`` for one that says nothing that Gemini has a place for."""
        first, before = group[0], self.state
        is_model = first.role == "assistant"
        blocks = [block for turn in group for block in turn.blocks if type(block) is not (Result if is_model else Call)]
        ids = self._call_ids(blocks) if is_model else self._result_ids(blocks)
        made = list(_parts(blocks, iter(ids), self.names))
        if not made and (first.blocks or not is_model):
            self.state = before
            return None
        made = [_mark(part) for part in made] if first.role in PROMPTS else made or [{"text": ""}]
        own = {key: value for key, value in native(first, PROVIDER).items() if key not in CITED}
        return {"role": "model" if is_model else "user", "parts": made, **own}

    def _call_ids(self, blocks: list[Block]) -> list[str]:
        """The ids of calls, empty for those that are left out."""
        number, calls = self.state.call, list[Call]()
        for block in blocks:
            if type(block) is Call:
                is_next = block.made_up and block.id == f"call_{number}" and block.id not in self.with_tool_names
                number += is_next
                calls.append(replace(block, made_up=is_next))
        self.state = self.state.after_calls(calls, by_assistant=True)
        return ["" if call.made_up else call.id for call in calls]

    def _result_ids(self, blocks: list[Block]) -> list[str]:
        """The ids of results, none for those that were made up, if the calls are found without them."""
        results = [block for block in blocks if type(block) is Result]
        wanted = [block.id for block in results]
        called = [block.name or self.names.get(block.id, "") for block in results]
        for ids in (["" if block.made_up else block.id for block in results], wanted):
            found, state = match_calls(list(zip(ids, called, strict=True)), self.state)
            if found == wanted:
                break
        self.state = state
        return ids


# Parts


def _parts(blocks: Iterable[Block], ids: Iterator[str], called: dict[str, str]) -> Iterator[Any]:
    """The parts of blocks, with the next ids for calls and results, and the names of those that are called."""
    hosted = 0
    for block in blocks:
        own: Object = {} if type(block) is Other else block.native.get(PROVIDER, {})
        match block:
            case Text() | Refusal():
                yield _part("text", block.text, own)
            case Reasoning() if thought := _thought(block, own):
                yield thought
            case Media() if medium := _medium(block):
                yield _part(*medium, own)
            case Call():
                name_member = without({"id": next(ids, "") or None, "name": block.name})
                yield _part("functionCall", {**name_member, "args": call_input(block)}, own)
            case Result():
                yield _part("functionResponse", _result(block, next(ids, ""), called), own)
            case HostedCall() | HostedResult() if block.provider == PROVIDER:
                if ran := _hosted(block, HOSTED.format(hosted + (type(block) is HostedCall))):
                    hosted += type(block) is HostedCall
                    yield _part(*ran, own)
            case Other() if block.provider == PROVIDER:
                yield block.value


def _part(kind: str, value: Json, own: Object) -> Object:
    """A part with what else Google knows of it and of its value; the SDK takes no signature but in base64."""
    if not own:
        return {kind: value}
    inner = own.get(kind)
    members = {**value, **inner} if isinstance(value, dict) and isinstance(inner, dict) else value
    left_out = (kind, *CITED, *(() if _is_signature(own.get(SIGNATURE)) else (SIGNATURE,)))
    return {kind: members, **{key: each for key, each in own.items() if key not in left_out}}


def _is_signature(value: Json) -> bool:
    return isinstance(value, str) and bool(parts.decode_base64(parts.standard_base64(value)))


def _thought(block: Reasoning, own: Object) -> Object | None:
    """A thought; a signature alone signs a text that is empty, as it does in streams."""
    is_signed = block.signer == PROVIDER and _is_signature(block.signature)
    if not (block.text or is_signed):
        return None
    signed = {SIGNATURE: block.signature} if is_signed else {}
    return _part("text", block.text, {**({"thought": True} if block.text else {}), **signed, **own})


def _medium(media: Media) -> tuple[str, Object] | None:
    """An image, a sound, a film or a file; ``None`` for what has neither data nor an address."""
    mime = "audio/mp3" if media.mime == "audio/mpeg" else media.mime  # as in Gemini's list
    if media.data:
        name_member = {"displayName": media.name} if media.name and media.kind != "audio" else {}
        return "inlineData", {"mimeType": mime or "application/octet-stream", "data": media.data, **name_member}
    where = media.url or media.file_id
    if not where or where.startswith("data:"):
        return None
    mime_type = mime or _MIMES.get(re.split(r"[?#]", where)[0].rpartition(".")[2].lower(), "")
    if not mime and mime_type.startswith("image/") != (media.kind == "image"):
        mime_type = "image/*" if media.kind == "image" else ""
    return "fileData", {"fileUri": where, **({"mimeType": mime_type} if mime_type else {})}


def _hosted(block: HostedCall | HostedResult, made_up: str) -> tuple[str, Object] | None:
    """A call that Gemini ran, or what it gave; an id that is made up just so when it is read is left out.

    ``None`` for code that is not there: no type of tool stands for that.
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
    """What the system says among the contents, where it has no role."""
    if not isinstance(part, dict):
        return part
    text = {"text": f"<system>{part['text']}</system>"} if isinstance(part.get("text"), str) else {}
    return {**part, **text, "partMetadata": WAS_SYSTEM}


def _result(block: Result, answered: str, called: dict[str, str]) -> Object:
    """A result; its texts are one, and its media stand beside them."""
    name = block.name or called.get(block.id, "")
    inner = list(_parts([each for each in block.content if not isinstance(each, Text | Refusal)], iter(()), {}))
    response = {"id": answered, "name": name, "response": _response(block, name), "parts": inner}
    return {key: value for key, value in response.items() if value or key == "response"}


def _response(block: Result, name: str) -> Object:
    """A result as the object that it must be; one that was JSON is JSON again, if it is read as the same text."""
    text = text_of(block.content)
    if block.outcome in FAILED:
        return {"error": text}
    value = parse_json(text) if block.json else None
    for made in (value, {"output": value}):
        if isinstance(made, dict) and output(made, name) == (ResultContent((Text(text),), json=True), False):
            return made
    return {"output": text}


# Tools


@once_per_definition
def _declaration(tool: Tool) -> Object | None:
    """A function; its schema is JSON Schema, which ``parameters`` is not; a custom tool's takes its text."""
    function = definition(tool)
    if not isinstance(function, dict) or not string(function, "name"):
        return None
    made = {key: function[key] for key in ("name", "description") if isinstance(function.get(key), str)}
    if is_custom(tool):
        made["parametersJsonSchema"] = takes_text()
    elif function.get("parameters") is not None:
        made["parametersJsonSchema"] = function["parameters"]
    return {**made, **chat.private(tool).get(PROVIDER, {})}
