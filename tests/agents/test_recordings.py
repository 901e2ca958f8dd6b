"""Recordings of agents that ``python -m tests.agents --pack`` keeps: each source of them is converted as the model saw it.

The archives have the agent's own files, the gateway's log, and the truth about each exchange, with its version. Prompts of
the agents are invented lines; the structure is as it was recorded.
"""

from __future__ import annotations

import json
import tarfile

import pytest

from tests.agents.checks import SOURCES, wrong
from tests.agents.clients import clients
from tests.agents.invent import FOLDER, LINES, invented, json_value
from tests.agents.undecidable import reason

NAMES = sorted(path.name.removesuffix(".tar.xz") for path in FOLDER.glob("*.tar.xz"))
CLIENTS = clients()
LIMIT = 4_000_000


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_converted_as_the_model_saw_it(tmp_path, name):
    with tarfile.open(FOLDER / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    agent, _, scenario = name.partition("-")
    found = {source: wrong(tmp_path, CLIENTS[agent], source) for source in SOURCES}
    assert {
        source: texts for source, texts in found.items() if bool(texts) != bool(reason(agent, scenario, source))
    } == {}


def test_the_recordings_are_small():
    assert sum(path.stat().st_size for path in FOLDER.glob("*")) < LIMIT


def test_equal_lines_stay_equal_and_marks_stay():
    long = "Use the tool to read the files that the user has named."
    assert invented(long) == invented(long) != long
    assert len(invented(long).split()) == 4
    marked = "Please continue with the work, uxabcx001, and then stop for today."
    assert invented(f"{long}\n{marked}").split("\n") == [invented(long), marked]


def test_a_long_text_loses_its_middle():
    assert len(invented("a\n" * 100).split("\n")) == LINES


def test_texts_that_are_json_are_read():
    value = {"arguments": json.dumps({"prompt": "one two three four five six seven"})}
    replaced = json_value(value, invented)
    assert list(json.loads(replaced["arguments"])) == ["prompt"]
    assert "seven" not in replaced["arguments"]
