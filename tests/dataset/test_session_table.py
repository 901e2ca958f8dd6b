"""What the session table has to choose by: tokens as logged, places, and conditions over its columns."""

import gzip
import json
import os
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import Options, convert, frame
from chatsquash.cli.main import cli
from chatsquash.core.accounting import STEP_FACTS
from chatsquash.core.errors import UsageError
from chatsquash.core.text import printable_json
from chatsquash.dataset.session_table import (
    COLUMNS,
    FindingCounts,
    ReasoningCounts,
    ReplyCounts,
    SessionLine,
    TokenCounts,
    row_of,
)
from chatsquash.dataset.where import SCHEMA, Where
from chatsquash.results.stats import stats
from tests.conftest import assistant, cases, log_line, user, write_log
from tests.outputs import report

SAMPLES = Path(__file__).parents[2] / "sample_logs"


def used(line, prompt, completion, response=None):
    """A line whose response counts tokens."""
    line["response"]["usage"] = {"prompt_tokens": prompt, "completion_tokens": completion}
    line["response"]["id"] = response or f"r{prompt}"
    return line


def usage():
    return [(row["usage"]["prompt_tokens"], row["usage"]["completion_tokens"]) for row in report("sessions.jsonl")]


@pytest.mark.parametrize("extra", [{}, {"cleanup": ("claude-code",)}, {"trace_replies": True}], ids=str)
def test_tokens_are_added_up_and_a_response_that_is_logged_twice_counts_once(here, extra):
    one = used(log_line("q", reply="a", at=1), 10, 1)
    two = used(log_line("q", assistant("a"), user("r"), reply="b", at=2), 20, 2)
    write_log(here / "logs/a.jsonl", one, two)
    write_log(here / "logs/b.jsonl", one, two, used(log_line("q", assistant("a"), user("r"), reply="b", at=3), 20, 2))
    write_log(here / "logs/c.jsonl", one, two, used(log_line("q", assistant("a"), user("r"), reply="c", at=3), 21, 3))
    write_log(here / "logs/d.jsonl", log_line("q"))
    convert("logs", "out", Options(**extra))
    assert usage() == [(30, 3), (30, 3), (51, 6), (None, None)]


def test_tokens_beyond_what_anybody_counts_are_unknown(here):
    write_log(here / "logs/a.jsonl", used(log_line("q"), 1 << 36, 1), used(log_line("q", at=2), 9 << 60, (1 << 36) - 1))
    convert("logs", "out", Options(where="usage_completion_tokens > 0"))
    assert usage() == [(None, 1 << 36)]


def streamed(pieces, **members):
    line = log_line("q", **members)
    chunks = [{"choices": [{"index": 0, "delta": {"content": piece}}], "usage": None} for piece in pieces]
    chunks += [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
    chunks += [{"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5}}]
    line["response"] = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    return line


def test_tokens_of_streams_and_of_other_providers(here):
    write_log(here / "logs/a.jsonl", streamed("abc"))
    body = {
        "role": "assistant",
        "type": "message",
        "content": [{"type": "text", "text": "Hi"}],
        "stop_reason": "end_turn",
    }
    counts = {"input_tokens": 3, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 5, "output_tokens": 2}
    request = {"model": "claude", "max_tokens": 9, "system": "S", "messages": [{"role": "user", "content": "q"}]}
    write_log(here / "logs/b.jsonl", {**log_line("q"), "request": request, "response": {**body, "usage": counts}})
    convert("logs")
    assert usage() == [(7, 5), (48, 2)]


@cases("counts", "text", 5, [1], {"prompt_tokens": "9"}, {"prompt_tokens": -1}, {"prompt_tokens": True}, None)
def test_what_counts_nothing_is_no_count(here, counts):
    line = log_line("q")
    line["response"]["usage"] = counts
    write_log(here / "logs/a.jsonl", line, log_line("q", assistant("hello"), user("r")))
    convert("logs")
    assert usage() == [(None, None)]


def test_history_that_a_resumed_session_copied_is_not_counted_twice(here):
    row = {"sessionId": "s", "version": "2.1.0", "isSidechain": False, "cwd": "/x", "userType": "external"}
    asked = {
        **row,
        "type": "user",
        "uuid": "1",
        "parentUuid": None,
        "timestamp": "2026-01-01T00:00:00Z",
        "message": user("q"),
    }
    body = {
        "id": "m1", "model": "claude", "role": "assistant", "type": "message",
        "content": [{"type": "text", "text": "a"}],
    }  # fmt: skip
    body |= {"stop_reason": "end_turn", "usage": {"input_tokens": 10, "output_tokens": 4}}
    said = {
        **row,
        "type": "assistant",
        "uuid": "2",
        "parentUuid": "1",
        "timestamp": "2026-01-01T00:00:01Z",
        "message": body,
    }
    again = {**said, "uuid": "4", "parentUuid": "3", "timestamp": "2026-01-01T00:00:01Z"}
    copied = [{**asked, "uuid": "3"}, again]
    more = {**body, "id": "m2", "usage": {"input_tokens": 20, "output_tokens": 6}}
    new = [
        {**asked, "uuid": "5", "parentUuid": "4", "timestamp": "2026-01-01T00:01:00Z", "message": user("r")},
        {**said, "uuid": "6", "parentUuid": "5", "timestamp": "2026-01-01T00:01:01Z", "message": more},
    ]
    write_log(here / "logs/s.jsonl", asked, said, *copied, *new)
    convert("logs", "out", Options(conversations="all"))
    rows = report("sessions.jsonl")
    assert sum(row["usage"]["completion_tokens"] for row in rows if row["record"] == 1) == 10


def test_history_that_was_copied_to_a_file_of_its_own_is_not_counted_twice(here):
    said = [_said("m1", "00", 10, 4), _said("m2", "01", 20, 6)]
    later, other = _said("m1", "02", 10, 4), {**_said("m1", "03", 10, 4), "uuid": "another"}
    for name, lines in {"a": said[:1], "b": said, "c": [later], "d": [other]}.items():
        write_log(here / f"logs/{name}.jsonl", _asked(name), *({**line, "sessionId": name} for line in lines))
    convert("logs")
    counts = {row["session"]: tuple(row["usage"].values()) for row in report("sessions.jsonl")}
    nothing = (None, None)
    # Of the last one only the id of the response is the same; c has the uuid and the content, at another time.
    assert counts == {"a": nothing, "b": (30, 10), "c": nothing, "d": (10, 4)}


def _asked(session):
    return {"sessionId": session, "version": "2.1.0", "isSidechain": False, "cwd": "/x", "userType": "external",
            "type": "user", "uuid": "u", "parentUuid": None, "timestamp": "2026-01-01T00:00:00Z",
            "message": user("q")}  # fmt: skip


def _said(name, minute, asked, said):
    body = {"id": name, "model": "claude", "role": "assistant", "type": "message", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": name}], "usage": {"input_tokens": asked, "output_tokens": said}}  # fmt: skip
    return {**_asked(""), "type": "assistant", "uuid": f"u{name}", "parentUuid": "u" if name == "m1" else "um1",
            "timestamp": f"2026-01-01T00:{minute}:01Z", "message": body}  # fmt: skip


@pytest.mark.parametrize("packing", [None, "jsonl", "jsonl.gz", "parquet"])
def test_the_offset_is_where_the_line_begins(here, packing):
    convert(SAMPLES, "out", Options(format=packing, metadata=packing == "jsonl", shard_size=packing and 40_000))
    for row in report("sessions.jsonl"):
        if row["file"] is None:
            continue  # a duplicate
        path = Path("out", row["file"])
        if packing == "parquet":
            assert row["offset"] is None
            continue
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        line = data.splitlines(keepends=True)[row["row"] - 1]
        assert data[row["offset"] :].startswith(line)
        assert data[: row["offset"]].count(b"\n") == row["row"] - 1


def test_the_frame_has_the_columns_of_the_table(sample_run):
    out = sample_run(conversations="all")
    table, rows = frame(str(out)), report("sessions.jsonl", out)
    assert dict(table.schema) == SCHEMA
    assert len(table) == len(rows)
    for name in ("session", "exit", "reward", "truncated", "offset"):
        assert table[name].to_list() == [row[name] for row in rows]
    assert table["replies_lost"].to_list() == [sum(row["replies"]["lost"].values()) for row in rows]
    assert table["usage_prompt_tokens"].to_list() == [row["usage"]["prompt_tokens"] for row in rows]


def test_a_folder_without_a_table_is_named(here):
    with pytest.raises(UsageError, match="no session table; use an output folder"):
        frame("nowhere")
    (here / "out/reports").mkdir(parents=True)
    for data in (b"[1]\n", b"{\n", b'{"row": "x"}\n', b"\xff\n", b"[" * 9000, b'{"row": 1%b}\n' % (b"0" * 400)):
        (here / "out/reports/sessions.jsonl").write_bytes(data)
        with pytest.raises(UsageError, match="not a session table of this version"):
            frame("out")


WHERE = [
    ("turns >= 3", lambda row: row["turns"] >= 3),
    ("format = 'claude_code' OR format LIKE 'gemini%'", lambda row: row["format"] == "claude_code" or row["format"].startswith("gemini")),
    ("NOT truncated", lambda row: row["truncated"] is False),
    ("finish = 'tool_calls' OR exit = 0", lambda row: row["finish"] == "tool_calls" or row["exit"] == 0),
    ("findings_warning = 0 AND replies_lost = 0", lambda row: not row["findings"]["warning"] and not row["replies"]["lost"]),
    ("usage_completion_tokens BETWEEN 100 AND 2000", lambda row: 100 <= (row["usage"]["completion_tokens"] or 0) <= 2000),
    ("model IN ('gpt-4.1-2025-04-14') AND \"end\" > '2026-01-12'", lambda row: row["model"] == "gpt-4.1-2025-04-14"),
]  # fmt: skip


@pytest.mark.parametrize("condition, holds", WHERE, ids=[row[0] for row in WHERE])
def test_a_condition_chooses_what_the_table_says(here, sample_run, condition, holds):
    every = [json.loads(line) for line in (sample_run() / "reports/sessions.jsonl").read_bytes().splitlines()]
    expected = [row["session"] for row in every if row["file"] and holds(row)]
    assert expected
    summary = convert(SAMPLES, "out", Options(where=condition))
    assert [row["session"] for row in report("sessions.jsonl") if row["file"]] == expected
    assert summary.filtered == {"--where": len(every) - len(expected)}


WRONG = [
    ("turn > 1", "has no column turn; did you mean turns?"),
    ("format = claude", "has no column claude; if it is text, write 'claude'"),
    ("row > 1", "the column row is only known after records are written"),
    ("turns", "the result is neither true nor false: turns has integers, as in turns >= 2"),
    ("turns >", "it is not an SQL condition"),
    ("turns > 1; DROP TABLE x", "it is not an SQL condition"),
    ("turns > 'a'", "a value does not match the type of its column: turns has integers, as in turns >= 2 (for example"),
    ("model + turns > 1 AND model > 2", "model has text, as in model LIKE 'claude-%', turns has integers, as in turns >= 2"),
    ("exit = 'success'", "exit has integers, as in exit = 0"),
    ("turn > 1", "float: reward; bool: truncated; see chatsquash explain columns)"),
    ("foo = 1", "has no column foo; if it is text, write 'foo' ("),
    ("turn > 1", "(for example 'turns >= 2 AND exit = 0'; columns: text: log, session, format"),
    ("end < '2026'", 'write the column end as "end", since END is an SQL keyword'),
    ("last_user = 3", "has 'thanks', 'complaint', 'correction', 'none', 'unknown', as in last_user <> 'complaint'"),
    ("kind > 1", "kind has 'main', 'compacted', 'branch', 'subagent', 'side', as in kind = 'subagent'"),
    ("start > 3", "start has times, such as '2026-01-13T10:00:00Z', as in start >= '2026-01-13'"),
    ("1 = 1", "the result is the same for all records"),
    ("ROW_NUMBER() OVER () > 0", "the result is the same for all records"),
    ("COUNT(turns) > 1", "the result is the same for all records"),
    ("turns IN (SELECT 1)", "SELECT begins a query:"),
    ("EXISTS (SELECT 1)", "EXISTS begins a query:"),
    ("turns >= 1 -- x", "'--' is not allowed in a condition"),
    ("turns = $$1$$", "'$$' is not allowed in a condition"),
    ("model = E'a'", "text must begin with a quote"),
    ("model = 'a", "is not allowed in a condition"),
    ("model = '\ud800'", "is not allowed in a condition"),
    (" AND ".join(["turns = 1"] * 300), "it has more than 500 words and symbols"),
    ("", "it is not an SQL condition"),
]  # fmt: skip
OPENS = [
    "session IN (SELECT session FROM read_csv('{file}'))",
    "session = ANY(select session from READ_CSV('{file}'))",
    "session IN (FROM read_csv('{file}'))",
    "session IN ( ( \n FROM\tread_csv('{file}')))",
    "session IN (FROM `read_csv`('{file}'))",
    "session IN (/* a */SELECT session FROM read_csv('{file}'))",
    "session = 'a' OR session IN (SELECT session FROM read_csv('{file}')) --'",
    "session = E'a\\'' OR session IN (SELECT session FROM read_csv('{file}')) --'",
    "session = $$'$$ OR session IN (SELECT session FROM read_csv('{file}')) OR session = $$'$$",
    "session IN (WITH t AS (SELECT session FROM read_csv('{file}')) SELECT session FROM t)",
    "EXISTS (SELECT * FROM read_parquet('{file}'))",
    "turns > (SELECT count(*) FROM read_json('{file}'))",
    "session IN (SELECT session FROM read_ipc('{file}'))",
    "session IN (SELECT a.session FROM self AS a JOIN read_csv('{file}') AS b ON a.session = b.session)",
]
PLAIN = [
    "session <> 'SELECT x FROM read_csv(''y'')'",
    "EXTRACT(YEAR FROM TIMESTAMP '2026-01-01 00:00:00') = 2026 AND turns >= 0",
    '`session` IS NOT NULL AND "turns" >= 0',
    "session ~ '\\w' AND turns::int >= -1 AND session NOT LIKE '%values%'",
]


@pytest.mark.parametrize("condition, told", WRONG, ids=[row[0] for row in WRONG])
def test_a_wrong_condition_says_what_is_wrong(here, condition, told):
    write_log(here / "logs/a.jsonl")
    with pytest.raises(UsageError) as raised:
        convert("logs", "out", Options(where=condition))
    assert told in str(raised.value)
    assert not Path("out").exists()


@pytest.mark.parametrize("condition", OPENS)
def test_a_condition_opens_nothing(here, monkeypatch, condition):
    monkeypatch.setattr(pl, "sql_expr", lambda text: pytest.fail(f"polars gets to see {text}"))
    with pytest.raises(UsageError, match="--where"):
        Where(condition.format(file=here / "private"))


@pytest.mark.parametrize("condition", PLAIN)
def test_words_of_queries_in_texts_are_texts(here, condition):
    write_log(here / "logs/a.jsonl")
    assert convert("logs", "out", Options(where=condition)).written == 1


def test_a_condition_from_elsewhere_opens_nothing_either(here, monkeypatch):
    os.mkfifo("pipe")  # whoever opens it waits
    write_log(here / "logs/a.jsonl")
    condition = "session IN (SELECT session FROM read_csv('pipe'))"

    def refuses(*arguments):
        with pytest.raises(UsageError, match="SELECT begins a query"):
            CliRunner().invoke(cli, arguments, standalone_mode=False, catch_exceptions=False)
        return True

    monkeypatch.setenv("CHATSQUASH_WHERE", condition)
    assert refuses("convert", "logs", "-o", "out")
    monkeypatch.delenv("CHATSQUASH_WHERE")
    (here / "chatsquash.toml").write_text(f'[convert]\nwhere = "{condition}"\n')
    assert refuses("convert", "logs", "-o", "out")
    (here / "chatsquash.toml").unlink()
    assert CliRunner().invoke(cli, ["shards", "logs", "-o", "parts", "-n", "1"]).exit_code == 0
    listing = here / "parts/.chatsquash/shards/listing.json"
    value = json.loads(listing.read_bytes())
    value["options"]["where"] = condition
    listing.write_text(json.dumps(value))
    assert refuses("convert", "--shard", "1/1", "-o", "parts")
    assert refuses("merge", "parts")


def test_a_condition_that_the_values_of_a_record_do_not_allow_is_not_fulfilled(here):
    write_log(here / "logs/a.jsonl", log_line("q", session_id="7"))
    write_log(here / "logs/b.jsonl", log_line("q", session_id="x"))
    summary = convert("logs", "out", Options(where="CAST(session AS INT) > 0"))
    assert (summary.written, summary.filtered) == (1, {"--where": 1})


def test_every_column_can_be_asked_for_unless_it_is_known_late(here):
    write_log(here / "logs/a.jsonl")
    for column in COLUMNS:
        if not column.known_late:
            condition = f'"{column.name}" IS NULL OR "{column.name}" IS NOT NULL'
            assert convert("logs", "out", Options(where=condition, replace=True)).written == 1


@pytest.mark.parametrize("column", [each for each in COLUMNS if not each.known_late], ids=lambda each: each.name)
def test_the_example_of_a_column_is_a_condition(column):
    Where(column.example)


def test_the_columns_are_listed_with_their_types_and_an_example():
    lines = CliRunner().invoke(cli, ["explain", "columns"]).output.splitlines()
    rows = [line.split(maxsplit=2) for line in lines[1 : len(COLUMNS) + 1]]
    assert rows == [[each.name, each.kind, each.example] for each in COLUMNS]
    assert max(map(len, lines)) <= 112


def test_statistics_add_the_table_up(here):
    write_log(here / "logs/a.jsonl", used(log_line("q", reply="a"), 10, 1))
    write_log(
        here / "logs/b.jsonl", used(log_line("r", assistant("a"), user("Thanks!"), reply="b"), 20, 2), {"broken": 1}
    )
    convert("logs", "out")
    found = stats(["out"]).table
    assert found is not None
    assert (found.sessions, found.prompt_tokens, found.completion_tokens, found.rewards) == (2, 30, 3, 0)
    assert (dict(found.exit), dict(found.last_user)) == ({"unknown": 2}, {"none": 1, "thanks": 1})


TEXT = st.one_of(st.none(), st.text(st.characters(exclude_categories=()), max_size=6))
NUMBER = st.one_of(st.none(), st.integers(-3, 1 << 70))
SPECIAL = {
    "findings": st.builds(FindingCounts, NUMBER, NUMBER, NUMBER),
    "replies": st.builds(ReplyCounts, NUMBER, NUMBER, NUMBER, st.dictionaries(st.text(max_size=3), NUMBER)),
    "reasoning": st.builds(ReasoningCounts, NUMBER, NUMBER, NUMBER),
    "usage": st.builds(TokenCounts, NUMBER, NUMBER),
    "reward": st.one_of(st.none(), st.floats(-1e300, 1e300)),
    "truncated": st.one_of(st.none(), st.booleans()),
    "steps": st.one_of(st.none(), st.fixed_dictionaries(dict.fromkeys(STEP_FACTS, st.integers(0, 1 << 53)))),
}
TEXTS = {column.name for column in COLUMNS if column.kind == "text"}


@given(st.builds(SessionLine, *(SPECIAL.get(n, TEXT if n in TEXTS else NUMBER) for n in SessionLine.__struct_fields__)))
def test_a_line_is_spelled_as_its_values_are_whatever_they_contain(line):
    assert line.encode() == printable_json(line.as_dict())


def test_the_members_of_a_line_are_the_columns_in_order():
    counts = FindingCounts(), ReplyCounts(1, 1, 0, {"x": 1}), ReasoningCounts(0, 0, 0), TokenCounts(1, 2)
    nested = dict(zip(("findings", "replies", "reasoning", "usage"), counts, strict=True))
    nested["steps"] = dict.fromkeys(STEP_FACTS, 0)
    line = SessionLine(*(nested.get(name) for name in SessionLine.__struct_fields__))
    assert [*row_of(line.as_dict())] == [column.name for column in COLUMNS]
