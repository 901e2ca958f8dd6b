"""When two messages are the same."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from chatsquash.trees import calls, canonical, growth_tracking, rewrites
from chatsquash.trees.canonical import NOTHING, Canon
from chatsquash.trees.rewrites import Growth
from tests.checks.rows import part
from tests.conftest import assistant, user

from .logs import calling

REMINDER = "<system-reminder>Be brief.</system-reminder>"


IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}

SAME = [
    ("white space at the ends", "Mend it.", "\n Mend it. "),
    ("one part", "Mend it.", [part("Mend it.")]),
    ("parts at a paragraph", "Mend it.\n\nThen run.", [part("Mend it."), part("Then run.")]),
    ("one part that has a seam", [part("Mend it.\n\n"), part("Then run.")], [part("Mend it.\n\nThen run.")]),
    ("a reminder behind", "Mend it.", f"Mend it.\n{REMINDER}"),
    ("a reminder as a part of its own", "Mend it.", [part("Mend it."), part(REMINDER)]),
    ("a part without words", [part("Mend it."), part(" \n")], "Mend it."),
]
OTHER = [
    ("another word", "Mend it.", "Mend them."),
    ("an image", [part("Mend it.")], [part("Mend it."), IMAGE]),
    ("another seam", [part("Mend"), part("it.")], "Mendit!"),
]


def numbers(one: Any, other: Any) -> tuple[int, int]:
    canon = Canon()
    return canon.number(user(one)), canon.number(user(other))


@pytest.mark.parametrize("one, other", [row[1:] for row in SAME], ids=[row[0] for row in SAME])
def test_the_same_in_either_order(one, other):
    assert len({*numbers(one, other)}) == 1
    assert len({*numbers(other, one)}) == 1


@pytest.mark.parametrize("one, other", [row[1:] for row in OTHER], ids=[row[0] for row in OTHER])
def test_another(one, other):
    assert len({*numbers(one, other)}) == 2


REPLIES = [
    ("a block of reasoning", "Mended.", "<think>\nSums.\n</think>\n\nMended."),
    ("an empty block", "Mended.", "<think>\n\n</think>\n\nMended."),
    ("two blocks", "Mended.", "<think>a</think>\n<think>b</think>Mended."),
    ("a block that the prompt opened", "Mended.", "Sums.\n</think>\n\nMended."),
    ("a block in parts", "Mended.", [part("<think>Sums.</think>"), part("Mended.")]),
]
OTHER_REPLIES = [
    ("a block that is not closed", "Mended.", "<think>\nMended."),
    ("a block within the text", "Mended. Now.", "Mended. <think>Sums.</think>Now."),
    ("a tag in a sentence", "Mended.", "It ends with </think> Mended."),
    ("a block that the user wrote", "Mended.", "<thinking>Sums.</thinking>Mended."),
]


@pytest.mark.parametrize("one, other", [row[1:] for row in REPLIES], ids=[row[0] for row in REPLIES])
def test_replies_are_the_same_without_reasoning_before_the_text(one, other):
    assert is_same(assistant(one), assistant(other))
    assert is_same(assistant(other), assistant(one))


@pytest.mark.parametrize("one, other", [row[1:] for row in OTHER_REPLIES], ids=[row[0] for row in OTHER_REPLIES])
def test_other_replies(one, other):
    assert not is_same(assistant(one), assistant(other))


ARGUMENTS = [
    ("another order and white space", '{"a": 1, "b": [true]}', '{"b":[true],"a":1}'),
    ("escapes", '{"path": "caf\\u00e9"}', '{"path": "caf\u00e9"}'),
    ("spellings of a number", '{"a": 100}', '{"a": 1e2}'),
    ("a number that a double does not hold", '{"a": 12345678901234567890}', '{"a": 12345678901234567000}'),
    ("no arguments", "", "{}"),
]


@pytest.mark.parametrize("one, other", [row[1:] for row in ARGUMENTS], ids=[row[0] for row in ARGUMENTS])
def test_arguments_are_the_same_however_they_are_written(one, other):
    assert is_same(calling("run", one), calling("run", other, id="call_2"))


@pytest.mark.parametrize("other", ['{"a": true}', '{"a": "1"}', '{"a": 2}', '{"a": [1]}'])
def test_other_arguments(other):
    assert not is_same(calling("run", '{"a": 1}'), calling("run", other))


def is_same(one: Any, other: Any) -> bool:
    """Whether messages are the same, which both implementations are to agree on."""
    canon = Canon()
    same = canon.number(one) == canon.number(other)
    assert Growth().is_same(one, other) == same
    assert growth_tracking._is_same(one, other) == same
    return same


def test_what_only_reminds_is_no_part_of_a_chain():
    assert numbers(REMINDER, [part(REMINDER), part("")]) == (NOTHING, NOTHING)


def test_typographic_punctuation_separates_words_like_other_punctuation():
    typographic = "\u201cone two\u201d \u2014 three\u2026four\u2022five\u2019s \u00e9t\u00e9"
    assert canonical.runs(typographic) == canonical.runs('"one two" - three...four*five\'s \u00e9t\u00e9')


@pytest.mark.parametrize("count", [0, 3, 100, 128, 140, 3_000])
def test_a_sketch_contains_the_smallest_runs(count):
    words = canonical.runs(" ".join(f"word{number * number}" for number in range(count)))
    assert canonical.sketch(words) == sorted(words)[:16]


@pytest.mark.parametrize("count", [0, 3, 7, 8, 9, 10, 300, 30_000])
def test_the_anchors_of_a_text_are_runs_from_its_first_to_its_last(count):
    words = [f"word{number}" for number in range(count)]
    anchors, runs = canonical.anchors(" ".join(words)), canonical.runs(" ".join(words))
    assert anchors <= runs
    assert len(anchors) == (min(count, 1) if count < 6 else min(count - 4, 4))
    known = words[: canonical._MOST]
    assert canonical.runs(" ".join(known[:5])) | canonical.runs(" ".join(known[-5:])) <= anchors


@pytest.mark.parametrize(
    ("prompt", "is_contained"),
    [
        ("Task: {}", True),
        ("Task: {} Report back.", True),
        ("{} Use no tools.", True),
        ("Read every file in the folder below src and", False),
        ("Do not {}", True),
    ],
)
def test_an_argument_is_recognized_in_a_longer_text(prompt, is_contained):
    argument = "Read every file in the folder below src and list the functions that open a socket or a pipe."
    known = calls.Calls()
    known.learn(SimpleNamespace(number=0, message=calling("task", json.dumps({"prompt": argument, "kind": "search"}))))
    assert bool(known.contained(canonical.runs(prompt.format(argument)))) == is_contained


@pytest.mark.parametrize(
    "argument", ["read all files " * 5, "read every file here " * 4, "read every file of src " * 4]
)
def test_an_argument_that_repeats_itself_is_recognized_in_a_longer_text(argument):
    known = calls.Calls()
    known.learn(SimpleNamespace(number=0, message=calling("task", json.dumps({"prompt": argument}))))
    assert known.contained(canonical.runs(f"Task: {argument} Report back."))


def test_only_the_last_arguments_of_calls_are_remembered(monkeypatch):
    monkeypatch.setattr(canonical, "_MOST_ARGUMENTS", 4)
    monkeypatch.setattr(canonical, "_numbers_of_arguments", {})
    canon = canonical.Canon()
    numbers = [canon.number(calling("tool", f'{{"a": {at}}}')) for at in range(10)]
    assert numbers == [canon.number(calling("tool", f'{{"a":{at}}}')) for at in range(10)]
    assert len(canonical._numbers_of_arguments) <= 4


@pytest.mark.parametrize(
    ("message", "is_long"),
    [
        (assistant("Yes."), False),
        (assistant("The second of both tests fails."), True),
        (calling("read", '{"path": "a"}'), False),
        (calling("read", '{"path": "tests/test_sum.py"}'), True),
        (calling("read_the_file_with_name", "{}", text="So"), True),  # together with the name
        (calling("read", "一二三四五六七八九十一二"), True),
    ],
)
def test_a_reply_is_long_if_all_its_words_together_are(message, is_long):
    assert rewrites.is_long_reply(message) is is_long
    assert canonical.is_long(rewrites.words(message)) is is_long
