"""``convert_session`` gives what ``convert`` writes for the same input."""

import json
from pathlib import Path

import pytest

from chatsquash import Options, convert, convert_session
from tests.conftest import cases, log_line, write_log

SAMPLES = Path(__file__).parents[2] / "sample_logs"
LOGS = sorted(path for path in SAMPLES.rglob("*") if path.suffix in (".jsonl", ".json"))
MIXED = [log_line(f"m{at}", session_id=name, at=at) for at, name in enumerate(("s1", "s2", "s1"))]
CALLED = {"role": "assistant", "content": None, "toolCalls": [{"id": "a", "name": "ls", "arguments": {}}]}
PORTABLE = [{"role": "user", "content": "a"}, CALLED]


def written(log: Path, folder: Path, options: Options) -> list[bytes]:
    """The records that a run writes."""
    convert(log, folder, options)
    return [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().splitlines()]


def records(source, options: Options) -> list[bytes]:
    return [outcome.record for outcome in convert_session(source, options) if outcome.record is not None]


@pytest.mark.parametrize("sessions_by", [None, "file", "id"])
@pytest.mark.parametrize("log", LOGS, ids=[log.name for log in LOGS])
def test_the_samples_give_what_a_run_writes(tmp_path, log, sessions_by):
    options = Options(group_by="none", sessions_by=sessions_by)
    expected = written(log, tmp_path, options)
    assert records(log, options) == expected
    if log.parent.name not in ("apim", "chatreplay"):  # whose lines are made of a file
        assert records(log.read_bytes().split(b"\n"), options) == expected


def test_some_samples_hold_several_sessions():
    several = {log.name for log in LOGS if len(convert_session(log)) > 1}
    conversations = {"conversations.json", "primes.chatreplay.json"}
    assert several == {"oumi-bakery-training.jsonl", "oumi_history-choir.json", "proxy.jsonl", *conversations}


@cases("lines, options, sessions",
    ("a log that mixes sessions is one as a file", MIXED, {}, [None]),
    ("and several by their ids", MIXED, {"sessions_by": "id"}, ["s1", "s2"]),
    ("each conversation of a document is one", list(map(json.dumps, [PORTABLE, [*PORTABLE, *PORTABLE]])), {}, ["x", "x"]),
    ("the first alone where a file is a session", list(map(json.dumps, [PORTABLE, [*PORTABLE, *PORTABLE]])), {"sessions_by": "file"}, ["x"]),
    ("what filters leave out has no record", MIXED, {"sessions_by": "id", "min_turns": 2}, [None, None]),
    ("what is limited is not there", MIXED, {"sessions_by": "id", "limit": 1}, ["s1"]),
    ("a record is there once", [log_line("x", session_id=n) for n in "ab"], {"sessions_by": "id", "drop_duplicates": True}, ["a", None]),
)  # fmt: skip
def test_options_decide_as_in_a_run(tmp_path, lines, options, sessions):
    log = write_log(tmp_path / "x.jsonl", *lines)
    chosen = Options(group_by="none", anonymize=False, **options)
    for source in (log, log.read_bytes().splitlines()):
        outcomes = convert_session(source, chosen)
        assert [outcome.record is not None for outcome in outcomes] == [name is not None for name in sessions]
        assert [outcome.left_out is None for outcome in outcomes] == [name is not None for name in sessions]
    found = [outcome.session for outcome in convert_session(log, chosen) if outcome.record]
    assert found == [name for name in sessions if name]
    assert records(log, chosen) == written(log, tmp_path / "out", chosen)


def test_what_cannot_be_opened_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        convert_session(tmp_path / "nothing.jsonl")
    with pytest.raises(IsADirectoryError):
        convert_session(tmp_path)


def test_lines_are_called_session_wherever_they_were_split(tmp_path):
    outcomes = convert_session([json.dumps(line) for line in MIXED], Options(sessions_by="id", anonymize=False))
    assert {found.file for outcome in outcomes for found in outcome.findings} == {"session"}
    assert [outcome.account.lines for outcome in outcomes] == [2, 1]
