"""Calls that the service runs itself: one item holds a call and what came of it."""

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
    """A tool of the service."""

    type: str
    """That of its items."""
    given: tuple[str, ...] = ()
    """The members of an item that are the arguments."""
    whole: str = ""
    """The member that is all arguments, in place of those."""
    output: str = ""
    """The member with what came of it."""
    is_required: bool = False
    """Whether that is there, though it be null."""

    def fits(self, value: Json) -> bool:
        """Whether arguments say what an item has to say."""
        if not isinstance(value, dict) or any(member not in value for member in self.given):
            return False
        return not (self.whole and value) or isinstance(value.get("type"), str)


_TOOLS = {
    "web_search": _Tool("web_search_call", whole="action"),
    "file_search": _Tool("file_search_call", ("queries",), output="results"),
    "code_interpreter": _Tool("code_interpreter_call", ("code", "container_id"), output="outputs", is_required=True),
    "image_generation": _Tool("image_generation_call", output="result", is_required=True),
}
_NAMES = {tool.type: name for name, tool in _TOOLS.items()}


def blocks_of(item: Object) -> _Blocks:
    """The call in an item and what came of it, if it says so; nothing for an item of another kind."""
    of, ident = string(item, "type"), string(item, "id")
    if of == _MCP and ident:
        return _of_server(item, ident)
    name = _NAMES.get(of, "")
    if not ident or not name:
        return ()
    tool = _TOOLS[name]
    content = item.get(tool.whole, {}) if tool.whole else {key: item[key] for key in tool.given if key in item}
    if not tool.fits(content):
        return ()
    more = rest_of(item, "id", tool.output, *tool.given, tool.whole)
    call = HostedCall(ident, name, compact(content), PROVIDER, {PROVIDER: more} if more else {})
    return _both(call, item.get(tool.output), is_failed=item.get("status") == "failed")


def _of_server(item: Object, ident: str) -> _Blocks:
    """The call of a tool of an MCP server."""
    name, arguments, output, error = (item.get(key) for key in ("name", "arguments", "output", "error"))
    if not (isinstance(name, str) and isinstance(arguments, str) and string(item, "server_label")):
        return ()
    is_failed = output is None
    more = rest_of(item, "id", "name", "arguments", "output", *(("error",) if is_failed else ()))
    call = HostedCall(ident, name, arguments, PROVIDER, {PROVIDER: more})
    return _both(call, error if is_failed else output, is_failed=is_failed)


def _both(call: HostedCall, came: Json, *, is_failed: bool) -> _Blocks:
    result = HostedResult(call.id, call.name, came, "failed" if is_failed else "success", PROVIDER)
    return (call,) if came is None else (call, result)


def results(blocks: Iterable[Block]) -> dict[str, HostedResult]:
    """What came of calls of OpenAI's tools, by their ids."""
    return {block.id: block for block in blocks if type(block) is HostedResult and block.provider == PROVIDER}


def item(call: Block, results: dict[str, HostedResult]) -> Object | None:
    """The item of a call of OpenAI's tools; ``None`` for what is none, and one that says too little for that."""
    if type(call) is not HostedCall or call.provider != PROVIDER:
        return None
    own, result = writing.native(call, PROVIDER), results.get(call.id)
    if string(own, "server_label"):
        came = {} if result is None else {"error" if result.outcome in FAILED else "output": result.value}
        return {"type": _MCP, "id": call.id, "name": call.name, "arguments": call.arguments, **came, **own}
    value, tool = parse_json(call.arguments), _TOOLS.get(call.name)
    if tool is None or not tool.fits(value):
        return None
    members: Object = {key: value[key] for key in tool.given}
    if tool.whole and value:
        members[tool.whole] = value
    if tool.output and (result is not None or tool.is_required):
        members[tool.output] = result.value if result is not None else None
    return {"type": tool.type, "id": call.id, "status": "completed", **members, **own}
