"""In translations of every member of the SDKs' unions, losses name all that is gone and nothing that is there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from chatsquash.core.chat import PRIVATE
from chatsquash.core.model import Conversation
from chatsquash.formats import bodies, get_format
from chatsquash.formats.providers.openai_chat.read import turns_of
from tests.conformance import readers
from tests.conformance.examples import words
from tests.conformance.sdk_unions import MEMBERS
from tests.conformance.union_table import TABLE
from tests.formats.written import written

_EVERYWHERE = 3
"""Examples of a member that are written in all formats; others are in their own."""
CHANGED = {(to, row["union"], member) for row in TABLE["translate"] for member in row["members"] for to in row["to"]}
"""Members of which a format has all texts, but at another place, which counts as lost."""
REQUESTS = [each for each in MEMBERS if "request" in each.values[0].union.place or each.values[0].union.place == "tool"]


def spelled(conversation: Conversation) -> Any:
    """A conversation as paths of losses name its parts."""
    tools = [
        {("native" if name == PRIVATE else name): each for name, each in tool.items()} for tool in conversation.tools
    ]
    parts = {"turns": turns_of(conversation), "tools": tools, "native": conversation.native}
    return json.loads(msgspec.json.encode(parts))


def at(value: Any, path: str) -> Any:
    """The part of a value at a path; ``None`` for one that was not there."""
    for step in re.findall(r"[^.\[\]]+", path):
        if isinstance(value, list):
            value = value[int(step)] if step.isdigit() and int(step) < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def mistakes(conversation: Conversation, target: str) -> Iterator[str]:
    """What losses do not name, and what they name though it is written."""
    source, made = spelled(conversation), written(conversation, target)
    document = words(made.document)
    gone = {path: words(at(source, path)) for path in made.told}
    unnamed = words(source) - document - words(made.told) - set().union(*gone.values())
    if unnamed:
        yield f"{target}: {sorted(unnamed)} are gone, and losses are {made.told}"
    if any(texts and texts <= document for texts in gone.values()):
        yield f"{target}: written elsewhere"


@pytest.mark.parametrize("member", REQUESTS)
def test_losses_of_a_member_are_true(member):
    found: dict[str, str] = {}
    for number, example in enumerate(member.examples):
        conversation = bodies.load(get_format(member.union.format), member.union.exchange(example.value).request)
        for target in (
            readers.NAMES
            if number < _EVERYWHERE
            else [member.union.format]
            if member.union.format in readers.NAMES
            else []
        ):
            for mistake in mistakes(conversation, target):
                found.setdefault(mistake, example.name)
    known = {
        f"{to}: written elsewhere" for to, union, name in CHANGED if (union, name) == (member.union.name, member.name)
    }
    assert found.keys() == known, f"{member.name} ({member.union.name}): {found}, the table has {sorted(known)}"
