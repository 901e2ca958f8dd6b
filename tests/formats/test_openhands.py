"""What is particular to OpenHands; ``rows/openhands.json`` has what all documents have."""

import pytest

from chatsquash.formats.agents import openhands
from chatsquash.formats.providers.openai_chat.read import turns_of
from tests.formats.table import built, conversation, each, rows


def holds_history(given):
    return isinstance(given[0], dict) and "history" in given[0]


def bare(found):
    """The conversations in a file, without what it says beside them."""
    return list(map(told, openhands.conversations(found)))


def told(found):
    return built(turns_of(found)), found.tools


@each("files", "openhands")
def test_a_history_may_be_a_list_or_stand_in_an_object(name, given, expected):
    if "refused" in expected or holds_history(given):
        return
    whole = [told(conversation(held)) for held in expected]
    assert bare([given]) == whole
    if all("kind" not in event for event in given):
        assert bare([{"instance_id": "a", "history": given}]) == whole
        assert bare([{"history": given}, {"history": given}]) == whole * 2


FIRST = [row for row in rows("files", "openhands") if "refused" not in row.expected and not holds_history(row.given)]


@pytest.mark.parametrize("row", FIRST, ids=[row.sentence for row in FIRST])
def test_what_tells_a_history(row):
    second = any("kind" in event for event in row.given)
    assert openhands.fits(row.given) == f"events of OpenHands V{int(second)}"
    listed = "events with source, action and observation in 1 histories"
    assert second or openhands.fits([row.given]) == openhands.fits([{"history": row.given}]) == listed


def test_runs_of_an_evaluation_are_sessions_of_their_instances_where_each_has_one_run():
    events = [{"id": 0, "source": "user", "action": "message", "args": {"content": "hi"}}]
    runs = [{"instance_id": name, "history": events} for name in ("a", "b", "b")]
    assert [each.origin.session_id for each in openhands.conversations(runs)] == ["a", None, None]
