"""Members that only one provider knows: put into documents, and held to what is told as lost."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

Object = dict[str, Any]

TURNS = ("messages", "contents", "input", "conversation_history")
"""The members in which documents have their turns."""
HOLDERS = (".more", ".message", ".function", ".functionCall", ".functionResponse", ".inlineData", ".fileData")
"""Members of ours that hold those of a log."""
OF_THEIR_OWN = {"conversation_history", "metadata"}
"""Members that show a document whose own members are read; those of requests are options."""
ODD: list[Any] = [1, "x", {"a": {"b": [None, 2]}, "c": False}, [{"a": 1}]]


def with_odd_members(document: Any, places: Sequence[int]) -> Any:
    """A document with members that nobody knows in some of its turns and their parts."""
    made = copy.deepcopy(document)
    holders = list(_holders(made))
    for number, place in enumerate(places if holders else ()):
        holders[place % len(holders)][f"odd_{number}"] = ODD[number % len(ODD)]
    return made


def _holders(document: Any) -> Iterator[Object]:
    turns = document
    if isinstance(document, dict):
        if OF_THEIR_OWN & document.keys():
            yield document
        turns = next((document[name] for name in TURNS if name in document), [])
    for turn in turns:
        yield turn
        for held in turn.values():
            yield from (part for part in (held if isinstance(held, list) else []) if isinstance(part, dict))


def leaves(path: str, members: Object) -> Iterator[tuple[str, Any]]:
    """The paths of members and of those in them, lists whole."""
    for name, value in members.items():
        if isinstance(value, dict) and value:
            yield from leaves(f"{path}.{name}", value)
        else:
            yield f"{path}.{name}", value


def shown(path: str, native: Object) -> dict[str, str]:
    """What is native to something, by its path; what only tells which of two spellings a log had is left out."""
    members = {provider: held for provider, held in native.items() if provider != "form"}
    return {name: json.dumps(value, sort_keys=True) for name, value in leaves(path, members)}


def complaints(path: str, before: Object, after: Object, told: set[str]) -> tuple[list[str], set[str]]:
    """What is wrong with what is told of members, and which paths are told of them."""
    wrong, used = list[str](), set[str]()
    seen = {_bare(name): value for name, value in shown(path, after).items()}
    for name, value in shown(path, before).items():
        if value in ("null", '""', "[]", "{}"):
            continue  # required, though it says nothing
        mine = {each for each in told if f"{name}.".startswith(f"{each}.")}
        used |= mine
        if bool(mine) == (seen.get(_bare(name)) == value):
            wrong.append(f"{name} was {value}, is {seen.get(_bare(name))}, which is {'' if mine else 'not '}told")
    return wrong + [f"{each} only holds what is lost" for each in used if each.endswith(HOLDERS)], used


def _bare(path: str) -> str:
    """A path without the name of what only holds members."""
    return re.sub(r"\.(more|message)\.", ".", path)
