"""UI messages as turns: one for each step of the assistant, and one for the results of its calls.

Messages of the AI SDK 4, in which calls are next to the content, are upgraded to later versions first.
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
from chatsquash.formats.clients.vercel_ai.metadata import METADATA, PROVIDER, PYDANTIC, join_reasoning, native, thought
from chatsquash.formats.values import Object, at, kind, members, objects, string, without
from chatsquash.formats.writing import KEY, are_instructions

DATA = ("compaction", "tool-availability-delta", "capability-load-delta", "model-settings-delta")
"""The parts of Pydantic AI that its adapter has as data of these names."""
DELTAS = ("tool-availability-delta", "capability-load-delta")
"""Those of a request, which its adapter has behind what the user says."""
_RENAMED = {"tools_added": "added"}
"""Members of such parts, and what the adapter calls them."""
STEERING = "steering-message"
ROLES = ("system", "user", "assistant")
_SPOKEN = ("text", "reasoning", "file")
_SOURCE = {"url": "url", "title": "title", "id": "sourceId", "mime": "mediaType", "name": "filename"}
_NEEDS = {"text": "text", "reasoning": "text", "dynamic-tool": "toolName"}
"""The member without which a part of a type is invalid."""
VERSION_4 = ("toolInvocations", "experimental_attachments")
"""Members that only messages of the AI SDK 4 have."""
_CALL = "tool-invocation"
_STATES = {"partial-call": "input-streaming", "result": "output-available"}
"""States of calls in the AI SDK 4, and those of later versions."""


class Read(NamedTuple):
    """A turn, and the number of the message that it is from."""

    turn: Turn
    message: int


def read(messages: list[Json]) -> list[Read]:
    """The turns of messages; raises ``TurnError`` that names the place."""
    converted = list[Read]()
    call, last, waiting = 1, "", list[Block]()
    for number, logged in enumerate(messages):
        message, parts = _message_and_parts(number, upgrade(logged) if isinstance(logged, dict) else logged)
        role = message["role"]
        turns = list(_assistant(parts, call) if role == "assistant" else _prompt_turns(role, parts))
        call += sum(made_up(turn.blocks) for turn in turns if turn.role == "assistant")
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
    """Whether a block is a change of what a request has, of which no model is shown anything."""
    return isinstance(block, Other) and block.provider == PYDANTIC and string(block.value, "part_kind") in DELTAS


def _without_deltas(turn: Turn) -> tuple[Turn, list[Block]]:
    """A prompt without the changes behind it, and these, which go with the next turn; one of changes alone as it is."""
    deltas = list(takewhile(is_delta, reversed(turn.blocks)))[::-1]
    if not deltas or len(deltas) == len(turn.blocks):
        return turn, []
    return replace(turn, blocks=turn.blocks[: -len(deltas)]), deltas


def data_part(value: Object) -> Object:
    """A part of Pydantic AI as the data that its adapter makes of it."""
    members = {_RENAMED.get(key, key): each for key, each in value.items() if key != "part_kind"}
    return {"type": f"data-{value['part_kind']}", "data": members}


def made_up(blocks: tuple[Block, ...] | list[Block]) -> int:
    """How many calls have ids that were made up."""
    return sum(getattr(block, "made_up", False) for block in blocks)


def _message_and_parts(number: int, message: Json) -> tuple[Object, list[Object]]:
    """A message, and its parts."""
    if not isinstance(message, dict):
        raise TurnError(f"[{number}] is {kind(message)}, not an object")
    if message.get("role") not in ROLES:
        raise TurnError(f"[{number}] has a role that is not one of {', '.join(ROLES)}")
    if not isinstance(message.get("parts"), list):
        raise TurnError(f"[{number}] has no list of parts")
    return message, parts_of(message, "parts", number, _NEEDS)


def parts_of(message: Object, member: str, number: int, needs: dict[str, str]) -> list[Object]:
    """The parts in a member of a message, each with what its type ``needs``; raises ``TurnError``."""
    for place, part in enumerate(message[member]):
        of = string(part, "type")
        need = needs.get(of, "") if isinstance(at(part, "type"), str) else "type"
        if need and not isinstance(at(part, need), str):
            raise TurnError(f"[{number}].{member}[{place}] has no {need}")
    parts: list[Object] = message[member]
    return parts


def _own(message: Object, number: int, *, follows_own: bool) -> Native:
    """What a message has beside its parts; an id that is its number is made up, unless it tells two messages apart."""
    own = {key: value for key, value in message.items() if key not in ("role", "parts")}
    if are_instructions(own.get("metadata")):
        own["metadata"] = without(own["metadata"], KEY)
    if own.get("id") == message_id(number + 1) and not follows_own:
        del own["id"]
    kept = {key: value for key, value in own.items() if value not in EMPTY}
    return {PROVIDER: kept} if kept else {}


def message_id(number: int) -> str:
    """The id of a message by its number, which begins at 1."""
    return f"msg_{number}"


def _prompt_turns(role: str, parts: list[Object]) -> Iterator[Turn]:
    """A turn for each prompt, since Pydantic AI puts several into one message and marks where one starts."""
    blocks, is_told = list[Block](), False
    for part in parts:
        worded = _worded(role, part)
        if blocks and (worded or at(part, METADATA, PYDANTIC, "user_prompt_start") is True):
            yield Turn(role, tuple(blocks))
            blocks, is_told = [], True
        if worded:
            yield worded
            is_told = True
        else:
            blocks += _part_blocks(part)
    if blocks or not is_told:
        yield Turn(role, tuple(blocks))


def _worded(role: str, part: Object) -> Turn | None:
    """What Pydantic AI asks to be done again, or sums up, which it shows the model in words of its own."""
    asked, data = at(part, METADATA, PYDANTIC, "retry_feedback"), part.get("data")
    if part["type"] == "text" and isinstance(asked, dict) and string(part, "text"):
        return Turn(role, (Text(part["text"]),), native={PYDANTIC: {"part": asked}})
    summary = {"part_kind": "compaction", **members(data)}
    if part["type"] == "data-compaction" and role == "user" and (shown := shown_wording(summary)):
        return Turn(role, (Text(shown[1]),), native={PYDANTIC: {"part": summary}})
    return None


def _part_blocks(part: Object) -> list[Block]:
    """What a part says that is neither a call nor a step; nothing for a text that is empty."""
    of, is_done = part["type"], part.get("state") == "done"
    if of == "text" and type(part.get("text")) is str and len(part) == 2 + is_done:
        return [Text(part["text"])] if part["text"] else []  # as most are
    made: Block | None = None
    if of in ("text", "reasoning") and isinstance(part.get("text"), str):
        more = without(part, "type", "text", METADATA, *(("state",) if is_done else ()))
        if of == "reasoning":
            made = thought(part["text"], part.get(METADATA), more)
        elif part["text"]:
            made = Text(part["text"], native=native(part.get(METADATA), more))
        if made is None and not (more or part.get(METADATA)):
            return []
    elif of == "file":
        made = media.read(part)
    elif of in ("source-url", "source-document"):
        made = _source(part)
    elif (name := of.removeprefix("data-")) in DATA and isinstance(part.get("data"), dict):
        names = {theirs: ours for ours, theirs in _RENAMED.items()} if name in DELTAS else {}
        made = Other(PYDANTIC, {"part_kind": name, **{names.get(key, key): each for key, each in part["data"].items()}})
    return [made or Other(PROVIDER, part)]


def _source(part: Object) -> Source:
    """What is cited; an id that is the address or the title says no more than that."""
    source = {ours: string(part, theirs) for ours, theirs in _SOURCE.items()}
    if source["id"] in (source["url"], source["title"]):
        source["id"] = ""
    source["mime"] = media.plain(source["mime"])
    return Source(**source, native=native(part.get(METADATA), without(part, "type", METADATA, *_SOURCE.values())))


def _assistant(parts: list[Object], call: int) -> Iterator[Turn]:
    """A turn for each step, and one for its results; what says nothing by itself goes with the next step."""
    waiting = list[Block]()
    for step, is_marked in _steps(parts):
        if step[0]["type"] == STEERING:
            yield _steered(step[0])
            continue
        blocks, results = _step(step, call)
        call += made_up(blocks)
        is_said = any(type(block) not in (Other, Source) for block in blocks)
        is_empty = not (blocks or results) and any(part["type"] in _SPOKEN for part in step)
        if is_empty and waiting:
            yield Turn("assistant", tuple(waiting))
            waiting = []
        if is_said or is_empty or (blocks and is_marked):
            yield Turn("assistant", join_reasoning(unpack((*waiting, *blocks))))
            waiting = []
        else:
            waiting += blocks
        if results:
            yield Turn("tool", tuple(results))
    if waiting:
        yield Turn("assistant", tuple(waiting))


def _steered(part: Object) -> Turn:
    """What the user says while the assistant works."""
    blocks = [block for each in objects(part.get("parts")) if string(each, "type") for block in _part_blocks(each)]
    return Turn("user", tuple(blocks), native={PROVIDER: without(part, "parts")})


def _steps(parts: list[Object]) -> Iterator[tuple[list[Object], bool]]:
    """Parts by steps, and whether each is marked; if none is, what is said behind an answered call is of the next."""
    marked = any(part["type"] == "step-start" for part in parts)
    step, answered, is_marked = list[Object](), False, False
    for part in parts:
        of = part["type"]
        if step and (of in ("step-start", STEERING) or (not marked and answered and of in _SPOKEN)):
            yield step, is_marked
            step, answered, is_marked = [], False, False
        if of == STEERING:
            yield [part], False
        elif of == "step-start":
            is_marked = True
        else:
            step.append(part)
            answered = answered or (tools.is_answered(part) and not tools.is_hosted(part))
    if step:
        yield step, is_marked


def _step(parts: list[Object], call: int) -> tuple[list[Block], list[Block]]:
    """What is said and called in a step, and the results."""
    blocks, results = list[Block](), list[Block]()
    for part in parts:
        for block in tools.read(part, call) if tools.is_tool(part) else _part_blocks(part):
            (results if type(block) is Result else blocks).append(block)
            call += type(block) is Call and block.made_up
    return blocks, results


def upgrade(message: Object) -> Object:
    """A message as later versions have it, what it has beside in its metadata; one of these as it is."""
    logged, content = message.get("parts"), message.get("content")
    if logged is None and isinstance(content, str):
        logged = _old_parts(message, content)
    elif not isinstance(logged, list) or not (
        isinstance(content, str) or any(at(each, "type") == _CALL for each in logged)
    ):
        return message
    parts = [part for each in logged for part in _upgrade_part(each)]
    parts += [_upgrade_attachment(each) for each in objects(message.get("experimental_attachments"))]
    metadata = without(message, "id", "role", "parts", "content", "reasoning", *VERSION_4)
    return {**{key: message[key] for key in ("id", "role") if key in message}, "metadata": metadata, "parts": parts}


def is_version_4(message: Object) -> bool:
    """Whether a message is of this version, and no plain chat."""
    return any(objects(message.get(member)) for member in VERSION_4)


def _old_parts(message: Object, content: str) -> list[Json]:
    """What a message without parts holds; text stands behind calls that were answered, with others before them."""
    thought, invoked = string(message, "reasoning"), objects(message.get("toolInvocations"))
    parts: list[Json] = [{"type": "reasoning", "text": thought}] if thought else []
    said: list[Json] = [{"type": "text", "text": content}] if content else []
    is_answered = all(each.get("state") == "result" for each in invoked)
    parts += [] if invoked and is_answered else said
    for place, (_, step) in enumerate(groupby(invoked, key=lambda each: each.get("step") or 0)):
        parts += [{"type": "step-start"}] if place else []
        parts += [{"type": _CALL, "toolInvocation": each} for each in step]
    return [*parts, {"type": "step-start"}, *said] if invoked and is_answered and said else parts


def _upgrade_part(part: Json) -> list[Json]:
    """A part, as later versions have it; reasoning may be several."""
    match part:
        case {"type": "tool-invocation", "toolInvocation": dict(invoked)}:
            return [_upgrade_call(invoked)]
        case {"type": "reasoning", "details": list(details)} if details:
            return [_upgrade_reasoning(each) for each in objects(details)]
        case {"type": "reasoning", "reasoning": str(text)}:
            return [{"type": "reasoning", "text": text}]
        case {"type": "source", "source": {"url": str(url), **source}}:
            named = {"sourceId": string(source, "id"), "url": url}
            return [{"type": "source-url", **named, **without(source, "id", "sourceType")}]
        case {"type": "file", "mimeType": str(mime), "data": str(data)}:
            return [{"type": "file", "mediaType": mime, "url": f"data:{mime};base64,{data}"}]
    return [part]


def _upgrade_reasoning(detail: Object) -> Object:
    """Reasoning, of which this version does not say who signed it."""
    signature = string(detail, "signature") or string(detail, "data")
    own = {"signature": signature, **({"id": "redacted_thinking"} if string(detail, "data") else {})}
    part = {"type": "reasoning", "text": string(detail, "text")}
    return {**part, "providerMetadata": {"pydantic_ai": own}} if signature else part


def _upgrade_call(invoked: Object) -> Object:
    """A call, and its result."""
    name, state = invoked.get("toolName"), at(invoked, "state")
    read = ("toolName", "state", "args", "result", "step")
    part = {"type": f"tool-{name}" if isinstance(name, str) else "dynamic-tool", **without(invoked, *read)}
    part |= {"state": _STATES.get(state, "input-available") if isinstance(state, str) else "input-available"}
    given = {"output": invoked.get("result")} if state == "result" else {}
    return {**part, "input": invoked.get("args"), **given}


def _upgrade_attachment(attached: Object) -> Object:
    named = {"filename": attached["name"]} if string(attached, "name") else {}
    return {"type": "file", "mediaType": string(attached, "contentType"), "url": string(attached, "url"), **named}
