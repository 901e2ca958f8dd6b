"""Rows that hold the reader of plain chat to the specification, and the naive one (``tests/oracle.py``) with it."""

from hypothesis import given

from chatsquash import Options, convert_session
from tests import oracle, strategies
from tests.conftest import cases, examples

CHAT = {"anonymize": False, "cleanup_goose": False, "from_format": "openai_chat"}
"""So that lines are read as the naive reader does, which knows nothing of other formats."""
KEEP_ALL = Options(**CHAT)


def line(messages: str, *, tools: str = "", reply: str = "", at: str = "", session: str = '"s"') -> str:
    tools = f',"tools":{tools}' if tools else ""
    reply = f',"response":{{"choices":[{{"message":{reply}}}]}}' if reply else ""
    at = f',"timestamp":{at}' if at else ""
    return f'{{"session_id":{session}{at},"request":{{"messages":{messages}{tools}}}{reply}}}'


def log(*lines: str) -> bytes:
    return "\n".join([*lines, ""]).encode("utf-8", "surrogatepass")


def record(*lines: str, options: Options = KEEP_ALL) -> bytes | None:
    """The record of a log, about which both readers agree."""
    naive = oracle.convert(log(*lines), "stem", options)
    made = [each.record for each in convert_session(log(*lines).split(b"\n"), options)]
    assert made in ([naive], [] if naive is None else [naive])
    return naive


U = '{"role":"user","content":"u"}'
A = '{"role":"assistant","content":"a"}'
S = '{"role":"system","content":"s"}'


# Reading

GOOD = b'{"request":{"messages":[]}}'


@cases(
    "data, kinds, rule",
    (b"", "", "an empty file has no line"),
    (b"\n", "blank", "one line feed ends one blank line"),
    (GOOD, "entry", "the last line needs no line feed"),
    (GOOD + b"\r\n \t\r\n" + GOOD + b"\n", "entry blank entry", "CRLF and white space are JSON's"),
    (b"\xef\xbb\xbf" + GOOD + b"\n\xef\xbb\xbf", "entry blank", "a BOM may begin any line"),
    (b"\xef\xbb\xbf\xef\xbb\xbf" + GOOD, "bad-line", "but only one"),
    (b" \xef\xbb\xbf" + GOOD, "bad-line", "and only as the first thing"),
    (b"\x0c", "bad-line", "a form feed is no JSON white space"),
    (GOOD[:-1], "bad-line", "a cut line is no JSON"),
    (GOOD + GOOD, "bad-line", "two objects are no object"),
    (GOOD + b"\x00", "bad-line", "a NUL byte is no JSON"),
    (b"\x00" * 9, "blank", "a crash leaves NULs of lines that were not written yet"),
    (b"\x00" * 9 + GOOD, "entry", "what is appended stands behind such NULs"),
    (b" \x00" + GOOD, "bad-line", "NULs behind a space are none that a crash leaves"),
    (b"[]\n1\nnull\nNaN", "bad-line bad-line bad-line bad-line", "JSON must be an object"),
    (b'{"x":"\xff","request":{"messages":[]}}', "bad-line", "bytes must be UTF-8"),
    (b'{"x":"\xed\xa0\x80","request":{"messages":[]}}', "entry", "but surrogates pass"),
    (b'{"x":"\t","request":{"messages":[]}}', "bad-line", "control characters must be escaped"),
    (b'{"x":NaN,"y":[1e999],"request":{"messages":[]}}', "entry", "NaN that nobody reads is Python's JSON"),
    (b'{"request":{"messages":[{"role":"user","x":[NaN]}]}}', "bad-line", "NaN in messages"),
    (b'{"request":{"messages":[{"role":"user","x":-Infinity}]}}', "bad-line", "Infinity in messages"),
    (b'{"request":{"messages":[{"role":"user","x":1e999}]}}', "bad-line", "a number read as Infinity"),
    (b'{"request":{"messages":[],"tools":[{"x":1e999}]}}', "bad-line", "the same in tools"),
    (b'{"request":{"messages":[],"tools":{"x":NaN}}}', "entry", "tools that are no list count as missing"),
    (b'{"request":{"messages":[NaN],"messages":[]}}', "entry", "the last of equal keys counts"),
    (b'{"request":{"messages":[],"messages":[1]}}', "bad-entry", "also where it is the worse one"),
    (b'{"x":%s,"request":{"messages":[]}}' % (b"9" * 4300), "entry", "integers may be as long as Python takes"),
    (b'{"x":%s,"request":{"messages":[]}}' % (b"9" * 4301), "bad-line", "and no longer"),
    (b'{"x":%s1%s,"request":{"messages":[]}}' % (b"[" * 300, b"]" * 300), "entry", "300 levels are few"),
    (b'{"x":%s1%s,"request":{"messages":[]}}' % (b"[" * 10**5, b"]" * 10**5), "bad-line", "100,000 are too many"),
    (b"{}", "bad-entry", "a request is needed"),
    (b'{"request":[]}', "bad-entry", "which is an object"),
    (b'{"request":{}}', "bad-entry", "with messages"),
    (b'{"request":{"messages":{}}}', "bad-entry", "which are a list"),
    (b'{"request":{"messages":["x"]}}', "bad-entry", "of objects"),
    (b'{"request":{"messages":[{"content":"x"}]}}', "bad-entry", "with a role"),
    (b'{"request":{"messages":[{"role":1}]}}', "bad-entry", "which is a string"),
)
def test_kinds_of_lines(data, kinds, rule):
    rows = oracle.read(data, "stem")
    assert " ".join(row.kind for row in rows) == kinds, rule
    assert [row.line for row in rows] == list(range(1, len(rows) + 1))


@cases(
    "logged, read_as",
    ('"s1"', "s1"),
    ('""', None),
    ("null", None),
    ("true", None),
    ("7", "7"),
    ("-0", "0"),
    ("7.0", None),
    ("[]", None),
    ("123456789012345678901234567890", "123456789012345678901234567890"),
)
def test_session_ids(logged, read_as):
    assert oracle.read(log(line("[]", session=logged)))[0].session_id == read_as


# Selecting


@cases("lines, expected, rule",
        ([line(f"[{U}]", reply=A)], f'{{"messages":[{U},{A}],"tools":[]}}', "the reply is appended"),
        ([line(f"[{U}]")], f'{{"messages":[{U}],"tools":[]}}', "if there is one"),
        ([line("[]")], '{"messages":[],"tools":[]}', "a record may have no messages"),
        ([line(f"[{U}]"), line(f"[{U},{A},{S}]", reply=A)], f'{{"messages":[{U},{A},{S},{A}],"tools":[]}}', "last"),
        ([line(f"[{U},{A}]"), line(f"[{S},{A}]")], f'{{"messages":[{S},{A}],"tools":[]}}', "the last of the longest"),
        (
            [
                line(f"[{U},{A}]", tools='["a"]'),
                line(f"[{S},{U}]", reply=A, tools='["b"]'),
                line(f"[{U}]", tools='["c"]'),
            ],
            f'{{"messages":[{S},{U},{A}],"tools":["a","b"]}}',
            "a short tail is cut off, with its tools",
        ),
        (["", "{", line(f"[{U}]"), '{"request":1}'], f'{{"messages":[{U}],"tools":[]}}', "bad lines cost themselves"),
        (["{", ""], None, "a session without entries is left out"),
        ([line("[]"), line(f"[{U}]", session='"t"')], None, "two ids are invalid"),
        ([line("[]", session='"7"'), line(f"[{U}]", session="7")], f'{{"messages":[{U}],"tools":[]}}', "7 is '7'"),
        ([line("[]"), line(f"[{U}]", session="null")], f'{{"messages":[{U}],"tools":[]}}', "no id is no other id"),
        ([line("[]", at="1"), line(f"[{U}]", at="1.0")], f'{{"messages":[{U}],"tools":[]}}', "equal times are in order"),
        ([line("[]", at="2"), line("[]", at="1")], None, "a clock that goes back is invalid"),
        ([line("[]", at="2"), line("[]"), line("[]", at="1")], None, "also around an entry without one"),
        (
            [line("[]", at='"2026-01-13T10:00:00.000000001"'), line(f"[{U}]", at="1768298400000000002")],
            f'{{"messages":[{U}],"tools":[]}}',
            "a nanosecond later is later",
        ),
)  # fmt: skip
def test_selection(lines, expected, rule):
    assert record(*lines) == (expected and expected.encode()), rule


def test_a_clock_that_goes_back_is_kept_where_the_user_says_so():
    lines = [line(f"[{U}]", at="2"), line(f"[{A}]", at="1")]
    assert record(*lines, options=Options(**CHAT, on_invalid="keep")) == f'{{"messages":[{A}],"tools":[]}}'.encode()


# Messages, tools, bytes


@cases(
    "message, expected",
    ('{"x":null,"role":"developer","content":null}', b'{"role":"system"}'),
    ('{"role":"user","content":[null,{"x":null}]}', b'{"role":"user","content":[null,{"x":null}]}'),
    ('{"role":"user","n":[1,1.0,true,-0,-0.0,1E5,1.50]}', b'{"role":"user","n":[1,1.0,true,0,-0.0,100000.0,1.5]}'),
    ('{"role":"user","n":[1e16,1e-7,18446744073709551616]}', b'{"role":"user","n":[1e+16,1e-7,18446744073709551616]}'),
    ('{"role":"user","c":"a\\ud800\\ud83d\\ude00\\u00e9\\/"}', '{"role":"user","c":"a\\ud800😀é/"}'.encode()),
    ('{"role":"user","c":"\ud83d\ude00\\uDC00"}', b'{"role":"user","c":"\\ud83d\\ude00\\udc00"}'),
    ('{"role":"user","c":"\\u007f\\u0001\\n\u2028"}', '{"role":"user","c":"\x7f\\u0001\\n\u2028"}'.encode()),
    ('{"a":1,"role":"user","a":2}', b'{"a":2,"role":"user"}'),
    (' { "role" : "user" , "\\ud800" : { } } ', b'{"role":"user","\\ud800":{}}'),
)  # fmt: skip
def test_messages_as_they_are_written(message, expected):
    assert record(line(f"[{message}]")) == b'{"messages":[' + expected + b'],"tools":[]}'


@cases(
    "lists, expected, rule",
    (['[{"type":"function","function":{"name":"a"}}]'], '[{"name":"a"}]', "flattened"),
    (['[{"name":"a","x":1}]'], '[{"name":"a","x":1}]', "flat ones stay whole"),
    (['[{"function":null,"name":"a"}]'], '[{"function":null,"name":"a"}]', "also with a function that is none"),
    (['[{"name":"a"}]', '[{"name":"b"},{"name":"a","x":1}]'], '[{"name":"a"},{"name":"b"}]', "the first one wins"),
    (['[{"name":"a","function":{"x":1}},{"name":"a"}]'], '[{"x":1},{"name":"a"}]', "the flattened one's name"),
    (['[{"x":1},{"x":1.0},{"x":true},{"x":1}]'], '[{"x":1},{"x":1.0},{"x":true}]', "nameless ones by bytes"),
    (['[{"name":5},"t",null]', '["t"]'], '[{"name":5},"t",null]', "what is not an object is nameless"),
    (['{"name":"a"}', "[]", '"x"'], "[]", "tools that are no list are none"),
)
def test_tools(lists, expected, rule):
    assert record(*(line("[]", tools=tools) for tools in lists)) == f'{{"messages":[],"tools":{expected}}}'.encode(), (
        rule
    )


# The strategies


@given(log=strategies.described_logs(append_only=True))
@examples(100)
def test_append_only_logs_only_grow(log):
    previous: list[bytes] = []
    for row in oracle.read(log.data, "stem"):
        assert row.kind == "entry"
        messages = [oracle.encode(message) for message in row.messages]
        assert messages[: len(previous)] == previous
        previous = messages
