"""Model messages as turns."""

from __future__ import annotations

from msgspec.structs import replace

from chatsquash.core.blocks import Approval, Block, Call, HostedCall, HostedResult, Other, Outcome, Result, Text, Turn
from chatsquash.core.model import Json
from chatsquash.formats import calls
from chatsquash.formats.base import TurnError, role_of
from chatsquash.formats.calls import Said, arguments
from chatsquash.formats.clients.model_messages import files
from chatsquash.formats.clients.model_messages.files import OPTIONS, known
from chatsquash.formats.clients.vercel_ai.media import said
from chatsquash.formats.clients.vercel_ai.metadata import METADATA, PROVIDER, joined, native, ran_by, thought
from chatsquash.formats.clients.vercel_ai.read import parts_of
from chatsquash.formats.clients.vercel_ai.tools import DENIED
from chatsquash.formats.values import Object, at, compact, kind, members, objects, string, without
from chatsquash.formats.writing import are_instructions

ROLES = ("system", "user", "assistant", "tool")
_NEEDS = {"text": "text", "reasoning": "text", "tool-call": "toolName", "tool-result": "toolName"}
"""The member without which a part of a type is none."""
_REQUEST, _RESPONSE = "tool-approval-request", "tool-approval-response"
_TOOL = ("type", "toolCallId", "toolName", "input", "args", "output", "result", "isError", "providerExecuted", OPTIONS)
_OUTCOMES: dict[str, Outcome] = {"error-text": "failed", "error-json": "failed", "execution-denied": "denied"}


def read(messages: list[Json]) -> list[tuple[Turn, int]]:
    """The turns of messages, each with its number; raises ``TurnError`` that names the place.

    What was answered to a request for approval belongs to the request; without one it is the user's.
    """
    turns, call, responses = list[tuple[Turn, int]](), 1, _responses(messages)
    ran = dict[str, str]()
    for number, message in enumerate(messages):
        role, parts = _opened(number, message)
        blocks = list[Block]()
        for part in parts:
            if block := _block(part, role, responses, call):
                call += type(block) is Call and block.made_up
                if type(block) is HostedCall:
                    ran[block.id] = block.provider
                elif type(block) is HostedResult:
                    block = replace(block, provider=ran.get(block.id, ""))
                blocks.append(block)
        options = message.get(OPTIONS)
        own = known(options, without(message, "role", "content", OPTIONS))
        results = tuple(block for block in blocks if type(block) is Result)
        if role != "tool":
            turns.append((Turn(role, joined(blocks), are_instructions(options), own), number))
        elif results:
            turns.append((Turn(role, results, native=own), number))
        if role == "tool" and len(results) < len(blocks):
            turns.append((Turn("user", tuple(block for block in blocks if type(block) is not Result)), number))
    return turns


def _responses(messages: list[Json]) -> dict[str, Object]:
    """What was answered to requests for approval, by the ids of these."""
    approvals = [part for message in objects(messages) for part in objects(message.get("content"))]
    asked = {string(part, "approvalId") for part in approvals if part.get("type") == _REQUEST}
    answered = {string(part, "approvalId"): part for part in approvals if part.get("type") == _RESPONSE}
    return {name: part for name, part in answered.items() if name in asked}


def _opened(number: int, message: Json) -> tuple[str, list[Object]]:
    """The role of a message, and its parts."""
    if not isinstance(message, dict):
        raise TurnError(f"[{number}] is {kind(message)}, not an object")
    try:
        role = role_of(message, ROLES)
    except TurnError as problem:
        raise TurnError(f"[{number}] {problem}") from None
    content = message.get("content")
    if isinstance(content, str) and role != "tool":
        return role, [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise TurnError(f"[{number}] has a content that is {kind(content)}")
    return role, parts_of(message, "content", number, _NEEDS)


def _block(part: Object, role: str, responses: dict[str, Object], call: int) -> Block | None:
    """What a part says; nothing for a text that is empty, and for an answer to a request."""
    ident = string(part, "approvalId")
    match part["type"]:
        case "tool-call":
            return _called(part, call)
        case "tool-result":
            return _hosted(part) if role == "assistant" else _result(part)
        case "tool-approval-request":
            return _approval(part, responses.get(ident, {}))
        case "tool-approval-response":
            return None if ident in responses else _approval({"approvalId": ident}, part)
    return _said(part)


def _called(part: Object, call: int) -> Block:
    own, input_text = string(part, "toolCallId"), arguments(part.get("input", part.get("args")))
    extra = known(part.get(OPTIONS), without(part, *_TOOL))
    if part.get("providerExecuted") is True:
        return HostedCall(own, part["toolName"], input_text, ran_by(part.get(OPTIONS)), extra)
    return calls.call(own, call, part["toolName"], input_text, extra)


def _approval(request: Object, response: Object) -> Approval:
    """A request, with what was answered."""
    own, call = string(request, "approvalId"), string(request, "toolCallId")
    rest = without(request, "type", "approvalId", "toolCallId", "reason")
    extra = native({}, {**rest, "requestReason": request.get("reason")})
    approved = response["approved"] if isinstance(response.get("approved"), bool) else None
    return Approval(call, "" if own == call else own, approved, string(response, "reason"), extra)


def _said(part: Object) -> Block | None:
    """What a part says that neither calls nor answers; ``None`` for a text that is empty."""
    options, more = part.get(OPTIONS), without(part, "type", "text", OPTIONS)
    made: Block | None = None
    match part:
        case {"type": "text", "text": str(text)} if text:
            return Text(text, native=known(options, more) if options or more else {})
        case {"type": "reasoning", "text": str(text)} if thinking := thought(text, options, {}):
            return replace(thinking, native={**thinking.native, **known(None, more)})
        case {"type": "text" | "reasoning", "text": str()} if not (options or more):
            return None
        case {"type": "file" | "image"}:
            made = files.read(part)
        case {"type": "custom"}:
            made = Other(PROVIDER, {METADATA if key == OPTIONS else key: value for key, value in part.items()})
    return made or Other(PROVIDER, {"content": part})


def _result(part: Object) -> Result:
    """The result of a call; those of version 4 have the value itself."""
    output = part.get("output")
    content, outcome = _output(output), _OUTCOMES.get(string(output, "type"), "success")
    if "result" in part and output is None:
        content, outcome = said(part["result"]), "failed" if part.get("isError") is True else "success"
    rest = without(members(output), "type", "value", "reason")
    extra = known(part.get(OPTIONS), without(part, *_TOOL), output=rest)
    return Result(string(part, "toolCallId"), part["toolName"], content.content, content.json, outcome, native=extra)


def _output(output: Json) -> Said:
    """What a tool gave."""
    match output:
        case {"type": "text" | "error-text" | "json" | "error-json", "value": str(text)}:
            return Said((Text(text),) if text else ())
        case {"type": "json" | "error-json"}:
            return Said((Text(compact(output.get("value"))),), json=True)
        case {"type": "execution-denied"}:
            return Said((Text(string(output, "reason") or DENIED),))
        case {"type": "content", "value": list(items)}:
            return Said(tuple(block for each in items if (block := _given(each))))
    return said(output)


def _given(part: Json) -> Block | None:
    """A text or a file among what a tool gave."""
    match part:
        case {"type": "text", "text": str()}:
            return _said(part)
        case {"type": str(of)} if of.startswith(("file", "image", "media")):
            return files.read(part) or Other(PROVIDER, {"content": part})
    return Other(PROVIDER, {"content": part})


def _hosted(part: Object) -> HostedResult:
    """What a tool gave that the provider ran."""
    output = part.get("output")
    of = string(output, "type")
    value = at(output, "value") if isinstance(output, dict) else part.get("result")
    if of == "execution-denied":
        value = string(output, "reason") or DENIED
    extra = known(part.get(OPTIONS), without(part, *_TOOL), output={"type": of} if of == "content" else {})
    outcome = _OUTCOMES.get(of, "success")
    return HostedResult(string(part, "toolCallId"), part["toolName"], value, outcome, native=extra)
