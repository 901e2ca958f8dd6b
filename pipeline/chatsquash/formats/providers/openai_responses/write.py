"""Write conversations as requests to OpenAI Responses: items for reasoning, messages, calls and results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from chatsquash.core.blocks import Block, Call, Media, Other, Reasoning, Refusal, Result, Source, Text, Turn
from chatsquash.core.model import Conversation, Json
from chatsquash.formats import parts, writing
from chatsquash.formats.calls import parse_json
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.providers.openai_responses import client_calls, definitions, hosted, items, read
from chatsquash.formats.providers.openai_responses.items import ANNOTATION, ITEM, PART, PROVIDER, SPACE, bare_name
from chatsquash.formats.providers.openai_responses.read import REASONING_TEXT
from chatsquash.formats.service import only
from chatsquash.formats.values import Object, at, string

_DETAILS = ("auto", "low", "high", "original")
_OF_CALLS = ("id", "status", "namespace", "caller")
_OF_REASONING = ("status", "summary", "content")
_OF_SOURCES = ("index", "start_index", "end_index", "container_id")
_CACHED = "prompt_cache_breakpoint"


def dump(conversation: Conversation) -> Json:
    """Write the input and the tools of a request; instructions with only a text block are written as instructions.

    Reasoning without an id or encrypted content from OpenAI, audio, video and unknown roles cannot be expressed.
    Only assistant messages with an id have parts, refusals and sources; others are strings.
    """
    turns, body = list(turns_of(conversation)), dict[str, Any]()
    prompt_turn = next((turn for turn in writing.leading_prompts(turns) if _is_instructions(turn)), None)
    if prompt_turn is not None:
        body["instructions"] = writing.text_of(prompt_turn.blocks)
    body["input"] = list(_items(turn for turn in turns if turn is not prompt_turn))
    if tools := definitions.dump(conversation.tools):
        body["tools"] = tools
    return body


def _is_instructions(turn: Turn) -> bool:
    is_one_block = turn.role == "system" and turn.instructions and len(turn.blocks) == 1
    return is_one_block and type(turn.blocks[0]) is Text and not writing.native(turn.blocks[0], PROVIDER)


def _items(turns: Iterable[Turn]) -> Iterator[Object]:
    """Write the items of turns; the type of a result depends on the call that it answers."""
    types = dict[str, str]()
    for turn in turns:
        if turn.role == "assistant":
            calls = [block for block in turn.blocks if type(block) is Call]
            types |= {call.id: client_calls.output_type(call) or items.RESULTS[call.custom] for call in calls}
            yield from _assistant_items(turn)
        elif turn.role == "tool":
            results = (block for block in turn.blocks if type(block) is Result)
            yield from (_result(block, types.get(block.id, items.RESULTS[0])) for block in results)
        elif turn.role in items.ROLES:
            yield from _input_items(turn)


def _own(holder: Any, *members: str) -> Object:
    """Return these native members of OpenAI, and the members unknown in this format."""
    marks = writing.native(holder, PROVIDER)
    return only(marks, members) | _inner(marks, items.MORE) if marks else marks


def _inner(members: Object, member: str) -> Object:
    return members[member] if isinstance(members.get(member), dict) else {}


# System, developer, user and tool


def _input_items(turn: Turn) -> Iterator[Object]:
    """Write a message, and native items that were logged instead of a message."""
    yield from (item for block in turn.blocks if (item := _as_logged(block)))
    if content_parts := list(_parts(turn.blocks, detail=items.USUAL_DETAIL)):
        yield {"role": turn.role, "content": _content(content_parts), **_own(turn)}


def _as_logged(block: Block) -> Object | None:
    """Return an item that only this format supports, or ``None`` for other blocks."""
    item_logged = at(block.value, ITEM) if type(block) is Other and block.provider == PROVIDER else None
    return item_logged if isinstance(item_logged, dict) else None


def _result(block: Result, of: str) -> Object:
    """Write a result; failures are marked in the text, because there is no member for them.

    Args:
        block: the result
        of: the type of the item; result items of custom calls have no name
    """
    is_custom, is_client = of == items.RESULTS[1], of not in items.RESULTS
    own = _own(block, *_OF_CALLS)
    content, failure = list(block.content), {} if is_client and own.get("status") else writing.failure_mark(block)
    if failure:
        first = content[0] if content and type(content[0]) is Text else Text("")
        content[: bool(first.text)] = [replace(first, text=writing.failure_text(first.text, block))]
    content_parts = list(_parts(content, detail=items.USUAL_DETAIL if is_custom else ""))
    name_member = {"name": bare_name(block.name, own.get(SPACE))} if block.name and not is_custom else {}
    is_raw = block.json and read.RAW in writing.native(block, PROVIDER)
    output = parse_json(writing.text_of(block.content)) if is_raw else _content(content_parts)
    if is_client:
        return client_calls.result_item(of, block.id, output, {**failure, **own})
    return {"type": of, "call_id": block.id, "output": output, **name_member, **failure, **own}


def _content(content_parts: list[Json]) -> Json:
    """Return the parts, or the text if there is only a text part without other members."""
    is_text = (
        len(content_parts) == 1 and isinstance(content_parts[0], dict) and content_parts[0].keys() == {"type", "text"}
    )
    return content_parts[0]["text"] if is_text and content_parts[0]["type"] == "input_text" else content_parts or ""


def _parts(blocks: Iterable[Block], *, detail: str) -> Iterator[Json]:
    """Write the content of all roles except the assistant as parts."""
    for block in blocks:
        match block:
            case Text() | Refusal():
                yield {"type": "input_text", "text": block.text, **_own(block, _CACHED)}
            case Media() if part := _medium(block):
                known = writing.native(block, PROVIDER).get("detail")
                image_detail = known if known in _DETAILS else detail if block.kind == "image" else ""
                yield {**part, **({"detail": image_detail} if image_detail else {}), **_own(block, _CACHED)}
            case Other() if block.provider == PART:
                yield block.value


def _medium(block: Media) -> Object | None:
    """Write an image or a file; return ``None`` for other media."""
    data = (parts.data_url(block.mime, block.data) if block.mime else block.data) if block.data else ""
    url = data or block.url
    if block.kind not in ("image", "file") or not (url or block.file_id):
        return None
    if block.kind == "image":
        return {"type": "input_image", **({"image_url": url} if url else {"file_id": block.file_id})}
    if url.startswith("data:") or data:
        return {"type": "input_file", "file_data": url, "filename": writing.file_name(block)}
    name_member = {"filename": block.name} if block.name else {}
    return {"type": "input_file", **({"file_url": url} if url else {"file_id": block.file_id}), **name_member}


# The assistant


def _assistant_items(turn: Turn) -> list[Object]:
    """Write the items of an assistant turn in the order of its blocks; an empty turn becomes an empty message."""
    if not turn.blocks:
        return [{"role": "assistant", "content": ""}]
    results = hosted.results(turn.blocks)
    result_items, message = list[Object](), list[Block]()
    before: Block | None = None
    for block in turn.blocks:
        if message and not _continues_message(block, message):
            result_items += _message(message)
            message = []
        if message or isinstance(block, Text | Refusal):
            message.append(block)
        elif type(block) is Reasoning:
            _add_reasoning(result_items, block, before)
        elif item := _call_item(block) or hosted.item(block, results) or _as_logged(block):
            result_items.append(item)
        before = block
    return result_items + _message(message) if message else result_items


def _continues_message(block: Block, message: list[Block]) -> bool:
    """Return whether a block continues the message; only messages with an id may mix text and refusals."""
    match block:
        case Source():
            return True
        case Other():
            return block.provider == PART or (block.provider == PROVIDER and at(block.value, ANNOTATION) is not None)
        case Text() | Refusal():
            fits = type(block) is type(message[0]) or "id" in _native_members(message[0])
            return fits and not getattr(block, "apart", False) and not _native_members(block)
    return False


def _message(blocks: list[Block]) -> list[Object]:
    """Write a message, with parts as its content if it has an id, and otherwise with a string."""
    known = _native_members(blocks[0])
    # The API requires the id for messages with output parts.
    if "id" in known:
        message = {"type": "message", "role": "assistant", "status": "completed", "content": _assistant_parts(blocks)}
        return [{**message, **known}]
    return [{"role": "assistant", "content": writing.text_of(blocks, by_assistant=True), **known}]


def _native_members(block: Block) -> Object:
    """Return the members of a message that are stored in its first text block."""
    own = writing.native(block, PROVIDER)
    return {name: own[name] for name in read.OF_MESSAGE if string(own, name)} | _inner(own, read.MESSAGE)


def _assistant_parts(blocks: list[Block]) -> list[Json]:
    """Write the parts of an assistant message, with the annotations of text parts."""
    items, notes = list[Json](), list[Json]()
    for block in blocks:
        match block:
            case Text():
                notes, own = [], _own(block, "logprobs")
                items.append({"type": "output_text", "text": block.text, "annotations": notes, **own})
            case Refusal():
                items.append({"type": "refusal", "refusal": block.text, **_own(block)})
            case Source() if annotation := _annotation(block):
                notes.append(annotation)
            case Other():
                items.append(block.value) if block.provider == PART else notes.append(at(block.value, ANNOTATION))
    return items


def _annotation(block: Source) -> Object | None:
    """Write a source as an annotation; return ``None`` if members that this format requires are missing."""
    own = _own(block, *_OF_SOURCES)
    if block.url and own.keys() >= {"start_index", "end_index"}:
        return {"type": "url_citation", "url": block.url, "title": block.title, **own}
    of = string(writing.native(block, PROVIDER), "type")
    name_member = {"filename": block.name} if block.name else {}
    return {"type": of, "file_id": block.id, **name_member, **own} if block.id and of else None


def _add_reasoning(items: list[Object], block: Reasoning, before: Block | None) -> None:
    """Add OpenAI's reasoning; the service accepts no other reasoning.

    Reasoning with the same id as the preceding reasoning is added to the same item.
    """
    if block.signer != PROVIDER or not (block.id or block.encrypted):
        return
    own, of = _own(block, *_OF_REASONING), _kind(block)
    member = "content" if of == REASONING_TEXT else "summary"
    part = {"type": of, "text": block.text}
    if type(before) is Reasoning and not own and not block.encrypted and block.text and _is_one(before, block, member):
        items[-1][member].append(part)
        return
    item: Object = {"type": "reasoning", **({"id": block.id} if block.id else {}), "summary": []}
    if block.text and member not in own and "content" not in own:
        item[member] = [part]
    encrypted_member = {"encrypted_content": block.encrypted} if block.encrypted else {}
    items.append({**item, **encrypted_member, **own})


def _is_one(before: Reasoning, block: Reasoning, member: str) -> bool:
    """Return whether reasoning belongs to the item of the preceding reasoning, and has the same part type."""
    is_same = before.signer == block.signer and before.id == block.id != "" and _kind(before) == _kind(block)
    return is_same and before.text != "" and member not in _own(before, member)


def _kind(block: Reasoning) -> str:
    """Return the part type of a reasoning block."""
    return REASONING_TEXT if writing.native(block, PROVIDER).get("type") == REASONING_TEXT else "summary_text"


def _call_item(block: Block) -> Object | None:
    """Write a call with its arguments unchanged; return ``None`` for other blocks."""
    if type(block) is not Call:
        return None
    if client_item := client_calls.item(block):
        return client_item
    of, own = "custom_tool_call" if block.custom else "function_call", _own(block, *_OF_CALLS)
    name = bare_name(block.name or "", own.get(SPACE))
    return {"type": of, "call_id": block.id, "name": name, items.CALLS[of]: block.arguments, **own}
