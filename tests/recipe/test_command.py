"""The command certifies what its trainer does, writes the certificate, and says what is missing."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import cases
from tests.recipe.conftest import FILE


@pytest.fixture
def here(place, tmp_path, monkeypatch):
    """The folder with a configuration of its own."""
    shutil.copytree(place / "out/trainer", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    return place


@pytest.fixture
def recipe(here, command):
    """Runs the command with settings of the trainer."""

    def run(*words, **settings):
        Path("config/trainer.json").write_text(json.dumps(settings))
        return command("recipe", here / "out", "--python", here / "bin/python", "--config", "config", *words)

    return run


def test_the_certificate_has_what_was_run_and_found(here, recipe):
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    code, out, err = recipe("--output", "certificate.json")
    assert (code, out) == (0, ""), err
    assert "Certified: the labels are the replies, token by token." in err
    certificate = json.loads(Path("certificate.json").read_text())
    assert {name: certificate[name] for name in ("trainer", "records", "are_all", "replies", "exact_prompts")} == {
        "trainer": "trl", "records": 6, "are_all": True, "replies": 18, "exact_prompts": 6,
    }  # fmt: skip
    assert certificate["sha256"][FILE] == hashlib.sha256((here / "out" / FILE).read_bytes()).hexdigest()
    assert {"trainer/train.sh", "trainer/trainer.json", "tokenizer", "template"} < set(certificate["sha256"])
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before  # nothing is written there
    assert json.loads(recipe("--json")[1]) == certificate


def test_arguments_are_those_of_the_trainer(here, recipe):
    other = here / "elsewhere"
    shutil.copytree(here / "out/data", other / "data", dirs_exist_ok=True)
    (other / FILE).write_bytes((here / "out" / FILE).read_bytes().partition(b"\n")[2])
    code, _, err = recipe("--", "--dataset_name", other)
    assert (code, "not trained on, like 3 replies in all" in err) == (3, True), err
    code, out, _ = recipe("--json", "--", "--seed", "5")
    assert (code, json.loads(out)["arguments"]) == (0, ["--seed", "5"])


def test_a_sample_is_its_first_records(recipe):
    code, out, _ = recipe("--limit", "2", "--json")
    assert code == 0
    assert (json.loads(out)["records"], json.loads(out)["are_all"], json.loads(out)["replies"]) == (2, False, 6)


@cases(
    "settings, text",
    ("no mask", {"mask": "none"}, "trained on together with the text before it"),
    ("too short", {"max_length": 90}, "cut off: is the maximum length of the trainer too small?"),
    ("packed", {"pack": 3}, "are records packed into one row?"),
)
def test_wrong_settings_are_refused_with_the_first_difference(recipe, settings, text):
    code, out, err = recipe("--output", "certificate.json", **settings)
    assert (code, out) == (3, "")
    assert err.startswith(f"Not certified: {FILE}:")
    assert text in err
    assert not Path("certificate.json").exists()


@cases(
    "words, settings, text",
    ("the trainer fails", [], {"fails": True}, "trl ended with exit code 1: ValueError: no such template"),
    ("nothing to train on", [], {"skip": 1, "max_length": 0, "cut": "drop"}, "trl made no batches"),
    ("no such trainer", ["--trainer", "trll"], {}, "--trainer trll: unknown trainer; expected one of trl, axolotl"),
    ("a service", ["--trainer", "openai"], {}, "--trainer openai: a service, whose data path cannot be run here"),
    ("another trainer", ["--trainer", "torchtune"], {}, "torchtune ended with exit code"),
    ("no model", ["--model", "nowhere"], {}, "nowhere: no such file or folder"),
    ("no python", ["--python", "nowhere/python"], {}, "nowhere/python: no such file; pass the Python"),
    ("no configuration", ["--config", "nowhere"], {}, "nowhere: no such folder; convert with --for trl="),
    ("no folder", ["--output", "no/where.json"], {"fails": True}, "no/where.json: cannot be written (No such file"),
    ("a folder", ["--output", "config"], {"fails": True}, "config: cannot be written (Is a directory)"),
)
def test_what_is_missing_is_said(recipe, words, settings, text):
    code, out, err = recipe(*words, **settings)
    assert (code, out) == (2, "")
    assert text in err, err


@cases("arguments", ("steps", {"max_steps": 2}), ("a part of an epoch", {"num_train_epochs": 0.3}))
def test_a_training_that_ends_within_the_first_epoch_is_refused(recipe, arguments):
    code, _, err = recipe(arguments=arguments)
    assert (code, "not trained on, like 12 replies in all" in err) == (3, True), err


@cases(
    "rows",
    ("no JSON", "garbage"),
    ("fractions", '{"ids": [1.5], "trained": [true]}'),
    ("a list", "[]"),
    ("other lengths", '{"ids": [1, 2], "trained": [true]}'),
    ("negative", '{"ids": [-1], "trained": [true]}'),
)
def test_rows_that_are_none_are_an_error(here, recipe, rows):
    code, _, err = recipe(writes=rows)
    assert code in (2, 3)
    assert "the rows that the trainer wrote" in err or "not in the vocabulary" in err, err


def test_a_configuration_that_cannot_be_copied_or_read_is_an_error(recipe):
    Path("config/a.yaml").write_bytes(b"\xff")
    code, _, err = recipe()
    assert (code, "config/a.yaml: cannot be read" in err) == (2, True), err


def test_all_processes_of_a_trainer_end_with_the_command(here, tmp_path):
    """Also those that it started, whatever they wait for."""
    Path("config/train.sh").write_text("sleep 300 & echo $! > ../../../pids; echo $$ >> ../../../pids; sleep 300\n")
    command = [
        sys.executable,
        "-m",
        "chatsquash",
        "recipe",
        here / "out",
        "--python",
        here / "bin/python",
        "--config",
        "config",
    ]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(list(map(str, command)), env=environment, stderr=subprocess.PIPE)
    pids = tmp_path / "pids"
    for _ in range(600):
        if pids.exists() and len(pids.read_text().split()) == 2:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode
    for pid in pids.read_text().split():
        assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]
    assert not list(tmp_path.glob("chatsquash-recipe-*"))
