"""What the styles share: the tools, the spelling of arguments, the text that is sent for a message."""

from __future__ import annotations

import json
from itertools import groupby
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
    if client and (client.respells or client.floats):
        return json.dumps(respelled(call, client))
    return json.dumps(call.arguments, separators=(",", ":"), ensure_ascii=False)


def respelled(call: Call, client: Client | None = None) -> dict[str, Any]:
    """Return arguments as objects, with the keys and numbers that a client or proxy writes."""
    arguments = call.arguments
    if client and client.respells:
        arguments = dict(sorted(arguments.items()))
    if client and client.floats:
        arguments = {name: float(value) if isinstance(value, int) else value for name, value in arguments.items()}
    return arguments


def sent(request: Request) -> list[Node]:
    """The messages that are sent, in the order in which they are sent."""
    absent = request.dropped | request.stored
    nodes = [node for node in request.path if node not in absent] if absent else request.path
    return _results_rearranged(nodes, request) if request.reordered or request.repeated else nodes


def _results_rearranged(nodes: list[Node], request: Request) -> list[Node]:
    """Return messages with results of parallel calls in reverse order, or with results sent twice."""
    arranged: list[Node] = []
    for is_result, run in groupby(nodes, lambda node: node.role == "tool"):
        results = list(run)
        if is_result and request.reordered:
            results.reverse()
        repeated = [node for node in results if node in request.repeated] if is_result else []
        arranged += [*results, *repeated]
    return arranged


def usage(node: Node) -> int:
    """About as many tokens as a reply has."""
    return 1 + len(node.text) // 4
