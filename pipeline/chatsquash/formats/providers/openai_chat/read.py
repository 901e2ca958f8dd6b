"""Load the messages and the tools of OpenAI chat requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, groupby

from msgspec.structs import replace

from chatsquash.core import chat, reasoning
from chatsquash.core.blocks import (
    FORM,
    OTHERS,
    Block,
    Call,
    Native,
    Other,
    Outcome,
    Reasoning,
    Refusal,
    Result,
    Source,
    Text,
    Turn,
)
from chatsquash.core.chat import PRIVATE
from chatsquash.core.model import Conversation, Json, Message
from chatsquash.formats.base import LoadedTurn, Tools, TurnError
from chatsquash.formats.calls import EMPTY, ResultContent, State, native, renumber
from chatsquash.formats.definitions import function_tool
from chatsquash.formats.providers.openai_chat import calls
from chatsquash.formats.providers.openai_chat.content import PROVIDER, blocks_of, part_of
from chatsquash.formats.providers.openai_chat.members import identifier, is_empty
from chatsquash.formats.values import Object, as_list, at, compact, string
from chatsquash.formats.writing import KEY, are_instructions, is_failed, parse_outcome

START = State()

_SIGNERS = {"anthropic": "anthropic", "google": "google", "openai": "openai", "azure": "openai", "xai": "xai"}
"""The providers that sign or encrypt reasoning, by the prefix of the reasoning's format."""
_FORMS = ("thinking", "redacted_thinking", "reasoning.text", "reasoning.encrypted", "text")
"""The types of reasoning blocks that can be derived from the content of the block."""
_READ = ("role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal", KEY, PRIVATE)


def turns_of(conversation: Conversation) -> tuple[Turn, ...]:
    """Return the turns of a conversation, which are loaded from its messages if necessary.

    Raises:
        TurnError: if its messages are not OpenAI chat messages
    """
    return turns_of_messages(conversation.messages) if conversation.turns is None else conversation.turns


def turns_of_messages(messages: Iterable[Message]) -> tuple[Turn, ...]:
    """Load messages as turns; if a message contains its turn, this turn is used.  Raises ``TurnError``."""
    turns, state = list[Turn](), START
    for number, message in enumerate(messages):
        turn = chat.turn(message)
        if turn is None:
            try:
                result = load(message, state)
            except TurnError as problem:
                raise TurnError(f"messages[{number}]: {problem}") from None
            turn, state = result.turns[0], result.state
        elif turn.role == "assistant":
            turn = renumber(turn, state.call)  # replies are loaded without their requests, so their numbers start at 1
            state = state.after_calls(turn.blocks)
        turns.append(turn)
    return merge_results(turns)


def merge_results(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """Merge consecutive turns with results."""
    turns_merged = list[Turn]()
    for is_result, run in groupby(turns, lambda turn: turn.role == "tool"):
        first, *others = same_role = list(run)
        if is_result and others:
            blocks = tuple(block for turn in same_role for block in turn.blocks)
            turns_merged.append(replace(first, blocks=blocks, native=_merge_members(turn.native for turn in same_role)))
        else:
            turns_merged += same_role
    return tuple(turns_merged)


def _merge_members(natives: Iterable[Native]) -> Native:
    """Merge the native members of several turns; the first value of a member is used, and others go into ``OTHERS``."""
    merged, others = Native(), dict[str, list[Json]]()
    for provider, members in chain.from_iterable(map(dict.items, natives)):
        own = merged.setdefault(provider, {})
        differ = {name: value for name, value in members.items() if own.setdefault(name, value) != value}
        if differ and provider != FORM:
            others.setdefault(provider, []).append(differ)
    return {**merged, **({OTHERS: others} if others else {})}


def load(turn: Json, state: State) -> LoadedTurn:
    """Load each message as one turn."""
    if not isinstance(turn, dict):
        raise TurnError("not an object")
    role, content = turn.get("role"), turn.get("content")
    if not isinstance(role, str) or not role:
        raise TurnError("no role")
    if len(turn) == 2 and type(content) is str and role not in ("tool", "function", "assistant"):  # the usual case
        return LoadedTurn([Turn(role, (Text(content),) if content else ())], state)
    if role == "assistant":
        return _assistant(turn, state)
    if role in ("tool", "function"):
        return _result(turn, state)
    loaded_turn = Turn(role, blocks_of(content), are_instructions(turn), _rest(turn))
    return LoadedTurn([loaded_turn], state)


def _rest(turn: Object, *read: str) -> Native:
    """Return the members of a message that are not loaded elsewhere, including the name of a speaker."""
    more = native(PROVIDER, turn, *(name for name in _READ if name != "name" or turn.get("role") == "tool"), *read)
    foreign_value = turn.get(PRIVATE)
    if foreign_value is not None and not isinstance(foreign_value, chat.Private):
        more = {PROVIDER: {**more.get(PROVIDER, {}), PRIVATE: foreign_value}}
    return more


# The assistant


def _assistant(turn: Object, state: State) -> LoadedTurn:
    """Load reasoning, content and calls, in this order."""
    if _USUAL.issuperset(turn) and (usual := _simple_blocks(turn)) is not None:
        open_calls = tuple((block.id, block.name) for block in usual if type(block) is Call)
        return LoadedTurn([Turn("assistant", usual)], state.evolve(open=open_calls) if open_calls else state)
    blocks = [*_thoughts_and_texts(turn)]
    refusal, annotations = turn.get("refusal"), turn.get("annotations")
    if isinstance(refusal, str) and refusal:
        blocks.append(Refusal(refusal))
    sources = list(_sources(annotations)) if isinstance(annotations, list) else []
    blocks += sources
    unknown, number = list[Json](), state.call
    for each in calls.logged_calls(turn, unknown):
        call = calls.read(each, number)
        number += call.made_up
        blocks.append(call)
    blocks += (Other("openai", each) for each in unknown)
    # Documents pass content that OpenAI chat does not support as private blocks.
    blocks += chat.private(turn).get("blocks", ())
    # Some services write these members even if they are empty.
    empty = [name for name in ("audio", "refusal") if name in turn and is_empty(turn[name])]
    read = (*reasoning.MEMBERS, *(("annotations",) if sources else ()), *empty)
    more = _rest(turn, *read) if not turn.keys() <= _ROLE_AND_CONTENT else {}
    next_state = state.after_calls(blocks)
    # An assistant message without calls does not close earlier calls.
    next_state = next_state if next_state.open else next_state.evolve(open=state.open)
    return LoadedTurn([Turn("assistant", tuple(blocks), False, more)], next_state)


_ROLE_AND_CONTENT = frozenset(("role", "content"))
_USUAL = frozenset(("role", "content", "reasoning_content", "tool_calls"))


def _simple_blocks(turn: Object) -> tuple[Block, ...] | None:
    """Load the blocks of a message with only strings and ordinary calls; return ``None`` for other messages."""
    content, thought, tool_calls = turn.get("content"), turn.get("reasoning_content"), turn.get("tool_calls") or ()
    if not (
        isinstance(content, str | None) and isinstance(thought, str | None) and isinstance(tool_calls, list | tuple)
    ):
        return None
    blocks: list[Block] = [Reasoning(thought)] if thought else []
    if content:
        blocks.append(Text(content))
    for call in tool_calls:
        block = _usual_call(call)
        if block is None:
            return None
        blocks.append(block)
    return tuple(blocks)


def _usual_call(call: Json) -> Call | None:
    """Load a function call with only an id, a name and string arguments; return ``None`` for other calls."""
    if not isinstance(call, dict) or len(call) != 3 or call.get("type") != "function":
        return None
    own, function = call.get("id"), call.get("function")
    if not isinstance(own, str) or not own or not isinstance(function, dict) or len(function) != 2:
        return None
    name, arguments = function.get("name"), function.get("arguments")
    return Call(own, name, arguments) if isinstance(name, str) and isinstance(arguments, str) else None


def _thoughts_and_texts(turn: Object) -> Iterator[Block]:
    """Load reasoning and content; reasoning parts keep their places, and other reasoning comes first."""
    content = turn.get("content")
    if any(turn.get(name) for name in reasoning.MEMBERS if name in turn):
        yield from _thoughts(turn)
        texts = [part for part in content if not reasoning.is_part(part)] if isinstance(content, list) else content
        yield from blocks_of(texts)
    elif isinstance(content, list) and any(map(reasoning.is_part, content)):
        for part in content:
            if reasoning.is_part(part):
                unknown = list[Json]()
                yield from map(_thought, reasoning.blocks([part], unknown))
                yield from (Other("openai", each) for each in unknown)
            else:
                yield from part_of(part)
    else:
        yield from blocks_of(content)


def _thoughts(turn: Object) -> Iterator[Block]:
    """Load the reasoning of a message, in the form of any vendor."""
    logged_reasoning = reasoning.pop(dict(turn))
    read = [_thought(block) for block in logged_reasoning.blocks]
    joined_text = "\n\n".join(each.text for each in read if each.text)
    if logged_reasoning.text and joined_text != logged_reasoning.text:
        yield Reasoning(logged_reasoning.text)
        # The text of the blocks differs from the reasoning, so only their signatures are used.
        read = [each for each in read if not each.text]
    yield from read
    yield from (Other("openai", odd) for odd in logged_reasoning.unknown)


def _thought(block: Object) -> Reasoning:
    """Load a block of reasoning, and derive its signer from its format or members."""
    redacted, signature = string(block, "redacted"), string(block, "signature")
    encrypted, format_name = redacted or string(block, "encrypted"), string(block, "format")
    more = native(PROVIDER, block, "text", "redacted", "encrypted", "id", "signature", "index").get(PROVIDER, {})
    signer = next((provider for prefix, provider in _SIGNERS.items() if format_name.startswith(prefix)), "")
    if (redacted or signature) and not more:  # Anthropic's blocks have no format
        more, signer = {"type": "redacted_thinking" if redacted else "thinking"}, "anthropic"
    signer = signer if encrypted or signature else ""
    known = {"type": _FORMS, "format": (format_name if signer and format_name.startswith(signer) else "unknown",)}
    form = {name: more.pop(name) for name, values in known.items() if more.get(name) in values}
    own = {who: members for who, members in ((PROVIDER, more), (FORM, {PROVIDER: form} if form else {})) if members}
    return Reasoning(string(block, "text"), signer, signature, encrypted, string(block, "id"), own)


def _sources(annotations: list[Json]) -> Iterator[Block]:
    for annotation in annotations:
        citation = at(annotation, "url_citation")
        if isinstance(citation, dict):
            more = native("openai", citation, "url", "title")
            yield Source(string(citation, "url"), string(citation, "title"), native=more)
        elif annotation not in EMPTY:
            yield Other("openai", {"annotation": annotation})


# Results


def _result(turn: Object, state: State) -> LoadedTurn:
    """Load a result; without an id, it answers the first open call of its tool, or else the first open call."""
    logged_id, name, content = identifier(turn.get("tool_call_id")) or "", turn.get("name"), turn.get("content")
    call_id, state = state.answer(logged_id, name)
    if len(turn) == 3 and logged_id and type(content) is str and content:  # the usual case
        return LoadedTurn([Turn("tool", (Result(call_id, content=(Text(content),)),))], state)
    content, outcome = _output(turn)
    response = chat.private(turn)
    more = {**_rest(turn), **response.get("native", {})} if len(turn) > 3 else {}
    result = Result(
        call_id,
        string(turn, "name"),
        content.content,
        content.json,
        response.get("outcome", outcome),
        not logged_id,
        more,
    )
    return LoadedTurn([Turn("tool", (result,))], state)


def _output(turn: Object) -> tuple[ResultContent, Outcome]:
    """Load the content of a result, and its outcome from chatsquash's mark."""
    content = turn.get("content")
    if not (content is None or isinstance(content, str) or _is_parts(content)):
        return ResultContent((Text(compact(content)),), json=True), "success"
    content_blocks, outcome = parse_outcome(blocks_of(content), is_marked=KEY in turn and is_failed(turn))
    return ResultContent(content_blocks), outcome


def _is_parts(content: Json) -> bool:
    """Return whether a result's content is a list of parts; other lists are JSON that the tool returned."""
    if not isinstance(content, list):
        return False
    has_types = all(isinstance(p, str) or (isinstance(p, dict) and isinstance(p.get("type", ""), str)) for p in content)
    return has_types and (not content or any(type(block) is not Other for part in content for block in part_of(part)))


# Tools


def tools(value: Json) -> Tools:
    """Load function and custom tools in the form of any vendor; all other tools are hosted."""
    functions, hosted = list[Json](), list[Json]()
    for tool in as_list(value):
        converted = function_tool(tool)
        (hosted if converted is None else functions).append(tool if converted is None else converted)
    return Tools(functions, hosted)
