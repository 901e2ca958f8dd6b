"""``--success``: which conversations count as successful, for each source of the table in docs/how-to/filters.md."""

import re
import tarfile
from pathlib import Path

import pytest

from chatsquash import Options, convert, with_shorthands
from tests.conftest import assistant, cases, log_line, user, write_log

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs/how-to/filters.md"
OWN, NAMED = "Claude Code, including gateway logs", "Codex, Factory Droid, mini-SWE-agent, OpenHands, Qwen Code"
REWARDED, OTHERS = "ATIF, verifiers, Inspect AI", "all others"
SUCCESS = with_shorthands(Options(anonymize=False, replace=True), "success")


def ran(command, content):
    function = {"name": "bash", "arguments": f'{{"command": "{command}"}}'}
    call = {"id": "call_1", "type": "function", "function": function}
    return [assistant(None, tool_calls=[call]), {"role": "tool", "tool_call_id": "call_1", "content": content}]


def test_the_page_lists_the_sources_that_are_tested():
    section = PAGE.read_text(encoding="utf-8").partition("## Only successful conversations")[2].partition("\n## ")[0]
    assert re.findall(r"^\| ([^|]+?) \|", section, re.MULTILINE)[1:] == [REWARDED, OWN, NAMED, OTHERS]


@cases(
    "source, logs, written",
    (REWARDED, "atif/a_subagent_and_what_goes_on", 1),
    (REWARDED, "verifiers/results_of_version_0", 1),
    (REWARDED, "inspect_ai/tools_and_scores_of_a_sample", 1),
)
def test_a_reward_of_1_counts(here, source, logs, written):
    folder = TESTS / "golden" / logs / "logs"
    assert convert(folder, "out", SUCCESS).written == written
    more = with_shorthands(Options(anonymize=False, replace=True, where="reward < 1"), "success")
    assert convert(folder, "out", more).written == 0


RECORDED = [
    (OWN, "claude_code-resume", "home", 1),
    (OWN, "claude_code-resume", "log", 1),
    (NAMED, "codex-parallel", "home", 1),
    (NAMED, "codex-parallel", "log", 1),
    (NAMED, "droid-fork", "log", 1),
    (NAMED, "mini_swe_agent-tools", "home", 1),
    (NAMED, "openhands-resume", "home", 1),
    (NAMED, "qwen_code-parallel", "home", 1),
    (OTHERS, "gemini_cli-resume", "home", 0),
    (OTHERS, "opencode-fork", "home", 0),
    (OTHERS, "pi-resume", "home", 0),
]


@pytest.mark.parametrize("source, recording, folder, written", RECORDED, ids=[f"{row[1]} {row[2]}" for row in RECORDED])
def test_exit_codes_of_agents_as_they_were_recorded(here, monkeypatch, source, recording, folder, written):
    """The commands of the recordings run no tests; here each counts as one that does, but for the end of a session."""
    with tarfile.open(TESTS / f"agents/recordings/{recording}.tar.xz") as archive:
        archive.extractall(here, filter="data")
    is_run = lambda command: "code" if command and "COMPLETE_TASK" not in command else None  # noqa: E731
    monkeypatch.setattr("chatsquash.session.ending.runs_tests", is_run)
    assert convert(folder, "out", SUCCESS).written == written


@cases(
    "what, messages, finish, written",
    ("an exit code", [user("go"), *ran("pytest -q", "3 passed\nExit code: 0")], "stop", 1),
    ("another exit code", [user("go"), *ran("pytest -q", "1 failed\nExit code: 1")], "stop", 0),
    ("no exit code", [user("go"), *ran("pytest -q", "3 passed")], "stop", 0),
    ("a command that runs no tests", [user("go"), *ran("ls", "Exit code: 0")], "stop", 0),
    ("thanks", [user("go"), assistant("Done."), user("Thanks, it works!")], "stop", 1),
    ("a complaint", [user("go"), assistant("Done."), user("It still fails.")], "stop", 0),
    ("an exit code counts more than thanks", [*ran("make", "exit code 2"), user("Thanks for trying!")], "stop", 0),
    ("a reply that met its limit", [user("go"), *ran("pytest", "Exit code: 0")], "length", 0),
    ("a reply whose end is not logged", [user("go"), *ran("pytest", "Exit code: 0")], None, 1),
    ("nothing", [user("go")], "stop", 0),
)
def test_all_other_sources(here, what, messages, finish, written):
    line = log_line(*messages, reply="Done.")
    line["response"]["choices"][0] |= {"finish_reason": finish} if finish else {}
    write_log(here / "logs/a.jsonl", line)
    assert convert("logs", "out", SUCCESS).written == written
