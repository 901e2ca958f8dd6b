"""The table of what each format reads and writes: ``rows/<format>.json``, a list of rows for each thing a format does.

A row is a sentence, what is given, and what is expected; a refusal is expected as ``{"refused": "the words"}``.

- ``turns``: the turns of a request, and the messages they give; ``system``, ``tools`` (definitions and hosted tools) and
  ``brought`` (those that a turn brings) are other members of a request.
- ``reply``: a response's body, and its message, number of choices and reason, or the problem; ``stream``: events, and
  the body they make.
- ``marks``: an object by its place, and the ranks of the evidence in it.
- ``files``: what stands in a document, and its conversations, some with members of their ``origin``; ``fits``: the
  evidence that it is one.
- ``dump``: a conversation, and how it is written; ``again``: a body that is written as it was read.

Canonical messages are spelled with ``_x`` for their private slot.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from chatsquash.chat import PRIVATE, Private
from chatsquash.formats.base import TurnError
from chatsquash.model import Conversation

ROWS = Path(__file__).parent / "rows"
NAMES = sorted(path.stem for path in ROWS.iterdir())


class Row(NamedTuple):
    name: str
    sentence: str
    given: Any
    expected: Any


@cache
def _table(name: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads((ROWS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def rows(kind: str, *names: str) -> list[Row]:
    """The rows of a kind, of these formats or of all."""
    return [
        Row(name, row["sentence"], row["given"], row.get("expected"))
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
    """The conversation of a row, its private slots private."""
    return Conversation(canonical(given["messages"]), canonical(given.get("tools", [])))


def canonical(value: Any) -> Any:
    """A value whose members called ``_x`` are private slots."""
    if isinstance(value, list):
        return [canonical(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: Private(item) if key == PRIVATE else canonical(item) for key, item in value.items()}


def spelled(value: Any) -> str:
    """A value as text in which the order of members counts, but for those of private slots; 1 is not true."""
    return json.dumps(_ordered(value), ensure_ascii=False)


def _ordered(value: Any) -> Any:
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
    return isinstance(value, list) and any(map(has_private, value))


def is_marked(value: Any) -> bool:
    """Whether every slot called ``_x`` of messages, parts and calls is a private one, which such a member of a log is not.

    Other members of a message are kept as they were logged, whatever stands in them.
    """
    if isinstance(value, list):
        return all(map(is_marked, value))
    if not isinstance(value, dict):
        return True
    is_private = PRIVATE not in value or type(value[PRIVATE]) is Private
    return is_private and is_marked(value.get("content")) and is_marked(value.get("tool_calls"))
