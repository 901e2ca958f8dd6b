"""How losses are found: by words put into a copy of the record."""

from chatsquash.checks.template import Expectation
from chatsquash.templates.render import Renderer
from chatsquash.templates.worker import Marker, trial
from tests.checks.rows import assistant, call, result, tool, user
from tests.conftest import cases

from .records import TOOLS, grep

ALL = "{% for m in messages %}{{ m.content }}|{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}"


def tried(tmp_path, template, messages, tools=None):
    (tmp_path / "a.jinja").write_text(template, encoding="utf-8")
    return trial(Renderer(str(tmp_path / "a.jinja")), messages, tools)


def test_a_word_that_the_record_has_is_not_used():
    copy = Marker("Zq Zqq").copy([user("hi")], None)
    assert copy.marks[0].word.startswith("Zqqq")


def test_words_do_not_begin_with_each_other():
    marks = Marker("").copy([user(f"text {n}") for n in range(120)], None).marks
    words = [mark.word for mark in marks]
    assert [a for a in words for b in words if a != b and b.startswith(a)] == []


@cases("text, marked",
    ("in the middle of a text", "one two three four", "one two threeZq0x four"),
    ("at its end where nothing divides it", "one", "oneZq0x"),
    ("before what surrounds it", " one\n", " oneZq0x\n"),
    ("not in a tag", "<tool_response>\none\n</tool_response>", "<tool_response>\noneZq0x\n</tool_response>"),
    ("not where there is nothing", " \n", " \n"),
    ("in reasoning and in what follows it", "<think>\nWell, so it is.\n</think>\n\nYes.", "<think>\nWell,Zq0x so it is.\n</think>\n\nYes.Zq1x"),
    ("not in empty reasoning", "<think>\n\n</think>\n\nYes.", "<think>\n\n</think>\n\nYes.Zq0x"),
)  # fmt: skip
def test_a_word_is_put(text, marked):
    assert Marker("").copy([assistant(text)], None).messages[0]["content"] == marked


def test_everything_is_marked_and_nothing_of_the_record_changes():
    messages = [
        user([{"type": "text", "text": "a"}, {"type": "image_url"}]),
        assistant("b", grep(), reasoning="c"),
        result(),
    ]
    before = repr((messages, TOOLS))
    copy = Marker("").copy(messages, TOOLS)
    kinds = [mark.place.kind for mark in copy.marks]
    assert kinds == ["tool", "tool", "text", "reasoning", "text", "call", "result"]
    assert repr((messages, TOOLS)) == before


def test_calls_that_cannot_be_marked_are_passed_over():
    odd = [None, {}, {"function": {}}, call(arguments=None), call(arguments=[1])]
    assert Marker("").copy([assistant("", *odd)], [None, {}, {"function": 1}]).marks == []


def test_a_short_text_that_also_stands_elsewhere_is_found_lost(tmp_path):
    template = "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}"
    assert tried(tmp_path, template, [user("ok, ok"), assistant("ok")]).missing == (Expectation("text", 1),)


LOOKS_UP = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name }}{% for k, v in c.function.arguments | items %}{{ {'n': 1}[k] + 1 }}{% endfor %}{% endfor %}{% endfor %}"


def test_where_the_template_refuses_the_copy_texts_and_names_are_looked_for(tmp_path):
    messages = [user("hi"), assistant("", call("c1", "grep", {"n": 1})), result("done"), assistant("well")]
    assert tried(tmp_path, LOOKS_UP, messages).missing == ()
    without_results = LOOKS_UP.replace("in messages %}", "in messages if m.role != 'tool' %}", 1)
    assert tried(tmp_path, without_results, messages).missing == (Expectation("result", 2),)


def test_arguments_that_are_no_json_are_looked_for_too(tmp_path):
    seen = tried(tmp_path, ALL, [assistant("", call(arguments="{no json"))])
    assert (seen.missing, seen.twice) == ((), ())


def test_unicode_arguments_that_are_encoded_twice_are_found_in_both_spellings(tmp_path):
    messages = [assistant("", call(arguments='{"word":"größe"}'))]
    for template in (ALL, ALL.replace("tojson", "tojson(ensure_ascii=true)")):
        assert tried(tmp_path, template, messages).twice == (Expectation("call", 0, 0, "grep"),)


@cases("template, messages, count",
    ("none", ALL, [user("None"), assistant("b")], 0),
    ("printed by older versions", ALL, [user("None"), assistant(None)], 1),
    ("refused by older versions", ALL.replace("{{ m.content }}", "{{ 'a' + (m.content if 'content' in m else '') }}"), [user("a"), assistant(None)], 1),
    ("printed by all versions", "{% for m in messages %}{{ m.get('content') }}{% endfor %}", [user("a"), {"role": "assistant"}], 1),
    ("printed by all versions and by older ones more", "{% for m in messages %}{{ m.get('content') }}{{ m.name }}{% endfor %}", [user("a"), {"role": "assistant", "content": None, "name": None}], 2),
    ("in arguments", ALL.replace("| tojson", "| string"), [user("a"), assistant("", call(arguments={"a": None}))], 1),
    ("in the text of the template", "None" + ALL, [user("a"), {"role": "assistant"}], 0),
)  # fmt: skip
def test_nulls_that_do_harm_are_told(tmp_path, template, messages, count):
    assert len(tried(tmp_path, template, messages).nulls) == count


SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "edits": {"type": "array", "items": {"type": "object", "properties": {"line": {"$ref": "#/$defs/line"}}}},
        "mode": {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]},
    },
    "required": ["path"],
    "$defs": {"line": {"type": "integer"}, "span": {"properties": {"end": {"type": "integer"}}}},
}
DEFINED = [tool("edit", parameters=SCHEMA)]
NAMES = (
    "{% for t in tools or [] %}{{ t.description }}{% for n in t.parameters.properties %}{{ n }}{% endfor %}{% endfor %}"
)
PROPERTIES = "{% for t in tools %}{{ t.description }}{{ t.parameters.properties | tojson }}{% endfor %}"
WITHOUT_ENUMS = "{% for t in tools %}{{ t.description }}{% for n, p in t.parameters.properties | items %}{{ n }}{{ p['items'] | tojson if 'items' in p }}{% endfor %}{{ t.parameters['$defs'] | tojson }}{% endfor %}"


@cases("template, kinds",
    ("all of it", "{{ tools | tojson }}", []),
    ("names of arguments alone", NAMES, ["$defs", "$defs", "enum", "property"]),
    ("what $ref names", PROPERTIES, ["$defs", "$defs"]),
    ("values", WITHOUT_ENUMS, ["enum"]),
    ("nothing", "{{ messages[0].content }}", ["$defs", "$defs", "enum", "property", "property", "property", "property", "tool"]),
)  # fmt: skip
def test_parts_of_a_definition_that_are_lost_are_found(tmp_path, template, kinds):
    before = repr(DEFINED)
    found = tried(tmp_path, template + "{{ messages[0].content }}", [user("hi")], DEFINED)
    assert sorted(place.kind for place in found.missing) == kinds
    assert {(place.at, place.name) for place in found.missing} <= {(0, "edit")}
    assert repr(DEFINED) == before


def test_required_names_stay_those_of_properties_and_no_more_than_twenty_parts_are_marked():
    many = {"properties": {f"p{n}": {} for n in range(30)}, "required": ["p0", "p29", 5]}
    copy = Marker("").copy([user("hi")], [tool(parameters=many)])
    made = copy.tools[0]["parameters"]
    assert len([mark for mark in copy.marks if mark.place.kind == "property"]) == 20
    assert made["required"] == [next(iter(made["properties"])), "p29", 5]


def test_a_schema_may_be_odd():
    odd = {"properties": {"a": True, "b": {"enum": []}, "c": {"items": [1], "anyOf": {}}}, "$defs": {"d": False}}
    copy = Marker("").copy([user("hi")], [tool(parameters=odd), tool("f", parameters={"properties": 5, "enum": "x"})])
    assert [mark.place.kind for mark in copy.marks] == ["tool", *["property"] * 3, "tool", "text"]
