"""Work grows with what is added: told from the calls of functions, which are as many on every machine."""

import shutil
import sys
import tracemalloc
from dataclasses import replace

import pytest

from bench.content import Shape
from bench.generate import PROFILES, generate
from chatsquash import Options, convert
from chatsquash.core import platform
from tests.conftest import cases

from .shapes import SHAPES, write

SHORT = Shape(prompt=300, tools=(3, 3), result=60)
DEFAULT = Options(anonymize=False)
ALL = Options(
    anonymize=False,
    sessions_by="chain",
    conversations="all",
    restore="all",
    loss="weight",
    samples="reply",
    pairs="logged",
    duplicates="ids",
    format="jsonl",
)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Calls that wait for the disk are made in one thread: else it depends on the load which of them are counted."""
    monkeypatch.setattr(platform, "_AT_ONCE", 1)


def calls(logs, out, options=DEFAULT) -> int:
    """How many functions are called to convert logs, those of C among them."""
    count = 0

    def called(_frame, event, _arg):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        convert(logs, out, options)
    finally:
        sys.setprofile(before)
    return count


def peak(logs, out, options=DEFAULT) -> int:
    """The most bytes that objects take at once while logs are converted."""
    tracemalloc.start()
    try:
        convert(logs, out, options)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def size(folder) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def step(short, middle, long) -> float:
    """How much more a second step of twice the size adds than the first did: 2 where each adds the same, 4 to 8 where
    it adds as much as is there."""
    return (long - middle) / (middle - short)


def growth(tmp_path, profile, field, sizes):
    """The step of the calls for logs of three sizes."""
    counts = []
    for each in (sizes[-1], *sizes):  # the first run loads modules, too
        logs = generate(f"{field}{each}", replace(profile, **{field: each}), tmp_path)
        counts.append(calls(logs, tmp_path / f"out{len(counts)}"))
    return step(*counts[1:])


@cases(
    "style", "growing", "spaced", "hostile", "anthropic", "gemini", "openai_responses", "ollama", "claude_code", "codex"
)
def test_a_session_costs_what_is_added_to_it(tmp_path, style):
    profile = replace(PROFILES["long"], sessions=1, style=style, shape=SHORT)
    assert growth(tmp_path, profile, "requests", (50, 100, 200)) < 2.6


def test_a_session_costs_the_same_among_many(tmp_path):
    assert growth(tmp_path, PROFILES["tiny"], "sessions", (10, 20, 40)) < 2.2


EVERY = [(shape, DEFAULT) for shape in SHAPES] + [(shape, ALL) for shape in ("branches", "windows", "two_chains")]


@pytest.mark.parametrize(("shape", "options"), EVERY, ids=[f"{name} {one is ALL}" for name, one in EVERY])
def test_work_and_memory_grow_with_what_is_read_and_written(tmp_path, shape, options):
    """A shape whose output grows faster than its log may take as much more work as there is to write."""
    counts, peaks, sizes = [], [], []
    for number, count in enumerate((15, 30, 60, 120)):  # the first run loads modules, too
        logs = write(shape, count, tmp_path / f"logs{number}")
        out = tmp_path / f"out{number}"
        counts.append(calls(logs, out, options))
        sizes.append(size(logs) + size(out))
        shutil.rmtree(out)
        peaks.append(peak(logs, out, options))
    allowed = 1.3 * max(2, step(*sizes[1:]))
    assert step(*counts[1:]) < allowed
    assert peaks[3] < allowed * peaks[2]
