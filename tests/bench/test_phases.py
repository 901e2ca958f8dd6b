"""Time is counted for the phase that called for it."""

import json
import subprocess
import sys
from pathlib import Path

import chatsquash
from bench import phases
from bench.commands import HERE
from tests.conftest import cases, write_log

PACKAGE = Path(chatsquash.__file__).parent


@cases("sentence, stack, phase",
        ("the innermost function decides", ["reading/lines.py", "session/select.py", "conversion/convert.py"], "read"),
        ("one that helps counts for its caller", ["core/chat.py", "checks/calls.py", "session/plan.py"], "check"),
        ("a module may be of another phase than its folder", ["session/stages/checking.py", "session/plan.py"], "check"),
        ("nobody's time is the run's", ["cli/commands.py", "__main__.py"], "run"),
        ("loading a module is the start, whoever does it", ["formats/base.py", "", "conversion/convert.py"], "start"),
        ("so is what comes before any function of ours", [], "start"),
)  # fmt: skip
def test_phases(sentence, stack, phase):
    places = [(module, "function") for module in stack]
    assert phases.where(places)[0] == phase, sentence
    assert phases.where(places)[1] == (("", "") if phase == "start" else places[0])


def test_every_room_is_there_and_every_folder_has_a_phase():
    for room in phases._ROOMS:
        assert (PACKAGE / room).exists()
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert folders - set(phases._ROOMS) == {"core", "storage", "translate"}
    assert set(phases._ROOMS.values()) | {"start"} == set(phases.PHASES)


def test_the_table_adds_up():
    stack = [["dataset/store.py", "put"]]
    found = phases.by_phase([(stack, 0.25), ([["reading/lines.py", "fill"]], 0.5), (stack, 0.25)])
    text = phases.table(found, 1)
    assert "read    50.0%    0.500 s" in text
    assert "50.0%    0.500 s      dataset/store.py: put" in text
    assert text.splitlines()[-1].split() == ["100.0%", "1.000", "s"]


def test_a_run_is_sampled_and_does_what_it_does(tmp_path):
    write_log(tmp_path / "logs" / "a.jsonl")
    given = ["convert", tmp_path / "logs", "--output", tmp_path / "out", "--quiet", "--no-anonymize", "--workers", "1"]
    done = subprocess.run([sys.executable, HERE / "sample.py", tmp_path / "samples", *given], check=False)
    assert done.returncode == 0
    assert len(list((tmp_path / "out").rglob("*.jsonl"))) >= 1
    found = phases.by_phase(json.loads((tmp_path / "samples").read_text()))
    assert found["start"].total() > 0
