"""What is to be sent is what the services' own libraries take, with no member that they do not know."""

import pytest
from hypothesis import given, settings

from chatsquash.translate import conversations
from chatsquash.translate.sendable import NothingToSendError
from tests.conformance.shared import forced
from tests.conformance.test_anthropic_write import SYSTEM, TURNS
from tests.conformance.test_gemini_write import CONTENTS
from tests.conformance.test_openai_write import ITEMS, MESSAGES
from tests.formats.talks import TALKS

TAKEN = [
    ("openai_chat", "messages", MESSAGES),
    ("openai_responses", "input", ITEMS),
    ("anthropic", "messages", TURNS),
    ("anthropic", "system", SYSTEM),
    ("gemini", "contents", CONTENTS),
]


def said(value):
    """A value without nulls, which some of the types add."""
    if isinstance(value, dict):
        return {key: said(each) for key, each in value.items() if each is not None}
    return list(map(said, value)) if isinstance(value, list) else value


@pytest.mark.parametrize("name, member, library", TAKEN, ids=[f"{row[0]}-{row[1]}" for row in TAKEN])
@settings(max_examples=300)
@given(talk=TALKS)
def test_the_library_knows_each_member_of_what_is_sendable(name, member, library, talk):
    try:
        body = conversations.dump(talk, name, sendable=True)
    except NothingToSendError:
        return
    if member in body:
        taken = forced(library.validate_python(body[member]))
        assert name == "gemini" or said(taken) == said(body[member])
