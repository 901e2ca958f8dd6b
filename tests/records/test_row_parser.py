"""Rows whose definitions repeat are parsed like any others."""

from hypothesis import given
from hypothesis import strategies as st

from chatsquash.core import jsonio
from chatsquash.records import NotARecordError
from chatsquash.records.reading import RowParser, parse

TOOLS = ["[]", '[{"name":"a"}]', '[ {"name": "a"} ]', "[1.0]", "[1]", "[0.12345678901234567890]", "null", "5", "[NaN]", '["\\ud800"]', "[", '["\\u0041"]']  # fmt: skip
MESSAGES = [
    "[]",
    '[{"role":"user","content":"hi"}]',
    "[1e999]",
    '["\\ud800"]',
    "null",
    "[{]",
    "123456789012345678901234567890",
]
ENDS = ["}", '},"tools":[2]}', ',"tools":[2]}', ',"id":1}', " }", "} x", ""]
rows = st.builds(
    "{}{},{}{}{}".format,
    st.just('{"messages":'),
    st.sampled_from(MESSAGES),
    st.sampled_from(['"tools":', '"tools": ', '"messages":', '"other":']),
    st.sampled_from(TOOLS),
    st.sampled_from(ENDS),
)
others = st.sampled_from(
    ["", "[]", '{"messages":[]}', '{"tools":[],"messages":[]}', "\ufeff{}", '{"messages":[],"tools":[]']
)


def outcome(parse, data):
    try:
        value = parse(data)
    except NotARecordError as problem:
        return str(problem)
    return jsonio.encode(value), list(value) if isinstance(value, dict) else None


@given(st.lists(rows | others, max_size=8))
def test_a_row_has_the_value_that_it_has_alone(texts):
    parser = RowParser()
    for text in [each for text in texts for each in (text, text, text)]:
        data = text.encode("utf-8", "surrogatepass")
        assert outcome(parser.parse, data) == outcome(parse, data)


def test_equal_definitions_become_one_object():
    parser = RowParser()
    rows = [b'{"messages":[],"tools":[{"name":"a"}]}'] * 4
    tools = [parser.parse(row)["tools"] for row in rows]
    assert tools[1] is tools[2] is tools[3]
