"""The messages of a record by columns, worked out once: what nearly all rules can be told by without a look at each.

Nearly all records have calls of the usual form, with the results of each message right behind it, in order.
"""

from __future__ import annotations

from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from chatsquash.core.model import Json, Message


class Calls(NamedTuple):
    """The calls of a record, all of which have an id of their own, a function's name, and arguments as a text."""

    counts: dict[int, int]
    """How many calls the messages have that have some, by their indices."""
    given: list[dict[str, Any]]
    """The calls themselves."""
    ids: list[str]
    names: list[str]
    arguments: list[str]


class Columns(Struct, frozen=True, gc=False):
    """What stands in the messages of a record."""

    roles: list[str]
    kinds: set[type]
    """The types of their contents; ``NoneType`` where there is none."""
    last: Message | None
    """The very last one."""
    keys: set[str]
    """All that the messages have."""
    calls: Calls | None
    """``None`` where one is unusual."""
    results: list[int]
    """The indices of results."""
    given: list[Any]
    """The contents of these."""
    result_ids: list[Json]
    """What these have for the ids of their calls."""
    matched: bool
    """Whether no call is unusual, and the results of each message stand right behind it, in order.

    The very last message has none.
    """


def columns(messages: list[Message]) -> Columns:
    """The columns of messages."""
    roles: list[str] = list(map(_role, messages))
    kinds = {type(message.get("content")) for message in messages}
    keys: set[str] = set().union(*messages)
    calls = _calls(messages, roles) if "tool_calls" in keys else _NONE
    results = [at for at, role in enumerate(roles) if role == "tool"]
    ids = [messages[at].get("tool_call_id") for at in results]
    given = [messages[at].get("content") for at in results]
    last = messages[-1] if messages else None
    matched = are_matched(calls, results, ids, len(messages) - 1)
    return Columns(roles, kinds, last, keys, calls, results, given, ids, matched)


_role, _function, _id, _name, _arguments = map(itemgetter, ("role", "function", "id", "name", "arguments"))
_NONE = Calls({}, [], [], [], [])
_LIST, _OBJECT, _TEXT, _ASSISTANT = frozenset((list,)), frozenset((dict,)), frozenset((str,)), frozenset(("assistant",))


def _calls(messages: list[Message], roles: list[str]) -> Calls | None:
    listed: dict[int, Any] = {at: each["tool_calls"] for at, each in enumerate(messages) if "tool_calls" in each}
    if not _LIST.issuperset(map(type, listed.values())) or not _ASSISTANT.issuperset(map(roles.__getitem__, listed)):
        return None
    given = [*chain.from_iterable(listed.values())]
    try:
        functions = [*map(_function, given)]
        ids, names, arguments = [*map(_id, given)], [*map(_name, functions)], [*map(_arguments, functions)]
    except (KeyError, TypeError):
        return None
    are_objects = _OBJECT.issuperset(map(type, chain(given, functions)))
    are_texts = _TEXT.issuperset(map(type, chain(ids, names, arguments)))
    if not are_objects or not are_texts or "" in names or "" in ids or len(set(ids)) < len(ids):
        return None
    return Calls({at: len(calls) for at, calls in listed.items() if calls}, given, ids, names, arguments)


def are_matched(calls: Calls | None, results: list[int], ids: list[Json], last: int) -> bool:
    """Whether the results of each message but the last stand right behind it, in the order of its calls."""
    if calls is None:
        return False
    behind = [place for at, count in calls.counts.items() if at != last for place in range(at + 1, at + 1 + count)]
    return behind == results and calls.ids[: len(behind)] == ids
