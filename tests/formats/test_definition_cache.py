"""Definitions of tools that many requests repeat."""

from __future__ import annotations

from typing import Any

import pytest

from chatsquash.core import jsonio
from chatsquash.formats import definition_cache


@pytest.fixture(autouse=True)
def definitions(monkeypatch):
    known = definition_cache._Definitions()
    monkeypatch.setattr(definition_cache, "_definitions", known)
    return known


def tool(**members: Any) -> Any:
    return {"name": "read", "parameters": {"type": "object"}, **members}


def test_the_same_definition_is_the_same_object():
    first, second = definition_cache.share([tool(strict=True)]), definition_cache.share([tool(strict=True)])
    assert first[0] is second[0]


@pytest.mark.parametrize(
    "other", [tool(strict=1), tool(strict=1.0), dict(reversed(tool(strict=True).items())), tool(strict=True, x=None)]
)
def test_another_value_spelling_or_order_is_another_definition(other):
    definition_cache.share([tool(strict=True)])
    assert definition_cache.share([other])[0] is other


@pytest.mark.parametrize("tools", [None, "read", {"name": "read"}, [None, 1, "read", ["read"]]])
def test_what_is_no_list_of_definitions_stays_as_it_is(tools):
    assert definition_cache.share(tools) == tools


def test_what_is_made_of_a_shared_definition_is_made_once():
    calls = list[Any]()

    @definition_cache.once_per_definition
    def named(definition: Any) -> Any:
        calls.append(definition)
        return {"name": definition["name"]}

    @definition_cache.once_per_definition
    def are_equal(one: Any, other: Any) -> bool:
        calls.append((one, other))
        return bool(one == other)

    for _ in range(2):
        (definition,) = definition_cache.share([tool()])
        assert named(definition) == {"name": "read"}
        assert not are_equal(definition, named(definition))
    assert len(calls) == 2
    for _ in range(2):
        assert named(tool()) == {"name": "read"}
    assert len(calls) == 4


def test_a_large_definition_is_not_remembered(definitions):
    large = tool(description="a" * definitions.free_bytes)
    assert definition_cache.share([large])[0] is large
    assert definition_cache.share([jsonio.loads(jsonio.dumps(large))])[0] is not large


def test_when_there_is_no_room_all_definitions_and_their_results_are_forgotten(definitions):
    made = definition_cache.once_per_definition(lambda definition: {"name": definition["name"]})
    (first,) = definition_cache.share([tool()])
    result = made(first)
    assert made(first) is result
    for number in range(40):
        definition_cache.share([tool(description=f"{number:02}" * (definition_cache._LARGE // 4))])
    assert sum(map(len, definitions.by_content)) <= definition_cache._MOST
    (again,) = definition_cache.share([tool()])
    assert again is not first
    assert made(first) is not result
    assert made(again) is made(again)
