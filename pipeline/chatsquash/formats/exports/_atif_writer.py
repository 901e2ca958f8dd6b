"""Write a conversation as a trajectory of ATIF 1.8."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from chatsquash.core.blocks import FAILED, FORM, Block, Call, Media, Reasoning, Refusal, Result, Text, Turn
from chatsquash.core.model import Conversation, Json, OriginReply
from chatsquash.core.times import stamp
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import KEY, call_input
from chatsquash.formats.evidence import origin_of, replies_of_turns
from chatsquash.formats.exports._atif_members import REFERENCE, are_references, restore
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.providers.openai_chat.write import write_tools
from chatsquash.formats.values import Object
from chatsquash.formats.writing import instructions_mark, native

VERSION = "ATIF-v1.8"
_SOURCES = {"system": "system", "developer": "system", "user": "user", "assistant": "agent"}
_TYPES = {
    "image": {"jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp"},
    "audio": {
        "wav": "audio/wav", "mp3": "audio/mpeg", "mpga": "audio/mpeg", "mp4": "audio/mp4", "m4a": "audio/mp4",
        "aac": "audio/aac", "ogg": "audio/ogg", "flac": "audio/flac", "webm": "audio/webm", "aiff": "audio/aiff",
    },
}  # fmt: skip
"""The media types of the format by kind and suffix; it has no others."""


def dump(conversation: Conversation) -> Json:
    """Write a trajectory: a step for each turn, with the results of its calls.

    Media are written only by URL or path, because the format refers to files. Raises ``TurnError`` without any turn.
    """
    description = conversation.native.get(FORM, {})
    turns = turns_of(conversation)
    replies = replies_of_turns(conversation, turns)
    if not turns:
        raise TurnError("no turns; a trajectory has at least one step")
    # Without any content that the format supports, an empty step remains, because a trajectory must have one.
    steps = list(_steps(turns, replies)) or [{"source": _SOURCES.get(turns[0].role, "user"), "message": ""}]
    models = {each.model if each else None for each in replies}
    model = models.pop() if len(models) == 1 else None
    if model:
        steps = [{key: value for key, value in step.items() if key != "model_name"} for step in steps]
    agent = _agent(conversation, description.get("agent", {}), model)
    document = {"schema_version": VERSION, **_ids(conversation), "agent": agent, "steps": steps}
    document = restore(document, description)
    return document | {"steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)]}


def _ids(conversation: Conversation) -> Object:
    origin = origin_of(conversation)
    ids: Object = {"session_id": origin.session_id} if origin.session_id else {}
    own = conversation.native.get(FORM, {}).get("id", origin.id)
    if own:
        ids["trajectory_id"] = own
    if origin.kind != "main":
        links = {"parent": origin.parent, "call": origin.call}
        ids["extra"] = {KEY: {"kind": origin.kind, **{name: value for name, value in links.items() if value}}}
    return ids


def _agent(conversation: Conversation, description: Object, model: str | None) -> Object:
    """Write the agent; both its name and its version are required."""
    known = {"name": conversation.source or KEY, "version": conversation.version or "unknown", **description}
    definitions = write_tools(conversation.tools)
    return {
        **known,
        **({"model_name": model} if model else {}),
        **({"tool_definitions": definitions} if definitions else {}),
    }


# Steps


def _steps(turns: Iterable[Turn], replies: list[OriginReply | None]) -> Iterator[Object]:
    """Yield the steps of turns; results are in the step of their call, and those without a call are dropped."""
    steps, known = list[Object](), iter(replies)
    callers: dict[str, Object] = {}
    for turn in turns:
        if turn.role == "tool":
            for block in turn.blocks:
                if type(block) is Result and block.id in callers:
                    _observe(callers[block.id], block)
        elif turn.role == "assistant":
            steps.append(_reply(turn, next(known)))
            callers |= {block.id: steps[-1] for block in turn.blocks if type(block) is Call}
        elif turn.role in _SOURCES and (content := _content(turn.blocks)) != "":
            mark = instructions_mark(turn)
            extra = {"extra": mark} if mark else {}
            steps.append({"source": _SOURCES[turn.role], "message": content, **extra})
    yield from steps


def _observe(step: Object, block: Result) -> None:
    """Add a result to the step of its call."""
    failed = {"extra": {"is_error": True}} if block.outcome in FAILED else {}
    result = {"source_call_id": block.id, "content": _content(block.content), **_references(block), **failed}
    step.setdefault("observation", {"results": []})["results"].append(result)


def _references(block: Result) -> Object:
    """Return the references of a result to trajectories of sub-agents, unless one could not be resolved."""
    references = native(block, "atif").get(REFERENCE)
    return {REFERENCE: references} if are_references(references) else {}


def _reply(turn: Turn, known: OriginReply | None) -> Object:
    thoughts = [block.text for block in turn.blocks if type(block) is Reasoning and block.text]
    calls = [_call(block) for block in turn.blocks if type(block) is Call]
    step: Object = {
        **({"timestamp": _time(known.time)} if known and known.time is not None else {}),
        "source": "agent",
        **({"model_name": known.model} if known and known.model else {}),
        "message": _content(turn.blocks),
    }
    if thoughts:
        step["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        step["tool_calls"] = calls
    if metrics := _metrics(known):
        step["metrics"] = metrics
    return step


def _metrics(known: OriginReply | None) -> Object:
    if known is None:
        return {}
    counts = {"prompt_tokens": known.prompt_tokens, "completion_tokens": known.completion_tokens}
    return {name: count for name, count in counts.items() if count is not None}


def _time(at: int) -> str:
    """Return nanoseconds since the epoch as ISO 8601, to the millisecond."""
    return f"{stamp(at).removesuffix('Z')}.{at // 10**6 % 1000:03}Z"


def _call(block: Call) -> Object:
    return {"tool_call_id": block.id, "function_name": block.name or "", "arguments": call_input(block)}


# Content


def _content(blocks: Iterable[Any]) -> Json:
    """Write content: a string for a single text, otherwise the parts that the format has; empty without any."""
    parts = [part for block in blocks if (part := _part(block))]
    if len(parts) == 1 and parts[0]["type"] == "text":
        return parts[0]["text"]
    return parts or ""


def _part(block: Block) -> Object | None:
    if isinstance(block, Text | Refusal):
        return {"type": "text", "text": block.text}
    if type(block) is Media and block.url and not block.data and (mime := _media_type(block)):
        return {"type": block.kind, "source": {"media_type": mime, "path": block.url}}
    return None


def _media_type(block: Media) -> str | None:
    """Return the type of an image or a sound, from its suffix if it is unknown."""
    types = _TYPES.get(block.kind, {})
    if block.mime:
        return block.mime if block.mime in types.values() else None
    try:
        path = urlsplit(block.url).path
    except ValueError:
        return None
    return types.get(PurePosixPath(path).suffix.lower().removeprefix("."))
