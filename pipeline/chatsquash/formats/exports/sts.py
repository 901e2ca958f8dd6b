"""The Hugging Face Hub's session traces (STS): a header line, then a line for each message."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import chain
from typing import get_args

from msgspec.structs import replace

from chatsquash.core import jsonio
from chatsquash.core.blocks import FORM, Call, Reasoning, Result, Turn
from chatsquash.core.model import Conversation, ConversationKind, Json, OriginReply, Tool
from chatsquash.formats.base import TurnError, expect_object
from chatsquash.formats.calls import KEY, assistant_message, call_input, spell_call, tool_message
from chatsquash.formats.evidence import (
    Evidence,
    LoggedTurn,
    Unread,
    entries,
    line_numbers,
    load_conversation,
    moment,
    origin_of,
    replies_of_turns,
)
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.providers.openai_chat.write import write_tools
from chatsquash.formats.threads import text, with_unread
from chatsquash.formats.values import Object, at, compact, objects, string, without
from chatsquash.formats.writing import SPEAKERS, failure_mark, failure_text, instructions_mark, text_of

NAME = "sts"
HAS_TOOLS = False
MEMBERS = ("harness",)
LINES = True

HARNESS = "chatsquash"
"""The harness in traces of sessions whose agent is unknown."""
_MESSAGE = ("role", "content", "reasoningContent", "toolCalls", "toolCallId", "timestamp", "model", KEY)
_LINKS = ("sessionId", "kind", "parentId")
"""Members of a header that relate a conversation to others of its session; the format allows any members there."""
_HEADER = ("type", "id", "tools", *_LINKS)
_KINDS = frozenset(get_args(ConversationKind)) - {"main"}
_FIRST = 20
_MILLISECONDS = 10**11
"""The least time in milliseconds that is not read as seconds."""


# Reading


def fits(values: list[Json]) -> str | None:
    """Check for a header with a harness, without lines that belong to Pi."""
    lines = _lines_of(values[:_FIRST])
    header = lines[0] if lines else None
    is_header = (
        at(header, "type") == "session" and bool(string(header, "harness")) and isinstance(at(header, "id"), str)
    )
    is_of_pi = any("parentId" in each for each in objects(lines[1:_FIRST]))
    return "a line of type session with harness" if is_header and not is_of_pi else None


def _lines_of(values: list[Json]) -> list[Json]:
    """Return the lines of files, each of which may also be an array of its lines, as ``dump`` returns them."""
    return list(chain.from_iterable(each if isinstance(each, list) else [each] for each in values))


def conversations(values: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Return the conversation after each header; a header may have tool definitions in addition to its members."""
    sessions = list[tuple[Object, list[LoggedTurn]]]()
    unread = Unread()
    numbers = [
        line
        for line, value in zip(line_numbers(values, lines), values, strict=True)
        for _ in range(len(value) if isinstance(value, list) else 1)
    ]
    for number, line, value in entries(_lines_of(values), numbers):
        place = f"line {line or number}"
        if at(value, "type") == "session":
            sessions.append((value, []))
        elif at(value, "type") != "message":
            unread.count(f"line {compact(at(value, 'type'))[:40]}")
        elif not sessions:
            raise TurnError(f"{place}: message before the session line")
        else:
            message = expect_object(at(value, "message"), f"{place}: message is")
            unread.count_members("message", message, *_MESSAGE)
            sessions[-1][1].append(_turn(message, place, line))
    is_document = any(isinstance(each, list) for each in values)  # of which even an empty one is a conversation
    converted = [_conversation(header, turns) for header, turns in sessions if turns or is_document]
    return with_unread(converted, unread)


def defined_tools(document: Json) -> list[Tool]:
    """Return the tool definitions in a document."""
    return openai_chat.tools(at(document[0], "tools")).functions


def _conversation(header: Object, turns: list[LoggedTurn]) -> Conversation:
    name, session, kind = string(header, "id"), string(header, "sessionId"), string(header, "kind")
    links: Object = {"id": name, "session_id": session} if session else {"session_id": name}
    if kind in _KINDS:
        links |= {"id": name, "kind": kind, "parent": text(header.get("parentId"))}
    tools = openai_chat.tools(header.get("tools")).functions
    conversation = load_conversation(openai_chat, turns, tools, **links)
    # Like session ids, these members describe the session and are not content that other formats lose.
    description = {"header": without(header, *_HEADER), "times": [each.evidence.time for each in turns]}
    return replace(conversation, native={FORM: description})


def _turn(message: Object, place: str, line: int) -> LoggedTurn:
    role, content = message.get("role"), message.get("content")
    known = Evidence(line, moment(message.get("timestamp")))
    mark: Object = {KEY: message[KEY]} if KEY in message else {}
    if role == "assistant":
        calls = [_call(each) for each in objects(message.get("toolCalls"))]
        turn = assistant_message(content, calls, text(message.get("reasoningContent")) or "")
        return LoggedTurn(place, turn, replace(known, is_sampled=True, model=text(message.get("model"))))
    if role == "tool":
        return LoggedTurn(place, tool_message(message.get("toolCallId"), content) | mark, known)
    if role not in ("user", "system"):
        raise TurnError(f"{place}: unknown role {compact(role)[:40]}")
    return LoggedTurn(place, {"role": role, "content": content} | mark, known)


def _call(call: Object) -> Object:
    return spell_call(call.get("id"), at(call, "function", "name"), at(call, "function", "arguments"))


# Writing


def dump(conversation: Conversation) -> Json:
    """Write the lines of a trace: the header, and a line for each message.

    Messages have text, reasoning, calls and results.  The format has no members for branches, so the header has the ids
    of the session and of the parent conversation, and no members for token counts.
    """
    messages = list(_messages(conversation))
    times = conversation.native.get(FORM, {}).get("times", [])
    if len(times) == len(messages):  # those of messages other than replies
        messages = [{**message, **_time(time and time.at)} for message, time in zip(messages, times, strict=True)]
    lines = [{"type": "message", "message": message} for message in messages]
    return [_header(conversation, messages), *lines]


def _header(conversation: Conversation, messages: list[Object]) -> Object:
    origin, description = origin_of(conversation), conversation.native.get(FORM, {}).get("header", {})
    own = origin.id or origin.session_id or sha256(jsonio.dumps(messages)).hexdigest()[:32]
    links: Object = {"id": own}
    if origin.session_id and origin.session_id != own:
        links["sessionId"] = origin.session_id
    if origin.kind != "main":
        links |= {"kind": origin.kind, **({"parentId": origin.parent} if origin.parent else {})}
    harness = string(description, "harness") or (conversation.source if conversation.source != NAME else "") or HARNESS
    definitions = write_tools(conversation.tools)
    tools = {"tools": definitions} if definitions else {}
    return {"type": "session", "harness": harness, **links, **without(description, "harness", *_HEADER), **tools}


def _messages(conversation: Conversation) -> Iterator[Object]:
    """Yield the message of each turn and each result, with the time and the model of replies."""
    turns = turns_of(conversation)
    replies = iter(replies_of_turns(conversation, turns))
    for turn in turns:
        if turn.role == "tool":
            yield from (_result(block) for block in turn.blocks if type(block) is Result)
        elif turn.role == "assistant":
            yield {**_reply(turn), **_evidence(next(replies))}
        elif turn.role in SPEAKERS and (content := text_of(turn.blocks)):
            yield {"role": SPEAKERS[turn.role], "content": content, **instructions_mark(turn)}


def _evidence(reply: OriginReply | None) -> Object:
    if reply is None:
        return {}
    return {**_time(reply.time), **({"model": reply.model} if reply.model else {})}


def _time(at: int | None) -> Object:
    """Return the member for a time in nanoseconds."""
    time = (at or 0) // 10**6
    return {"timestamp": time} if time >= _MILLISECONDS else {}


def _reply(turn: Turn) -> Object:
    message: Object = {"role": "assistant", "content": text_of(turn.blocks, by_assistant=True)}
    thoughts = [block.text for block in turn.blocks if type(block) is Reasoning and block.text]
    if thoughts:
        message["reasoningContent"] = "\n\n".join(thoughts)
    calls = [_written_call(block) for block in turn.blocks if type(block) is Call]
    return {**message, "toolCalls": calls} if calls else message


def _written_call(block: Call) -> Object:
    """Write a call; the input of a custom tool becomes the argument of a function."""
    arguments = compact(call_input(block)) if block.custom else block.arguments
    return {"id": block.id, "function": {"name": block.name or "", "arguments": arguments}}


def _result(block: Result) -> Object:
    content = failure_text(text_of(block.content), block)
    return {"role": "tool", "toolCallId": block.id, "content": content, **failure_mark(block)}


LOSES = """
developer role, developer mid, image data, image between text, image url, audio, video, pdf, file id of OpenAI, file
id of Anthropic, result image, result file, approval, orphan result, refusal, custom tool call, hosted call, unanswered
hosted call, source
"""
BLURS = """
instructions, text part bounds, text after call, result json obj, result json list, result parts, is_error, denied
result, reasoning of two blocks, reasoning between, anthropic signature, anthropic redacted, openai encrypted, gemini
call sig, native members
"""
