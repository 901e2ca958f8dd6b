"""System prompts and tool definitions, which newer versions attach to a session."""

from __future__ import annotations

from typing import NamedTuple

from chatsquash.formats.agents.claude_code.rows import Row
from chatsquash.formats.agents.claude_code.tree import Tree
from chatsquash.formats.values import Object, at, objects, string
from chatsquash.model import Json


class Snapshot(NamedTuple):
    """What was in force at the end of a conversation."""

    system: list[Json]
    """Blocks of a system prompt."""
    tools: list[Json]
    """Definitions as Anthropic has them."""
    line: int | None
    """The line that holds the system prompt."""


def in_force(tree: Tree, leaf: Row) -> Snapshot:
    """The last system prompt and the last definitions of a chain, up to the compaction that follows a line."""
    system, tools = list[Json](), list[Json]()
    line = None
    for row in tree.snapshots.get(leaf.chain, []):
        if row.era > leaf.era:
            break
        held = row.value["attachment"]
        if isinstance(prompt := held.get("systemPrompt"), list):
            system, line = [block for each in prompt if (block := _block(each))], row.line
        if isinstance(held.get("tools"), list):
            tools = [_tool(tool) for tool in objects(held["tools"]) if string(tool, "name")]
    return Snapshot(system, tools, line)


def _block(value: Json) -> Json:
    """A part of a system prompt, which is a text; ``None`` for what is none."""
    if isinstance(value, str) and value:
        return {"type": "text", "text": value}
    return value if isinstance(at(value, "text"), str) else None


def _tool(tool: Object) -> Object:
    """A definition: its schema may be that of the arguments, or the whole of it again."""
    schema = tool.get("schema")
    if isinstance(schema, dict) and "input_schema" in schema:
        return schema
    if "schema" not in tool:
        return tool
    rest = {name: value for name, value in tool.items() if name != "schema"}
    return {**rest, "input_schema": schema}
