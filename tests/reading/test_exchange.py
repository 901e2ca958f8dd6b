"""Both ways to split a line give the same, and the slow one is asked only where the fast one refuses."""

import json
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.core.model import Response
from chatsquash.formats import get_format
from chatsquash.reading import exchange, replies, scan
from chatsquash.reading.exchange import LineError, split
from chatsquash.reading.members import elements
from tests.conftest import cases

openai_chat = get_format("openai_chat")

LINES = [
    b'{"request":{"messages":[{"role":"user","content":"[]{}\\"\\\\"}],"tools":[]},"timestamp":1,"session_id":"s"}',
    b' { "session_id" : "s" , "request" : { "tools" : null , "messages" : [ ] } } ',
    b'{"request":{"messages":[1]},"request":{"messages":[2]},"response":{"a":[1,{"b":"\xc3\xbc"}]}}',
    b'{"request":{"messages":[1],"messages":[2],"tools":[],"tools":[3]},"response":null}',
    rb'{"re\u0071uest":{"messages":[]},"timestamp":"x"}',
    b'{"request":{"messages":[1e5,-0.0,true,null,"\xf0\x9f\x98\x80"]},"x":[[[]],{"y":{}}]}',
]


def splitted(line: bytes) -> tuple[bytes, bytes, bytes, str | None, Response]:
    """The turns, the tools, the time, the session and the reply of a line."""
    found = split(line, openai_chat)
    return found.turns, found.first(openai_chat.TOOLS), found.timestamp, found.session_id, found.reply


@pytest.mark.parametrize("line", LINES)
def test_the_scanner_of_json_splits_as_msgspec_does(line, monkeypatch):
    quick = splitted(line)
    monkeypatch.setattr(exchange, "_decoder", lambda *_: json.JSONDecoder())  # which refuses bytes
    with mock.patch.object(exchange, "PARSE_ERRORS", (TypeError,)):
        assert splitted(line) == quick


@pytest.mark.parametrize("line", LINES)
def test_slices_are_the_values(line):
    turns, parsed = split(line, openai_chat).turns, json.loads(line)
    assert json.loads(turns) == parsed["request"]["messages"]
    assert [json.loads(element) for element in elements(turns)] == parsed["request"]["messages"]


NO_CHOICES, NO_RESPONSE = (
    Response(problem="the response has no choices", foreign=True, raw=b'{"choices":[],"p":-Infinity}'),
    Response(problem="there is no response"),
)
NAN = b'{"x":NaN,"request":{"messages":[{"role":"user"}]},"response":{"choices":[],"p":-Infinity}}'


@cases(
    "line, expected",
    ("NaN in what nobody reads", NAN, (b'[{"role":"user"}]', b"", b"", None, NO_CHOICES)),
    ("a lone surrogate", rb'{"request":{"messages":["\ud800"]}}', (rb'["\ud800"]', b"", b"", None, NO_RESPONSE)),
    ("a byte order mark", b'\xef\xbb\xbf{"request":{"messages":[]}}', (b"[]", b"", b"", None, NO_RESPONSE)),
    ("no JSON", b"nonsense", "bad-line"),
    ("a cut line", b'{"request":{"messages":[', "bad-line"),
    ("two objects glued", b'{"request":{"messages":[]}}{"request":{"messages":[]}}', "bad-line"),
    ("NUL bytes", b"\0\0\0", "bad-line"),
    ("a list", b"[]", "bad-line"),
    ("a string", b'"x"', "bad-line"),
    ("nested too deeply", b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b',"request":{"messages":[]}}', "bad-line"),
    ("a control character in a string", b'{"x":"\x01","request":{"messages":[]}}', "bad-line"),
    ("a comma too many", b'{"request":{"messages":[1,]}}', "bad-line"),
    ("no request", b"{}", "bad-entry"),
    ("a request of another type", b'{"request":[]}', "bad-entry"),
    ("no messages", b'{"request":{}}', "bad-entry"),
    ("messages of another type", b'{"request":{"messages":{}}}', "bad-entry"),
    ("null messages", b'{"request":{"messages":null}}', "bad-entry"),
)
def test_split(line, expected):
    if isinstance(expected, tuple):
        assert splitted(line) == expected
    else:
        with pytest.raises(LineError) as caught:
            split(line, openai_chat)
        assert caught.value.code == expected


@cases("raw, message, choices, wrong",
    ("an answer", b'{"choices":[{"message":{"role":"assistant","content":"x"}}]}', {"role": "assistant", "content": "x"}, 1, None),
    ("without a role it is the assistant's", b'{"choices":[{"message":{"content":"x"}}]}', {"role": "assistant", "content": "x"}, 1, None),
    ("a null role is none", b'{"choices":[{"message":{"content":"x","role":null}}]}', {"role": "assistant", "content": "x"}, 1, None),
    ("a role of another type", b'{"choices":[{"message":{"role":5}}]}', {"role": "assistant"}, 1, "response.choices[0].message.role"),
    ("two choices", b'{"choices":[{"message":{"role":"a"}},{}]}', {"role": "a"}, 2, None),
    ("no response", b"", None, 0, None),
    ("a null response", b"null", None, 0, None),
    ("a response of another type", b'"late"', None, 0, "response"),
    ("no choices", b"{}", None, 0, None),
    ("null choices", b'{"choices":null}', None, 0, None),
    ("choices of another type", b'{"choices":{}}', None, 0, "response.choices"),
    ("empty choices", b'{"choices":[]}', None, 0, None),
    ("a choice of another type", b'{"choices":["x"]}', None, 1, "response.choices[0]"),
    ("a later choice of another type", b'{"choices":[{"message":{"role":"a"}},5]}', {"role": "a"}, 2, None),
    ("no message", b'{"choices":[{}]}', None, 1, None),
    ("a null message", b'{"choices":[{"message":null}]}', None, 1, None),
    ("a message of another type", b'{"choices":[{"message":"x"}]}', None, 1, "response.choices[0].message"),
    ("NaN beside the message", b'{"choices":[{"logprobs":NaN,"message":{"role":"a"}}]}', {"role": "a"}, 1, None),
    ("NaN in the message", b'{"choices":[{"message":{"role":"a","n":NaN}}]}', None, 1, "response.choices[0].message"),
    ("an error body", b'{"error":{"code":429}}', None, 0, None),
    ("an error body that is no UTF-8, which nobody reads", b'{"error":{"m":"caf\xe9"}}', None, 0, None),
    ("an error of nothing", b'{"error":{ },"choices":[{"message":{"role":"a"}}]}', {"role": "a"}, 1, None),
    ("an error of zero", b'{"error":-0.0e5,"choices":[{"message":{"role":"a"}}]}', {"role": "a"}, 1, None),
    ("an error of white space", b'{"error":" ","choices":[{"message":{"role":"a"}}]}', None, 0, None),
    ("an error beside choices", b'{"error":{"code":1},"choices":[{"message":{"role":"a"}}]}', None, 0, None),
    ("a null error", b'{"error":null,"choices":[{"message":{"role":"a"}}]}', {"role": "a"}, 1, None),
)  # fmt: skip
def test_reply(raw, message, choices, wrong):
    reply = replies.reply(raw, openai_chat)
    assert (reply.message, reply.choices, reply.wrong and reply.wrong.what) == (message, choices, wrong)
    assert (reply.message is None) is bool(reply.problem)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=5), JSON), st.sampled_from([None, 1]), st.booleans())
def test_members_are_what_json_parses(value, indent, ascii_only):
    raw = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    for key, member in scan.members(raw).items():
        name = key.encode("latin-1").decode("utf-8", "surrogatepass") if key.isascii() or not ascii_only else key
        assert repr(json.loads(member)) == repr(value[name])
