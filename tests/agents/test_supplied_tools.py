"""``--tools-file agent`` with recordings: each call of an agent's own tools has a definition in the records of its files."""

from __future__ import annotations

import json
import tarfile

import pytest

from chatsquash import Options, convert
from chatsquash.session.stages import supplied_definitions
from tests.agents.clients import clients
from tests.agents.invent import FOLDER

AGENTS = ("cline", "codex", "continue_dev", "gemini_cli", "kimi_cli", "opencode", "pi", "qwen_code")
NAMES = sorted(
    name for path in FOLDER.glob("*.tar.xz") if (name := path.name.removesuffix(".tar.xz")).partition("-")[0] in AGENTS
)


def test_every_agent_with_definitions_has_a_recording():
    assert {name.partition("-")[0] for name in NAMES} == set(AGENTS)
    tables = supplied_definitions.tools(supplied_definitions.shipped(), "shipped")
    assert {table.agent.removesuffix("_sdk") for table in tables} == set(AGENTS)


@pytest.mark.parametrize("name", NAMES)
def test_every_call_has_its_definition(tmp_path, name):
    with tarfile.open(FOLDER / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    client = clients()[name.partition("-")[0]]
    files = sorted(str(path) for pattern in client.files for path in (tmp_path / "home").glob(pattern))
    options = Options(preset="hf", tools_file=supplied_definitions.shipped(), metadata=True)
    convert(files, tmp_path / "out", options)
    records = [
        json.loads(line)
        for path in sorted((tmp_path / "out/data").glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert records
    for record in records:
        called = {
            call["function"]["name"] for message in record["messages"] for call in message.get("tool_calls") or ()
        }
        defined = {each["function"]["name"] for each in record.get("tools") or ()}
        # No agent's own definitions have the tool of the recordings' MCP server.
        assert {each for each in called if "echo_words" not in each} <= defined, record["session_id"]
        assert not called or record["tools_supplied"]
