"""opencode: its database of two generations, its tree of files, and what compactions and reverts make of a session."""

import copy
import json
import sqlite3
import time
from contextlib import closing, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import Options, convert_session
from chatsquash.formats import documents
from chatsquash.formats.agents import opencode
from chatsquash.formats.base import TurnError
from chatsquash.formats.databases import Database, recognise_database
from chatsquash.formats.documents import recognise
from chatsquash.formats.providers.openai_chat.read import turns_of
from tests import golden
from tests.conftest import cases
from tests.formats.odd import VALUES

T = 1_767_600_000_000
CASES = [case for case in golden.cases() if case.parent.name == "opencode"]
LOGS = [log for case in CASES for log in golden.logs(case) if "storage" not in log.parts]


def from_database(data):
    """All sessions in the bytes of a database."""
    with closing(Database(Options(), data=data)) as opened:
        _, found = recognise_database(opened, map(documents.get_format, ("crush", "goose", "opencode")))
        return [each for family in found.families() for each in found.objects(family)]


EXPORTS = [
    value
    for log in LOGS
    for value in (from_database(log.read_bytes()) if log.suffix == ".db" else [json.loads(log.read_bytes())])
]


def asked(number, *parts, at=None, **more):
    info = {"id": f"msg_{number:03}", "role": "user", "time": {"created": T + (at or number) * 1000}, **more}
    return {"info": info, "parts": list(parts)}


def said(number, *parts, at=None, **more):
    return asked(number, {"type": "step-start"}, *parts, at=at, role="assistant", modelID="m", finish="stop", **more)


def text(words):
    return {"type": "text", "text": words}


def session(*messages, **info):
    return {"info": {"id": "ses_1", **info}, "messages": list(messages)}


def told(*values, meta=None):
    return opencode.conversations(list(values), meta=meta)


def words(conversation):
    return [message["content"] for message in conversation.messages]


@pytest.mark.parametrize("value", EXPORTS, ids=lambda value: value["info"]["id"])
def test_what_a_database_holds_is_as_an_export(value):
    assert opencode.fits([value]) == "info.id that begins with ses_, and messages"
    assert recognise([value]).name == "opencode"


# What a session is


def test_a_reply_without_anything_in_it_is_no_turn():
    (found,) = told(session(asked(1, text("hi")), said(2, text("")), said(3, text("hello"))))
    assert words(found) == ["hi", "hello"]
    assert [reply.at for reply in found.origin.replies] == [1]


def test_an_answer_that_says_its_tokens_itself_does_not_take_those_of_the_message():
    used = {"input": 9, "output": 2, "reasoning": 1, "cache": {"read": 0, "write": 0}}
    ends = [{"type": "step-finish", "reason": "stop", "tokens": {**used, "total": 12}}, {"type": "step-finish"}]
    (found,) = told(session(*(said(n, text("a"), end, tokens=used) for n, end in enumerate(ends))))
    assert [(each.prompt_tokens, each.completion_tokens) for each in found.origin.replies] == [(9, 3), (9, 2)]


def test_a_call_of_a_provider_has_its_result_beside_it():
    state = {"status": "completed", "input": {"q": "x"}, "output": "found"}
    call = {"type": "tool", "callID": "c", "tool": "web_search", "state": state, "metadata": {"providerExecuted": True}}
    (found,) = told(session(asked(1, text("hi")), said(2, call, text("Here."))))
    assert [type(block).__name__ for block in turns_of(found)[1].blocks] == ["HostedCall", "HostedResult", "Text"]


def test_reasoning_of_version_2_is_signed_by_whom_its_members_name():
    content = [{"type": "reasoning", "text": "so", "native": {"signature": "S"}}, text("hi")]
    value = {"id": "msg_1", "type": "assistant", "model": {"id": "m", "providerID": "zen"}, "content": content}
    (found,) = told(session(value))
    assert (turns_of(found)[0].blocks[0].signer, turns_of(found)[0].blocks[0].signature) == ("anthropic", "S")


def test_a_revert_within_a_message_keeps_what_stands_before_the_part():
    parts = [{**text("a"), "id": "prt_1"}, {"type": "step-start", "id": "prt_2"}, {**text("b"), "id": "prt_3"}]
    value = session(asked(1, text("hi")), said(2, *parts), revert={"messageID": "msg_002", "partID": "prt_2"})
    left, branch = told(value)
    assert words(left) == ["hi", "a"]
    assert words(branch) == ["hi", "a", "b"]
    assert (branch.origin.kind, branch.origin.parent) == ("branch", left.origin.id)


def test_a_revert_to_nowhere_is_counted():
    (found,) = told(session(asked(1, text("hi")), said(2, text("a")), revert={"messageID": "msg_9"}))
    assert found.origin.unread["revert to a missing message"] == 1


def test_what_was_undone_without_an_answer_is_no_branch():
    (found,) = told(
        session(asked(1, text("hi")), said(2, text("a")), asked(3, text("no")), revert={"messageID": "msg_003"})
    )
    assert words(found) == ["hi", "a"]
    assert found.origin.unread["message that is not part of a conversation"] == 1


def test_a_compaction_that_did_not_end_replaces_nothing():
    value = session(asked(1, text("hi")), said(2, text("a")), asked(3, {"type": "compaction"}))
    half = said(4, text("In sh"), parentID="msg_003", summary=True)
    del half["info"]["finish"]
    value["messages"].append(half)
    (found,) = told(value)
    assert words(found) == ["hi", "a", "What did we do so far?", "In sh"]
    assert [reply.at for reply in found.origin.replies] == [1], "what it was asked with is not kept"


def test_a_result_that_was_cleared_stays_where_no_reply_came_later():
    state = {"status": "completed", "input": {}, "output": "long", "time": {"start": T, "compacted": T + 9_000_000}}
    call = {"type": "tool", "callID": "c", "tool": "read", "state": state}
    (found,) = told(session(asked(1, text("hi")), said(2, call), asked(3, text("bye"))))
    assert words(found) == ["hi", None, "long", "bye"]


def test_a_sub_agent_of_another_file_is_named_by_the_call():
    state = {"status": "completed", "input": {}, "output": "ok", "metadata": {"sessionId": "ses_2"}}
    (found,) = told(
        session(asked(1, text("hi")), said(2, {"type": "tool", "callID": "c", "tool": "task", "state": state}))
    )
    assert found.origin.began == {"ses_2": "c"}
    (alone,) = told({"info": {"id": "ses_2", "parentID": "ses_1"}, "messages": [said(1, text("ok"))]})
    assert (alone.origin.kind, alone.origin.parent, alone.origin.id) == ("subagent", "ses_1", "ses_2")


# The tree of files

FILES = [
    *({**message["info"], "sessionID": "ses_1"} for message in session(asked(1), said(2))["messages"]),
    {"id": "prt_1", "messageID": "msg_001", "sessionID": "ses_1", **text("hi")},
    {"id": "prt_2", "messageID": "msg_002", "sessionID": "ses_1", "type": "step-start"},
    {"id": "prt_3", "messageID": "msg_002", "sessionID": "ses_1", **text("one")},
    {"id": "prt_4", "messageID": "msg_002", "sessionID": "ses_1", **text("two")},
]
HEADER = {"id": "ses_1", "projectID": "p", "title": "t", "time": {"created": T, "updated": T}}


@given(st.permutations(FILES))
def test_the_order_of_files_does_not_matter(stored):
    (found,) = told(HEADER, meta=stored)
    assert words(found) == ["hi", [text("one"), text("two")]]
    assert recognise([HEADER]).name == "opencode"


def test_files_that_tell_nothing_are_counted():
    lost = {"id": "prt_9", "messageID": "msg_9", "type": "text", "text": "x"}
    (found,) = told(HEADER, meta=[*FILES, None, {"a": 1}, lost])
    counted = {"companion file that cannot be read": 2, "part of a missing message": 1}
    assert counted.items() <= found.origin.unread.items()


def test_where_the_files_of_a_session_lie():
    assert opencode.companions("ses_1aB.json") == "../../message/ses_1aB/msg_*.json\0../../part/\0/prt_*.json"
    assert opencode.companions("ses_*.json") is opencode.companions("session.json") is None
    assert opencode.owner("a/storage/message/ses_1/msg_1.json") == "a/storage/session"
    assert opencode.owner("storage/part/msg_1/prt_1.json") == "storage/session"
    assert opencode.owner("a/storage/session/p/ses_1.json") is opencode.owner("part/msg_1/prt_1.json") is None


# The database

SESSIONS = ["id", "parent_id", "directory", "time_created"]
HELD = {
    "session": SESSIONS,
    "message": ["id", "session_id", "time_created", "data"],
    "part": ["id", "message_id", "data"],
}
NEWER = {"session_message": ["id", "session_id", "type", "seq", "data"]}


@cases("stored, expected",
    ("version 1", HELD, ["session", "message", "part"]),
    ("both", {**HELD, **NEWER}, ["session", "message", "part", "session_message"]),
    ("version 2 with sessions of its own", {**HELD, "session_v2": SESSIONS, **NEWER}, ["session", "session_v2", "message", "part", "session_message"]),
    ("version 2 alone", {"session_v2": SESSIONS, **NEWER}, ["session_v2", "session_message"]),
    ("messages without parts", {**HELD, "part": []}, None),
    ("no sessions", {**NEWER}, None),
    ("sessions of anybody else", {**HELD, "session": ["id", "time_created"]}, None),
    ("nothing", {}, None),
)  # fmt: skip
def test_which_tables_are_read(stored, expected):
    found = opencode.tables(stored)
    assert (found and list(found)) == expected
    assert all({*columns} <= {*stored[table]} for table, columns in (found or {}).items())


def row(rowid, name, parent=None, at=1):
    return rowid, name, parent, at


def test_sessions_that_began_each_other_are_one_family():
    rows = [row(1, "b", "a", 2), row(2, "a", "b", 1), row(3, "c", "b", 3), row(4, "d", "gone", 4), row(5, "e", "e", 5)]
    index = {
        "session": rows,
        "message": [(7, "m", "c", 1), (8, "n", "gone", 1)],
        "part": [(9, "p", "m"), (10, "q", "n")],
    }
    families = opencode.families(index)
    assert [family["session"] for family in families] == [[2, 1, 3], [4], [5]]
    assert [(family["message"], family["part"]) for family in families] == [([7], [9]), ([], []), ([], [])]


@given(st.lists(st.tuples(*[st.sampled_from([None, 1, "1", b"x", "a", "b", 2.5])] * 3), max_size=8))
def test_each_session_is_in_one_family(rows):
    index = {"session": [(number, *each) for number, each in enumerate(rows)], "session_message": []}
    found = [rowid for family in opencode.families(index) for rowid in family["session"]]
    assert len(found) == len(set(found))
    named = {number for number, each in enumerate(rows) if each[0] is not None}
    assert named <= {*found}


def test_a_long_line_of_sub_agents_is_one_family():
    rows = [row(number, f"s{number}", f"s{number - 1}", -number) for number in range(20_000)]
    (family,) = opencode.families({"session": rows, "message": [], "part": []})
    assert len(family["session"]) == 20_000


def cells(of, data, *, at=T, changed=None, **more):
    return {
        "id": of,
        "session_id": "s",
        "time_created": at,
        "time_updated": changed or at,
        "data": json.dumps(data),
        **more,
    }


OLD = [cells("m", {"role": "assistant", "time": {"created": T}, "modelID": "m"}, changed=T + 60_000)]
PARTS = [
    {
        "id": "p", "message_id": "m", "session_id": "s", "time_created": T, "time_updated": T,
        "data": json.dumps(text("old")),
    }
]  # fmt: skip


@cases(
    "at, expected",
    ("rows of the newer table that came with those of the older", T + 50_000, "old"),
    ("a row right behind the last change of the older ones", T + 65_000, "old"),
    ("what version 2 went on with", T + 90_000, "new"),
)
def test_which_table_a_session_is_read_from(at, expected):
    new = [
        cells(
            "n",
            {"content": [text("new")], "model": {"id": "m"}, "time": {"created": at}},
            at=at,
            type="assistant",
            seq=1,
        )
    ]
    rows = {"session": [{"id": "s"}], "message": OLD, "part": PARTS, "session_message": new}
    (found,) = told(*opencode.from_rows(rows))
    assert words(found) == [expected]
    left = "session_message" if expected == "old" else "message"
    assert found.origin.unread[f"row of the table {left}"] == 1
    (alone,) = told(*opencode.from_rows({**rows, "message": [], "part": []}))
    assert words(alone) == ["new"]


@cases(
    "table, cell, message",
    ("message", {"data": "{"}, "message m: data is not valid JSON"),
    ("message", {"data": None}, "message m: data is not valid JSON"),
    ("message", {"data": "[]"}, "message m: data is a list, expected an object"),
    ("message", {"data": '{"a": "\udcff"}'}, "message m: data is not valid JSON"),
    ("part", {"data": "[" * 100_000}, "part p: data is not valid JSON"),
    ("session", {"revert": "{"}, "session s: revert is not valid JSON"),
)
def test_a_cell_that_is_broken_is_named(table, cell, message):
    rows = copy.deepcopy({"session": [{"id": "s"}], "message": OLD, "part": PARTS})
    rows[table][0].update(cell)
    with pytest.raises(TurnError, match=f"^{message}$"):
        opencode.from_rows(rows)


# Whatever a file holds


@st.composite
def sessions(draw):
    """Sessions with compactions, summaries of older versions, and reverts, at any place."""
    messages = []
    for number in range(draw(st.integers(1, 12))):
        before = [f"msg_{other:03}" for other in range(number + 2)]
        match draw(st.sampled_from(["user", "reply", "reply", "compaction", "summary"])):
            case "user":
                messages.append(asked(number, text(f"u{number}")))
            case "reply":
                messages.append(said(number, text(f"a{number}")))
            case "compaction":
                part = {"type": "compaction", "tail_start_id": draw(st.sampled_from(before))}
                messages.append(asked(number, part))
            case "summary":
                messages.append(said(number, text(f"s{number}"), summary=True, parentID=draw(st.sampled_from(before))))
    revert = draw(st.none() | st.sampled_from([{"messageID": each["info"]["id"]} for each in messages]))
    return session(*messages, revert=revert)


@given(sessions())
def test_each_reply_stands_in_a_conversation_and_its_parents_are_there(value):
    found = told(value)
    given_by_model = [f"a{number}" for each in value["messages"] if (number := int(each["info"]["id"][4:])) >= 0
                      and each["parts"][-1].get("text") == f"a{number}"]  # fmt: skip
    replies = {each.messages[reply.at]["content"] for each in found for reply in each.origin.replies}
    assert replies == set(given_by_model)
    names = [each.origin.id for each in found]
    assert len(names) == len(set(names))
    assert all(each.origin.kind in ("main", "compacted", "branch") for each in found)


def places(value, way=()):
    """The places of all values in a value."""
    yield way
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*way, key))


@given(st.data())
def test_any_value_anywhere_gives_conversations_or_says_what_is_wrong(data):
    value = copy.deepcopy(data.draw(st.sampled_from(EXPORTS)))
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from([way for way in places(value) if way]))
        holder = value
        for key in way:
            holder = holder[key]
        holder[last] = data.draw(VALUES)
    with suppress(TurnError):
        told(value)
    opencode.fits([value])
    opencode.fits([value.get("info"), value])


def test_tails_that_are_kept_many_times_do_not_take_forever():
    messages = [said(number, text("a")) for number in range(2000)]
    for number in range(2000, 4000, 2):
        messages += [
            asked(number, {"type": "compaction", "tail_start_id": "msg_000"}),
            said(number + 1, text("s"), summary=True, parentID=f"msg_{number:03}"),
        ]
    before = time.process_time()
    found = told(session(*messages))
    assert time.process_time() - before < 10
    assert found[-1].origin.unread.keys() == found[1].origin.unread.keys()


@pytest.mark.parametrize("filled", ["session", "session_v2"])
def test_sessions_may_be_in_either_table(tmp_path, filled):
    """A database of version 2 may have the table of version 1, without a row."""
    path = tmp_path / "opencode.db"
    columns = "id, parent_id, directory, time_created"
    with closing(sqlite3.connect(path)) as database:
        for name in ("session", "session_v2"):
            database.execute(f"CREATE TABLE {name} ({columns})")
        database.execute("CREATE TABLE session_message (id, session_id, type, seq, data)")
        database.execute(f"INSERT INTO {filled} VALUES ('ses_1', NULL, '/', 1)")
        rows = [("m1", "user", 1, {"text": "hi"}), ("m2", "assistant", 2, {"content": [text("hello")]})]
        for of, kind, seq, data in rows:
            database.execute(
                "INSERT INTO session_message VALUES (?, 'ses_1', ?, ?, ?)", (of, kind, seq, json.dumps(data))
            )
        # Kilo 7.7.9 has such an index over its messages.
        database.execute("CREATE INDEX roles ON session_message (id, json_extract(data, '$.role'))")
        database.commit()
    (outcome,) = convert_session(path, Options(anonymize=False))
    assert outcome.left_out is None
    assert "hello" in str(outcome.record)
