"""What is particular to the portable array; ``rows/portable.json`` has what all documents have."""

from hypothesis import given

from chatsquash.formats.clients.portable import dump
from tests.formats.kinds import ODD
from tests.formats.odd import CONVERSATIONS


@given(ODD | CONVERSATIONS)
def test_the_rules_of_the_array_hold_whatever_is_written(conversation):
    array = dump(conversation)
    for entry, following in zip(array, [*array, {}][1:], strict=True):
        assert entry["role"] in ("system", "user", "assistant")
        assert isinstance(entry["content"], str | None)
        assert not (entry["content"] and "toolResults" in entry)
        assert not ("toolResults" in entry and "toolResults" in following), "results in a row are on one entry"
        assert all(isinstance(each["arguments"], dict) for each in entry.get("toolCalls", []))
        assert all(isinstance(each["result"], str | dict) for each in entry.get("toolResults", []))
        for each in (*entry.get("toolCalls", []), *entry.get("toolResults", [])):
            assert isinstance(each["id"], str)
