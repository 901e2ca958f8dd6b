"""Sessions whose record training presets leave out: content of a wrong type, and a last reply that says nothing."""

import json

import pytest

from chatsquash import Options, convert
from chatsquash.records import presets
from chatsquash.results.check import check
from tests.checks.rows import assistant, call, result, tool, user
from tests.conftest import cases, log_line, write_log

CODES = ("empty-reply", "wrong-content")
TRAINING = [name for name in presets.names() if name != "chat"]
ASKED = [user("How far is Oslo?"), assistant(None, call()), result("530 km")]
SESSIONS = {"empty-reply": (ASKED, assistant(" \n")), "wrong-content": ([user(5)], assistant("Five."))}


def converted(tmp_path, messages, reply, **options):
    """What a run says of one session: the records, why it was left out, and its findings of the two codes."""
    write_log(tmp_path / "logs" / "s.jsonl", log_line(*messages, reply=reply, tools=[tool()]))
    chosen = Options(anonymize=False, group_by="none", **options)
    summary = convert([str(tmp_path / "logs")], tmp_path / "out", chosen)
    records = [
        json.loads(line) for file in summary.files for line in (tmp_path / "out" / file).read_bytes().splitlines()
    ]
    findings = (tmp_path / "out" / "reports" / "findings.jsonl").read_text().splitlines()
    found = [each for each in map(json.loads, findings) if each["code"] in CODES]
    return records, dict(summary.left_out), [(each["code"], each["severity"]) for each in found]


@pytest.mark.parametrize("code", CODES)
def test_chat_writes_the_record_with_the_finding(tmp_path, code):
    messages, reply = SESSIONS[code]
    (record,), left_out, found = converted(tmp_path, messages, reply)
    assert (record["messages"][0], record["messages"][-1]) == (messages[0], reply)
    assert (left_out, found) == ({}, [(code, "error")])


@pytest.mark.parametrize("integrity", [True, False])
@pytest.mark.parametrize("name", TRAINING)
@pytest.mark.parametrize("code", CODES)
def test_other_presets_leave_it_out_and_the_code_says_why_once(tmp_path, code, name, integrity):
    records, left_out, found = converted(tmp_path, *SESSIONS[code], preset=name, integrity_analysis=integrity)
    assert (records, left_out, found) == ([], {code: 1}, [(code, "error")])


def test_content_of_a_wrong_type_is_found_before_calls_are_inlined(tmp_path):
    messages = [user(), assistant(5, call()), result()]
    (record,), _, found = converted(tmp_path, messages, assistant(), json_tool_calls=True)
    assert record["messages"][1]["content"].startswith("<tool_call>")
    assert found == [("wrong-content", "error")]


@pytest.mark.parametrize("name", TRAINING)
def test_a_reply_that_is_reasoning_alone_is_empty_where_reasoning_has_no_place(tmp_path, name):
    reply = assistant("", reasoning_content="Nobody said from where.")
    _, left_out, found = converted(tmp_path, [*ASKED, assistant("530 km."), user()], reply, preset=name)
    is_empty = name in ("openai", "mistral")
    assert found == ([("empty-reply", "error")] if is_empty else [])
    assert left_out == ({"empty-reply": 1} if is_empty else {})


@pytest.mark.parametrize("name", TRAINING)
@pytest.mark.parametrize(
    "reply",
    [
        assistant(None, refusal="I cannot help with that."),
        assistant([{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]),
        assistant(None, audio={"id": "a", "data": "x"}),
    ],
    ids=["a refusal", "an image", "a sound"],
)
def test_a_reply_of_which_a_preset_would_write_nothing_is_empty(tmp_path, name, reply):
    records, left_out, found = converted(tmp_path, ASKED, reply, preset=name, media="drop")
    assert (records, left_out, found) == ([], {"empty-reply": 1}, [("empty-reply", "error")])


def test_a_reply_before_the_last_one_may_say_nothing(tmp_path):
    messages = [*ASKED, assistant(None, refusal="I cannot help with that."), user()]
    (record,), left_out, _ = converted(tmp_path, messages, assistant("530 km."), preset="openai")
    assert (record["messages"][-3], left_out) == (assistant(""), {})


def test_where_reasoning_is_dropped_the_record_ends_before_that_reply(tmp_path):
    reply = assistant("", reasoning_content="Nobody said from where.")
    messages = [*ASKED, assistant("530 km."), user()]
    (record,), left_out, found = converted(tmp_path, messages, reply, preset="hf", reasoning="drop")
    assert record["messages"][-1] == assistant("530 km.")
    assert (left_out, found) == ({}, [])


INLINED = {"role": "assistant", "content": '<tool_call>{"name": "grep", "arguments": {}}</tool_call>'}


@cases(
    "record, expected",
    ("chat", {"messages": [user(), assistant("")], "tools": []}, ["empty-reply"]),
    ("a call with null", {"messages": [user(), assistant(None, call())], "tools": [tool()]}, []),
    ("inlined calls", {"messages": [user(), INLINED, user(), assistant(" ")], "tools": [tool()]}, ["empty-reply"]),
    ("an inlined call at the end", {"messages": [user(), INLINED], "tools": [tool()]}, []),
    ("wrapped tools", {"messages": [user({"a": 1}), assistant()], "tools": [{"function": tool()}]}, ["wrong-content"]),
    ("no tools", {"messages": [user(), assistant(True)]}, ["wrong-content"]),
    ("sharegpt", {"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": ""}]}, ["empty-reply"]),
    (
        "a call of sharegpt",
        {
            "conversations": [
                {"from": "human", "value": "a"},
                {"from": "function_call", "value": '{"name": "grep", "arguments": {}}'},
            ],
            "tools": json.dumps([tool()]),
        },
        [],
    ),
    ("text", {"messages": [{"role": "system", "content": f"<tools>\n{json.dumps({'function': tool()})}\n</tools>"}, user(), assistant("")]}, ["empty-reply"]),
)  # fmt: skip
def test_check_finds_both_in_all_shapes(tmp_path, record, expected):
    write_log(tmp_path / "data.jsonl", record)
    assert [each.code for each in check(str(tmp_path / "data.jsonl")) if each.code in CODES] == expected
