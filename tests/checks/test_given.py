"""A rule that is not run where what it goes by gives nothing would have found nothing there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.checks import examine, rules
from chatsquash.checks.registry import View
from chatsquash.model import Conversation

from . import test_calls, test_contents, test_definitions, test_results
from .rows import assistant, call, names, result, tool, user

ROWS = test_calls.ROWS + test_contents.ROWS + test_definitions.ROWS + test_results.ROWS
KINDS = ("tools", "record", "native")

IDS = st.sampled_from(["c1", "c2", "c3", "", None, 1])
ARGUMENTS = st.sampled_from(["{}", '{"a": 1}', "", "[]", "{", "{},{}", '{"a": NaN}', "\ud800", None, {}])
CALLS = st.one_of(
    st.builds(call, IDS, st.sampled_from(["grep", "grep", "read", "", None, 1]), ARGUMENTS),
    st.sampled_from(["grep", None, {}, {"id": "c1"}, {"id": "c2", "type": "custom", "custom": {"name": "x"}}]),
)
CONTENTS = st.sampled_from(
    ["done", 5, {}, "", " ", None, '{"error": true}', '{"error": null}', [{"type": "image_url"}]]
)
MESSAGES = st.one_of(
    st.lists(CALLS, max_size=3).map(lambda calls: assistant("", *calls)),
    st.builds(result, CONTENTS, IDS),
    st.builds(assistant, CONTENTS),
    st.sampled_from([user(), assistant(tool_calls="x"), assistant(tool_calls={}), assistant(tool_calls=None)]),
    st.sampled_from([assistant(function_call={"name": "grep"}), {**user(), "tool_calls": [1], "function_call": {}}]),
)
TOOLS = st.lists(
    st.sampled_from([tool(), tool("read"), {"description": "nameless"}, tool(parameters=[]), {"type": "web"}, 1]),
    max_size=3,
)


def whether_or_not(conversation):
    """What all rules find, none left aside."""
    view = View(conversation)
    of_kinds = [rule for rule in rules().values() if rule.kind in KINDS]
    return [rule.found(fact) for rule in of_kinds for fact in rule.function(view)]


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_rows(row):
    assert list(examine(View(row.conversation), *KINDS)) == whether_or_not(row.conversation)


@given(st.lists(MESSAGES, max_size=6), TOOLS)
def test_any_conversation(messages, tools):
    conversation = Conversation(messages, tools)
    assert list(examine(View(conversation), *KINDS)) == whether_or_not(conversation)


@given(TOOLS)
def test_rules_on_tools_look_at_one_definition_at_a_time(tools):
    alone = [bool(list(examine(View(Conversation([], [each])), "tools"))) for each in tools]
    assert any(alone) == bool(list(examine(View(Conversation([], tools)), "tools")))
