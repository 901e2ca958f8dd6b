"""The gate only excludes records in which the complete search finds nothing, and counts the same skipped texts."""

import sys
from functools import cache
from random import Random
from time import process_time

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.redact.planted.corpus import samples
from chatsquash.core.options import Options
from chatsquash.redaction import contexts, requests, shapes
from chatsquash.redaction.gate import gate
from chatsquash.redaction.privacy import Pieces
from chatsquash.redaction.rules import builtin
from tests.conftest import cases
from tests.redact import rows
from tests.redact.values import drawn

pytest.importorskip("ahocorasick_rs")

DETECTOR = requests.secret_finder(Options())
WORDS = sorted(requests._of_rules(None).rules_by_word)
TEXTS = [each.text for each in samples()] + [text for name in ("contexts", "lookalikes") for text in rows.texts(name)]
FILLING = [
    "",
    "x",
    "é",
    "\n",
    "\t",
    "\\",
    '\\"',
    "\x1b[0m",
    "パスワード",
    "…\u2028",
    "git ",
    "a\\n",
    "\ud800",
    "c:\\new\\",
]
SEPARATORS = [
    *"=:,>|(&{<'.[-)]`\"\\ \n\t",
    " = ",
    ": ",
    ' "',
    '": "',
    '"\n',
    "\\n",
    "\\\\n",
    " is ",
    " for x ",
    " --x ",
    "\u00a0",
]
VALUES = [
    "Zq7!Vn2Lx8",
    "q8Zr7Vn2Lx8Wd4Rt6Yb3Kc",
    "word",
    "%71%38Zr7Vn2Lx8Wd4",
    "a1",
    "\\u0041\\x42 ",
    "&quot;",
    "1234567890123",
]
ID = {"id": "call_0a17904f3c829a60c2f3d5f6", "type": "function"}


def record(*messages, tools=()):
    return {"messages": [{"role": "system", "content": "You help."}, *messages], "tools": [*tools]}


def with_arguments(arguments):
    return {"type": "function", "id": ID["id"], "function": {"name": "run", "arguments": arguments}}


def records(text, key="cmd"):
    """Records with a text in every kind of place."""
    call = {**ID, "function": {"name": "run", "arguments": orjson.dumps({key: text}).decode()}}
    answer = {"role": "tool", "tool_call_id": ID["id"], "content": text}
    yield record({"role": "user", "content": text})
    yield record({"role": "assistant", "content": f"a {text} b", "tool_calls": [call]}, answer)
    nested = [{"a": {}}, {"role": "tool", "tool_call_id": text, "id": text, "content": [{}]}, {"role": "user"}]
    for arguments in ({key: text, "id": text}, {"x": nested, "id": text}, {"id": "a", "arguments": {"y": nested}}):
        parsed = {"role": "assistant", "content": "", "tool_calls": [with_arguments(arguments), with_arguments({})]}
        yield record(parsed, answer, parsed, answer)
        yield record({"role": "user", "content": nested, "extra": {"arguments": arguments}}, parsed)
    yield record(
        {"role": "user", "content": [{"type": "text", "text": text}, {"type": "text", "text": "7Vn2Lx8Wd4Rt6Yb3"}]}
    )
    yield record({"role": "user", "content": "x", "extra": {key: text, "more": [text, 7]}})
    yield record(
        {"role": "user", "content": "x", "extra": {text[:70]: "Zq7Vn2Lx8Wd4", "b": {text: 123456, "c": 1.5e-7}}}
    )
    yield record({"role": "user", "content": "x", "extra": {"name": text, "value": "Zq7Vn2Lx8Wd4"}})
    tool = {"type": "function", "function": {"name": "f", "description": text, "parameters": {"default": {"id": text}}}}
    yield record(tools=[tool, {"type": "function", "function": {"name": "g", "parameters": {"enum": [text, "é"]}}}])


def check(value):
    """Compare the gate with the complete search; return whether it excludes the record."""
    skipped = new_gate().skipped_texts(orjson.dumps(value))
    if skipped is not None:
        DETECTOR._clean.clear()
        assert not DETECTOR.count(Pieces(value).values)
        assert skipped == DETECTOR.passed_over
    return skipped is not None


def new_gate():
    return gate(requests._of_rules(None))


@pytest.mark.parametrize("part", range(8))
def test_no_record_with_a_known_secret_is_excluded(part, monkeypatch):
    once = cache(new_gate)
    monkeypatch.setitem(globals(), "new_gate", once)
    for text in TEXTS[part::8]:
        if not text.isascii() and any("\ud800" <= each <= "\udfff" for each in text):
            continue
        for value in records(text):
            check(value)


def test_nor_one_with_a_value_drawn_for_a_rule(monkeypatch):
    monkeypatch.setitem(globals(), "new_gate", cache(new_gate))
    rng = Random(45)
    shapes = [rule for rule in builtin() if rule.value == "shape" and not rule.before]
    assert not any(check(record({"role": "user", "content": f"x {drawn(rule, rng)} y"})) for rule in shapes[::3])


@settings(max_examples=400)
@given(
    st.lists(st.sampled_from(WORDS) | st.sampled_from(FILLING) | st.sampled_from(SEPARATORS) | st.sampled_from(VALUES))
)
def test_nor_any_in_which_words_and_values_meet_by_chance(monkeypatch_gate, parts):
    text = "".join(parts).encode("utf-8", "replace").decode()
    for value in records(text, key=text[:9]):
        check(value)


@pytest.fixture(scope="module")
def monkeypatch_gate():
    once = cache(new_gate)
    patch = pytest.MonkeyPatch()
    patch.setitem(globals(), "new_gate", once)
    yield
    patch.undo()


@cases(
    "value, is_excluded",
    ("a plain record", record({"role": "user", "content": "Hello"}), True),
    (
        "words in prose",
        record({"role": "user", "content": "Each token passed, and the key\nturned; PASSED [ 7%]"}),
        True,
    ),
    (
        "a name of a variable",
        record({"role": "user", "content": "token = next(tokens)\npassword = get_password()"}),
        True,
    ),
    (
        "a random id of a call",
        record({"role": "tool", "tool_call_id": "q8Zr7Vn2Lx8Wd4Rt6Yb3Kc", "content": "ok"}),
        True,
    ),
    ("a checksum", record({"role": "user", "content": "commit 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"}), True),
    ("a URL with an escape", record({"role": "user", "content": "x" * 150 + " https://a.b/c%20d " + "y" * 450}), True),
    (
        "the name of a parameter",
        record(tools=[{"name": "f", "parameters": {"properties": {"token": {"type": "x"}}}}]),
        True,
    ),
    ("a flag of another command", record({"role": "user", "content": "grep -n x; ssh -p 2222 host; ls -la"}), True),
    ("an image", record({"role": "user", "content": "data:image/png;base64,AAAA"}), False),
    ("an escape at the end of a text", record({"role": "user", "content": "https://a.b/c%20d"}), False),
    ("a secret", record({"role": "user", "content": "export API_TOKEN=q8Zr7Vn2Lx8Wd4Rt6Yb3Kc"}), False),
)
def test_the_gate_excludes_records_of_ordinary_texts(value, is_excluded):
    assert check(value) is is_excluded


@cases(
    "text, may_follow",
    ("a call", "token(item)", False),
    ("a call with text", 'token("Zq7!Vn2Lx8")', True),
    ("a subscript", 'token["main"] + 1', False),
    ("an entry of a namespace", "config::token['main'] => 'Zq7!Vn2Lx8'", True),
    ("a comparison", "token < 1204", False),
    ("a closing tag", "token</key><value>Zq7!Vn2Lx8</value>", True),
    ("a list of names", "token, number in list", False),
    ("a value with its label", "token, value: Zq7!Vn2Lx8", True),
    ("a verb before a word", "token is deprecated now", False),
    ("a verb before a digit", "token is Zq7!Vn2Lx8", True),
    ("a verb after its object", "token for me@host is Zq7!Vn2Lx8", True),
    ("a purpose", "token for tests", False),
    ("a verb before a letter that is a digit elsewhere", "token is hunter\u0663xKQzvb", True),
    ("a value that starts with a mark", "token &kQzvbnm!WxT", True),
    ("attributes", "token {...p}>&kQzvbnm!WxT", True),
)
def test_a_value_may_follow_a_name_in_a_text_and_its_json_alike(text, may_follow):
    at = text.index("token")
    assert contexts.may_be_named(shapes.Bytes(text).lower, at) is may_follow
    encoded = orjson.dumps({"content": text}).lower()
    assert bool(contexts.VALUE_FOLLOWS_IN_JSON.match(encoded, encoded.index(b"token"))) is may_follow


def test_a_part_that_many_records_share_is_judged_once():
    judge, calls = gate(requests._of_rules(None)), []
    find, judge._find = judge._find, lambda data: calls.append(data) or find(data)
    tools = [{"type": "function", "function": {"name": "f", "description": "Sends a token."}}]
    lines = [orjson.dumps(record({"role": "user", "content": text}, tools=tools)) for text in ("a", "b", "c")]
    assert [judge.skipped_texts(line) for line in lines] == [0, 0, 0]
    assert len(calls) == len(lines) + 1


LINES = "".join(f"line {number}: the token passed\n" for number in range(200))
"""Text of a long message without secrets."""


def test_a_long_message_of_several_records_is_searched_once():
    judge, calls = gate(requests._of_rules(None)), []
    find, judge._find = judge._find, lambda data: calls.append(data) or find(data)
    prompt = {"role": "system", "content": f"Prompt: {LINES}"}
    answer = {"role": "tool", "tool_call_id": "q8Zr7Vn2Lx8Wd4Rt6Yb3Kc", "content": f"File: {LINES}"}
    end = {"role": "assistant", "content": "Done."}
    lines = [
        orjson.dumps({"messages": messages})
        for messages in ([prompt, answer, end], [prompt, end], [{"role": "user", "content": "x"}, answer, prompt, end])
    ]
    assert [judge.skipped_texts(line) for line in lines] == [1, 0, 1]
    assert b"".join(calls).count(b"prompt: line 0") == 1
    assert b"".join(calls).count(b"file: line 0") == 1


STARTS = ["", "q8Zr7Vn2Lx8Wd4Rt6Yb3Kc ", "Zq7!Vn2Lx8\n", ": hunter2!x\n", "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567\n"]
ENDS = ["", "password", "password: ", "api_key =", "AKIA", " -p", "%20", "token=q8Zr7Vn2Lx8Wd4Rt6Yb3Kc"]
TEXT = st.builds(
    lambda start, filling, end: f"{start}{filling}{end}",
    st.sampled_from(STARTS),
    st.sampled_from([LINES, f"{LINES}{LINES}", "text"]),
    st.sampled_from(ENDS),
)
MESSAGES = st.one_of(
    st.builds(
        lambda role, text: {"role": role, "content": text}, st.sampled_from(["system", "user", "assistant"]), TEXT
    ),
    st.builds(lambda text: {"role": "tool", "tool_call_id": ID["id"], "content": text}, TEXT),
    st.builds(
        lambda text, arguments: {"role": "assistant", "content": text, "tool_calls": [with_arguments(arguments)]},
        TEXT,
        st.sampled_from(["{}", '{"id": "a1b2c3d4"}', {"id": "q8Zr7Vn2Lx8Wd4Rt6Yb3Kc"}]),
    ),
    st.builds(
        lambda text: {
            "role": "assistant",
            "content": "",
            "x": {"input": {"m": [{}, {"role": "user", "content": text}]}},
        },
        TEXT,
    ),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(MESSAGES, min_size=1, max_size=5).flatmap(lambda pool: st.lists(st.lists(st.sampled_from(pool)))))
def test_remembered_messages_change_no_result(records):
    judge = new_gate()
    for messages in records:
        line = orjson.dumps({"messages": messages})
        assert judge.skipped_texts(line) == new_gate().skipped_texts(line)
        check({"messages": messages})


def test_without_the_package_or_with_own_rules_there_is_no_gate(monkeypatch):
    own = b'[[rule]]\nname = "ours"\nliterals = ["ours"]\nshape = "ours-[0-9]+"\n'
    assert requests.secret_gate(Options(redact_rules=own)) is None
    monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)
    assert gate(requests._of_rules(None)) is None


URLS = [
    "https://me:Zq7Vn2Lx8Wd4@host/x",
    "https://ghp_0a17904f3c829a60c2f3d5f6q8Zr7Vn2Lx8W:<x>@host",
    "https:\\/\\/me:Zq7Vn2Lx8Wd4\\u0040host/x",
    "https%3A%2F%2Fme%3AZq7Vn2Lx8Wd4%40host",
    "a ://q8Zr7Vn2Lx8Wd4Rt6Yb3Kc@host",
    "https://host/a b@c.de",
    "see https://host/ and @dataclass",
]


@settings(max_examples=150)
@given(st.lists(st.sampled_from(URLS) | st.sampled_from(FILLING) | st.sampled_from(VALUES) | st.sampled_from(WORDS)))
def test_no_record_with_anything_to_replace_is_excluded_before_replacement(parts):
    options = Options(redact="secrets")
    text = "".join(parts).encode("utf-8", "replace").decode()
    for value in records(text, key=text[:9]):
        skipped = requests.replacement_gate(options).skipped_texts(orjson.dumps(value))
        if skipped is not None:
            redactor = requests.redactor(options, b"a key for tests of it")
            assert not redactor.replace(Pieces(value).values)
            assert skipped == redactor.passed_over


@cases(
    "options, has_gate",
    ("secrets", Options(redact="secrets"), True),
    ("more than secrets", Options(redact="secrets,phones"), False),
    ("a list", Options(redact="secrets", deny=b"Jane"), False),
    ("a pattern", Options(redact="secrets", redact_pattern=("a=b",)), False),
    ("nothing", Options(), False),
)
def test_only_secrets_alone_have_a_gate_before_replacement(options, has_gate):
    assert bool(requests.replacement_gate(options)) is has_gate


def test_ids_after_arguments_are_ids_again():
    calls = {"role": "assistant", "content": "", "tool_calls": [with_arguments({"path": "a/b"}), with_arguments({})]}
    answer = {"role": "tool", "tool_call_id": ID["id"], "content": "done"}
    assert check(record(calls, answer, answer, calls, answer, {"role": "user", "content": "thanks"}))
    assert not check(record(calls | {"tool_calls": [with_arguments({"id": "Zq7!Vn2Lx8"})]}, answer))


@pytest.mark.parametrize("text", ["0a1b2c3d4e5f60718293a4b5c6d7e8f901234567", "\nq: token = x", '"\\"'])
def test_a_message_of_many_strings_takes_linear_time(text):
    parts = [{"type": "text", "text": text} for _ in range(20_000)]
    started = process_time()
    gate(requests._of_rules(None)).skipped_texts(orjson.dumps(record({"role": "user", "content": parts})))
    assert process_time() - started < 20  # quadratic time takes minutes
