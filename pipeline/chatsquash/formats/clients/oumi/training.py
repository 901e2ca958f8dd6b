"""The conversations that Oumi is trained on: OpenAI's messages with items of its own, one object each."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from chatsquash.blocks import FAILED, Block, Call, Media, Other, Outcome, Reasoning, Result, Text, Turn
from chatsquash.formats import openai_chat, view
from chatsquash.formats.base import LoadedTurn, TurnError, role_of
from chatsquash.formats.calls import ERROR, Said, State, arguments, call, native, result
from chatsquash.formats.clients.oumi import items, schema
from chatsquash.formats.clients.oumi.items import PROVIDER
from chatsquash.formats.values import Object, compact, kind, objects, string
from chatsquash.formats.writing import KEY, are_instructions, failed, instructed, mark, unmarked
from chatsquash.formats.writing import native as own_of
from chatsquash.model import Conversation, Json, Origin

_MEMBERS = {"conversation_id", "messages", "metadata", "tools"}
_ROLES = ("system", "user", "assistant", "tool")
_WRITTEN = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_OF_HISTORIES = ("metadata", "raw_thinking", "role", "timestamp", "word_count")
"""Members of messages in histories, which those of a training set have not."""


# Reading


def fits(document: Object) -> str | None:
    """The evidence that this is a conversation of Oumi's and no other object with messages."""
    if not isinstance(document.get("messages"), list) or document.keys() - _MEMBERS:
        return None
    if isinstance(document.get("metadata"), dict) or isinstance(document.get("conversation_id"), str):
        return "messages beside metadata or conversation_id"
    contents = [each.get("content") for each in objects(document["messages"])]
    return "content items of Oumi" if any(items.tells(content) for content in contents) else None


def load(document: Object) -> Conversation:
    """A conversation with its tools; raises ``TurnError``."""
    logged = document.get("messages")
    if not isinstance(logged, list):
        raise TurnError(f"has messages that are {kind(logged)}, not a list")
    turns, state = list[Turn](), State()
    for number, each in enumerate(logged):
        try:
            loaded, state = _message(each, state)
        except TurnError as problem:
            raise TurnError(f"messages[{number}] {problem}") from None
        turns += loaded
    named = Origin(session_id=string(document, "conversation_id") or None)
    tools = openai_chat.tools(document.get("tools")).functions
    own = native(PROVIDER, document, "messages", "tools")
    return Conversation(view.messages(turns), tools, origin=named, native=own)


def _message(logged: Json, state: State) -> LoadedTurn:
    role = _role(logged)
    said = items.blocks_of(logged.get("content"))
    if role == "tool":
        return _answered(logged, said, state)
    if role != "assistant":
        made = Turn(role, said, are_instructions(logged), native(PROVIDER, logged, "role", "content", KEY))
        return LoadedTurn([made], state.but(by_assistant=False))
    thought, calls = logged.get("reasoning_content"), logged.get("tool_calls")
    read = ["reasoning_content"] if isinstance(thought, str) else []
    read += ["tool_calls"] if isinstance(calls, list) else []
    thoughts = (Reasoning(thought),) if isinstance(thought, str) and thought else ()
    blocks = (*thoughts, *said, *_calls(calls if isinstance(calls, list) else [], state.call))
    made = Turn(role, blocks, native=native(PROVIDER, logged, "role", "content", KEY, *read))
    return LoadedTurn([made], state.called(blocks, by_assistant=True))


def _role(logged: Json) -> str:
    """The role of what is a message; raises ``TurnError`` for what is none."""
    if not isinstance(logged, dict):
        raise TurnError(f"is {kind(logged)}, not an object")
    role, content = role_of(logged, _ROLES), logged.get("content")
    if not isinstance(content, str | list | None):
        raise TurnError(f"has a content that is {kind(content)}, not text or a list of items")
    return role


def _calls(logged: list[Json], number: int) -> Iterator[Block]:
    for each in logged:
        made = _call(each, number) if isinstance(each, dict) else Other(PROVIDER, {"tool_calls": each})
        number += getattr(made, "made_up", False)
        yield made


def _call(logged: Object, number: int) -> Call:
    held = logged.get("function")
    function: Object = held if isinstance(held, dict) else {}
    own, name = string(logged, "id"), function.get("name")
    inner = native(PROVIDER, function, "arguments", *(["name"] if isinstance(name, str) else [])).get(PROVIDER)
    read = ["index", *(["id"] if own else []), *(["type"] if logged.get("type") == "function" else [])]
    rest = {**logged, "function": inner if isinstance(held, dict) else held}
    return call(own, number, name, arguments(function.get("arguments")), native(PROVIDER, rest, *read))


def _answered(logged: Object, said: tuple[Text | Other | Media, ...], state: State) -> LoadedTurn:
    own, name = string(logged, "tool_call_id"), logged.get("name")
    answered, state = state.answer(own, name)
    first = said[0] if said else None
    bare = unmarked(first.text, logged) if type(first) is Text else None
    outcome: Outcome = "success"
    if bare is not None and type(first) is Text:
        said, outcome = ((replace(first, text=bare), *said[1:]) if bare else said[1:]), "failed"
    read = [key for key in ("tool_call_id", "name") if isinstance(logged.get(key), str)]
    more = native(PROVIDER, logged, "role", "content", KEY, *read)
    made = result(answered, own, name, Said(said), outcome, more)
    return LoadedTurn([Turn("tool", (made,))], state.but(by_assistant=False))


# Writing


def dump(conversation: Conversation) -> Json:
    """The conversation as one object; raises ``TurnError`` for tools that are nested too deeply to be checked."""
    messages = [message for turn in conversation.turns for message in _written(turn)]
    tools, own = schema.tools(conversation.tools), conversation.native.get(PROVIDER, {})
    named = {"conversation_id": own["conversation_id"]} if string(own, "conversation_id") else {}
    metadata = own["metadata"] if isinstance(own.get("metadata"), dict) else {}
    return {**named, "messages": messages, **({"tools": tools} if tools else {}), "metadata": metadata}


def _written(turn: Turn) -> Iterator[Object]:
    """The messages of a turn; none for one that says nothing here, unless it is an assistant's that is empty."""
    if turn.role == "tool":
        yield from (_result(block) for block in turn.blocks if type(block) is Result)
    elif turn.role == "assistant":
        said = _said(turn)
        if not turn.blocks or said != {"role": "assistant", "content": ""}:
            yield {**said, **_own(turn), **said}
    elif turn.role in _WRITTEN and (content := items.content_of(turn.blocks)):
        made = {"role": _WRITTEN[turn.role], "content": content, **instructed(turn)}
        yield {**made, **_own(turn), **made}


def _said(turn: Turn) -> Object:
    content = items.content_of(turn.blocks)
    calls = [_written_call(block) for block in turn.blocks if type(block) is Call]
    thoughts = [block.text for block in turn.blocks if type(block) is Reasoning and block.text]
    thought = {"reasoning_content": "\n\n".join(thoughts)} if thoughts else {}
    told = {"tool_calls": calls} if calls else {}
    return {"role": "assistant", "content": content if content or calls else "", **thought, **told}


def _own(turn: Turn) -> Object:
    own = own_of(turn, PROVIDER)
    if not own or "role" in own:  # an attachment of a history
        return {}
    return {key: value for key, value in own.items() if key not in _OF_HISTORIES}


def _written_call(block: Call) -> Object:
    """A call of a function; that of a custom tool has the text as its input."""
    own = own_of(block, PROVIDER)
    inner = own["function"] if isinstance(own.get("function"), dict) else {}
    spelled = compact({"input": block.arguments}) if block.custom else block.arguments
    function = {"name": block.name or "", "arguments": spelled}
    made = {"id": block.id, "type": "function", "function": {**function, **inner, **function}}
    return {**made, **own, **made}


def _result(block: Result) -> Object:
    """A result; one that failed says so before its text, with our mark beside it, which Oumi passes over."""
    content = items.content_of(block.content) or ""
    if isinstance(content, str):
        content = failed(content, block)
    elif block.outcome in FAILED and items.is_text(content[0]):
        content = [{**content[0], "content": failed(content[0]["content"], block)}, *content[1:]]
    elif block.outcome in FAILED:
        content = [{"type": "text", "content": ERROR}, *content]
    made = {"role": "tool", "tool_call_id": block.id, "content": content, **mark(block)}
    return {**made, **own_of(block, PROVIDER), **made}
