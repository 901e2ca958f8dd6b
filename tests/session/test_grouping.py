"""A file that clearly mixes sessions is grouped by their ids, unless an option says what to do with it."""

import gzip
import json
import zipfile

import orjson
import pytest

from chatsquash import Options, convert, convert_session, read
from chatsquash.conversion.shards.convert import convert_shard
from chatsquash.conversion.shards.divide import divide
from chatsquash.conversion.shards.merge import merge
from chatsquash.conversion.shards.place import Shard
from chatsquash.core.log import Log
from chatsquash.inspect.inspect import inspect_as_json
from chatsquash.reading.reader import MixedSessionsError, Reader, until_mixed
from chatsquash.results.verify import verify
from chatsquash.view.logs import SessionLogs
from chatsquash.view.result import ViewerResult
from tests.conftest import cases, log_line, table, write_log
from tests.outputs import comparable, findings, put
from tests.session.test_sessions_by import mixed, users
from tests.trees.logs import by_turns, grows, nameless

DEFAULT = Options(anonymize=False, group_by="none", workers=1)
BY_ID = Options(anonymize=False, group_by="none", workers=1, sessions_by="id")
MIXED = [["a1", "a3"], ["b2", "b4"]]


def sessions(logs, options=DEFAULT):
    """Of each session that ``read`` gives its id, and why it has no record."""
    return [(each.facts["session"], each.refused) for each in read(logs, options)]


def summarised(summary):
    return table(summary).get("grouped", "")


@cases(
    "ids, expected",
    ("two ids with two lines each", "abab", {"written": 2}),
    ("one session after the other", "aabb", {"written": 2}),
    ("a third id with one line", "aabbc", {"written": 3}),
    ("a single line with another id", "aaab", {"refused": 1}),
    ("single lines with other ids", "aaabc", {"refused": 1}),
    ("two lines with different ids", "ab", {"refused": 1}),
    ("one id", "aaa", {"written": 1}),
)
def test_two_ids_with_two_lines_each_are_sessions_and_a_single_deviating_id_is_refused(here, ids, expected):
    write_log(here / "logs/day.jsonl", *mixed(ids))
    summary = convert("logs", "out", DEFAULT)
    assert summary.written == expected.get("written", 0)
    assert dict(summary.left_out) == ({"session-id-mismatch": 1} if "refused" in expected else {})
    assert summary.complete == ("refused" not in expected)
    assert summary.grouped_files == (expected.get("written", 0) > 1)


@cases(
    "said",
    ("a file is a session", {"sessions_by": "file"}),
    ("what is invalid is skipped", {"on_invalid": "skip"}),
    ("it is kept", {"on_invalid": "keep"}),
    ("all conversations of a file, out of order", {"sessions_by": "file", "conversations": "all"}),
)
def test_a_mixed_file_is_refused_as_specified_where_an_option_is_given(here, said):
    lines = list(mixed("abab"))
    lines[3]["timestamp"] = 1
    write_log(here / "logs/day.jsonl", *lines)
    summary = convert("logs", "out", Options(anonymize=False, **said))
    assert dict(summary.left_out) == {"session-id-mismatch": 1}
    assert (summary.written, summary.complete, summarised(summary)) == (0, False, "")


@cases(
    "arguments, code",
    ("no option", [], 0),
    ("a file is a session", ["--sessions-by", "file"], 3),
    ("what is invalid is skipped", ["--on-invalid", "skip"], 3),
    ("the run is stopped", ["--on-invalid", "abort"], 1),
)
def test_the_exit_code_says_whether_the_file_was_grouped_or_refused(here, command, arguments, code):
    write_log(here / "logs/day.jsonl", *mixed("abab"))
    assert command("convert", "logs", "--no-anonymize", *arguments).code == code


def test_an_option_in_the_settings_file_counts_as_given(here, command):
    write_log(here / "logs/day.jsonl", *mixed("abab"))
    put("chatsquash.toml", b'[convert]\non-invalid = "skip"')
    assert command("convert", "logs", "--no-anonymize").code == 3


def test_the_summary_and_one_finding_of_each_file_say_so(here):
    write_log(here / "logs/a.jsonl", *mixed("abab"))
    write_log(here / "logs/b.jsonl", *mixed("cdcd"))
    write_log(here / "logs/c.jsonl", *mixed("e"))
    summary = convert("logs", "out", DEFAULT)
    assert summarised(summary) == "2 files with several sessions, by session id"
    assert [(each["session"], each["severity"]) for each in findings("grouped-by-id")] == [("a", "info"), ("c", "info")]


def test_the_summary_says_so_where_a_filter_leaves_the_first_session_out(here):
    write_log(here / "logs/a.jsonl", *mixed("abab"))
    summary = convert("logs", "out", Options(anonymize=False, max_turns=1, cleanup_goose=False))
    assert summarised(summary) == "1 file with several sessions, by session id"


def test_a_file_of_a_logger_that_is_known_to_mix_is_no_deviation_and_not_reported(here):
    rows = [
        {"call_type": "acompletion", "messages": line["request"]["messages"], "response": line["response"],
         "startTime": line["timestamp"], "session_id": line["session_id"]} for line in mixed("abab")
    ]  # fmt: skip
    write_log(here / "logs/a.jsonl", *rows)
    summary = convert("logs", "out", DEFAULT)
    assert (summary.written, summary.grouped_files) == (2, 0)


def test_lines_without_an_id_are_a_session_of_their_own(here):
    lines = list(mixed("abab"))
    nameless = log_line("nobody", at=9)
    del nameless["session_id"]
    write_log(here / "logs/day.jsonl", *lines, nameless)
    convert("logs", "out", DEFAULT)
    assert users(here / "out") == [*MIXED, ["nobody"]]


def stored(here, kind, data):
    """A file with these bytes, plain, compressed or in an archive; returns the folder."""
    (here / "logs").mkdir()
    if kind == "plain":
        (here / "logs/day.jsonl").write_bytes(data)
    elif kind == "compressed":
        with gzip.open("logs/day.jsonl.gz", "wb") as file:
            file.write(data)
    else:
        with zipfile.ZipFile("logs/day.zip", "w") as archive:
            archive.writestr("day.jsonl", data)
    return "logs"


@pytest.mark.parametrize("kind", ["plain", "compressed", "in an archive"])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_records_are_those_of_grouping_by_id_wherever_the_file_is(here, kind, workers):
    lines = [{**line, "padding": "x" * (4 << 20)} for line in mixed("abab")]  # enough for two workers
    logs = stored(here, kind, b"\n".join(map(orjson.dumps, lines)))
    options = Options(anonymize=False, group_by="none", workers=workers, max_expansion=10_000)
    convert(logs, "out", options)
    convert(logs, "by_id", Options(anonymize=False, group_by="none", sessions_by="id", max_expansion=10_000))
    assert users(here / "out") == MIXED
    assert (here / "out/conversations.jsonl").read_bytes() == (here / "by_id/conversations.jsonl").read_bytes()


def test_shards_give_what_one_run_gives(here):
    for name in "xyz":
        write_log(here / f"logs/{name}.jsonl", *mixed("abab"))
    divide("logs", "out", DEFAULT, 2)
    for number in (1, 2):
        convert_shard(here / "out", Shard(number, 2), DEFAULT)
    merge(here / "out")
    convert("logs", "whole", DEFAULT)
    assert (here / "out/conversations.jsonl").read_bytes() == (here / "whole/conversations.jsonl").read_bytes()


def test_a_second_run_takes_the_sessions_over_and_sees_what_was_added(here):
    lines = list(mixed("abab"))
    write_log(here / "logs/a.jsonl", *lines)
    write_log(here / "logs/b.jsonl", *lines[:1])
    convert("logs", "out", DEFAULT)
    assert convert("logs", "out", DEFAULT).unchanged
    write_log(here / "logs/b.jsonl", *lines[:3])
    assert convert("logs", "out", DEFAULT).reused == 2
    convert("logs", "fresh", DEFAULT)
    again, fresh = comparable("out"), comparable("fresh")
    assert again["conversations.jsonl"] == fresh["conversations.jsonl"]
    assert again["reports/findings.jsonl"] == fresh["reports/findings.jsonl"]


def test_other_commands_see_the_same_sessions(here, command):
    write_log(here / "logs/day.jsonl", *mixed("abab"))
    convert("logs", "out", DEFAULT)
    assert [each["session"] for each in inspect_as_json(["logs"], DEFAULT)] == ["a", "b"]
    assert sessions("logs") == [("a", None), ("b", None)]
    assert [each.session for each in convert_session("logs/day.jsonl", DEFAULT)] == ["a", "b"]
    data = (here / "logs/day.jsonl").read_bytes()
    assert [each.session for each in convert_session(data.splitlines(), DEFAULT)] == ["a", "b"]
    assert verify(here / "out", logs=True).problems == []
    command("translate", "logs/day.jsonl", "--to", "anthropic", "--output", "chats")
    assert sorted(path.name for path in (here / "chats").iterdir()) == ["a.json", "b.json"]
    viewed = SessionLogs(ViewerResult(here / "out"))
    assert [viewed.look(at).outcome.session for at in (0, 1)] == ["a", "b"]
    listed = [json.loads(line) for line in command("list", "logs", "--json").out.splitlines()]
    assert [each["session"] for each in listed] == ["a", "b"]


def test_agents_files_are_joined_with_the_sessions_of_a_mixed_file(here):
    write_log(here / "logs/day.jsonl", *mixed("abab"))
    assert convert("logs", "out", Options(anonymize=False, group_by="none", join=True)).written == 2


def test_a_mixed_file_is_not_read_to_its_end_before_it_is_split(here):
    write_log(here / "log.jsonl", *mixed("aabbb"))
    with (here / "log.jsonl").open("rb", buffering=0) as file:
        items = Reader(Options(sessions_by="file")).read(file, Log("log.jsonl", "log.jsonl", "log.jsonl", 0)).items
        watched = until_mixed(items)
        assert [next(watched).session_id for _ in range(3)] == ["a", "a", "b"]
        with pytest.raises(MixedSessionsError):
            next(watched)
        assert [each.line for each in items] == [5]


# Without ids, nothing says which lines are a session


def test_unrelated_conversations_without_ids_end_with_exit_code_3_and_their_record(here, command):
    write_log(here / "logs/a.jsonl", *nameless(by_turns)())
    ended = command("convert", "logs", "--no-anonymize")
    assert ended.code == 3
    assert len((here / "out/2026-01-13.jsonl").read_bytes().splitlines()) == 1
    assert "most replies of 1 log skipped" in ended.err
    assert ended.err.splitlines()[-1] == "4 of 6 replies are not in any record; add --complete to keep them"


@cases(
    "log, arguments",
    ("one conversation without ids", nameless(grows), []),
    ("several conversations with one id", by_turns, []),
    ("all conversations are written", nameless(by_turns), ["--conversations", "main"]),
    ("requests that continue each other are a session", nameless(by_turns), ["--sessions-by", "chain"]),
    ("every reply is kept", nameless(by_turns), ["--complete"]),
)
def test_other_files_without_a_loss_of_that_kind_end_with_exit_code_0(here, command, log, arguments):
    write_log(here / "logs/a.jsonl", *log())
    assert command("convert", "logs", "--no-anonymize", *arguments).code == 0
