"""How much a dataset uses its tools, counted on the native record."""

import csv
import io

from chatsquash.checks.registry import View
from chatsquash.core.accounting import ToolUse, Usage
from chatsquash.dataset.reports.tables import TOOLS, USAGE, USAGE_COLUMNS, ToolUsage, table
from chatsquash.session.record_measures import measure
from tests.checks.rows import assistant, call, result, talk, tool, user
from tests.conftest import cases

SYSTEM = {"role": "system", "content": "be brief"}
FAILED = '{"error": "no"}'


def measured(*messages, tools=None) -> Usage:
    return measure(View(talk(*messages, tools=tools)))


@cases("messages, expected",
    ("one of each", [user(), assistant()], (1, 1, 0)),
    ("system and user are one side", [SYSTEM, user(), user(), assistant()], (1, 1, 0)),
    ("assistants in a row are one turn", [user(), assistant(), assistant()], (1, 1, 0)),
    ("tool results do not interrupt a turn", [user(), assistant("", call()), result(), assistant()], (1, 1, 1)),
    ("nor do function results", [user(), assistant("a"), {"role": "function", "content": ""}, assistant()], (1, 1, 0)),
    ("nor between two users", [user(), result(), user(), assistant()], (1, 1, 0)),
    ("any other role ends a turn", [user(), {"role": "critic", "content": ""}, user(), assistant()], (2, 1, 0)),
    ("and belongs to no side", [{"role": "critic", "content": ""}, {"role": "judge", "content": ""}], (0, 0, 0)),
    ("a turn with two calling messages counts once", [assistant("", call()), result(), assistant("", call("c2"))], (0, 1, 1)),
    ("a turn counts when any of its messages calls", [assistant(), assistant("", call())], (0, 1, 1)),
    ("turns with and without", [assistant("", call()), result(), user(), assistant()], (1, 2, 1)),
    ("nothing", [], (0, 0, 0)),
)  # fmt: skip
def test_a_turn_is_a_run_of_messages_of_one_side(messages, expected):
    usage = measured(*messages)
    assert (usage.client_turns, usage.assistant_turns, usage.assistant_turns_with_tools) == expected


@cases(
    "message, expected",
    ("items of tool_calls", assistant("", call(), call("c2")), 2),
    ("items that are no calls, too", assistant("", "x", None), 2),
    ("a function_call", assistant("", function_call={"name": "f", "arguments": "{}"}), 1),
    ("tags in the text", assistant("<tool_call>{}</tool_call> and <tool_call>{}</tool_call>"), 2),
    ("tags in a content list", assistant([{"type": "text", "text": "<tool_call>"}]), 1),
    ("tool_calls before all else", assistant("<tool_call><tool_call>", call(), function_call={"name": "f"}), 1),
    ("function_call before tags", assistant("<tool_call><tool_call>", function_call={"name": "f"}), 1),
    ("no empty list", assistant("x", tool_calls=[]), 0),
    ("no null", assistant("x", tool_calls=None, function_call=None), 0),
    ("no tags of a user", user("<tool_call>"), 0),
    ("no calls of a user", {**user(), "tool_calls": [call()]}, 0),
    ("no results", result("<tool_call>"), 0),
)
def test_calls_are(message, expected):
    assert measured(message).calls == expected


@cases(
    "messages, expected",
    ("a tool that is never called is only named", [user()], ()),
    ("a call with a result", [assistant("", call()), result()], (ToolUse("grep", 1, 0, 0),)),
    ("a call that failed", [assistant("", call()), result(FAILED)], (ToolUse("grep", 1, 1, 0),)),
    ("a call without a result", [assistant("", call()), user()], (ToolUse("grep", 1, 0, 1),)),
    ("the very last call", [assistant("", call())], (ToolUse("grep", 1, 0, 1),)),
    ("a call of a tool that is not defined", [assistant("", call(name="ls")), result()], (ToolUse("ls", 1, 0, 0),)),
)
def test_tools_are_counted_one_by_one(messages, expected):
    assert measured(*messages).tools == expected


def test_definitions_count_by_distinct_names():
    assert measured(tools=[tool("b"), tool("a"), tool("a"), {"description": "nameless"}]).tool_names == ("a", "b")


def totals(group_by: str) -> ToolUsage:
    found = ToolUsage(group_by)
    found.count("b", Usage(3, ("x", "y"), 2, 2, 1, (ToolUse("x", 3, 1, 1), ToolUse("y", 0, 0, 0))))
    found.count("a", Usage(1, ("x",), 1, 1, 1, (ToolUse("x", 1, 0, 0),)))
    found.count("b", Usage(0, ("y", "z"), 1, 1, 0, (ToolUse("y", 0, 0, 0), ToolUse("z", 0, 0, 0))))
    return found


def rendered(report: ToolUsage) -> list[str]:
    """The use by group, and by tool."""
    made = dict(report.render())
    return [made[name].decode() for name in (USAGE, TOOLS)]


HEADER = "date,scenario,session_count,tool_call_count,tool_definition_count,client_turns,assistant_turns,assistant_turns_with_tools\n"


@cases("group_by, rows", ("date", "a,,1,1,1,1,1,1\nb,,2,3,3,3,3,1\n"), ("scenario", ",a,1,1,1,1,1,1\n,b,2,3,3,3,3,1\n"))
def test_usage_has_a_row_per_group_in_the_column_of_its_kind(group_by, rows):
    assert rendered(totals(group_by))[0] == HEADER + rows


def test_usage_without_groups_leaves_both_columns_empty():
    found = ToolUsage("none")
    found.count("conversations", Usage(1, ("x",), 1, 1, 1, ()))
    assert rendered(found)[0] == f"{HEADER},,1,1,1,1,1,1\n"


def test_tools_have_a_row_each():
    assert rendered(totals("date"))[1] == "tool,sessions,calls,failed,unanswered\nx,2,4,1,1\ny,2,0,0,0\nz,1,0,0,0\n"


def test_without_sessions_there_is_a_header():
    assert rendered(ToolUsage("date"))[0] == HEADER == ",".join(USAGE_COLUMNS) + "\n"


@cases(
    "name, expected",
    ("a plain name stays", "grep", "grep"),
    ("a name of any script stays", "日本 é", "日本 é"),
    ("a comma and quotes are CSV's business", 'a,"b"', 'a,"b"'),
    ("a formula starts with an apostrophe", "=1+1", "'=1+1"),
    ("a plus", "+1", "'+1"),
    ("a minus", "-1", "'-1"),
    ("an at sign", "@sum", "'@sum"),
    ("a tab or carriage return before a formula is escaped", "\t=1", "\\t=1"),
    ("a line feed does not break the row", "a\nb\r", "a\\nb\\r"),
    ("an escape does not reach the terminal", "\x1b[2J\x00", "\\x1b[2J\\x00"),
    ("a lone surrogate is escaped", "\ud800", "\\ud800"),
)
def test_cells_are_safe_to_show_and_to_open(name, expected):
    data = table(["tool"], [[name, 1]]).decode()
    assert list(csv.reader(io.StringIO(data))) == [["tool"], [expected, "1"]]
    assert data.count("\n") == 2
