"""What is run is what the page says."""

import pytest

from tests.train import results
from tests.train.environments import Made
from tests.train.pages import blocks, conversion, truth
from tests.train.plan import RUNS
from tests.train.replies import DIALECTS
from tests.train.results import Result, Results
from tests.train.runs import HOOKS, merge_lines
from tests.train.trainers import TRAINERS


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.told)
def test_a_run_has_its_block_on_the_page(run):
    assert "--for " in conversion(run.block)
    assert not run.script or (HOOKS / run.script).is_file()
    assert run.dialect in DIALECTS


def test_every_block_of_the_page_that_has_a_name_is_run():
    assert blocks().keys() == {run.block for run in RUNS}


def test_runs_have_folders_of_their_own_and_every_trainer_has_runs():
    assert len({run.name for run in RUNS}) == len(RUNS)
    assert {run.trainer for run in RUNS} == {trainer.name for trainer in TRAINERS}


def test_the_truth_is_the_same_conversion_to_the_preset_hf():
    command = "chatsquash convert logs -o dataset --preset text --samples reply --format parquet --quiet"
    assert truth(command) == "chatsquash convert logs -o truth --preset hf --samples reply --format jsonl --quiet"
    assert truth("x --preset hf --reasoning inline --quiet") == "x --preset hf --quiet"
    assert truth("x --preset hf --reasoning drop --quiet") == "x --preset hf --reasoning drop --quiet"


def test_the_truth_has_the_options_that_for_sets():
    command = "chatsquash convert logs -o dataset --for ms-swift --samples reply --quiet"
    rest = "--bridge-results join --sample-shape messages --loss loss --samples reply --quiet"
    assert truth(command) == f"chatsquash convert logs -o truth --preset hf --format jsonl {rest}"


def test_lines_replace_those_of_their_key_in_their_block():
    text = "# a.yaml\na: 1\nblock:\n  a: 2\n  b: 3\nc: 4\n"
    assert merge_lines(text, ("a: 5", "block>b: 6")) == "# a.yaml\nblock:\n  a: 2\n  b: 6\nc: 4\na: 5\n"


def test_results_are_read_as_they_were_written(tmp_path):
    good, bad = Result("trl", "messages", 3, 0, 0), Result("trl", "pairs", 3, 1, 2)
    found = Results("torch==2", templates={"own": ["a"]}).with_trainer("trl", "1.0", Made(61.4, 5), [good, bad])
    results.write(found, tmp_path / "results.json")
    assert results.read(tmp_path / "results.json") == found
    assert [each.good for each in found.of("trl")] == [True, False]
    assert not Result("trl", "messages", 0, 0, 0).good
    assert bad.told == "2 of 3 replies, 2 other texts"
    assert Result("trl", "messages", 3, 0, 0, remark="and a header").told == "3 of 3 replies, and a header"
    assert found.without("trl").trainers == {}
