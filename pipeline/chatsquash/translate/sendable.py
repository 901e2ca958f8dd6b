"""Adapts conversations to services, which may reject content that their formats can express, and counts the changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import chain, zip_longest
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from chatsquash.core.blocks import (
    PROMPTS,
    ROLES,
    Block,
    Call,
    HostedCall,
    HostedResult,
    Media,
    Reasoning,
    Refusal,
    Result,
    Text,
    Turn,
)
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Conversation, Json
from chatsquash.formats.base import TurnError
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.service import Service
from chatsquash.formats.writing import leading_prompts, without_marks
from chatsquash.translate.fitting import NameMapping

_MAY_FOLLOW = Text | Refusal | Call
"""Blocks that may follow reasoning in a turn; every service supports them."""
Blocks = tuple[Block, ...]
ForeignReasoning = Literal["drop", "text"]
"""How reasoning that the service has not signed is handled: dropped, or written as text."""


class NothingToSendError(UsageError):
    """Only system messages of a conversation remain."""


class Request(NamedTuple):
    """A request, and the changes made for the service."""

    body: Json
    adaptations: Counter[str]
    """The number of changes, by description."""
    original: Conversation
    """The conversation before the changes, except for reasoning that was written as text."""

    service: Service

    def without_foreign_reasoning(self) -> Conversation:
        """Return the original without reasoning of other services, whose removal is counted as an adaptation."""
        return replace(self.original, turns=tuple(_without_foreign(turns_of(self.original), self.service)))


def request(form: Any, conversation: Conversation, foreign_reasoning: ForeignReasoning) -> Request:
    """Return the part of a request that contains a conversation.

    Raises ``TurnError`` for a format without a service, and ``NothingToSendError``.
    """
    service = service_of(form)
    if service is None:
        raise TurnError("no service accepts this format; remove --sendable")
    adaptations: Counter[str] = Counter()
    original, turns = conversation, list(turns_of(conversation))
    if foreign_reasoning == "text":
        original = replace(conversation, turns=tuple(_reasoning_as_text(turn, service, apart=False) for turn in turns))
        turns = [_reasoning_as_text(turn, service) for turn in turns]
        adaptations["reasoning written as text"] += _count_reasoning(turns_of(conversation)) - _count_reasoning(turns)
    turns = _drop_empty(_drop_unsupported(turns, service, adaptations), form, service, adaptations)
    turns = _drop_foreign_hosted(turns, service.accepts_hosted, adaptations) if service.accepts_hosted else turns
    turns = _join_neighbors(turns) if service.requires_input_before_calls else turns
    turns = _drop_unpaired(_place_results(turns), service, adaptations) if service.requires_pairs else turns
    turns = _join_neighbors(turns) if service.requires_input_before_calls else turns
    turns = _drop_last_reasoning(turns, service, adaptations) if service.rejects_trailing_reasoning else turns
    turns = _place_prompts(_drop_empty(turns, form, service, adaptations), service, adaptations)
    names = NameMapping(service, turns, conversation.tools, adaptations)
    adapted = replace(conversation, turns=tuple(map(names.turn, turns)), tools=names.tools(conversation.tools))
    body = _body(adapted, form, service)
    turns_written = next(body[member] for member in ("messages", "contents", "input") if member in body)
    if all(each.get("role") in PROMPTS for each in turns_written):
        raise NothingToSendError("nothing to send: only system messages remain")
    return Request(body, +adaptations, original, service)


def _body(conversation: Conversation, form: Any, service: Service) -> Json:
    body = without_marks(form.dump(conversation))
    return service.remove_unknown_members(body) if service.remove_unknown_members else body


def service_of(form: Any) -> Service | None:
    """Return the requirements of the service of a format, or ``None`` for a format without one."""
    try:
        service: Service = import_module(f"{form.module}.service").SERVICE
    except ModuleNotFoundError:
        return None
    return service


# Blocks


def _reasoning_as_text(turn: Turn, service: Service, *, apart: bool = True) -> Turn:
    """Return a turn whose reasoning is text unless the service signed it, ``apart`` from the next text if set."""
    blocks = list[Block]()
    spoken_text = None
    for block in turn.blocks:
        if type(block) is Reasoning and block.text.strip() and not service.accepts_reasoning(block):
            spoken_text = Text(block.text, apart=apart)
            blocks.append(spoken_text)
        else:
            follows = apart and type(block) is Text and spoken_text is not None and blocks[-1] is spoken_text
            blocks.append(replace(block, apart=True) if follows else block)
    return turn if spoken_text is None else replace(turn, blocks=tuple(blocks))


def _without_foreign(turns: Iterable[Turn], service: Service) -> Iterator[Turn]:
    """Yield turns without reasoning that a service rejects; a turn with nothing else is dropped."""
    for turn in turns:
        blocks = tuple(
            block for block in turn.blocks if type(block) is not Reasoning or service.accepts_reasoning(block)
        )
        if blocks or not turn.blocks:
            yield turn if len(blocks) == len(turn.blocks) else replace(turn, blocks=blocks)


def _count_reasoning(turns: Iterable[Turn]) -> int:
    return sum(type(block) is Reasoning for turn in turns for block in turn.blocks)


def _drop_unsupported(turns: list[Turn], service: Service, adaptations: Counter[str]) -> list[Turn]:
    """Return the turns of known roles with the blocks that the service accepts."""
    known = [turn for turn in turns if turn.role in ROLES]
    adaptations["turns with unknown roles dropped"] += len(turns) - len(known)
    return [
        replace(turn, blocks=_adapt_blocks(turn.blocks, service, adaptations, may_call=turn.role == "assistant"))
        for turn in known
    ]


def _drop_empty(turns: list[Turn], form: Any, service: Service, adaptations: Counter[str]) -> list[Turn]:
    """Return the turns that are not empty once written; unless it is obvious, the turn is written to find out."""

    def is_written(turn: Turn) -> bool:
        if any(isinstance(block, Text | Refusal | Call | Result) for block in turn.blocks):
            return True
        return bool(turn.blocks) and any(_body(Conversation([], [], turns=(turn,)), form, service).values())

    nonempty = list(filter(is_written, turns))
    adaptations["empty turns dropped"] += len(turns) - len(nonempty)
    return nonempty


def _adapt_blocks(
    blocks: Blocks, service: Service, adaptations: Counter[str], *, may_call: bool = False
) -> tuple[Any, ...]:
    """Return the blocks that the service accepts, also in results; ``may_call``: whether the role may call tools."""
    result = list[Block]()
    for block in blocks:
        match block:
            case Text() | Refusal() if service.rejects_blank_texts and not block.text.strip():
                adaptations["blank text dropped"] += 1
            case Call() if not may_call:
                adaptations["calls not made by the assistant dropped"] += 1
            case Reasoning() if not service.accepts_reasoning(block):
                adaptations["reasoning dropped"] += 1
            case Media():
                medium = service.fit_media(block)
                result += [medium] if medium else []
                adaptations["media inaccessible to the service dropped"] += medium is None
            case Result():
                result.append(
                    replace(
                        block,
                        content=_adapt_blocks(block.content, replace(service, rejects_blank_texts=False), adaptations),
                    )
                )
            case _:
                result.append(block)
    return tuple(result)


def _place_prompts(turns: list[Turn], service: Service, adaptations: Counter[str]) -> list[Turn]:
    """Return turns with a single leading prompt, and later prompts in a role that the service supports."""
    leading = leading_prompts(turns)
    result = list[Turn]()
    if leading:
        role = leading[0].role if leading[0].role in service.prompts else service.prompts[0]
        adaptations["system prompts joined"] += len(leading) > 1
        blocks = tuple(chain.from_iterable(turn.blocks for turn in leading))
        instructions = any(turn.instructions for turn in leading)
        result.append(replace(leading[0], role=role, blocks=blocks, instructions=instructions))
    for turn in turns[len(leading) :]:
        if turn.role not in PROMPTS:
            result.append(turn)
        elif service.prompts_among_turns:
            result.append(turn if turn.role in service.prompts else replace(turn, role=service.prompts[0]))
        else:
            adaptations["system prompts written as user messages"] += 1
            result.append(Turn("user", tuple(map(_add_tags, turn.blocks))))
    return result


def _add_tags(block: Block) -> Block:
    return replace(block, text=f"<system>{block.text}</system>") if type(block) is Text else block


def _join_neighbors(turns: list[Turn]) -> list[Turn]:
    """Return turns with consecutive assistant turns joined; calls repeated in the later turn are only kept there."""
    result = list[Turn]()
    for turn in turns:
        if result and result[-1].role == turn.role == "assistant":
            repetitions = _ids(turn, Call)
            others = [block for block in result[-1].blocks if type(block) is not Call or block.id not in repetitions]
            result[-1] = replace(result[-1], blocks=(*others, *turn.blocks))
        else:
            result.append(turn)
    return result


def _place_results(turns: list[Turn]) -> list[Turn]:
    """Return turns with all results directly after the assistant turn that they follow."""
    result, others = list[Turn](), list[Turn]()
    for turn in turns:
        if turn.role == "assistant":
            result += [*others, turn]
            others = []
        elif turn.role != "tool":
            others.append(turn)
        elif result and result[-1].role == "tool":
            result[-1] = replace(result[-1], blocks=result[-1].blocks + turn.blocks)
        else:
            result.append(turn)
    return result + others


def _drop_unpaired(turns: list[Turn], service: Service, adaptations: Counter[str]) -> list[Turn]:
    """Return turns without unanswered calls, except in the last turn, and without results that have no call."""
    result = list[Turn]()
    open_calls: Counter[str] = Counter()
    for turn, following in zip_longest(turns, turns[1:]):
        blocks: Blocks = turn.blocks
        if turn.role == "assistant":
            results = _ids(following, Result) if following else _ids(turn, Call)
            if service.requires_input_before_calls and all(each.role in PROMPTS for each in result):
                results.clear()
            blocks = tuple(block for block in blocks if type(block) is not Call or _take(block.id, results))
        elif turn.role == "tool":
            blocks = tuple(block for block in blocks if type(block) is not Result or _take(block.id, open_calls))
        what = "results without a call" if turn.role == "tool" else "calls without a result"
        adaptations[f"{what} dropped"] += len(turn.blocks) - len(blocks)
        result += [replace(turn, blocks=blocks)] if blocks else []
        open_calls = _ids(result[-1], Call) if blocks else Counter()
    return result


def _ids(turn: Turn, kind: type[Call | Result]) -> Counter[str]:
    return Counter(block.id for block in turn.blocks if isinstance(block, kind))


def _take(ident: str, counts: Counter[str]) -> bool:
    """Return whether a counterpart is available for a call or a result, and use it up."""
    counts[ident] -= 1
    return counts[ident] >= 0


def _drop_foreign_hosted(
    turns: list[Turn], is_own: Callable[[HostedCall | HostedResult], bool], adaptations: Counter[str]
) -> list[Turn]:
    """Return turns without hosted calls of other services, and without those that have no counterpart."""
    hosted = [
        block
        for turn in turns
        for block in turn.blocks
        if isinstance(block, HostedCall | HostedResult) and is_own(block)
    ]
    call_ids = {block.id for block in hosted if type(block) is HostedCall}
    result_ids = {block.id for block in hosted if type(block) is HostedResult}
    pending_ids = {block.id for block in turns[-1].blocks if type(block) is HostedCall} if turns else set[str]()
    complete_ids = call_ids & (result_ids | pending_ids)

    def own_blocks(turn: Turn) -> Blocks:
        return tuple(
            b
            for b in turn.blocks
            if not isinstance(b, HostedCall | HostedResult) or (b.id in complete_ids and is_own(b))
        )

    return _filter_blocks(turns, own_blocks, adaptations, "hosted calls of other providers dropped")


def _drop_last_reasoning(turns: list[Turn], service: Service, adaptations: Counter[str]) -> list[Turn]:
    """Return turns without reasoning that nothing follows in its turn."""

    def follows_reasoning(block: Block) -> bool:
        return isinstance(block, _MAY_FOLLOW) or (type(block) is HostedCall and block.provider == service.provider)

    def blocks_to_send(turn: Turn) -> Blocks:
        end = max((at for at, block in enumerate(turn.blocks) if follows_reasoning(block)), default=-1)
        return tuple(block for at, block in enumerate(turn.blocks) if at < end or type(block) is not Reasoning)

    return _filter_blocks(turns, blocks_to_send, adaptations, "reasoning at the end of a turn dropped")


def _filter_blocks(
    turns: list[Turn], blocks: Callable[[Turn], Blocks], adaptations: Counter[str], what: str
) -> list[Turn]:
    """Return turns with the selected blocks; turns without any are dropped, and removed blocks are counted."""
    result = [replace(turn, blocks=blocks(turn)) for turn in turns]
    adaptations[what] += sum(len(turn.blocks) for turn in turns) - sum(len(turn.blocks) for turn in result)
    return [turn for turn in result if turn.blocks]
