"""When two messages are the same."""

from __future__ import annotations

from typing import Any

import pytest

from chatsquash.trees.canonical import NOTHING, Canon
from tests.checks.rows import part
from tests.conftest import user

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


def test_what_only_reminds_is_no_part_of_a_chain():
    assert numbers(REMINDER, [part(REMINDER), part("")]) == (NOTHING, NOTHING)
