"""The record checks on datasets that exist already."""

import gzip
import json
import os
import threading
from pathlib import Path

import polars as pl
import pytest

from chatsquash import Options, convert
from chatsquash.checks.dataset import OF_TOOLS
from chatsquash.checks.phrases import Phrases
from chatsquash.core.errors import UsageError
from chatsquash.results.check import Checks, check
from tests.checks.rows import assistant, call, result, tool, user
from tests.conftest import cases, log_line, write_log
from tests.outputs import findings

NATIVE = [user(), assistant("", call()), result()]
CALL = '<tool_call>{"name": "grep", "arguments": {}}</tool_call>'
INLINED = [user(), assistant(CALL), {"role": "tool", "content": '<tool_result tool_call_id="c1">done</tool_result>'}]
RESPONSE = "<tool_response>\ndone\n</tool_response>"
AS_TEXT = [user(), assistant(CALL), user(RESPONSE)]
"""As ``--preset text`` writes it."""
WRAPPED = {"type": "function", "function": tool()}
UNWRAPPED = {"role": "tool", "content": "done"}


def record(*messages, tools=None, **fields):
    return {"messages": list(messages), "tools": [tool()] if tools is None else tools, **fields}


def found(path, *records):
    write_log(path, *records)
    return [(each.code, each.severity, each.line, each.message) for each in check(str(path))]


@cases("line, expected",
    ("a native record", record(*NATIVE), []),
    ("an inlined record", record(*INLINED), []),
    ("tools that are wrapped as requests have them", record(*NATIVE, tools=[WRAPPED]), []),
    ("fields that we do not write", record(*NATIVE, id=1, split="train"), []),
    ("null-valued fields", record({**user(), "tool_calls": None}, {**assistant(), "tool_call_id": None}), []),
    ("a conversation without calls", record(user(), assistant()), []),
    ("the user speaks right behind a result", record(*NATIVE, user(), assistant()), [("user-after-result", "warning", 1, 3)]),
    ("so it is where both are text", {"messages": [*AS_TEXT, user(), assistant()]}, [("calls-without-tools", "error", 1, None), ("undeclared-tool", "error", 1, 1), ("user-after-result", "warning", 1, 3)]),
    ("but not where one message has both", {"messages": [*AS_TEXT[:2], user(f"{RESPONSE}\n\nhi"), assistant()]}, [("calls-without-tools", "error", 1, None), ("undeclared-tool", "error", 1, 1)]),
    ("no tools", {"messages": [user()]}, [("no-tools", "info", 1, None)]),
    ("tools are null", record(user(), tools=None) | {"tools": None}, [("no-tools", "info", 1, None)]),
    ("no messages", record(), [("no-messages", "error", 1, None)]),
    ("checks of native calls on a native record", record(*NATIVE[:2], user()), [("tool-result-missing", "warning", 1, 1)]),
    ("checks of tags on an inlined record", record(*INLINED[:2], UNWRAPPED), [
        ("tool-result-tags", "error", 1, 2), ("tool-result-missing", "warning", 1, 1),
        ("tool-result-without-id", "error", 1, 2)]),
    ("tags that are cut off", record(user(), assistant(CALL[:-1])), [("tool-call-tags", "error", 1, 1), ("markup-collision", "warning", 1, 1)]),
    ("a user's tags do not make a record inlined", record(user(CALL), *NATIVE[1:]), []),
    ("native calls beside tags", record(user(), assistant(CALL, call()), result()), [("tool-calls-with-markup", "error", 1, 1), ("tool-result-tags", "error", 1, 2)]),
    ("a role that is not known", record(user(), {"role": "model", "content": "x"}), [("unknown-role", "error", 1, 1)]),
    ("tools of a provider", record(user(), assistant(), tools=[{"type": "web_search"}]), []),
    ("an empty function_call", record(user(), assistant(function_call={})), []),
    ("digits that a double cannot hold", '{"messages": [{"role": "user", "content": "x", "n": 0.12345678901234567890}], "tools": [{"name": "t", "description": "d", "parameters": {"type": "object", "properties": {}}}]}', [
        ("number-changed", "warning", 1, None)]),
)  # fmt: skip
def test_a_record_is_checked(tmp_path, line, expected):
    assert found(tmp_path / "data.jsonl", line) == expected


@cases(
    "line, reason",
    ("no JSON", "{", "the line is not valid JSON"),
    ("no text", b"\xff", "the line is not valid JSON"),
    ("NaN, which JSON does not have", '{"messages": [{"role": "user", "content": NaN}]}', "the line is not valid JSON"),
    ("too deep", "[" * 100_000, "the line is not valid JSON"),
    ("a list", "[]", "the line is a list"),
    ("a log entry", log_line("x"), "messages is missing"),
    ("messages of the wrong type", {"messages": "x"}, "messages is a string"),
    ("a message that is not an object", {"messages": [user(), "x"]}, "messages[1] is not an object with a role"),
    ("a message without a role", {"messages": [{"content": "x"}]}, "messages[0] is not an object with a role"),
)
def test_a_line_that_is_no_record_is_an_error_and_the_next_one_is_checked(tmp_path, line, reason):
    write_log(tmp_path / "data.jsonl", line, {"messages": [], "tools": [tool()]})
    first, second = check(str(tmp_path / "data.jsonl"))
    assert (first.code, first.severity, first.line) == ("bad-record", "error", 1)
    assert reason in first.text
    assert (second.code, second.line) == ("no-messages", 2)


def test_tools_of_the_wrong_type_are_told(tmp_path):
    lines = {"messages": [user()], "tools": {"a": 1}}
    assert found(tmp_path / "data.jsonl", lines)[0] == ("wrong-type", "warning", 1, None)


def test_blank_lines_a_byte_order_mark_and_carriage_returns_are_nothing(tmp_path):
    good = json.dumps(record(*NATIVE)).encode()
    assert found(tmp_path / "data.jsonl", b"\xef\xbb\xbf" + good + b"\r", b"", b" \t\r", good) == []


def test_native_and_inlined_records_are_told_apart_one_by_one(tmp_path):
    assert found(tmp_path / "data.jsonl", record(*NATIVE), record(*INLINED), record(*INLINED[:2], UNWRAPPED)) == [
        ("tool-result-tags", "error", 3, 2),
        ("tool-result-missing", "warning", 3, 1),
        ("tool-result-without-id", "error", 3, 2),
    ]


def test_findings_name_the_dataset_and_the_line(tmp_path):
    write_log(tmp_path / "data.jsonl", record(*NATIVE), "[]")
    (only,) = check(str(tmp_path / "data.jsonl"))
    assert (only.session, only.file, only.line) == ("data", str(tmp_path / "data.jsonl"), 2)


@cases(
    "beside, expected",
    ("a column", {"session_id": "s1"}, "s1"),
    ("an empty one", {"session_id": ""}, "data"),
    ("one that is no text", {"session_id": 7}, "data"),
)
def test_findings_name_the_session_where_the_dataset_does(tmp_path, beside, expected):
    write_log(tmp_path / "data.jsonl", {"messages": [user()], "tools": [], **beside})
    (only,) = check(str(tmp_path / "data.jsonl"))
    assert (only.code, only.session) == ("no-tools", expected)


@pytest.mark.parametrize("packing", ["jsonl", "jsonl.gz", "parquet"])
def test_findings_name_the_sessions_of_a_dataset_with_metadata(tmp_path, packing):
    for name in ("s1", "s2"):
        write_log(tmp_path / "logs" / f"{name}.jsonl", log_line(name, session_id=name))
    convert(tmp_path / "logs", tmp_path / "out", Options(format=packing, metadata=True))
    assert [(each.code, each.session) for each in check(str(tmp_path / "out"))] == [
        ("no-tools", "s1"),
        ("no-tools", "s2"),
    ]


@pytest.mark.parametrize("inlined", [False, True])
def test_what_we_write_is_found_to_be_what_was_found_while_writing(tmp_path, inlined):
    lines = [
        log_line("x", *NATIVE[1:], tools=[WRAPPED]),
        log_line("y", assistant("", call(name="ls")), tools=[WRAPPED], session_id="other"),
    ]
    for number, line in enumerate(lines):
        write_log(tmp_path / "logs" / f"{number}.jsonl", line)
    convert(tmp_path / "logs", tmp_path / "out", Options(json_tool_calls=inlined))
    reported = findings(out=tmp_path / "out")
    expected = [(each["code"], each["message"]) for each in reported]
    assert [(each.code, each.message) for each in check(str(tmp_path / "out"))] == expected
    assert {each["code"] for each in reported} == {"undeclared-tool", "tool-result-missing"}


@pytest.mark.parametrize("packing", [None, "jsonl", "parquet"])
def test_records_of_agents_that_keep_no_definitions_are_checked_as_convert_did(tmp_path, packing):
    gateway = write_log(tmp_path / "gateway.jsonl", log_line(*NATIVE, reply="done"))
    agent = Path(__file__).parents[2] / "sample_logs" / "pi"
    convert([str(gateway), str(agent)], tmp_path / "out", Options(group_by="none", format=packing))
    checked = [(each.line, each.code) for each in check(str(tmp_path / "out")) if each.code in OF_TOOLS]
    assert {row for row, _ in checked} == {1}
    converted = [each["code"] for each in findings(out=tmp_path / "out") if each["code"] in OF_TOOLS]
    assert sorted(code for _, code in checked) == sorted(converted) != []


def test_calls_that_supplied_definitions_do_not_have_are_errors_for_check_too(tmp_path):
    agent = Path(__file__).parents[2] / "sample_logs" / "pi"
    definitions = json.dumps([{"type": "function", "function": tool("other")}]).encode()
    options = Options(group_by="none", tools_file=definitions)
    convert([str(agent)], tmp_path / "out", options)
    found = [each.code for each in check(str(tmp_path / "out")) if each.code in OF_TOOLS]
    converted = [each["code"] for each in findings(out=tmp_path / "out") if each["code"] in OF_TOOLS]
    assert found == converted != []


def test_a_damaged_session_table_hides_nothing(tmp_path):
    write_log(tmp_path / "logs/a.jsonl", log_line(*NATIVE, reply="done"))
    convert(tmp_path / "logs", tmp_path / "out", Options(group_by="none"))
    (tmp_path / "out/reports/sessions.jsonl").write_text('{"row": 1}\n[')
    assert "undeclared-tool" in [each.code for each in check(str(tmp_path / "out"))]


@cases(
    "name, data",
    ("no byte", "a.jsonl", b""),
    ("blank lines", "a.jsonl", b"\n \t\r\n\n"),
    ("nothing in a compressed file", "a.jsonl.gz", gzip.compress(b"\n")),
)
def test_a_file_without_records_is_an_error(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    write_log(tmp_path / "b.jsonl", record(*NATIVE))
    (only,) = check(str(tmp_path))
    assert (only.code, only.severity, only.session, only.line) == ("empty-dataset", "error", "a", None)
    assert only.file == str(tmp_path / name)


def test_a_table_without_rows_is_an_error(tmp_path):
    pl.DataFrame(schema={"messages": pl.List(pl.String)}).write_parquet(tmp_path / "a.parquet")
    assert [each.code for each in check(str(tmp_path))] == ["empty-dataset"]


def test_a_file_with_a_line_that_is_no_record_is_not_empty(tmp_path):
    assert found(tmp_path / "a.jsonl", "[]") == [("bad-record", "error", 1, None)]


@cases("line, expected",
    ("none", record(*NATIVE), []),
    ("in a text", record(user("jane@corp.com, joe@corp.com"), assistant()), [(0, 2)]),
    ("in parts", record(user([{"type": "text", "text": "jane@corp.com"}]), assistant()), [(0, 1)]),
    ("in several messages", record(user("a@corp.com"), assistant("b@corp.com")), [(0, 1), (1, 1)]),
    ("in arguments, escaped", record(user(), assistant("", call(arguments='{"a": "jane\\u0040corp.com"}')), result()), [(1, 1)]),
    ("in a definition", record(user(), assistant(), tools=[tool(description="Ask jane@corp.com")]), [(None, 1)]),
    ("in turns of sharegpt", {"conversations": [{"from": "human", "value": "jane@corp.com"}], "system": "joe@corp.com", "tools": '[{"name": "t", "description": "a@corp.com"}]'}, [(0, 1), (0, 1), (None, 1)]),
    ("a pseudonym", record(user("0123456789abcdef@abcdefgh.example"), assistant()), []),
    ("nobody's", record(user("git@github.com, logo@2x.png, jane@example.com"), assistant()), []),
    ("a key", record({**user(), "jane@corp.com": 1}, assistant()), []),
)  # fmt: skip
def test_addresses_that_are_left_are_told_on_request(tmp_path, line, expected):
    write_log(tmp_path / "data.jsonl", line)
    told = [
        each
        for each in check(str(tmp_path / "data.jsonl"), Checks(addresses=True))
        if each.code == "address-not-redacted"
    ]
    assert [(each.message, int(each.text.split()[0])) for each in told] == expected
    assert "address-not-redacted" not in {each.code for each in check(str(tmp_path / "data.jsonl"))}


@pytest.mark.parametrize("anonymize", [False, True])
def test_an_address_is_left_where_convert_would_have_replaced_it(tmp_path, anonymize):
    texts = [user("jane@corp.com git@x.org"), assistant("", call(arguments='{"a": "joe@corp.com"}')), result("x@y.de")]
    write_log(tmp_path / "logs" / "a.jsonl", log_line("x", *texts, tools=[tool(description="b@c.de")]))
    options = Options(anonymize=anonymize, anonymize_key=b"k" * 16 if anonymize else None)
    summary = convert(tmp_path / "logs", tmp_path / "out", options)
    left = [
        each for each in check(str(tmp_path / "out"), Checks(addresses=True)) if each.code == "address-not-redacted"
    ]
    assert (len(left), summary.addresses) == ((0, 4) if anonymize else (4, 0))


def test_flagged_phrases_are_found(tmp_path):
    write_log(tmp_path / "data.jsonl", record(user("Context limit was reached"), assistant("Rate limit hit")))
    for looks, expected in (
        (Checks(), [0]),
        (Checks(Phrases(["RATE LIMIT", "context"])), [1, 0]),
        (Checks(Phrases([""])), []),
    ):
        told = [each for each in check(str(tmp_path / "data.jsonl"), looks) if each.code == "flagged-phrase"]
        assert [each.message for each in told] == expected


def test_a_folder_stands_for_the_datasets_in_it(tmp_path):
    write_log(tmp_path / "b.jsonl", "[]")
    write_log(tmp_path / "a.ndjson", "[]")
    write_log(tmp_path / "reports" / "findings.jsonl", "[]")
    write_log(tmp_path / "run.json", "[]")
    (tmp_path / "x.jsonl").mkdir()
    assert [each.file for each in check(str(tmp_path))] == [str(tmp_path / "a.ndjson"), str(tmp_path / "b.jsonl")]


@cases(
    "given, message",
    ("a path that is not there", "nope", "nope: cannot be read (No such file or directory)"),
    (
        "a folder without datasets",
        "empty",
        "empty: no *.parquet, and no plain or compressed *.jsonl or *.ndjson, in this folder",
    ),
)
def test_what_cannot_be_checked_is_an_error(tmp_path, monkeypatch, given, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError) as caught:
        list(check(given))
    assert str(caught.value) == message


def test_a_pipe_is_read_to_its_end(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text("[]\n"))
    writer.start()
    assert [each.code for each in check(str(tmp_path / "pipe"))] == ["bad-record"]
    writer.join()
