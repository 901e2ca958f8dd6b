"""Load the instructions and the items of requests to OpenAI Responses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from chatsquash.core import jsonio
from chatsquash.core.blocks import PROMPTS, Block, Call, Other, Outcome, Reasoning, Refusal, Result, Source, Text, Turn
from chatsquash.core.model import Json
from chatsquash.formats.base import LoadedTurn, TurnError
from chatsquash.formats.calls import EMPTY, ResultContent, arguments, result
from chatsquash.formats.calls import State as Calls
from chatsquash.formats.providers.openai_responses import client_calls, hosted
from chatsquash.formats.providers.openai_responses import items as contents
from chatsquash.formats.providers.openai_responses.items import (
    ITEM,
    PROVIDER,
    RESULTS,
    ROLES,
    SPACE,
    blocks_of,
    native_of,
    qualified_name,
    type_of,
)
from chatsquash.formats.unanswered_calls import append_run
from chatsquash.formats.values import Object, as_list, at, compact, kind, string, text_members
from chatsquash.formats.writing import KEY, is_failed, parse_outcome

MESSAGE = "message"
"""The native member of an assistant message's first text, for the message's other members."""
_MESSAGE_MEMBERS = {"type", "role", "status", "content"}
OF_MESSAGE = ("id", "status", "phase")
"""The members of an assistant message that become native members of its first text."""
_RUN = 50
"""The maximum number of open items in a run; a run is copied for each item, so longer runs would be slow."""
REASONING_TEXT = "reasoning_text"
"""The type of reasoning parts that are not summaries."""
RAW = "json"
"""The native member of a result whose output was JSON, although OpenAI's library requires a string."""


class Item:
    """An item that equals only items with the same JSON; with plain values, ``1 == True``."""

    __slots__ = ("value",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Json) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Item):
            return NotImplemented
        return self.value is other.value or jsonio.encode(self.value) == jsonio.encode(other.value)


class State(NamedTuple):
    """The state between two items."""

    open: tuple[Item, ...] = ()
    """The assistant's latest items, which are not part of a turn yet."""
    calls: Calls = Calls()
    """The calls of the turns before the open items."""
    before: tuple[tuple[Item, ...], ...] = ()
    """Earlier open items, in runs."""


START = State()


def system(value: Json) -> list[Turn]:
    """Load instructions, which are a string or a list of items; no turns if they are null or empty."""
    if value is None or value == "":
        return []
    if not isinstance(value, str | list):
        raise TurnError(f"expected a string or a list of items, not {kind(value)}")
    if isinstance(value, str):
        return [Turn("system", (Text(value),), instructions=True)]
    turns, state = list[Turn](), START
    for item in value:
        result = load(item, state)
        turns += result.turns
        state = result.state
    return [replace(turn, instructions=turn.role in PROMPTS) for turn in [*turns, *close(state)]]


def load(turn: Json, state: State) -> LoadedTurn:
    """Load an item; the assistant's items stay open, and any other item closes them and becomes a separate turn."""
    item = {"role": "user", "content": turn} if isinstance(turn, str) else turn
    role = _role(item)
    if item.get("type") in client_calls.OUTPUTS and client_calls.is_result(item):
        call_id = client_calls.call_id(item, _open_items(state)) or _open_call_id(item, state)
        item, role = (client_calls.result(item, call_id), "tool") if call_id else (item, role)
    if role == "assistant":
        return LoadedTurn([], _append(state, Item(item)))
    closed_turns, calls = _close(state)
    if role != "tool":
        return LoadedTurn([*closed_turns, _input_turn(item, role)], State((), calls))
    turn, calls = _answer(item, calls)
    return LoadedTurn([*closed_turns, turn], State((), calls))


def _open_items(state: State) -> Iterator[Object]:
    return (item.value for item in chain(chain.from_iterable(state.before), state.open))


def _open_call_id(item: Object, state: State) -> str:
    """Return the id of a result if an open call of an earlier turn has this id; otherwise an empty string."""
    names = (string(item, "call_id"), string(item, "id"))
    return next((name for name in names if name and state.calls.is_open(0, name)), "")


def _append(state: State, item: Item) -> State:
    """Return the state with one more assistant item; full runs are not copied again."""
    if len(state.open) < _RUN:
        return State((*state.open, item), state.calls, state.before)
    return State((item,), state.calls, append_run(state.before, state.open))


def close(state: State) -> list[Turn]:
    """Return the assistant's open items as a turn."""
    return _close(state)[0]


def _close(state: State) -> tuple[list[Turn], Calls]:
    if not state.open:
        return [], state.calls
    turn = assistant_turn(list(_open_items(state)), state.calls.call)
    return [turn], state.calls.after_calls(turn.blocks)


def _role(item: Json) -> str:
    """Return the role of an item; hosted calls and items without a role belong to the assistant."""
    if not isinstance(item, dict):
        raise TurnError("not an object")
    of, role, content = type_of(item), item.get("role"), item.get("content")
    if not isinstance(of, str):
        raise TurnError(f"type is {kind(of)}, expected a string")
    if of in RESULTS:
        return "tool"
    if of != "message":
        return str(role) if role in ROLES and not (of in contents.CALLS or of == "reasoning") else "assistant"
    if role not in ROLES:
        raise TurnError("no role" if role is None else f"unknown role; expected one of {', '.join(ROLES)}")
    if item.get("tool_calls") or item.get("function_call"):
        raise TurnError("calls inside a message are not supported by this format")
    if not isinstance(content, str | list | None):
        raise TurnError(f"content is {kind(content)}, expected a string or a list")
    return str(role)


def _input_turn(item: Object, role: str) -> Turn:
    """Load a message with a role other than the assistant's, or an item of another type with such a role."""
    if type_of(item) != "message":
        return Turn(role, (Other(PROVIDER, {ITEM: item}),))
    blocks = blocks_of(item.get("content"))
    more = contents.rest_of(item, "content") if len(item) > 2 else {}
    return Turn(role, blocks, native={PROVIDER: {contents.MORE: more}} if more else {})


# The assistant


def assistant_turn(items: list[Object], number: int) -> Turn:
    """Load assistant items as one turn.

    Args:
        items: the items, as logged
        number: the number of the next call without an id
    """
    blocks: list[Block] = []
    results = [item for item in items if item.get("type") in client_calls.OUTPUTS and client_calls.is_result(item)]
    # If the result of a call is also an assistant item, OpenAI ran the call, not the client.
    answered_ids = {string(item, "call_id") for item in results}
    for item in items:
        of = type_of(item)
        if of == "reasoning":
            blocks += _thoughts(item)
        elif of in ("function_call", "custom_tool_call"):
            call = _call(item, of, number)
            number += call.made_up
            blocks.append(call)
        elif contents.is_own(item):
            blocks += _message_blocks(item, blocks[-1] if blocks else None)
        elif client_calls.is_call(item) and string(item, "call_id") not in answered_ids:
            blocks.append(client_calls.call(item))
        else:
            blocks += hosted.blocks_of(item) or (Other(PROVIDER, {ITEM: item}),)
    return Turn("assistant", tuple(blocks))


def _call(item: Object, of: str, number: int) -> Call:
    is_custom = of == "custom_tool_call"
    member = contents.CALLS[of]
    input_value = item.get(member)
    if not isinstance(input_value, str):
        input_value = arguments(input_value, "" if is_custom else "{}")
    logged_id, name = string(item, "call_id"), qualified_name(item.get("name"), item.get(SPACE))
    is_usual = len(item) == 4 or (len(item) == 5 and member in item and item.get("status") == "completed")
    is_plain = logged_id and type(name) is str and is_usual
    more = {} if is_plain else native_of(item, member, *text_members(item, "call_id", "name"))
    return Call(
        logged_id or f"call_{number}",
        name if isinstance(name, str) else None,
        input_value,
        is_custom,
        not logged_id,
        more,
    )


def _message_blocks(item: Object, before: Block | None) -> tuple[Block, ...]:
    """Load a message; its members except the content become native members of its first text.

    A message without text becomes a native block.
    """
    blocks = blocks_of(item.get("content"), by_assistant=True)
    is_usual = len(item) == 2 or (item.keys() == _MESSAGE_MEMBERS and item["status"] == "completed")
    known = {} if is_usual else _of_message(item)
    first = next((place for place, block in enumerate(blocks) if type(block) is Text or type(block) is Refusal), None)
    if first is None:
        return (Other(PROVIDER, {ITEM: item}),) if blocks or known else ()
    first_block = blocks[first]
    if known:
        first_block = replace(first_block, native={PROVIDER: {**known, **first_block.native.get(PROVIDER, {})}})
    if type(first_block) is Text and (isinstance(before, Text | Refusal | Source) or _is_part(before)):
        # Otherwise, the text would be joined with the text of the preceding message.
        first_block = replace(first_block, apart=True)
    return blocks if first_block is blocks[first] else (*blocks[:first], first_block, *blocks[first + 1 :])


def _is_part(block: Block | None) -> bool:
    """Return whether a block is a message part that only this format supports."""
    return type(block) is Other and not (isinstance(block.value, dict) and ITEM in block.value)


def _of_message(item: Object) -> Object:
    """Return the members of a message except its content."""
    content_rest = contents.rest_of(item, "content")
    known = {name: content_rest.pop(name) for name in OF_MESSAGE if isinstance(content_rest.get(name), str)}
    return {**known, MESSAGE: content_rest} if content_rest else known


# Reasoning


def _thoughts(item: Object) -> Iterator[Reasoning]:
    """Load one block per part of the reasoning, or else of its summary; the first block has the other members."""
    encrypted, ident = string(item, "encrypted_content"), string(item, "id")
    signer = PROVIDER if encrypted or ident else ""
    summary, content = item.get("summary"), item.get("content")
    read, own = ["content"], {"type": REASONING_TEXT}
    texts = _texts(content, REASONING_TEXT)
    if not texts:
        texts, read, own = [] if content not in EMPTY else _texts(summary, "summary_text"), ["summary"], {}
    if not texts:  # text in other forms is also kept as native members
        texts, read = ["\n\n".join(_any_texts(content) or _any_texts(summary))], []
    more = {**own, **native_of(item, "id", "encrypted_content", *read).get(PROVIDER, {})}
    if texts[0] or signer or more:
        yield Reasoning(texts[0], signer, "", encrypted, ident, {PROVIDER: more} if more else {})
    for text in texts[1:]:
        yield Reasoning(text, signer, id=ident, native={PROVIDER: own} if own else {})


def _texts(value: Json, of: str) -> list[str]:
    """Return the text of each part in a list, or an empty list if the list contains other values or types."""
    if not value or type(value) is not list:
        return []
    texts = [string(part, "text") for part in value]
    return texts if all(texts) and value == [{"type": of, "text": text} for text in texts] else []


def _any_texts(value: Json) -> list[str]:
    """Return the non-empty strings in a value that should be a list of parts."""
    texts = [part if isinstance(part, str) else string(part, "text") for part in as_list(value)]
    return list(filter(None, texts))


# Results


def _answer(item: Object, calls: Calls) -> tuple[Turn, Calls]:
    """Load a result; without an id, it answers the first open call, which must be of its tool if it has a name."""
    logged_id, output = string(item, "call_id"), item.get("output", "")
    name = str(qualified_name(string(item, "name"), item.get(SPACE)))
    calls = calls if logged_id else calls.searchable()
    # A result that has only a name must not answer a call of another tool.
    is_orphan = not logged_id and name and not calls.is_open(1, name)
    call_id, remaining_calls = calls.take_orphan() if is_orphan else calls.answer(logged_id, name or None)
    if len(item) == 3 and logged_id and type(output) is str:  # the usual case
        return Turn("tool", (Result(call_id, content=(Text(output),) if output else ()),)), remaining_calls
    more = native_of(item, "output", KEY, *text_members(item, "call_id", "name"))
    content, outcome = _output(item, output)
    if content.json:
        more = {PROVIDER: {**more.get(PROVIDER, {}), RAW: True}}
    return Turn("tool", (result(call_id, logged_id, name, content, outcome, more),)), remaining_calls


def _output(item: Object, output: Json) -> tuple[ResultContent, Outcome]:
    """Load the output of a result: a string, parts, or any other value as JSON; chatsquash's mark means failure."""
    are_parts = isinstance(output, list) and all(isinstance(at(part, "type"), str) for part in output)
    if not isinstance(output, str) and not are_parts:
        return ResultContent((Text(compact(output)),), json=True), "success"
    blocks, outcome = parse_outcome(blocks_of(output), is_marked=KEY in item and is_failed(item))
    return ResultContent(blocks), client_calls.outcome(item) if outcome == "success" else outcome
