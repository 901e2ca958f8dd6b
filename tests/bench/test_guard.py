"""The guard on the number of instructions."""

import json

import pytest
from click.testing import CliRunner

from bench import guard


def test_a_count_may_exceed_the_recorded_one_by_three_percent():
    recorded = {"tiny": 1000, "standard": 1000, "claude_code": 1000}
    assert guard.excess({"tiny": 1030, "standard": 1031, "claude_code": 200}, recorded) == [
        "standard: 1,031 million instructions, +3.1% of the recorded 1,000"
    ]


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run the guard with a counter that returns 100 million for each conversion."""
    record = tmp_path / "guard.json"
    record.write_text("{}")
    monkeypatch.setattr(guard, "RECORD", record)
    monkeypatch.setattr(guard, "counter", lambda: ("perf", lambda run, environment: 100_000_000))
    monkeypatch.setattr(guard, "measure", lambda count: dict.fromkeys(guard.SESSIONS, round(count([], {}) / 1e6)))

    def run(*options, recorded=None):
        if recorded is not None:
            key = f"perf, Python {guard.platform.python_version()}, {guard.platform.machine()}"
            record.write_text(json.dumps({key: dict.fromkeys(guard.SESSIONS, recorded)}))
        result = CliRunner().invoke(guard.main, options)
        [counts] = json.loads(record.read_text()).values() or [{}]
        return result.exit_code, result.output, set(counts.values())

    return run


def test_it_fails_above_the_recorded_count(run):
    assert run(recorded=97)[0] == 1
    assert run(recorded=98)[0] == 0


def test_recording_only_lowers_a_count_unless_forced(run):
    assert run("--record", recorded=120)[2] == {100}
    assert run("--record", recorded=90)[2] == {90}
    assert run("--record", "--force", recorded=90)[2] == {100}


def test_it_is_skipped_without_counts_for_this_python(run, monkeypatch):
    monkeypatch.setattr(guard, "measure", None)
    code, text, _ = run()
    assert code == 0
    assert "no counts are recorded" in text


def test_it_is_skipped_without_a_counter(run, monkeypatch):
    monkeypatch.setattr(guard, "counter", lambda: None)
    code, text, _ = run()
    assert code == 0
    assert "neither perf counters nor valgrind" in text
