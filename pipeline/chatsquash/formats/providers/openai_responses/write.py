"""Conversations as requests to OpenAI Responses: items for reasoning, messages, calls and results."""

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
from chatsquash.formats.providers.openai_responses.read import THOUGHT
from chatsquash.formats.service import only
from chatsquash.formats.values import Object, at, string

_DETAILS = ("auto", "low", "high", "original")
_OF_CALLS = ("id", "status", "namespace", "caller")
_OF_REASONING = ("status", "summary", "content")
_OF_SOURCES = ("index", "start_index", "end_index", "container_id")
_CACHED = "prompt_cache_breakpoint"


def dump(conversation: Conversation) -> Json:
    """A request's input and tools; instructions are such again if they are one text.

    Reasoning that OpenAI has neither encrypted nor given an id, sounds, films and roles of others have no place; only a
    message that has an id has parts, refusals and sources, any other is a text.
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
    alone = turn.role == "system" and turn.instructions and len(turn.blocks) == 1
    return alone and type(turn.blocks[0]) is Text and not writing.native(turn.blocks[0], PROVIDER)


def _items(turns: Iterable[Turn]) -> Iterator[Object]:
    """The items of turns; the type of a result is that of the call before it that it answers."""
    types = dict[str, str]()
    for turn in turns:
        if turn.role == "assistant":
            calls = [block for block in turn.blocks if type(block) is Call]
            types |= {call.id: client_calls.output_type(call) or items.RESULTS[call.custom] for call in calls}
            yield from _said(turn)
        elif turn.role == "tool":
            results = (block for block in turn.blocks if type(block) is Result)
            yield from (_result(block, types.get(block.id, items.RESULTS[0])) for block in results)
        elif turn.role in items.ROLES:
            yield from _input_items(turn)


def _own(holder: Any, *members: str) -> Object:
    """Of what only OpenAI knows these members, and those that are unknown in this format."""
    marks = writing.native(holder, PROVIDER)
    return only(marks, members) | _inner(marks, items.MORE) if marks else marks


def _inner(members: Object, member: str) -> Object:
    return members[member] if isinstance(members.get(member), dict) else {}


# Others than the assistant


def _input_items(turn: Turn) -> Iterator[Object]:
    """A message with what it says, and items that stood in the place of one."""
    yield from (item for block in turn.blocks if (item := _as_logged(block)))
    if said := list(_parts(turn.blocks, detail=items.USUAL_DETAIL)):
        yield {"role": turn.role, "content": _content(said), **_own(turn)}


def _as_logged(block: Block) -> Object | None:
    """An item that nobody else has."""
    item_logged = at(block.value, ITEM) if type(block) is Other and block.provider == PROVIDER else None
    return item_logged if isinstance(item_logged, dict) else None


def _result(block: Result, of: str) -> Object:
    """A result of this type; that of a custom call has no name.  One that failed says so, since no member does."""
    is_custom, is_client = of == items.RESULTS[1], of not in items.RESULTS
    own = _own(block, *_OF_CALLS)
    content, marked = list(block.content), {} if is_client and own.get("status") else writing.failure_mark(block)
    if marked:
        first = content[0] if content and type(content[0]) is Text else Text("")
        content[: bool(first.text)] = [replace(first, text=writing.failure_text(first.text, block))]
    said = list(_parts(content, detail=items.USUAL_DETAIL if is_custom else ""))
    named = {"name": bare_name(block.name, own.get(SPACE))} if block.name and not is_custom else {}
    is_raw = block.json and read.RAW in writing.native(block, PROVIDER)
    output = parse_json(writing.text_of(block.content)) if is_raw else _content(said)
    if is_client:
        return client_calls.result_item(of, block.id, output, {**marked, **own})
    return {"type": of, "call_id": block.id, "output": output, **named, **marked, **own}


def _content(said: list[Json]) -> Json:
    """Parts, or their text where they are no more than that."""
    alone = len(said) == 1 and isinstance(said[0], dict) and said[0].keys() == {"type", "text"}
    return said[0]["text"] if alone and said[0]["type"] == "input_text" else said or ""


def _parts(blocks: Iterable[Block], *, detail: str) -> Iterator[Json]:
    """The parts that this format has for what anybody but the assistant shows."""
    for block in blocks:
        match block:
            case Text() | Refusal():
                yield {"type": "input_text", "text": block.text, **_own(block, _CACHED)}
            case Media() if part := _medium(block):
                known = writing.native(block, PROVIDER).get("detail")
                shown = known if known in _DETAILS else detail if block.kind == "image" else ""
                yield {**part, **({"detail": shown} if shown else {}), **_own(block, _CACHED)}
            case Other() if block.provider == PART:
                yield block.value


def _medium(block: Media) -> Object | None:
    """An image or a file; what else there is has no place."""
    data = (parts.data_url(block.mime, block.data) if block.mime else block.data) if block.data else ""
    url = data or block.url
    if block.kind not in ("image", "file") or not (url or block.file_id):
        return None
    if block.kind == "image":
        return {"type": "input_image", **({"image_url": url} if url else {"file_id": block.file_id})}
    if url.startswith("data:") or data:
        return {"type": "input_file", "file_data": url, "filename": writing.file_name(block)}
    named = {"filename": block.name} if block.name else {}
    return {"type": "input_file", **({"file_url": url} if url else {"file_id": block.file_id}), **named}


# The assistant


def _said(turn: Turn) -> list[Object]:
    """An assistant's items in the order of what he says, thinks and calls; one who says nothing is an empty message."""
    if not turn.blocks:
        return [{"role": "assistant", "content": ""}]
    results = hosted.results(turn.blocks)
    found, message = list[Object](), list[Block]()
    before: Block | None = None
    for block in turn.blocks:
        if message and not _goes_on(block, message):
            found += _message(message)
            message = []
        if message or isinstance(block, Text | Refusal):
            message.append(block)
        elif type(block) is Reasoning:
            _think(found, block, before)
        elif item := _call_item(block) or hosted.item(block, results) or _as_logged(block):
            found.append(item)
        before = block
    return found + _message(message) if message else found


def _goes_on(block: Block, message: list[Block]) -> bool:
    """Whether a block is part of the message that others began; one that has an id may have any parts."""
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
    """A message: with its parts if it has an id, else in its easy form, which is a text."""
    known = _native_members(blocks[0])
    if "id" in known:
        said = {"type": "message", "role": "assistant", "status": "completed", "content": _assistant_parts(blocks)}
        return [{**said, **known}]
    return [{"role": "assistant", "content": writing.text_of(blocks, by_assistant=True), **known}]


def _native_members(block: Block) -> Object:
    """What the first text of a message knows of that."""
    own = writing.native(block, PROVIDER)
    return {name: own[name] for name in read.OF_MESSAGE if string(own, name)} | _inner(own, read.MESSAGE)


def _assistant_parts(blocks: list[Block]) -> list[Json]:
    """The parts of an assistant's message, texts with their annotations."""
    items, notes = list[Json](), list[Json]()
    for block in blocks:
        match block:
            case Text():
                notes, own = [], _own(block, "logprobs")
                items.append({"type": "output_text", "text": block.text, "annotations": notes, **own})
            case Refusal():
                items.append({"type": "refusal", "refusal": block.text, **_own(block)})
            case Source() if noted := _annotation(block):
                notes.append(noted)
            case Other():
                items.append(block.value) if block.provider == PART else notes.append(at(block.value, ANNOTATION))
    return items


def _annotation(block: Source) -> Object | None:
    """What a text rests on, where that is told as this format tells it."""
    own = _own(block, *_OF_SOURCES)
    if block.url and own.keys() >= {"start_index", "end_index"}:
        return {"type": "url_citation", "url": block.url, "title": block.title, **own}
    of = string(writing.native(block, PROVIDER), "type")
    named = {"filename": block.name} if block.name else {}
    return {"type": of, "file_id": block.id, **named, **own} if block.id and of else None


def _think(items: list[Object], block: Reasoning, before: Block | None) -> None:
    """Add reasoning, if it is OpenAI's, which takes no other; with the id of the one before it is an item with that."""
    if block.signer != PROVIDER or not (block.id or block.encrypted):
        return
    own, of = _own(block, *_OF_REASONING), _kind(block)
    member = "content" if of == THOUGHT else "summary"
    part = {"type": of, "text": block.text}
    if type(before) is Reasoning and not own and not block.encrypted and block.text and _is_one(before, block, member):
        items[-1][member].append(part)
        return
    made: Object = {"type": "reasoning", **({"id": block.id} if block.id else {}), "summary": []}
    if block.text and member not in own and "content" not in own:
        made[member] = [part]
    sealed = {"encrypted_content": block.encrypted} if block.encrypted else {}
    items.append({**made, **sealed, **own})


def _is_one(before: Reasoning, block: Reasoning, member: str) -> bool:
    """Whether reasoning goes on in the item of the one before, whose texts are told in the same way."""
    same = before.signer == block.signer and before.id == block.id != "" and _kind(before) == _kind(block)
    return same and before.text != "" and member not in _own(before, member)


def _kind(block: Reasoning) -> str:
    """The type of a text of reasoning."""
    return THOUGHT if writing.native(block, PROVIDER).get("type") == THOUGHT else "summary_text"


def _call_item(block: Block) -> Object | None:
    """A call with its arguments as they stand."""
    if type(block) is not Call:
        return None
    if logged := client_calls.item(block):
        return logged
    of, own = "custom_tool_call" if block.custom else "function_call", _own(block, *_OF_CALLS)
    name = bare_name(block.name or "", own.get(SPACE))
    return {"type": of, "call_id": block.id, "name": name, items.CALLS[of]: block.arguments, **own}
