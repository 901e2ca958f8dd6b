"""Work grows with what is added: told from the calls of functions, which are as many on every machine."""

import shutil
import sys
import tracemalloc
from dataclasses import replace
from functools import partial

import pytest

from bench.content import Shape
from bench.generate import PROFILES, generate
from chatsquash import Options, convert
from chatsquash.core import platform
from chatsquash.formats import threads
from chatsquash.view.conversation import Conversation
from chatsquash.view.logs import Viewer
from chatsquash.view.pages.tree import tree
from tests.conftest import cases

from .shape_table import FILES, SHAPES, write

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
SESSIONS = replace(ALL, samples="session")
NEAR = replace(SESSIONS, duplicates="near")
_PAGE = 1_000
"""Bytes of output that count as no growth."""


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Calls that wait for the disk are made in one thread: else it depends on the load which of them are counted."""
    monkeypatch.setattr(platform, "_MAX_THREADS", 1)


def calls(logs, out, options=DEFAULT) -> int:
    """How many functions are called to convert logs."""
    return counted(partial(convert, logs, out, options))


def counted(work) -> int:
    """How many functions are called, those of C among them."""
    count = 0

    def called(_frame, event, _arg):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        work()
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


OPTIONS = {"default": DEFAULT, "all": ALL, "near": NEAR}
COUNTS = (10, 20, 40)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("shape", [*SHAPES, *FILES])
def test_work_and_memory_grow_with_what_is_read_and_written(tmp_path, shape, options):
    """Twice the bytes take at most 2.6 times the calls and the memory."""
    counts, peaks, sizes = [], [], []
    for number, count in enumerate((COUNTS[0], *COUNTS)):  # the first run loads modules, too
        logs, out = write(shape, count, tmp_path / f"logs{number}"), tmp_path / f"out{number}"
        counts.append(calls(logs, out, options))
        sizes.append(size(logs) + size(out))
        shutil.rmtree(out)
        peaks.append(peak(logs, out, options) if number > 1 else 0)
    allowed = 1.3 * max(2, step(*sizes[1:]))
    assert step(*counts[1:]) < allowed
    assert peaks[3] < allowed * peaks[2]


@pytest.mark.parametrize("options", [DEFAULT, SESSIONS], ids=["default", "all"])
@pytest.mark.parametrize("shape", [*SHAPES, *FILES])
def test_output_grows_with_the_input(tmp_path, monkeypatch, shape, options):
    """Twice the input gives at most 2.6 times the output, but for samples, which contain their histories.

    So do branches of an agent's file, up to a bound, which is lower here.
    """
    monkeypatch.setattr(threads, "_MOST", 2)
    monkeypatch.setattr(threads, "_LEAST", 0)
    read, written = [], []
    for count in COUNTS:
        logs, out = write(shape, count, tmp_path / f"logs{count}"), tmp_path / f"out{count}"
        convert(logs, out, options)
        read.append(size(logs))
        written.append(size(out))
    assert written[2] - written[1] < 1.3 * step(*read) * max(written[1] - written[0], _PAGE)


def test_a_tree_is_shown_in_time_linear_in_its_branches(tmp_path, monkeypatch):
    """Each branch is a conversation, which the viewer reads for the page; they repeat the log up to a bound, lower here."""
    monkeypatch.setattr(threads, "_MOST", 2)
    monkeypatch.setattr(threads, "_LEAST", 0)
    counts = []
    for number, count in enumerate((80, 80, 160, 320)):  # the first run loads modules, too
        logs, out = write("edited_prompts", count, tmp_path / f"logs{number}"), tmp_path / f"out{number}"
        convert(logs, out, DEFAULT)
        counts.append(counted(partial(tree_of_first, out)))
    assert step(*counts[1:]) < 2.2


def tree_of_first(out):
    viewer = Viewer(out)
    return tree(Conversation(viewer.result, 0), viewer.logs, viewer.logs.look(0))
