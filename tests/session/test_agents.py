"""What the files of agents say beside their messages reaches dates, filters, tables and findings."""

import io
import json

import orjson
import pytest

from chatsquash import Options, convert, convert_session
from chatsquash.core.errors import UsageError
from chatsquash.translate.files import LossError, Translation, write_all
from tests.conftest import cases, write_log
from tests.outputs import findings, report


def line(day, of, payload, hour=12):
    return {"timestamp": f"2026-02-{day:02}T{hour}:00:00Z", "type": of, "payload": payload}


def said(role, words):
    text = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": text, "text": words}]}


def codex(day, model="small-1", name="s", **more):
    """The lines of a session on a day."""
    used = {"last_token_usage": {"input_tokens": 70, "output_tokens": 5}}
    return [
        line(day, "session_meta", {"id": f"{name}{day}", **more}),
        line(day, "turn_context", {"model": model}),
        line(day, "response_item", said("user", f"hi {day}")),
        line(day, "response_item", said("assistant", "hello"), hour=13),
        line(day, "event_msg", {"type": "token_count", "info": used}, hour=13),
    ]


COMPACTED = [
    *codex(1, base_instructions={"text": "Be brief."}),
    line(2, "compacted", {"message": "", "replacement_history": [said("user", "In short: hi.")]}),
    line(2, "turn_context", {"model": "large-2"}),
    line(2, "response_item", said("user", "more")),
    line(2, "response_item", said("assistant", "fine")),
]
"""A session of two conversations, the second on another day and by another model."""


@pytest.fixture
def logs(here):
    for day in (1, 2, 3):
        write_log(here / f"logs/{day}.jsonl", *codex(day, model=f"model-{day}"))
    return "logs"


def run(logs, **options):
    return convert(logs, "out", Options(**{"anonymize": False, **options}))


def prompts(pattern):
    found = [orjson.loads(row) for path in sorted(pattern) for row in path.read_bytes().splitlines()]
    texts = [[message["content"] for message in record["messages"] if message["role"] == "user"] for record in found]
    return [first for first, *_ in texts]


def test_a_record_stands_with_those_of_its_day(here, logs):
    run(logs)
    assert sorted(path.name for path in (here / "out").glob("*.jsonl")) == [
        f"2026-02-0{day}.jsonl" for day in (1, 2, 3)
    ]


@cases(
    "options, expected",
    ("from a day on", {"since": "2026-02-02"}, ["hi 2", "hi 3"]),
    ("up to a day", {"until": "2026-02-02"}, ["hi 1", "hi 2"]),
    ("a model", {"only_model": ("model-[23]",)}, ["hi 2", "hi 3"]),
)
def test_what_is_chosen_by_days_and_models(here, logs, options, expected):
    run(logs, **options)
    assert prompts((here / "out").glob("*.jsonl")) == expected


def test_a_day_on_which_nothing_was_said_is_none_of_them(logs):
    with pytest.raises(UsageError, match="3 excluded by options"):
        run(logs, since="2026-02-04")


@cases(
    "options, expected, filtered",
    ({"since": "2026-02-02"}, ["In short: hi."], {"--since": 1}),
    ({"until": "2026-02-01"}, ["hi 1"], {"--until": 1}),
    ({"since": "2026-02-01"}, ["hi 1", "In short: hi."], {}),
    ({"since": "2026-02-02", "sessions_by": "file"}, ["In short: hi."], {}),
)
def test_each_conversation_of_a_file_has_its_own_day(here, options, expected, filtered):
    write_log(here / "logs/a.jsonl", *COMPACTED)
    summary = run("logs", **options)
    assert prompts((here / "out").glob("*.jsonl")) == expected
    assert dict(summary.filtered) == filtered
    assert sum(summary.account) == summary.lines


def test_python_converts_whatever_the_days(here):
    write_log(here / "a.jsonl", *COMPACTED)
    assert len(convert_session("a.jsonl", Options(anonymize=False, since="2030-01-01"))) == 2


def test_splits_by_day_know_the_days(here, logs):
    later = ({**each, "timestamp": each["timestamp"].replace("T1", "T2")} for each in codex(3, name="other"))
    write_log(here / "logs/4.jsonl", *later)
    run(logs, format="jsonl", split="train=0.5,test=0.5", split_by="day", drop_duplicates=False)
    files = {row["start"]: set[str]() for row in report("sessions.jsonl")}
    for row in report("sessions.jsonl"):
        files[row["start"]].add(row["file"].split("-")[0])
    assert len(set().union(*files.values())) == 2, "some days are in each split"
    assert all(len(of_day) == 1 for of_day in files.values())


def test_the_columns_of_a_folder_and_the_session_table_are_filled(here, logs):
    run(logs, format="jsonl", metadata=True)
    (path,) = (here / "out").glob("data/*.jsonl")
    first = orjson.loads(path.read_bytes().splitlines()[0])
    assert [first[name] for name in ("session_id", "model", "started_at")] == ["s1", "model-1", "2026-02-01T12:00:00Z"]
    assert (first["prompt_tokens"], first["completion_tokens"]) == (70, 5)
    row = report("sessions.jsonl")[0]
    expected = {"session": "s1", "model": "model-1", "start": "2026-02-01T12:00:00Z", "end": "2026-02-01T13:00:00Z"}
    assert {name: row[name] for name in expected} == expected


# Lines


def test_a_finding_has_the_line_that_it_is_about(here):
    call = {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{"}
    lines = [*codex(1), line(1, "response_item", call), b"{oops", line(1, "response_item", said("user", "so?"))]
    write_log(here / "logs/a.jsonl", *lines)
    run("logs")
    assert [(each["line"], each["message"]) for each in findings("arguments-not-json")] == [(4, 1)]
    assert [(each["line"], each["message"]) for each in findings("bad-line")] == [(7, None)]


def test_lines_are_counted_with_those_that_cannot_be_read(here):
    call = {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{"}
    asked = line(1, "response_item", said("user", "list"))
    write_log(here / "logs/a.jsonl", b"{oops", *codex(1)[:4], b"", asked, line(1, "response_item", call))
    run("logs")
    assert [each["line"] for each in findings("arguments-not-json")] == [8]


def test_a_history_that_lies_in_another_file_is_told(here):
    base = {"thread_id": "other", "end_ordinal_exclusive": 4}
    write_log(here / "logs/a.jsonl", *codex(1, history_base=base))
    run("logs")
    assert [(each["line"], each["severity"]) for each in findings("missing-history")] == [(1, "warning")]


def test_times_without_a_zone_are_told_once(here):
    lines = [{**each, "timestamp": each["timestamp"].rstrip("Z")} for each in codex(1)]
    write_log(here / "logs/a.jsonl", *lines)
    run("logs")
    assert [each["line"] for each in findings("naive-timestamp")] == [3]


def test_conversations_that_are_lines_have_their_own(here):
    call = {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{"}}
    asked = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    write_log(
        here / "logs/a.jsonl",
        *({"conversation_id": name, "messages": asked} for name in "ab"),
        b"",
        {"conversation_id": "c", "messages": asked},
    )
    run("logs", from_format="oumi", on_invalid="keep")
    found = findings("arguments-not-json")
    assert [(each["session"], each["line"]) for each in found] == [("a", 1), ("b", 2), ("c", 4)]


# What is not read


def test_convert_and_translate_tell_the_same_of_what_is_not_read(here):
    ghost = line(1, "response_item", {"type": "ghost_snapshot"})
    write_log(here / "a.jsonl", *COMPACTED, ghost, line(1, "event_msg", {"type": "task_started"}), cwd())
    names = ["event_msg.task_started", "response_item.ghost_snapshot", "turn_context.cwd"]
    outcomes = convert_session("a.jsonl", Options(anonymize=False))
    (found,) = [each for outcome in outcomes for each in outcome.findings if each.code == "not-read"]
    assert found.text == "not in the record: " + ", ".join(f"'{name}' 1" for name in names)
    told = write_all(["a.jsonl"], Translation("openai_chat", "out"), io.BytesIO(), io.BytesIO())
    assert told.ignored == dict.fromkeys(names, 1)
    with pytest.raises(LossError, match=r"ignored: event_msg.task_started and 2 more"):
        write_all(["a.jsonl"], Translation("openai_responses", "strict", lossless=True), io.BytesIO(), io.BytesIO())


def cwd():
    return line(1, "turn_context", {"model": "large-2", "cwd": "/w", "summary": ""})


def test_a_file_that_is_read_whole_is_translated_without_loss(here):
    write_log(here / "a.jsonl", *codex(1))
    done = write_all(["a.jsonl"], Translation("openai_chat", "out", lossless=True), io.BytesIO(), io.BytesIO())
    assert (done.written, dict(done.unsupported), dict(done.ignored)) == (1, {}, {})
    assert json.loads((here / "out/a.json").read_bytes())["messages"][0]["content"] == "hi 1"


def test_names_without_end_are_counted_together(here):
    many = {f"{number:04}" + "n" * 1_000: 1 for number in range(3_000)}
    write_log(here / "a.jsonl", *codex(1, **many))
    (outcome,) = convert_session("a.jsonl", Options(anonymize=False))
    (found,) = [each for each in outcome.findings if each.code == "not-read"]
    assert found.text.startswith("not in the record: 'other names' 2,000, 'session_meta 0000nnn")
    assert "and 981 other names" in found.text
    assert len(found.text) < 5_000


def test_a_reply_that_was_cut_off_is_told(here):
    asked = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hi"}]}
    answer = {"kind": "response", "parts": [{"part_kind": "text", "content": "he"}], "finish_reason": "length"}
    write_log(here / "a.jsonl", [asked, answer], [asked, {**answer, "finish_reason": "stop"}])
    outcomes = convert_session("a.jsonl", Options(anonymize=False))
    told = [[each.line for each in outcome.findings if each.code == "reply-truncated"] for outcome in outcomes]
    assert told == [[1], []]
