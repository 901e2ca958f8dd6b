"""The table of what each format reads and writes: ``rows/<format>.json``, a list of rows for each thing a format does.

A row is a sentence, what is given, and what is expected; a refusal is expected as ``{"refused": "the words"}``.

- ``turns``: the turns of a request, and the turns and the messages they give; ``system``, ``tools`` (definitions and
  hosted tools) and ``brought`` (those that a turn brings) are other members of a request.
- ``reply``: a response's body, and its message, turn, number of choices and reason, or the problem; ``stream``: events,
  and the body they make.
- ``marks``: an object by its place, and the ranks of the evidence in it.
- ``files``: what stands in a document, and its conversations, some with members of their ``origin``; ``fits``: the
  evidence that it is one.
- ``dump``: a conversation by its turns or its messages, and how it is written; ``again``: a body that is written as it
  was read.

``lost`` are the paths that the format does not write again of what it reads.

Turns are spelled with the members that are not their defaults; definitions with ``_x`` for what is native in them.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from chatsquash.core import jsonio
from chatsquash.core.blocks import Turn
from chatsquash.core.chat import PRIVATE, Private
from chatsquash.core.model import Conversation
from chatsquash.formats import view
from chatsquash.formats.base import TurnError

ROWS = Path(__file__).parent / "rows"
NAMES = sorted(path.stem for path in ROWS.iterdir())


class Row(NamedTuple):
    name: str
    sentence: str
    given: Any
    expected: Any
    lost: Any = ()


@cache
def _table(name: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads((ROWS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def rows(kind: str, *names: str) -> list[Row]:
    """The rows of a kind, of these formats or of all."""
    return [
        Row(name, row["sentence"], row["given"], row.get("expected"), row.get("lost", []))
        for name in names or NAMES
        for row in _table(name).get(kind, [])
    ]


def documents_read(name: str) -> dict[str, Any]:
    """The documents of one conversation that are read, by their sentences."""
    found = [row for row in rows("files", name) if isinstance(row.expected, list) and len(row.given) == 1]
    return {row.sentence: row.given[0] for row in found if isinstance(row.given[0], list)}


def each(kind: str, *names: str) -> Any:
    """Runs a test for each row of a kind, as ``name``, ``given`` and ``expected``."""
    params = [
        pytest.param(row.name, row.given, row.expected, id=f"{row.name}: {row.sentence}") for row in rows(kind, *names)
    ]
    return pytest.mark.parametrize("name, given, expected", params)


def conversation(given: Any) -> Conversation:
    """The conversation of a row."""
    told = tuple(msgspec.convert(given["turns"], tuple[Turn, ...])) if "turns" in given else None
    messages = given["messages"] if told is None else view.public(told)
    return Conversation(messages, canonical(given.get("tools", [])), turns=told, native=given.get("native", {}))


def canonical(value: Any) -> Any:
    """Definitions whose members called ``_x`` are private."""
    if isinstance(value, list):
        return [canonical(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: Private(item) if key == PRIVATE else canonical(item) for key, item in value.items()}


def bare(messages: Any) -> Any:
    """Messages without the turns that they were made of."""
    return [{key: value for key, value in message.items() if key != PRIVATE} for message in messages]


def built(turns: Any) -> Any:
    """Turns as rows spell them."""
    return json.loads(jsonio.dumps(msgspec.to_builtins(list(turns))))


def spelled(value: Any) -> str:
    """A value as text in which the order of members counts, but for those of private slots; 1 is not true."""
    return json.dumps(_ordered(value), ensure_ascii=False)


def _ordered(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.astuple(value)
    if isinstance(value, list | tuple):
        return [_ordered(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: json.loads(json.dumps(item, sort_keys=True)) if key == PRIVATE else _ordered(item)
        for key, item in value.items()
    }


def outcome(function: Any, *values: Any) -> Any:
    """What a function gives, or that it refuses; what it was given must stay as it was."""
    before = repr(values)
    try:
        return function(*values)
    except TurnError as problem:
        return {"refused": str(problem)}
    finally:
        assert repr(values) == before, "what is given is changed"


def has_private(value: Any) -> bool:
    """Whether anything private is left somewhere."""
    if isinstance(value, dict):
        return isinstance(value, Private) or any(map(has_private, value.values()))
    return isinstance(value, Turn) or (isinstance(value, list) and any(map(has_private, value)))


def is_marked(value: Any) -> bool:
    """Whether what stands under ``_x`` in messages is a turn, which such a member of a log is not."""
    return all(PRIVATE not in message or type(message[PRIVATE]) is Turn for message in value)


def words(conversations):
    return [[message["content"] for message in each.messages] for each in conversations]


def links(conversations):
    return [(each.origin.id, each.origin.kind, each.origin.parent) for each in conversations]
