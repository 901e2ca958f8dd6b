"""Calls of tools in UI messages: a call, what became of its approval and its result are one part."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from chatsquash.core.blocks import FAILED, Approval, Block, Call, HostedCall, HostedResult, Outcome, Result, Turn
from chatsquash.core.model import Json
from chatsquash.formats import calls
from chatsquash.formats.calls import arguments, arguments_object, call_input
from chatsquash.formats.clients.pydantic_ai.members import whose
from chatsquash.formats.clients.vercel_ai import media
from chatsquash.formats.clients.vercel_ai.metadata import (
    PYDANTIC,
    metadata,
    native,
    own_members,
    ran_by,
    unclaimed,
)
from chatsquash.formats.values import Object, at, compact, members, string, without
from chatsquash.formats.writing import text_of

DENIED = "Tool call execution denied."
"""What the AI SDK tells the model of a call that was denied without a reason."""
_ANSWERED: dict[Json, Outcome] = {"output-available": "success", "output-error": "failed", "output-denied": "denied"}
"""The states of calls that have a result."""
_DYNAMIC = "dynamic-tool"
_METADATA, _NAME = "callProviderMetadata", "provider_name"
_OF_RESULT = ("outcome", "retry", "content", "call_meta", "return_meta")
"""What Pydantic AI knows of the result among what it knows of the call."""
_LATE = ("resultProviderMetadata", "preliminary")
_READ = (
    *("type", "toolName", "toolCallId", "input", "rawInput", "output", "errorText", "approval", "state"),
    *(_METADATA, "providerExecuted", *_LATE),
)
_KEPT = {"type": _DYNAMIC, "state": "input-streaming"}
"""What a call alone does not say."""
Asked = Call | HostedCall
Answer = Result | HostedResult


def is_tool(part: Object) -> bool:
    """Whether a part is of a call, whoever runs the tool."""
    return str(part["type"]).startswith("tool-") or part["type"] == _DYNAMIC


def is_hosted(part: Object) -> bool:
    """Whether the provider runs the tool."""
    return part.get("providerExecuted") is True


def is_answered(part: Object) -> bool:
    """Whether a part is of a call that has a result."""
    return is_tool(part) and string(part, "state") in _ANSWERED


# Reading


def read(part: Object, number: int) -> Iterator[Block]:
    """A call, what became of its approval, and its result."""
    name = part["toolName"] if part["type"] == _DYNAMIC else part["type"].removeprefix("tool-")
    input_text = arguments(part["input"] if part.get("input") is not None else part.get("rawInput"))
    if is_hosted(part):
        yield from _hosted(part, name, input_text)
        return
    extra = native(unclaimed(part.get(_METADATA), *_OF_RESULT), _more(part))
    call = calls.call(string(part, "toolCallId"), number, name, input_text, extra)
    yield call
    yield from _approval(part, call.id)
    if is_answered(part):
        yield _result(part, call)


def _more(part: Object) -> Object:
    """What the AI SDK alone knows of a call."""
    defaults = {name: value for name, value in _KEPT.items() if part.get(name) == value}
    return {**without(part, *_READ), **defaults}


def _hosted(part: Object, name: str, input_text: str) -> Iterator[Block]:
    """A call that a provider ran; of the call and of its result Pydantic AI knows more, which it puts together."""
    call_arguments, ident = members(part.get(_METADATA)), string(part, "toolCallId")
    own = members(call_arguments.get(PYDANTIC))
    by = own.get(_NAME) if own else ran_by(call_arguments)
    meta: Object = {**without(own, *_OF_RESULT), _NAME: by, **members(own.get("call_meta"))}
    extra = native({**call_arguments, PYDANTIC: meta}, _more(part), is_told=True)
    yield HostedCall(ident, name, input_text, whose(string(meta, _NAME)), extra)
    yield from _approval(part, ident)
    if is_answered(part):
        meta = {_NAME: by, **members(own.get("return_meta"))}
        extra = native({PYDANTIC: meta}, {key: part.get(key) for key in _LATE}, is_told=True)
        outcome, provider = _ANSWERED[part["state"]], whose(string(meta, _NAME))
        yield HostedResult(ident, name, _value(part), outcome, provider, extra)


def _approval(part: Object, call: str) -> Iterator[Approval]:
    """What became of the approval of a call; a denial that has only its reason is told by the result."""
    approval = part.get("approval")
    own = string(approval, "id")
    if isinstance(approval, dict):
        rest = without(approval, "id", "approved", "reason")
        if own not in (call, "") or rest or part.get("state") != "output-denied":
            approved = approval["approved"] if isinstance(approval.get("approved"), bool) else None
            yield Approval(call, "" if own == call else own, approved, string(approval, "reason"), native({}, rest))


def _result(part: Object, call: Call) -> Result:
    """What a tool gave; that it is asked to be done again, or was interrupted, Pydantic AI says."""
    own, outcome, value = at(part.get(_METADATA), PYDANTIC), _ANSWERED[part["state"]], _value(part)
    match outcome, at(own, "outcome"):
        case "failed", "retried":
            errors, outcome = at(own, "content"), "retried"
            value = errors if isinstance(errors, list) else value
        case "success", "interrupted":
            outcome = "interrupted"
    extra = native({PYDANTIC: {"retry": at(own, "retry")}}, {key: part.get(key) for key in _LATE})
    said = media.said(value)
    return Result(call.id, call.name or "", said.content, said.json, outcome, call.made_up, extra)


def _value(part: Object) -> Json:
    """What a tool gave, or is told in its place."""
    if part["state"] == "output-error":
        words = part.get("errorText")
        return words if isinstance(words, str) else compact(words)
    return denial(part.get("approval")) if part["state"] == "output-denied" else part.get("output")


def denial(holder: Json) -> str:
    """What the model is told of a call that was denied: the reason, which may be empty, where there is one."""
    reason = at(holder, "reason")
    return reason if isinstance(reason, str) else DENIED


# Writing


Place = tuple[int, int]
"""Of a block: the number of its turn, and its own in that."""


def answers(turns: Sequence[Turn]) -> dict[Place, tuple[Place, Answer]]:
    """The result of each call, by the call's place: the first that waits in the nearest turn that has one."""
    waiting, pairs = dict[tuple[str, bool], list[deque[Place]]](), dict[Place, tuple[Place, Answer]]()
    for number, turn in enumerate(turns):
        for place, block in enumerate(turn.blocks):
            if isinstance(block, Call | HostedCall):
                asked = waiting.setdefault((block.id, type(block) is Call), [])
                if not asked or asked[-1][0][0] != number:
                    asked.append(deque())
                asked[-1].append((number, place))
            elif isinstance(block, Result | HostedResult) and (open_ := waiting.get((block.id, type(block) is Result))):
                pairs[open_[-1].popleft()] = (number, place), block
                if not open_[-1]:
                    open_.pop()
    return pairs


def write(call: Asked | None, answer: Answer | None, approval: Approval | None) -> Object:
    """A call with its result; one that nobody knows has no input."""
    block: Asked | Answer | None = call or answer
    if block is None:
        return {}
    own, name = own_members(block.native), block.name or ""
    made: Object = {"type": _DYNAMIC, "toolName": name} if own.get("type") == _DYNAMIC else {"type": f"tool-{name}"}
    made |= {"toolCallId": block.id, "state": own.get("state", "input-available")}
    made["input"] = call_input(call) if isinstance(call, Call) else arguments_object(call.arguments if call else "")
    if isinstance(block, HostedCall | HostedResult):
        made["providerExecuted"] = True
    made |= without(own, "type", "state")
    if approval and (approval.approved or not answer):
        made |= _approval_state(approval)
    if answer:
        made |= {**without(own_members(answer.native), "type"), **_answer_state(answer, approval)}
    extra = _metadata(call, answer)
    return {**made, **({_METADATA: extra} if extra else {})}


def _approval_state(approval: Approval) -> Object:
    """The state of a call that somebody was asked about."""
    request: Object = {"id": approval.id or approval.call, **own_members(approval.native)}
    if approval.approved is None:
        return {"state": "approval-requested", "approval": request}
    request |= without({"approved": approval.approved, "reason": approval.reason or None})
    return {"state": "approval-responded", "approval": request}


def _answer_state(answer: Answer, approval: Approval | None) -> Object:
    """What a tool gave; that a call was denied stands in the place of that."""
    value = media.given_by(answer) if isinstance(answer, Result) else answer.value
    words = text_of(answer.content) if isinstance(answer, Result) else at(value, "error_text") or value
    words = words if isinstance(words, str) else compact(words)
    if answer.outcome in FAILED:
        return {"state": "output-error", "errorText": words}
    if answer.outcome != "denied":
        return {"state": "output-available", "output": value}
    denial = {"id": answer.id} if approval is None else {"id": approval.id or answer.id, **own_members(approval.native)}
    is_told = words != DENIED or (approval is not None and approval.reason == words)
    return {
        "state": "output-denied",
        "approval": {**denial, "approved": False, **({"reason": words} if is_told else {})},
    }


def _metadata(call: Any, answer: Any) -> Object:
    """What providers know of a call and of its result, as Pydantic AI's adapter puts the two together."""
    if isinstance(call or answer, HostedCall | HostedResult):
        hosted, gave = _of_hosted(call), _of_hosted(answer).get(PYDANTIC)
        if answer and (gave or hosted.get(PYDANTIC)):
            hosted[PYDANTIC] = without({"call_meta": hosted.get(PYDANTIC), "return_meta": gave})
        return hosted
    own: Object = {"retry": at(answer.native, PYDANTIC, "retry") if answer else None}
    if answer and answer.outcome in ("interrupted", "retried"):
        own["outcome"] = answer.outcome
        if answer.json and answer.outcome == "retried" and isinstance(value := media.given_by(answer), list):
            own["content"] = value
    return metadata(call.native if call else {}, **own)


def _of_hosted(block: HostedCall | HostedResult | None) -> Object:
    """The metadata of what a provider ran, with who it was."""
    if block is None:
        return {}
    return metadata(block.native, provider_name=at(block.native, PYDANTIC, _NAME) or block.provider)
