"""``chatsquash sources``, and ``convert --agent``: what agents keep, by names, sizes and times alone."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from chatsquash.formats import documents
from chatsquash.inspect import agents
from chatsquash.sources.agent_files import expand_pattern
from tests.conftest import cases

SAMPLES = Path(__file__).parents[2] / "sample_logs"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder in which two agents keep sessions."""
    for name in [name for name in os.environ if name.startswith(("XDG_", "CLAUDE_", "PI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".pi/agent/sessions/--w--").mkdir(parents=True)
    shutil.copy(next((SAMPLES / "pi").iterdir()), tmp_path / ".pi/agent/sessions/--w--/a.jsonl")
    (tmp_path / ".claude/projects/w").mkdir(parents=True)
    shutil.copy(next((SAMPLES / "documents").glob("claude_code*")), tmp_path / ".claude/projects/w/b.jsonl")
    return tmp_path


def test_what_is_there_is_listed_with_the_command_that_converts_it(command, home):
    ended = command("sources")
    assert ended.code == 0
    head, claude, pi, told = ended.out.splitlines()
    assert head.split() == ["agent", "files", "MB", "first", "last", "command"]
    assert claude.split()[:2] == ["claude_code", "1"]
    assert pi.endswith("chatsquash convert --agent pi -o out-pi")
    assert told.startswith("Claude Code deletes files 30 days after their last change")


def test_the_table_as_json(command, home):
    found = json.loads(command("sources", "--json").out)
    assert [(each["agent"], each["files"]) for each in found] == [("claude_code", 1), ("pi", 1)]


def test_a_compressed_copy_of_a_file_counts_once(command, home):
    folder = home / ".codex/sessions/2026/01/16"
    folder.mkdir(parents=True)
    for name in ("rollout-a.jsonl", "rollout-a.jsonl.zst", "rollout-b.jsonl.zst"):
        (folder / name).write_bytes(b"x" * 10)
    codex = json.loads(command("sources", "--json").out)[1]
    assert (codex["agent"], codex["files"], codex["copies"], codex["bytes"]) == ("codex", 2, 1, 20)
    assert command("sources").out.splitlines()[2].split()[:2] == ["codex", "2"]


def test_the_clean_up_follows_the_settings(home):
    session, now = home / ".claude/projects/w/b.jsonl", time.time()
    (home / ".claude/settings.json").write_text('{"cleanupPeriodDays": 10}')
    os.utime(session, (now, now - 11 * 86_400))
    assert "10 days" in agents.as_text()
    assert "1 file (0.0 MB) when it next starts" in agents.as_text()
    os.utime(session, (now, now - 5 * 86_400))
    assert "1 file (0.0 MB) within 7 days" in agents.as_text()
    (home / ".claude/settings.json").write_text("{")
    assert "30 days" in agents.as_text()


def test_nothing_of_an_agent_is_opened(home, monkeypatch):
    real = Path.open

    def refuse(path, *given, **named):
        assert path.suffix == ".json", path
        return real(path, *given, **named)

    monkeypatch.setattr(Path, "open", refuse)
    assert "pi" in agents.as_text()


def test_an_agent_is_converted_from_where_it_keeps_its_files(command, home):
    ended = command("convert", "--agent", "pi", "-o", "out", "--no-anonymize")
    assert (ended.code, ended.out) == (0, "")
    assert "1 record written to out" in ended.err


def test_an_agent_may_be_named_with_hyphens(command, home):
    ended = command("convert", "--agent", "gemini-cli")
    assert (ended.code, ended.err) == (2, command("convert", "--agent", "gemini_cli").err)
    assert "error: --agent gemini_cli: no files found" in ended.err


def test_an_agent_that_is_not_known_or_keeps_nothing_is_an_error(command, home):
    assert "unknown agent; expected one of" in command("convert", "--agent", "nobody").err
    ended = command("convert", "--agent", "droid")
    assert ended.code == 2
    assert f"no files found; searched {home}/.factory/sessions/" in ended.err


PLACELESS = [
    (
        "aider",
        "has no single folder for all sessions; its files are in projects (.aider.chat.history.md): pass them as LOGS",
    ),
    ("swe_agent", "has no fixed folder: pass its files as LOGS"),
    ("chatgpt", "has no fixed folder: pass its files as LOGS"),
    ("crush", "; its files are in projects (.crush/crush.db, .opencode/opencode.db): pass them as LOGS"),
]


@pytest.mark.parametrize(("name", "said"), PLACELESS, ids=[row[0] for row in PLACELESS])
def test_an_agent_that_is_read_and_has_no_folder_of_its_own_says_what_to_name(command, home, name, said):
    ended = command("convert", "--agent", name)
    assert ended.code == 2
    assert "unknown agent" not in ended.err
    assert ended.err.rstrip().endswith(said)


def test_an_empty_machine_says_so(command, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert "no files of known agents found; pass your logs: chatsquash convert LOGS" in command("sources").out


@cases(
    "pattern, variables, expected",
    ("${FOO:-~/.foo}/a/*.jsonl", {}, "HOME/.foo/a/*.jsonl"),
    ("${FOO:-~/.foo}/a/*.jsonl", {"FOO": "/x"}, "/x/a/*.jsonl"),
    ("<data>/o.db", {}, "HOME/.local/share/o.db"),
    ("<data>/o.db", {"XDG_DATA_HOME": "/d"}, "/d/o.db"),
    ("${NOTHING:-}", {}, ""),
)
def test_a_place_is_filled_with_what_its_names_stand_for(pattern, variables, expected, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert expand_pattern(pattern) == expected.replace("HOME", str(tmp_path))


def test_every_agent_with_files_of_its_own_says_where_they_lie():
    exports = {"atif", "aider", "batch", "chatgpt", "claude_ai", "crush", "inspect_ai", "mini_swe_agent", "open_webui", "openhands", "otel", "sts", "swe_agent", "verifiers"}  # fmt: skip
    clients = {
        "clippy",
        "model_messages",
        "openai_agents",
        "oumi",
        "oumi_history",
        "portable",
        "pydantic_ai",
        "vercel_ai",
    }
    assert {name for name in documents.names() if not documents.get_format(name).LOCATIONS} <= exports | clients
