"""Values of ``enum`` in definitions as texts, wherever a schema has them."""

import copy

from chatsquash import Options
from chatsquash.session.plan import plan, run_stages
from tests.checks.rows import assistant, talk, tool, user
from tests.conftest import cases

DEEP: dict = {"enum": [1]}
for _ in range(2000):
    DEEP = {"items": DEEP}


def written(parameters):
    given = [tool(parameters=parameters)]
    before = copy.deepcopy(given) if parameters is not DEEP else None
    stages = plan(Options(anonymize=False, enums="text"), None).record_stages
    conversation, found = run_stages(stages, talk(user(), assistant(), tools=given))
    assert before is None or given == before
    return conversation.tools[0]["parameters"], " ".join(each.text for each in found)


@cases("parameters, expected, count",
    ("numbers", {"properties": {"n": {"type": "integer", "enum": [1, 2.5]}}}, {"properties": {"n": {"type": "integer", "enum": ["1", "2.5"]}}}, 2),
    ("others as JSON spells them", {"properties": {"n": {"enum": [True, None, ["ą"], "a"]}}}, {"properties": {"n": {"enum": ["true", "null", '["ą"]', "a"]}}}, 3),
    ("in lists and below", {"anyOf": [{"items": {"enum": [1]}}], "$defs": {"d": {"enum": [2]}}}, {"anyOf": [{"items": {"enum": ["1"]}}], "$defs": {"d": {"enum": ["2"]}}}, 2),
    ("texts stay", {"properties": {"n": {"enum": ["a"]}}}, None, 0),
    ("a property of this name is none", {"properties": {"enum": {"type": "integer"}}}, None, 0),
    ("nor is one in a value", {"properties": {"n": {"default": {"enum": [1]}}}}, None, 0),
    ("a schema that is true", {"properties": {"n": True}}, None, 0),
    ("parameters that are none", "x", None, 0),
)  # fmt: skip
def test_values_of_enum_become_texts(parameters, expected, count):
    made, told = written(parameters)
    assert made == (parameters if expected is None else expected)
    assert told == (f"changed to fit: enum values written as text {count}" if count else "")


def test_a_schema_may_be_deep():
    made, _ = written(DEEP)
    while "items" in made:
        made = made["items"]
    assert made == {"enum": ["1"]}
