"""No format loses what it can hold; the table of all of them is in docs/formats.md."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import chat
from pipeline.errors import UsageError
from pipeline.formats import losses
from pipeline.run import conversations
from tests.formats.kinds import KINDS, ODD
from tests.formats.round_trip import AT_LEAST, FORMATS, cell, is_worse

TEXT_ONLY = {("is_error", name) for name in ("openai_responses", "ollama", "portable", "oumi")}
"""Formats without a place for the mark keep the text as it is; nothing is put into it or taken out of it."""


def test_the_kinds_are_those_of_the_table():
    assert list(KINDS) == list(AT_LEAST)
    assert len(KINDS) == 43


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", AT_LEAST)
def test_no_cell_is_worse_than_it_can_be(kind, name):
    expected = AT_LEAST[kind][FORMATS.index(name)]
    if (kind, name) not in TEXT_ONLY:
        assert not is_worse(cell(kind, name), expected)


# Tool turns through the portable form


def turns(conversation):
    """Every call with its result: the name, the arguments as a value, the text; in the order of the calls."""
    results = {m["tool_call_id"]: chat.text(m) for m in conversation.messages if m["role"] == "tool"}
    calls = [call for message in conversation.messages for call in chat.calls(message)]
    return [(chat.call_name(c), json.loads(c["function"]["arguments"]), results.get(c["id"])) for c in calls]


def without_ids(document):
    """A Gemini body as most are logged: no ids on calls and results."""
    for content in document["contents"]:
        for part in content["parts"]:
            for name in ("functionCall", "functionResponse"):
                part.get(name, {}).pop("id", None)
    return document


WITH_CALLS = [name for name in conversations.writable() if name != "oumi_history"]
LINKED = ("tool call", "text+call", "parallel calls", "sequential calls", "same tool twice", "no-arg call")


@pytest.mark.parametrize("kind", LINKED)
@pytest.mark.parametrize("to", [name for name in WITH_CALLS if name != "portable"])
def test_tool_turns_and_links_survive_the_portable_form(kind, to):
    expected = turns(KINDS[kind])
    assert all(result is not None for _, _, result in expected)
    for source in WITH_CALLS:
        document = conversations.dump(KINDS[kind], source)
        for logged in [document, without_ids(copy.deepcopy(document))] if source == "gemini" else [document]:
            portable = conversations.dump(conversations.load(logged, source), "portable")
            there = conversations.dump(conversations.load(portable, "portable"), to)
            assert turns(conversations.load(there, to)) == expected, source


@given(ODD, st.sampled_from(conversations.writable()))
def test_losses_are_the_paths_that_differ(conversation, name):
    """What is not declared is there as it was, and what is declared is not."""
    try:
        document = conversations.dump(conversation, name)
    except UsageError:
        return  # no document of the format can stand for it
    loaded = conversations.load(document, name)
    declared = conversations.losses(conversation, name)
    assert declared == losses.differences(conversation, loaded)
    if not any(path.startswith("messages") for path in declared):
        assert [m["role"] for m in loaded.messages] == [m["role"] for m in conversation.messages]
