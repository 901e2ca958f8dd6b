"""What the templates of open models are known to do, in small templates of our own, and what is found of it."""

import pytest

from chatsquash.results.template import judge
from chatsquash.templates.render import Renderer
from chatsquash.templates.worker import trial
from tests.checks.rows import assistant, result, user

from .records import FAMILIES, ONE_CALL, PLAIN, SYSTEM, TEXT_BESIDE, TOOLS, TWO_CALLS, family, grep, objects, wrapped

NULL = [SYSTEM, user(), assistant(None, grep()), result(), assistant()]
PARTS = [user([{"type": "text", "text": "What is this?"}]), assistant("A lamp.")]

# family, sentence, messages, tools, the codes of what is found with the indices of their messages
ROWS = [
    ("json_calls", "objects are encoded once", objects(TWO_CALLS), wrapped(), []),
    ("json_calls", "texts are encoded twice", ONE_CALL, wrapped(), [("template-arguments-twice", 2)]),
    ("json_calls", "tools that are not wrapped are another prompt", objects(ONE_CALL), TOOLS, [("template-tools-flat", None)]),
    ("json_calls", "a chat without tools is whole", PLAIN, None, []),
    ("json_calls", "a later system message is passed over", [*PLAIN, SYSTEM, assistant("Yes.")], None, [("template-system-lost", 5)]),
    ("thinking", "both kinds of arguments are encoded once", TWO_CALLS, wrapped(), []),
    ("thinking", "reasoning of earlier turns is left out", [user(), assistant("a", reasoning_content="Well."), user(), assistant("b", reasoning_content="Hm.")], None, [("template-reasoning-lost", None)]),
    ("thinking", "so it is where it stands in the text", [user(), assistant("<think>\nWell.\n</think>\n\na"), user(), assistant("b")], None, [("template-reasoning-lost", None)]),
    ("thinking", "reasoning of the last turn is shown", [user(), assistant("b", thinking="Hm.")], None, []),
    ("xml_calls", "objects are shown", objects(TWO_CALLS), wrapped(), []),
    ("xml_calls", "texts make it raise", ONE_CALL, wrapped(), [("template-error", None)]),
    ("single_call", "one call is shown", objects(ONE_CALL), wrapped(), []),
    ("single_call", "two make it raise", objects(TWO_CALLS), wrapped(), [("template-error", None)]),
    ("single_call", "text beside a call is lost", objects(TEXT_BESIDE), wrapped(), [("template-text-lost", 2)]),
    ("single_call", "texts are encoded twice", ONE_CALL, wrapped(), [("template-arguments-twice", 2)]),
    ("single_call", "an empty list of tools is introduced", PLAIN, [], [("template-tools-empty", None)]),
    ("nine_letter_ids", "ids of other lengths make it raise", objects(ONE_CALL), wrapped(), [("template-error", None)]),
    ("nine_letter_ids", "ids of nine letters and digits are fine", objects([SYSTEM, user(), assistant("", grep("abcdefgh1")), result(call_id="abcdefgh1"), assistant()]), wrapped(), []),
    ("nine_letter_ids", "two turns of the user make it raise", [user(), user(), assistant()], None, [("template-error", None)]),
    ("nine_letter_ids", "tools that are not wrapped make it raise", PLAIN, TOOLS, [("template-error", None)]),
    ("text_or_calls", "its own None is none of the record's", objects(ONE_CALL), wrapped(), []),
    ("text_or_calls", "text beside a call is lost", TEXT_BESIDE, TOOLS, [("template-text-lost", 2)]),
    ("text_or_calls", "an empty list of tools is introduced", PLAIN, [], [("template-tools-empty", None)]),
    ("string_arguments", "tools are lost, texts are encoded once", ONE_CALL, wrapped(), [("template-tool-lost", None)]),
    ("string_arguments", "objects make it raise", objects(ONE_CALL), None, [("template-error", None)]),
    ("wrapped_only", "wrapped tools are shown", ONE_CALL, wrapped(), []),
    ("wrapped_only", "others are lost", ONE_CALL, TOOLS, [("template-tool-lost", None), ("template-tools-flat", None)]),
    ("first_call", "the second call is lost", objects(TWO_CALLS), wrapped(), [("template-call-lost", 2)]),
    ("first_call", "text beside a call is lost", objects(TEXT_BESIDE), wrapped(), [("template-text-lost", 2)]),
    ("first_call", "tools that are not wrapped make it raise", PLAIN, TOOLS, [("template-error", None)]),
    ("first_call", "reasoning is read under the name that it asks for", [user(), assistant("", *objects(ONE_CALL)[2]["tool_calls"], reasoning_content="Look."), result(), assistant()], None, []),
    ("key_value_calls", "objects are shown", objects(TWO_CALLS), wrapped(), []),
    ("key_value_calls", "texts make it raise", ONE_CALL, wrapped(), [("template-error", None)]),
    ("key_value_calls", "null content is None to older versions", objects([*NULL[:2], {**ONE_CALL[2], "content": None}, *NULL[3:]]), wrapped(), [("template-null", None)]),
    ("no_system", "a system message makes it raise", PLAIN, None, [("template-error", None)]),
    ("no_system", "without it all is shown, tools aside", PLAIN[1:], wrapped(), [("template-tool-lost", None)]),
    ("no_system", "results make it raise", objects(ONE_CALL[1:]), None, [("template-error", None)]),
    ("as_python", "objects and the system are lost", objects(ONE_CALL), None, [("template-system-lost", 0), ("template-python", 2)]),
    ("as_python", "parts are printed as Python spells them", PARTS, None, [("template-python", 0)]),
    ("as_python", "content that is missing is nothing", [user(), {"role": "assistant", "tool_calls": [grep()]}, result(), assistant()], None, []),
    ("as_python", "null content is None to older versions", NULL[1:], None, [("template-null", None)]),
    ("own_syntax", "objects are shown", objects(TWO_CALLS), wrapped(), []),
    ("own_syntax", "tools that are not wrapped make it raise", PLAIN, TOOLS, [("template-error", None)]),
]  # fmt: skip


def found(name, messages, tools):
    return [(each.code, each.at) for each in judge(trial(Renderer(family(name)), messages, tools))]


@pytest.mark.parametrize("name, sentence, messages, tools, expected", ROWS, ids=[f"{row[0]}: {row[1]}" for row in ROWS])
def test_what_a_family_does_is_found(name, sentence, messages, tools, expected):
    assert found(name, messages, tools) == expected


def test_every_family_has_rows():
    assert {row[0] for row in ROWS} == {path.stem for path in FAMILIES.glob("*.jinja")}
