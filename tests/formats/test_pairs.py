"""Between any two formats nothing is lost silently, and nothing is told as lost that is there.

What the target's reader sees is told by small ones that import nothing of ours; ``make conformance`` lets the libraries
of the formats read first.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.translate import conversations
from tests.conformance import readers
from tests.conftest import cases, examples
from tests.formats.pairs import complaints, undefined
from tests.formats.talks import TALKS
from tests.formats.written import held, mistakes, written

ODD = st.lists(st.integers(0, 20), max_size=3)
SOURCES = pytest.mark.parametrize("source", readers.NAMES)


def test_there_is_a_reader_for_every_format_that_is_written():
    assert sorted(conversations.writable_formats()) == readers.NAMES


@SOURCES
@given(talk=TALKS, odd=ODD)
@examples(240)
def test_what_the_target_sees_is_the_source_but_for_what_is_told(source, talk, odd):
    conversation = held(talk, source, odd)
    made = {target: written(conversation, target) for target in readers.NAMES}
    found = [mistakes(target, each, each.document) for target, each in made.items()]
    assert not any(found), "\n".join(filter(None, found))


# The check itself


TURNS = [
    {"role": "system", "blocks": [{"type": "text", "text": "a"}], "instructions": True},
    {"role": "user", "blocks": [{"type": "text", "text": "b"}, {"type": "media", "kind": "image", "url": "u"}]},
    {"role": "assistant", "blocks": [{"type": "reasoning", "text": "c"}, {"type": "call", "id": "i", "name": "f"}]},
    {"role": "tool", "blocks": [{"type": "result", "id": "i", "content": [{"type": "text", "text": "d"}]}]},
]
SEEN = [
    {"role": "system", "blocks": [{"type": "text", "text": "a"}]},
    {"role": "user", "blocks": [{"type": "text", "text": "b"}]},
    {"role": "assistant", "blocks": [{"type": "text", "text": "c"}, {"type": "call", "id": "i", "name": "f"}]},
    {"role": "tool", "blocks": [{"type": "result", "id": "i", "name": "f", "content": [{"type": "text", "text": "e"}]}]},
    {"role": "user", "blocks": [{"type": "text", "text": "f"}]},
]  # fmt: skip
TOLD = ["turns[0].instructions", "turns[1].blocks[1]", "turns[2].blocks[0]", "turns[3].blocks[0].content[0].text", "turns[+4]"]  # fmt: skip


def test_what_is_told_and_true_is_no_mistake():
    assert complaints(TURNS, SEEN, TOLD) == []


@pytest.mark.parametrize("path", TOLD)
def test_a_path_that_is_not_told_is_a_mistake(path):
    assert complaints(TURNS, SEEN, [each for each in TOLD if each != path])


@cases(
    "path",
    "turns[0]",
    "turns[0].role",
    "turns[1].blocks[0]",
    "turns[1].blocks[0].text",
    "turns[2].blocks[1].name",
    "turns[3].blocks[0].id",
    "turns[9]",
    "turns[+2]",
)
def test_a_path_that_is_told_of_what_is_there_is_a_mistake(path):
    assert complaints(TURNS, SEEN, [*TOLD, path])


HELD = {"type": "text", "text": "a", "native": {"openai": {"more": {"id": "m", "odd": [1]}, "phase": "p"}}}
KNOWN = {"type": "text", "text": "a", "native": {"openai": {"more": {"id": "m"}, "phase": "q"}}}


@cases(
    "told, is_true",
    (["more.odd", "phase"], True),
    (["more.odd"], False),
    (["more.odd", "more.id", "phase"], False),
    (["more", "phase"], False),
)
def test_so_it_is_with_what_only_a_provider_knows(told, is_true):
    before, after = ([{"role": "user", "blocks": [block]}] for block in (HELD, KNOWN))
    paths = [f"turns[0].blocks[0].native.openai.{path}" for path in told]
    assert (complaints(before, after, paths) == []) is is_true


def test_and_with_what_stands_elsewhere():
    words = [{"type": "text", "text": text} for text in "abc"]
    before, after = ([{"role": "user", "blocks": blocks}] for blocks in (words, [words[0], words[2], words[1]]))
    assert complaints(before, after, ["turns[0].blocks[1].place"]) == []
    assert complaints(before, before, ["turns[0].blocks[1].place"])
    assert complaints(before, after, [])


def test_so_it_is_with_definitions():
    before, after = [{"function": {"name": "f", "strict": True}}], [{"function": {"name": "f"}}]
    assert undefined(before, after, ["tools[0].function.strict"]) == []
    assert undefined(before, after, [])
    assert undefined(before, after, ["tools[0].function.strict", "tools[0].function.name"])
