"""Load request bodies as conversations, and describe their other content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from chatsquash import formats
from chatsquash.core import jsonio
from chatsquash.core.blocks import Turn
from chatsquash.core.model import Conversation, Json, Message, Tool
from chatsquash.formats import view
from chatsquash.formats.base import Format, LoadedTurn, Tools, TurnError
from chatsquash.formats.definitions import share
from chatsquash.formats.providers.openai_chat.read import merge_results, turns_of
from chatsquash.formats.values import at


def load(form: Format, body: Json) -> Conversation:
    """Load the conversation in a request's body or a list of turns; may raise ``TurnError``."""
    conversation = read(form, body)
    return replace(conversation, messages=view.messages(turns_of(conversation)))


def read(form: Format, body: Json, tools: Tools | None = None) -> Conversation:
    """Load a conversation as turns, without messages.

    Args:
        form: the format of the body
        body: a request's body, or its list of turns
        tools: the tools of the body, if they are already loaded

    Raises:
        TurnError: if the body has no list of turns, or a turn is malformed
    """
    members: dict[str, Any] = body if isinstance(body, dict) else {form.TURNS: body}
    turns = members.get(form.TURNS)
    # Some services accept a single turn or a string instead of a list.
    turns = [turns] if isinstance(turns, (str, dict)) else turns
    if not isinstance(turns, list):
        raise TurnError(f"no list of {form.TURNS}")
    # Messages of other formats may be among those of OpenAI chat, for example in traces.
    if form.NAME == formats.PLAIN:
        from chatsquash.formats.providers.openai_chat import rewriting  # imported late: only documents need it

        turns = [message for turn in turns for message in rewriting.messages(turn)]
    tools = tools or tools_in(form, members)
    merged_tools = merge_tools(tools.functions, tools_of_turns(form, turns))
    prompt = _first_member(form.SYSTEM, members)
    system = form.system(prompt) if prompt is not None else []
    own = load_each(form.load, turns, form.START, form.TURNS)
    return Conversation([], merged_tools, turns=merge_results([*system, *own.turns, *form.close(own.state)]))


def tools_in(form: Format, body: Json, *, is_repeated: bool = False) -> Tools:
    """Load the tools that a body defines; ``is_repeated`` means that other bodies may define the same tools."""
    tools = _first_member(form.TOOLS, body) if isinstance(body, dict) else None
    return Tools([]) if tools is None else form.tools(share(tools) if is_repeated else tools)


def load_each(load: Callable[[Json, Any], LoadedTurn], turns: list[Json], state: Any, place: str) -> LoadedTurn:
    """Load a list of turns, and return them with the final state; ``TurnError`` includes the place of the turn."""
    turns_loaded = list[Turn]()
    for number, turn in enumerate(turns):
        try:
            result = load(turn, state)
        except TurnError as problem:
            raise TurnError(f"{place}[{number}]: {problem}") from None
        turns_loaded += result.turns
        state = result.state
    return LoadedTurn(turns_loaded, state)


def _first_member(names: tuple[str, ...], members: dict[str, Any]) -> Json:
    """Return the first of these members that is not null."""
    return next((members[name] for name in names if members.get(name) is not None), None)


def tools_of_turns(form: Format, turns: Iterable[Json]) -> list[Tool]:
    """Return the tools that turns define."""
    return [tool for turn in turns for tool in form.turn_tools(turn).functions]


def merge_tools(tools: list[Tool], more: list[Tool]) -> list[Tool]:
    """Return a list with the tools with new names appended; without new tools, the list itself."""
    if not more:
        return tools
    known = set(map(_name, tools))
    # Reversed twice, so that the first definition of a name is used.
    fresh = {_name(tool): tool for tool in reversed(more) if _name(tool) not in known}
    return [*tools, *reversed(fresh.values())] if fresh else tools


def _name(tool: Tool) -> bytes:
    of = "function" if isinstance(tool.get("function"), dict) else "custom"
    # The name may be any JSON value.
    return jsonio.dumps(at(tool, of, "name"))


class RequestExtras(Struct, frozen=True):
    """The content of a request that is not part of its conversation."""

    hosted: int
    """The number of tools that the service runs itself."""
    elsewhere: list[str]
    """The members that refer to turns stored elsewhere."""
    options: list[str]
    """The members that only configure the reply, such as the temperature."""


def request_extras(form: Format, body: Json, tools: Tools | None = None) -> RequestExtras:
    """Return the content of a body that is not part of its conversation; for ``tools``, see ``read``."""
    members = {name for name, value in body.items() if value is not None} if isinstance(body, dict) else set()
    tools = tools or tools_in(form, body)
    known = {form.TURNS, *form.SYSTEM, *form.TOOLS, *form.REFERS}
    return RequestExtras(len(tools.hosted), sorted(members.intersection(form.REFERS)), sorted(members - known))


def has_turns(form: Format, body: Json) -> bool:
    """Return whether a body has at least one turn."""
    turns = body.get(form.TURNS) if isinstance(body, dict) else body
    return isinstance(body, dict | list) and bool(turns)


def recognise(body: Json) -> formats.Recognised:
    """Detect the format of a request's body or a list of turns."""
    request = body if isinstance(body, dict) else {"messages": body} if isinstance(body, list) else None
    return formats.recognise(request, None, None)


def messages_with_places(form: Format, turns: Iterable[tuple[str, Json]]) -> list[tuple[Message, range]]:
    """Return the messages of an agent's turns, each with the indices of its turns.

    Args:
        form: the format of the turns
        turns: each turn with its place, which ``TurnError`` includes
    """
    return [(message, places) for turn, places in _turns_with_places(form, turns) for message in view.messages([turn])]


def _turns_with_places(form: Format, turns: Iterable[tuple[str, Json]]) -> Iterator[tuple[Turn, range]]:
    """Yield each turn with the range of logged turns that it was loaded from.

    A logged turn that completes no turn is included in the next range.
    """
    state, first, number = form.START, 0, -1
    for number, (place, turn) in enumerate(turns):
        try:
            result = form.load(turn, state)
        except TurnError as problem:
            raise TurnError(f"{place}: {problem}") from None
        state = result.state
        for loaded_turn in result.turns:
            yield loaded_turn, range(first, max(first + 1, number))
            first = number
        first = number + 1 if result.turns else first
    for loaded_turn in form.close(state):
        yield loaded_turn, range(first, number + 1)
