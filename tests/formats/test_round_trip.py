"""No format loses what it can hold; the table of all of them is in docs/formats.md."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import chat
from chatsquash.chat import PRIVATE, Private
from chatsquash.errors import UsageError
from chatsquash.translate import conversations
from tests.formats.kinds import KINDS, ODD
from tests.formats.round_trip import AT_LEAST, FORMATS, cell, is_worse, shown

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


IDS = {"id", "tool_call_id", "call_id", "tool_use_id", "toolCallId"}


def without_ids(document, *instead):
    """A document as many are logged, whose calls and results have no ids, or ``instead`` of them."""
    if isinstance(document, list):
        return [without_ids(each, *instead) for each in document]
    if not isinstance(document, dict):
        return document
    kept = {key: without_ids(value, *instead) for key, value in document.items() if key not in IDS}
    return kept | {key: value for key in IDS & document.keys() for value in instead}


WITH_CALLS = [name for name in conversations.writable() if name != "oumi_history"]
LINKED = ("tool call", "text+call", "parallel calls", "sequential calls", "same tool twice", "no-arg call")


@pytest.mark.parametrize("kind", LINKED)
@pytest.mark.parametrize("to", [name for name in WITH_CALLS if name != "portable"])
def test_tool_turns_and_links_survive_the_portable_form(kind, to):
    expected = turns(KINDS[kind])
    assert all(result is not None for _, _, result in expected)
    for source in WITH_CALLS:
        document = conversations.dump(KINDS[kind], source)
        for logged in [document, without_ids(document), without_ids(document, None), without_ids(document, "")]:
            portable = conversations.dump(conversations.load(logged, source), "portable")
            there = conversations.dump(conversations.load(portable, "portable"), to)
            assert turns(conversations.load(there, to)) == expected, source


OURS = [
    ("custom tool call", "pydantic_ai", "=*"),
    ("orphan result", "vercel_ai", "=*"),
    ("system mid", "gemini", "=*"),
    ("tool call", "vercel_ai", "="),
    ("audio", "ollama", "x"),
]


@pytest.mark.parametrize("kind, name, expected", OURS)
def test_a_cell_that_rests_on_what_only_we_read_is_marked(kind, name, expected):
    assert shown(kind, name) == expected


def test_no_cell_of_the_other_formats_rests_on_what_only_we_read():
    others = [name for name in FORMATS if name not in ("gemini", "pydantic_ai", "vercel_ai")]
    assert not any(shown(kind, name).endswith("*") for kind in KINDS for name in others)


# Losses

ABSENT = object()
SPELLED = ("from", "content_list", "reasoning_key", "synthetic_id")
"""What only tells how a document spelled something."""


@given(ODD, st.sampled_from(conversations.writable()))
def test_losses_are_the_paths_that_differ(conversation, name):
    """What is not declared is there as it was, and what is declared is not; told without the code that declares."""
    try:
        document = conversations.dump(conversation, name)
    except UsageError:
        return  # no document of the format can stand for it
    loaded = conversations.load(document, name)
    declared = conversations.losses(conversation, name)
    check(
        declared,
        {"messages": comparable(conversation.messages), "tools": conversation.tools},
        {"messages": comparable(loaded.messages), "tools": loaded.tools},
    )


def comparable(messages):
    """Messages without names that their calls tell."""
    named = {(c["id"], chat.call_name(c)) for m in messages for c in chat.calls(m) if isinstance(c.get("id"), str)}
    told = [
        isinstance(m.get("tool_call_id"), str)
        and isinstance(m.get("name"), str)
        and m["role"] == "tool"
        and (m["tool_call_id"], m["name"]) in named
        for m in messages
    ]
    return [{k: v for k, v in m.items() if not (skip and k == "name")} for m, skip in zip(messages, told, strict=True)]


def check(declared, before, after):
    after = {**after, "messages": in_place(declared, before["messages"], after["messages"])}
    declared = [path for path in declared if "[+" not in path]
    for path in declared:
        assert spelled(at(before, path)) != spelled(at(after, path)), f"{path} is declared, and the same"
    for path, value in (*leaves("", before, after), *leaves("", after, before)):
        if spelled(at(before, path)) != spelled(at(after, path)) and not is_added(path, before):
            covers = [each for each in declared if path == each or path.startswith((f"{each}.", f"{each}["))]
            assert covers, f"{path} is {value}, which is not declared"


def in_place(declared, before, after):
    """What became of each message: those that are said to be new are left out, for those that are gone there is none."""
    new = [int(path.removeprefix("messages[+").removesuffix("]")) for path in declared if path.startswith("messages[+")]
    left, found = list(after), []
    for index in range(len(before) + 1):
        del left[: new.count(index)]
        if index < len(before):
            found.append(ABSENT if f"messages[{index}]" in declared else left.pop(0))
    assert left == [], "every message is one that was, or is said to be new"
    return found


def leaves(path, value, other):
    """Every value with its path that is no object and no list, or is an empty one in place of something else."""
    here = at(other, path)
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            if key == PRIVATE:
                yield from hidden(f"{path}.{key}", inner, other)
            else:
                yield from leaves(f"{path}.{key}" if path else key, inner, other)
    elif isinstance(value, list) and value:
        for number, inner in enumerate(value):
            yield from leaves(f"{path}[{number}]", inner, other)
    elif not (isinstance(value, dict | list) and isinstance(here, type(value))):
        yield path, value


def hidden(path, held, other):
    """What is private and means something."""
    for key, inner in held.items() if isinstance(held, Private) else ():
        if key not in SPELLED:
            yield from leaves(f"{path}.{key}", inner, other)


def is_added(path, before):
    """Whether something is private and was not there before, which says nothing new."""
    found = re.match(rf"(.*?\.{PRIVATE}\.[^.\[]+)", path)
    return bool(found) and at(before, found[1]) is ABSENT


def at(value, path):
    """What stands at a path."""
    for step in re.findall(r"[^.\[\]]+|\[\d+\]", path):
        if step.startswith("["):
            number = int(step[1:-1])
            value = value[number] if isinstance(value, list) and number < len(value) else ABSENT
        else:
            value = value.get(step, ABSENT) if isinstance(value, dict) else ABSENT
    return value


def spelled(value):
    """A value as JSON, in which 1 is not true; null is as good as nothing."""
    return json.dumps(None if value is ABSENT else value)
