"""The oracle is held to rows written by hand, for nothing else would notice if it were wrong."""

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings

from chatsquash.options import Options
from tests import oracle, strategies
from tests.oracle import AbortedError, clean, convert, encode, read

KEEP_ALL = Options(cleanup_goose=False)
INLINE = Options(cleanup_goose=False, json_tool_calls=True)
NO_CLEANING = {"a": 0, "b": 0, "c": 0, "d": 0}


def line(messages: str, *, tools: str = "", reply: str = "", at: str = "", session: str = '"s"') -> str:
    tools = f',"tools":{tools}' if tools else ""
    reply = f',"response":{{"choices":[{{"message":{reply}}}]}}' if reply else ""
    at = f',"timestamp":{at}' if at else ""
    return f'{{"session_id":{session}{at},"request":{{"messages":{messages}{tools}}}{reply}}}'


def log(*lines: str) -> bytes:
    return "\n".join([*lines, ""]).encode("utf-8", "surrogatepass")


def record(*lines: str, options: Options = KEEP_ALL) -> bytes | None:
    return convert(log(*lines), "stem", options)


def said(role: str, content: object = None, **more: object) -> dict[str, object]:
    return {"role": role, "content": content, **more}


U = '{"role":"user","content":"u"}'
A = '{"role":"assistant","content":"a"}'
S = '{"role":"system","content":"s"}'


# Reading

GOOD = b'{"request":{"messages":[]}}'


@pytest.mark.parametrize(
    ("data", "kinds", "rule"),
    [
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
    ],
)
def test_kinds_of_lines(data, kinds, rule):
    rows = read(data, "stem")
    assert " ".join(row.kind for row in rows) == kinds, rule
    assert [row.line for row in rows] == list(range(1, len(rows) + 1))


@pytest.mark.parametrize(
    ("logged", "read_as"),
    [
        ('"s1"', "s1"),
        ('""', None),
        ("null", None),
        ("true", None),
        ("7", "7"),
        ("-0", "0"),
        ("7.0", None),
        ("[]", None),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
    ],
)
def test_session_ids(logged, read_as):
    assert read(log(line("[]", session=logged)))[0].session_id == read_as


TEN = 1_768_298_400_000_000_000  # 2026-01-13T10:00Z


@pytest.mark.parametrize(
    ("logged", "at", "naive"),
    [
        ('"2026-01-13T10:00:00Z"', TEN, False),
        ('"2026-01-13T12:00:00+02:00"', TEN, False),
        ('"2026-01-13T10:00:00"', TEN, True),
        ('"2026-01-13 10"', TEN, True),
        ('"20260113T100000,5Z"', TEN + 500_000_000, False),
        ('"2026-W03-2T10:00:00.25-00:00"', TEN + 250_000_000, False),
        ('"2026-01-13"', TEN - 36_000 * 10**9, True),
        ('"2026-01-13T10:00:00.000000001Z"', TEN + 1, False),
        ('"2026-01-13T10:00:00.9999999999Z"', TEN + Fraction(9_999_999_999, 10), False),
        ('"1969-12-31T23:59:59.999999999Z"', -1, False),
        ('"0001-01-01T00:00:00Z"', -62_135_596_800 * 10**9, False),
        ('"0001-01-01T00:00:00+01:00"', None, False),
        ('"9999-12-31T23:59:59.999999999Z"', 253_402_300_800 * 10**9 - 1, False),
        ('"2026-01-13T10:00:00z"', None, False),
        ('"2026-01-13T24:00:00Z"', None, False),
        ('" 2026-01-13"', None, False),
        ('"1768298400"', None, False),
        ('""', None, False),
        ("null", None, False),
        ("true", None, False),
        ("[]", None, False),
        ("NaN", None, False),
        ("0", 0, False),
        ("1768298400", TEN, False),
        ("1768298400.000000001", TEN + 1, False),
        ("1768298400.0000000019", TEN + 1, False),
        ("17682984e2", TEN, False),
        ("-1e-10", -1, False),
        ("99999999999", 99_999_999_999 * 10**9, False),
        ("100000000000", 10**17, False),
        ("1768298400000.5", TEN + 500_000, False),
        ("99999999999999", 99_999_999_999_999 * 10**6, False),
        ("100000000000000", 10**17, False),
        ("1768298400000001", TEN + 1000, False),
        ("99999999999999999", 99_999_999_999_999_999_000, False),
        ("100000000000000000", 10**17, False),
        ("1768298400000000001", TEN + 1, False),
        ("253402300800000000000", None, False),
        ("1e999", None, False),
        ("1e999999999999", None, False),
        ("-1e-999999999999", -1, False),
    ],
)
def test_times(logged, at, naive):
    row = read(log(line("[]", at=logged)))[0]
    assert (row.at, row.naive) == (at, naive)


@pytest.mark.parametrize(
    ("response", "reply", "choices", "reason"),
    [
        ("null", None, 0, None),
        ('"x"', None, 0, None),
        ("{}", None, 0, None),
        ('{"choices":{}}', None, 0, None),
        ('{"choices":[]}', None, 0, None),
        ('{"choices":[1]}', None, 1, None),
        ('{"choices":[{"message":"x"}]}', None, 1, None),
        ('{"choices":[{"message":{"role":"user"},"finish_reason":"length"},0]}', {"role": "user"}, 2, "length"),
        ('{"choices":[{"message":{"role":"user"},"finish_reason":1}]}', {"role": "user"}, 1, None),
        ('{"error":0,"choices":[{"message":{"role":"user"}}]}', {"role": "user"}, 1, None),
        ('{"error":"x","choices":[{"message":{"role":"user"}}]}', None, 1, None),
        ('{"choices":[{"message":{"role":"user","x":NaN}}]}', None, 1, None),
        ('{"choices":[{"message":{"x":1,"role":2}}]}', {"role": "assistant", "x": 1}, 1, None),
        ('{"choices":[{"message":{}}]}', {"role": "assistant"}, 1, None),
    ],
)
def test_replies(response, reply, choices, reason):
    row = read(f'{{"request":{{"messages":[]}},"response":{response}}}'.encode())[0]
    assert (row.reply, row.choices, row.finish_reason) == (reply, choices, reason)
    assert reply is None or list(row.reply) == list(reply)


# Cleaning

INFO = "<info-msg>now</info-msg>"


@pytest.mark.parametrize(
    ("message", "stays"),
    [
        (said("user", INFO), False),
        (said("user", f" {INFO}\n\n<info-msg>\n<b></info-msg>\t"), False),
        (said("user", ["<info-", {"type": "text", "text": "msg></info-msg>"}]), False),
        (said("user", f"{INFO} and more"), True),
        (said("user", f"{INFO} and {INFO}"), True),
        (said("user", "<info-msg>a<info-msg>b</info-msg></info-msg>"), True),
        (said("user", "<info-msg>open"), True),
        (said("user", ""), True),
        (said("user", [INFO, {"type": "image_url"}]), True),
        (said("user"), True),
        (said("system", INFO), True),
    ],
)
def test_rule_a_drops_info_messages(message, stays):
    assert clean([message], None) == ([message] if stays else [], {**NO_CLEANING, "a": int(not stays)})


@pytest.mark.parametrize(
    ("message", "becomes"),
    [
        (
            said("system", "You are a general-purpose AI agent called goose, by Block.", name="n"),
            said("system", "You are a general-purpose AI agent", name="n"),
        ),
        (
            said("system", [{"text": "a GENERAL-PURPOSE\n ai "}, "agent\tcalled\u00a0Goose"]),
            said("system", "You are a general-purpose AI agent"),
        ),
        (said("system", "a general-purpose AI agent named goose"), None),
        (said("system", "a general-purposeAI agent called goose"), None),
        (said("developer", "a general-purpose AI agent called goose"), None),
        (said("user", "a general-purpose AI agent called goose"), None),
    ],
)
def test_rule_b_renames_goose(message, becomes):
    assert clean([message], None) == ([becomes or message], {**NO_CLEANING, "b": int(becomes is not None)})


SPEAKS = (
    "tool_calls tool_call_id function_call refusal audio "
    "reasoning_content reasoning reasoning_details thinking thinking_blocks"
)


@pytest.mark.parametrize(
    ("message", "stays"),
    [
        (said("assistant", ""), False),
        (said("assistant", " \n\u00a0"), False),
        (said("assistant", []), False),
        (said("assistant", ["", {"type": "text", "text": " "}], name="n", tool_calls=[], reasoning=""), False),
        (said("assistant", "a"), True),
        (said("assistant"), True),
        ({"role": "assistant"}, True),
        (said("assistant", 0), True),
        (said("assistant", [{"type": "image_url"}]), True),
        (said("assistant", [{"type": "text"}]), True),
        (said("user", ""), True),
        *((said("assistant", "", **{key: "x"}), True) for key in SPEAKS.split()),
    ],
)
def test_rule_c_drops_hollow_assistants_before_assistants(message, stays):
    following = said("assistant", "next")
    expected = [message, following] if stays else [following]
    assert clean([message, following], None) == (expected, {**NO_CLEANING, "c": int(not stays)})


def test_rule_c_needs_an_assistant_as_the_next_message():
    hollow, user = said("assistant", ""), said("user", "u")
    assert clean([hollow, user], said("assistant", "a"))[0] == [hollow, user]
    assert clean([hollow], said("assistant", "a"))[0] == [hollow]
    assert clean([hollow, hollow, hollow], None) == ([hollow], {**NO_CLEANING, "c": 2})
    info = said("user", INFO)
    assert clean([hollow, info, hollow], None) == ([hollow], {**NO_CLEANING, "a": 1, "c": 1})


TITLE = [
    said("system", "\n Reply with only a description in four words or less."),
    said("user", ["\t\n", "Here are the first few ", "user messages: hi"]),
]


@pytest.mark.parametrize(
    ("messages", "reply", "stays"),
    [
        (TITLE, said("assistant", "a title of up to six"), False),
        (
            [*TITLE, said("user", "x")],
            said("assistant", ["a ", {"text": "title"}, {"type": "image_url", "url": "a b c d"}]),
            False,
        ),
        ([said("user", INFO), *TITLE], said("assistant", "title"), False),
        (TITLE, said("assistant", "a title of more than six words"), True),
        (TITLE, said("assistant", " "), True),
        (TITLE, None, True),
        (TITLE[:1], said("assistant", "title"), True),
        (TITLE[::-1], said("assistant", "title"), True),
        ([{**TITLE[0], "role": "developer"}, TITLE[1]], said("assistant", "title"), True),
        ([said("system", "Please reply with only"), TITLE[1]], said("assistant", "title"), True),
        ([TITLE[0], said("user", "hi")], said("assistant", "title"), True),
        ([TITLE[0], said("user", "Here are the first few messages:")], said("assistant", "title"), True),
    ],
)
def test_rule_d_drops_title_requests(messages, reply, stays):
    kept, counts = clean(messages, reply)
    assert (kept is not None, counts["d"]) == (stays, int(not stays))


def test_an_entry_that_cleaning_drops_is_not_validated():
    title = line(json.dumps(TITLE), reply='{"role":"assistant","content":"title"}', session='"other"')
    assert (
        record(line(f"[{U}]"), title, options=Options()) == b'{"messages":[{"role":"user","content":"u"}],"tools":[]}'
    )
    assert record(title, options=Options()) is None
    assert record(line(f"[{U}]"), title) is None


# Selecting


@pytest.mark.parametrize(
    ("lines", "expected", "rule"),
    [
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
        (
            [line("[]", at="1"), line(f"[{U}]", at="1.0")],
            f'{{"messages":[{U}],"tools":[]}}',
            "equal times are in order",
        ),
        ([line("[]", at="2"), line("[]", at="1")], None, "a clock that goes back is invalid"),
        ([line("[]", at="2"), line("[]"), line("[]", at="1")], None, "also around an entry without one"),
        (
            [line("[]", at='"2026-01-13T10:00:00.000000001"'), line(f"[{U}]", at="1768298400000000002")],
            f'{{"messages":[{U}],"tools":[]}}',
            "a nanosecond later is later",
        ),
    ],
)
def test_selection(lines, expected, rule):
    assert record(*lines) == (expected and expected.encode()), rule


def test_on_invalid():
    lines = [line(f"[{U}]", at="2"), line(f"[{A}]", at="1")]
    assert record(*lines, options=Options(on_invalid="keep")) == f'{{"messages":[{A}],"tools":[]}}'.encode()
    with pytest.raises(AbortedError):
        record(*lines, options=Options(on_invalid="abort"))


def test_two_ids_are_one_session_only_where_the_user_says_so_twice():
    lines = [line("[]"), line(f"[{U}]", session='"t"')]
    merged = f'{{"messages":[{U}],"tools":[]}}'.encode()
    for said, expected in (
        ({"on_invalid": "keep"}, None),
        ({"sessions_by": "file"}, None),
        ({"on_invalid": "keep", "sessions_by": "file"}, merged),
    ):
        assert record(*lines, options=Options(**said)) == expected
    with pytest.raises(AbortedError):
        record(*lines, options=Options(on_invalid="abort", sessions_by="file"))


# Messages, tools, bytes


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ('{"x":null,"role":"developer","content":null}', b'{"role":"system"}'),
        ('{"role":"user","content":[null,{"x":null}]}', b'{"role":"user","content":[null,{"x":null}]}'),
        ('{"role":"user","n":[1,1.0,true,-0,-0.0,1E5,1.50]}', b'{"role":"user","n":[1,1.0,true,0,-0.0,100000.0,1.5]}'),
        (
            '{"role":"user","n":[1e16,1e-7,18446744073709551616]}',
            b'{"role":"user","n":[1e+16,1e-7,18446744073709551616]}',
        ),
        ('{"role":"user","c":"a\\ud800\\ud83d\\ude00\\u00e9\\/"}', '{"role":"user","c":"a\\ud800😀é/"}'.encode()),
        ('{"role":"user","c":"\ud83d\ude00\\uDC00"}', b'{"role":"user","c":"\\ud83d\\ude00\\udc00"}'),
        ('{"role":"user","c":"\\u007f\\u0001\\n\u2028"}', '{"role":"user","c":"\x7f\\u0001\\n\u2028"}'.encode()),
        ('{"a":1,"role":"user","a":2}', b'{"a":2,"role":"user"}'),
        (' { "role" : "user" , "\\ud800" : { } } ', b'{"role":"user","\\ud800":{}}'),
    ],
)
def test_messages_as_they_are_written(message, expected):
    assert record(line(f"[{message}]")) == b'{"messages":[' + expected + b'],"tools":[]}'


@pytest.mark.parametrize(
    ("lists", "expected", "rule"),
    [
        (['[{"type":"function","function":{"name":"a"}}]'], '[{"name":"a"}]', "flattened"),
        (['[{"name":"a","x":1}]'], '[{"name":"a","x":1}]', "flat ones stay whole"),
        (['[{"function":null,"name":"a"}]'], '[{"function":null,"name":"a"}]', "also with a function that is none"),
        (['[{"name":"a"}]', '[{"name":"b"},{"name":"a","x":1}]'], '[{"name":"a"},{"name":"b"}]', "the first one wins"),
        (['[{"name":"a","function":{"x":1}},{"name":"a"}]'], '[{"x":1},{"name":"a"}]', "the flattened one's name"),
        (['[{"x":1},{"x":1.0},{"x":true},{"x":1}]'], '[{"x":1},{"x":1.0},{"x":true}]', "nameless ones by bytes"),
        (['[{"name":5},"t",null]', '["t"]'], '[{"name":5},"t",null]', "what is no object is nameless"),
        (['{"name":"a"}', "[]", '"x"'], "[]", "tools that are no list are none"),
    ],
)
def test_tools(lists, expected, rule):
    assert record(*(line("[]", tools=tools) for tools in lists)) == f'{{"messages":[],"tools":{expected}}}'.encode(), (
        rule
    )


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            {
                "role": "assistant",
                "content": " hi\n",
                "tool_calls": [{"function": {"name": "f", "arguments": '{"a":1}'}}],
            },
            rb'{"role":"assistant","content":"hi\n\n<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>"}',
        ),
        (
            {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f"}}] * 2, "x": 1},
            (
                rb'{"role":"assistant","x":1,"content":"<tool_call>{\"name\": \"f\", \"arguments\": null}</tool_call>\n'
                rb'<tool_call>{\"name\": \"f\", \"arguments\": null}</tool_call>"}'
            ),
        ),
        (
            {
                "role": "assistant",
                "tool_calls": [{"id": "c", "function": {"arguments": {"é": 1.0}, "name": "f"}}],
                "content": ["a", {"type": "image_url"}, {"type": "text", "text": "b"}],
            },
            rb'{"role":"assistant","content":"a\n\nb\n<tool_call>{\"name\": \"f\", \"arguments\": {\"'
            + "é".encode()
            + rb'\": 1.0}}</tool_call>"}',
        ),
        (
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "<b></tool_result>"}}]},
            (
                rb'{"role":"assistant","content":"<tool_call>{\"name\": \"f\", '
                rb'\"arguments\": \"\\u003cb>\\u003c/tool_result>\"}</tool_call>"}'
            ),
        ),
        (
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": '{"a":NaN}'}}]},
            rb'{"role":"assistant","content":"<tool_call>{\"name\": \"f\", \"arguments\": \"{\\\"a\\\":NaN}\"}</tool_call>"}',
        ),
        (
            {"role": "assistant", "tool_calls": [{"function": {"name": "<f>", "arguments": "[1E5, 1e999]"}}]},
            rb'{"role":"assistant","content":"<tool_call>{\"name\": \"<f>\", \"arguments\": \"[1E5, 1e999]\"}</tool_call>"}',
        ),
        (
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": ' [1E16, "\\ud800"] '}}]},
            rb'{"role":"assistant","content":"<tool_call>{\"name\": \"f\", \"arguments\": [1e+16, \"\ud800\"]}</tool_call>"}',
        ),
        (
            {"role": "tool", "tool_call_id": 'a"<&', "content": ' {"x":"</tool_result>"}\n'},
            rb'{"role":"tool","content":"<tool_result tool_call_id=\"a&quot;&lt;&\"> {\"x\":\"</tool_result>\"}\n</tool_result>"}',
        ),
        (
            {"content": ["a", {"type": "image_url"}, "b"], "role": "tool", "tool_call_id": "c"},
            rb'{"content":"<tool_result tool_call_id=\"c\">a\n\nb</tool_result>","role":"tool"}',
        ),
        (
            {"role": "tool", "tool_call_id": "", "content": None, "name": "f"},
            rb'{"role":"tool","name":"f","content":"<tool_result tool_call_id=\"\"></tool_result>"}',
        ),
        (
            {"role": "tool", "tool_call_id": ["<", True], "content": "x"},
            rb'{"role":"tool","content":"<tool_result tool_call_id=\"[&quot;&lt;&quot;,true]\">x</tool_result>"}',
        ),
        ({"role": "tool", "tool_call_id": None, "content": "x"}, rb'{"role":"tool","content":"x"}'),
    ],
)
def test_inline(message, expected):
    assert record(line(json.dumps([message])), options=INLINE) == b'{"messages":[' + expected + b'],"tools":[]}'


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "x", "tool_calls": []},
        {"role": "assistant", "tool_calls": {"function": {"name": "f"}}},
        {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}, {"function": {"name": ""}}]},
        {"role": "assistant", "tool_calls": [{"function": {"name": 5}}]},
        {"role": "assistant", "tool_calls": [{"name": "f"}]},
        {"role": "assistant", "tool_calls": ["f"]},
        {"role": "user", "content": "x", "tool_calls": [{"function": {"name": "f"}}]},
        {"role": "user", "content": ["a", {"type": "image_url"}], "tool_call_id": "c"},
        {"role": "tool", "content": ["a", "b"]},
    ],
)
def test_inline_leaves_all_else_alone(message):
    assert record(line(json.dumps([message])), options=INLINE) == encode({"messages": [message], "tools": []})


# The strategies


@given(log=strategies.described_logs())
@settings(deadline=None, derandomize=True, max_examples=150)
def test_any_log_can_be_read_and_converted(log):
    rows = read(log.data, "stem")
    assert len(rows) == log.data.count(b"\n") + (not log.data.endswith(b"\n") and log.data != b"")
    for options in (KEEP_ALL, Options(on_invalid="keep"), INLINE):
        written = convert(log.data, "stem", options)
        if written is not None:
            assert list(json_of(written)) == ["messages", "tools"]


@given(log=strategies.described_logs(append_only=True))
@settings(deadline=None, derandomize=True, max_examples=100)
def test_append_only_logs_only_grow(log):
    previous: list[bytes] = []
    for row in read(log.data, "stem"):
        assert row.kind == "entry"
        messages = [encode(message) for message in row.messages]
        assert messages[: len(previous)] == previous
        previous = messages


def json_of(written: bytes) -> object:
    with oracle.all_digits():
        return json.loads(written)
