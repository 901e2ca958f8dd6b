"""Definitions of tools that are called, and no others."""

from chatsquash.session.stages.tools import used_tools
from tests.checks.rows import assistant, call, talk, tool, user
from tests.conftest import cases
from tests.session.streams import facts, staged

SQL = {"type": "custom", "custom": {"name": "sql"}}
ALL = [tool("grep"), tool("ls"), SQL, {"type": "web_search"}]
MARKUP = 'I look <tool_call>{"name": "ls", "arguments": {}}</tool_call>'


@cases("messages, expected",
    ("none is called", [user(), assistant()], []),
    ("one is called", [user(), assistant("", call())], [ALL[0]]),
    ("two are called, in the order of the definitions", [assistant("", call(name="ls"), call("c2"))], ALL[:2]),
    ("a custom tool is called", [assistant("", {"type": "custom", "custom": {"name": "sql", "input": "x"}})], [SQL]),
    ("a call in the legacy form", [assistant(None, function_call={"name": "ls"})], [ALL[1]]),
    ("a call in the text", [assistant(MARKUP)], [ALL[1]]),
    ("a call in the text beside another one", [assistant(MARKUP), assistant("", call())], ALL[:2]),
    ("a user calls nothing", [user(MARKUP), {**user(), "tool_calls": [call()]}], []),
    ("names that are none call nothing", [assistant("", call(name=None), {"id": "x"}), assistant(None, function_call={"name": {}})], []),
)  # fmt: skip
def test_what_is_called_is_defined(messages, expected):
    conversation, found = staged(used_tools(talk(*messages, tools=ALL)))
    assert conversation.tools == expected
    assert conversation.messages == messages
    assert facts(found) == [("shape-changed", "info")]
    assert found[0].text == f"changed to fit: definitions of uncalled tools {4 - len(expected)}"


def test_where_all_are_called_nothing_changes():
    conversation, found = staged(used_tools(talk(assistant("", call()))))
    assert (conversation.tools, found) == ([tool()], [])
