"""The rules on what a chat template makes of a record, by what a trial saw."""

import pytest

from chatsquash.checks import rules
from chatsquash.checks.template import Expectation, Trial

from .rows import assistant, call, result, user

MESSAGES = [
    {"role": "system", "content": "Be brief."},
    user(),
    assistant("I will look.", call(), call("c2", "ls")),
    result(),
    assistant("Done.", reasoning_content="Well."),
]
GREP, LS = Expectation("call", 2, 0, "grep"), Expectation("call", 2, 1, "ls")
SOUGHT = frozenset(["system", "text", "call", "result", "reasoning"])
WHOLE = Trial(MESSAGES, "all of it", sought=SOUGHT)


def lost(*places):
    return WHOLE._replace(missing=places)


# code, sentence, what the trial saw, severity, index and text of what is found
FAILING = [
    ("template-error", "an exception", Trial(MESSAGES, None, "TemplateError: no\x1b"), "error", None, "the template raises TemplateError: no\\x1b"),
    ("template-tool-lost", "two definitions", lost(Expectation("tool", 0, name="grep"), Expectation("tool", 1, name="ls")), "error", None, "2 tool definitions missing from the rendering: 'grep', 'ls'"),
    ("template-definition-lost", "parts of two definitions", lost(Expectation("property", 0, name="grep"), Expectation("enum", 1, name="ls"), Expectation("property", 1, name="ls")), "warning", None, "missing from the rendering of 2 definitions: argument names 2, enum values 1 ('grep', 'ls')"),
    ("template-definition-lost", "what definitions share", lost(Expectation("$defs", 0, name="grep")), "warning", None, "missing from the rendering of 1 definition: parts of $defs 1 ('grep')"),
    ("template-call-lost", "the second of two calls", lost(LS), "error", 2, "1 of 2 calls missing from the rendering: call 2 ('ls')"),
    ("template-text-lost", "text beside calls", lost(Expectation("text", 2)), "error", 2, "the text next to calls is missing from the rendering"),
    ("template-text-lost", "what the user says", lost(Expectation("text", 1)), "error", 1, "the text of role 'user' is missing from the rendering"),
    ("template-system-lost", "the system prompt", lost(Expectation("system", 0)), "error", 0, "the message of role 'system' is missing from the rendering"),
    ("template-result-lost", "a result", lost(Expectation("result", 3)), "error", 3, "the result is missing from the rendering"),
    ("template-reasoning-lost", "reasoning", lost(Expectation("reasoning", 4)), "info", None, "the reasoning of 1 message is missing from the rendering (first in messages[4])"),
    ("template-arguments-twice", "two calls in a message", WHOLE._replace(twice=(GREP, LS)), "error", 2, "arguments are encoded twice, as JSON within a JSON string: 'grep', 'ls'"),
    ("template-python", "arguments", WHOLE._replace(spelled=(GREP,)), "error", 2, "arguments are printed as Python literals"),
    ("template-python", "a result", WHOLE._replace(spelled=(Expectation("result", 3),)), "error", 3, "the content is printed as a Python literal"),
    ("template-null", "None", WHOLE._replace(nulls=("null is printed as None",)), "error", None, "null is printed as None"),
    ("template-tools-flat", "tools that are not wrapped", WHOLE._replace(flat=True), "warning", None, "flat tool definitions render differently than the wrapped ones that models are trained with"),
    ("template-tools-empty", "an empty list of tools", WHOLE._replace(empty=True), "warning", None, "an empty list of tools renders differently than no list"),
]  # fmt: skip
CODES = sorted(code for code, rule in rules().items() if rule.kind == "template")


def found(code, trial):
    return [(rules()[code].severity, fact.at, fact.text) for fact in rules()[code].function(trial)]


@pytest.mark.parametrize(
    "code, sentence, trial, severity, at, text", FAILING, ids=[f"{row[0]}: {row[1]}" for row in FAILING]
)
def test_what_a_trial_saw_is_told(code, sentence, trial, severity, at, text):
    assert found(code, trial) == [(severity, at, text)]
    assert [other for other in CODES if found(other, trial)] == [code]


@pytest.mark.parametrize("code", CODES)
def test_nothing_is_told_of_a_record_that_is_whole_and_every_rule_can_fail(code):
    assert found(code, WHOLE) == []
    assert code in {row[0] for row in FAILING}


def test_names_are_listed_as_far_as_they_help():
    places = [Expectation("tool", at, name=f"tool{at}") for at in range(7)]
    ((_, _, text),) = found("template-tool-lost", lost(*places))
    assert text.endswith("'tool0', 'tool1', 'tool2', 'tool3', 'tool4' and 2 more")


def test_parts_of_a_definition_that_is_lost_itself_are_not_told():
    both = lost(Expectation("tool", 0, name="grep"), Expectation("property", 0, name="grep"))
    assert [code for code in CODES if found(code, both)] == ["template-tool-lost"]
