"""A conversation as part of a request that a service takes, where that refuses what its format can hold.

What is changed for it is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import chain, count
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from chatsquash.blocks import (
    PROMPTS,
    ROLES,
    Block,
    Call,
    HostedCall,
    HostedResult,
    Reasoning,
    Refusal,
    Result,
    Text,
    Turn,
)
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import defined
from chatsquash.formats.service import Letters, Service
from chatsquash.formats.values import string
from chatsquash.formats.writing import prompts, without_marks
from chatsquash.model import Conversation, Json, Tool

_UNKNOWN = "unknown"
"""The name of a tool that was logged without one."""
ForeignReasoning = Literal["drop", "text"]
"""What becomes of reasoning that the service has not signed: it goes, or is said as a text."""


class Request(NamedTuple):
    """A request, and what was changed for the service."""

    body: Json
    fitted: Counter[str]
    """How often, in words."""


def request(form: Any, conversation: Conversation, foreign_reasoning: ForeignReasoning) -> Request:
    """The part of a request that holds a conversation; raises ``TurnError`` for a format without a service."""
    service = service_of(form)
    if service is None:
        raise TurnError("is sent to no service: leave --sendable out")
    fitted: Counter[str] = Counter()
    known = [turn for turn in conversation.turns if turn.role in ROLES]
    fitted["turns of unknown roles left out"] += len(conversation.turns) - len(known)
    said = [_said(turn, service, foreign_reasoning, fitted) for turn in known]
    turns = [turn for turn in said if turn.blocks]
    fitted["empty turns left out"] += len(said) - len(turns)
    turns = _prompted(turns, service, fitted)
    turns = _run(turns, service.runs, fitted) if service.runs else turns
    turns = _paired(turns, fitted) if service.pairs else turns
    turns = _followed(turns, fitted) if service.reasoning_leads else turns
    turns = _stripped(turns) if service.needs_words else turns
    named = _Fitting(service, turns, conversation.tools, fitted)
    told = replace(conversation, told=tuple(map(named.turn, turns)), tools=list(map(named.tool, conversation.tools)))
    body = without_marks(form.dump(told))
    return Request(service.strict(body) if service.strict else body, +fitted)


def service_of(form: Any) -> Service | None:
    """What the service of a format wants; ``None`` for one that is sent to none."""
    try:
        found: Service = import_module(f"{form.__name__}.service").SERVICE
    except ModuleNotFoundError:
        return None
    return found


# What is said


def _said(turn: Turn, service: Service, foreign: ForeignReasoning, fitted: Counter[str]) -> Turn:
    """A turn with what the service takes of its reasoning and its texts."""
    blocks = list[Block]()
    thought = None
    for block in turn.blocks:
        if isinstance(block, Text | Refusal) and service.needs_words and not block.text.strip():
            fitted["texts of white space left out"] += 1
        elif type(block) is Reasoning and not service.takes(block):
            thought = Text(block.text, apart=True) if foreign == "text" and block.text.strip() else None
            blocks += [thought] if thought else []
            fitted["reasoning said as text" if thought else "reasoning left out"] += 1
        else:
            follows = type(block) is Text and thought is not None and blocks[-1] is thought
            blocks.append(replace(block, apart=True) if follows else block)
    return replace(turn, blocks=tuple(blocks))


def _prompted(turns: list[Turn], service: Service, fitted: Counter[str]) -> list[Turn]:
    """Turns with one prompt at the beginning, and others in a role that the service has."""
    leading = prompts(turns)
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


def _paired(turns: list[Turn], fitted: Counter[str]) -> list[Turn]:
    """Turns without calls that nothing answers, but those at the end, and without results that answer nothing."""
    last = next((turn for turn in reversed(turns) if turn.role == "assistant"), None)
    is_last = bool(turns) and turns[-1] is last
    made = list[Turn]()
    waiting: Counter[str] = Counter()
    for at, turn in enumerate(turns):
        if turn.role == "assistant":
            behind = turns[at + 1] if at + 1 < len(turns) else None
            answers = (
                Counter(block.id for block in behind.blocks if type(block) is Result) if behind else Counter[str]()
            )
            is_end = turn is last and is_last
            kept = tuple(b for b in turn.blocks if type(b) is not Call or is_end or _takes(b.id, answers))
            waiting = Counter(block.id for block in kept if type(block) is Call)
            fitted["calls without a result left out"] += len(turn.blocks) - len(kept)
        elif turn.role == "tool":
            kept = tuple(b for b in turn.blocks if type(b) is not Result or _takes(b.id, waiting))
            fitted["results without a call left out"] += len(turn.blocks) - len(kept)
        else:
            kept, waiting = turn.blocks, Counter()
        if kept:
            made.append(replace(turn, blocks=kept) if len(kept) < len(turn.blocks) else turn)
    return made


def _run(turns: list[Turn], runs: Callable[[HostedCall | HostedResult], bool], fitted: Counter[str]) -> list[Turn]:
    """Turns without what the service did not run itself, and without what it ran of which only one half is there."""
    hosted = [
        block for turn in turns for block in turn.blocks if isinstance(block, HostedCall | HostedResult) and runs(block)
    ]
    called = {block.id for block in hosted if type(block) is HostedCall}
    answered = {block.id for block in hosted if type(block) is HostedResult}
    going_on = {block.id for block in turns[-1].blocks if type(block) is HostedCall} if turns else set[str]()
    whole = called & (answered | going_on)
    made = list[Turn]()
    for turn in turns:
        kept = tuple(
            b for b in turn.blocks if not isinstance(b, HostedCall | HostedResult) or (b.id in whole and runs(b))
        )
        fitted["calls that another provider ran left out"] += len(turn.blocks) - len(kept)
        made += [replace(turn, blocks=kept) if len(kept) < len(turn.blocks) else turn] if kept else []
    return made


def _takes(ident: str, waiting: Counter[str]) -> bool:
    """Whether a call or a result has one of those that wait for it, which waits no more then."""
    waiting[ident] -= 1
    return waiting[ident] >= 0


def _followed(turns: list[Turn], fitted: Counter[str]) -> list[Turn]:
    """Turns without the reasoning that nothing follows in its turn."""
    made = list[Turn]()
    for turn in turns:
        end = max((at for at, block in enumerate(turn.blocks) if _is_said(block)), default=-1)
        kept = tuple(b for at, b in enumerate(turn.blocks) if at < end or type(b) is not Reasoning)
        fitted["reasoning that nothing follows left out"] += len(turn.blocks) - len(kept)
        made += [replace(turn, blocks=kept) if len(kept) < len(turn.blocks) else turn] if kept else []
    return made


def _is_said(block: Block) -> bool:
    """Whether a block of the assistant's may follow reasoning; every service has a place for such."""
    return isinstance(block, Text | Refusal | Call | HostedCall)


def _stripped(turns: list[Turn]) -> list[Turn]:
    """Turns whose last one, if it is the assistant's, ends without white space."""
    if turns and turns[-1].role == "assistant" and type(last := turns[-1].blocks[-1]) is Text:
        return [
            *turns[:-1],
            replace(turns[-1], blocks=(*turns[-1].blocks[:-1], replace(last, text=last.text.rstrip()))),
        ]
    return turns


# Names and ids


class _Fitting:
    """Gives tools and calls names and ids that a service takes, each its own, and results those of their calls."""

    def __init__(self, service: Service, turns: list[Turn], tools: list[Tool], fitted: Counter[str]) -> None:
        blocks = [block for turn in turns for block in turn.blocks]
        names = [name for tool in tools if (name := string(defined(tool), "name"))]
        names += [block.name or "" for block in blocks if type(block) is Call]
        names += [block.name for block in blocks if type(block) is Result and block.name]
        self._names = _given(names, service.names)
        self._ids = service.ids
        self._taken = {block.id for block in blocks if isinstance(block, Call | Result)}
        self._open = dict[str, list[str]]()
        """The ids that calls have now, by those that they had."""
        self._used = set[str]()
        self._fitted = fitted
        fitted["names of tools"] += sum(name != own for name, own in self._names.items())

    def tool(self, tool: Tool) -> Tool:
        """A definition with its own name."""
        holder = next((of for of in ("function", "custom") if isinstance(tool, dict) and of in tool), None)
        definition = tool if holder is None else tool[holder]
        if not (name := string(definition, "name")) or name not in self._names:
            return tool
        own = {**definition, "name": self._names[name]}
        return own if holder is None else {**tool, holder: own}

    def turn(self, turn: Turn) -> Turn:
        """A turn with the names and ids of its calls or results."""
        if turn.role == "assistant":
            self._open.update((block.id, []) for block in turn.blocks if type(block) is Call)
        return replace(turn, blocks=tuple(map(self._block, turn.blocks)))

    def _block(self, block: Block) -> Block:
        if type(block) is Call:
            own, name = self._id(block.id), self._names.get(block.name or "", block.name)
            self._open[block.id].append(own)
            return block if (own, name) == (block.id, block.name) else replace(block, id=own, name=name, made_up=False)
        if type(block) is Result:
            left = self._open.get(block.id, [block.id])
            own = left.pop(0) if len(left) > 1 else left[0]
            name = block.name and self._names.get(block.name, block.name)
            return block if (own, name) == (block.id, block.name) else replace(block, id=own, name=name, made_up=False)
        return block

    def _id(self, logged: str) -> str:
        """An id that no call before has."""
        wanted = self._ids.fitted(logged) if self._ids else logged
        found = wanted
        if wanted in self._used or (wanted != logged and wanted in self._taken):
            longest = self._ids.longest if self._ids else len(wanted) + 20
            found = _free(wanted, self._used | self._taken, longest)
        self._used.add(found)
        self._fitted["ids of calls"] += found != logged
        return found


def _given(names: Iterable[str], allowed: Letters | None) -> dict[str, str]:
    """What each name becomes; those that are allowed stay, others become such that are nobody else's."""
    known = dict.fromkeys(names)
    if allowed is None:
        return {}
    given = {name: name for name in known if name and allowed.fitted(name) == name}
    taken = set(given)
    for name in known:
        if name not in given:
            given[name] = _free(allowed.fitted(name or _UNKNOWN), taken, allowed.longest)
            taken.add(given[name])
    return given


def _free(wanted: str, taken: set[str], longest: int) -> str:
    """The first name like this that is not taken, and is not too long."""
    ends: Iterator[str] = chain([""], (f"_{number}" for number in count(2)))
    return next(name for end in ends if (name := wanted[: longest - len(end)] + end) not in taken)
