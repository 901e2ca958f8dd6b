"""What a check declares that it looks at: it is called where that is there, and misses nothing where it is not."""

from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs
from msgspec.structs import replace

from chatsquash import checks
from chatsquash.checks import FEATURES, examine, rules
from chatsquash.checks.registry import View
from chatsquash.core import jsonio
from chatsquash.core.model import Conversation, Response
from chatsquash.session.ending import detect_ending
from chatsquash.session.record_measures import measure
from chatsquash.session.stages.checking import check_conversation
from tests import strategies

from .rows import assistant, call, result, talk, tool, user

KINDS = ("tools", "record", "native")
SAID = [
    "done",
    "exit code: 1",
    "",
    " ",
    "error: no such file",
    '{"ok": false}',
    '{"a": {"exit_code": 1}, "b": [1]}',
    '{"rows": []}',
]
ARGUMENTS = [
    "{}",
    '{"command": "pytest"}',
    '"make test"',
    "npm test",
    '{"a": "pytest", "command": 5}',
    '{"a": 1}',
    '{"a": 1e999}',
    "[1]",
    '{"a": ',
    '{},{"b": 1}',
]
ODDITIES = ["missing", "marked", "stray", "used before", "nameless", "late", "open"]

WELL = talk(user(), assistant("", call()), result(), assistant())
STRAY = talk(user(), assistant("", call()), result("done", "c2"), assistant())
ROWS = {
    "no messages": talk(),
    "no tools": talk(user(), assistant(), tools=[]),
    "unknown roles": talk(user(), {"role": "critic", "content": "no"}, assistant()),
    "odd content": talk(user(5), assistant()),
    "odd end": talk(user(), assistant(" ")),
    "legacy calls": talk(user(), assistant(function_call={"name": "grep"})),
    "odd calls": talk(user(), assistant("", call(None)), assistant()),
    "undeclared calls": talk(user(), assistant("", call(name="read")), result(), assistant()),
    "odd arguments": talk(user(), assistant("", call(arguments="no")), result(), assistant()),
    "open calls": talk(user(), assistant("", call())),
    "bad results": talk(user(), assistant("", call()), result(""), assistant()),
    "unmatched results": talk(user(), result(), assistant()),
    "odd definitions": talk(user(), assistant(), tools=[tool(""), tool()]),
}


def called(conversation, monkeypatch):
    """The codes of the checks that a record is shown to."""
    seen = []

    def watched(rule):
        return structs.replace(rule, function=lambda view: seen.append(rule.code) or rule.function(view))

    known = {code: watched(rule) for code, rule in rules().items()}
    monkeypatch.setattr(checks, "RULES", list(known.values()))
    checks._rules_for.cache_clear()
    list(examine(View(conversation), *KINDS))
    checks._rules_for.cache_clear()
    return seen


def looking(has):
    of_kinds = [rule for rule in rules().values() if rule.kind in KINDS]
    return [rule.code for rule in of_kinds if not rule.features or not has.isdisjoint(rule.features)]


def test_every_feature_has_a_row_and_a_check_that_looks_at_it():
    named = {feature for row in ROWS.values() for features in FEATURES.values() for feature in features(View(row))}
    assert named == set(ROWS) == {feature for rule in rules().values() for feature in rule.features}


def test_the_modules_that_are_imported_for_a_feature_have_all_rules_for_it():
    features = {}
    for rule in rules().values():
        if rule.kind in KINDS:
            assert rule.features
            features.setdefault(rule.module.rpartition(".")[2], set()).update(rule.features)
    assert features == checks._DEPENDENT


def test_a_record_without_anything_that_checks_look_at_is_shown_to_none_of_them(monkeypatch):
    assert called(WELL, monkeypatch) == looking(set()) == []


@pytest.mark.parametrize("feature", ROWS)
def test_a_check_is_called_where_there_is_what_it_looks_at(feature, monkeypatch):
    conversation = ROWS[feature]
    view = View(conversation)
    has = {name for features in FEATURES.values() for name in features(view)}
    assert feature in has
    assert called(conversation, monkeypatch) == looking(has)


NAMES = [["a"], ["a", "b"], [], ["a", "a"], ["a", ""], ["a", 5], [["a"], ["a"]], None, "a"]
PROPERTIES = [{}, {"a": {}}, {"a": {}, "b": True}, {"a": {"type": "string"}}, {"a": "string"}, None, []]
schemas = st.fixed_dictionaries(
    {"type": st.sampled_from(["object", "object", "object", "string", 5, ["object"]])},
    optional={"properties": st.sampled_from(PROPERTIES), "required": st.sampled_from(NAMES)},
)
parameters = schemas | st.sampled_from([{}, None, 5, [], "object"])
definitions = st.fixed_dictionaries(
    {"name": st.sampled_from(["grep", "grep", "", None, 5])},
    optional={
        "description": st.sampled_from(["d", "d", "d", "", " \n", None, 5]),
        "parameters": parameters,
        "input_schema": parameters,
        "type": st.sampled_from(["function", "custom", "web_search", "", None, 5]),
        "custom": st.sampled_from([{"name": "a"}, {"name": "a", "description": "d"}, {}, None]),
        "function": st.sampled_from(["x", None, {"name": "a"}]),
        "strict": st.booleans(),
        "examples": st.none(),
    },
) | st.sampled_from([None, 5, "grep", [], ["name"], {}, {"googleSearch": {}}])


@given(st.lists(definitions, max_size=3))
@example([tool()])
@example([tool(parameters={"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]}, strict=True)])
def test_rules_that_are_not_called_for_definitions_would_find_nothing(tools):
    whole = View(Conversation([], tools))
    of_tools = [rule for rule in rules().values() if rule.kind == "tools"]
    assert examine(View(Conversation([], tools)), "tools") == [
        rule.violation(fact) for rule in of_tools for fact in rule.function(whole)
    ]


@st.composite
def steps(draw, number):
    """Calls of the usual form with results behind them, now and then with one missing, odd, or elsewhere."""
    ids = [f"c{number}.{place}" for place in range(draw(st.integers(1, 3)))]
    named = [call(each, draw(st.sampled_from(["grep", "read"])), draw(st.sampled_from(ARGUMENTS))) for each in ids]
    answers = [result(draw(st.sampled_from(SAID)), each) for each in ids]
    asking = assistant(draw(st.sampled_from(["", "text", None])), *named)
    kind = draw(st.sampled_from(["usual", "usual", "usual", *ODDITIES]))
    if kind == "missing":
        answers.pop()
    if kind == "marked":
        answers[0]["is_error"] = True
    if kind == "stray":
        answers[0]["tool_call_id"] = "c9"
    if kind == "used before":
        named[0]["id"] = answers[0]["tool_call_id"] = "c0.0"
    if kind == "nameless":
        named[0]["function"]["name"] = ""
    between = [user()] if kind == "late" else []
    return [asking, *between, *([] if kind == "open" else answers)]


@st.composite
def conversations(draw):
    messages = [user()] if draw(st.booleans()) else []
    for number in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["usual", "usual", "usual", "plain", "odd"]))
        if kind == "usual":
            messages += draw(steps(number))
        elif kind == "plain":
            messages += [user(), assistant(draw(st.sampled_from(["ok", "", "<tool_call>x</tool_call>"])))]
        else:
            style = strategies.Style()
            added = [strategies.write(each, style, Random(0)) for each in strategies.turn(draw)]
            messages += map(jsonio.loads, added)
    tools = draw(st.sampled_from([[], [tool()], [tool(), tool("read")], [tool(), draw(definitions)]]))
    return Conversation(messages, tools, source=draw(st.sampled_from(["openai_chat", None])))


@given(conversations())
@example(WELL)
@example(STRAY)
def test_checks_that_are_not_called_would_find_nothing(conversation):
    shown, whole = View(conversation), View(conversation)
    of_kinds = [rule for rule in rules().values() if rule.kind in KINDS]
    assert list(examine(shown, *KINDS)) == [rule.violation(fact) for rule in of_kinds for fact in rule.function(whole)]


@given(conversations())
@example(WELL)
@example(STRAY)
def test_columns_tell_what_a_walk_over_the_messages_tells(conversation):
    told, walked = View(conversation), View(conversation)
    walked.columns = replace(walked.columns, calls=None, are_matched=False)
    assert list(check_conversation(conversation, told, keeps_reasoning=True)) == list(
        check_conversation(conversation, walked, keeps_reasoning=True)
    )
    assert measure(told) == measure(walked)
    assert detect_ending(told, Response()) == detect_ending(walked, Response())
