"""When agents delete their own sessions, from their settings.

What each agent does was established from the package or repository that its ``RETENTION`` names as evidence. Claude
Code 2.1.332 and Gemini CLI 0.61.0 were also run on folders with old sessions, with the settings of the rows below.
"""

import json
import os
import time
from pathlib import Path

import pytest

from chatsquash.formats import documents
from chatsquash.formats import retention as retentions
from chatsquash.formats.retention import Period
from chatsquash.inspect.retention import deletions, owner, read_periods
from chatsquash.inspect.settings_files import UnreadableError, read_settings
from chatsquash.sources.agent_files import AgentFile
from tests.conftest import cases

DAY = 86_400
NOW = 1_800_000_000.0
DELETING = {"claude_code", "gemini_cli", "hermes", "openclaw"}
UNKNOWN = {"antigravity", "cursor"}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home folder without settings."""
    for name in [each for each in os.environ if each.startswith(("XDG_", "CLAUDE_", "GEMINI_", "HERMES_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    # The settings of the system's administrator; read in place of those in /etc.
    monkeypatch.setenv("GEMINI_CLI_SYSTEM_SETTINGS_PATH", str(tmp_path / "system.json"))
    monkeypatch.setenv("GEMINI_CLI_SYSTEM_DEFAULTS_PATH", str(tmp_path / "defaults.json"))
    return tmp_path


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def general(name):
    return read_periods(documents.get_format(name).RETENTION or retentions.UNKNOWN).general


def test_the_retention_of_every_agent_is_known_or_said_to_be_unknown():
    agents = [name for name in documents.names() if documents.get_format(name).LOCATIONS]
    retentions = {name: documents.get_format(name).RETENTION or retentions.UNKNOWN for name in agents}
    assert {name for name, each in retentions.items() if each.period} == DELETING
    assert {name for name, each in retentions.items() if not each.is_known} == UNKNOWN
    assert all(each.evidence for each in retentions.values() if each.is_known)
    assert all(each.program for each in retentions.values())


def test_without_settings_the_defaults_apply():
    assert general("claude_code") == Period(30)
    assert general("gemini_cli") == Period(30)
    assert general("hermes") == Period()
    assert general("openclaw") == Period(size="10gb")
    assert general("codex") == Period()


INVALID = "cleanupPeriodDays is not a positive number of days, so nothing is deleted"


@cases(
    "settings, days, problem",
    ({"cleanupPeriodDays": 5}, 5, ""),
    ({"cleanupPeriodDays": 5.0}, 5, ""),
    ({"model": "m"}, 30, ""),
    ("0 was once 'keep none' and is now refused", {"cleanupPeriodDays": 0}, 30, INVALID),
    ({"cleanupPeriodDays": "5"}, 30, INVALID),
    ({"cleanupPeriodDays": True}, 30, INVALID),
    ({"cleanupPeriodDays": -1}, 30, INVALID),
    ({"cleanupPeriodDays": [5]}, 30, INVALID),
    ('{"cleanupPeriodDays": NaN}', 30, INVALID),
    ('{"cleanupPeriodDays": 1e999}', 30, INVALID),
    ("longer than any date", {"cleanupPeriodDays": 10**30}, None, ""),
    ("{broken", 30, "malformed file, so nothing is deleted until that is fixed"),
    ("comments", '{"cleanupPeriodDays": 5} // c', 30, "malformed file, so nothing is deleted until that is fixed"),
    ("[" * 100_000, 30, "malformed file, so nothing is deleted until that is fixed"),
    ("[]", 30, "no object, so nothing is deleted until that is fixed"),
)
def test_the_settings_of_claude_code(home, settings, days, problem):
    write(home / ".claude/settings.json", settings)
    period = general("claude_code")
    assert (period.days, period.problem) == (days, problem)


def test_a_project_of_claude_code_shortens_the_period_of_all_sessions(home):
    """Started in a project with 5 days, Claude Code deleted sessions of 10 days in all projects, despite 365 days."""
    write(home / ".claude/settings.json", {"cleanupPeriodDays": 365})
    write(home / "p/.claude/settings.json", {"cleanupPeriodDays": 5})
    assert general("claude_code").days == 365
    write(home / ".claude.json", {"projects": {str(home / "p"): {}, str(home / "none"): {}, "relative": {}}})
    assert general("claude_code") == Period(5, source=str(home / "p/.claude/settings.json"))
    write(home / "p/.claude/settings.local.json", {"cleanupPeriodDays": 400})
    assert general("claude_code").days == 365


@cases(
    "registry",
    "{",
    "[]",
    '{"projects": []}',
    '{"projects": {"/p\\u0000": {}}}',
    '{"projects": {"/\\ud800": {}}}',
    "[" * 9999,
)
def test_a_malformed_list_of_projects_is_the_same_as_none(home, registry):
    write(home / ".claude.json", registry)
    assert general("claude_code") == Period(30)


def test_a_malformed_file_of_a_project_pauses_only_that_project(home):
    write(home / "p/.claude/settings.json", "{")
    write(home / ".claude.json", {"projects": {str(home / "p"): {}}})
    assert general("claude_code") == Period(30)


GEMINI = [
    ({"maxAge": "5d"}, 5, None),
    ({"maxAge": "36h"}, 1.5, None),
    ({"maxAge": "2w"}, 14, None),
    ({"maxAge": "2m", "maxCount": 7}, 60, 7),
    ({"enabled": False}, None, None),
    ({"enabled": True}, 30, None),
    ({"maxAge": "12h", "minRetention": "1h"}, 0.5, None),
    ({"maxAge": ""}, None, None),
    ({"maxAge": "9" * 5000 + "d"}, None, None),
]


@cases("retention, days, most", *GEMINI)
def test_the_settings_of_gemini_cli(home, retention, days, most):
    write(home / ".gemini/settings.json", {"general": {"sessionRetention": retention}})
    period = general("gemini_cli")
    assert (period.days, period.most, period.problem) == (days, most, "")


@cases(
    "retention",
    ("shorter than the minimum", {"maxAge": "12h"}),
    {"maxAge": "soon"},
    {"maxAge": "0d"},
    {"maxAge": 5},
    {"maxCount": 0},
    {"maxCount": "many"},
)
def test_invalid_settings_of_gemini_cli_disable_its_deletion(home, retention):
    write(home / ".gemini/settings.json", {"general": {"sessionRetention": retention}})
    period = general("gemini_cli")
    assert not period.has_limit
    assert period.problem.endswith("so nothing is deleted")


def test_the_levels_of_gemini_cli(home):
    def level(path, **retention):
        write(home / path, {"general": {"sessionRetention": retention}})

    level("defaults.json", maxAge="90d", maxCount=50)
    assert (general("gemini_cli").days, general("gemini_cli").most) == (90, 50)
    level(".gemini/settings.json", maxAge="60d")
    assert (general("gemini_cli").days, general("gemini_cli").most) == (60, 50)
    level("system.json", enabled=False)
    assert not general("gemini_cli").has_limit


def test_a_project_of_gemini_cli_has_its_own_period(home):
    write(home / "p/.gemini/settings.json", '{"general": {"sessionRetention": {"maxAge": "3d" /* short */}}} // end')
    write(home / ".gemini/projects.json", {"projects": {str(home / "p"): "slug", str(home / "q"): "../..", "/r": 5}})
    periods = read_periods(documents.get_format("gemini_cli").RETENTION)
    assert periods.of(f"{home}/.gemini/tmp/slug/chats/a.jsonl").days == 3
    assert periods.of(f"{home}/.gemini/tmp/slug2/chats/a.jsonl").days == 30
    assert len(periods.projects) == 1


@cases(
    "settings, days",
    ("sessions:\n  auto_prune: true\n", 90),
    ("a: 1\nsessions:  # mine\n  auto_prune: yes # on\n  retention_days: 7\nb:\n  retention_days: 3\n", 7),
    ("sessions: {auto_prune: true, retention_days: 5}\n", 5),
    ("nested members are others", "sessions:\n  x:\n    auto_prune: true\n", None),
    ("sessions:\n  auto_prune: false\n  retention_days: 7\n", None),
    ("sessions:\n  auto_prune: true\n  retention_days: never\n", None),
    ("sessions:\n  auto_prune: true\n  retention_days: .nan\n", None),
    ("other:\n  auto_prune: true\n", None),
)
def test_the_settings_of_hermes(home, settings, days):
    write(home / ".hermes/config.yaml", settings)
    assert general("hermes").days == days


@cases(
    "settings, size",
    ({"session": {"maintenance": {"maxDiskBytes": "2gb"}}}, "2gb"),
    ({"session": {"maintenance": {"maxDiskBytes": False}}}, ""),
    ({"session": {"maintenance": {"mode": "warn"}}}, ""),
    ({"session": 5}, "10gb"),
)
def test_the_settings_of_openclaw(home, settings, size):
    write(home / ".openclaw/openclaw.json", settings)
    assert general("openclaw").size == size


def test_pipes_and_folders_are_not_settings(home):
    os.mkfifo(home / "pipe.json")
    (home / "folder.json").mkdir()
    for name in ("pipe.json", "folder.json"):
        with pytest.raises(UnreadableError, match="not a regular file"):
            read_settings(str(home / name))
    assert read_settings(str(home / "none.json")) is None
    assert read_settings("a\0b.json") is None


@cases(
    "content", "/*" * 500_000, '"' * 999_999, '"\\' * 500_000, "/* " + "*" * 999_999, "// " * 400_000, "a:" * 500_000
)
def test_hostile_settings_take_no_time(home, content):
    for name in ("a.json", "a.yaml"):
        (home / name).write_text(content)
        begin = time.process_time()
        try:
            read_settings(str(home / name), allows_comments=True)
        except UnreadableError:
            pass
        assert time.process_time() - begin < 2


def test_large_settings_are_refused(home):
    (home / "a.json").write_bytes(b" " * (5 << 20))
    with pytest.raises(UnreadableError, match="larger than 4 MiB"):
        read_settings(str(home / "a.json"))


def old(path, days):
    return AgentFile(path, 1, NOW - days * DAY)


def test_what_is_deleted_and_when(home):
    folder = f"{home}/.claude/projects/w"
    files = [
        old(f"{folder}/a.jsonl", 40),
        old(f"{folder}/b.jsonl", 25),
        old(f"{folder}/c.jsonl", 1),
        old(f"{folder}/c/subagents/agent-1.jsonl", 50),
        old(f"{home}/elsewhere/projects/w/d.jsonl", 99),
    ]
    coming = deletions(files, read_periods(documents.get_format("claude_code").RETENTION), NOW)
    assert [(Path(each.file.path).name, (each.time - NOW) / DAY) for each in coming] == [
        ("a.jsonl", -10),
        ("b.jsonl", 5),
        ("c.jsonl", 29),
        ("agent-1.jsonl", 29),
    ]


def test_the_oldest_of_too_many_sessions_are_deleted(home):
    write(home / ".gemini/settings.json", {"general": {"sessionRetention": {"maxCount": 2, "maxAge": "9m"}}})
    files = [old(f"{home}/.gemini/tmp/p/chats/session-{days}.jsonl", days) for days in (1, 2, 3, 4)]
    files.append(old(f"{home}/.gemini/tmp/q/chats/session-9.jsonl", 9))
    coming = deletions(files, read_periods(documents.get_format("gemini_cli").RETENTION), NOW)
    assert [Path(each.file.path).name for each in coming if each.time <= NOW] == ["session-3.jsonl", "session-4.jsonl"]


def test_databases_are_not_counted():
    files = [AgentFile("/h/state.db", 1, 0.0)]
    assert deletions(files, read_periods(documents.get_format("claude_code").RETENTION), NOW) == []


def test_the_file_of_a_sub_agent_belongs_to_the_session_that_its_folder_is_named_after():
    known = {"/p/a.jsonl": 1, "/p/a/subagents/x.jsonl": 1}
    assert owner("/p/a/subagents/x.jsonl", known) == "/p/a.jsonl"
    assert owner("/p/b/subagents/x.jsonl", known) == "/p/b/subagents/x.jsonl"
    assert owner("/p/a.jsonl", known) == "/p/a.jsonl"
