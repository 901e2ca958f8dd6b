"""No sample is taken by the reader of another source."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.core.options import Options
from chatsquash.formats import documents
from chatsquash.formats.base import TurnError
from chatsquash.reading import evidence, identify
from chatsquash.sources.open import open_file
from tests.samples.table import EXPORTS, ROOT, WITH_OTHERS, agents, exports, known_envelopes

SAMPLES = agents()


def held(path):
    with open_file(str(path), Options()) as file:
        return identify.document_content(file)


@pytest.mark.parametrize("name, path", SAMPLES, ids=[f"{name}-{path.name}" for name, path in SAMPLES])
def test_a_sample_is_taken_by_its_own_reader_alone(name, path):
    found = held(path)  # which raises where two take it
    assert found is not None
    assert found.format == name
    assert identify.is_readable(str(path))
    others = [other for other in documents.names() if other != name and documents.get_format(other).fits(found.objects)]
    assert others == []


ALONE = [(name, path) for name, path in SAMPLES if name not in WITH_OTHERS]


@pytest.mark.parametrize("name, path", ALONE, ids=[f"{name}-{path.name}" for name, path in ALONE])
def test_a_sample_gives_conversations_with_replies(name, path):
    conversations = held(path).conversations()
    assert conversations
    for each in conversations:
        assert any(message["role"] == "assistant" for message in each.messages)
        assert each.origin is None or each.origin.replies or name in ("oumi", "portable")


EXPORTED = exports()


@pytest.mark.parametrize("name, path", EXPORTED, ids=[f"{name}-{path.name}" for name, path in EXPORTED])
def test_a_sample_of_an_export_is_told_by_its_envelope_and_is_no_document(name, path):
    with open_file(str(path), Options()) as file:
        seen = evidence.detect_shape(file)[1]
        assert seen.envelope == EXPORTS[name]
        assert seen.format is not None
        assert identify.document_content(file) is None


def test_every_source_has_a_sample_and_every_envelope_is_known():
    assert {*EXPORTS.values()} <= known_envelopes()
    assert {name for name, _ in SAMPLES} == {*documents.names()}
    assert all((ROOT / name).is_dir() for name in EXPORTS)


# Readers of agents' files on values of any type in any place


ODD = [
    None, True, 0, -1, 1.5, 10**30, "", "x", "\ud800", [], [None], {}, {"role": 1}, [[]], {"": {}},
    ["a", {"type": "text"}],
]  # fmt: skip


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
    module = documents.get_format(name)
    for each in documents.names():
        documents.get_format(each).fits(made)  # never raises
    try:
        found = module.conversations(made)
    except TurnError:
        return
    assert all(message.get("role") for each in found for message in each.messages)
