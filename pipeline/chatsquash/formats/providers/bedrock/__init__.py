"""Converse of Amazon Bedrock: turns of blocks that have one member each, named after the kind of the block."""

from __future__ import annotations

from chatsquash.core.blocks import Turn
from chatsquash.core.model import Json
from chatsquash.formats.base import LoadedTurn, Mark, Marks, Tools
from chatsquash.formats.base import no_open_turns as close
from chatsquash.formats.calls import State
from chatsquash.formats.providers import anthropic
from chatsquash.formats.providers.bedrock.blocks import BLOCKS, blocks
from chatsquash.formats.providers.bedrock.response import assemble, reply
from chatsquash.formats.values import Object, at, objects

NAME = "bedrock"
PLACE = 35
TURNS = "messages"
SYSTEM = ("system",)
TOOLS = ("toolConfig",)
REFERS: tuple[str, ...] = ()
READS = ("output", "stopReason", "usage")
START = anthropic.START

_EVENTS = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop")
_OPTIONS = ("toolConfig", "inferenceConfig", "additionalModelRequestFields", "guardrailConfig")


def accepts(body: Object) -> bool:
    """Return whether all turns have lists of untyped blocks, and the tools are not in ``tools``."""
    turns = objects(body.get(TURNS))
    contents = [turn.get("content") for turn in turns]
    has_types = any("type" in block for content in contents for block in objects(content))
    return all(isinstance(content, list) for content in contents) and not has_types and "tools" not in body


def system(value: Json) -> list[Turn]:
    """Load the blocks of a system prompt as one turn; may raise ``TurnError``."""
    return anthropic.system(blocks(value) if isinstance(value, list) else value)


def load(turn: Json, state: State) -> LoadedTurn:
    """Load a turn after converting its blocks to Anthropic's."""
    if isinstance(turn, dict) and isinstance(turn.get("content"), list):
        turn = {**turn, "content": blocks(turn["content"])}
    return anthropic.load(turn, state)


def tools(value: Json) -> Tools:
    """Load the definitions in a tool configuration; cache points are skipped."""
    definitions = objects(at(value, "tools")) if isinstance(value, dict) else objects(value)
    functions, hosted = list[Json](), list[Json]()
    for each in definitions:
        spec = each.get("toolSpec")
        if isinstance(spec, dict):
            functions.append(_function(spec))
        elif "cachePoint" not in each:
            hosted.append(each)
    return Tools(list(anthropic.tools(functions).functions), hosted)


def _function(spec: Object) -> Object:
    schema = at(spec, "inputSchema", "json")
    other_members = {name: value for name, value in spec.items() if name != "inputSchema"}
    return {**other_members, "input_schema": schema if schema is not None else {"type": "object", "properties": {}}}


def _has_blocks(body: Object) -> bool:
    """Return whether no block has a type, and at least one has a member of Converse."""
    blocks = [block for turn in objects(body.get("messages")) for block in objects(turn.get("content"))]
    return (
        bool(blocks) and all("type" not in block for block in blocks) and any(block.keys() & BLOCKS for block in blocks)
    )


def _has_options(body: Object) -> bool:
    turns = objects(body.get("messages"))
    has_option = any(isinstance(body.get(name), dict) for name in _OPTIONS)
    return has_option and all(isinstance(turn.get("content"), list) for turn in turns)


def _is_response(body: Object) -> bool:
    return isinstance(at(body, "output", "message", "content"), list) and ("stopReason" in body or "usage" in body)


def _is_event(event: Object) -> bool:
    return any(isinstance(event.get(name), dict) for name in _EVENTS) and "type" not in event


marks = Marks(
    request=(
        Mark(7, "content blocks such as {text} and {toolUse}, without a type", _has_blocks),
        Mark(8, "toolConfig or inferenceConfig", _has_options),
    ),
    response=(Mark(4, "output.message with stopReason or usage", _is_response),),
    event=(Mark(3, "events such as messageStart", _is_event),),
)

__all__ = ["START", "assemble", "close", "load", "marks", "reply", "system", "tools"]
