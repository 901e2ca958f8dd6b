"""Readers of agents' files on values of any type in any place."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.core.options import Options
from chatsquash.formats import documents
from chatsquash.formats.base import TurnError
from chatsquash.reading import identify
from chatsquash.sources.open import open_file
from tests.samples.table import agents

ODD = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    "",
    "x",
    "\ud800",
    [],
    [None],
    {},
    {"role": 1},
    [[]],
    {"": {}},
    ["a", {"type": "text"}],
]


def places(value, path=()):
    """Every place in a value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from places(each, (*path, key))


def replaced(value, path, other):
    made = copy.deepcopy(value)
    holder = made
    for key in path[:-1]:
        holder = holder[key]
    if not path:
        return other
    holder[path[-1]] = other
    return made


def objects_of(path):
    with open_file(str(path), Options()) as file:
        return identify.document_content(file).objects


SAMPLES = agents()
OBJECTS = {path: objects_of(path) for _, path in SAMPLES}


@pytest.mark.parametrize("name, path", SAMPLES, ids=[f"{name}-{path.name}" for name, path in SAMPLES])
@given(data=st.data())
def test_a_value_of_any_type_in_any_place_gives_conversations_or_says_what_is_wrong(name, path, data):
    objects = OBJECTS[path]
    made = objects
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(sorted(places(made), key=repr)))
        made = replaced(made, place, data.draw(st.sampled_from(ODD)))
        made = made if isinstance(made, list) else [made]
    module = documents.named(name)
    for each in documents.names():
        documents.named(each).fits(made)  # never raises
    try:
        found = module.conversations(made)
    except TurnError:
        return
    assert all(message.get("role") for each in found for message in each.messages)
