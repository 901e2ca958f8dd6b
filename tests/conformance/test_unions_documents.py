"""What is read of every part of the documents of Pydantic AI and the AI SDK."""

from __future__ import annotations

import msgspec
import pytest

from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.translate.conversations import load_all
from tests.conformance.document_unions import DOCUMENTS
from tests.conformance.examples import words
from tests.conformance.union_table import assert_known, lost

NONE_VALID = {"RetryFeedbackPart"}
"""Parts of which no example made from annotations is valid."""


@pytest.mark.parametrize("member", DOCUMENTS)
def test_all_texts_of_a_part_are_read(member):
    assert bool(member.examples) == (member.name not in NONE_VALID)
    found: dict[str, str] = {}
    for example in member.examples:
        (conversation,) = load_all([member.union.exchange(example.value)], member.union.format)
        seen = words(msgspec.to_builtins([turns_of(conversation), conversation.native]))
        for path in lost(example.value, words(example.value) - seen):
            found.setdefault(path, example.name)
    assert_known("documents", member, found)
