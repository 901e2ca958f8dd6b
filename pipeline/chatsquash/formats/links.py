"""Ids and names as services demand them: no id for two calls, names of the letters that are allowed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, count
from typing import Any, NamedTuple, cast

from chatsquash import chat
from chatsquash.formats.calls import call_name, defined, linked
from chatsquash.formats.values import Object, string
from chatsquash.model import Conversation, Message, Tool


class Names(NamedTuple):
    """How a service wants the names of functions."""

    unfit: re.Pattern[str]
    """What must not be in one; it becomes an underscore."""
    longest: int
    starts: re.Pattern[str] = re.compile("")
    """How one must begin; an underscore is put before others."""

    def fitted(self, name: str) -> str:
        """The name as the service allows it; one that it allows is left."""
        changed = self.unfit.sub("_", name)
        return (changed if self.starts.match(changed) else f"_{changed}")[: self.longest]


# Ids


def distinct(messages: list[Message]) -> list[Message]:
    """Messages no two calls of which have one id; each result goes on answering the call that it answered."""
    logged = [string(call, "id") for message in messages for call in chat.calls(message)]
    if len(set(logged) - {""}) == len(logged):
        return messages
    taken = {*logged, *(string(message, "tool_call_id") for message in messages)}
    given: set[str] = set()
    waiting: dict[str, list[str]] = {}
    made: list[Message] = []
    for message in messages:
        if calls := chat.calls(message):
            ids = [_unused(string(call, "id"), given, taken) for call in calls]
            pairs = list(zip(calls, ids, strict=True))
            waiting |= _by_logged(pairs)
            made.append({**message, "tool_calls": [{**call, "id": own} if own else call for call, own in pairs]})
        elif message.get("role") == "tool" and (left := waiting.get(string(message, "tool_call_id"))):
            made.append({**message, "tool_call_id": left.pop(0) if len(left) > 1 else left[0]})
        else:
            made.append(message)
    return made


def _unused(wanted: str, given: set[str], taken: set[str]) -> str:
    """The id itself where no call before has it, else one like it that nobody has."""
    found = wanted
    if wanted and wanted in given:
        found = next(each for number in count(2) if (each := f"{wanted}_{number}") not in taken | given)
    given.add(found)
    return found


def _by_logged(calls: list[tuple[Object, str]]) -> dict[str, list[str]]:
    """The ids that the calls of a message have now, by those that they had."""
    found: dict[str, list[str]] = {}
    for call, own in calls:
        if logged := string(call, "id"):
            found.setdefault(logged, []).append(own)
    return found


def unlinked(messages: list[Message]) -> Counter[str]:
    """How many calls have no result and how many results no call, in words; services refuse such a request."""
    waiting: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for message, ids in linked(messages):
        if message.get("role") != "tool":
            waiting.update(ids)
        elif waiting[ids[0]] > 0:
            waiting[ids[0]] -= 1
        else:
            found["results without a call"] += 1
    found["calls without a result"] = waiting.total()
    return +found


# Names


def renamed(conversation: Conversation, allowed: Names) -> Conversation:
    """The conversation with names of functions that are allowed, in definitions, calls and results alike."""
    known = dict.fromkeys(filter(None, _names(conversation)))
    if all(allowed.fitted(name) == name for name in known):
        return conversation
    given = {name: name for name in known if allowed.fitted(name) == name}
    for name in known:
        if name not in given:
            given[name] = _free(allowed.fitted(name), set(given.values()), allowed.longest)
    messages = [_renamed_message(message, given) for message in conversation.messages]
    return Conversation(messages, [_renamed_tool(tool, given) for tool in conversation.tools], conversation.branch)


def _names(conversation: Conversation) -> Iterator[str]:
    for tool in conversation.tools:
        yield string(defined(tool), "name")
    for message in conversation.messages:
        yield from (call_name(call) or "" for call in chat.calls(message))
        yield string(message, "name") if message.get("role") == "tool" else ""


def _free(wanted: str, taken: set[str], longest: int) -> str:
    """The first name like this that is not taken, and is not too long."""
    ends: Iterable[str] = chain([""], (f"_{number}" for number in count(2)))
    return next(name for end in ends if (name := wanted[: longest - len(end)] + end) not in taken)


def _renamed_tool(tool: Tool, given: dict[str, str]) -> Tool:
    holder = next((of for of in ("function", "custom") if isinstance(tool, dict) and of in tool), None)
    if holder is None:
        return _with_name(tool, given)
    return {**tool, holder: _with_name(tool[holder], given)}


def _renamed_message(message: Message, given: dict[str, str]) -> Message:
    if calls := chat.calls(message):
        own = ({of: _with_name(call[of], given) for of in ("function", "custom") if of in call} for call in calls)
        return {**message, "tool_calls": [{**call, **named} for call, named in zip(calls, own, strict=True)]}
    return cast("Message", _with_name(message, given)) if message.get("role") == "tool" else message


def _with_name(holder: Any, given: dict[str, str]) -> Any:
    name = string(holder, "name")
    return {**holder, "name": given[name]} if name in given else holder
