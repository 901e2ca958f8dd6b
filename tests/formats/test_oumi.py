"""What is particular to Oumi: branches of a history; ``rows/oumi.json`` and ``rows/oumi_history.json`` have the rest."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.core.model import Branch, Conversation
from chatsquash.formats.base import TurnError
from chatsquash.formats.clients.oumi import conversations, dump
from chatsquash.formats.clients.oumi.history import branches
from chatsquash.formats.clients.oumi_history import dump_all, every
from chatsquash.translate.losses import differences
from tests.formats.kinds import ODD, said, user
from tests.formats.odd import CONVERSATIONS
from tests.formats.table import has_private

# Histories


def branch(ident, *history, parent=None, point=0, **more):
    return {
        "id": ident,
        "name": ident.title(),
        "created_at": "2025-01-15T14:30:45.123456",
        "last_active": "2025-01-15T14:35:20.789012",
        "parent_branch_id": parent,
        "branch_point_index": point,
        "conversation_history": list(history),
        "model_name": "some/model",
        "engine_type": "VLLM",
        "model_config": None,
        "generation_config": None,
        **more,
    }


def saved(*held, current="main", **more):
    return {
        "schema_version": "1.0.0",
        "format": "oumi_conversation_history",
        "created_at": "2025-01-15T14:30:45.123456",
        "source": "oumi_interactive_chat",
        "session": {"chat_id": "model_20250115_143045", "current_branch_id": current, "total_session_time": None},
        "configuration": {"model": {"model_name": "some/model"}, "engine": "VLLM"},
        "branches": {each["id"]: each for each in held},
        "command_history": [{"note": "not yet implemented", "type": "system_note"}],
        "attachments": [],
        "statistics": {"total_branches": len(held)},
        **more,
    }


A, B, C, D = user("a"), said("b"), user("c"), said("d")
X, Y = user("x"), said("y")


def told(found):
    """Conversations without what their file says beside them."""
    return [Conversation(each.messages, each.tools, each.branch) for each in found]


def test_every_branch_is_at_hand_with_its_parent_and_branch_point():
    document = saved(branch("main", A, B), branch("try", A, X, parent="main", point=1), current="try")
    assert told(branches(document)) == [
        Conversation([A, B], [], Branch("main", "Main", None, 0, current=False)),
        Conversation([A, X], [], Branch("try", "Try", "main", 1, current=True)),
    ]
    bare = {"id": "main", "conversation_history": [A]}
    least = {"schema_version": "1.0.0", "format": "oumi_conversation_history", "branches": {"main": bare}}
    assert told(branches(least)) == [Conversation([A], [])], "the only branch has no place among others"


def test_a_history_has_a_branch_for_each_conversation():
    written = dump_all([Conversation(each, []) for each in ([A, B, C, D], [A, B, X], [A, B, X, Y], [Y])])
    assert written["session"] == {"current_branch_id": "main"}
    assert written["statistics"] == {"total_branches": 4, "total_messages": 12, "total_user_messages": 6, "total_assistant_messages": 6}  # fmt: skip
    assert [tuple(each.values()) for each in written["branches"].values()] == [
        ("main", "Main", None, 0, [A, B, C, D]),
        ("branch_1", "Branch 1", "main", 2, [A, B, X]),
        ("branch_2", "Branch 2", "branch_1", 3, [A, B, X, Y]),
        ("branch_3", "Branch 3", None, 0, [Y]),
    ]
    assert [each.messages for each in conversations([written])] == [[A, B, C, D], [A, B, X, Y], [Y]]


def test_branches_keep_their_names_and_places():
    document = saved(branch("main", A, B, C, D), branch("try", A, B, X, parent="main", point=2), branch("more", A, B, X, Y, parent="try", point=3), current="try")  # fmt: skip
    found = every([document])
    assert told(every([dump_all(found)])) == told(found)
    assert dump_all(found)["session"]["current_branch_id"] == "try"


THOUGHT = {"timestamp": "2025-01-15T14:30:46", "raw_thinking": "<think>hm</think>", "word_count": 1}
WHOLE = saved(
    branch("main", {**A, "timestamp": "2025-01-15T14:30:45"}, {**B, **THOUGHT, "metadata": {"thinking_content": "hm", "tokens": 3}}),
    branch("try", {**A, "timestamp": "2025-01-15T14:30:45"}, {"role": "attachment", "content": "x", "attachment_info": {"type": "web_fetch"}}, {"role": "attachment", "text_content": "y", "file_info": {"name": "y.csv"}}, D, parent="main", point=1, model_name="other/model"),
    oumi_version="0.9",
    attachments=[{"name": "y.csv"}],
    statistics={"total_branches": 2, "total_messages": 6, "total_user_messages": 2, "total_assistant_messages": 2, "words": 5},
)  # fmt: skip
"""A history with all that is documented."""


def without_nothing(document):
    """A document without members that say nothing."""
    if isinstance(document, dict):
        held = {key: without_nothing(value) for key, value in document.items()}
        return {key: value for key, value in held.items() if value not in (None, [], {})}
    return [without_nothing(each) for each in document] if isinstance(document, list) else document


def test_a_history_keeps_all_that_it_says():
    found = every([WHOLE])
    again = dump_all(found)
    assert without_nothing(again) == without_nothing(WHOLE)
    assert [differences(*both) for both in zip(found, every([again]), strict=True)] == [[], []]


def test_what_a_history_says_is_told_as_lost_elsewhere():
    main, _ = every([WHOLE])
    members = ["created_at", "source", "session", "configuration", "command_history", "attachments", "statistics", "oumi_version", "branches"]  # fmt: skip
    turns = ["turns[0].native.oumi.timestamp", *(f"turns[1].native.oumi.{name}" for name in (*THOUGHT, "metadata"))]
    lost = differences(main, conversations([dump(main)])[0])
    assert sorted(lost) == sorted(["branch", *(f"native.oumi.{name}" for name in members), *turns])


def test_a_chat_that_was_saved_by_itself_keeps_its_form():
    for document in ({"chat_id": "c", "model_name": "m", "created_at": "2025-01-15T14:30:45", "conversation_history": [A, B]}, {"export_info": {"at": 1}, "conversation": [A]}):  # fmt: skip
        assert dump_all(conversations([document])) == document


UNTRUE = [
    (Branch("try", "Try", "gone", 1), "main", 2, "the parent is not there"),
    (Branch("try", "Try", "main", 3), "main", 2, "it begins otherwise than it says"),
    (Branch("try", "Try", None, 1), "main", 2, "nothing is no parent"),
]


@pytest.mark.parametrize("place, parent, point, sentence", UNTRUE, ids=[row[3] for row in UNTRUE])
def test_a_place_that_is_not_true_is_told_anew(place, parent, point, sentence):
    written = dump_all([Conversation([A, B, C], [], Branch("main", current=True)), Conversation([A, B, X], [], place)])
    told = written["branches"]["try"]
    assert (told["parent_branch_id"], told["branch_point_index"], told["name"]) == (parent, point, "Try"), sentence


def test_no_branch_takes_the_place_of_another():
    twice = [Conversation([turn], [], Branch("b")) for turn in (A, Y)]
    assert [each.messages for each in every([dump_all(twice)])] == [[A], [Y]]
    assert list(dump_all(twice)["branches"]) == ["b", "b_2"]


def test_a_history_of_nothing_is_read_back_as_nothing():
    assert conversations([dump_all([])]) == []


@given(st.lists(ODD | CONVERSATIONS, max_size=3))
def test_odd_values_never_stop_a_history_and_its_rules_hold(found):
    before = copy.deepcopy(found)
    written = dump_all(found)
    assert found == before
    assert not has_private(written)
    assert json.loads(json.dumps(written)) == written == dump_all(found)
    for each in written["branches"].values():
        parent = written["branches"].get(each["parent_branch_id"], {"conversation_history": []})
        point = each["branch_point_index"]
        assert each["conversation_history"][:point] == parent["conversation_history"][:point]
        assert len(each["conversation_history"]) >= point <= len(parent["conversation_history"])
    assert len(branches(written)) == len(found)


# Training


def test_a_schema_that_is_nested_too_deeply_is_refused():
    schema = {}
    for _ in range(100_000):
        schema = {"items": schema}
    with pytest.raises(TurnError, match=r"^tools are nested too deeply$"):
        dump(Conversation([], [{"type": "function", "function": {"name": "f", "parameters": schema}}]))
    while schema:
        schema = schema.pop("items")
