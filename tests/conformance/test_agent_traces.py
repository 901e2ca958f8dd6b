"""``datasets`` loads agents' session files with our decoder, as it is and with the patch of docs/upstream.

Its own trace tests are not in its packages. ``DATASETS_SOURCE=CHECKOUT make conformance`` runs them from a checkout of
huggingface/datasets, with our decoder in place of teich.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import datasets
import pytest
from datasets.packaged_modules.json.json import AGENT_TRACES_FEATURES

from chatsquash.integrations import datasets as traces
from tests.conftest import cases

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
PATCH = ROOT / "docs" / "upstream" / "datasets-agent-traces.patch"
CHECKOUT = os.environ.get("DATASETS_SOURCE")
PEERS = Path(os.environ.get("PEERS", ROOT / ".venv" / "peers" / "bin" / "python"))
PARTED = (
    "claude_code/a_compaction_and_what_went_before/logs/s.jsonl",
    "claude_code/an_answered_prompt_that_was_edited/logs/s.jsonl",
    "claude_code/a_sub_agent_and_the_call_that_began_it/logs/s.jsonl",
    "pi/a_branch_that_was_left/logs/s.jsonl",
)
"""Files with two conversations each."""
LOADS = """
import json, sys
from datasets import load_dataset
dataset = load_dataset("json", data_files=sys.argv[1], split="train", cache_dir=sys.argv[2])
print(json.dumps([row for row in dataset]))
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Loads a file with our decoder and a cache of its own."""
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()
    traces.install()

    def rows(path):
        dataset = datasets.load_dataset("json", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))
        assert dataset.features == AGENT_TRACES_FEATURES
        return list(dataset)

    yield rows
    traces.uninstall()


@pytest.mark.parametrize("name", PARTED)
def test_each_conversation_is_a_row(load, name):
    rows = load(GOLDEN / name)
    assert [row["messages"] for row in rows] == [
        row["messages"] for row in traces.convert_traces_to_training_data(GOLDEN / name)
    ]
    assert len({row["metadata"]["conversation"] for row in rows}) == 2
    assert {row["trace"] for row in rows} == {(GOLDEN / name).read_text("utf-8")}


# The forms of files that ``datasets`` detects, written anew after its markers and the fields that it derives.
CLAUDE = [
    {"type": "user", "sessionId": "c", "timestamp": "2026-05-01T08:00:00.000Z", "message": {"role": "user", "content": "Count"}},
    {"type": "assistant", "sessionId": "c", "message": {"id": "m", "role": "assistant", "content": [{"type": "tool_use", "id": "t1"}]}},
    {"type": "user", "sessionId": "c", "message": {"role": "user", "content": [{"type": "tool_result", "content": "3"}]}},
]  # fmt: skip
CODEX = [
    {"type": "session_meta", "payload": {"id": "x"}},
    {"type": "event_msg", "timestamp": "2026-05-01T08:00:00.000Z", "payload": {"type": "user_message", "message": "Count"}},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Count"}]}},
    {"type": "response_item", "payload": {"type": "function_call", "name": "shell", "call_id": "1"}},
]  # fmt: skip
PI = [
    {"type": "session", "id": "p"},
    {"type": "message", "timestamp": "2026-05-01T08:00:00.000Z", "message": {"role": "user", "content": "Count"}},
    {"type": "message", "message": {"model": "m", "role": "assistant", "content": [{"type": "toolCall", "id": "1"}]}},
]
DROID = [
    {"type": "session_start", "id": "d", "version": 2, "cwd": "/w"},
    {"type": "message", "id": "1", "timestamp": "2026-05-01T08:00:00.000Z", "message": {"role": "user", "content": [{"type": "text", "text": "Count"}]}},
    {"type": "message", "id": "2", "message": {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "LS", "input": {}}]}},
]  # fmt: skip
HERMES = {
    "id": "h", "source": "cli", "model": "m", "system_prompt": "s", "started_at": 1_777_622_400.5, "tool_call_count": 0,
    "messages": [{"role": "user", "content": "Count", "session_id": "h"}, {"role": "assistant", "content": "3", "reasoning": "r"}],
}  # fmt: skip
AT = "2026-05-01T08:00:00.000Z"


@cases(
    "lines, derived",
    ("Claude Code", CLAUDE, ("claude_code", "c", "Count", AT, 1, 1)),
    ("Codex", CODEX, ("codex", "x", "Count", AT, 1, 1)),
    ("Pi", PI, ("pi", "p", "Count", AT, 1, 1)),
    ("Droid", DROID, ("droid", "d", "Count", AT, 1, 1)),
    ("Hermes", [HERMES], ("hermes", "h", "Count", "2026-05-01T08:00:00.500Z", 1, 0)),
    ("a session twice", [HERMES] * 2, ("hermes", "h", "Count", "2026-05-01T08:00:00.500Z", 1, 0)),
)
def test_incomplete_files_have_the_columns_of_datasets(load, tmp_path, lines, derived):
    path = tmp_path / "s.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    rows = load(path)
    names = ("harness", "session_id", "prompt", "sent_at", "num_user_messages", "num_tool_calls")
    assert [tuple(row[name] for name in names) for row in rows] == [derived] * len(rows)
    assert len(rows) == (2 if len(lines) == 2 else 1)
    assert all(isinstance(message["content"], str) for row in rows for message in row["messages"])


@pytest.fixture(scope="module")
def patched(tmp_path_factory):
    """The installed ``datasets`` with the patch."""
    folder = tmp_path_factory.mktemp("patched")
    shutil.copytree(Path(datasets.__file__).parent, folder / "src" / "datasets")
    subprocess.run(["patch", "-p1", "-i", PATCH], cwd=folder, check=True, capture_output=True)
    return folder


def run(folder, *command, **variables):
    paths = [str(folder / "src"), str(ROOT / "pipeline")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "HF_HUB_OFFLINE": "1", **variables}
    return subprocess.run([sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True)


def test_the_patched_datasets_uses_the_decoder_of_the_setting(patched, tmp_path):
    done = run(
        patched, "-c", LOADS, str(GOLDEN / PARTED[2]), str(tmp_path), HF_DATASETS_AGENT_TRACES_DECODER=traces.__name__
    )
    rows = json.loads(done.stdout.splitlines()[-1])
    assert [row["metadata"]["kind"] for row in rows] == ["main", "subagent"]
    assert [row["prompt"] for row in rows] == [row["messages"][0]["content"] for row in rows]


def test_the_tests_of_the_patch_pass(patched):
    done = run(patched, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/packaged_modules")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


@pytest.mark.skipif(not PEERS.exists(), reason="teich is not installed")
@pytest.mark.parametrize("name", PARTED)
def test_teich_joins_these_conversations(name):
    """teich 0.3.6 returns one row per file, with messages that no request contained together."""
    code = "import json, sys, teich; print(json.dumps(teich.convert_traces_to_training_data(sys.argv[1])))"
    done = subprocess.run([PEERS, "-c", code, GOLDEN / name], capture_output=True, text=True, check=True)
    (row,) = json.loads(done.stdout.splitlines()[-1])
    ours = traces.convert_traces_to_training_data(GOLDEN / name)
    texts = [[message["content"] for message in each["messages"]] for each in [row, *ours]]
    assert len(ours) == 2
    assert texts[0] not in texts[1:]
    assert set(texts[1]) - set(texts[2])
    assert set(texts[2]) - set(texts[1])


@pytest.mark.skipif(not CHECKOUT, reason="DATASETS_SOURCE names no checkout of huggingface/datasets")
def test_the_trace_tests_of_datasets_pass_with_our_decoder(tmp_path):
    """Those of commit b7cb10b0 are 12 tests of tests/packaged_modules/test_json.py, of which 11 decode traces."""
    (tmp_path / "src").mkdir()
    shutil.copytree(Path(CHECKOUT) / "tests", tmp_path / "tests", symlinks=True)
    (tmp_path / "ours.py").write_text(f"from {traces.__name__} import install\n\ninstall()\n")
    module = "tests/packaged_modules/test_json.py"
    done = run(
        tmp_path, "-m", "pytest", "-q", "-p", "ours", "-p", "no:cacheprovider", "-k", "agent_trace", module,
        PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT / "pipeline")]),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    assert "skipped" not in done.stdout
