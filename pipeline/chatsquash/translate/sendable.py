"""A conversation as part of a request that a service takes, where that refuses what its format can hold.

What is changed for it is counted.
"""

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
from chatsquash.translate.fitting import Fitting

_SAID = Text | Refusal | Call
"""What may follow reasoning in its turn; every service has a place for such."""
Blocks = tuple[Block, ...]
ForeignReasoning = Literal["drop", "text"]
"""What becomes of reasoning that the service has not signed: it goes, or is said as a text."""


class NothingToSendError(UsageError):
    """Nobody speaks in what is left of a conversation but the system."""


class Request(NamedTuple):
    """A request, and what was changed for the service."""

    body: Json
    fitted: Counter[str]
    """How often, in words."""
    original: Conversation
    """The conversation with what of its reasoning is said as text."""

    service: Service

    def without_fitted(self) -> Conversation:
        """What was held, without the reasoning that was left out and counted for that."""
        return replace(self.original, turns=tuple(_without_foreign(turns_of(self.original), self.service)))


def request(form: Any, conversation: Conversation, foreign_reasoning: ForeignReasoning) -> Request:
    """The part of a request that holds a conversation.

    Raises ``TurnError`` for a format without a service, and ``NothingToSendError``.
    """
    service = service_of(form)
    if service is None:
        raise TurnError("is sent to no service: leave --sendable out")
    fitted: Counter[str] = Counter()
    original, turns = conversation, list(turns_of(conversation))
    if foreign_reasoning == "text":
        original = replace(conversation, turns=tuple(_aloud(turn, service, apart=False) for turn in turns))
        turns = [_aloud(turn, service) for turn in turns]
        fitted["reasoning said as text"] += _thoughts(turns_of(conversation)) - _thoughts(turns)
    turns = _saying(_drop_unsupported(turns, service, fitted), form, service, fitted)
    turns = _run(turns, service.accepts_hosted, fitted) if service.accepts_hosted else turns
    turns = _join(turns) if service.requires_input_before_calls else turns
    turns = _drop_unpaired(_place_results(turns), service, fitted) if service.requires_pairs else turns
    turns = _join(turns) if service.requires_input_before_calls else turns
    turns = _drop_last_reasoning(turns, service, fitted) if service.rejects_trailing_reasoning else turns
    turns = _prompted(_saying(turns, form, service, fitted), service, fitted)
    named = Fitting(service, turns, conversation.tools, fitted)
    fitted_conversation = replace(
        conversation, turns=tuple(map(named.turn, turns)), tools=named.tools(conversation.tools)
    )
    body = _body(fitted_conversation, form, service)
    said = next(body[member] for member in ("messages", "contents", "input") if member in body)
    if all(each.get("role") in PROMPTS for each in said):
        raise NothingToSendError("nothing is left to send: nobody speaks in it but the system")
    return Request(body, +fitted, original, service)


def _body(conversation: Conversation, form: Any, service: Service) -> Json:
    body = without_marks(form.dump(conversation))
    return service.remove_unknown_members(body) if service.remove_unknown_members else body


def service_of(form: Any) -> Service | None:
    """What the service of a format wants; ``None`` for one that is sent to none."""
    try:
        service: Service = import_module(f"{form.module}.service").SERVICE
    except ModuleNotFoundError:
        return None
    return service


# What is said


def _aloud(turn: Turn, service: Service, *, apart: bool = True) -> Turn:
    """A turn that says as text what it thinks and the service has not signed; ``apart`` from what it says then."""
    blocks = list[Block]()
    thought = None
    for block in turn.blocks:
        if type(block) is Reasoning and block.text.strip() and not service.accepts_reasoning(block):
            thought = Text(block.text, apart=apart)
            blocks.append(thought)
        else:
            follows = apart and type(block) is Text and thought is not None and blocks[-1] is thought
            blocks.append(replace(block, apart=True) if follows else block)
    return turn if thought is None else replace(turn, blocks=tuple(blocks))


def _without_foreign(turns: Iterable[Turn], service: Service) -> Iterator[Turn]:
    """Turns without reasoning that a service does not take; one that has nothing else goes whole."""
    for turn in turns:
        blocks = tuple(
            block for block in turn.blocks if type(block) is not Reasoning or service.accepts_reasoning(block)
        )
        if blocks or not turn.blocks:
            yield turn if len(blocks) == len(turn.blocks) else replace(turn, blocks=blocks)


def _thoughts(turns: Iterable[Turn]) -> int:
    return sum(type(block) is Reasoning for turn in turns for block in turn.blocks)


def _drop_unsupported(turns: list[Turn], service: Service, fitted: Counter[str]) -> list[Turn]:
    """The turns of known roles, with those blocks that the service takes."""
    known = [turn for turn in turns if turn.role in ROLES]
    fitted["turns of unknown roles left out"] += len(turns) - len(known)
    return [replace(turn, blocks=_fit(turn.blocks, service, fitted, calls=turn.role == "assistant")) for turn in known]


def _saying(turns: list[Turn], form: Any, service: Service, fitted: Counter[str]) -> list[Turn]:
    """The turns of which something is written, which is seen of most, and tried with the others."""

    def says(turn: Turn) -> bool:
        if any(isinstance(block, Text | Refusal | Call | Result) for block in turn.blocks):
            return True
        return bool(turn.blocks) and any(_body(Conversation([], [], turns=(turn,)), form, service).values())

    speaking = list(filter(says, turns))
    fitted["empty turns left out"] += len(turns) - len(speaking)
    return speaking


def _fit(blocks: Blocks, service: Service, fitted: Counter[str], *, calls: bool = False) -> tuple[Any, ...]:
    """Blocks, and what is in results, as far as the service takes them; ``calls``: whether he who speaks may call."""
    result = list[Block]()
    for block in blocks:
        match block:
            case Text() | Refusal() if service.rejects_blank_texts and not block.text.strip():
                fitted["texts of white space left out"] += 1
            case Call() if not calls:
                fitted["calls that the assistant has not made left out"] += 1
            case Reasoning() if not service.accepts_reasoning(block):
                fitted["reasoning left out"] += 1
            case Media():
                shown = service.fit_media(block)
                result += [shown] if shown else []
                fitted["media that the service cannot open left out"] += shown is None
            case Result():
                result.append(
                    replace(block, content=_fit(block.content, replace(service, rejects_blank_texts=False), fitted))
                )
            case _:
                result.append(block)
    return tuple(result)


def _prompted(turns: list[Turn], service: Service, fitted: Counter[str]) -> list[Turn]:
    """Turns with one prompt at the beginning, and others in a role that the service has."""
    leading = leading_prompts(turns)
    made = list[Turn]()
    if leading:
        role = leading[0].role if leading[0].role in service.prompts else service.prompts[0]
        fitted["prompts made one"] += len(leading) > 1
        blocks = tuple(chain.from_iterable(turn.blocks for turn in leading))
        instructions = any(turn.instructions for turn in leading)
        made.append(replace(leading[0], role=role, blocks=blocks, instructions=instructions))
    for turn in turns[len(leading) :]:
        if turn.role not in PROMPTS:
            made.append(turn)
        elif service.prompts_among_turns:
            made.append(turn if turn.role in service.prompts else replace(turn, role=service.prompts[0]))
        else:
            fitted["prompts said by the user"] += 1
            made.append(Turn("user", tuple(map(_tagged, turn.blocks))))
    return made


def _tagged(block: Block) -> Block:
    return replace(block, text=f"<system>{block.text}</system>") if type(block) is Text else block


def _join(turns: list[Turn]) -> list[Turn]:
    """Turns, neighbours of the assistant as one, without calls that the later one makes again."""
    result = list[Turn]()
    for turn in turns:
        if result and result[-1].role == turn.role == "assistant":
            again = _ids(turn, Call)
            others = [block for block in result[-1].blocks if type(block) is not Call or block.id not in again]
            result[-1] = replace(result[-1], blocks=(*others, *turn.blocks))
        else:
            result.append(turn)
    return result


def _place_results(turns: list[Turn]) -> list[Turn]:
    """Turns with all results between two of the assistant's right behind the first of these."""
    made, others = list[Turn](), list[Turn]()
    for turn in turns:
        if turn.role == "assistant":
            made += [*others, turn]
            others = []
        elif turn.role != "tool":
            others.append(turn)
        elif made and made[-1].role == "tool":
            made[-1] = replace(made[-1], blocks=made[-1].blocks + turn.blocks)
        else:
            made.append(turn)
    return made + others


def _drop_unpaired(turns: list[Turn], service: Service, fitted: Counter[str]) -> list[Turn]:
    """Turns without calls that nothing answers, but those at the end, and without results that answer nothing."""
    made = list[Turn]()
    waiting: Counter[str] = Counter()
    for turn, behind in zip_longest(turns, turns[1:]):
        blocks: Blocks = turn.blocks
        if turn.role == "assistant":
            answers = _ids(behind, Result) if behind else _ids(turn, Call)
            if service.requires_input_before_calls and all(each.role in PROMPTS for each in made):
                answers.clear()
            blocks = tuple(block for block in blocks if type(block) is not Call or _takes(block.id, answers))
        elif turn.role == "tool":
            blocks = tuple(block for block in blocks if type(block) is not Result or _takes(block.id, waiting))
        whose = "results without a call" if turn.role == "tool" else "calls without a result"
        fitted[f"{whose} left out"] += len(turn.blocks) - len(blocks)
        made += [replace(turn, blocks=blocks)] if blocks else []
        waiting = _ids(made[-1], Call) if blocks else Counter()
    return made


def _ids(turn: Turn, kind: type[Call | Result]) -> Counter[str]:
    return Counter(block.id for block in turn.blocks if isinstance(block, kind))


def _takes(ident: str, waiting: Counter[str]) -> bool:
    """Whether a call or a result has one of those that wait for it, which waits no more then."""
    waiting[ident] -= 1
    return waiting[ident] >= 0


def _run(turns: list[Turn], runs: Callable[[HostedCall | HostedResult], bool], fitted: Counter[str]) -> list[Turn]:
    """Turns without what the service did not run itself, and without what it ran of which only one half is there."""
    hosted = [
        block for turn in turns for block in turn.blocks if isinstance(block, HostedCall | HostedResult) and runs(block)
    ]
    called = {block.id for block in hosted if type(block) is HostedCall}
    answered = {block.id for block in hosted if type(block) is HostedResult}
    going_on = {block.id for block in turns[-1].blocks if type(block) is HostedCall} if turns else set[str]()
    whole = called & (answered | going_on)

    def ran(turn: Turn) -> Blocks:
        return tuple(
            b for b in turn.blocks if not isinstance(b, HostedCall | HostedResult) or (b.id in whole and runs(b))
        )

    return _filter_blocks(turns, ran, fitted, "calls that another provider ran left out")


def _drop_last_reasoning(turns: list[Turn], service: Service, fitted: Counter[str]) -> list[Turn]:
    """Turns without the reasoning that nothing follows in its turn."""

    def is_said(block: Block) -> bool:
        return isinstance(block, _SAID) or (type(block) is HostedCall and block.provider == service.provider)

    def led(turn: Turn) -> Blocks:
        end = max((at for at, block in enumerate(turn.blocks) if is_said(block)), default=-1)
        return tuple(block for at, block in enumerate(turn.blocks) if at < end or type(block) is not Reasoning)

    return _filter_blocks(turns, led, fitted, "reasoning that nothing follows left out")


def _filter_blocks(turns: list[Turn], blocks: Callable[[Turn], Blocks], fitted: Counter[str], what: str) -> list[Turn]:
    """Turns with those of their blocks that stay, without those of which none do."""
    result = [replace(turn, blocks=blocks(turn)) for turn in turns]
    fitted[what] += sum(len(turn.blocks) for turn in turns) - sum(len(turn.blocks) for turn in result)
    return [turn for turn in result if turn.blocks]
