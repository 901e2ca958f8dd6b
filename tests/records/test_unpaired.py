"""What ``--unpaired`` makes of calls without a result."""

import json

import pytest

from chatsquash import Options, convert_session
from chatsquash.records import presets
from chatsquash.records.presets import NO_RESULT, Choices
from chatsquash.records.shaping import line
from tests.checks.rows import assistant, call, result, talk, user
from tests.conftest import log_line

PRESETS = ("hf", "openai", "mistral", "sharegpt", "text")
ASKED = assistant("", call("x1"), call("x2"), call("x3"))
CUT, CLOSE = Choices("cut"), Choices("close")


def shaped(choices, *messages, preset="hf"):
    """The record, or none, and what was found."""
    result = line(presets.get_preset(preset), talk(*messages), choices)
    written, findings = result.data, result.findings
    return json.loads(written)["messages"] if written and preset == "hf" else written, findings


def roles(messages):
    return " ".join(message["role"] for message in messages)


def texts(findings):
    return "; ".join(found.text for found in findings)


@pytest.mark.parametrize("preset", PRESETS)
def test_refuse_is_the_default_and_names_what_can_be_done(preset):
    result = line(presets.get_preset(preset), talk(user(), assistant("", call()), assistant("b")))
    found = result.refusal
    assert result.data is None
    assert (found.code, found.severity, found.at) == ("unpaired-call", "error", 2)
    assert "--unpaired cut" in found.text
    assert "--unpaired close" in found.text


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_closes_and_cuts(preset):
    first = user("a"), assistant("b"), user("c")
    for choices in (CUT, CLOSE):
        written, findings = shaped(choices, *first, assistant("", call()), assistant("d"), preset=preset)
        assert written
        assert "error" not in {found.severity for found in findings}
        assert ("no result" in str(written)) == (choices is CLOSE)


def test_close_puts_results_behind_those_of_the_block_in_the_order_of_calls():
    messages, findings = shaped(CLOSE, user(), ASKED, result("two", "x2"), assistant("b"))
    told = [(message["tool_call_id"], message["content"]) for message in messages if message["role"] == "tool"]
    assert told == [("x2", "two"), ("x1", NO_RESULT), ("x3", NO_RESULT)]
    assert messages[3]["name"] == "grep"
    assert "calls without a result closed 2" in texts(findings)


def test_close_takes_the_text_it_is_given():
    messages, _ = shaped(Choices("close", "(interrupted)"), user(), assistant("", call()), user("stop"), assistant("b"))
    assert roles(messages) == "user assistant tool user assistant"
    assert messages[2]["content"] == "(interrupted)"


def test_cut_ends_the_record_before_the_message_with_the_call():
    first = user("a"), assistant("", call()), result(), assistant("b"), user("c")
    messages, findings = shaped(CUT, *first, ASKED, result("two", "x2"), assistant("d"), user("e"), assistant("f"))
    assert roles(messages) == "user assistant tool assistant"
    assert "records cut before a call without a result 1" in texts(findings)
    assert "messages starting with a call without a result 5" in texts(findings)
    assert "user messages after the last assistant message 1" in texts(findings)


def test_what_is_cut_away_is_not_looked_at():
    bad = {"role": "function", "content": "?"}
    messages, _ = shaped(CUT, user(), assistant("a"), assistant("", call(arguments="{")), assistant("b"), bad)
    assert roles(messages) == "user assistant"


def test_where_nothing_is_left_the_record_is_left_out():
    written, findings = shaped(CUT, user(), assistant("", call()), assistant("b"))
    assert written is None
    assert (findings[-1].code, findings[-1].at) == ("unpaired-call", 1)


@pytest.mark.parametrize("choices", [Choices(), CUT, CLOSE])
@pytest.mark.parametrize("behind", [(), (result("one", "x1"),), (user("stop"),)], ids=["nothing", "a result", "a user"])
def test_calls_of_the_last_message_wait_for_nothing(choices, behind):
    messages, findings = shaped(choices, user(), ASKED, *behind)
    assert roles(messages) == "user assistant"
    assert "error" not in {found.severity for found in findings}


@pytest.mark.parametrize("choices", [Choices(), CUT, CLOSE])
def test_a_result_of_no_call_is_refused_as_ever(choices):
    written, findings = shaped(choices, user(), result(), assistant("b"))
    assert written is None
    assert findings[-1].code == "unpaired-call"
    assert "--unpaired" not in findings[-1].text


@pytest.mark.parametrize("choices", [CUT, CLOSE])
def test_nothing_changes_where_all_calls_have_results(choices):
    messages = user(), assistant("", call()), result(), assistant("b")
    assert shaped(choices, *messages) == shaped(Choices(), *messages)


def test_a_result_that_comes_late_is_one():
    held = user(), assistant("", call()), user("wait"), result(), assistant("b")
    assert shaped(CUT, *held) == shaped(CLOSE, *held) == shaped(Choices(), *held)


def test_options_reach_the_record():
    asked = {"role": "user", "content": "a"}, {**assistant("", call()), "content": None}
    log = [json.dumps(log_line(*asked, "go on"))]
    (outcome,) = convert_session(log, Options(preset="hf", unpaired="close", unpaired_text="gone"))
    assert json.loads(outcome.record)["messages"][2]["content"] == "gone"
    assert convert_session(log, Options(preset="hf"))[0].left_out == "unpaired-call"


def test_a_cut_that_would_leave_nothing_says_so_without_naming_another_call():
    written, (found,) = shaped(CUT, user(), assistant("", call()), assistant("b"))
    assert written is None
    assert found.text.startswith("a call has no result, and no earlier assistant message")
    assert "--unpaired close" in found.text
    assert "--unpaired cut" not in found.text
