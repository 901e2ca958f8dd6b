"""Lines of unknown types, rows of NULs and files that agents keep beside sessions change no record and are no errors."""

import json
import shutil

import pytest

from chatsquash import Options, convert
from chatsquash.formats import documents
from tests import golden
from tests.outputs import findings

NOVEL = [
    {"type": "artifact-monitor", "artifactId": "x0"},
    {"type": "frame-link", "count": 1, "frames": [{"id": "f"}]},
    {"role": "_telemetry", "value": {"id": 1}},
    {"timestamp": "2026-11-04T08:00:00Z", "kind": "trace"},
]
NULS = b"\0" * 64
BY_LINE = (
    *(
        "claude_code",
        "codex",
        "copilot_cli",
        "droid",
        "gemini_cli",
        "hermes",
        "kimi_cli",
        "kimi_code",
        "openclaw",
        "pi",
    ),
    "qwen_code",
)
"""Agents that append lines to a session's file."""


def cases():
    return [
        case
        for case in golden.cases()
        if case.parent.name in BY_LINE
        and case.name != "an_export_of_a_chain"
        and all(path.suffix == ".jsonl" for path in golden.logs(case))
    ]


def name(case):
    return f"{case.parent.name}/{case.name}"


def with_lines(case, target, lines):
    """A copy of a case's logs and the files beside them, with lines after the first and at the end of each by lines."""
    for path in (path for path in (case / "logs").rglob("*") if path.is_file()):
        copy = target / path.relative_to(case)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix != ".jsonl":
            copy.write_bytes(path.read_bytes())
            continue
        first, *rest = path.read_bytes().splitlines(keepends=True)
        copy.write_bytes(
            b"".join([first, *lines, *rest, *([b"\n"] if rest and not rest[-1].endswith(b"\n") else []), *lines])
        )
    return target / "logs"


@pytest.mark.parametrize("case", cases(), ids=name)
@pytest.mark.parametrize("added", ["unknown types", "NULs", "NULs before a line"])
def test_records_stay_the_same(case, added, tmp_path):
    lines = {
        "unknown types": [json.dumps(each).encode() + b"\n" for each in NOVEL * 5],
        "NULs": [NULS + b"\n"],
        "NULs before a line": [NULS],
    }[added]
    logs = with_lines(case, tmp_path, lines)
    expected = (case / "expected.jsonl").read_bytes()
    options = golden.options(case, group_by="none")
    summary = convert([str(logs)], tmp_path / "out", options)
    assert (tmp_path / "out" / summary.files[0]).read_bytes() == expected
    before = convert([str(case / "logs")], tmp_path / "before", options)
    errors = [code for severity, code in summary.findings if severity == "error"]
    assert errors == [code for severity, code in before.findings if severity == "error"]


SESSIONS = {
    "claude_code": "claude_code/a_message_over_three_lines",
    "codex": "codex/events_that_repeat_items",
    "kimi_cli": "kimi_cli/two_compactions_and_the_events",
}


@pytest.mark.parametrize(
    ("agent", "sessions", "path", "row"),
    [
        ("claude_code", ".claude/projects/-w", ".claude/history.jsonl", {"display": "/clear", "project": "/w"}),
        ("claude_code", ".claude/projects/-w", ".claude/telemetry/events.jsonl", {"event": "start", "n": 1}),
        (
            "claude_code",
            ".claude/projects/-w",
            ".cache/claude-cli-nodejs/-w/mcp-logs-words/2026.jsonl",
            {"debug": "connected", "timestamp": "2026-11-04T08:00:00Z", "sessionId": "s", "cwd": "/w"},
        ),
        ("codex", ".codex/sessions/2026/11/04", ".codex/history.jsonl", {"session_id": "s", "ts": 1, "text": "hi"}),
        ("codex", ".codex/sessions/2026/11/04", ".codex/session_index.jsonl", {"id": "s", "thread_name": "x"}),
        ("kimi_cli", ".kimi/sessions/5d/s", ".kimi/telemetry/failed_1.jsonl", {"event_id": "e", "event": "exit"}),
        ("kimi_cli", ".kimi/sessions/5d/s", ".kimi/user-history/5d.jsonl", {"content": "hi"}),
    ],
)
def test_other_files_in_the_folder_of_an_agent_are_counted(agent, sessions, path, row, tmp_path):
    """Paths and members are those that recorded runs of these agents left, but of the telemetry of Claude Code."""
    home, case = tmp_path / "home", golden.ROOT / SESSIONS[agent]
    shutil.copytree(case / "logs", home / sessions)
    (home / path).parent.mkdir(parents=True, exist_ok=True)
    (home / path).write_text(f"{json.dumps(row)}\n" * 50)
    summary = convert([str(home)], tmp_path / "out", golden.options(case, group_by="none"))
    assert (tmp_path / "out" / summary.files[0]).read_bytes() == (case / "expected.jsonl").read_bytes()
    assert not [code for severity, code in summary.findings if severity == "error"]


VIEW = {"v": 1, "agent": "claude-code", "cli_version": "0.6.0", "type": "user", "content": [{"text": "Hi"}]}


def test_checkpoints_of_entire_are_read_once(tmp_path):
    """Folders are those of entireio/cli, docs/architecture/sessions-and-checkpoints.md (2026-02); lines of its tests."""
    case = golden.ROOT / "claude_code/a_message_over_three_lines"
    lines = (case / "logs/s.jsonl").read_bytes().splitlines(keepends=True)
    for name, kept in (("a1/b2c3d4e5f6", lines[:-1]), ("a7/c3d4e5f6a7", lines)):
        folder = tmp_path / "checkpoints" / name / "0"
        folder.mkdir(parents=True)
        (folder / "full.jsonl").write_bytes(b"".join(kept))
        (folder / "transcript.jsonl").write_text(f"{json.dumps(VIEW)}\n")
        (folder / "metadata.json").write_text(json.dumps({"checkpoint_id": name.replace("/", ""), "session_id": "s"}))
        (folder / "prompt.txt").write_text("Hi")
    summary = convert([str(tmp_path / "checkpoints")], tmp_path / "out", golden.options(case, group_by="none"))
    assert (tmp_path / "out" / summary.files[0]).read_bytes() == (case / "expected.jsonl").read_bytes()
    assert not [code for severity, code in summary.findings if severity == "error"]


def test_a_view_of_entire_alone_says_what_to_convert_instead(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/transcript.jsonl").write_text(f"{json.dumps(VIEW)}\n" * 9)
    convert([str(tmp_path / "logs")], tmp_path / "out", Options(anonymize=False))
    (found,) = findings("unknown-format", out=tmp_path / "out")
    assert "an Entire session view" in found["text"]
    assert "convert full.jsonl instead" in found["text"]


def test_a_session_of_pi_may_begin_with_a_line_of_an_unknown_type():
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w"}
    novel = {"type": "novel", "timestamp": "2026-01-01T00:00:00Z"}
    assert documents.recognise([novel, header]).name == documents.recognise([header]).name == "pi"
