"""Modifiers: what each makes of a conversation, and what it says about it; what is logged is never changed."""

import copy
import re
from typing import Any, NamedTuple

import pytest

from chatsquash import Options
from chatsquash.core.model import Conversation
from chatsquash.records.arguments import PATTERN, short_ids
from chatsquash.session.plan import plan, run_stages
from tests.checks.rows import assistant, call, result, user

SYSTEM = {"role": "system", "content": "s"}
A, B, C = user("a"), assistant("b"), user("c")
CALLS = assistant("t", call("1"), call("2"), reasoning_content="hm")
ONE, TWO = result("one", "1"), result("two", "2")
SPLIT = [assistant("t", call("1"), reasoning_content="hm"), ONE, assistant("", call("2")), TWO]
IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}
LONG, OTHER = "call_4f3a9c", "toolu_01"


class Row(NamedTuple):
    sentence: str
    options: dict[str, Any]
    messages: list[Any]
    expected: list[Any]
    noted: str = ""


DROP, MERGE = {"system": "drop"}, {"merge_consecutive": True}
ALONE, BRIDGE = {"drop_text_beside_calls": True}, {"bridge_results": "join"}
PARALLEL, TEXT = {"split_parallel": True}, {"split_text_and_calls": True}

ROWS = [
    Row("system messages go wherever they stand", DROP, [SYSTEM, A, SYSTEM, B], [A, B], "system messages dropped 2"),
    Row("where there is none, nothing is said", DROP, [A, B], [A, B]),
    Row("texts of one role are joined", MERGE, [A, C, B, B], [user("a\n\nc"), assistant("b\n\nb")], "to the preceding one 2"),
    Row("three are joined, too", MERGE, [A, A, A], [user("a\n\na\n\na")], "to the preceding one 2"),
    Row("roles that alternate stay", MERGE, [SYSTEM, A, B, C], [SYSTEM, A, B, C]),
    Row("results are never joined", MERGE, [CALLS, ONE, TWO], [CALLS, ONE, TWO]),
    Row("a text and calls behind it become one", MERGE, [B, assistant("", call())], [assistant("b", call())], "preceding one 1"),
    Row("no content is an empty text", MERGE, [{"role": "assistant", "tool_calls": [call("1")]}, assistant(None, call("2"))], [assistant("", call("1"), call("2"))], "preceding one 1"),
    Row("text behind calls stays apart", MERGE, [CALLS, B], [CALLS, B]),
    Row("reasoning is joined", MERGE, [assistant("a", reasoning_content="x"), assistant("b", reasoning_content="y")], [assistant("a\n\nb", reasoning_content="x\n\ny")], "preceding one 1"),
    Row("parts are kept", MERGE, [user([IMAGE]), A], [user([IMAGE, {"type": "text", "text": "\n\n"}, {"type": "text", "text": "a"}])], "preceding one 1"),
    Row("other members that differ keep messages apart", MERGE, [{**A, "name": "x"}, {**A, "name": "y"}], [{**A, "name": "x"}, {**A, "name": "y"}]),
    Row("other members that agree stay", MERGE, [{**A, "name": "x"}, {**C, "name": "x"}], [{**user("a\n\nc"), "name": "x"}], "preceding one 1"),
    Row("content that is no text keeps messages apart", MERGE, [user({"x": 1}), A], [user({"x": 1}), A]),
    Row("other roles stay apart", MERGE, [{"role": "x", "content": "a"}] * 2, [{"role": "x", "content": "a"}] * 2),
    Row("each call is followed by its result", PARALLEL, [CALLS, ONE, TWO, B], [*SPLIT, B], "parallel calls split into messages 1"),
    Row("results may come in another order", PARALLEL, [CALLS, TWO, ONE, B], [*SPLIT, B], "parallel calls split into messages 1"),
    Row("what else stands there comes behind them", PARALLEL, [CALLS, ONE, A, TWO, B], [*SPLIT, A, B], "split into messages 1"),
    Row("one call stays", PARALLEL, [assistant("t", call()), result(), B], [assistant("t", call()), result(), B]),
    Row("calls of which one has no result stay", PARALLEL, [CALLS, ONE, B], [CALLS, ONE, B], "not split 1"),
    Row("last calls stay", PARALLEL, [A, CALLS], [A, CALLS], "not split 1"),
    Row("calls without ids get results in order", PARALLEL, [assistant("", call(None), call(None)), result("1", None), result("2", "")], [assistant("", call(None)), result("1", None), assistant("", call(None)), result("2", "")], "split into messages 1"),
    Row("calls with one id do, too", PARALLEL, [assistant("", call("1"), call("1")), ONE, ONE], [assistant("", call("1")), ONE, assistant("", call("1")), ONE], "split into messages 1"),
    Row("what is no call stays", PARALLEL, [assistant("", call("1"), call("2"), "x"), ONE, TWO], [assistant("", call("1"), call("2"), "x"), ONE, TWO], "not split 1"),
    Row("two blocks", PARALLEL, [CALLS, ONE, TWO, CALLS, ONE, TWO], [*SPLIT, *SPLIT], "split into messages 2"),
    Row("text comes before calls", TEXT, [A, CALLS, ONE, TWO], [A, assistant("t", reasoning_content="hm"), assistant("", call("1"), call("2")), ONE, TWO], "text split from calls 1"),
    Row("calls alone stay", TEXT, [assistant(" \n", call()), assistant(None, call())], [assistant(" \n", call()), assistant(None, call())]),
    Row("text alone stays", TEXT, [B, {**B, "tool_calls": []}, {**B, "tool_calls": "x"}], [B, {**B, "tool_calls": []}, {**B, "tool_calls": "x"}]),
    Row("merging comes before splitting", {**MERGE, **TEXT}, [B, assistant("", call("1")), ONE], [B, assistant("", call("1")), ONE], "joined to the preceding one 1 text split from calls 1"),
    Row("text goes, and calls stay", ALONE, [A, CALLS, ONE, TWO, B], [A, assistant("", call("1"), call("2"), reasoning_content="hm"), ONE, TWO, B], "text next to calls dropped 1"),
    Row("parts that are no text stay", ALONE, [assistant(["t", IMAGE], call()), assistant(["t"], call())], [assistant([IMAGE], call()), assistant("", call())], "text next to calls dropped 2"),
    Row("calls alone stay as they are", ALONE, [assistant(" \n", call()), assistant(None, call())], [assistant(" \n", call()), assistant(None, call())]),
    Row("text that is joined to calls goes", {**MERGE, **ALONE}, [B, assistant("", call("1")), ONE], [assistant("", call("1")), ONE], "joined to the preceding one 1 text next to calls dropped 1"),
    Row("what the user says behind a result goes into it", BRIDGE, [CALLS, ONE, TWO, A, C, B], [CALLS, ONE, result("two\n\na\n\nc", "2"), B], "joined to the preceding result 2"),
    Row("parts stand behind it", BRIDGE, [ONE, user([IMAGE])], [result([{"type": "text", "text": "one"}, {"type": "text", "text": "\n\n"}, IMAGE], "1")], "preceding result 1"),
    Row("a result that says nothing says that", BRIDGE, [result("", "1"), A], [result("a", "1")], "preceding result 1"),
    Row("who says more than a content stays", BRIDGE, [ONE, {**A, "name": "x"}], [ONE, {**A, "name": "x"}]),
    Row("content that is no text stays", BRIDGE, [ONE, user({"x": 1}), result(5, "2"), A], [ONE, user({"x": 1}), result(5, "2"), A]),
    Row("others stay behind results", BRIDGE, [ONE, B, A, ONE, SYSTEM, A], [ONE, B, A, ONE, SYSTEM, A]),
    Row("both splits", {**PARALLEL, **TEXT}, [CALLS, ONE, TWO], [assistant("t", reasoning_content="hm"), assistant("", call("1")), ONE, assistant("", call("2")), TWO], "split into messages 1 text split from calls 1"),
]  # fmt: skip


def modified(options: dict[str, Any], messages: list[Any]) -> tuple[list[Any], str]:
    before = copy.deepcopy(messages)
    stages = plan(Options(**options, anonymize=False), None).record_stages
    conversation, notes = run_stages(stages, Conversation(list(messages), []))
    assert messages == before, "messages are shared with the entries around and never changed"
    assert {found.code for found in notes} <= {"shape-changed"}
    return conversation.messages, " ".join(found.text.removeprefix("changed to fit: ") for found in notes)


@pytest.mark.parametrize("row", ROWS, ids=[f"{' '.join(row.options)}: {row.sentence}" for row in ROWS])
def test_a_modifier_does_what_it_says_and_counts_it(row):
    messages, noted = modified(row.options, row.messages)
    assert messages == row.expected
    assert noted.endswith(row.noted) if row.noted else noted == ""


def test_calls_and_their_results_get_the_same_short_id():
    short = short_ids([LONG])[LONG]
    messages, noted = modified({"tool_ids": "short9"}, [assistant("", call(LONG)), result("r", LONG), B])
    assert messages == [assistant("", call(short)), result("r", short), B]
    assert noted == "ids shortened 1"


def test_ids_that_are_short_stay_and_nothing_is_said():
    messages = [assistant("", call("abcdefgh1")), result("r", "abcdefgh1")]
    assert modified({"tool_ids": "short9"}, messages) == (messages, "")


ODD_IDS = [
    ("no id", assistant("", call(None)), result("r", None)),
    ("no call", assistant("", "call"), result("r", [1])),
    ("no list of calls", {**B, "tool_calls": {"id": LONG}}, B),
]


@pytest.mark.parametrize("messages", [list(row[1:]) for row in ODD_IDS], ids=[row[0] for row in ODD_IDS])
def test_what_is_no_id_stays_as_it_is(messages):
    assert modified({"tool_ids": "short9"}, messages) == (messages, "")


def test_numbers_are_ids_too_and_calls_that_are_none_stay_beside_them():
    short = short_ids(["7"])["7"]
    messages, _ = modified({"tool_ids": "short9"}, [assistant("", call(7), "x"), result("r", 7)])
    assert messages == [assistant("", call(short), "x"), result("r", short)]


def test_short_ids_follow_from_the_ids_alone():
    assert short_ids([LONG, OTHER])[OTHER] == short_ids([OTHER])[OTHER]
    assert short_ids([LONG]) == {LONG: "BlYCcdrPH"}


def test_short_ids_differ_and_have_the_form_that_templates_want():
    made = short_ids([f"call_{number}" for number in range(5000)])
    assert len(set(made.values())) == 5000
    assert all(re.fullmatch(PATTERN, each) for each in made.values())


def test_a_short_id_that_is_taken_is_not_made_again():
    taken = short_ids([LONG])[LONG]
    both = short_ids([LONG, taken])
    assert both[taken] == taken != both[LONG]
