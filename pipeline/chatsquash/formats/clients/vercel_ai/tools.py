"""Load and write tool calls in UI messages: a call, its approval and its result form one part."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from chatsquash.core.blocks import FAILED, Approval, Block, Call, HostedCall, HostedResult, Outcome, Result, Turn
from chatsquash.core.model import Json
from chatsquash.formats import calls
from chatsquash.formats.calls import arguments, arguments_object, call_input
from chatsquash.formats.clients.pydantic_ai.members import provider_of
from chatsquash.formats.clients.vercel_ai import media
from chatsquash.formats.clients.vercel_ai.metadata import (
    PYDANTIC,
    metadata,
    native,
    own_members,
    ran_by,
    without_members,
)
from chatsquash.formats.values import Object, at, compact, members, string, without
from chatsquash.formats.writing import text_of

DENIED = "Tool call execution denied."
"""The result that models see for calls that were denied without a reason."""
_OUTCOMES: dict[Json, Outcome] = {"output-available": "success", "output-error": "failed", "output-denied": "denied"}
"""The outcomes of calls, by state; calls in other states have no result."""
_DYNAMIC = "dynamic-tool"
_METADATA, _NAME = "callProviderMetadata", "provider_name"
_PYDANTIC_RESULT_MEMBERS = ("outcome", "retry", "content", "call_meta", "return_meta")
"""Pydantic AI's members in the metadata of a call that belong to its result."""
_RESULT_MEMBERS = ("resultProviderMetadata", "preliminary")
_READ = (
    *("type", "toolName", "toolCallId", "input", "rawInput", "output", "errorText", "approval", "state"),
    *(_METADATA, "providerExecuted", *_RESULT_MEMBERS),
)
_UNUSUAL_VALUES = {"type": _DYNAMIC, "state": "input-streaming"}
"""The values of members that cannot be derived from a call."""
AnyCall = Call | HostedCall
AnyResult = Result | HostedResult


def is_tool(part: Object) -> bool:
    """Return whether a part is a call, including hosted calls."""
    return str(part["type"]).startswith("tool-") or part["type"] == _DYNAMIC


def is_hosted(part: Object) -> bool:
    """Return whether the provider runs the tool of a call."""
    return part.get("providerExecuted") is True


def is_answered(part: Object) -> bool:
    """Return whether a part is a call with a result."""
    return is_tool(part) and string(part, "state") in _OUTCOMES


# Reading


def read(part: Object, number: int) -> Iterator[Block]:
    """Load a call, its approval and its result."""
    name = part["toolName"] if part["type"] == _DYNAMIC else part["type"].removeprefix("tool-")
    input_text = arguments(part["input"] if part.get("input") is not None else part.get("rawInput"))
    if is_hosted(part):
        yield from _hosted(part, name, input_text)
        return
    extra = native(without_members(part.get(_METADATA), *_PYDANTIC_RESULT_MEMBERS), _more(part))
    call = calls.call(string(part, "toolCallId"), number, name, input_text, extra)
    yield call
    yield from _approval(part, call.id)
    if is_answered(part):
        yield _result(part, call)


def _more(part: Object) -> Object:
    """Return the members of a call that only the AI SDK has."""
    defaults = {name: value for name, value in _UNUSUAL_VALUES.items() if part.get(name) == value}
    return {**without(part, *_READ), **defaults}


def _hosted(part: Object, name: str, input_text: str) -> Iterator[Block]:
    """Load a hosted call and its result, whose metadata Pydantic AI stores together."""
    call_arguments, ident = members(part.get(_METADATA)), string(part, "toolCallId")
    own = members(call_arguments.get(PYDANTIC))
    by = own.get(_NAME) if own else ran_by(call_arguments)
    meta: Object = {**without(own, *_PYDANTIC_RESULT_MEMBERS), _NAME: by, **members(own.get("call_meta"))}
    extra = native({**call_arguments, PYDANTIC: meta}, _more(part), has_provider=True)
    yield HostedCall(ident, name, input_text, provider_of(string(meta, _NAME)), extra)
    yield from _approval(part, ident)
    if is_answered(part):
        meta = {_NAME: by, **members(own.get("return_meta"))}
        extra = native({PYDANTIC: meta}, {key: part.get(key) for key in _RESULT_MEMBERS}, has_provider=True)
        outcome, provider = _OUTCOMES[part["state"]], provider_of(string(meta, _NAME))
        yield HostedResult(ident, name, _value(part), outcome, provider, extra)


def _approval(part: Object, call: str) -> Iterator[Approval]:
    """Load the approval of a call."""
    # A denial with only a reason can be derived from the result, so it is not loaded.
    approval = part.get("approval")
    own = string(approval, "id")
    if isinstance(approval, dict):
        rest = without(approval, "id", "approved", "reason")
        if own not in (call, "") or rest or part.get("state") != "output-denied":
            approved = approval["approved"] if isinstance(approval.get("approved"), bool) else None
            yield Approval(call, "" if own == call else own, approved, string(approval, "reason"), native({}, rest))


def _result(part: Object, call: Call) -> Result:
    """Load the result of a call; Pydantic AI's metadata marks retries and interruptions."""
    own, outcome, value = at(part.get(_METADATA), PYDANTIC), _OUTCOMES[part["state"]], _value(part)
    match outcome, at(own, "outcome"):
        case "failed", "retried":
            errors, outcome = at(own, "content"), "retried"
            # The metadata contains the original errors; the error text is their wording for the model.
            value = errors if isinstance(errors, list) else value
        case "success", "interrupted":
            outcome = "interrupted"
    extra = native({PYDANTIC: {"retry": at(own, "retry")}}, {key: part.get(key) for key in _RESULT_MEMBERS})
    content = media.result_content(value)
    return Result(call.id, call.name or "", content.content, content.json, outcome, call.made_up, extra)


def _value(part: Object) -> Json:
    """Return the output of a tool, or the text that models see instead of an output."""
    if part["state"] == "output-error":
        error = part.get("errorText")
        return error if isinstance(error, str) else compact(error)
    return denial(part.get("approval")) if part["state"] == "output-denied" else part.get("output")


def denial(holder: Json) -> str:
    """Return the text that models see for a denied call: its reason, which may be empty, or the default."""
    reason = at(holder, "reason")
    return reason if isinstance(reason, str) else DENIED


# Writing


Place = tuple[int, int]
"""The place of a block: the index of its turn, and its index in the turn."""


def answers(turns: Sequence[Turn]) -> dict[Place, tuple[Place, AnyResult]]:
    """Match results with calls: a result answers the first open call with its id in the latest turn with such calls.

    Returns:
        the places of results and the results, by the place of the call
    """
    waiting, pairs = dict[tuple[str, bool], list[deque[Place]]](), dict[Place, tuple[Place, AnyResult]]()
    for number, turn in enumerate(turns):
        for place, block in enumerate(turn.blocks):
            if isinstance(block, Call | HostedCall):
                open_calls = waiting.setdefault((block.id, type(block) is Call), [])
                if not open_calls or open_calls[-1][0][0] != number:
                    open_calls.append(deque())
                open_calls[-1].append((number, place))
            elif isinstance(block, Result | HostedResult) and (
                candidates := waiting.get((block.id, type(block) is Result))
            ):
                pairs[candidates[-1].popleft()] = (number, place), block
                if not candidates[-1]:
                    candidates.pop()
    return pairs


def write(call: AnyCall | None, answer: AnyResult | None, approval: Approval | None) -> Object:
    """Write a call with its result and approval; a result without a call is written with an empty input."""
    block: AnyCall | AnyResult | None = call or answer
    if block is None:
        return {}
    own, name = own_members(block.native), block.name or ""
    part: Object = {"type": _DYNAMIC, "toolName": name} if own.get("type") == _DYNAMIC else {"type": f"tool-{name}"}
    part |= {"toolCallId": block.id, "state": own.get("state", "input-available")}
    part["input"] = call_input(call) if isinstance(call, Call) else arguments_object(call.arguments if call else "")
    if isinstance(block, HostedCall | HostedResult):
        part["providerExecuted"] = True
    part |= without(own, "type", "state")
    # A denial is written with the answer instead.
    if approval and (approval.approved or not answer):
        part |= _approval_state(approval)
    if answer:
        part |= {**without(own_members(answer.native), "type"), **_answer_state(answer, approval)}
    extra = _metadata(call, answer)
    return {**part, **({_METADATA: extra} if extra else {})}


def _approval_state(approval: Approval) -> Object:
    """Write the state and the approval request of a call."""
    request: Object = {"id": approval.id or approval.call, **own_members(approval.native)}
    if approval.approved is None:
        return {"state": "approval-requested", "approval": request}
    request |= without({"approved": approval.approved, "reason": approval.reason or None})
    return {"state": "approval-responded", "approval": request}


def _answer_state(answer: AnyResult, approval: Approval | None) -> Object:
    """Write the state and the output of a call, or its denial instead of the output."""
    value = media.result_value(answer) if isinstance(answer, Result) else answer.value
    text = text_of(answer.content) if isinstance(answer, Result) else at(value, "error_text") or value
    text = text if isinstance(text, str) else compact(text)
    if answer.outcome in FAILED:
        return {"state": "output-error", "errorText": text}
    if answer.outcome != "denied":
        return {"state": "output-available", "output": value}
    denial = {"id": answer.id} if approval is None else {"id": approval.id or answer.id, **own_members(approval.native)}
    has_reason = text != DENIED or (approval is not None and approval.reason == text)
    return {
        "state": "output-denied",
        "approval": {**denial, "approved": False, **({"reason": text} if has_reason else {})},
    }


def _metadata(call: Any, answer: Any) -> Object:
    """Write the metadata of a call and its result, combined as in Pydantic AI's adapter."""
    if isinstance(call or answer, HostedCall | HostedResult):
        hosted, result_members = _hosted_metadata(call), _hosted_metadata(answer).get(PYDANTIC)
        if answer and (result_members or hosted.get(PYDANTIC)):
            hosted[PYDANTIC] = without({"call_meta": hosted.get(PYDANTIC), "return_meta": result_members})
        return hosted
    own: Object = {"retry": at(answer.native, PYDANTIC, "retry") if answer else None}
    if answer and answer.outcome in ("interrupted", "retried"):
        own["outcome"] = answer.outcome
        if answer.json and answer.outcome == "retried" and isinstance(value := media.result_value(answer), list):
            own["content"] = value
    return metadata(call.native if call else {}, **own)


def _hosted_metadata(block: HostedCall | HostedResult | None) -> Object:
    """Write the metadata of a hosted call or result, with its provider."""
    if block is None:
        return {}
    return metadata(block.native, provider_name=at(block.native, PYDANTIC, _NAME) or block.provider)
