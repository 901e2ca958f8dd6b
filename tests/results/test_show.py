"""``chatsquash show`` prints one record as a conversation."""

import json
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.records import StoredRecord, printing
from chatsquash.results.show import show
from tests.checks.rows import tool
from tests.conftest import cases, log_line, write_log

LONG = "\n".join(f"row {number} " + "x" * 200 for number in range(40))


@pytest.fixture
def out(here):
    for name in ("s1", "s2", "7"):
        write_log(here / f"logs/{name}.jsonl", log_line(f"I am {name}", tools=[tool()], session_id=name))
    convert("logs", "out", Options(anonymize=False))
    return "out"


def first_text(found):
    return found.record.messages[0]["content"]


@cases("which, text", ("1", "I am 7"), ("3", "I am s2"), ("s1", "I am s1"), ("7", "I am 7"), ("{file}:2", "I am s1"))
def test_a_record_is_named_by_number_session_or_place(out, which, text):
    (file,) = Path(out).glob("*.jsonl")
    assert first_text(show(out, which.format(file=file.name))) == text


@cases(
    "which, problem",
    ("4", "no record 4; it has 3"),
    ("0", "no record 0; it has 3"),
    ("s", r"several sessions begin with 's': 's1', 's2'; use a longer part of the id"),
    ("t", "no record 't'; pass a number, FILE:ROW or a session id"),
)
def test_what_names_no_record_is_an_error(out, which, problem):
    with pytest.raises(UsageError, match=problem):
        show(out, which)


@pytest.mark.parametrize("packing", ["jsonl", "jsonl.gz", "jsonl.zst", "parquet"])
def test_a_session_is_read_from_where_the_table_says_in_every_packing(here, packing):
    for name in ("s1", "s2"):
        write_log(here / f"logs/{name}.jsonl", log_line(f"I am {name}", tools=[tool()], session_id=name))
    convert("logs", "out", Options(anonymize=False, format=packing))
    for name in ("s1", "s2"):
        found = show("out", name)
        assert first_text(found) == f"I am {name}"
        assert found.row.file.parent == Path("out/data")


@cases(
    "change, why",
    ("no JSON", lambda line: "{", "invalid content"),
    ("no session", lambda line: {"file": None}, "invalid content"),
    ("a row that is a text", lambda line: {**line, "row": "1"}, "invalid content"),
    ("a file without a row", lambda line: {**line, "row": None}, "has no record"),
    ("an offset that is a text", lambda line: {**line, "offset": "3"}, "invalid content"),
    ("an offset within a line", lambda line: {**line, "offset": 3}, "no line begins there"),
    ("a file that is a number", lambda line: {**line, "file": 3}, "invalid content"),
    ("a file elsewhere", lambda line: {**line, "file": "../secret.jsonl"}, "cannot be read"),
)
def test_a_table_that_leads_nowhere_is_an_error(out, here, change, why):
    (here / "secret.jsonl").write_text('{"messages": []}\n')
    table = here / "out/reports/sessions.jsonl"
    line = change(json.loads(table.read_text().splitlines()[1]))
    table.write_text((line if isinstance(line, str) else json.dumps(line)) + "\n")
    with pytest.raises(UsageError, match=why):
        show(out, "s1")


def test_no_link_in_a_result_is_followed(out, here):
    (file,) = Path(out).glob("*.jsonl")
    file.rename(here / "moved.jsonl")
    file.symlink_to(here / "moved.jsonl")
    with pytest.raises(UsageError, match="symbolic links are not followed"):
        show(out, "s1")


def test_a_session_without_a_record_says_why(here):
    write_log(here / "logs/a.jsonl", log_line("Hi", session_id="long-id"))
    write_log(here / "logs/b.jsonl", log_line("Ho", session_id="other", tools=[tool()]))
    convert("logs", "out", Options(anonymize=False, drop=("no-tools",)))
    with pytest.raises(UsageError, match=r"session 'long-id' has no record \(filtered\)"):
        show("out", "long")


def lines(messages, tools=(), **options):
    held = StoredRecord(list(messages), list(tools))
    return [(line.kind, line.text) for line in printing.as_lines(held, **options)]


def test_a_conversation_shows_reasoning_texts_media_calls_and_results():
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "See"}, image]},
        {"role": "assistant", "content": "I look.", "reasoning_content": "Hm.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a\nb"},
    ]
    assert lines(messages, [tool("look")]) == [
        ("role", "[0] user"), ("text", "    See"), ("more", "    (image_url, 69 bytes)"), ("role", "[1] assistant"),
        ("reasoning", "    reasoning:"), ("reasoning", "      Hm."), ("text", "    I look."),
        ("call", "    calls look:"), ("call", '      {"at": 1}'), ("role", "[2] tool look c1"), ("result", "    a"),
        ("result", "    b"), ("role", "1 tool"), ("text", "    look"),
    ]  # fmt: skip


def test_a_call_in_the_legacy_form_is_shown_with_its_result():
    messages = [
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}},
        {"role": "function", "name": "look", "content": "a"},
    ]
    assert lines(messages) == [
        ("role", "[0] assistant"), ("call", "    calls look:"), ("call", "      {}"), ("role", "[1] function look"),
        ("result", "    a"),
    ]  # fmt: skip


def test_long_texts_are_folded_and_the_rest_is_counted():
    folded = lines([{"role": "tool", "content": LONG}])
    assert len(folded) == 1 + 3 + 1
    shown = sum(len(text) - 4 for kind, text in folded if kind == "result")
    without_feeds = sum(map(len, LONG.split("\n")))
    assert folded[-1] == ("more", f"    … {without_feeds - shown:,} characters more (--unfold)")
    whole = lines([{"role": "tool", "content": LONG}], unfold=True)
    assert "\n".join(text[4:] for _, text in whole[1:]) == LONG


def test_nothing_in_a_record_controls_the_terminal():
    hostile = "\x1b[31mred\x07 \u202egnp.exe\r"
    call = {"id": hostile, "type": "function", "function": {"name": hostile, "arguments": hostile}}
    messages = [
        {"role": hostile, "name": hostile, "content": hostile},
        {"role": "assistant", "content": hostile, "reasoning_content": hostile, "tool_calls": [call]},
    ]
    for kind, text in lines(messages, [tool(hostile)], unfold=True):
        assert text.isprintable(), (kind, text)


def test_records_with_calls_in_texts_are_shown_with_their_calls(here):
    call = '<tool_call>\n{"name": "look", "arguments": {"at": 1}}\n</tool_call>'
    row = {
        "conversations": [{"from": "human", "value": "Look"}, {"from": "gpt", "value": f"Yes.\n{call}"}],
        "tools": "[]",
    }
    Path("data.jsonl").write_text(json.dumps(row) + "\n")
    shown = list(printing.as_lines(show("data.jsonl", "1").record))
    assert shown[-2:] == [("call", "    calls look:"), ("call", '      {"at":1}')]


def test_a_beginning_of_digits_that_is_as_long_as_list_prints_it_names_a_session(here):
    write_log(here / "logs/a.jsonl", log_line("I am long", session_id="1768212345678901234"))
    convert("logs", "out", Options(anonymize=False))
    assert first_text(show("out", "1768212")) == "I am long"
    with pytest.raises(UsageError, match="no record 176821; it has 1"):
        show("out", "176821")
