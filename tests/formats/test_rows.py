"""What each format reads and writes, row by row; ``table.py`` says what the rows are."""

from __future__ import annotations

import json

import pytest
from msgspec import structs

from chatsquash.core.times import stamp
from chatsquash.formats import bodies, documents, formats, get_format, view
from chatsquash.formats.providers.openai_chat.read import merge_results, turns_of, turns_of_messages
from chatsquash.translate import conversations
from tests.formats.table import NAMES, bare, built, conversation, each, is_marked, outcome, rows, spelled

EXCHANGES = list(formats())
PARTIAL = ("atif", "clippy", "goose", "oumi", "portable", "pydantic_ai", "vercel_ai")
"""Documents of which rows show parts that say nothing of the format."""


def loaded(form, turns):
    """The turns of a request, one after the other."""
    found, state = [], form.START
    for turn in turns:
        result = form.load(turn, state)
        found += result.turns
        state = result.state
    return [*found, *form.close(state)]


def shows(turns):
    """Turns and their messages."""
    messages = view.messages(turns)
    assert is_marked(messages)
    assert built(turns_of_messages(messages)) == built(merge_results(turns)), "messages hold their turns"
    return {"messages": bare(messages), "turns": built(turns)}


def member(form, name, given):
    """What a member of a request gives."""
    return outcome(getattr(form, name), given)


@each("turns")
def test_turns(name, given, expected):
    found = outcome(loaded, get_format(name), given)
    whole = outcome(bodies.load, get_format(name), {get_format(name).TURNS: given})
    if "refused" in expected:
        assert found == expected
        assert whole == {"refused": f"{get_format(name).TURNS}[{len(given) - 1}]: {expected['refused']}"}
    else:
        assert spelled(shows(found)) == spelled(expected)
        assert built(turns_of(whole)) == built(merge_results(found))
        assert whole.tools == outcome(bodies.tools_of_turns, get_format(name), given)


@each("system")
def test_system_prompts(name, given, expected):
    found = member(get_format(name), "system", given)
    assert spelled(found if "refused" in expected else shows(found)) == spelled(expected)


@each("tools")
def test_tools(name, given, expected):
    found = member(get_format(name), "tools", given)
    assert spelled(found) == spelled(expected)


@each("brought")
def test_tools_that_a_turn_brings(name, given, expected):
    assert spelled(member(get_format(name), "turn_tools", given)) == spelled(expected)


def told(reply):
    """A reply without what is not there."""
    members = {name: getattr(reply, name) for name in ("message", "choices", "finish_reason", "problem", "wrong")}
    if reply.message is not None:
        members |= {"message": bare([reply.message])[0], "turn": built(turns_of_messages([reply.message]))[0]}
    return {name: value for name, value in members.items() if value not in (None, 0)}


@each("reply")
def test_replies(name, given, expected):
    found = member(get_format(name), "reply", given)
    assert json.loads(spelled(told(found))) == json.loads(spelled(expected))
    assert is_marked([found.message or {}])
    assert (found.message is None) is bool(found.problem)


@each("stream")
def test_streams(name, given, expected):
    found = member(get_format(name), "assemble", given)
    error = {} if found.error is None else {"error": found.error}
    assert spelled({"body": found.body, "whole": found.is_complete, **error}) == spelled(expected)


@each("marks")
def test_marks(name, given, expected):
    [(place, value)] = given.items()
    assert [mark.rank for mark in getattr(get_format(name).marks, place) if mark.test(value)] == expected


@each("files")
def test_files(name, given, expected):
    found = outcome(documents.get_format(name).conversations, given)
    if "refused" in expected:
        assert found == expected
        return
    assert spelled([shown(each) for each in found]) == spelled([shown_in(each) for each in expected])
    assert is_marked([each.messages for each in found])
    for read, row in zip(found, expected, strict=True):
        told = of_origin(read.origin)
        assert {member: told.get(member) for member in row.get("origin", {})} == row.get("origin", {})
    if expected and name not in PARTIAL:
        assert documents.recognise(given).name == name


def shown(found):
    """A conversation without what is not there."""
    branch = structs.asdict(found.branch) if found.branch else None
    more = {
        name: value for name, value in (("tools", found.tools), ("branch", branch), ("native", found.native)) if value
    }
    return {"messages": bare(found.messages), **more, "turns": built(turns_of(found))}


def shown_in(row):
    """The same of what is expected."""
    members = ("messages", "tools", "branch", "native", "turns")
    return {member: row[member] for member in members if member in row}


def of_origin(origin):
    """What a file says of a conversation: its replies without what is not known of them."""
    if origin is None:
        return {}
    told = {name: getattr(origin, name) for name in ("id", "session_id", "kind", "parent", "unread")}
    for name in ("started", "ended"):
        time = getattr(origin, f"{name}_at")
        told |= {name: stamp(time)} if time is not None else {}
    replies = [
        {k: v for k, v in structs.asdict(reply).items() if v is not None and v is not False and v != ()}
        for reply in origin.replies
    ]
    times = [{**reply, "time": stamp(reply["time"])} if "time" in reply else reply for reply in replies]
    found = [[line, getattr(each, "code", each)] for line, each in origin.findings]
    return {**told, "replies": times, "lines": list(origin.lines), "found": found}


@each("fits")
def test_the_evidence_for_a_document(name, given, expected):
    assert member(documents.get_format(name), "fits", given) == expected
    if expected:
        assert documents.recognise(given).name == name, "a file is of one format"


@each("dump")
def test_writing(name, given, expected):
    found = outcome(written, name, conversation(given))
    assert spelled(found) == spelled(expected)


@pytest.mark.parametrize("kind", ["turns", "files"])
@pytest.mark.parametrize("name", conversations.writable_formats())
def test_a_format_holds_what_was_read_of_it(name, kind):
    for row in rows(kind, name):
        if "refused" not in row.expected:
            held = map(conversation, [row.expected] if kind == "turns" else row.expected)
            whole = [structs.replace(each, turns=merge_results(turns_of(each))) for each in held if turns_of(each)]
            assert [path for each in whole for path in conversations.losses(each, name)] == row.lost, row.sentence


def written(name, held):
    form = get_format(name) if name in EXCHANGES else documents.get_format(name)
    return form.dump(held)


@each("again")
def test_what_was_read_is_written_as_it_was(name, given, expected):
    again = written(name, bodies.load(get_format(name), given))
    assert json.dumps(again, sort_keys=True) == json.dumps(given, sort_keys=True)


@pytest.mark.parametrize("name", conversations.known_formats())
def test_every_format_has_rows(name):
    assert name in NAMES
    kinds = ("turns", "tools", "reply", "stream") if name in EXCHANGES else ("fits",)
    assert all(rows(kind, name) for kind in (*kinds, *(("dump",) if name in conversations.writable_formats() else ())))
