"""Calls of the tools of MCP servers, which Pydantic AI names by the server, with the tool among what they are given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from chatsquash.core.blocks import Block, HostedCall, HostedResult, Outcome
from chatsquash.core.model import Json
from chatsquash.formats.calls import arguments_object, parsed
from chatsquash.formats.values import Object, compact, string
from chatsquash.formats.writing import native

_KIND = "mcp_server:"
_CALLS: dict[str, tuple[str, Object]] = {
    "anthropic": ("server_name", {"type": "mcp_tool_use"}),
    "openai": ("server_label", {}),
}
"""The member that names the server, and what else says of a call that it is one."""
_OUTCOMES = ("success", "failed")


def opened(blocks: Sequence[Block]) -> Sequence[Block]:
    """Blocks with such calls, and results that follow them, as their provider has them."""
    return list(_all_opened(blocks)) if _are_hosted(blocks) else blocks


def packed(blocks: Sequence[Block]) -> Sequence[Block]:
    """The same blocks as Pydantic AI has them."""
    return list(_all_packed(blocks)) if _are_hosted(blocks) else blocks


def _are_hosted(blocks: Sequence[Block]) -> bool:
    return any(type(block) is HostedCall for block in blocks)


def _all_opened(blocks: Iterable[Block]) -> Iterator[Block]:
    calls = dict[str, HostedCall]()
    for block in blocks:
        made = block
        if type(block) is HostedCall and (call := _opened(block)):
            made = calls[block.id] = call
        elif type(block) is HostedResult and block.id in calls and (came := _came(block)):
            made = replace(block, name=_named(calls[block.id]), value=came[0], outcome=came[1])
        yield made


def _opened(block: HostedCall) -> HostedCall | None:
    server, given = block.name.removeprefix(_KIND), parsed(block.arguments)
    match given:
        case {"action": "call_tool", "tool_name": str(name), "tool_args": dict(inner)} if len(given) == 3:
            if block.provider in _CALLS and server not in ("", block.name):
                member, mark = _CALLS[block.provider]
                own = {**native(block, block.provider), **mark, member: server}
                return replace(block, name=name, arguments=compact(inner), native={**block.native, block.provider: own})
    return None


def _came(result: HostedResult) -> tuple[Json, Outcome] | None:
    value: Json = result.value if result.outcome == "success" else None
    match value:
        case {"content": told, "is_error": bool(is_failed)} if len(value) == 2:
            return told, "failed" if is_failed else "success"
        case {"output": told, "error": error} if len(value) == 2 and (told is None) is not (error is None):
            return (error, "failed") if told is None else (told, "success")
    return None


def _named(call: HostedCall) -> str:
    """What its provider calls the tool in a result."""
    return "mcp" if call.provider == "anthropic" else call.name


def _all_packed(blocks: Iterable[Block]) -> Iterator[Block]:
    calls = dict[tuple[str, str], str]()
    for block in blocks:
        made = block
        if type(block) is HostedCall and (name := _name(block)):
            calls[block.id, _named(block)] = name
            given = {"action": "call_tool", "tool_name": block.name, "tool_args": arguments_object(block.arguments)}
            made = replace(block, name=name, arguments=compact(given))
        elif type(block) is HostedResult and block.outcome in _OUTCOMES and (block.id, block.name) in calls:
            failed, value = block.outcome == "failed", block.value
            told: Object = {"output": None if failed else value, "error": value if failed else None}
            told = {"content": value, "is_error": failed} if block.provider == "anthropic" else told
            made = replace(block, name=calls[block.id, block.name], value=told, outcome="success")
        yield made


def _name(call: HostedCall) -> str:
    """What Pydantic AI calls the tools of a call's server; empty where none is known."""
    member, mark = _CALLS.get(call.provider, ("", {}))
    own = native(call, call.provider)
    server = string(own, member) if member and own.items() >= mark.items() else ""
    return f"{_KIND}{server}" if server else ""
