"""A time of zero, as programs write for one that they do not know, is no time in files of agents and clients."""

import json
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.core.times import Moment
from chatsquash.formats.evidence import moment

SAMPLES = Path(__file__).parents[2] / "sample_logs"

ZEROS = [0, 0.0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00", "0001-01-01T00:00:00Z", -62_135_596_800]


@pytest.mark.parametrize("zero", ZEROS, ids=repr)
def test_the_zero_of_a_clock_is_no_time(zero):
    assert moment(zero) is None


@pytest.mark.parametrize(("value", "at"), [(1, 10**9), (-1, -(10**9)), ("1970-01-01T00:00:01Z", 10**9)], ids=repr)
def test_what_is_beside_it_is_one(value, at):
    assert moment(value) == Moment(at)


def days(folder):
    convert("logs", "out", Options(anonymize=False))
    return sorted(path.name for path in (folder / "out").glob("*.jsonl"))


def test_the_time_of_the_line_counts_where_that_of_the_message_is_zero(here):
    (here / "logs").mkdir()
    (here / "logs/oc1.jsonl").write_bytes((SAMPLES / "openclaw/oc1.jsonl").read_bytes())
    assert '"timestamp": 0' in (here / "logs/oc1.jsonl").read_text()
    assert days(here) == ["2026-02-18.jsonl"]
    lines = (here / "logs/oc1.jsonl").read_text().splitlines()
    held = [json.loads(line) for line in lines]
    for each in held:
        each.get("message", {})["timestamp"] = 0
    del held[0]["timestamp"]
    (here / "logs/oc1.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in held))
    assert days(here) == ["2026-02-18.jsonl"]


@pytest.mark.parametrize("zero", [0, "1970-01-01T00:00:00.000Z"], ids=str)
def test_claude_codes_lines_without_a_time_are_undated(here, zero):
    (sample,) = (SAMPLES / "documents").glob("claude_code-*.jsonl")
    held = [{**json.loads(line), "timestamp": zero} for line in sample.read_text().splitlines()]
    (here / "logs").mkdir()
    (here / "logs/s.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in held))
    assert days(here) == ["undated.jsonl"]
