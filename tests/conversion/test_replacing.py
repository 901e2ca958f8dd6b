"""A result is not replaced by nothing, nor by that of other logs, unless that is asked for."""

import json
import os
import shutil
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from tests.conftest import cases, log_line, table, tree, write_log

NOW = 1_780_000_000  # 2026-05-28 20:26:40 UTC


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def logs(folder, *names, text="hi"):
    for name in names:
        write_log(Path(folder, f"{name}.jsonl"), log_line(f"{text} {name}", session_id=name))


def result(folder="out"):
    """A result of two logs, as it stands on the disk."""
    logs("logs/deep", "a", "b")
    convert("logs", folder)
    os.utime(Path(folder, "run.json"), (NOW, NOW))
    return tree(Path(folder))


def refused(given, options=None, folder="out"):
    """What a run says that replaces nothing."""
    before = tree(Path(folder))
    with pytest.raises(UsageError) as refusal:
        convert(given, folder, options or Options())
    assert tree(Path(folder)) == before, "byte for byte"
    return str(refusal.value)


NOTHING = [
    (Options(only_model=("gpt5*",)), "a filter"),
    (Options(min_turns=9), "another filter"),
    (Options(only_model=("gpt5*",), full=True), "--full converts all again, and allows nothing"),
    (Options(only_model=("gpt5*",), force=True), "--force is on files of others, and allows nothing"),
    (Options(only_model=("gpt5*",), preset="hf", format="parquet"), "a dataset folder of none"),
    (Options(max_line=10), "lines that are not read"),
]


@pytest.mark.parametrize("options, why", NOTHING, ids=[why for _, why in NOTHING])
def test_nothing_takes_no_result_away(options, why):
    result()
    assert refused("logs", options) == (
        "out: contains 2 records of logs/deep, written at 2026-05-28 20:26 UTC, but 2 sessions of this run produced no record; "
        "nothing was replaced; choose another folder with output, or add replace=True"
    )


def test_a_refused_run_leaves_no_trace_and_the_next_one_goes_on_as_before():
    logs("logs", "a")
    convert("logs", "out")
    refused("logs", Options(only_model=("gpt5*",)))
    assert convert("logs", "out").unchanged


def test_other_logs_take_no_result_away():
    result()
    logs("others", "c")
    said = refused("others")
    assert said.startswith(
        "out: contains 2 records of logs/deep, written at 2026-05-28 20:26 UTC, but none of these logs"
    )
    assert said.endswith("choose another folder with output, or add replace=True")


def test_other_logs_are_refused_before_any_is_read(monkeypatch):
    result()
    logs("others", "c")
    seen = []
    with pytest.raises(UsageError):
        convert("others", "out", Options(), lambda *session: seen.append(session))
    assert seen == []


@cases("given, options", ("others", Options(replace=True)), ("logs", Options(replace=True, limit=1)))
def test_replace_allows_it(given, options):
    result()
    logs("others", "c")
    assert convert(given, "out", options).written == 1
    assert sum(path.read_bytes().count(b"\n") for path in Path("out").glob("*.jsonl")) == 1


def test_replace_allows_nothing_to_take_the_place_of_a_result():
    result()
    assert convert("logs", "out", Options(replace=True, only_model=("gpt5*",))).written == 0
    assert not list(Path("out").glob("*.jsonl"))


def test_what_has_no_record_may_be_replaced_by_anything():
    logs("logs", "a")
    convert("logs", "out", Options(only_model=("gpt5*",)))
    logs("others", "b")
    assert convert("others", "out").written == 1


def grown():
    logs("logs/deep", "c")


def fewer():
    Path("logs/deep/a.jsonl").unlink()


def changed():
    logs("logs/deep", "a", text="something else")


def moved():
    shutil.move("logs", "moved")
    Path("logs").symlink_to("moved")
    shutil.copytree("moved", "copied")
    Path("logs").unlink()
    Path("copied").rename("logs")


REPLACED = [
    ("logs", grown, Options(), "more logs"),
    ("logs", fewer, Options(), "fewer logs"),
    ("logs", changed, Options(), "a log that changed"),
    ("logs", grown, Options(min_turns=1, preset="hf"), "other options"),
    ("logs/deep/b.jsonl", fewer, Options(), "one of them, named"),
    ("./logs/../logs", fewer, Options(), "a path that is spelled otherwise"),
    (None, changed, Options(), "a path from the root"),
    ("moved", moved, Options(), "logs that stand elsewhere and hold the same"),
    ("logs", fewer, Options(force=True, full=True), "--force and --full are on other things"),
]


@pytest.mark.parametrize("given, change, options, why", REPLACED, ids=[why for *_, why in REPLACED])
def test_a_result_of_some_of_the_same_logs_is_replaced(given, change, options, why):
    before = result()
    change()
    assert convert(given or Path("logs").absolute(), "out", options).written
    assert tree(Path("out")) != before


def test_a_log_of_another_path_that_holds_something_else_of_that_size_is_another():
    result()
    logs("others", "c")
    assert Path("others/c.jsonl").stat().st_size == Path("logs/deep/a.jsonl").stat().st_size
    refused("others")


NAMED = [
    (["logs/1/a", "logs/2/a", "logs/b"], ["logs"], "logs", "the folder that all are in"),
    (["one/x/a", "two/a"], ["one", "two"], "one, two", "several"),
    (["1/a", "2/a", "3/a", "4/a", "5/a"], ["."], "1, 2, 3 and 2 more", "a few of many"),
    (["a", "b"], ["."], ".", "where one is"),
]


@pytest.mark.parametrize("files, given, said, why", NAMED, ids=[row[-1] for row in NAMED])
def test_the_message_names_the_logs(files, given, said, why):
    for file in files:
        logs(Path(file).parent, Path(file).name)
    convert(given, "out")
    assert f"of {said}, written at" in refused(given, Options(min_turns=9))


@pytest.mark.parametrize("held", ["{", '{"options":' + "[" * 100_000], ids=["cut", "nested"])
def test_what_is_no_result_is_replaced_as_ever(held):
    result()
    Path("out/run.json").write_text(held)
    logs("others", "c")
    assert convert("others", "out").written == 1


def test_the_command_says_it_and_exits_with_2(command):
    result()
    code, out, err = command("convert", "logs", "-q", "--only-model", "gpt5*")
    assert (code, out) == (2, "")
    assert err.startswith("error: out: contains 2 records of logs/deep, written at 2026-05-28 20:26 UTC")
    assert "--replace" in err
    assert command("convert", "logs", "-q", "--only-model", "gpt5*", "--replace").code == 3
    assert json.loads(Path("out/run.json").read_bytes())["counts"]["sessions"]["written"] == 0


def test_an_interrupted_run_is_finished_as_before(monkeypatch):
    result()
    logs("logs/deep", *(f"n{number}" for number in range(5)))

    def stop(job, outcome, total):
        if job.display_path.endswith("n2.jsonl"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert("logs", "out", Options(), stop)
    assert convert("logs", "out", Options(resume=True)).written == 7


def test_the_summary_names_the_options_that_differ_from_those_of_the_output_it_replaces():
    logs("logs", "a")
    assert "replaced" not in table(convert("logs", "out", Options(include=("*.jsonl",))))
    summary = convert("logs", "out", Options(include=("*.jsonl",), preset="openai", exclude=("b*",)))
    assert summary.other_options == ["preset", "exclude"]
    assert table(summary)["replaced"] == "an earlier output with other options: preset, exclude"
    again = convert("logs", "out", Options(include=("*.jsonl",), preset="openai", exclude=("b*",)))
    assert (again.unchanged, again.other_options) == (True, [])
    assert convert("logs", "out", Options(replace=True)).other_options == ["preset", "include", "exclude"]
