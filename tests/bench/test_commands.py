"""What is timed, by which versions, and what the launcher measures."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import chatsquash
from bench import commands, peers, phases, run
from bench.commands import BASE, CHATSQUASH, HERE, OTHER, Bench
from tests.conftest import cases, write_log


def variants(bench):
    ours, theirs = [[CHATSQUASH, "convert", "logs"]], [["/usr/bin/wc", "-l"]]
    return bench.with_versions({"one": ours, "two": ours, "wc": theirs}, ["one"])


def test_only_what_is_compared_is_run_by_the_older_version(tmp_path):
    found = variants(Bench(tmp_path, [], 1, quick=True, base="/old/chatsquash"))
    assert list(found) == ["one", "one" + BASE, "two", "wc"]
    assert found["one" + BASE] == [["/old/chatsquash", "convert", "logs"]]


def test_a_command_beside_runs_all_of_ours_and_nothing_else(tmp_path):
    found = variants(Bench(tmp_path, [], 1, quick=True, other="/other/chatsquash"))
    assert list(found) == ["one", "one" + OTHER, "two", "two" + OTHER, "wc"]


def test_no_option_of_the_user_changes_a_run(tmp_path, monkeypatch):
    monkeypatch.setenv("CHATSQUASH_WORKERS", "7")
    found = Bench(tmp_path, [], 1, quick=True).environment()
    assert [name for name in found if name.startswith("CHATSQUASH_")] == ["CHATSQUASH_ANONYMIZE_KEY_FILE"]


def test_every_round_runs_each_variant_once_in_one_order_and_the_other(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(commands, "measured", lambda _, given: ran.append(given) or {"number": len(ran)})
    found = commands.in_turns(Bench(tmp_path, [], 1, quick=True), {"a": "A", "b": "B"}, 3)
    assert ran == ["A", "B", "B", "A", "A", "B"]
    assert [run["number"] for run in found["a"]] == [1, 4, 5]


def test_what_takes_long_has_two_rounds(tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "measured", lambda *_: {})
    bench = Bench(tmp_path, [], 1, quick=True)
    assert [len(commands.in_turns(bench, {"a": "A"}, rounds, long=-1)["a"]) for rounds in (1, 2, 5)] == [1, 2, 2]


def measured(*given):
    done = subprocess.run([sys.executable, "-IS", HERE / "measure.py", *given], capture_output=True, check=True)
    return json.loads(done.stdout)


def test_the_launcher_adds_up_what_commands_take_and_tells_how_they_ended():
    busy = [sys.executable, "-c", "import time\nwhile time.process_time() < 0.1: pass"]
    took = measured(json.dumps([busy, busy, [sys.executable, "-c", "raise SystemExit(3)"]]))
    assert sorted(took["codes"]) == [0, 0, 3]
    assert took["cpu"] >= 0.2
    assert took["peak"] > 1_000_000
    assert took["others"] is None or took["others"] >= 0


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes cannot be pinned here")
def test_a_command_runs_on_the_core_that_it_is_given(tmp_path):
    core = max(os.sched_getaffinity(0))
    script = f"import os, pathlib; pathlib.Path({str(tmp_path / 'cores')!r}).write_text(str(os.sched_getaffinity(0)))"
    measured(json.dumps([[sys.executable, "-c", script]]), json.dumps([core]))
    assert (tmp_path / "cores").read_text() == f"{{{core}}}"


@cases(
    "lines, why",
    ([b'{"messages": [1]}'] * 3, None),
    ([b'{"messages": [1]}'] * 2, None),
    ([b'{"messages": [1]}', b'{"messages": []}'], "writes messages for only 1 of 3 sessions"),
    ([], "writes messages for only 0 of 3 sessions"),
)
def test_a_converter_that_writes_nothing_of_most_sessions_is_not_timed(lines, why):
    assert peers.why_empty(lines, 3) == why


@cases(
    "script, why",
    ("raise SystemExit('no such agent')", "fails: no such agent"),
    ("", "fails: FileNotFoundError"),
    ("open(OUT, 'w').write('no JSON')", "fails: JSONDecodeError"),
    ("open(OUT, 'w').write('[]')", "writes messages for only 0 of 1 sessions"),
)
def test_a_converter_that_fails_is_a_row_with_the_reason(script, why, tmp_path):
    write_log(tmp_path / "home" / "a.jsonl")
    bench = Bench(tmp_path, [], 1, quick=True)
    command = [sys.executable, "-c", script.replace("OUT", repr(str(bench.out / "peer.jsonl")))]
    assert peers.row_of(bench, command, tmp_path / "home", 1) == {"why": why}


def test_a_converter_that_cannot_be_started_is_a_row_with_the_reason(tmp_path):
    assert peers.row_of(Bench(tmp_path, [], 1, quick=True), ["/no/such"], tmp_path, 1) == {
        "why": "fails: FileNotFoundError"
    }


def test_a_converter_is_timed_in_rounds(tmp_path):
    path = write_log(tmp_path / "home" / "a.jsonl")
    bench = Bench(tmp_path, [], 1, quick=True)
    script = f"""open({str(bench.out / "peer.jsonl")!r}, "w").write('{{"messages": [1]}}')"""
    found = peers.row_of(bench, [sys.executable, "-c", script], tmp_path / "home", 2)
    assert found["bytes"] == path.stat().st_size
    assert len(found["runs"]) == 2


def test_the_logs_of_a_user_are_timed_with_the_options_of_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "DATA", tmp_path / "data")
    for name in "ab":
        write_log(tmp_path / "logs" / f"{name}.jsonl")
    done = CliRunner().invoke(run.main, ["--logs", str(tmp_path / "logs"), "--rounds", "1"])
    assert done.exit_code == 0
    assert "| own  | your logs |" in done.output
    assert "`--sessions-by chain`" in done.output
    assert "2 workers" in done.output


def test_other_converters_get_the_logs_without_lines_that_are_cut(tmp_path):
    logs = tmp_path / "logs" / "day"
    logs.mkdir(parents=True)
    (logs / "a.jsonl").write_bytes(b'{"a": 1}\n{"b": \n{"c": 3}\n{"d"')
    home = peers._home(Bench(tmp_path, [], 1, quick=True), "codex", logs.parent)
    assert (home / ".codex/sessions/day/a.jsonl").read_bytes() == b'{"a": 1}\n{"c": 3}\n'


# Time is counted for the phase that called for it


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
    assert folders - set(phases._ROOMS) == {"core", "integrations", "storage", "translate"}
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
