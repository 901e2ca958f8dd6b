"""What is particular to OpenHands; ``rows/openhands.json`` has what all documents have."""

import pytest

from chatsquash.formats.agents import openhands
from tests.formats.table import conversation, each, rows


@each("files", "openhands")
def test_a_history_may_be_a_list_or_stand_in_an_object(name, given, expected):
    if "refused" in expected:
        return
    whole = [conversation(held) for held in expected]
    assert openhands.conversations([given]) == whole
    if all("kind" not in event for event in given):
        assert openhands.conversations([{"instance_id": "a", "history": given}]) == whole
        assert openhands.conversations([{"history": given}, {"history": given}]) == whole * 2


FIRST = [row for row in rows("files", "openhands") if "refused" not in row.expected]


@pytest.mark.parametrize("row", FIRST, ids=[row.sentence for row in FIRST])
def test_what_tells_a_history(row):
    second = any("kind" in event for event in row.given)
    assert openhands.fits(row.given) == f"events of OpenHands V{int(second)}"
    listed = "events with source, action and observation in 1 histories"
    assert second or openhands.fits([row.given]) == openhands.fits([{"history": row.given}]) == listed
