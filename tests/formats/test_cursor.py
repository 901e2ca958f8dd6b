"""Cursor: what holds of any database, store and transcript."""

import copy
import hashlib
import json
import sqlite3
from contextlib import closing, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import Options
from chatsquash.formats import documents
from chatsquash.formats.agents import cursor
from chatsquash.formats.agents.cursor.store import root
from chatsquash.formats.base import TurnError
from chatsquash.formats.databases import Database, recognise_database
from chatsquash.formats.providers.openai_chat.read import turns_of
from tests import golden
from tests.conftest import cases
from tests.formats.odd import VALUES
from tests.formats.table import words

IDE = {"cursorDiskKV": ["key", "value"], "ItemTable": ["key", "value"]}
CLI = {"blobs": ["id", "data"], "meta": ["key", "value"]}
SECRET = "a2V5IG9mIGJsb2Jz"
CURSOR = documents.get_format("cursor")
OTHERS = tuple(map(documents.get_format, ("crush", "goose", "hermes", "opencode")))


# Rows


def values(held_by_key):
    """Rows of the table of the IDE."""
    spelled = {
        key: value if isinstance(value, str | bytes | None) else json.dumps(value) for key, value in held_by_key.items()
    }
    return [{"key": key, "value": value} for key, value in spelled.items()]


def composer(*bubbles, **more):
    """What ``from_rows`` makes of a session of the IDE whose bubbles are called b0, b1 and so on."""
    names = [f"b{number}" for number in range(len(bubbles))]
    rows = {f"bubbleId:c:{name}": bubble for name, bubble in zip(names, bubbles, strict=True)}
    headers = [{"bubbleId": name, "type": bubble["type"]} for name, bubble in zip(names, bubbles, strict=True)]
    rows["composerData:c"] = {"composerId": "c", "fullConversationHeadersOnly": headers, **more}
    return cursor.from_rows({"cursorDiskKV": values(rows)})


def user(text, **more):
    return {"type": 1, "text": text, **more}


def model(text="", **more):
    return {"type": 2, "text": text, **more}


def call(name, **more):
    return model(toolFormerData={"name": name, **more})


def number(value):
    """A number as protobuf writes it."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def field(at, data):
    return number(at << 3 | 2) + number(len(data)) + data


def store(*lists, **meta):
    """The rows of a store in which each of these lists of messages was once the last one."""
    blobs, last = {}, ""

    def put(data):
        blobs[name := hashlib.sha256(data).hexdigest()] = data
        return name

    for messages in lists:
        hashes = [bytes.fromhex(put(json.dumps(message).encode())) for message in messages]
        last = put(b"".join(field(1, each) for each in hashes) + field(22, b"cli"))
    known = {"agentId": "a", "latestRootBlobId": last, "blobEncryptionKey": SECRET, **meta}
    rows = [{"id": name, "data": data} for name, data in blobs.items()]
    return {"meta": [{"key": "0", "value": json.dumps(known).encode().hex()}], "blobs": rows}


def said(role, text, **more):
    return {"role": role, "content": [{"type": "text", "text": text}], **more}


# Databases


def test_which_tables_are_read():
    assert cursor.tables(IDE) == {"cursorDiskKV": ("key",)}
    headers = {**IDE, "composerHeaders": ["composerId", "isSubagent", "value"]}
    assert cursor.tables(headers) == {"cursorDiskKV": ("key",), "composerHeaders": ("composerId",)}
    assert cursor.tables(CLI) == {"meta": ("key",), "blobs": ("id",)}
    assert cursor.tables({**CLI, "blobs": ["id", "data", "kind"]}) is None
    assert cursor.tables({"ItemTable": ["key", "value"]}) is cursor.tables({}) is None
    assert not any(each.tables(tables) for each in OTHERS for tables in (IDE, CLI))


def test_a_session_of_the_ide_is_its_composer_with_its_bubbles_whatever_their_order():
    keys = [
        "bubbleId:a:2", "agentKv:blob:ff", "composerData:b", "bubbleId:a:1", "bubbleId:gone:1", "composerData:a",
        None,
    ]  # fmt: skip
    index = {"cursorDiskKV": list(enumerate(keys)), "composerHeaders": [(7, "b"), (8, "none"), (9, None)]}
    assert cursor.families(index) == [
        {"cursorDiskKV": [5, 3, 0], "composerHeaders": []},
        {"cursorDiskKV": [2], "composerHeaders": [7]},
    ]


def test_a_store_is_one_session():
    assert cursor.families({"meta": [(1, "0")], "blobs": [(2, "x"), (1, "y")]}) == [{"meta": [1], "blobs": [2, 1]}]


def test_a_real_database_gives_the_same(tmp_path):
    with closing(sqlite3.connect(tmp_path / "state.vscdb")) as made:
        made.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        headers = [{"bubbleId": "1", "type": 1}]
        rows = {
            "composerData:c": {"fullConversationHeadersOnly": headers},
            "bubbleId:c:1": user("hi"),
            "composerData:d": None,
        }
        for row in values(rows):
            made.execute("INSERT INTO cursorDiskKV VALUES (?, CAST(? AS BLOB))", (row["key"], row["value"]))
        made.commit()
    with closing(Database(Options(), data=(tmp_path / "state.vscdb").read_bytes())) as opened:
        form, found = recognise_database(opened, [*OTHERS, CURSOR])
        told = [found.objects(family) for family in found.families()]
    assert form is CURSOR
    assert [words(cursor.conversations(each)) for each in told] == [[["hi"]], []]


@cases("rows, message",
    ("a composer that is no JSON", {"composerData:c": "{"}, "cursorDiskKV composerData:c: value is not valid JSON"),
    ("a composer that is a list", {"composerData:c": "[]"}, r"cursorDiskKV composerData:c: value is \[\], expected an object"),
    ("a bubble that is no UTF-8", {"composerData:c": "{}", "bubbleId:c:1": b"\xff"}, "cursorDiskKV bubbleId:c:1: value is not valid JSON"),
)  # fmt: skip
def test_a_broken_value_says_which(rows, message):
    with pytest.raises(TurnError, match=message):
        cursor.from_rows({"cursorDiskKV": values(rows)})


def test_a_value_may_be_a_text_of_json():
    inner = json.dumps(json.dumps({"fullConversationHeadersOnly": []}))
    assert cursor.from_rows({"cursorDiskKV": values({"composerData:c": inner})}) == [
        {"composerId": "c", "fullConversationHeadersOnly": [], "bubbles": {}}
    ]


# Bubbles


def test_bubbles_up_to_a_call_are_one_reply_and_what_the_model_called_with_it():
    bubbles = [
        user("u"),
        model(thinking="t"),
        model("a"),
        model("b"),
        call("x", modelCallId="1"),
        call("y", modelCallId="1"),
    ]
    (found,) = cursor.conversations(composer(*bubbles, call("z"), model("c")))
    replies = [
        [c["function"]["name"] for c in m.get("tool_calls", [])] for m in found.messages if m["role"] == "assistant"
    ]
    assert replies == [["x", "y"], ["z"], []]
    assert len(found.origin.replies) == 3


@cases("told, expected",
    ("what the model wrote, as it wrote it", {"rawArgs": '{"a":  1}', "params": '{"b": 1}'}, '{"a":  1}'),
    ("once more as a text", {"rawArgs": json.dumps('{"a": 1}')}, '{"a": 1}'),
    ("what the client made of it where that is none", {"rawArgs": "oops", "params": '{"b":  1}'}, '{"b":  1}'),
    ("a tool of a server", {"params": {"tools": [{"name": "n", "parameters": '{"q":  1}'}]}}, '{"q":  1}'),
    ("two tools of servers", {"params": '{"tools":[{"parameters":"1"},{"parameters":"2"}]}'}, '{"tools":[{"parameters":"1"},{"parameters":"2"}]}'),
    ("what was not written to the end", {"rawArgs": '{"a'}, '{"a'),
    ("nothing", {}, "{}"),
)  # fmt: skip
def test_arguments(told, expected):
    (found,) = cursor.conversations(composer(user("u"), call("x", toolCallId="1", **told)))
    assert found.messages[-1]["tool_calls"][0]["function"]["arguments"] == expected


@cases("told, expected",
    ("a result", {"status": "completed", "result": '{"r":1}'}, ('{"r":1}', "success")),
    ("an empty result", {"status": "completed"}, ("", "success")),
    ("an error in place of a result", {"status": "error", "error": "bad"}, ("bad", "failed")),
    ("a call that was refused", {"status": "completed", "result": "no", "userDecision": "rejected"}, ("no", "denied")),
    ("a call that was stopped", {"status": {"status": "cancelled"}, "result": "half"}, ("half", "interrupted")),
    ("a call that runs", {"status": "loading"}, None),
)  # fmt: skip
def test_results(told, expected):
    (found,) = cursor.conversations(composer(user("u"), call("x", toolCallId="1", **told)))
    results = [(each.content, each.outcome) for turn in turns_of(found) for each in turn.blocks if turn.role == "tool"]
    assert [("".join(part.text for part in content), outcome) for content, outcome in results] == [expected] * (
        expected is not None
    )


def test_only_a_model_of_anthropic_tells_who_signed():
    thinking = {"text": "t", "signature": "s"}
    for name, signer in (("claude-4.5-opus", "anthropic"), ("composer-2", ""), ("default", "")):
        (found,) = cursor.conversations(
            composer(user("u"), model("a", thinking=thinking), modelConfig={"modelName": name})
        )
        (thought, _) = turns_of(found)[-1].blocks
        assert (thought.text, thought.signature, thought.signer) == ("t", "s", signer)
        assert found.origin.replies[0].model == (None if name == "default" else name)


def test_a_summary_of_the_whole_counts_once():
    told = {"summary": "in short", "truncationLastBubbleIdInclusive": "b1"}
    bubbles = [user("a"), model("b"), user("c"), model("d")]
    for more in ({}, {"conversationSummary": told}):
        latest = {"summary": told, "lastBubbleId": "b1"}
        found = cursor.conversations(
            composer(bubbles[0], {**bubbles[1], **more}, *bubbles[2:], latestConversationSummary=latest)
        )
        assert words(found) == [["in short", "c", "d"], ["a", "b"]]
        assert [each.origin.kind for each in found] == ["compacted", "main"]


def test_a_sub_agent_names_what_began_it():
    (found,) = cursor.conversations(composer(user("u"), subagentInfo={"parentComposerId": "p", "toolCallId": "t"}))
    assert (found.origin.kind, found.origin.parent, found.origin.call) == ("subagent", "p", "t")
    (found,) = cursor.conversations(
        composer(user("u"), call("task_v2", toolCallId="t", additionalData={"subagentComposerId": "s"}))
    )
    assert found.origin.began == {"s": "t"}


# Stores

SYSTEM, ASKED, REPLY = said("system", "s"), said("user", "q"), said("assistant", "a", id="1")


def of(rows):
    return cursor.conversations(cursor.from_rows(rows))


def test_steps_of_the_session_that_goes_on_are_no_conversations():
    begun = {"role": "assistant", "id": "1", "content": [{"type": "text", "text": "a"}]}
    noted = {**begun, "providerOptions": {"cursor": {"pendingToolCallStartedAtMs": 1}}}
    whole = {
        **begun,
        "content": [
            {"type": "text", "text": "answer"},
            {"type": "tool-call", "toolCallId": "t", "toolName": "x", "args": {}},
        ],
    }
    found = of(store([SYSTEM], [SYSTEM, ASKED], [SYSTEM, ASKED, begun], [SYSTEM, ASKED, noted], [SYSTEM, ASKED, whole]))
    assert words(found) == [["s", "q", "answer"]]
    assert found[0].origin.id == ""


def test_a_root_that_was_taken_back_is_a_branch():
    found = of(store([SYSTEM, ASKED, REPLY], [SYSTEM]))
    assert [(each.origin.id, each.origin.kind, each.origin.parent) for each in found] == [
        ("1", "main", None),
        ("2", "branch", "1"),
    ]


def test_summaries_make_a_row_of_conversations():
    first = said("user", "1", providerOptions={"cursor": {"isSummary": True}})
    second = said("user", "2", providerOptions={"cursor": {"isSummary": True}})
    found = of(store([SYSTEM, ASKED, REPLY], [SYSTEM, first, REPLY], [SYSTEM, second, REPLY]))
    assert words(found) == [["s", "2", "a"], ["s", "q", "a"], ["s", "1", "a"]]
    assert [(each.origin.id, each.origin.kind, each.origin.parent) for each in found] == [
        ("1", "compacted", "3"),
        ("2", "main", None),
        ("3", "compacted", "2"),
    ]
    assert [len(each.origin.replies) for each in found] == [0, 1, 0], "what was copied is told once"


def test_the_key_of_the_blobs_comes_out_nowhere():
    rows = store([SYSTEM, ASKED, REPLY])
    objects = cursor.from_rows(rows)
    assert SECRET not in json.dumps(objects)
    assert SECRET not in repr(cursor.conversations(objects))
    assert "blobEncryptionKey" not in repr(cursor.conversations(objects))
    for broken in ({"latestRootBlobId": "none"}, {"latestRootBlobId": rows["blobs"][0]["id"]}):
        meta = [{"key": "0", "value": json.dumps({"blobEncryptionKey": SECRET, **broken}).encode().hex()}]
        with pytest.raises(TurnError) as caught:
            cursor.from_rows({**rows, "meta": meta})
        assert SECRET not in str(caught.value)


@cases("more, message",
    ("metadata that are not valid JSON", {"meta": [{"key": "0", "value": "7b"}]}, "the metadata of the store is not valid JSON"),
    ("metadata that are no object", {"meta": [{"key": "0", "value": b"[]".hex()}]}, "the metadata of the store is a list"),
    ("a message that is missing", {"blobs": lambda rows: rows[1:]}, "no message for reference 0"),
    ("a message that is encrypted", {"blobs": lambda rows: [{**rows[0], "data": b"\x9c\x01"}, *rows[1:]]}, "no message for reference 0"),
)  # fmt: skip
def test_a_broken_store_says_what_is_missing(more, message):
    rows = store([SYSTEM, ASKED])
    changed = {name: change(rows[name]) if callable(change) else change for name, change in more.items()}
    with pytest.raises(TurnError, match=message):
        cursor.from_rows({**rows, **changed})


def test_a_store_without_a_root_has_no_conversation():
    assert cursor.from_rows(store([SYSTEM], latestRootBlobId="")) == []


@given(st.binary(max_size=80))
def test_any_bytes_are_a_message_of_protobuf_or_none(data):
    found = root(data)
    assert found is None or all(len(each) == 32 for each in found.references)


@given(st.lists(st.tuples(st.integers(1, 3000), st.binary(max_size=40))))
def test_fields_are_counted_and_references_found(fields):
    found = root(b"".join(field(at, data) for at, data in fields))
    references = [data for at, data in fields if at == 1 and len(data) == 32]
    assert found.references == references
    assert sum(found.others.values()) + len(references) == len(fields)


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=6))
def test_each_reply_of_any_roots_stands_in_a_conversation(lists):
    """Those of the last root come first, and no reply is lost whatever roots there were."""
    made = [[said("assistant", f"{at}.{what}") for at, what in enumerate(each)] for each in lists]
    found = of(store(*made))
    assert words(found)[0] == [message["content"][0]["text"] for message in made[-1]]
    assert {text for each in words(found) for text in each} == {m["content"][0]["text"] for each in made for m in each}


# Transcripts


def test_lines_of_other_agents_are_no_transcript():
    line = {"role": "user", "message": {"content": "hi"}}
    assert cursor.fits([line, {"type": "turn_ended", "status": "success"}])
    for more in ({"type": "user"}, {"uuid": "u"}, {"sessionId": "s"}, {"id": "m"}, {"message": "hi"}, {"role": "tool"}):
        assert cursor.fits([line, {**line, **more}]) is None
    assert cursor.fits([]) is cursor.fits([{"type": "turn_ended"}]) is cursor.fits([[line]]) is None


# Hostile values

CASES = sorted((golden.ROOT / "cursor").iterdir())


def read(log):
    """The objects of a log."""
    data = log.read_bytes()
    if not data.startswith(b"SQLite"):
        return [[json.loads(line) for line in data.splitlines()]]
    with closing(Database(Options(), data=data)) as opened:
        found = recognise_database(opened, [CURSOR])
        return [objects for family in found[1].families() if (objects := found[1].objects(family))]


LOGS = [objects for case in CASES for log in golden.logs(case) for objects in read(log)]


@pytest.mark.parametrize("objects", LOGS)
def test_what_is_read_of_a_database_is_recognised(objects):
    assert documents.recognise(objects).name == "cursor"


def members(value):
    """Every place in a value: what holds it, and the key."""
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            yield holder, key
            waiting += [holder[key]] if isinstance(holder[key], dict | list) else []


@given(st.data())
def test_any_value_anywhere_gives_conversations_or_a_turn_error(data):
    objects = copy.deepcopy(data.draw(st.sampled_from(LOGS)))
    holder, key = data.draw(st.sampled_from(list(members(objects))))
    holder[key] = data.draw(VALUES)
    cursor.fits(objects)
    with suppress(TurnError):
        assert all(each.messages for each in cursor.conversations(objects))


@given(st.lists(VALUES, max_size=3))
def test_any_objects_fit_or_not(objects):
    cursor.fits(objects)
    with suppress(TurnError):
        cursor.conversations(objects)
