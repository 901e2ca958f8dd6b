"""``archive status``: sessions, what agents delete when, and what is not archived, at 80 and 120 columns."""

import json
import os
import time

import pytest

from chatsquash.archive import status

DAY = 86_400


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder with the sessions of five agents."""
    for name in [each for each in os.environ if each.startswith(("XDG_", "CLAUDE_", "GEMINI_", "HERMES_", "CODEX_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    for path, days in (
        (".claude/projects/w/a.jsonl", 40),
        (".claude/projects/w/b.jsonl", 26),
        (".claude/projects/w/b/subagents/agent-1.jsonl", 27),
        (".claude/projects/w/c.jsonl", 1),
        (".codex/sessions/2026/01/16/rollout-a.jsonl", 400),
        (".gemini/tmp/p/chats/session-a.jsonl", 3),
        (".hermes/state.db", 2),
        (".cursor/projects/p/agent-transcripts/x/x.jsonl", 2),
    ):
        file = tmp_path / path
        file.parent.mkdir(parents=True) if not file.parent.exists() else None
        file.write_text("{}\n")
        os.utime(file, (time.time() - days * DAY,) * 2)
    return tmp_path


def rows(width=120, archived=None):
    return status.as_lines(status.read_status(time.time(), archived), width)


def test_the_table(home):
    lines = rows()
    assert lines[0].split() == ["agent", "sessions", "oldest", "deleted", "in", "7", "days", "next"]
    table = {line.split()[0]: line.split()[1:] for line in lines[1:6]}
    assert [table["claude_code"][0], *table["claude_code"][2:]] == ["3", "30", "days", "3", "start"]
    assert table["codex"][2:] == ["never", "-", "-"]
    assert table["cursor"][2:] == ["unknown", "-", "-"]
    assert table["gemini_cli"][2:5] == ["30", "days", "0"]
    assert table["hermes"][:2] == ["1", "db"]


def test_notes_give_the_source_of_a_period(home):
    (home / ".claude/settings.json").write_text('{"cleanupPeriodDays": 5}')
    (home / ".hermes/config.yaml").write_text("sessions:\n  auto_prune: false\n")
    text = "\n".join(rows(400))
    assert "claude_code: cleanupPeriodDays in ~/.claude/settings.json; sessions of the desktop app are exempt" in text
    assert "hermes: sessions.auto_prune in ~/.hermes/config.yaml: nothing is deleted" in text
    assert "gemini_cli: default of general.sessionRetention; sessions without" in text
    assert "cursor: not known when Cursor deletes sessions; its source is not available" in text
    assert "\ncodex: " not in text


def test_a_problem_of_the_settings_is_reported(home):
    (home / ".claude/settings.json").write_text("{")
    assert "malformed file, so nothing is deleted until that is fixed" in "\n".join(rows(400))


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_the_terminal(home, width):
    (home / ".claude/settings.json").write_text('{"cleanupPeriodDays": 0}')
    for number in range(1_234):
        file = home / f".continue/sessions/session-{number}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    assert all(len(line) <= width for line in rows(width, archived=lambda _: True))


def test_archived_files_are_counted_and_missing_ones_reported(home):
    lines = rows(400, archived=lambda file: "/b" not in file.path)
    claude = next(line for line in lines if line.startswith("claude_code"))
    assert claude.endswith("  2")
    assert "2 files due within 7 days and not archived" in "\n".join(lines)


def test_the_table_as_json(home):
    claude, codex, cursor, *_ = json.loads(json.dumps(status.as_dicts(status.read_status(time.time()))))
    assert (claude["agent"], claude["sessions"], claude["files"], claude["soon"]) == ("claude_code", 3, 4, 3)
    assert (claude["deletes"], claude["days"], claude["source"]) == (True, 30, None)
    assert claude["evidence"].startswith("@anthropic-ai/claude-code 2.")
    assert (codex["deletes"], codex["next"]) == (False, None)
    assert cursor["deletes"] is None
    assert "archived" not in claude


def test_an_empty_machine_says_so(home, monkeypatch, tmp_path_factory):
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("empty")))
    assert rows()[0].startswith("no files of known agents found")


def test_the_command_counts_what_an_archive_contains_unchanged(command, home):
    store = home / "store"
    assert command("archive", "--agent", "all", "--to", store, "--machine", "m").code == 0
    table = json.loads(command("archive", "status", "--to", store, "--machine", "m", "--json").out)
    assert [(each["archived"], each["unsaved"]) for each in table if each["agent"] == "claude_code"] == [(4, 0)]
    changed = home / ".claude/projects/w/b.jsonl"
    changed.write_text("{}\n{}\n")
    os.utime(changed, (time.time() - 26 * DAY,) * 2)
    table = json.loads(command("archive", "status", "--to", store, "--machine", "m", "--json").out)
    assert [(each["archived"], each["unsaved"]) for each in table if each["agent"] == "claude_code"] == [(3, 1)]
    table = json.loads(command("archive", "status", "--to", store, "--json").out)
    assert {each["archived"] for each in table} == {0}


def test_the_command_without_an_archive(command, home):
    ended = command("archive", "status")
    assert ended.code == 0
    assert ended.out.splitlines()[1].split()[:2] == ["claude_code", "3"]
    assert command("archive", "status", "--machine", "m").code == 2
    assert "is not an archive" in command("archive", "status", "--to", home).err
