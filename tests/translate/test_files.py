"""Whole conversations from one format to another, from files, folders and pipes."""

import io
import json

import orjson
import pytest

import chatsquash
from chatsquash.core.errors import UsageError
from chatsquash.translate.files import LossError, Translation, write_all
from tests.conftest import cases, log_line, write_log

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


def written(inputs, stdin=b"", **wanted):
    out = io.BytesIO()
    done = write_all(inputs, Translation(**wanted), io.BytesIO(stdin), out)
    return done.written, done.unsupported, out.getvalue()


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


def line(name: str | None, text: str, second: int = 0) -> dict:
    """A line with a session id, or without one."""
    made = log_line(text, reply=f"{text}!", at=f"2026-01-13T10:00:{second:02}Z", session_id=name or "none")
    return made if name else {key: value for key, value in made.items() if key != "session_id"}


@cases(
    "names, texts",
    ("each line has its own id", [f"s{number}" for number in range(17)], [f"{number}" for number in range(17)]),
    ("one line has another id", ["a", "a", "b", "a"], ["3", "2"]),
    ("two sessions with two lines", ["a", "b", "a", "b"], ["2", "3"]),
    ("a line has no id", ["a", None, "b"], ["0", "1", "2"]),
    ("unrelated lines without ids", [None] * 5, ["0", "1", "2", "3", "4"]),
    ("one id", ["a"] * 3, ["2"]),
)
def test_each_session_of_a_log_is_written(here, names, texts):
    """Also if ``convert`` rejects the file: its options can divide it, and no option of ``translate`` does."""
    write_log(here / "a.jsonl", *(line(name, f"{number}", number) for number, name in enumerate(names)))
    write_all(["a.jsonl"], Translation(to="openai_chat", output="out"), io.BytesIO(), io.BytesIO())
    bodies = [orjson.loads(path.read_bytes())["messages"] for path in sorted((here / "out").iterdir())]
    assert sorted([each["content"] for each in body] for body in bodies) == sorted([text, f"{text}!"] for text in texts)


def test_sessions_without_a_readable_line_are_reported_and_the_others_are_written(here):
    empty = {"session_id": "c", "timestamp": "2026-01-13T10:00:02Z", "request": {"messages": 7}}
    write_log(here / "a.jsonl", line("a", "0"), line("b", "1", 1), empty)
    done = write_all(["a.jsonl"], Translation(to="openai_chat", output="out"), io.BytesIO(), io.BytesIO())
    assert sorted(path.name for path in (here / "out").iterdir()) == ["a.json", "b.json"]
    assert done.ignored == {"lines that cannot be read": 1, "sessions without a usable entry": 1}
    assert [place.partition(": ")[0] for place in done.bad_lines] == ["a.jsonl:3"]


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


def test_a_name_leads_nowhere_else(here):
    line = log_line("hi", session_id="../../evil")
    write_log(here / "a.jsonl", line, {**line, "timestamp": "2026-01-13T10:00:01Z"})
    written(["a.jsonl"], to="gemini", output="out")
    assert [path.name for path in (here / "out").iterdir()] == ["_.._evil.json"]


def test_what_is_not_read_is_counted(here):
    write_log(here / "in/a.jsonl", log_line("hi"), b"{broken", log_line("hi", at="2026-01-13T10:00:01Z"))
    put(here / "in/config.json", {"x": 1})
    out = io.BytesIO()
    done = write_all(["in"], Translation("gemini", "-"), io.BytesIO(), out)
    assert dict(done.ignored) == {".json in in": 1, "lines that cannot be read": 1}


def test_of_what_a_conversion_wrote_the_records_are_taken(here):
    write_log(here / "logs/a.jsonl", log_line("hi"))
    chatsquash.convert("logs", "out", chatsquash.Options(anonymize=False))
    count, _, printed = written(["out"], to="gemini", output="-")
    assert count == 1
    assert orjson.loads(printed)["contents"][0]["parts"] == [{"text": "hi"}]


def test_a_file_of_a_folder_that_cannot_be_read_is_counted(here):
    put(here / "in/a.jsonl", BODY)
    (here / "in/b.jsonl").write_text("[7]\n{broken\n")
    done = write_all(["in"], Translation("gemini", "out"), io.BytesIO(), io.BytesIO())
    assert (done.written, done.complete) == (1, False)
    ((text, count),) = done.ignored.items()
    assert (text.startswith("in/b.jsonl: line 2 is "), count) == (True, 1)
    (here / "in/a.jsonl").unlink()
    with pytest.raises(UsageError, match="line 2 is"):
        written(["in"], to="gemini", output="out2")


NAN = json.dumps(log_line("hi nan")).replace("{", '{"latency": NaN, ', 1)
LATIN = json.dumps(log_line("hi latin")).replace("{", '{"agent": "caf\xe9", ', 1).encode("latin-1")
HUGE = json.dumps(log_line("hi huge")).replace("{", '{"latency": 1e999, ', 1)
SAID = "What is there?"
GOOD = json.dumps(BODY)


@pytest.mark.parametrize("given", ["x.jsonl", "in", "-"])
@cases("text, said, bad",
    ("NaN in a member of a log that nobody reads", NAN, ["hi nan"], []),
    ("bytes that are no UTF-8 in one", LATIN, ["hi latin"], []),
    ("a number that is too large in one", HUGE, ["hi huge"], []),
    ("a line of a log that is cut", json.dumps(log_line("hi")) + "\n{cut", ["hi"], ["2: "]),
    ("a line of a log that is no UTF-8", json.dumps(log_line("hi")).encode() + b"\n\xff", ["hi"], ["2: "]),
    ("NaN in a record", f'{GOOD}\n{GOOD[:-1]}, "x": NaN}}\n{GOOD}', [SAID, SAID], ["2: not valid JSON: NaN"]),
    ("a record that is cut", f"{GOOD[:-9]}\n{GOOD}", [SAID], ["1: not valid JSON: "]),
    ("bytes of a record that are no UTF-8", GOOD.encode() + b'\n{"a": "caf\xe9"}', [SAID], ["2: not valid JSON: it is not valid UTF-8"]),
    ("several", f"{{\n{GOOD}\n{{\n", [SAID], ["1: not valid JSON: ", "3: not valid JSON: "]),
    ("a line that is no conversation", f'{GOOD}\n\n{{"x": 1}}\n{GOOD}', [SAID, SAID], ["3: not openai_chat: no list of messages"]),
    ("one before all others", f'{{"x": 1}}\n{GOOD}', [SAID], ["1: not openai_chat: "]),
    ("one among lines that are no JSON", f"{GOOD}\n{{\n[1]\n{GOOD}", [SAID, SAID], ["2: not valid JSON: ", "3: not openai_chat: "]),
)  # fmt: skip
def test_a_bad_line_costs_that_line(here, given, text, said, bad):
    data = text if isinstance(text, bytes) else text.encode()
    file = here / ("in/x.jsonl" if given == "in" else "x.jsonl")
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)
    put(here / "good.json", BODY)
    out = io.BytesIO()
    done = write_all([given, "good.json"], Translation("openai_chat", "-", jsonl=True), io.BytesIO(data), out)
    users = [next(m["content"] for m in orjson.loads(line)["messages"] if m["role"] == "user") for line in out.getvalue().splitlines()]  # fmt: skip
    assert users == [*said, SAID]
    shown = {"x.jsonl": "x.jsonl", "in": "in/x.jsonl", "-": "stdin"}[given]
    assert len(done.bad_lines) == len(bad)
    assert all(line.startswith(f"{shown}:{expected}") for line, expected in zip(done.bad_lines, bad, strict=True))
    codes = ["[bad-entry]" if "not openai_chat" in expected else "[bad-line]" for expected in bad]
    assert all(line.endswith(code) for line, code in zip(done.bad_lines, codes, strict=True))
    assert done.ignored["lines that cannot be read"] == len(bad)
    assert done.complete is not bool(bad)
    if bad:
        with pytest.raises(LossError, match="lines that cannot be read; remove --lossless to write the rest"):
            written([given, "good.json"], data, to="openai_chat", output="strict", lossless=True)
        assert not (here / "strict").exists()


@cases(
    "text, said",
    ("a log", json.dumps(log_line("hi")).replace('"messages"', '"messages": NaN, "m"'), "the log has no usable entry"),
    ("lines", "{cut\n{cut", "line 1 is not JSON"),
    ("a value on several lines that is cut", json.dumps(BODY, indent=1)[:-9], "line 1 is not JSON"),
    (
        "a list of messages on several lines that is cut",
        '[\n{"role": "user", "content": "hi"}\n,',
        "line 1 is not JSON",
    ),
)
def test_a_file_of_bad_lines_alone_costs_that_file(here, text, said):
    (here / "x.jsonl").write_text(text)
    put(here / "good.json", BODY)
    done = write_all(["x.jsonl", "good.json"], Translation("openai_chat", "out"), io.BytesIO(), io.BytesIO())
    assert (done.written, done.complete) == (1, False)
    assert [what.startswith(f"x.jsonl: {said}") for what in done.ignored] == [True]
    with pytest.raises(UsageError, match=f"x.jsonl: {said}"):
        written(["x.jsonl"], to="openai_chat", output="out2")
    with pytest.raises(LossError, match=f"x.jsonl: {said}"):
        written(["x.jsonl", "good.json"], to="openai_chat", output="out2", lossless=True)
    assert not (here / "out2").exists()


def test_no_document_takes_the_place_of_another(here):
    names = [put(here / name, BODY) for name in ("a/s.json", "b/s.json", "c/s-2.json", "d/S.json")]
    for _ in range(2):
        count, _, _ = written(names, to="gemini", output="out", force=True)
        assert count == 4
        assert sorted(path.name for path in (here / "out").iterdir()) == [
            "S-3.json",
            "s-2-2.json",
            "s-2.json",
            "s.json",
        ]


def test_how_a_document_spells_what_is_said_is_no_loss(here):
    body = {"system": "S", "messages": [{"role": "user", "content": [{"type": "text", "text": "yo"}]}], "max_tokens": 9}
    put(here / "a.json", body)
    count, lost, _ = written(["a.json"], to="ollama", output="-", lossless=True, from_format="anthropic")
    assert (count, dict(lost)) == (1, {})


def test_what_only_we_read_again_is_told_apart_and_is_a_loss(here):
    result = {"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": True}
    call = {"type": "tool_use", "id": "a", "name": "ls", "input": {}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    put(here / "a.json", {"messages": messages})
    wanted = {"to": "openai_chat", "output": "-", "from_format": "anthropic"}
    done = write_all(["a.json"], Translation(**wanted), io.BytesIO(), io.BytesIO())
    assert dict(done.unsupported) == {}
    assert dict(done.kept_for_chatsquash) == {"turns[].blocks[].outcome": 1, "turns[].blocks[].content[].text": 1}
    with pytest.raises(LossError, match=r"openai_chat does not support turns\[2\].blocks\[0\].outcome"):
        written(["a.json"], lossless=True, **wanted)


def test_what_is_no_conversation_is_not_written(here):
    for broken in (chatsquash.Conversation([{"content": "a"}], []), chatsquash.Conversation([], None)):
        for name in ("vercel_ai", "gemini"):
            with pytest.raises(UsageError):
                chatsquash.dump(broken, name)


# What is not read

SEARCH = {"type": "web_search_20250305", "name": "web_search"}
TWO = {"choices": [{"index": n, "message": {"role": "assistant", "content": "x"}} for n in range(3)]}
HELLO = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize("indent", [None, 2])
@cases("value, left_out, options",
    ("a tool that the service runs", {"system": "S", "max_tokens": 9, "tools": [SEARCH], "messages": HELLO}, {"tools that the service runs": 1}, ["max_tokens"]),
    ("turns that are kept elsewhere", {"previous_response_id": "r", "input": HELLO}, {"turns stored elsewhere (previous_response_id)": 1}, []),
    ("choices after the first", {"request": {"model": "m", "messages": HELLO}, "response": TWO}, {"choices after the first": 2}, ["model"]),
    ("nothing", {"messages": HELLO, "tools": [TOOL]}, {}, []),
    ("options alone", {"messages": HELLO, "model": "m", "temperature": None, "top_p": 1}, {}, ["model", "top_p"]),
)  # fmt: skip
def test_what_of_a_request_is_not_read_is_counted_and_no_lossless_translation(here, value, left_out, options, indent):
    (here / "a.json").write_text(json.dumps(value, indent=indent))
    done = write_all(["a.json"], Translation("openai_chat", "out"), io.BytesIO(), io.BytesIO())
    assert (dict(done.ignored), dict(done.options)) == (left_out, dict.fromkeys(options, 1))
    assert dict(done.unsupported) == {}
    lossless = Translation("openai_chat", "strict", lossless=True)
    if left_out:
        with pytest.raises(LossError, match=r"ignored: .*; remove --lossless to write the rest"):
            write_all(["a.json"], lossless, io.BytesIO(), io.BytesIO())
        assert not (here / "strict").exists()
    else:
        assert write_all(["a.json"], lossless, io.BytesIO(), io.BytesIO()).written == 1


def test_nor_is_what_an_exchange_among_other_lines_has_beside_its_conversation(here):
    replies = [{"message": {"role": "assistant", "content": text}} for text in ("b", "c")]
    request = {"model": "m", "messages": [{"role": "user", "content": "a"}], "tools": [{"type": "web_search"}]}
    lines = [BODY, {"request": request, "response": {"choices": replies}}, BODY]
    put(here / "in.jsonl", *lines)
    done = write_all(["in.jsonl"], Translation(to="openai_chat", output="out.jsonl"), io.BytesIO(), io.BytesIO())
    assert done.written == 3
    assert done.ignored == {"choices after the first": 1, "tools that the service runs": 1}
    assert done.options == {"model": 1}
    assert [len(json.loads(line)["messages"]) for line in (here / "out.jsonl").read_text().splitlines()] == [5, 2, 5]


def test_a_chain_of_responses_that_the_log_has_is_not_missing(here):
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}
    lines = [
        {
            "session_id": "s",
            "timestamp": number,
            "request": {"input": HELLO, "previous_response_id": f"r{number - 1}" if number > first else None},
            "response": {"id": f"r{number}", "object": "response", "status": "completed", "output": [said]},
        }
        for first in (1,)
        for number in (1, 2)
    ]
    put(here / "a.jsonl", *lines)
    done = write_all(["a.jsonl"], Translation("openai_chat", "-"), io.BytesIO(), io.BytesIO())
    assert dict(done.ignored) == {}
    put(here / "b.jsonl", lines[1])
    done = write_all(["b.jsonl"], Translation("openai_chat", "-"), io.BytesIO(), io.BytesIO())
    assert dict(done.ignored) == {"turns stored elsewhere (previous_response_id)": 1}


def test_a_file_that_cannot_be_read_is_no_lossless_translation(here):
    put(here / "in/a.jsonl", BODY)
    (here / "in/b.jsonl").write_text("{broken\n")
    with pytest.raises(LossError, match=r"b\.jsonl: line 1 is not JSON"):
        written(["in"], to="openai_chat", output="out", lossless=True)
    assert not (here / "out").exists()


def test_a_line_of_a_document_that_cannot_be_read_costs_that_line(here):
    put(here / "a.jsonl", {"type": "session_meta", "payload": {"id": "s"}}, item("Hello"), item("Bye"))
    with (here / "a.jsonl").open("ab") as file:
        file.write(b'{"type":"response_item","payload":{"ty')
    done = write_all(["a.jsonl"], Translation("openai_chat", "out"), io.BytesIO(), io.BytesIO())
    assert dict(done.ignored) == {"lines that cannot be read": 1}
    assert [each["content"] for each in orjson.loads((here / "out/a.json").read_bytes())["messages"]] == [
        "Hello",
        "Bye",
    ]
    with pytest.raises(LossError, match="a: ignored: lines that cannot be read; remove --lossless"):
        written(["a.jsonl"], to="openai_chat", output="all", lossless=True)


def item(said):
    """What a user says, as Codex keeps it."""
    part = {"type": "input_text", "text": said}
    return {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [part]}}


def test_calls_and_results_that_stand_alone_are_counted(here):
    alone = {"role": "tool", "tool_call_id": "gone", "content": "x"}
    put(here / "a.json", {"messages": [*MESSAGES[:4], alone, MESSAGES[2]]})
    done = write_all(["a.json"], Translation("anthropic", "-"), io.BytesIO(), io.BytesIO())
    assert dict(done.unlinked) == {"calls without a result": 1, "results without a call": 1}


# Which files


def test_nothing_is_no_conversation(here):
    put(here / "in/a.json", [])
    put(here / "in/b.json", {"messages": []})
    put(here / "in/c.json", {"input": []})
    put(here / "in/d.json", BODY)
    put(here / "in/e.jsonl", {"messages": []})
    put(here / "in/f.jsonl", BODY, {"messages": []})
    done = write_all(["in"], Translation("gemini", "out"), io.BytesIO(), io.BytesIO())
    assert done.written == 2
    assert dict(done.ignored) == {
        ".json in in": 3,
        "in/e.jsonl: openai_chat: no conversation found": 1,
        "empty conversations in f": 1,
    }
    with pytest.raises(UsageError, match=r"a\.json: .*no conversation found"):
        written(["in/a.json"], to="gemini", output="out2")


@pytest.mark.parametrize("empty", [{"messages": []}, {"input": []}, {"contents": []}])
def test_an_empty_body_is_loaded_all_the_same(empty):
    assert chatsquash.load(empty).messages == []


def test_what_was_written_is_not_read(here):
    put(here / "in/a.json", BODY)
    for _ in range(2):
        count, _, _ = written(["in"], to="gemini", output="in/out", force=True)
        assert count == 1
    (here / "in/out/a.json").unlink()
    for _ in range(2):
        count, _, _ = written(["in"], to="gemini", output="in/all.jsonl", jsonl=True, force=True)
        assert count == 1
    with pytest.raises(UsageError, match="is in the output folder"):
        written(["in"], to="gemini", output="in")


def test_globs_are_taken_as_by_convert(here):
    put(here / "in/a.json", BODY)
    put(here / "in/deep/b.jsonl", BODY)
    put(here / "in/[c].json", BODY)
    for pattern, expected in (("in/*.json", 2), ("in/**/*", 3), ("in/[c].json", 1), ("in/deep/*.jsonl", 1)):
        count, _, _ = written([pattern], to="gemini", output="-", jsonl=True)
        assert count == expected, pattern
    with pytest.raises(UsageError, match="no match"):
        written(["in/*.txt"], to="gemini", output="-")


def test_the_folder_of_a_file_of_lines_is_made(here):
    put(here / "a.json", BODY)
    written(["a.json"], to="gemini", output="new/folder/x.jsonl", jsonl=True)
    assert len((here / "new/folder/x.jsonl").read_bytes().splitlines()) == 1
    (here / "file").touch()
    with pytest.raises(UsageError, match=r"^file: cannot be created"):
        written(["a.json"], to="gemini", output="file/x.jsonl", jsonl=True)


# Branches


def told(*said):
    return [{"role": "user" if at % 2 == 0 else "assistant", "content": each} for at, each in enumerate(said)]


def branched(*held, current):
    branches = {
        ident: {
            "id": ident, "name": ident, "parent_branch_id": parent, "branch_point_index": point,
            "conversation_history": history,
        }
        for ident, parent, point, history in held
    }  # fmt: skip
    return {
        "schema_version": "1.0.0",
        "format": "oumi_conversation_history",
        "session": {"current_branch_id": current},
        "branches": branches,
    }


HISTORY = branched(
    ("main", None, 0, told("a", "b")),
    ("one", "main", 2, told("a", "b", "c", "d")),
    ("two", "one", 3, told("a", "b", "c", "e")),
    current="two",
)


def test_of_a_history_the_branches_that_end_are_taken_or_all(here):
    put(here / "h.json", HISTORY)
    for every, expected in ((False, ["e", "d"]), (True, ["b", "d", "e"])):
        _, _, out = written(["h.json"], to="openai_chat", output="-", jsonl=True, all_branches=every)
        assert [orjson.loads(line)["messages"][-1]["content"] for line in out.splitlines()] == expected


def test_the_branches_of_a_history_stay_one_file_with_their_places(here):
    put(here / "h.json", HISTORY)
    count, lost, out = written(["h.json"], to="oumi_history", output="-", all_branches=True, lossless=True)
    assert (count, dict(lost)) == (1, {})
    again = orjson.loads(out)
    assert again["branches"] == HISTORY["branches"]
    assert again["session"] == HISTORY["session"]


def test_that_a_branch_goes_on_from_another_is_lost_elsewhere(here):
    put(here / "h.json", HISTORY)
    _, lost, _ = written(["h.json"], to="openai_chat", output="-", jsonl=True)
    assert dict(lost) == {"branch": 2, "native.oumi.branches": 2}
    with pytest.raises(LossError, match="openai_chat does not support branch"):
        written(["h.json"], to="openai_chat", output="-", lossless=True)
    _, lost, _ = written(["h.json"], to="oumi_history", output="-")
    assert dict(lost) == {"branch": 1}, "the branch that it comes from is not there"


def test_conversations_that_are_no_branches_are_a_history_each(here):
    put(here / "a.jsonl", {"messages": told("a")}, {"messages": told("a", "b")})
    put(here / "h.json", HISTORY)
    put(here / "i.json", HISTORY)
    count, _, _ = written(["a.jsonl", "h.json", "i.json"], to="oumi_history", output="out")
    assert count == 4
    assert sorted(path.name for path in (here / "out").iterdir()) == ["a-1.json", "a-2.json", "h.json", "i.json"]


def test_calls_have_no_place_in_a_history(here):
    put(here / "a.json", BODY)
    _, lost, out = written(["a.json"], to="oumi_history", output="-")
    assert dict(lost) == {"turns[]": 2, "tools[]": 1}
    assert [each["content"] for each in orjson.loads(out)["branches"]["main"]["conversation_history"]] == [
        "Be brief.",
        "What is there?",
        "One file.",
    ]


def test_a_refusal_leaves_no_folder_that_was_made_for_it(here):
    put(here / "a.json", {"messages": [{"role": "critic", "content": "a"}]})
    (here / "kept").mkdir()
    for output in ("x/y/o.jsonl", "x/y/folder", "kept/y/o.jsonl"):
        with pytest.raises(LossError):
            written(["a.json"], to="anthropic", output=output, lossless=True, jsonl=output.endswith(".jsonl"))
    assert sorted(path.name for path in here.iterdir()) == ["a.json", "kept"]
    assert list((here / "kept").iterdir()) == []


@cases("packing, count", ("files by day", None, 2), ("lines", "jsonl", 2), ("compressed lines", "jsonl.gz", 2))
def test_of_an_output_its_records_are_read_wherever_they_are(here, packing, count):
    write_log(here / "logs/a.jsonl", log_line("High tide?", reply="At nine."))
    write_log(here / "logs/b.jsonl", log_line("Low tide?", reply="At three."))
    chatsquash.convert(here / "logs", here / "made", chatsquash.Options(format=packing))
    write_all([str(here / "made")], Translation("anthropic", str(here / "out.jsonl"), workers=1), None, None)
    assert len((here / "out.jsonl").read_text().splitlines()) == count


def test_outputs_without_lines_of_records_are_passed_over_and_named(here):
    write_log(here / "logs/a.jsonl", log_line("High tide?", reply="At nine."))
    write_log(here / "empty/a.jsonl", b"{")
    chatsquash.convert(here / "logs", here / "made", chatsquash.Options(format="parquet"))
    chatsquash.convert(here / "empty", here / "none", chatsquash.Options())
    given = [str(here / name) for name in ("made", "none", "logs")]
    done = write_all(given, Translation("anthropic", str(here / "out.jsonl"), workers=1), None, None)
    assert len((here / "out.jsonl").read_text().splitlines()) == 1
    assert sorted(done.ignored) == [
        f"Parquet (convert with --format jsonl) in {here / 'made'}",
        f"output without records: {here / 'none'}",
    ]


# Formats whose documents are files of lines


def test_a_session_trace_is_a_file_of_lines(here):
    put(here / "in/a.jsonl", BODY, BODY)
    count, lost, _ = written(["in"], to="sts", output="out")
    assert (count, dict(lost)) == (2, {})
    assert sorted(path.name for path in (here / "out").iterdir()) == ["a-1.jsonl", "a-2.jsonl"]
    header, *lines = map(orjson.loads, (here / "out/a-1.jsonl").read_bytes().splitlines())
    assert header["tools"] == [TOOL]
    assert [line["message"]["role"] for line in lines] == [message["role"] for message in MESSAGES]
    _, lost, back = written(["out/a-1.jsonl"], to="openai_chat", output="-", lossless=True)
    assert (orjson.loads(back), dict(lost)) == (BODY, {})


def test_one_session_trace_is_written_to_a_file_or_a_stream(here):
    put(here / "a.json", BODY)
    for output in ("x.jsonl", "-"):
        _, _, out = written(["a.json"], to="sts", output=output, workers=2)
        lines = (out or (here / "x.jsonl").read_bytes()).splitlines()
        assert [orjson.loads(line)["type"] for line in lines] == ["session", *["message"] * 5]


@cases("output", "x.jsonl", "-")
def test_several_session_traces_are_not_written_to_one_file(here, output):
    put(here / "a.jsonl", BODY, BODY)
    with pytest.raises(UsageError, match="2 conversations, but each is a separate file; choose a folder with --output"):
        written(["a.jsonl"], to="sts", output=output)
    assert [path.name for path in here.iterdir()] == ["a.jsonl"]
    with pytest.raises(UsageError, match="--jsonl sts: each conversation is a file of lines; remove --jsonl"):
        written(["a.jsonl"], to="sts", output="x.jsonl", jsonl=True)
