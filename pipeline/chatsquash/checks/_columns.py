"""The messages of a record by columns, worked out once: what nearly all rules can be told by without a look at each.

Nearly all records have calls of the usual form, with the results of each message right behind it, in order.
"""

from __future__ import annotations

from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from chatsquash.model import Json, Message


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
    contents: list[Any]
    """``None`` where there is none."""
    keys: set[str]
    """All that the messages have."""
    calls: Calls | None
    """``None`` where one is unusual."""
    results: list[int]
    """The indices of results."""
    result_ids: list[Json]
    """What these have for the ids of their calls."""
    matched: bool
    """Whether no call is unusual, and the results of each message stand right behind it, in order.

    The very last message has none.
    """


def columns(messages: list[Message]) -> Columns:
    """The columns of messages."""
    roles: list[str] = list(map(_role, messages))
    contents = [message.get("content") for message in messages]
    keys: set[str] = set().union(*messages)
    calls = _calls(messages, roles) if "tool_calls" in keys else _NONE
    results = [at for at, role in enumerate(roles) if role == "tool"]
    ids = [messages[at].get("tool_call_id") for at in results]
    return Columns(roles, contents, keys, calls, results, ids, _are_matched(calls, results, ids, len(messages) - 1))


_role, _listed, _function, _id, _name, _arguments = map(
    itemgetter, ("role", "tool_calls", "function", "id", "name", "arguments")
)
_NONE = Calls({}, [], [], [], [])
_LIST, _OBJECT, _TEXT, _ASSISTANT = [list], [dict], [str], ["assistant"]


def _calls(messages: list[Message], roles: list[str]) -> Calls | None:
    places = [at for at, message in enumerate(messages) if "tool_calls" in message]
    listed = [_listed(messages[at]) for at in places]
    if [*map(type, listed)] != _LIST * len(listed) or [roles[at] for at in places] != _ASSISTANT * len(places):
        return None
    given: list[Any] = [*chain.from_iterable(listed)]
    count = len(given)
    try:
        functions = [*map(_function, given)]
        ids, names, arguments = [*map(_id, given)], [*map(_name, functions)], [*map(_arguments, functions)]
    except (KeyError, TypeError):
        return None
    are_objects = [*map(type, given), *map(type, functions)] == _OBJECT * (2 * count)
    are_texts = [*map(type, ids), *map(type, names), *map(type, arguments)] == _TEXT * (3 * count)
    if not are_objects or not are_texts or "" in names or "" in ids or len(set(ids)) < count:
        return None
    return Calls(
        {at: len(calls) for at, calls in zip(places, listed, strict=True) if calls}, given, ids, names, arguments
    )


def _are_matched(calls: Calls | None, results: list[int], ids: list[Json], last: int) -> bool:
    if calls is None:
        return False
    behind = [place for at, count in calls.counts.items() if at != last for place in range(at + 1, at + 1 + count)]
    return behind == results and calls.ids[: len(behind)] == ids
