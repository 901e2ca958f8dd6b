"""ModelMessage arrays, which the AI SDK sends to models and servers store: calls and results are content parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from chatsquash.core import blocks
from chatsquash.core.blocks import FAILED, Block, Turn
from chatsquash.core.model import Conversation, Json
from chatsquash.formats.calls import arguments_object, call_input, parse_json
from chatsquash.formats.clients.model_messages.read import (
    OPTIONS,
    ROLES,
    data_type,
    read,
    with_options,
    write_file,
    write_returned_file,
    write_text,
)
from chatsquash.formats.clients.pydantic_ai.media import octets
from chatsquash.formats.clients.vercel_ai.metadata import METADATA, PROVIDER, own_members, reasoning_parts
from chatsquash.formats.clients.vercel_ai.tools import DENIED
from chatsquash.formats.evidence import Evidence, MessageList, conversation, line_numbers, message_lists
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.values import Object, at, members, objects, without
from chatsquash.formats.writing import SPEAKERS, instructions_mark, text_of, with_tool_names

NAME = "model_messages"
HAS_TOOLS = False
MEMBERS = ("role", "messages")

LOSES = "developer role, developer mid, refusal, custom tool call, source"
BLURS = """
instructions, file id of OpenAI, file id of Anthropic, hosted call, unanswered hosted call, native members
"""

__all__ = ["HAS_TOOLS", "NAME", "conversations", "dump", "fits"]


def fits(documents: list[Json]) -> str | None:
    """Check for a message with a call, a result, reasoning or a file in the AI SDK's form."""
    is_one = any(isinstance(value, dict) and "role" in value for value in documents)
    lists = (
        [documents] if is_one else (value if isinstance(value, list) else at(value, "messages") for value in documents)
    )
    for turn in chain.from_iterable(map(objects, lists)):
        content, role = turn.get("content"), turn.get("role")
        if type(content) is list and role in ROLES and any(_is_model_part(part, role) for part in objects(content)):
            return "messages with parts such as tool-call and tool-result"
    return None


def conversations(objects: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Load a conversation from each list of messages; messages on separate lines form one conversation."""
    return [_conversation(chat) for chat in message_lists(objects, line_numbers(objects, lines), "role", "messages")]


def _conversation(chat: MessageList) -> Conversation:
    turns = read(chat.turns)
    turns_with_evidence = (
        (turn, Evidence(chat.lines[place], is_sampled=turn.role == "assistant")) for turn, place in turns
    )
    return conversation(turns_with_evidence, {})


def _is_model_part(part: Object, role: str) -> bool:
    """Return whether a part occurs in no other format."""
    match part:
        case {"type": "tool-call" | "tool-result", "toolCallId": str(), "toolName": str()}:
            return True
        case {"type": "tool-approval-request" | "tool-approval-response", "approvalId": str()}:
            return True
        case {"type": "file", "mediaType": str(), "data": _} | {"type": "image", "mediaType": str(), "image": _}:
            return True
        case {"type": "image", "image": image}:
            return _is_image(image)
        case {"type": "reasoning", "text": str()}:
            return role == "assistant"
    return False


def _is_image(image: Json) -> bool:
    """Return whether a value is a URL or image data; in other formats, it is a file path."""
    if not isinstance(image, str):
        return octets(image) is not None
    return image.startswith(("https://", "http://", "data:")) or data_type("image/*", image) != ""


_ROLES = {**SPEAKERS, "tool": "tool"}


def dump(conversation: Conversation) -> list[Json]:
    """Write a message for each turn; responses to approval requests precede results."""
    (turns, tool_names), messages = with_tool_names(turns_of(conversation)), list[Json]()
    open_approvals = list[blocks.Approval]()
    for turn in turns:
        if turn.role == "tool":
            content = list(_results(turn, open_approvals, tool_names))
            open_approvals = []
        else:
            # Responses that no results follow need a separate message.
            messages += _responses(open_approvals)
            open_approvals = [
                each for each in turn.blocks if type(each) is blocks.Approval and each.approved is not None
            ]
            content = [part for block in turn.blocks for part in _parts(block, turn.role)]
        if turn.role in _ROLES and (content or (turn.role == "assistant" and not turn.blocks)):
            messages.append(_message(turn, content))
    return [*messages, *_responses(open_approvals)]


def _message(turn: Turn, content: list[Json]) -> Object:
    """Write a message; its content is a string if it has only a text part, or if its role does not allow parts."""
    role = _ROLES[turn.role]
    value: Json = content
    if role == "system":
        value = text_of(block for block in turn.blocks if type(block) is blocks.Text)
    elif role != "tool" and (not content or (len(content) == 1 and content[0].keys() == {"type", "text"})):
        value = content[0]["text"] if content else ""
    message = with_options({"role": role, "content": value}, turn.native)
    mark = instructions_mark(turn)
    return {**message, OPTIONS: {**message.get(OPTIONS, {}), **mark}} if mark else message


def _parts(block: Block, role: str, medium: Callable[[blocks.Media], Object | None] = write_file) -> Iterator[Object]:
    """Write the parts of a block that are allowed for a role or inside a result; ``medium`` writes media."""
    match block:
        case blocks.Text() | blocks.Refusal():
            yield write_text(block)
        case blocks.Media() if role in ("user", "assistant", "tool") and (part := medium(block)):
            yield part
        case blocks.Other() if role in ("assistant", "tool") and (part := _other(block)):
            yield part
        case _ if role == "assistant":
            yield from _assistant_parts(block)


def _other(block: blocks.Other) -> Object | None:
    """Return a native part as logged, or ``None`` if it came from another format."""
    own: Object = members(block.value) if block.provider == PROVIDER else {}
    if own.get("type") == "custom":
        return {OPTIONS if key == METADATA else key: each for key, each in own.items()}
    return members(own["content"]) if own.keys() == {"content"} else None


def _assistant_parts(block: Block) -> Iterator[Object]:
    """Write the parts that only assistant messages have."""
    match block:
        case blocks.Reasoning():
            yield from ({**with_options({}, block.native), **part} for part in reasoning_parts(block, OPTIONS))
        case blocks.Call():
            yield _tool("call", block, input=call_input(block))
        case blocks.HostedCall():
            yield _tool("call", block, input=arguments_object(block.arguments), providerExecuted=True)
        case blocks.HostedResult():
            yield _tool("result", block, output=_hosted(block))
        case blocks.Approval() if block.call:
            more = {
                "reason" if key == "requestReason" else key: value for key, value in own_members(block.native).items()
            }
            name_member = {"approvalId": block.id or block.call, "toolCallId": block.call}
            yield {"type": "tool-approval-request", **name_member, **more}


def _tool(of: str, block: blocks.Call | blocks.HostedCall | blocks.Result | blocks.HostedResult, **own: Json) -> Object:
    """Write a part for a call or a result."""
    name_member = {"type": f"tool-{of}", "toolCallId": block.id, "toolName": block.name or ""}
    return with_options({**name_member, **own}, block.native)


def _responses(approvals: Iterable[blocks.Approval]) -> list[Json]:
    """Write a message with responses to approval requests that no result follows."""
    answers = list(map(_response, approvals))
    return [{"role": "tool", "content": answers}] if answers else []


def _response(approval: blocks.Approval) -> Object:
    answer = {
        "approvalId": approval.id or approval.call,
        "approved": approval.approved,
        "reason": approval.reason or None,
    }
    return without({"type": "tool-approval-response", **answer})


def _results(turn: Turn, open_approvals: list[blocks.Approval], tool_names: dict[str, str]) -> Iterator[Object]:
    """Write results after the responses to the approval requests of their calls."""
    result_ids = {block.id for block in turn.blocks if type(block) is blocks.Result}
    yield from (_response(each) for each in open_approvals if each.call not in result_ids)
    for block in turn.blocks:
        if type(block) is blocks.Result:
            yield from (_response(each) for each in open_approvals if each.call == block.id)
            part = _tool("result", block, output=_output(block))
            yield {**part, "toolName": block.name or tool_names.get(block.id, "")}


def _output(block: blocks.Result) -> Object:
    """Write the output of a result."""
    text, rest = text_of(block.content), own_members(block.native).get("output", {})
    value = parse_json(text) if block.json else None
    items = [part for each in block.content for part in _parts(each, "tool", write_returned_file)]
    if block.outcome == "denied":
        return {**_denied_output(text), **rest}
    if value is not None or (block.json and text == "null"):
        return {**_value("json", value, block), **rest}
    if block.outcome in FAILED or not items or items == [{"type": "text", "text": text}]:
        return {**_value("text", text, block), **rest}
    return {"type": "content", "value": items, **rest}


def _hosted(block: blocks.HostedResult) -> Object:
    """Write the output of a hosted result."""
    if block.outcome == "denied":
        return _denied_output(block.value)
    # The native member marks a list of parts, which is otherwise written as JSON.
    if "output" in own_members(block.native) and isinstance(block.value, list):
        return {"type": "content", "value": block.value}
    return _value("text" if isinstance(block.value, str) else "json", block.value, block)


def _denied_output(reason: Json) -> Object:
    return {"type": "execution-denied", **({"reason": reason} if isinstance(reason, str) and reason != DENIED else {})}


def _value(of: str, value: Json, block: blocks.Result | blocks.HostedResult) -> Object:
    return {"type": f"error-{of}" if block.outcome in FAILED else of, "value": value}
