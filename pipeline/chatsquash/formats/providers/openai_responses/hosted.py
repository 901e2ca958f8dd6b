"""Calls that the service runs itself: an item contains both a call and its result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from chatsquash.core.blocks import FAILED, Block, HostedCall, HostedResult
from chatsquash.core.model import Json
from chatsquash.formats import writing
from chatsquash.formats.calls import parse_json
from chatsquash.formats.providers.openai_responses.items import PROVIDER, rest_of
from chatsquash.formats.values import Object, compact, string

_MCP = "mcp_call"
_Blocks = tuple[HostedCall | HostedResult, ...]


class _Tool(NamedTuple):
    """A hosted tool."""

    type: str
    """The item type of its calls."""
    argument_members: tuple[str, ...] = ()
    """The members of an item that form the arguments."""
    sole_member: str = ""
    """The member that contains all arguments, instead of several members."""
    output: str = ""
    """The member that contains the result."""
    is_required: bool = False
    """Whether the result member is required, even if it is null."""

    def fits(self, value: Json) -> bool:
        """Return whether arguments have the members that an item requires."""
        if not isinstance(value, dict) or any(member not in value for member in self.argument_members):
            return False
        return not (self.sole_member and value) or isinstance(value.get("type"), str)


_TOOLS = {
    "web_search": _Tool("web_search_call", sole_member="action"),
    "file_search": _Tool("file_search_call", ("queries",), output="results"),
    "code_interpreter": _Tool("code_interpreter_call", ("code", "container_id"), output="outputs", is_required=True),
    "image_generation": _Tool("image_generation_call", output="result", is_required=True),
}
_NAMES = {tool.type: name for name, tool in _TOOLS.items()}


def blocks_of(item: Object) -> _Blocks:
    """Load the call in an item, and its result if available; empty for other items."""
    of, ident = string(item, "type"), string(item, "id")
    if of == _MCP and ident:
        return _mcp_blocks(item, ident)
    name = _NAMES.get(of, "")
    if not ident or not name:
        return ()
    tool = _TOOLS[name]
    content = (
        item.get(tool.sole_member, {})
        if tool.sole_member
        else {key: item[key] for key in tool.argument_members if key in item}
    )
    if not tool.fits(content):
        return ()
    more = rest_of(item, "id", tool.output, *tool.argument_members, tool.sole_member)
    call = HostedCall(ident, name, compact(content), PROVIDER, {PROVIDER: more} if more else {})
    return _call_and_result(call, item.get(tool.output), is_failed=item.get("status") == "failed")


def _mcp_blocks(item: Object, ident: str) -> _Blocks:
    """Load the call of a tool of an MCP server, and its result."""
    name, arguments, output, error = (item.get(key) for key in ("name", "arguments", "output", "error"))
    if not (isinstance(name, str) and isinstance(arguments, str) and string(item, "server_label")):
        return ()
    # An MCP call has either an output or an error.
    is_failed = output is None
    more = rest_of(item, "id", "name", "arguments", "output", *(("error",) if is_failed else ()))
    call = HostedCall(ident, name, arguments, PROVIDER, {PROVIDER: more})
    return _call_and_result(call, error if is_failed else output, is_failed=is_failed)


def _call_and_result(call: HostedCall, output: Json, *, is_failed: bool) -> _Blocks:
    result = HostedResult(call.id, call.name, output, "failed" if is_failed else "success", PROVIDER)
    return (call,) if output is None else (call, result)


def results(blocks: Iterable[Block]) -> dict[str, HostedResult]:
    """Return the results of hosted calls by id."""
    return {block.id: block for block in blocks if type(block) is HostedResult and block.provider == PROVIDER}


def item(call: Block, results: dict[str, HostedResult]) -> Object | None:
    """Write the item of a hosted call; return ``None`` for other blocks and for calls without required arguments."""
    if type(call) is not HostedCall or call.provider != PROVIDER:
        return None
    own, result = writing.native(call, PROVIDER), results.get(call.id)
    if string(own, "server_label"):
        output_member = {} if result is None else {"error" if result.outcome in FAILED else "output": result.value}
        return {"type": _MCP, "id": call.id, "name": call.name, "arguments": call.arguments, **output_member, **own}
    value, tool = parse_json(call.arguments), _TOOLS.get(call.name)
    if tool is None or not tool.fits(value):
        return None
    members: Object = {key: value[key] for key in tool.argument_members}
    if tool.sole_member and value:
        members[tool.sole_member] = value
    if tool.output and (result is not None or tool.is_required):
        members[tool.output] = result.value if result is not None else None
    return {"type": tool.type, "id": call.id, "status": "completed", **members, **own}
