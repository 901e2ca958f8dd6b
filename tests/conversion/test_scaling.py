"""Work grows with what is added: told from the calls of functions, which are as many on every machine."""

import sys
from dataclasses import replace

from bench.content import Shape
from bench.generate import PROFILES, generate
from chatsquash import Options, convert
from tests.conftest import cases

SHORT = Shape(prompt=300, tools=(3, 3), result=60)


def calls(logs, out) -> int:
    """How many functions are called to convert logs, those of C among them."""
    count = 0

    def called(_frame, event, _arg):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        convert(logs, out, Options(anonymize=False))
    finally:
        sys.setprofile(before)
    return count


def growth(tmp_path, profile, field, sizes):
    """How much more a second step of twice the size adds than the first did: 2 where each adds the same, 4 to 8 where
    it adds as much as is there."""
    counts = []
    for size in (sizes[-1], *sizes):  # the first run loads modules, too
        logs = generate(f"{field}{size}", replace(profile, **{field: size}), tmp_path)
        counts.append(calls(logs, tmp_path / f"out{len(counts)}"))
    _, short, middle, long = counts
    return (long - middle) / (middle - short)


@cases(
    "style", "growing", "spaced", "hostile", "anthropic", "gemini", "openai_responses", "ollama", "claude_code", "codex"
)
def test_a_session_costs_what_is_added_to_it(tmp_path, style):
    profile = replace(PROFILES["long"], sessions=1, style=style, shape=SHORT)
    assert growth(tmp_path, profile, "requests", (50, 100, 200)) < 2.6


def test_a_session_costs_the_same_among_many(tmp_path):
    assert growth(tmp_path, PROFILES["tiny"], "sessions", (10, 20, 40)) < 2.2
