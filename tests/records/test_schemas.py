"""Every record is valid under the schema of its preset, whatever was logged and whichever modifiers are asked for."""

import json
from itertools import product
from pathlib import Path
from typing import get_args

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from chatsquash import Options, convert_session
from chatsquash.checks import rules
from chatsquash.core.model import Conversation
from chatsquash.core.record_options import BridgeResults, Enums, Media, Reasoning, System, ToolIds, Unpaired
from chatsquash.dataset.option_rules import matching_pairs
from chatsquash.records import presets
from chatsquash.records.presets import Choices
from chatsquash.records.shaping import line
from tests import strategies
from tests.checks.rows import assistant, call, result, user
from tests.conftest import examples

SAMPLES = sorted((Path(__file__).parents[2] / "sample_logs").rglob("*.json*"))
MODIFIERS = {
    "reasoning": ("keep", "inline", "drop"),
    "system": ("keep", "drop"),
    "merge_consecutive": (False, True),
    "split_parallel": (False, True),
    "split_text_and_calls": (False, True),
    "tool_ids": ("keep", "short9"),
}
IN_ROWS = {"bridge_results": ("keep", "join"), "drop_text_beside_calls": (False, True), "enums": ("keep", "text")}
"""Modifiers that are tried with these, though not with each combination."""
COMBINATIONS = [dict(zip(MODIFIERS, chosen, strict=True)) for chosen in product(*MODIFIERS.values())]
TRIED = list(product(SAMPLES, COMBINATIONS))
STRIDE = 31
"""Samples and combinations are tried in so many parts, in each of which every modifier has every value: 31 divides no
period."""
PARTS = [
    pytest.param(name, part, marks=() if part == number else pytest.mark.long)
    for number, name in enumerate(name for name in presets.names() if name != "chat")
    for part in range(STRIDE)
]
"""One part of each preset, and the others, which take long."""
VALIDATORS = {name: jsonschema_rs.validator_for(presets.get_preset(name).SCHEMA) for name in presets.names()}
IDS = ["c1", "c2", "a longer id, with more in it", "abcdefgh9", None]
# What the rows of one conversation are drawn from, so that many of them can be held.
TURNS = [
    [user("hi")],
    [user([{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:,"}}])],
    [user(["look", {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP=="}}])],
    [assistant("hello")],
    [assistant("", call("c1"), call("c2")), result("r", "c2")],
    [assistant("hello", reasoning_content="hm")],
    [assistant("")],
    [assistant("t", call("c1", arguments='{"q": 0.7}')), result("r", "c1")],
    [assistant(None, call("c1"), call("a longer id, with more in it")), result("2", "a longer id, with more in it"), result("1")],
    [assistant("t", call(None), reasoning="hm"), result("r", None)],
    [assistant("t", call("abcdefgh9", arguments={"q": 1})), user("wait"), result([{"type": "text", "text": "r"}], "abcdefgh9")],
    [assistant("", call("c2", arguments="{"))],
    [result("r", "c2")],
    [{"role": "system", "content": "s"}],
    [{"role": "system", "content": "s"}, user("hi"), assistant("hello")],
]  # fmt: skip
TOOLS = [
    [],
    [{"name": "grep"}],
    [{"name": "a.b", "parameters": {"type": "object"}}],
    [{"name": "f", "parameters": {"properties": {"n": {"enum": [1, None, "a"]}}}}],
    [{"name": "f", "description": None, "parameters": {"maximum": 0.7, "enum": [None]}, "strict": True, "x": 1}],
    [{"type": "web_search"}, {"name": "f", "parameters": None}],
    [{"name": "f", "parameters": []}],
]


def judged(name: str, conversation: Conversation, choices: Choices) -> None:
    """A record is valid; where there is none, an error with a code that is known says why."""
    result = line(presets.get_preset(name), conversation, choices)
    written, findings, refused = result.data, result.findings, result.refusal
    assert {found.code for found in findings} <= set(rules())
    if written is None:
        assert refused.severity == "error"
        assert refused in findings
    else:
        record = json.loads(written)
        assert next(VALIDATORS[name].iter_errors(record), None) is None
        assert [key for key in record if key in {column.name for column in presets.get_preset(name).COLUMNS}] == list(
            record
        )
        assert not [found for found in findings if found.severity == "error"]


def effective(name, modifiers):
    """The modifiers that have an effect with a preset; any other is an error beside it."""
    idle = {pair.idle for pair in matching_pairs(Options(preset=name, **modifiers))}
    return {modifier: value for modifier, value in modifiers.items() if modifier not in idle}


@pytest.mark.parametrize("name", presets.names())
def test_a_schema_is_a_schema_of_its_dialect_that_refuses_something(name):
    jsonschema_rs.meta.validate(presets.get_preset(name).SCHEMA)
    assert not VALIDATORS[name].is_valid({})
    assert not VALIDATORS[name].is_valid({"messages": [{"content": "x"}], "tools": [], "conversations": [{}]})


@pytest.mark.parametrize("name", presets.names())
def test_a_preset_says_what_it_is(name):
    preset = presets.get_preset(name)
    assert preset.NAME == name
    columns = {column.name for column in preset.COLUMNS}
    assert set(preset.SCHEMA["required"]) <= columns == set(preset.SCHEMA["properties"])
    for column in preset.COLUMNS:
        schema = preset.SCHEMA["properties"][column.name]
        assert schema["type"] == {"messages": "array", "images": "array", "text": "string"}[column.kind]


@pytest.mark.parametrize("name, number", PARTS)
def test_the_sample_logs_are_valid_with_every_combination_of_modifiers(name, number):
    written = 0
    for path, modifiers in TRIED[number::STRIDE]:
        options = Options(
            anonymize=False, integrity_analysis=False, preset=name, **effective(name, {**modifiers, "media": "drop"})
        )
        for record in (each.record for each in convert_session(path, options) if each.record is not None):
            written += 1
            assert next(VALIDATORS[name].iter_errors(json.loads(record)), None) is None, (path, modifiers)
    assert written > 0.8 * len(TRIED) / STRIDE


def reasons(outcome):
    """The findings that say why a session has no record: errors, and that nobody answered."""
    return {found.code for found in outcome.findings if found.severity == "error" or found.code == "unanswered-session"}


@pytest.mark.parametrize("name", presets.names())
@examples(300, suppress_health_check=[HealthCheck.too_slow])
@given(
    turns=st.lists(st.sampled_from(TURNS), max_size=6),
    tools=st.sampled_from(TOOLS),
    chosen=st.sampled_from(COMBINATIONS),
    more=st.fixed_dictionaries({modifier: st.sampled_from(values) for modifier, values in IN_ROWS.items()}),
    choices=st.builds(
        Choices,
        st.sampled_from(get_args(Unpaired)),
        st.just("-"),
        st.sampled_from(get_args(Media)),
        st.booleans(),
        st.booleans(),
        st.booleans(),
    ),
)
def test_conversations_of_all_kinds_of_turns(name, turns, tools, chosen, more, choices):
    chosen = chosen | more
    messages = [message for turn in turns for message in turn]
    if choices.media == "keep" and name != "hf":
        choices = choices._replace(media="drop")
    judged(name, Conversation(messages, tools), choices)
    if name != "chat":
        text = choices.unpaired_text if choices.unpaired == "close" else None
        chosen = {**chosen, "media": choices.media, "unpaired": choices.unpaired, "unpaired_text": text}
    entry = {"session_id": "s", "timestamp": 1, "request": {"messages": messages, "tools": tools}}
    (outcome,) = convert_session([json.dumps(entry)], Options(anonymize=False, preset=name, **effective(name, chosen)))
    if outcome.record is None:
        assert outcome.left_out in reasons(outcome)
    else:
        assert next(VALIDATORS[name].iter_errors(json.loads(outcome.record)), None) is None


@pytest.mark.parametrize("name", presets.names())
@examples(60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=strategies.logs(), chosen=st.sampled_from(COMBINATIONS))
def test_any_log_gives_a_valid_record_or_a_finding(name, data, chosen):
    options = Options(anonymize=False, on_invalid="keep", preset=name, **effective(name, chosen))
    (outcome,) = convert_session(data.split(b"\n"), options)
    assert sum(outcome.account.counts) == outcome.account.lines
    if outcome.record is not None:
        assert outcome.left_out is None
        assert next(VALIDATORS[name].iter_errors(json.loads(outcome.record)), None) is None
    else:
        assert outcome.records == []
        assert outcome.left_out in reasons(outcome)


def test_every_value_of_a_modifier_is_tried():
    given = {"reasoning": get_args(Reasoning), "system": get_args(System), "tool_ids": get_args(ToolIds)}
    given |= {"bridge_results": get_args(BridgeResults), "enums": get_args(Enums)}
    assert {name: (MODIFIERS | IN_ROWS)[name] for name in given} == given
