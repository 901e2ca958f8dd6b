"""Load UI messages as turns: one per assistant step, and one for the results of its calls.

Messages of the AI SDK 4, in which calls are separate from the content, are first upgraded to later versions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, takewhile
from typing import NamedTuple

from msgspec.structs import replace

from chatsquash.core.blocks import Block, Call, Native, Other, Result, Source, Text, Turn
from chatsquash.core.model import Json
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import EMPTY
from chatsquash.formats.clients.pydantic_ai.members import shown_wording, unpack
from chatsquash.formats.clients.vercel_ai import media, tools
from chatsquash.formats.clients.vercel_ai.metadata import (
    METADATA,
    PROVIDER,
    PYDANTIC,
    join_reasoning,
    load_reasoning,
    native,
)
from chatsquash.formats.values import Object, at, kind, members, objects, string, without
from chatsquash.formats.writing import KEY, are_instructions

DATA = ("compaction", "tool-availability-delta", "capability-load-delta", "model-settings-delta")
"""The kinds of Pydantic AI parts that its adapter writes as ``data-*`` parts."""
DELTAS = ("tool-availability-delta", "capability-load-delta")
"""The kinds of these parts in requests, which the adapter writes after the user's content."""
_ADAPTER_NAMES = {"tools_added": "added"}
"""The adapter's names for members of these parts."""
STEERING = "steering-message"
ROLES = ("system", "user", "assistant")
_CONTENT_TYPES = ("text", "reasoning", "file")
_SOURCE = {"url": "url", "title": "title", "id": "sourceId", "mime": "mediaType", "name": "filename"}
_REQUIRED = {"text": "text", "reasoning": "text", "dynamic-tool": "toolName"}
"""The required member of each part type."""
VERSION_4 = ("toolInvocations", "experimental_attachments")
"""The members that only messages of the AI SDK 4 have."""
_CALL = "tool-invocation"
_STATES = {"partial-call": "input-streaming", "result": "output-available"}
"""The states of calls in later versions, by state in the AI SDK 4."""


class Read(NamedTuple):
    """A turn, and the number of its message."""

    turn: Turn
    message: int


def read(messages: list[Json]) -> list[Read]:
    """Load the turns of messages; raise ``TurnError`` with the place of malformed content."""
    converted = list[Read]()
    call, last, waiting = 1, "", list[Block]()
    for number, logged_message in enumerate(messages):
        message, parts = _message_and_parts(
            number, upgrade(logged_message) if isinstance(logged_message, dict) else logged_message
        )
        role = message["role"]
        turns = list(_assistant(parts, call) if role == "assistant" else _prompt_turns(role, parts))
        call += sum(generated_ids(turn.blocks) for turn in turns if turn.role == "assistant")
        if turns and waiting:
            turns[0] = replace(turns[0], blocks=(*waiting, *turns[0].blocks))
            waiting = []
        if role == "user" and turns and number + 1 < len(messages):
            turns[-1], waiting = _without_deltas(turns[-1])
        if turns:
            own = _own(message, number, follows_own=role == last == "assistant")
            first = replace(
                turns[0], instructions=are_instructions(message.get("metadata")), native={**turns[0].native, **own}
            )
            converted += [Read(turn, number) for turn in (first, *turns[1:])]
            last = role
    return converted


def is_delta(block: Block) -> bool:
    """Return whether a block is a change to a request that models do not see."""
    return isinstance(block, Other) and block.provider == PYDANTIC and string(block.value, "part_kind") in DELTAS


def _without_deltas(turn: Turn) -> tuple[Turn, list[Block]]:
    """Separate a prompt from the changes at its end, which belong to the next turn, unless it has only changes."""
    deltas = list(takewhile(is_delta, reversed(turn.blocks)))[::-1]
    if not deltas or len(deltas) == len(turn.blocks):
        return turn, []
    return replace(turn, blocks=turn.blocks[: -len(deltas)]), deltas


def data_part(value: Object) -> Object:
    """Write a Pydantic AI part as a ``data-*`` part in the same way as its adapter."""
    members = {_ADAPTER_NAMES.get(key, key): each for key, each in value.items() if key != "part_kind"}
    return {"type": f"data-{value['part_kind']}", "data": members}


def generated_ids(blocks: tuple[Block, ...] | list[Block]) -> int:
    """Count the calls with generated ids."""
    return sum(getattr(block, "made_up", False) for block in blocks)


def _message_and_parts(number: int, message: Json) -> tuple[Object, list[Object]]:
    """Return a message and its parts; raise ``TurnError`` if it is malformed."""
    if not isinstance(message, dict):
        raise TurnError(f"[{number}] is {kind(message)}, expected an object")
    if message.get("role") not in ROLES:
        raise TurnError(f"[{number}]: unknown role; expected one of {', '.join(ROLES)}")
    if not isinstance(message.get("parts"), list):
        raise TurnError(f"[{number}] has no list of parts")
    return message, parts_of(message, "parts", number, _REQUIRED)


def parts_of(message: Object, member: str, number: int, needs: dict[str, str]) -> list[Object]:
    """Return the parts in a member of a message; raise ``TurnError`` if a required member is missing."""
    for place, part in enumerate(message[member]):
        of = part.get("type") if isinstance(part, dict) else None
        need = needs.get(of, "") if isinstance(of, str) else "type"
        if need and not isinstance(at(part, need), str):
            raise TurnError(f"[{number}].{member}[{place}] has no {need}")
    parts: list[Object] = message[member]
    return parts


def _own(message: Object, number: int, *, follows_own: bool) -> Native:
    """Return the other members of a message.

    An id that equals the generated id is omitted, unless it separates two assistant messages.
    """
    own = {key: value for key, value in message.items() if key not in ("role", "parts")}
    if are_instructions(own.get("metadata")):
        own["metadata"] = without(own["metadata"], KEY)
    if own.get("id") == message_id(number + 1) and not follows_own:
        del own["id"]
    members = {key: value for key, value in own.items() if value not in EMPTY}
    return {PROVIDER: members} if members else {}


def message_id(number: int) -> str:
    """Return the generated id of a message, given its number, which starts at 1."""
    return f"msg_{number}"


def _prompt_turns(role: str, parts: list[Object]) -> Iterator[Turn]:
    """Load a turn from each prompt; Pydantic AI may combine prompts in a message and mark where each starts."""
    blocks, has_turn = list[Block](), False
    for part in parts:
        turn = _reworded_turn(role, part)
        if blocks and (turn or at(part, METADATA, PYDANTIC, "user_prompt_start") is True):
            yield Turn(role, tuple(blocks))
            blocks, has_turn = [], True
        if turn:
            yield turn
            has_turn = True
        else:
            blocks += _part_blocks(part)
    if blocks or not has_turn:
        yield Turn(role, tuple(blocks))


def _reworded_turn(role: str, part: Object) -> Turn | None:
    """Load Pydantic AI's retry request or summary, which models see reworded; return ``None`` for other parts."""
    feedback, data = at(part, METADATA, PYDANTIC, "retry_feedback"), part.get("data")
    if part["type"] == "text" and isinstance(feedback, dict) and string(part, "text"):
        return Turn(role, (Text(part["text"]),), native={PYDANTIC: {"part": feedback}})
    summary = {"part_kind": "compaction", **members(data)}
    if part["type"] == "data-compaction" and role == "user" and (wording := shown_wording(summary)):
        return Turn(role, (Text(wording[1]),), native={PYDANTIC: {"part": summary}})
    return None


def _part_blocks(part: Object) -> list[Block]:
    """Load a part that is neither a call nor a step; return an empty list for empty text."""
    of, is_done = part["type"], part.get("state") == "done"
    if of == "text" and type(part.get("text")) is str and len(part) == 2 + is_done:
        return [Text(part["text"])] if part["text"] else []  # the usual case
    block: Block | None = None
    if of in ("text", "reasoning") and isinstance(part.get("text"), str):
        more = without(part, "type", "text", METADATA, *(("state",) if is_done else ()))
        if of == "reasoning":
            block = load_reasoning(part["text"], part.get(METADATA), more)
        elif part["text"]:
            block = Text(part["text"], native=native(part.get(METADATA), more))
        if block is None and not (more or part.get(METADATA)):
            return []
    elif of == "file":
        block = media.read(part)
    elif of in ("source-url", "source-document"):
        block = _source(part)
    elif (name := of.removeprefix("data-")) in DATA and isinstance(part.get("data"), dict):
        names = {theirs: ours for ours, theirs in _ADAPTER_NAMES.items()} if name in DELTAS else {}
        block = Other(
            PYDANTIC, {"part_kind": name, **{names.get(key, key): each for key, each in part["data"].items()}}
        )
    return [block or Other(PROVIDER, part)]


def _source(part: Object) -> Source:
    """Load a source; an id that repeats the URL or the title is ignored."""
    source = {ours: string(part, theirs) for ours, theirs in _SOURCE.items()}
    if source["id"] in (source["url"], source["title"]):
        source["id"] = ""
    source["mime"] = media.plain(source["mime"])
    return Source(**source, native=native(part.get(METADATA), without(part, "type", METADATA, *_SOURCE.values())))


def _assistant(parts: list[Object], call: int) -> Iterator[Turn]:
    """Load a turn from each step, and a turn for its results; steps with only sources or native parts join the next."""
    waiting = list[Block]()
    for step, is_marked in _steps(parts):
        # A steering message is a user message inside an assistant message.
        if step[0]["type"] == STEERING:
            yield _steering_turn(step[0])
            continue
        blocks, results = _step(step, call)
        call += generated_ids(blocks)
        has_content = any(type(block) not in (Other, Source) for block in blocks)
        # An assistant message with only empty text is still a turn.
        is_empty = not (blocks or results) and any(part["type"] in _CONTENT_TYPES for part in step)
        if is_empty and waiting:
            yield Turn("assistant", tuple(waiting))
            waiting = []
        if has_content or is_empty or (blocks and is_marked):
            yield Turn("assistant", join_reasoning(unpack((*waiting, *blocks))))
            waiting = []
        else:
            waiting += blocks
        if results:
            yield Turn("tool", tuple(results))
    if waiting:
        yield Turn("assistant", tuple(waiting))


def _steering_turn(part: Object) -> Turn:
    """Load a user message that was sent while the assistant was working."""
    blocks = [block for each in objects(part.get("parts")) if string(each, "type") for block in _part_blocks(each)]
    return Turn("user", tuple(blocks), native={PROVIDER: without(part, "parts")})


def _steps(parts: list[Object]) -> Iterator[tuple[list[Object], bool]]:
    """Group parts into steps, and return whether each step is marked.

    Without marks, content after a call with a result starts the next step.
    """
    has_steps = any(part["type"] == "step-start" for part in parts)
    step, has_results, is_marked = list[Object](), False, False
    for part in parts:
        of = part["type"]
        if step and (of in ("step-start", STEERING) or (not has_steps and has_results and of in _CONTENT_TYPES)):
            yield step, is_marked
            step, has_results, is_marked = [], False, False
        if of == STEERING:
            yield [part], False
        elif of == "step-start":
            is_marked = True
        else:
            step.append(part)
            # The model continues a step after hosted results, but not after other results.
            has_results = has_results or (tools.is_answered(part) and not tools.is_hosted(part))
    if step:
        yield step, is_marked


def _step(parts: list[Object], call: int) -> tuple[list[Block], list[Block]]:
    """Load a step: its content and calls, and the results of its calls."""
    blocks, results = list[Block](), list[Block]()
    for part in parts:
        for block in tools.read(part, call) if tools.is_tool(part) else _part_blocks(part):
            (results if type(block) is Result else blocks).append(block)
            call += type(block) is Call and block.made_up
    return blocks, results


def upgrade(message: Object) -> Object:
    """Convert a version 4 message to later versions, with other members as metadata; other messages are unchanged."""
    parts_logged, content = message.get("parts"), message.get("content")
    if parts_logged is None and isinstance(content, str):
        parts_logged = _old_parts(message, content)
    elif not isinstance(parts_logged, list) or not (
        isinstance(content, str) or any(at(each, "type") == _CALL for each in parts_logged)
    ):
        return message
    parts = [part for each in parts_logged for part in _upgrade_part(each)]
    parts += [_upgrade_attachment(each) for each in objects(message.get("experimental_attachments"))]
    metadata = without(message, "id", "role", "parts", "content", "reasoning", *VERSION_4)
    return {**{key: message[key] for key in ("id", "role") if key in message}, "metadata": metadata, "parts": parts}


def is_version_4(message: Object) -> bool:
    """Return whether a message was written by version 4, and is not a plain chat message."""
    return any(objects(message.get(member)) for member in VERSION_4)


def _old_parts(message: Object, content: str) -> list[Json]:
    """Convert a message without parts; its text follows the calls if all have results, and otherwise precedes them."""
    thought, invocations = string(message, "reasoning"), objects(message.get("toolInvocations"))
    parts: list[Json] = [{"type": "reasoning", "text": thought}] if thought else []
    text_parts: list[Json] = [{"type": "text", "text": content}] if content else []
    is_answered = all(each.get("state") == "result" for each in invocations)
    parts += [] if invocations and is_answered else text_parts
    for place, (_, step) in enumerate(groupby(invocations, key=lambda each: each.get("step") or 0)):
        parts += [{"type": "step-start"}] if place else []
        parts += [{"type": _CALL, "toolInvocation": each} for each in step]
    return [*parts, {"type": "step-start"}, *text_parts] if invocations and is_answered and text_parts else parts


def _upgrade_part(part: Json) -> list[Json]:
    """Convert a part to the form of later versions; reasoning may become several parts."""
    match part:
        case {"type": "tool-invocation", "toolInvocation": dict(invocation)}:
            return [_upgrade_call(invocation)]
        case {"type": "reasoning", "details": list(details)} if details:
            return [_upgrade_reasoning(each) for each in objects(details)]
        case {"type": "reasoning", "reasoning": str(text)}:
            return [{"type": "reasoning", "text": text}]
        case {"type": "source", "source": {"url": str(url), **source}}:
            id_and_url = {"sourceId": string(source, "id"), "url": url}
            return [{"type": "source-url", **id_and_url, **without(source, "id", "sourceType")}]
        case {"type": "file", "mimeType": str(mime), "data": str(data)}:
            return [{"type": "file", "mediaType": mime, "url": f"data:{mime};base64,{data}"}]
    return [part]


def _upgrade_reasoning(detail: Object) -> Object:
    """Convert reasoning, without a signer, which version 4 does not contain."""
    signature = string(detail, "signature") or string(detail, "data")
    own = {"signature": signature, **({"id": "redacted_thinking"} if string(detail, "data") else {})}
    part = {"type": "reasoning", "text": string(detail, "text")}
    return {**part, "providerMetadata": {"pydantic_ai": own}} if signature else part


def _upgrade_call(invocation: Object) -> Object:
    """Convert a call and its result."""
    name, state = invocation.get("toolName"), at(invocation, "state")
    read = ("toolName", "state", "args", "result", "step")
    part = {"type": f"tool-{name}" if isinstance(name, str) else "dynamic-tool", **without(invocation, *read)}
    part |= {"state": _STATES.get(state, "input-available") if isinstance(state, str) else "input-available"}
    output_member = {"output": invocation.get("result")} if state == "result" else {}
    return {**part, "input": invocation.get("args"), **output_member}


def _upgrade_attachment(attachment: Object) -> Object:
    name_member = {"filename": attachment["name"]} if string(attachment, "name") else {}
    return {
        "type": "file",
        "mediaType": string(attachment, "contentType"),
        "url": string(attachment, "url"),
        **name_member,
    }
