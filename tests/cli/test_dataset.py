"""Options of the command that are for datasets."""

import json
from pathlib import Path

import pytest

from tests.conftest import cases, log_line, write_log


@pytest.fixture
def logs(tmp_path):
    for number in range(4):
        write_log(tmp_path / f"logs/{number}.jsonl", log_line(f"question {number}"))
    return tmp_path / "logs"


@cases(
    "given, size",
    ("9", 9),
    ("64kB", 64_000),
    ("64K", 64_000),
    ("2 MB", 2_000_000),
    ("1gb", 1_000_000_000),
    ("64KiB", 65_536),
    ("1Mi", 1 << 20),
)
def test_sizes_are_read(command, logs, given, size):
    out = logs.parent / "out"
    assert command("convert", logs, "-o", out, "-q", "--format", "jsonl", "--shard-size", given).code == 0
    assert json.loads((out / "run.json").read_bytes())["options"]["shard_size"] == size


@pytest.mark.parametrize("given", ["", "MB", "-1", "1.5MB", "9TB"])
def test_what_is_no_size_is_refused(command, logs, given):
    ended = command("convert", logs, "--format", "jsonl", "--shard-size", given)
    assert ended.code == 2
    assert f"{given!r} is not a size; use a form such as 256MB, 64kB or 1000000\n" in ended.err


def test_a_dataset_folder_is_written_with_all_options(command, logs):
    out = logs.parent / "out"
    told = "--format jsonl.gz --split train=0.5,test=0.5 --split-by session --seed 2 --metadata --min-turns 1 --max-turns 9"
    more = "--max-chars 9999 --drop bad-line --drop short-tail --only-model gpt* --no-drop-duplicates --json"
    ended = command("convert", logs, "-o", out, *told.split(), *more.split())
    assert ended.code == 3
    assert json.loads(ended.out)["sessions"]["filtered"] == {"--only-model": 4}
    options = json.loads((out / "run.json").read_bytes())["options"]
    assert options.items() >= {
        "format": "jsonl.gz", "split": "train=0.5,test=0.5", "split_by": "session", "seed": 2, "metadata": True,
        "min_turns": 1, "max_turns": 9, "max_chars": 9999, "drop_duplicates": False,
    }.items()  # fmt: skip
    assert (options["drop"], options["only_model"]) == (["bad-line", "short-tail"], ["gpt*"])


def test_filters_that_leave_nothing_end_with_3(command, logs):
    out = logs.parent / "out"
    ended = command("convert", logs, "-o", out, "--max-chars", "1")
    assert (ended.code, " ".join(ended.err.split()).startswith(f"no record was written to {out} ")) == (3, True)
    assert "  4  filtered (--max-chars)\n" in ended.err
    assert not list(Path(out).glob("*.jsonl"))


def test_strict_does_not_stop_for_what_is_not_wanted(command, logs):
    assert command("convert", logs, "-o", logs.parent / "out", "-q", "--strict", "--min-turns", "9").code == 3
