"""What the styles share: the tools, the spelling of arguments, the text that is sent for a message."""

from __future__ import annotations

import json
from typing import Any

from tests.simulator.client import Client
from tests.simulator.nodes import CLEARED, Call, Node, Request

TOOLS = {
    "read_file": ("Read a file.", ("path",)),
    "search": ("Search all files.", ("pattern", "path")),
    "run": ("Run a command.", ("command", "note")),
    "write_file": ("Write a file.", ("path", "text")),
    "delegate": ("Let another agent do a task.", ("title", "prompt")),
}
"""Name, and what it does with which arguments."""
WORKING = ("read_file", "search", "run", "write_file")


def schema(name: str) -> dict[str, Any]:
    """The parameters of a tool."""
    members = TOOLS[name][1]
    return {"type": "object", "properties": {each: {"type": "string"} for each in members}, "required": list(members)}


def text_of(node: Node, request: Request) -> str:
    """A message's text as it is sent."""
    return CLEARED if node in request.cleared else request.changed.get(node, node.text)


def spelled(call: Call, client: Client | None = None) -> str:
    """Arguments as JSON, as the model wrote them or as a client writes them anew."""
    if client and client.respells:
        return json.dumps(call.arguments, sort_keys=True)
    return json.dumps(call.arguments, separators=(",", ":"), ensure_ascii=False)


def sent(request: Request) -> list[Node]:
    """The messages that are sent."""
    return [node for node in request.path if node not in request.dropped] if request.dropped else request.path


def usage(node: Node) -> int:
    """About as many tokens as a reply has."""
    return 1 + len(node.text) // 4
