"""Claude Code's files in a whole run: dates, models, tokens, findings with their lines, and what is not read."""

import io

import orjson
import pytest

from chatsquash import Options, convert, convert_session
from chatsquash.translate.files import LossError, Translation, write_all
from tests.conftest import cases, write_log
from tests.outputs import findings, report


def line(day, key, parent, role, words, **more):
    message = {"role": role, "content": words}
    if role == "assistant":
        usage = {"input_tokens": 3, "cache_read_input_tokens": 40, "output_tokens": 9}
        message |= {"model": f"claude-{day}", "id": f"m{key}", "usage": usage}
    timestamp = f"2026-02-{day:02}T12:00:00Z"
    line = {"sessionId": "s1", "uuid": key, "parentUuid": parent, "type": role, "timestamp": timestamp}
    return {**line, "message": message, **more}


LINES = [
    line(1, "u1", None, "user", "hi"),
    line(1, "a2", "u1", "assistant", "hello"),
    {"sessionId": "s1", "type": "system", "subtype": "compact_boundary", "uuid": "c3", "parentUuid": None},
    line(2, "u4", "c3", "user", "In short: hi.", isCompactSummary=True),
    b"{oops",
    line(2, "u5", "lost", "user", "[Request interrupted by user]"),
    line(2, "u6", "u5", "user", "more"),
    line(2, "a7", "u6", "assistant", "fine"),
]


@pytest.fixture
def out(here):
    write_log(here / "logs/a.jsonl", *LINES)
    return here / "out"


def run(**options):
    return convert("logs", "out", Options(**{"anonymize": False, **options}))


def texts(out):
    found = [orjson.loads(row) for path in sorted(out.rglob("*.jsonl")) for row in path.read_bytes().splitlines()]
    return [[message["content"] for message in record["messages"]] for record in found if "messages" in record]


BEFORE = ["hi", "hello"]
AFTER = ["In short: hi.", "[Request interrupted by user]", "more", "fine"]


@cases(
    "options, expected",
    ({}, [BEFORE, AFTER]),
    ({"since": "2026-02-02"}, [AFTER]),
    ({"until": "2026-02-01"}, [BEFORE]),
    ({"only_model": ("claude-1",)}, [BEFORE]),
    ({"cleanup": ("claude-code",)}, [BEFORE, [AFTER[0], *AFTER[2:]]]),
)
def test_what_is_chosen(out, options, expected):
    run(**options)
    assert texts(out) == expected


def test_the_session_table_has_what_the_lines_say(out):
    run(format="jsonl", metadata=True)
    rows = {row["start"]: (row["session"], row["model"], row["end"]) for row in report("sessions.jsonl")}
    assert rows == {f"2026-02-0{day}T12:00:00Z": ("s1", f"claude-{day}", f"2026-02-0{day}T12:00:00Z") for day in (1, 2)}
    (path,) = out.glob("data/*.jsonl")
    records = list(map(orjson.loads, path.read_bytes().splitlines()))
    assert [(each["prompt_tokens"], each["completion_tokens"]) for each in records] == [(43, 9)] * 2


def test_findings_have_their_lines(out):
    run()
    assert [each["line"] for each in findings("missing-parent")] == [6]
    assert [each["line"] for each in findings("client-text")] == [6]
    assert [each["line"] for each in findings("bad-line")] == [5]


def test_what_is_not_read_is_told_by_both_and_refused_where_nothing_may_be_lost(here):
    write_log(here / "a.jsonl", *LINES[:2], {"sessionId": "s1", "type": "mode", "mode": "plan"})
    (outcome,) = convert_session("a.jsonl", Options(anonymize=False))
    assert [each.text for each in outcome.findings if each.code == "not-read"] == ["not in the record: 'mode' 1"]
    told = write_all(["a.jsonl"], Translation("openai_chat", "out"), io.BytesIO(), io.BytesIO())
    assert told.ignored == {"mode": 1}
    with pytest.raises(LossError, match="ignored: mode"):
        write_all(["a.jsonl"], Translation("openai_chat", "strict", lossless=True), io.BytesIO(), io.BytesIO())
