"""Files that hold no id, and that an agent calls alike in each session, give the id that their folders tell."""

import shutil
import zipfile
from pathlib import Path

import pytest

from chatsquash import Options, convert
from tests.outputs import report

SAMPLES = Path(__file__).parents[2] / "sample_logs"
CLINE = SAMPLES / "cline/1772000000000/api_conversation_history.json"
KIMI = SAMPLES / "kimi_cli/k1/context.jsonl"
CODE = SAMPLES / "kimi_code/agents/main/wire.jsonl"
AIDER = SAMPLES / "aider/.aider.chat.history.md"
COPILOT = SAMPLES / "copilot_cli/cp-1/events.jsonl"
ATIF = SAMPLES / "documents/atif-river-gauge.json"

ROWS = [
    ("tasks/1/api_conversation_history.json", CLINE, ["1"]),
    ("tasks/1/claude_messages.json", CLINE, ["1"]),
    ("w/s1/context.jsonl", KIMI, ["s1"]),
    ("w/s1/context_2.jsonl", KIMI, ["s1"]),
    ("w/s1/subagents/a/context.jsonl", KIMI, ["s1"]),
    ("w/s1/mine.jsonl", KIMI, ["mine"]),
    ("w/session_1/agents/main/wire.jsonl", CODE, ["session_1"]),
    ("w/session_1/agents/agent-0/wire.jsonl", CODE, ["session_1"]),
    ("w/session_1/wire.jsonl", CODE, ["session_1"]),
    ("tides/.aider.chat.history.md", AIDER, ["tides/1", "tides/2"]),
]


def named(**options):
    """The ids of the sessions of ``logs``, as a run reports them."""
    convert("logs", "out", Options(anonymize=False, **options))
    return [row["session"] for row in report("sessions.jsonl")]


def put(path, source):
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, path)


@pytest.mark.parametrize(("path", "source", "names"), ROWS, ids=[row[0] for row in ROWS])
def test_the_folder_of_a_session_is_its_id(here, path, source, names):
    put(here / "logs" / path, source)
    assert named() == names


def test_two_tasks_have_two_ids(here):
    for task in ("1", "2"):
        put(here / f"logs/{task}/api_conversation_history.json", CLINE)
    assert named() == ["1", "2"]


@pytest.mark.parametrize("given", ["logs/1", "logs/1/api_conversation_history.json", "."], ids=str)
def test_the_id_is_the_same_from_wherever_the_file_is_named(here, monkeypatch, given):
    put(here / "logs/1/api_conversation_history.json", CLINE)
    if given == ".":
        monkeypatch.chdir("logs/1")
    convert(given, here / "out", Options(anonymize=False))
    monkeypatch.chdir(here)
    assert [row["session"] for row in report("sessions.jsonl")] == ["1"]


def test_a_folder_in_an_archive_tells_it_too(here):
    (here / "logs").mkdir()
    with zipfile.ZipFile(here / "logs/tasks.zip", "w") as archive:
        archive.write(CLINE, "17/api_conversation_history.json")
        archive.write(KIMI, "context.jsonl")
    assert sorted(named()) == ["17", "context"]


def test_an_id_in_the_file_counts_more_than_its_folder(here):
    put(here / "logs/other/events.jsonl", COPILOT)
    assert named() == ["cp-1"]


def test_a_session_whose_beginning_is_lost_is_told_by_its_folder(here):
    put(here / "logs/cp-9/events.jsonl", COPILOT)
    lines = COPILOT.read_text().splitlines(keepends=True)
    (here / "logs/cp-9/events.jsonl").write_text("".join(line for line in lines if "session.start" not in line))
    put(here / "logs/trial-3/agent/trajectory.json", ATIF)
    text = ATIF.read_text()
    (here / "logs/trial-3/agent/trajectory.json").write_text(text.replace('"session_id"', '"unnamed"'))
    assert named() == ["cp-9", "trial-3"]
