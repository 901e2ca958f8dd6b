"""What each format reads and writes, row by row; ``table.py`` says what the rows are."""

from __future__ import annotations

import json

import pytest

from chatsquash import jsonio
from chatsquash.formats import bodies, documents, formats, named
from chatsquash.times import stamp
from chatsquash.translate import conversations, losses
from tests.formats.table import NAMES, conversation, each, is_marked, outcome, rows, spelled

EXCHANGES = list(formats())
WHOLE = ("pydantic_ai", "vercel_ai")
"""The documents that hold every conversation whole."""
PARTIAL = ("atif", "clippy", "goose", "oumi", "portable", "pydantic_ai", "vercel_ai")
"""Documents of which rows show parts that say nothing of the format."""


def loaded(form, turns):
    """The messages of turns, one after the other."""
    messages, state = [], form.START
    for turn in turns:
        more, state = form.load(turn, state)
        messages += more
    return [*messages, *form.close(state)]


def member(form, name, given):
    """What a member of a request gives."""
    return outcome(getattr(form, name), given)


@each("turns")
def test_turns(name, given, expected):
    found = outcome(loaded, named(name), given)
    assert spelled(found) == spelled(expected)
    assert is_marked(found)
    assert outcome(bodies.load, named(name), {named(name).TURNS: given}) == (
        {"refused": f"{named(name).TURNS}[{len(given) - 1}] {expected['refused']}"}
        if "refused" in expected
        else conversation({"messages": expected, "tools": outcome(bodies.brought, named(name), given)})
    )


@each("system")
def test_system_prompts(name, given, expected):
    assert spelled(member(named(name), "system", given)) == spelled(expected)


@each("tools")
def test_tools(name, given, expected):
    found = member(named(name), "tools", given)
    assert spelled(found) == spelled(expected)
    assert is_marked(found.functions)


@each("brought")
def test_tools_that_a_turn_brings(name, given, expected):
    assert spelled(member(named(name), "turn_tools", given)) == spelled(expected)


def told(reply):
    """A reply without what is not there."""
    members = {name: getattr(reply, name) for name in ("message", "choices", "finish_reason", "problem", "wrong")}
    return {name: value for name, value in members.items() if value not in (None, 0)}


@each("reply")
def test_replies(name, given, expected):
    found = member(named(name), "reply", given)
    assert spelled(told(found)) == spelled(expected)
    assert is_marked(found.message)
    assert (found.message is None) is bool(found.problem)


@each("stream")
def test_streams(name, given, expected):
    found = member(named(name), "assemble", given)
    assert spelled({"body": found.body, "whole": found.whole}) == spelled(expected)


@each("marks")
def test_marks(name, given, expected):
    [(place, value)] = given.items()
    assert [mark.rank for mark in getattr(named(name).marks, place) if mark.test(value)] == expected


@each("files")
def test_files(name, given, expected):
    found = outcome(documents.named(name).conversations, given)
    if "refused" in expected:
        assert found == expected
        return
    assert spelled([shown(each) for each in found]) == spelled([without(each, "origin") for each in expected])
    assert is_marked([each.messages for each in found])
    for read, row in zip(found, expected, strict=True):
        told = of_origin(read.origin)
        assert {member: told.get(member) for member in row.get("origin", {})} == row.get("origin", {})
    if expected and name not in PARTIAL:
        assert documents.recognise(given).name == name


def shown(found):
    """A conversation without what is not there."""
    branch = found.branch._asdict() if found.branch else None
    more = {name: value for name, value in (("tools", found.tools), ("branch", branch)) if value}
    return {"messages": found.messages, **more}


def without(row, name):
    return {key: value for key, value in row.items() if key != name}


def of_origin(origin):
    """What a file says of a conversation: its replies without what is not known of them."""
    if origin is None:
        return {}
    told = {name: getattr(origin, name) for name in ("id", "session_id", "kind", "parent", "unread")}
    told |= {name: stamp(getattr(origin, name)) for name in ("started", "ended") if getattr(origin, name) is not None}
    replies = [{k: v for k, v in reply._asdict().items() if v is not None} for reply in origin.replies]
    times = [{**reply, "time": stamp(reply["time"])} if "time" in reply else reply for reply in replies]
    found = [[line, getattr(each, "code", each)] for line, each in origin.found]
    return {**told, "replies": times, "lines": list(origin.lines), "found": found}


@each("fits")
def test_the_evidence_for_a_document(name, given, expected):
    assert member(documents.named(name), "fits", given) == expected
    if expected:
        assert documents.recognise(given).name == name, "a file is of one format"


@each("dump")
def test_writing(name, given, expected):
    held = conversation(given)
    found = outcome(written, name, held)
    assert spelled(found) == spelled(expected)
    if name in WHOLE:
        comes_back(name, held)


@each("files", *WHOLE)
def test_what_was_read_is_written_and_read_again(name, given, expected):
    for found in expected if "refused" not in expected else []:
        comes_back(name, conversation(found))


def comes_back(name, held):
    (again,) = documents.named(name).conversations([jsonio.loads(jsonio.dumps(written(name, held)))])
    lost = [path for path in losses.differences(held, again) if not path.startswith("tools")]
    assert lost == []
    assert is_marked(again.messages)


def written(name, held):
    form = named(name) if name in EXCHANGES else documents.named(name)
    return form.dump(held)


@each("again")
def test_what_was_read_is_written_as_it_was(name, given, expected):
    again = written(name, bodies.load(named(name), given))
    assert json.dumps(again, sort_keys=True) == json.dumps(given, sort_keys=True)


@pytest.mark.parametrize("name", conversations.known())
def test_every_format_has_rows(name):
    assert name in NAMES
    kinds = ("turns", "tools", "reply", "stream") if name in EXCHANGES else ("fits",)
    assert all(rows(kind, name) for kind in (*kinds, *(("dump",) if name in conversations.writable() else ())))
