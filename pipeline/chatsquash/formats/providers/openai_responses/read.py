"""What a request to OpenAI Responses holds: instructions and items."""

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
    qualified,
    type_of,
)
from chatsquash.formats.unanswered_calls import append_run
from chatsquash.formats.values import Object, as_list, at, compact, kind, string, text_members
from chatsquash.formats.writing import KEY, is_failed, parse_outcome

MESSAGE = "message"
"""What the first text of an assistant's message knows of that, beside the members that all know."""
OF_MESSAGE = ("id", "status", "phase")
"""Members of an assistant's message that its first text knows."""
_RUN = 50
"""As many open items as are copied for each that comes."""
THOUGHT = "reasoning_text"
"""The type of a text of reasoning that is no summary."""
RAW = "json"
"""What a result knows whose output was no text, which the library wants."""


class Item:
    """An item that equals only what is the same JSON, which ``==`` does not say: ``1 == True``."""

    __slots__ = ("value",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Json) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Item):
            return NotImplemented
        return self.value is other.value or jsonio.encode(self.value) == jsonio.encode(other.value)


class State(NamedTuple):
    """What the next item needs to know."""

    open: tuple[Item, ...] = ()
    """The assistant's nearest items that are no turn yet."""
    calls: Calls = Calls()
    """What those before them leave."""
    before: tuple[tuple[Item, ...], ...] = ()
    """His items before those, by runs."""


START = State()


def system(value: Json) -> list[Turn]:
    """Instructions are a text, or items like those of the input; null and the empty text are none."""
    if value is None or value == "":
        return []
    if not isinstance(value, str | list):
        raise TurnError(f"is {kind(value)}, not a text or a list of items")
    if isinstance(value, str):
        return [Turn("system", (Text(value),), instructions=True)]
    turns, state = list[Turn](), START
    for item in value:
        loaded, state = load(item, state)
        turns += loaded
    return [replace(turn, instructions=turn.role in PROMPTS) for turn in [*turns, *close(state)]]


def load(turn: Json, state: State) -> LoadedTurn:
    """An assistant's item stays open; another one closes what is open and is a turn of its own."""
    item = {"role": "user", "content": turn} if isinstance(turn, str) else turn
    whose = _whose(item)
    if item.get("type") in client_calls.OUTPUTS and client_calls.is_result(item):
        answered = client_calls.call_id(item, _open_items(state)) or _waiting(item, state)
        item, whose = (client_calls.result(item, answered), "tool") if answered else (item, whose)
    if whose == "assistant":
        return LoadedTurn([], _goes_on(state, Item(item)))
    closed, calls = _close(state)
    if whose != "tool":
        return LoadedTurn([*closed, _input_turn(item, whose)], State((), calls))
    turn, calls = _answer(item, calls)
    return LoadedTurn([*closed, turn], State((), calls))


def _open_items(state: State) -> Iterator[Object]:
    return (item.value for item in chain(chain.from_iterable(state.before), state.open))


def _waiting(item: Object, state: State) -> str:
    """The id of a result if a call of an earlier turn waits for it."""
    names = (string(item, "call_id"), string(item, "id"))
    return next((name for name in names if name and state.calls.is_open(0, name)), "")


def _goes_on(state: State, item: Item) -> State:
    """The state behind one item more of the assistant's; a run that is full is copied no more."""
    if len(state.open) < _RUN:
        return State((*state.open, item), state.calls, state.before)
    return State((item,), state.calls, append_run(state.before, state.open))


def close(state: State) -> list[Turn]:
    """The assistant's items behind the last item of somebody else are a turn, too."""
    return _close(state)[0]


def _close(state: State) -> tuple[list[Turn], Calls]:
    if not state.open:
        return [], state.calls
    turn = assistant_turn(list(_open_items(state)), state.calls.call)
    return [turn], state.calls.after_calls(turn.blocks)


def _whose(item: Json) -> str:
    """The role that an item speaks in; what the assistant's services did and what names no role is among its items."""
    if not isinstance(item, dict):
        raise TurnError("is not an object")
    of, role, content = type_of(item), item.get("role"), item.get("content")
    if not isinstance(of, str):
        raise TurnError(f"has a type that is {kind(of)}, not a text")
    if of in RESULTS:
        return "tool"
    if of != "message":
        return str(role) if role in ROLES and not (of in contents.CALLS or of == "reasoning") else "assistant"
    if role not in ROLES:
        raise TurnError("has no role" if role is None else f"has a role that is not one of {', '.join(ROLES)}")
    if item.get("tool_calls") or item.get("function_call"):
        raise TurnError("has calls inside a message, which this format has not")
    if not isinstance(content, str | list | None):
        raise TurnError(f"has content that is {kind(content)}, not a text or a list")
    return str(role)


def _input_turn(item: Object, role: str) -> Turn:
    """A message of anybody but the assistant, or an item of another type in its place."""
    if type_of(item) != "message":
        return Turn(role, (Other(PROVIDER, {ITEM: item}),))
    blocks = blocks_of(item.get("content"))
    more = contents.rest_of(item, "content") if len(item) > 2 else {}
    return Turn(role, blocks, native={PROVIDER: {contents.MORE: more}} if more else {})


# The assistant


def assistant_turn(items: list[Object], number: int) -> Turn:
    """The turn that the assistant's items make; calls without an id get the next numbers."""
    blocks = list[Block]()
    results = [item for item in items if item.get("type") in client_calls.OUTPUTS and client_calls.is_result(item)]
    run = {string(item, "call_id") for item in results}  # by OpenAI, since they are here
    for item in items:
        of = type_of(item)
        if of == "reasoning":
            blocks += _thoughts(item)
        elif of in ("function_call", "custom_tool_call"):
            made = _call(item, of, number)
            number += made.made_up
            blocks.append(made)
        elif contents.is_own(item):
            blocks += _said(item, blocks[-1] if blocks else None)
        elif client_calls.is_call(item) and string(item, "call_id") not in run:
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
    logged, name = string(item, "call_id"), qualified(item.get("name"), item.get(SPACE))
    is_plain = logged and type(name) is str and len(item) == 4  # as most are
    more = {} if is_plain else native_of(item, member, *text_members(item, "call_id", "name"))
    return Call(
        logged or f"call_{number}", name if isinstance(name, str) else None, input_value, is_custom, not logged, more
    )


def _said(item: Object, before: Block | None) -> tuple[Block, ...]:
    """A message, whose first text knows what else the message has; without a text it is kept as it was logged."""
    found = blocks_of(item.get("content"), by_assistant=True)
    known = _of_message(item) if len(item) > 2 else {}
    first = next((place for place, block in enumerate(found) if type(block) is Text or type(block) is Refusal), None)
    if first is None:
        return (Other(PROVIDER, {ITEM: item}),) if found or known else ()
    first_block = found[first]
    if known:
        first_block = replace(first_block, native={PROVIDER: {**known, **first_block.native.get(PROVIDER, {})}})
    if type(first_block) is Text and (isinstance(before, Text | Refusal | Source) or _is_part(before)):
        first_block = replace(first_block, apart=True)
    return found if first_block is found[first] else (*found[:first], first_block, *found[first + 1 :])


def _is_part(block: Block | None) -> bool:
    """Whether a block is of a message that nobody else has."""
    return type(block) is Other and not (isinstance(block.value, dict) and ITEM in block.value)


def _of_message(item: Object) -> Object:
    """What a message has beside what it says."""
    content_rest = contents.rest_of(item, "content")
    known = {name: content_rest.pop(name) for name in OF_MESSAGE if isinstance(content_rest.get(name), str)}
    return {**known, MESSAGE: content_rest} if content_rest else known


# Reasoning


def _thoughts(item: Object) -> Iterator[Reasoning]:
    """A block for each text of an item: of the reasoning itself, else of its summary; the first knows all else."""
    encrypted, ident = string(item, "encrypted_content"), string(item, "id")
    signer = PROVIDER if encrypted or ident else ""
    summary, content = item.get("summary"), item.get("content")
    read, own = ["content"], {"type": THOUGHT}
    texts = _texts(content, THOUGHT)
    if not texts:
        texts, read, own = [] if content not in EMPTY else _texts(summary, "summary_text"), ["summary"], {}
    if not texts:  # what is written otherwise stays as it was
        texts, read = ["\n\n".join(_loose(content) or _loose(summary))], []
    more = {**own, **native_of(item, "id", "encrypted_content", *read).get(PROVIDER, {})}
    if texts[0] or signer or more:
        yield Reasoning(texts[0], signer, "", encrypted, ident, {PROVIDER: more} if more else {})
    for text in texts[1:]:
        yield Reasoning(text, signer, id=ident, native={PROVIDER: own} if own else {})


def _texts(value: Json, of: str) -> list[str]:
    """The texts of a list of parts of a type; none if anything else stands in it."""
    if not value or type(value) is not list:
        return []
    texts = [string(part, "text") for part in value]
    return texts if all(texts) and value == [{"type": of, "text": text} for text in texts] else []


def _loose(value: Json) -> list[str]:
    """The texts that are not empty in what should be a list of parts."""
    texts = [part if isinstance(part, str) else string(part, "text") for part in as_list(value)]
    return list(filter(None, texts))


# Results


def _answer(item: Object, calls: Calls) -> tuple[Turn, Calls]:
    """A result; one without an id answers the first call that waits, of its name if it has one."""
    logged, output = string(item, "call_id"), item.get("output", "")
    name = str(qualified(string(item, "name"), item.get(SPACE)))
    calls = calls if logged else calls.searchable()
    astray = not logged and name and not calls.is_open(1, name)
    answered, left = calls.take_orphan() if astray else calls.answer(logged, name or None)
    if len(item) == 3 and logged and type(output) is str:  # as most are
        return Turn("tool", (Result(answered, content=(Text(output),) if output else ()),)), left
    more = native_of(item, "output", KEY, *text_members(item, "call_id", "name"))
    said, outcome = _output(item, output)
    if said.json:
        more = {PROVIDER: {**more.get(PROVIDER, {}), RAW: True}}
    return Turn("tool", (result(answered, logged, name, said, outcome, more),)), left


def _output(item: Object, output: Json) -> tuple[ResultContent, Outcome]:
    """What a result says: a text, parts, or another value as JSON; our mark says that its call failed."""
    are_parts = isinstance(output, list) and all(isinstance(at(part, "type"), str) for part in output)
    if not isinstance(output, str) and not are_parts:
        return ResultContent((Text(compact(output)),), json=True), "success"
    shown, outcome = parse_outcome(blocks_of(output), is_marked=KEY in item and is_failed(item))
    return ResultContent(shown), client_calls.outcome(item) if outcome == "success" else outcome
