"""What a request of OpenAI chat holds: messages and tools."""

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
from chatsquash.formats.providers.openai_chat.content import PROVIDER, part_of, said
from chatsquash.formats.providers.openai_chat.members import identifier, is_empty
from chatsquash.formats.values import Object, as_list, at, compact, string
from chatsquash.formats.writing import KEY, are_instructions, is_failed, parse_outcome

START = State()

_SIGNERS = {"anthropic": "anthropic", "google": "google", "openai": "openai", "azure": "openai", "xai": "xai"}
"""Who signed or encrypted reasoning, by what its format begins with."""
_FORMS = ("thinking", "redacted_thinking", "reasoning.text", "reasoning.encrypted", "text")
"""Types of blocks of reasoning that say no more than what stands in them."""
_READ = ("role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal", KEY, PRIVATE)


def turns_of(conversation: Conversation) -> tuple[Turn, ...]:
    """Return the turns of a conversation, each an ordered list of blocks.

    Raises:
        TurnError: Its messages are not messages of OpenAI chat.
    """
    return turns_of_messages(conversation.messages) if conversation.turns is None else conversation.turns


def turns_of_messages(messages: Iterable[Message]) -> tuple[Turn, ...]:
    """The turns of messages, those of which messages were made as they were; raises ``TurnError``."""
    turns, state = list[Turn](), START
    for number, message in enumerate(messages):
        made = chat.turn(message)
        if made is None:
            try:
                (made,), state = load(message, state)
            except TurnError as problem:
                raise TurnError(f"messages[{number}] {problem}") from None
        elif made.role == "assistant":
            made = renumber(made, state.call)  # a reply is read without the request before it
            state = state.after_calls(made.blocks)
        turns.append(made)
    return merge_results(turns)


def merge_results(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """Turns, those of results that follow each other as one."""
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
    """The members of turns that became one; of a name that says something else later, the first is used."""
    joined, others = Native(), dict[str, list[Json]]()
    for provider, members in chain.from_iterable(map(dict.items, natives)):
        own = joined.setdefault(provider, {})
        differ = {name: value for name, value in members.items() if own.setdefault(name, value) != value}
        if differ and provider != FORM:
            others.setdefault(provider, []).append(differ)
    return {**joined, **({OTHERS: others} if others else {})}


def load(turn: Json, state: State) -> LoadedTurn:
    """One turn for each message."""
    if not isinstance(turn, dict):
        raise TurnError("is not an object")
    role, content = turn.get("role"), turn.get("content")
    if not isinstance(role, str) or not role:
        raise TurnError("has no role")
    if len(turn) == 2 and type(content) is str and role not in ("tool", "function", "assistant"):  # as most are
        return LoadedTurn([Turn(role, (Text(content),) if content else ())], state)
    if role == "assistant":
        return _assistant(turn, state)
    if role in ("tool", "function"):
        return _result(turn, state)
    made = Turn(role, said(content), are_instructions(turn), _rest(turn))
    return LoadedTurn([made], state)


def _rest(turn: Object, *read: str) -> Native:
    """What else a message has; a name of who speaks is no name of a tool."""
    more = native(PROVIDER, turn, *(name for name in _READ if name != "name" or turn.get("role") == "tool"), *read)
    odd = turn.get(PRIVATE)
    if odd is not None and not isinstance(odd, chat.Private):
        more = {PROVIDER: {**more.get(PROVIDER, {}), PRIVATE: odd}}
    return more


# The assistant


def _assistant(turn: Object, state: State) -> LoadedTurn:
    """Reasoning, what is said, and calls, in this order."""
    if _USUAL.issuperset(turn) and (usual := _usual(turn)) is not None:
        opened = tuple((block.id, block.name) for block in usual if type(block) is Call)
        return LoadedTurn([Turn("assistant", usual)], state.evolve(open=opened) if opened else state)
    blocks = [*_thoughts_and_texts(turn)]
    refusal, annotations = turn.get("refusal"), turn.get("annotations")
    if isinstance(refusal, str) and refusal:
        blocks.append(Refusal(refusal))
    sources = list(_sources(annotations)) if isinstance(annotations, list) else []
    blocks += sources
    odd, number = list[Json](), state.call
    for each in calls.logged_calls(turn, odd):
        made = calls.read(each, number)
        number += made.made_up
        blocks.append(made)
    blocks += (Other("openai", each) for each in odd)
    blocks += chat.private(turn).get("blocks", ())
    empty = [name for name in ("audio", "refusal") if name in turn and is_empty(turn[name])]
    read = (*reasoning.MEMBERS, *(("annotations",) if sources else ()), *empty)
    more = _rest(turn, *read) if not turn.keys() <= _ROLE_AND_CONTENT else {}
    following = state.after_calls(blocks)
    following = following if following.open else following.evolve(open=state.open)
    return LoadedTurn([Turn("assistant", tuple(blocks), False, more)], following)


_ROLE_AND_CONTENT = frozenset(("role", "content"))
_USUAL = frozenset(("role", "content", "reasoning_content", "tool_calls"))


def _usual(turn: Object) -> tuple[Block, ...] | None:
    """The blocks of a message that has nothing but texts and calls as OpenAI writes them; ``None`` for any other."""
    content, thought, logged = turn.get("content"), turn.get("reasoning_content"), turn.get("tool_calls") or ()
    if not (isinstance(content, str | None) and isinstance(thought, str | None) and isinstance(logged, list | tuple)):
        return None
    blocks: list[Block] = [Reasoning(thought)] if thought else []
    if content:
        blocks.append(Text(content))
    for call in logged:
        made = _usual_call(call)
        if made is None:
            return None
        blocks.append(made)
    return tuple(blocks)


def _usual_call(call: Json) -> Call | None:
    """A call of a function with an id, a name and arguments as a text, and nothing else; ``None`` for any other."""
    if not isinstance(call, dict) or len(call) != 3 or call.get("type") != "function":
        return None
    own, function = call.get("id"), call.get("function")
    if not isinstance(own, str) or not own or not isinstance(function, dict) or len(function) != 2:
        return None
    name, arguments = function.get("name"), function.get("arguments")
    return Call(own, name, arguments) if isinstance(name, str) and isinstance(arguments, str) else None


def _thoughts_and_texts(turn: Object) -> Iterator[Block]:
    """What an assistant thinks and says; parts of reasoning stand where they stood, other reasoning leads."""
    content = turn.get("content")
    if any(turn.get(name) for name in reasoning.MEMBERS if name in turn):
        yield from _thoughts(turn)
        texts = [part for part in content if not reasoning.is_part(part)] if isinstance(content, list) else content
        yield from said(texts)
    elif isinstance(content, list) and any(map(reasoning.is_part, content)):
        for part in content:
            if reasoning.is_part(part):
                odd = list[Json]()
                yield from map(_thought, reasoning.blocks([part], odd))
                yield from (Other("openai", each) for each in odd)
            else:
                yield from part_of(part)
    else:
        yield from said(content)


def _thoughts(turn: Object) -> Iterator[Block]:
    """The reasoning of a message, in whichever spelling it came."""
    taken = reasoning.pop(dict(turn))
    read = [_thought(block) for block in taken.blocks]
    whole = "\n\n".join(each.text for each in read if each.text)
    if taken.text and whole != taken.text:
        yield Reasoning(taken.text)
        read = [each for each in read if not each.text]
    yield from read
    yield from (Other("openai", odd) for odd in taken.unknown)


def _thought(block: Object) -> Reasoning:
    """A block of reasoning; who signed it, its format says, and Anthropic's form of it."""
    redacted, signature = string(block, "redacted"), string(block, "signature")
    hidden, named = redacted or string(block, "encrypted"), string(block, "format")
    more = native(PROVIDER, block, "text", "redacted", "encrypted", "id", "signature", "index").get(PROVIDER, {})
    signer = next((who for begins, who in _SIGNERS.items() if named.startswith(begins)), "")
    if (redacted or signature) and not more:
        more, signer = {"type": "redacted_thinking" if redacted else "thinking"}, "anthropic"
    signer = signer if hidden or signature else ""
    known = {"type": _FORMS, "format": (named if signer and named.startswith(signer) else "unknown",)}
    form = {name: more.pop(name) for name, values in known.items() if more.get(name) in values}
    own = {who: members for who, members in ((PROVIDER, more), (FORM, {PROVIDER: form} if form else {})) if members}
    return Reasoning(string(block, "text"), signer, signature, hidden, string(block, "id"), own)


def _sources(annotations: list[Json]) -> Iterator[Block]:
    for noted in annotations:
        cited = at(noted, "url_citation")
        if isinstance(cited, dict):
            more = native("openai", cited, "url", "title")
            yield Source(string(cited, "url"), string(cited, "title"), native=more)
        elif noted not in EMPTY:
            yield Other("openai", {"annotation": noted})


# Results


def _result(turn: Object, state: State) -> LoadedTurn:
    """A result without an id answers the first open call of its name, else the first open call, else none."""
    logged, name, content = identifier(turn.get("tool_call_id")) or "", turn.get("name"), turn.get("content")
    answered, state = state.answer(logged, name)
    if len(turn) == 3 and logged and type(content) is str and content:  # as most are
        return LoadedTurn([Turn("tool", (Result(answered, content=(Text(content),)),))], state)
    said, outcome = _output(turn)
    response = chat.private(turn)
    more = {**_rest(turn), **response.get("native", {})} if len(turn) > 3 else {}
    made = Result(
        answered, string(turn, "name"), said.content, said.json, response.get("outcome", outcome), not logged, more
    )
    return LoadedTurn([Turn("tool", (made,))], state)


def _output(turn: Object) -> tuple[ResultContent, Outcome]:
    """What a result says, and whether our mark says that its call failed."""
    content = turn.get("content")
    if not (content is None or isinstance(content, str) or _is_parts(content)):
        return ResultContent((Text(compact(content)),), json=True), "success"
    shown, outcome = parse_outcome(said(content), is_marked=KEY in turn and is_failed(turn))
    return ResultContent(shown), outcome


def _is_parts(content: Json) -> bool:
    """Whether a result's content is a list of parts; any other list is JSON that the tool returned."""
    if not isinstance(content, list):
        return False
    typed = all(isinstance(p, str) or (isinstance(p, dict) and isinstance(p.get("type", ""), str)) for p in content)
    return typed and (not content or any(type(block) is not Other for part in content for block in part_of(part)))


# Tools


def tools(value: Json) -> Tools:
    """Function and custom tools in whichever spelling; any other type is run by the vendor."""
    functions, hosted = list[Json](), list[Json]()
    for tool in as_list(value):
        made = function_tool(tool)
        (hosted if made is None else functions).append(tool if made is None else made)
    return Tools(functions, hosted)
