"""``read`` gives the sessions that ``convert`` writes, one at a time."""

import json
import tarfile
from pathlib import Path

import pytest

from chatsquash import Options, convert, read
from chatsquash.core.errors import StoppedError, UsageError
from tests.conftest import log_line, write_log
from tests.generate import ROOT
from tests.outputs import report

UNWRITTEN = dict.fromkeys(("file", "row", "offset", "record"))
SAMPLES = str(ROOT / "sample_logs")


def plain(**options):
    return Options(**{"anonymize": False, **options})


def line(prompt, session, second=0):
    return log_line(prompt, session_id=session, timestamp=f"2026-01-13T10:00:{second:02}Z")


@pytest.fixture
def logs(here):
    for name in ("a", "b", "c"):
        write_log(here / f"logs/{name}.jsonl", line(f"I am {name}", name))
    return here / "logs"


def same_as_converted(logs, options):
    """Whether what is read is what is written: records, findings, facts but where the records stand."""
    sessions = list(read(logs, options))
    convert(logs, "out", options)
    files = [
        path.read_bytes().splitlines() for path in sorted(Path("out").rglob("*.jsonl")) if path.parent.name != "reports"
    ]
    told = [[each.code, each.file, each.line, each.text] for session in sessions for each in session.findings]
    kept = [[each["code"], each["file"], each["line"], each["text"]] for each in report("findings.jsonl")]
    rows = [row for row in report("sessions.jsonl") if row["record"] in (None, 1)]
    assert [record for session in sessions for record in session.records] == [
        json.loads(line) for file in files for line in file
    ]
    assert told == kept[: len(told)]  # behind them stand those about no session
    assert [session.facts for session in sessions] == [{**row, **UNWRITTEN} for row in rows]
    return sessions


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"workers": 2},
        {"sessions_by": "id"},
        {"conversations": "all"},
        {"preset": "hf", "format": "jsonl"},
        {"min_turns": 3},
        {"duplicates": "prefix"},
        {"redact": "secrets,paths"},
        {"limit": 7},
    ],
    ids=str,
)
def test_what_is_read_of_the_samples_is_what_is_written(here, options):
    assert same_as_converted(SAMPLES, Options(group_by="none", **options))


def test_sessions_that_go_on_in_other_files_are_read_whole(here):
    first = line("One", "a")
    write_log(here / "logs/a.jsonl", first)
    messages = [
        *first["request"]["messages"],
        first["response"]["choices"][0]["message"],
        {"role": "user", "content": "Two"},
    ]
    write_log(here / "logs/b.jsonl", {**first, "timestamp": "2026-01-13T10:00:09Z", "request": {"messages": messages}})
    (session,) = same_as_converted("logs", plain(group_by="none", sessions_by="chain"))
    assert len(session.records[0]["messages"]) == 4


def test_archives_are_read_and_leave_nothing(logs, monkeypatch, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    with tarfile.open("x.tar.gz", "w:gz") as archive:
        archive.add("logs")
    sessions = read("x.tar.gz", plain())
    assert next(sessions).records[0]["messages"][0]["content"] == "I am a"
    assert list(temporary.iterdir())
    sessions.close()
    assert not list(temporary.iterdir())


def test_a_session_is_converted_when_it_is_asked_for(logs):
    write_log(logs / "b.jsonl", "{no JSON")
    sessions = read(logs, plain(strict=True))
    assert next(sessions).facts["session"] == "a"
    with pytest.raises(StoppedError, match=r"logs/b\.jsonl:1"):
        next(sessions)


def test_sessions_without_a_record_are_given_too(logs):
    write_log(logs / "b.jsonl", "{no JSON")
    found = {session.facts["log"][-7:]: session for session in read("logs", plain(where="turns > 5"))}
    assert found["a.jsonl"].records == found["b.jsonl"].records == []
    assert (found["a.jsonl"].refused, found["a.jsonl"].facts["filtered"]) == ("filtered", "--where")
    assert (found["b.jsonl"].refused, found["b.jsonl"].facts["filtered"]) == ("empty-session", None)


def test_nothing_to_read_is_an_error(here):
    with pytest.raises(UsageError, match="nowhere"):
        next(read("nowhere", plain()))
