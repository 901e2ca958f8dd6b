"""Documents among logs: what becomes of them in a whole run, and how they are shown."""

import gzip
import itertools
import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from msgspec import structs
from xxhash import xxh3_128

from chatsquash import Options, convert, convert_session
from chatsquash.conversion import workers
from chatsquash.formats import documents
from chatsquash.inspect.inspect import inspect
from chatsquash.reading import contents
from tests.conftest import cases, log_line, tree, write_log
from tests.outputs import findings, report
from tests.samples.table import agents

SAMPLES = Path(__file__).parents[2] / "sample_logs" / "documents"
PLAIN = Options(anonymize=False)
CALLED = {"role": "assistant", "content": None, "toolCalls": [{"id": "a", "name": "ls", "arguments": {"path": "."}}]}
ANSWERED = {"role": "user", "content": None, "toolResults": [{"id": "a", "name": "ls", "result": "x.txt"}]}


def portable(said="hi"):
    return [{"role": "user", "content": said}, CALLED, ANSWERED, {"role": "assistant", "content": f"{said}!"}]


def claude(number, role, content, **more):
    message = {"role": role, "content": content}
    return {
        "type": role,
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}",
        "sessionId": "s",
        "message": message,
        **more,
    }


CLAUDE = [claude(1, "user", "hi"), claude(2, "assistant", [{"type": "text", "text": "hello"}])]


def run(*names, **options):
    return convert(list(names) or "logs", "out", Options(**{"anonymize": False, "group_by": "none", **options}))


def put(path, value, **layout):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(value, **layout), encoding="utf-8")


def lines_in(path):
    return len(Path(path).read_bytes().splitlines())


def records():
    path = Path("out/conversations.jsonl")
    return [orjson.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def first_texts():
    return [next(m["content"] for m in record["messages"] if m["role"] != "system") for record in records()]


# The samples

NAMES = sorted(path.name for path in SAMPLES.iterdir())
TOLD = {
    "atif-river-gauge": [("system user assistant tool tool assistant", 1)],
    "claude_code-seating-csv": [("user assistant tool tool assistant tool assistant", 0)],
    "clippy-changelog": [("system user assistant tool assistant tool tool assistant tool assistant", 0)],
    "codex-tide-table": [("system user user assistant tool assistant tool assistant", 0)],
    "gemini_cli-orologio-it": [("user assistant tool assistant tool assistant", 0)],
    "goose-beehives": [("user assistant tool assistant tool assistant", 0)],
    "model_messages-knappar-sv": [("system user assistant tool tool assistant user assistant tool assistant", 0)],
    "openhands-postcard-index": [("system user assistant tool assistant tool assistant", 1)],
    "otel-katten-sv": [("system user assistant tool assistant", 1)],
    "oumi-bakery-training": [("system user assistant tool assistant", 1), ("user assistant", 0)],
    "oumi_history-choir": [("system user assistant user user assistant", 0), ("system user assistant user assistant", 0)],
    "portable-veerboot-nl": [("system user assistant tool tool assistant user assistant tool assistant", 0)],
    "pydantic_ai-seed-bank": [("system user assistant tool assistant tool assistant", 0)],
    "vercel_ai-orquideas-pt": [("system user assistant tool tool assistant user assistant", 0)],
}  # fmt: skip
"""The roles of the messages and the number of tools of each conversation."""


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_converts_to_what_it_tells(here, name):
    convert(SAMPLES / name, "out", Options(anonymize=False, group_by="none"))
    told = [(" ".join(m["role"] for m in record["messages"]), len(record["tools"])) for record in records()]
    assert told == TOLD[name.partition(".")[0]]


@pytest.mark.parametrize("name", NAMES)
def test_no_private_member_reaches_a_record(here, name):
    convert(SAMPLES / name, "out", Options(anonymize=False, group_by="none"))
    assert b'"_x"' not in Path("out/conversations.jsonl").read_bytes()
    allowed = {"role", "content", "tool_calls", "tool_call_id", "name", "reasoning_content", "refusal"}
    for record in records():
        assert set(record) == {"messages", "tools"}
        assert {key for message in record["messages"] for key in message} <= allowed


@pytest.mark.parametrize("name", NAMES)
def test_what_a_document_need_not_have_is_not_asked_for(here, name):
    convert(SAMPLES / name, "out", Options(anonymize=False, group_by="none"))
    assert findings("missing-reply", "unknown-format", "session-id-mismatch") == []
    assert findings("missing-timestamp", "equal-timestamps", "timestamp-order", "missing-session-id") == []


def test_no_reply_is_asked_for_where_the_user_spoke_last(here):
    put("logs/a.json", [*portable(), {"role": "user", "content": "and?"}])
    summary = run()
    assert summary.written == 1
    assert findings("missing-reply") == []
    assert records()[0]["messages"][-1] == {"role": "user", "content": "and?"}


@pytest.mark.parametrize("name", NAMES)
def test_calls_and_results_of_the_samples_belong_together(here, name):
    convert(SAMPLES / name, "out", Options(anonymize=False, group_by="none"))
    for record in records():
        asked = [call["id"] for message in record["messages"] for call in message.get("tool_calls", [])]
        given = [message["tool_call_id"] for message in record["messages"] if message["role"] == "tool"]
        assert sorted(asked) == sorted(given)
        assert len(set(asked)) == len(asked)


def test_documents_stand_with_those_of_their_day_if_they_tell_it(here):
    convert(SAMPLES, "out", PLAIN)
    assert sorted(path.name for path in Path("out").glob("*.jsonl")) == ["2026-01-16.jsonl", "undated.jsonl"]


# Counts


def test_several_conversations_are_several_sessions_in_their_order(here):
    write_log(here / "logs/b.jsonl", *map(json.dumps, [portable("b1"), portable("b2"), portable("b3")]))
    put("logs/a.json", portable("a"))
    write_log(here / "logs/c.jsonl", log_line("c"))
    summary = run()
    assert first_texts() == ["a", "b1", "b2", "b3", "c"]
    assert (summary.sessions, summary.written, summary.lines) == (5, 5, 5)
    assert summary.account.selected == 5
    assert sum(summary.account) == summary.lines


@pytest.mark.parametrize("sessions_by", [None, "id"])
def test_by_id_each_conversation_is_a_session_as_well(here, sessions_by):
    write_log(here / "logs/b.jsonl", *map(json.dumps, [portable("b1"), portable("b2")]))
    put("logs/a.json", portable("a"), indent=2)
    summary = run(sessions_by=sessions_by)
    assert first_texts() == ["a", "b1", "b2"]
    count = 2 + lines_in("logs/a.json")
    assert (summary.sessions, sum(summary.account), summary.lines) == (3, count, count)


@pytest.mark.parametrize("indent", [None, 4])
def test_the_lines_of_a_document_are_those_of_its_file_whatever_its_layout(here, indent):
    put("logs/a.json", portable(), indent=indent)
    summary = run()
    count = lines_in("logs/a.json")
    assert (count > 1) == bool(indent)
    assert (summary.sessions, summary.written, summary.lines, summary.account.selected) == (1, 1, count, count)


@cases(
    "name, values, expected",
    ("lines of an agent", "a.jsonl", [*CLAUDE, *CLAUDE[:1]], 3),
    ("conversations, one on each line", "a.jsonl", [portable("a"), portable("b")], 2),
)
def test_lines_seen_are_those_of_the_files(here, name, values, expected):
    write_log(here / "logs" / name, *map(json.dumps, values))
    summary = run()
    assert (summary.lines, sum(summary.account)) == (expected, expected)


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("sessions_by", [None, "file"])
def test_the_lines_of_an_array_count_with_its_first_conversation(here, indent, sessions_by):
    value = orjson.loads((SAMPLES.parent / "chatgpt/conversations.json").read_bytes())
    put("logs/a.json", value, indent=indent)
    summary = run(sessions_by=sessions_by)
    assert (summary.sessions > 1) == (sessions_by is None)
    assert summary.lines == sum(summary.account) == lines_in("logs/a.json")
    assert summary.bytes == Path("logs/a.json").stat().st_size


# What is wrong


@cases(
    "values, expected",
    (
        "a document that is broken",
        [{"schema_version": "ATIF-v1.6", "steps": [{"source": "user", "message": "hi"}, {"source": "me"}]}],
        r"atif: entry 1, steps\[1\]: unknown source \"me\"; expected one of system, user, agent",
    ),
    (
        "a document without what makes it one",
        [{"format": "oumi_conversation_history", "schema_version": "1.0.0", "branches": 3}],
        r"oumi_history: .*branches is a number, expected an object",
    ),
    (
        "one that is broken behind its beginning",
        [portable(), [*portable(), {"role": "user", "content": 3}]],
        r"portable: conversation 2: \[4\]: content is a number, expected a string",
    ),
    ("more than one format matches", [*CLAUDE, claude(3, "user", "more"), {"$set": {"summary": "x"}}], r"more than one format matches: claude_code \(.*\) and gemini_cli \(.*\)"),
)  # fmt: skip
@pytest.mark.parametrize("suffix", ["json", "jsonl"])
@pytest.mark.parametrize("sessions_by", [None, "file"])
def test_a_broken_document_is_left_out_and_the_finding_says_where(here, values, expected, suffix, sessions_by):
    write_log(here / f"logs/a.{suffix}", *values)
    write_log(here / "logs/b.jsonl", log_line("b"))
    summary = run(sessions_by=sessions_by)
    (found,) = findings("unknown-format")
    assert re.search(expected, found["text"])
    assert found["file"].endswith(f"logs/a.{suffix}")
    assert dict(summary.left_out) == {"unknown-format": 1}
    assert (summary.sessions, summary.written) == (2, 1)
    assert sum(summary.account) == summary.lines
    assert first_texts() == ["b"]


def test_broken_lines_are_rejected_lines(here):
    write_log(here / "logs/a.jsonl", CLAUDE[0], b"{oops", CLAUDE[1], b'{"cut')
    summary = run()
    assert (summary.written, summary.account.selected, summary.account.unreadable) == (1, 2, 2)
    assert sum(summary.account) == summary.lines == 4
    assert [(each["line"], each["code"]) for each in report("rejected.jsonl")] == [(2, "bad-line"), (4, "bad-line")]
    assert [m["content"] for m in records()[0]["messages"]] == ["hi", "hello"]


def test_broken_lines_count_once_where_a_document_is_several_sessions(here):
    write_log(here / "logs/a.jsonl", json.dumps(portable("a")), b"{oops", json.dumps(portable("b")))
    summary = run()
    assert first_texts() == ["a", "b"]
    assert (summary.lines, summary.account.unreadable, sum(summary.account)) == (3, 1, 3)
    assert len(report("rejected.jsonl")) == 1


def test_nobody_answers_in_a_document_without_a_conversation(here):
    write_log(here / "logs/a.jsonl", {"timestamp": "t", "type": "session_meta", "payload": {"id": "s"}})
    summary = run()
    assert dict(summary.left_out) == {"unanswered-session": 1}
    assert summary.complete, "nothing is missing"
    assert sum(summary.account) == summary.lines == 1


# JSON files that are none of ours

OTHERS = {
    "package.json": {"name": "x", "scripts": {"test": "true"}},
    "messages.json": {"messages": {"hello": "Hallo"}},
    "list.json": [1, 2, 3],
    "null.json": None,
    "text.json": "hi",
    "nothing.json": [],
    "no-turns.json": {"messages": [], "tools": []},
    "no-contents.json": {"contents": []},
    "counts.json": {"input_tokens": 3},
}

SAID = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
ASKED = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "generationConfig": {"temperature": 0}}
EXCHANGE = {
    "timestamp": 1,
    "session_id": "s",
    "request": {"model": "m", "messages": SAID[:1]},
    "response": {"choices": [{"index": 0, "message": SAID[1]}]},
}
SINGLE = {
    "a list of messages": (SAID, SAID),
    "a record": ({"messages": SAID, "tools": []}, SAID),
    "a body of Gemini's": (ASKED, SAID[:1]),
    "an exchange": (EXCHANGE, SAID),
    "a pair of HTTP": ({"request": {"headers": {}, "body": ASKED}, "response": {"status": 200}}, SAID[:1]),
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("sentence", SINGLE)
def test_one_body_or_exchange_alone_is_a_session(here, sentence, indent):
    value, expected = SINGLE[sentence]
    put("logs/a.json", value, indent=indent)
    summary = run()
    assert (summary.sessions, summary.written, summary.lines) == (1, 1, lines_in("logs/a.json"))
    assert records()[0]["messages"] == expected
    shown = inspect(["logs/a.json"], PLAIN)
    assert any("openai_chat" in line or "gemini" in line for line in shown)


def test_what_the_user_says_of_a_body_is_not_doubted(here):
    put("logs/a.json", {"messages": [{"role": "user", "content": "hi"}]}, indent=1)
    assert run(from_format="anthropic").written == 1
    assert records()[0]["messages"] == SAID[:1]


def test_a_body_tells_what_of_it_is_left_out(here):
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    put("logs/a.json", {"system": "S", "max_tokens": 9, "tools": tools, "messages": SAID[:1]})
    put("logs/b.json", {"previous_response_id": "r", "input": [{"role": "user", "content": "and?"}]})
    assert run().written == 2
    assert [each["code"] for each in findings("hosted-tools", "missing-history")] == ["hosted-tools", "missing-history"]


def test_a_body_that_is_broken_says_where(here):
    put("logs/a.json", {"contents": [{"role": "user", "parts": [{"text": "hi"}]}, 5]})
    assert dict(run().left_out) == {"unknown-format": 1}
    (found,) = findings("unknown-format")
    assert "gemini: contents[1]: not an object" in found["text"]


def test_a_line_of_a_dataset_is_no_session(here):
    put("logs/a.jsonl", {"messages": SAID, "tools": []})
    assert dict(run().left_out) == {"unknown-format": 1}
    assert "a dataset of messages" in findings("unknown-format")[0]["text"]


# Several conversations as one session


def test_the_conversations_that_one_session_leaves_out_are_counted(here):
    write_log(here / "logs/b.jsonl", *map(json.dumps, [portable("b1"), portable("b2"), portable("b3")]))
    put("logs/a.json", portable("a"))
    assert run(sessions_by="file").written == 2
    assert first_texts() == ["a", "b1"]
    (found,) = findings("other-conversations")
    assert "3 conversations; only the first is converted" in found["text"]
    (alone,) = convert_session("logs/b.jsonl", replace(PLAIN, sessions_by="file"))
    assert [each.code for each in alone.findings][:1] == ["other-conversations"]
    run()
    assert findings("other-conversations") == []


def test_json_files_that_are_not_known_are_counted_and_no_error(here):
    for name, value in OTHERS.items():
        put(f"logs/{name}", value)
    Path("logs/no.json").write_bytes(b"\xff{ // no JSON\n")
    Path("logs/empty.json").touch()
    write_log(here / "logs/a.jsonl", log_line("hi"))
    summary = run()
    assert dict(summary.others) == {".json": len(OTHERS) + 2}
    assert (summary.sessions, summary.written, dict(summary.left_out)) == (1, 1, {})
    assert [each for each in findings() if each["severity"] == "error"] == []


def test_a_huge_json_file_is_counted_and_never_read(here):
    write_log(here / "logs/a.jsonl", log_line("hi"))
    with open("logs/huge.json", "wb") as file:
        file.write(b'{"rows": [')
        file.truncate((256 << 20) + 1)
    summary = run()
    assert (summary.written, dict(summary.others)) == (1, {".json": 1})


def test_a_json_file_that_is_named_and_not_known_is_left_out(here):
    put("package.json", OTHERS["package.json"])
    summary = run("package.json")
    assert dict(summary.left_out) == {"unknown-format": 1}


# --from


def test_a_format_may_be_said_of_a_document_that_shows_none(here):
    put("chat.json", [{"role": "assistant", "content": "hi"}])
    summary = run("chat.json", from_format="portable")
    assert (summary.written, first_texts()) == (1, ["hi"])


@pytest.mark.parametrize("name", documents.names())
def test_every_document_format_may_be_said(here, name):
    paths = [path for each, path in agents() if each == name]
    assert run(*map(str, paths), from_format=name).left_out == {}
    if all(path.stem in TOLD for path in paths):
        assert len(records()) == sum(len(TOLD[path.stem]) for path in paths)
    assert len(records()) >= len(paths)


def test_a_document_of_another_format_than_is_said_is_left_out(here):
    put("a.json", portable())
    summary = run("a.json", from_format="atif")
    (found,) = findings("unknown-format")
    assert "atif: " in found["text"]
    assert dict(summary.left_out) == {"unknown-format": 1}


# Other ways to a record


def test_python_converts_a_document_as_one_session(here):
    put("a.json", portable(), indent=1)
    (outcome,) = convert_session("a.json", PLAIN)
    assert [m["role"] for m in orjson.loads(outcome.record)["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert outcome.account.lines == sum(outcome.account.counts) == lines_in("a.json")
    (by_line,) = convert_session(Path("a.json").read_bytes().split(b"\n"), PLAIN)
    assert by_line.record == outcome.record


@pytest.mark.parametrize("turns", [1, 2000])
def test_the_digest_is_that_of_the_whole_file(here, turns):
    put("a.json", portable("x" * 1000) * turns, indent=1)
    assert convert_session("a.json", PLAIN)[0].account.digest == xxh3_128(Path("a.json").read_bytes()).hexdigest()


def test_addresses_in_documents_are_replaced(here):
    put("logs/a.json", portable("write to ida@berg.se"))
    run(anonymize=True)
    assert "ida@berg" not in Path("out/conversations.jsonl").read_text()


def test_reasoning_in_documents_follows_the_option(here):
    for choice, held in (("keep", True), ("drop", False)):
        convert(SAMPLES / "atif-river-gauge.json", f"out-{choice}", Options(anonymize=False, reasoning=choice))
        assert ("reasoning_content" in Path(f"out-{choice}/2026-01-16.jsonl").read_text()) is held


# Inspect


def shown(*names, **options):
    return list(inspect(names, Options(anonymize=False, **options)))


def test_inspect_shows_each_conversation_with_its_format(here):
    write_log(here / "logs/a.jsonl", *map(json.dumps, [portable("a"), portable("b")]))
    sessions = [list(group) for filled, group in itertools.groupby(shown("logs"), key=bool) if filled]
    assert len(sessions) == 2
    for lines in sessions:
        assert lines[0] == "logs/a.jsonl: session a"
        assert lines[1] == "format: portable (an array with toolCalls or toolResults)"
        assert lines[2] == "envelope: document"
        assert any(line.startswith("record: ") for line in lines)


def test_inspect_says_what_is_wrong(here):
    put("logs/a.json", {"schema_version": "ATIF-v1.6", "steps": 3})
    lines = shown("logs")
    assert "skipped: unknown-format" in lines
    assert any("entry 1: steps is a number, expected a list" in line for line in lines)


def test_inspect_shows_lines_that_are_rejected(here):
    write_log(here / "logs/a.jsonl", *CLAUDE, b"{oops")
    assert any(re.match(r"\s*3 .*bad-line", line) for line in shown("logs"))


@pytest.mark.parametrize("name", NAMES)
def test_inspect_shows_every_sample(name):
    lines = shown(str(SAMPLES / name))
    assert sum(line.startswith("record: ") for line in lines) == len(TOLD[name.partition(".")[0]])


# Databases


def goose_database(path, *sessions):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE sessions (id TEXT, working_dir TEXT, created_at TIMESTAMP)")
        made.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT)")
        for number, said in enumerate(sessions):
            made.execute("INSERT INTO sessions VALUES (?, '/w', ?)", (f"s{number}", number))
            content = json.dumps([{"type": "text", "text": said}])
            values = (f"s{number}", content)
            made.execute("INSERT INTO messages (session_id, role, content_json) VALUES (?, 'assistant', ?)", values)
        made.commit()


def test_each_session_of_a_database_of_goose_is_a_session(here):
    goose_database("logs/sessions.db", "one", "two")
    with closing(sqlite3.connect("logs/other.db")) as other:
        other.execute("CREATE TABLE rows (id TEXT)")
        other.commit()
    Path("logs/no.db").write_bytes(b"text")
    write_log(here / "logs/a.jsonl", log_line("hi"))
    before = tree(Path("logs"))
    summary = run()
    assert first_texts() == ["hi", "one", "two"]
    assert dict(summary.others) == {".db": 2}
    assert sum(summary.account) == summary.lines == 3
    assert any("goose" in line for line in inspect(["logs/sessions.db"], PLAIN))
    assert tree(Path("logs")) == before, "nothing is written beside it"


def test_a_database_is_read_with_the_changes_that_only_its_log_has(here):
    goose_database("logs/sessions.db", "one")
    with closing(sqlite3.connect("logs/sessions.db")) as opened:
        opened.execute("PRAGMA journal_mode = WAL")
        opened.execute("INSERT INTO sessions VALUES ('new', '/w', 9)")
        opened.execute("UPDATE messages SET session_id = 'new'")
        opened.commit()
        before = {path.name: path.read_bytes() for path in Path("logs").iterdir()}
        assert (run().written, dict(run().left_out)) == (1, {"unanswered-session": 1})
        assert {path.name: path.read_bytes() for path in Path("logs").iterdir()} == before


@pytest.mark.parametrize("sessions_by", [None, "file", "id"])
def test_an_exchange_on_several_lines_is_a_session_whatever_wrote_it(here, sessions_by):
    lines = (SAMPLES.parent / "litellm" / "proxy.jsonl").read_bytes().splitlines()
    put("logs/a.json", orjson.loads(lines[0]), indent=2)
    summary = run(sessions_by=sessions_by)
    assert (summary.sessions, summary.written, summary.lines) == (1, 1, lines_in("logs/a.json"))
    write_log(here / "plain/a.jsonl", lines[0])
    expected = convert_session("plain/a.jsonl", PLAIN)[0].record
    assert Path("out/conversations.jsonl").read_bytes() == expected + b"\n"


def test_an_exchange_on_several_lines_that_is_broken_is_rejected_in_its_place(here):
    put(
        "logs/a.json",
        {"timestamp": 1, "session_id": "s", "request": {"messages": 3}, "response": {"done": True}},
        indent=2,
    )
    summary = run(keep_rejected=True)
    assert (summary.written, summary.account.unreadable) == (0, 1)
    assert summary.lines == sum(summary.account) == lines_in("logs/a.json")
    size = Path("logs/a.json").stat().st_size
    assert [(each["line"], each["offset"], each["length"]) for each in report("rejected.jsonl")] == [(1, 0, size)]


# How often a document is parsed


def said(number):
    return [{"role": "user", "content": f"question {number}"}, {"role": "assistant", "content": f"answer {number}"}]


def oumi(path, count):
    lines = ({"conversation_id": f"c{n}", "messages": said(n), "metadata": {}} for n in range(count))
    write_log(Path(path), *lines)


def traced(path, count):
    spans = []
    for n in range(count):
        told = [{"role": each["role"], "parts": [{"type": "text", "content": each["content"]}]} for each in said(n)]
        held = {"gen_ai.input.messages": told[:1], "gen_ai.output.messages": told[1:]}
        spans.append({"name": "chat", "spanId": f"{n:016x}", "attributes": held})
    put(path, {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})


def branched(path, count):
    branches = {
        f"b{n}": {"id": f"b{n}", "conversation_history": said(0) + said(n), "branch_point_index": 2}
        for n in range(count)
    }
    held = {"format": "oumi_conversation_history", "schema_version": "1.0.0", "branches": branches}
    put(path, held)


MANY = {
    "oumi": ("a.jsonl", oumi),
    "otel": ("a.json", traced),
    "oumi_history": ("a.json", branched),
    "goose": ("a.db", lambda path, count: goose_database(path, *(f"question {n}" for n in range(count)))),
}


@pytest.fixture
def parses(monkeypatch):
    """Counts how often the conversations of a document are made of its bytes, and how often its bytes are parsed."""
    counts = {"conversations": 0, "parsed": 0}
    named, counting = documents.get_format, {}
    for name in MANY:
        real = named(name).conversations

        def counted(objects, real=real):
            counts["conversations"] += 1
            return real(objects)

        counting[name] = structs.replace(named(name), conversations=counted)
    monkeypatch.setattr(documents, "get_format", lambda name: counting.get(name) or named(name))
    parsed = contents.parse

    def counted_too(*given):
        counts["parsed"] += 1
        return parsed(*given)

    monkeypatch.setattr(contents, "parse", counted_too)
    return counts


@pytest.mark.parametrize("sessions_by", [None, "id"])
@pytest.mark.parametrize("name", MANY)
def test_a_document_is_parsed_once_for_all_of_its_conversations(here, parses, name, sessions_by):
    file, make = MANY[name]
    make(f"logs/{file}", 20)
    assert run(sessions_by=sessions_by).written == 20
    each = 20 if name == "goose" else 1  # a database is read session by session
    assert parses["conversations"] == each
    assert parses["parsed"] <= 2, "once to tell what it is, once to convert it"
    parses.update(conversations=0, parsed=0)
    shown = list(inspect(["logs"], Options(anonymize=False, sessions_by=sessions_by)))
    assert sum(": session " in line for line in shown) == 20
    assert parses["conversations"] == each
    assert parses["parsed"] <= 2


@pytest.mark.parametrize("limit", [7, pytest.param(None, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", MANY)
def test_workers_journals_and_limits_give_the_same_of_a_document_with_many_conversations(
    here, name, limit, monkeypatch
):
    file, make = MANY[name]
    make(f"logs/{file}", 20)
    write_log(here / "logs/b.jsonl", log_line("b"))
    first = run(limit=limit)
    assert first.written == (limit or 21)
    expected = tree(Path("out"))
    inputs = json.loads(expected.pop("run.json"))["inputs"]
    digest = xxh3_128(Path("logs", file).read_bytes()).hexdigest()
    assert {each["xxh3_128"] for each in inputs if each["path"].endswith(file)} == {digest}
    monkeypatch.setattr(workers, "_WORTH_A_PROCESS", 1)
    for count in (1, 2):
        again = run(limit=limit, workers=count, full=True)
        found = tree(Path("out"))
        assert json.loads(found.pop("run.json"))["inputs"] == inputs
        assert (found, again.written) == (expected, first.written)
    write_log(here / "logs/c.jsonl", log_line("c"))
    assert run(limit=limit).reused >= min(limit or 21, 20)


def test_a_document_that_changes_between_two_runs_is_read_anew(here):
    for text in ("one", "two"):
        put("logs/a.json", portable(text))
        run()
        assert first_texts() == [text]


def test_a_compressed_document_that_is_cut_says_so_with_each_of_its_conversations(here):
    oumi(here / "a.jsonl", 3)
    data = gzip.compress((here / "a.jsonl").read_bytes())
    (here / "logs").mkdir()
    (here / "logs/a.jsonl.gz").write_bytes(data[:-4])
    assert run().written == 3
    assert len(findings("cut-short")) == 3


def test_a_conversation_that_a_file_has_twice_has_one_record_and_a_finding(tmp_path):
    """Two session lines of the Hub's trace format, with equal messages."""
    trace = next((Path(__file__).parents[1] / "golden" / "sts").rglob("s.jsonl")).read_text("utf-8")
    (tmp_path / "s.jsonl").write_text(trace * 2, "utf-8")
    summary = convert(tmp_path / "s.jsonl", tmp_path / "out")
    assert (summary.written, summary.filtered) == (1, {"copy": 1})
    lines = (tmp_path / "out/reports/findings.jsonl").read_text("utf-8").splitlines()
    assert "repeated-conversation" in {json.loads(line)["code"] for line in lines}
