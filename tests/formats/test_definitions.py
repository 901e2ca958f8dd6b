"""Definitions of tools that many requests repeat."""

from __future__ import annotations

from typing import Any

import pytest

from chatsquash.core import jsonio
from chatsquash.formats import definitions


@pytest.fixture(autouse=True)
def known(monkeypatch):
    cache = definitions._Definitions()
    monkeypatch.setattr(definitions, "_definitions", cache)
    return cache


def tool(**members: Any) -> Any:
    return {"name": "read", "parameters": {"type": "object"}, **members}


def test_the_same_definition_is_the_same_object():
    first, second = definitions.share([tool(strict=True)]), definitions.share([tool(strict=True)])
    assert first[0] is second[0]


@pytest.mark.parametrize(
    "other", [tool(strict=1), tool(strict=1.0), dict(reversed(tool(strict=True).items())), tool(strict=True, x=None)]
)
def test_another_value_spelling_or_order_is_another_definition(other):
    definitions.share([tool(strict=True)])
    assert definitions.share([other])[0] is other


@pytest.mark.parametrize("tools", [None, "read", {"name": "read"}, [None, 1, "read", ["read"]]])
def test_what_is_no_list_of_definitions_stays_as_it_is(tools):
    assert definitions.share(tools) == tools


def test_what_is_made_of_a_shared_definition_is_made_once():
    calls = list[Any]()

    @definitions.once_per_definition
    def named(definition: Any) -> Any:
        calls.append(definition)
        return {"name": definition["name"]}

    @definitions.once_per_definition
    def are_equal(one: Any, other: Any) -> bool:
        calls.append((one, other))
        return bool(one == other)

    for _ in range(2):
        (definition,) = definitions.share([tool()])
        assert named(definition) == {"name": "read"}
        assert not are_equal(definition, named(definition))
    assert len(calls) == 2
    for _ in range(2):
        assert named(tool()) == {"name": "read"}
    assert len(calls) == 4


def test_a_large_definition_is_not_remembered(known):
    large = tool(description="a" * known.free_bytes)
    assert definitions.share([large])[0] is large
    assert definitions.share([jsonio.loads(jsonio.dumps(large))])[0] is not large


def test_when_there_is_no_room_all_definitions_and_their_results_are_forgotten(known):
    made = definitions.once_per_definition(lambda definition: {"name": definition["name"]})
    (first,) = definitions.share([tool()])
    result = made(first)
    assert made(first) is result
    for number in range(40):
        definitions.share([tool(description=f"{number:02}" * (definitions._LARGE // 4))])
    assert sum(map(len, known.by_content)) <= definitions._MOST
    (again,) = definitions.share([tool()])
    assert again is not first
    assert made(first) is not result
    assert made(again) is made(again)
