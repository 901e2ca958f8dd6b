"""Whole conversations from one format to another, from files, folders and pipes."""

import io
import json

import orjson
import pytest

import pipeline
from pipeline.errors import UsageError
from pipeline.run.translate import LossError, Translation, write_all
from tests.conftest import log_line, write_log

CALL = {"id": "call_a", "type": "function", "function": {"name": "ls", "arguments": '{"path":"."}'}}
TOOL = {"type": "function", "function": {"name": "ls", "description": "List", "parameters": {"type": "object"}}}
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is there?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_a", "content": "a.txt"},
    {"role": "assistant", "content": "One file."},
]
BODY = {"messages": MESSAGES, "tools": [TOOL]}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(inputs, stdin=b"", **wanted):
    out = io.BytesIO()
    done = write_all(inputs, Translation(**wanted), io.BytesIO(stdin), out)
    return done.written, done.lost, out.getvalue()


def put(path, *values):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return str(path)


def test_a_body_is_translated_through_a_pipe(here):
    count, lost, out = written(["-"], json.dumps(BODY).encode(), to="anthropic", output="-")
    body = orjson.loads(out)
    assert (count, dict(lost)) == (1, {})
    assert body["system"] == "Be brief."
    assert body["tools"][0]["input_schema"] == {"type": "object"}
    assert body["messages"][1]["content"][-1]["input"] == {"path": "."}


def test_there_and_back_is_the_same(here):
    for name in ("anthropic", "gemini", "ollama", "openai_responses"):
        _, _, there = written(["-"], json.dumps(BODY).encode(), to=name, output="-")
        _, _, back = written(["-"], there, to="openai_chat", output="-", from_format=name)
        assert [m.get("content") for m in orjson.loads(back)["messages"]] == [m["content"] for m in MESSAGES], name
        assert orjson.loads(back)["tools"] == [TOOL], name


def test_a_session_log_is_its_last_snapshot_and_the_reply(here):
    write_log(here / "a.jsonl", log_line("hi"), log_line("hi", "more", at="2026-01-13T10:00:01Z", reply="done"))
    count, _, out = written(["a.jsonl"], to="openai_chat", output="-")
    assert count == 1
    assert [m["content"] for m in orjson.loads(out)["messages"]] == ["hi", "more", "done"]


def test_every_record_of_a_dataset_is_a_conversation(here):
    path = put(here / "data.jsonl", BODY, {**BODY, "messages": MESSAGES[1:]})
    count, _, out = written([path], to="anthropic", output="-", jsonl=True)
    assert count == 2
    assert [("system" in orjson.loads(line)) for line in out.splitlines()] == [True, False]


def test_a_folder_gets_a_file_for_each_conversation(here):
    put(here / "in/a.jsonl", BODY, BODY)
    put(here / "in/b.jsonl", BODY)
    count, _, _ = written(["in"], to="gemini", output="out")
    assert count == 3
    assert sorted(path.name for path in (here / "out").iterdir()) == ["a-1.json", "a-2.json", "b.json"]
    assert "contents" in orjson.loads((here / "out/b.json").read_bytes())


def test_what_is_lost_is_counted_by_kind(here):
    thinking = {"role": "assistant", "content": "x", "reasoning_content": "hm"}
    body = {"messages": [MESSAGES[1], thinking, MESSAGES[1], thinking]}
    _, lost, _ = written(["-"], json.dumps(body).encode(), to="portable", output="-")
    assert dict(lost) == {"messages[].reasoning_content": 2}


def test_lossless_refuses_and_writes_nothing(here):
    body = {"messages": [MESSAGES[1], {"role": "assistant", "content": "x", "reasoning_content": "hm"}]}
    put(here / "in/a.json", {"messages": MESSAGES})
    put(here / "in/b.jsonl", body)
    with pytest.raises(LossError, match=r"b: portable cannot hold messages\[1\].reasoning_content; without"):
        written(["in/a.json", "in/b.jsonl"], to="portable", output="out", lossless=True)
    assert not (here / "out").exists()


def test_a_file_that_is_there_is_not_touched(here):
    put(here / "a.json", BODY)
    (here / "out").mkdir()
    (here / "out/a.json").write_text("mine")
    with pytest.raises(UsageError, match="is there already; --force replaces it"):
        written(["a.json"], to="gemini", output="out")
    assert (here / "out/a.json").read_text() == "mine"
    written(["a.json"], to="gemini", output="out", force=True)
    assert "contents" in orjson.loads((here / "out/a.json").read_bytes())


WRONG = [
    ("no such file", ["nope.json"], {}, "nope.json: cannot be read"),
    ("no JSON", ["text.json"], {}, "text.json: line 1 is no JSON"),
    ("nothing known", ["x.json"], {}, 'x.json: no known format: .*"x".*documents that are known'),
    (
        "another format than is said",
        ["x.json"],
        {"from_format": "gemini"},
        "x.json: not gemini: has no list of contents",
    ),
    ("no such format to read", ["a.json"], {"from_format": "nope"}, "a.json: nope: no known format; known are"),
    ("no such format to write", ["a.json"], {"to": "nope"}, "nope: no known format; known are"),
    ("a format that is only read", ["a.json"], {"to": "codex"}, "codex: is read only; written are"),
    ("several to print", ["a.json", "a.json"], {"output": "-"}, "2 conversations: print them with --jsonl"),
]


@pytest.mark.parametrize("sentence, inputs, wanted, expected", WRONG, ids=[row[0] for row in WRONG])
def test_wrong_input(here, sentence, inputs, wanted, expected):
    put(here / "a.json", BODY)
    put(here / "x.json", {"x": 1})
    (here / "text.json").write_text("not json\n")
    with pytest.raises(UsageError, match=expected):
        written(inputs, **{"to": "gemini", "output": "out", **wanted})
    assert not (here / "out").exists()


def test_a_name_leads_nowhere_else(here):
    line = log_line("hi", session_id="../../evil")
    write_log(here / "a.jsonl", line, {**line, "timestamp": "2026-01-13T10:00:01Z"})
    written(["a.jsonl"], to="gemini", output="out")
    assert [path.name for path in (here / "out").iterdir()] == ["_.._evil.json"]


def test_the_names_for_python(here):
    conversation = pipeline.load(BODY)
    assert pipeline.dump(conversation, "anthropic")["system"] == "Be brief."
    assert pipeline.losses(conversation, "openai_responses") == []
    exchange = {"request": BODY, "response": {"choices": [{"message": {"role": "assistant", "content": "Bye"}}]}}
    assert pipeline.load(exchange).messages[-1]["content"] == "Bye"
    with pytest.raises(UsageError, match="no known format"):
        pipeline.load({"x": 1})


def test_what_is_not_read_is_counted(here):
    write_log(here / "in/a.jsonl", log_line("hi"), b"{broken", log_line("hi", at="2026-01-13T10:00:01Z"))
    put(here / "in/config.json", {"x": 1})
    out = io.BytesIO()
    done = write_all(["in"], Translation("gemini", "-"), io.BytesIO(), out)
    assert dict(done.passed_over) == {".json in in": 1, "lines of s1 that cannot be read": 1}


def test_of_what_a_conversion_wrote_the_records_are_taken(here):
    write_log(here / "logs/a.jsonl", log_line("hi"))
    pipeline.convert("logs", "out", pipeline.Options(anonymize=False))
    count, _, printed = written(["out"], to="gemini", output="-")
    assert count == 1
    assert orjson.loads(printed)["contents"][0]["parts"] == [{"text": "hi"}]


def test_a_file_of_a_folder_that_cannot_be_read_is_counted(here):
    put(here / "in/a.jsonl", BODY)
    (here / "in/b.jsonl").write_text(json.dumps(BODY) + "\n{broken\n")
    done = write_all(["in"], Translation("gemini", "out"), io.BytesIO(), io.BytesIO())
    assert done.written == 1
    ((text, count),) = done.passed_over.items()
    assert (text.startswith("in/b.jsonl: line 2 is "), count) == (True, 1)
    (here / "in/a.jsonl").unlink()
    with pytest.raises(UsageError, match="line 2 is"):
        written(["in"], to="gemini", output="out2")


def test_no_document_takes_the_place_of_another(here):
    for name in ("a/s.json", "b/s.json", "c/s-2.json"):
        put(here / name, BODY)
    for _ in range(2):
        count, _, _ = written(["a/s.json", "b/s.json", "c/s-2.json"], to="gemini", output="out", force=True)
        assert (count, len(list((here / "out").iterdir()))) == (3, 3)


def test_how_a_document_spells_what_is_said_is_no_loss(here):
    body = {"system": "S", "messages": [{"role": "user", "content": [{"type": "text", "text": "yo"}]}], "max_tokens": 9}
    put(here / "a.json", body)
    count, lost, _ = written(["a.json"], to="ollama", output="-", lossless=True, from_format="anthropic")
    assert (count, dict(lost)) == (1, {})


def test_what_is_lost_privately_is_named(here):
    result = {"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": True}
    call = {"type": "tool_use", "id": "a", "name": "ls", "input": {}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    put(here / "a.json", {"messages": messages})
    _, lost, _ = written(["a.json"], to="openai_chat", output="-", from_format="anthropic")
    assert dict(lost) == {"messages[]._x.is_error": 1}


def test_what_is_no_conversation_is_not_written(here):
    for broken in (pipeline.Conversation([{"content": "a"}], []), pipeline.Conversation([], None)):
        for name in ("vercel_ai", "gemini"):
            with pytest.raises(UsageError):
                pipeline.dump(broken, name)
