"""OpenAI chat and its vendors' variants, loaded into the canonical form; replies as the reader of logs gives them."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsquash.chat import Private, private
from chatsquash.formats import openai_chat
from chatsquash.formats.base import TurnError
from chatsquash.formats.openai_chat import START, assemble, load, reply, tools, variants

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


def conversation(*turns):
    """The canonical messages of turns, and what each carries privately."""
    messages, state = [], START
    for turn in turns:
        loaded = load(turn, state)
        messages += loaded.messages
        state = loaded.state
    return messages + openai_chat.close(state)


def plain(value):
    """A value without private slots."""
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items() if not (key == "_x" and isinstance(v, Private))}
    return [plain(item) for item in value] if isinstance(value, list) else value


def call(arguments, **more):
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{**CALL, "function": {"name": "f", **arguments}, **more}],
    }


def assistant(**members):
    return {"role": "assistant", "content": "x", **members}


URL = "data:application/pdf;base64,AA=="
LOADED = [
    ("a message of OpenAI's own stays as it is", {"role": "user", "content": "x", "name": "n"}, {"role": "user", "content": "x", "name": "n"}, {}),
    ("developer is kept", {"role": "developer", "content": "x"}, {"role": "developer", "content": "x"}, {}),
    ("a role that nobody knows is kept", {"role": "critic", "content": "x"}, {"role": "critic", "content": "x"}, {}),
    ("a list of one text is that text", {"role": "user", "content": [{"type": "text", "text": "x"}]}, {"role": "user", "content": "x"}, {"content_list": True}),
    ("what stands beside that text is kept", {"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]}, {"role": "user", "content": "x"}, {"content_list": True, "part": {"cache_control": {"type": "ephemeral"}}}),
    ("several texts stay a list", {"role": "user", "content": ["x", {"text": "y"}]}, {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]}, {}),
    ("an empty list is no text", {"role": "user", "content": []}, {"role": "user", "content": ""}, {"content_list": True}),
    ("an assistant's empty list is no content", call({"arguments": "{}"}) | {"content": []}, call({"arguments": "{}"}), {"content_list": True}),
    ("an assistant without content has null", {"role": "assistant", "tool_calls": [CALL]}, {"role": "assistant", "content": None, "tool_calls": [CALL]}, {}),
    ("an image's URL may stand there as a string", {"role": "user", "content": [{"type": "image_url", "image_url": "http://x/y.png"}]}, {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x/y.png"}}]}, {}),
    ("a document's URL is a file", {"role": "user", "content": [{"type": "document_url", "document_url": URL, "document_name": "d"}]}, {"role": "user", "content": [{"type": "file", "file": {"file_data": URL, "filename": "d"}}]}, {}),
    ("audio, files and refusals stay", {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}, {"type": "refusal", "refusal": "no"}]}, {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}, {"type": "refusal", "refusal": "no"}]}, {}),
    ("an unknown part is kept aside", {"role": "user", "content": ["x", {"type": "hologram"}, 5]}, {"role": "user", "content": "x"}, {"content_list": True, "native": [{"type": "hologram"}, 5]}),
    ("reasoning_content stays", assistant(reasoning_content="r"), assistant(reasoning_content="r"), {}),
    ("reasoning is reasoning_content", assistant(reasoning="r"), assistant(reasoning_content="r"), {"reasoning_key": "reasoning"}),
    ("empty reasoning is none", assistant(reasoning_content="", reasoning=None, thinking=[]), assistant(), {}),
    ("reasoning_details hold what reasoning does not", assistant(reasoning="r", reasoning_details=[{"type": "reasoning.text", "text": "r", "signature": "s", "index": 0}, {"type": "reasoning.encrypted", "data": "d", "id": "i"}]), assistant(reasoning_content="r"), {"reasoning_key": "reasoning", "thinking": [{"text": "r", "type": "reasoning.text", "signature": "s", "index": 0}, {"encrypted": "d", "type": "reasoning.encrypted", "id": "i"}]}),
    ("reasoning_details alone are joined", assistant(reasoning_details=[{"type": "reasoning.summary", "summary": "a"}, {"type": "reasoning.text", "text": "b"}]), assistant(reasoning_content="a\n\nb"), {"reasoning_key": "reasoning_details", "thinking": [{"text": "a", "type": "reasoning.summary"}, {"text": "b", "type": "reasoning.text"}]}),
    ("thinking_blocks carry signatures", assistant(thinking_blocks=[{"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "redacted_thinking", "data": "d"}]), assistant(reasoning_content="t"), {"reasoning_key": "thinking_blocks", "thinking": [{"text": "t", "signature": "s"}, {"redacted": "d"}]}),
    ("a signature without text is no reasoning_content", assistant(thinking_blocks=[{"type": "thinking", "thinking": "", "signature": "s"}]), assistant(), {"reasoning_key": "thinking_blocks", "thinking": [{"signature": "s"}]}),
    ("thinking may be a list", assistant(thinking=[{"type": "text", "text": "t"}]), assistant(reasoning_content="t"), {"reasoning_key": "thinking", "thinking": [{"text": "t", "type": "text"}]}),
    ("thinking parts are no content", {"role": "assistant", "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, {"type": "text", "text": "x"}]}, assistant(reasoning_content="ab"), {"content_list": True, "reasoning_key": "content"}),
    ("another reasoning is kept beside the first", assistant(reasoning_content="a", reasoning="b"), assistant(reasoning_content="a"), {"thinking": [{"text": "b"}]}),
    ("reasoning of another type is kept aside", assistant(reasoning_content=5), assistant(), {"native": [5]}),
    ("empty members of an SDK are absent", assistant(function_call={"arguments": "", "name": ""}, audio={"data": "", "expires_at": 0, "id": "", "transcript": ""}, refusal="", tool_calls=None), assistant(), {}),
    ("a refusal stays", assistant(refusal="no"), assistant(refusal="no"), {}),
    ("calls that are no list are kept aside", assistant(tool_calls="f()", function_call="auto"), assistant(), {"native": [{"tool_calls": "f()"}, {"function_call": "auto"}]}),
    ("a member of the name of ours is kept aside", {"role": "user", "content": "x", "_x": {"is_error": True}}, {"role": "user", "content": "x"}, {"native": [{"_x": {"is_error": True}}]}),
    ("members that nobody knows travel along", assistant(prefix=False, annotations=[]), assistant(prefix=False, annotations=[]), {}),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "turn", "message", "extra"), LOADED, ids=[row[0] for row in LOADED])
def test_a_message(sentence, turn, message, extra):
    (loaded,) = conversation(turn)
    assert plain(loaded) == message
    held = dict(private(loaded))
    if sentence == "thinking parts are no content":
        assert held.pop("thinking", None) is None, "one block of text alone needs no place of its own"
    assert held == extra


CALLS = [
    ("arguments are kept to the byte", {"arguments": '{ "a" :1.0 }'}, {}, '{ "a" :1.0 }', {}),
    ("broken arguments are kept to the byte", {"arguments": '{"a": '}, {}, '{"a": ', {}),
    ("empty arguments are a string as well", {"arguments": ""}, {}, "", {}),
    ("an object is written compactly, in its order and without escapes", {"arguments": {"b": "ü", "a": [1.0, 12345678901234567890]}}, {}, '{"b":"ü","a":[1.0,12345678901234567890]}', {}),
    ("a list is written as well", {"arguments": [1, 2]}, {}, "[1,2]", {}),
    ("an object for what was no JSON is unwrapped", {"arguments": {"INVALID_JSON": "{bad"}}, {}, "{bad", {}),
    ("only that object is unwrapped", {"arguments": {"INVALID_JSON": "{bad", "b": 1}}, {}, '{"INVALID_JSON":"{bad","b":1}', {}),
    ("null arguments are none", {"arguments": None}, {}, "{}", {}),
    ("missing arguments are none", {}, {}, "{}", {}),
    ("a missing type is function", {"arguments": "{}"}, {"type": None}, "{}", {}),
    ("a missing id is made", {"arguments": "{}"}, {"id": ""}, "{}", {"synthetic_id": True}),
    ("a signature is carried", {"arguments": "{}"}, {"extra_content": {"google": {"thought_signature": "s"}}}, "{}", {"signature": "s"}),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "function", "more", "arguments", "extra"), CALLS, ids=[row[0] for row in CALLS])
def test_a_call(sentence, function, more, arguments, extra):
    (message,) = conversation(call(function, **more))
    (loaded,) = message["tool_calls"]
    assert loaded["function"] == {"name": "f", "arguments": arguments}
    assert (loaded["type"], loaded["id"]) == ("function", "call_1" if "synthetic_id" in extra else "c1")
    assert private(loaded) == extra


def test_a_custom_call_stays_one():
    made = {"id": "c1", "type": "custom", "custom": {"name": "f", "input": "raw"}}
    assert conversation(assistant(tool_calls=[made]))[0]["tool_calls"] == [made]
    assert conversation(assistant(tool_calls=[{**made, "type": None}]))[0]["tool_calls"] == [made]


def test_an_empty_custom_member_beside_a_function_is_absent():
    both = {**CALL, "custom": {"input": "", "name": ""}}
    assert conversation(assistant(tool_calls=[both]))[0]["tool_calls"] == [CALL]


def test_the_legacy_call_and_its_result_are_linked():
    calling = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    answer = {"role": "function", "name": "f", "content": "1"}
    first, result, second, other = conversation(calling, answer, calling, answer)
    assert [message["tool_calls"][0]["id"] for message in (first, second)] == ["call_1", "call_2"]
    assert private(first["tool_calls"][0]) == {"synthetic_id": True, "from": "function_call"}
    assert [plain(m) for m in (result, other)] == [
        {"role": "tool", "name": "f", "content": "1", "tool_call_id": ident} for ident in ("call_1", "call_2")
    ]
    assert private(result) == {"synthetic_id": True, "from": "function"}


def test_a_legacy_call_that_repeats_a_call_is_not_made_twice():
    (message,) = conversation(assistant(tool_calls=[CALL], function_call=CALL["function"]))
    assert message["tool_calls"] == [CALL]


def unnamed(*names):
    return assistant(tool_calls=[{"function": {"name": name, "arguments": "{}"}} for name in names])


def result(name=None, ident=None):
    return {
        "role": "tool",
        "content": "1",
        **({"name": name} if name else {}),
        **({"tool_call_id": ident} if ident else {}),
    }


LINKS = [
    ("made ids run over the whole conversation", [unnamed("f"), result(), unnamed("f"), result()], ["call_1", "call_1", "call_2", "call_2"]),
    ("results of a name answer its calls in order", [unnamed("f", "g", "f"), result("g"), result("f"), result("f")], ["call_1", "call_2", "call_3", "call_2", "call_1", "call_3"]),
    ("results without a name answer by position", [unnamed("f", "g"), result(), result()], ["call_1", "call_2", "call_1", "call_2"]),
    ("a result with an id takes its call away", [unnamed("f", "f"), result(ident="call_1"), result("f")], ["call_1", "call_2", "call_1", "call_2"]),
    ("a result behind all answers is an orphan", [unnamed("f"), result(), result(), result()], ["call_1", "call_1", "orphan_1", "orphan_2"]),
    ("an orphan keeps its id", [result(ident="zz")], ["zz"]),
    ("an id that is a number is its digits", [assistant(tool_calls=[{**CALL, "id": 7}]), {"role": "tool", "content": "1", "tool_call_id": 7}], ["7", "7"]),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "turns", "ids"), LINKS, ids=[row[0] for row in LINKS])
def test_links(sentence, turns, ids):
    seen = []
    for message in conversation(*turns):
        seen += [made["id"] for made in message.get("tool_calls", [])]
        seen += [message["tool_call_id"]] if message["role"] == "tool" else []
    assert seen == ids


RESULTS = [
    ("text that looks like JSON stays text", '{"a": 1}', '{"a": 1}', {}),
    ("an object is JSON", {"a": "ü"}, '{"a":"ü"}', {"json": True}),
    ("a list of numbers is JSON", [1, 2], "[1,2]", {"json": True}),
    ("a list of objects that are no parts is JSON", [{"temperature": 3}], '[{"temperature":3}]', {"json": True}),
    ("a number is JSON", 0, "0", {"json": True}),
    ("one text is text", [{"type": "text", "text": "x"}], "x", {"content_list": True}),
    ("null stays null", None, None, {}),
]


@pytest.mark.parametrize(("sentence", "logged", "content", "extra"), RESULTS, ids=[row[0] for row in RESULTS])
def test_a_result(sentence, logged, content, extra):
    (message,) = conversation({"role": "tool", "tool_call_id": "c1", "content": logged})
    assert plain(message) == {"role": "tool", "tool_call_id": "c1", "content": content}
    assert private(message) == extra


def test_an_error_prefix_stays_in_the_text():
    (message,) = conversation({"role": "tool", "tool_call_id": "c1", "content": "ERROR: no"})
    assert message["content"] == "ERROR: no"
    assert private(message) == {}


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        ("x", "is no object"),
        (None, "is no object"),
        ({}, "has no role"),
        ({"role": ""}, "has no role"),
        ({"role": 5}, "has no role"),
        ({"role": "user", "content": 5}, "has content that is a number"),
        ({"role": "user", "content": {}}, "has content that is an object"),
    ],
)
def test_what_is_no_turn(turn, words):
    with pytest.raises(TurnError, match=words):
        load(turn, START)


TOOLS = [
    ("a function tool stays", [{"type": "function", "function": {"name": "f"}, "cache_control": {}}], [{"type": "function", "function": {"name": "f"}, "cache_control": {}}], []),
    ("a missing type is function", [{"function": {"name": "f"}}], [{"type": "function", "function": {"name": "f"}}], []),
    ("a legacy function is wrapped", [{"name": "f", "parameters": {}}], [{"type": "function", "function": {"name": "f", "parameters": {}}}], []),
    ("a custom tool stays", [{"type": "custom", "custom": {"name": "f"}}], [{"type": "custom", "custom": {"name": "f"}}], []),
    ("a vendor's own tool is hosted", [{"type": "openrouter:advisor", "parameters": {}}], [], [{"type": "openrouter:advisor", "parameters": {}}]),
    ("what is no tool is kept as logged", [5], [], [5]),
    ("null is no tools", None, [], []),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "logged", "functions", "hosted"), TOOLS, ids=[row[0] for row in TOOLS])
def test_tools(sentence, logged, functions, hosted):
    assert tools(logged) == (functions, hosted)


VARIANTS = [
    (assistant(tool_calls=[CALL], reasoning_content="r"), []),
    (assistant(tool_calls=[{"function": {"name": "f", "arguments": {}}}]), ["tool calls without type", "tool calls without id", "object arguments"]),
    (call({}), ["missing arguments"]),
    (assistant(reasoning="r", reasoning_details=[{"type": "reasoning.text"}]), ["reasoning", "reasoning_details"]),
    (assistant(reasoning="", reasoning_details=[], audio=None, function_call=None), []),
    (assistant(thinking="t", thinking_blocks=[{}]), ["thinking", "thinking_blocks"]),
    ({"role": "assistant", "content": [{"type": "thinking", "thinking": []}]}, ["thinking parts"]),
    (assistant(function_call={"name": "f", "arguments": ""}), ["legacy function_call"]),
    (assistant(function_call={"name": "", "arguments": ""}, audio={"id": ""}), ["empty function_call", "empty audio"]),
    ({"role": "function", "name": "f", "content": "1"}, ["legacy function role"]),
    (assistant(tool_calls=[{"id": "c", "type": "custom", "custom": {"name": "f", "input": ""}}]), ["custom tool calls"]),
    (result(), ["tool results without tool_call_id"]),
    ({"role": "tool", "tool_call_id": "c", "content": {}}, ["tool results as JSON"]),
    ({"role": "user", "content": [{"type": "document_url"}, {"type": "video_url"}]}, ["document_url parts", "video_url parts"]),
]  # fmt: skip


@pytest.mark.parametrize(("message", "words"), VARIANTS, ids=[", ".join(row[1]) or "none" for row in VARIANTS])
def test_variants(message, words):
    assert list(variants(message)) == words


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (None, "there is no response"),
        ([], "response is a list"),
        ({"error": {"code": 429}}, "the response is an error body"),
        ({}, "the response has no choices"),
        ({"choices": []}, "the response has no choices"),
        ({"choices": {}}, "response.choices is an object"),
        ({"choices": [True]}, "response.choices[0] is a boolean"),
        ({"choices": [{"message": "x"}]}, "response.choices[0].message is a string"),
        ({"choices": [{}]}, "the first choice has no message"),
    ],
)
def test_a_body_without_a_reply_says_why(body, problem):
    assert reply(body).message is None
    assert reply(body).problem == problem


def test_a_reply_stays_as_logged():
    message = {"role": "assistant", "content": None, "reasoning": "r", "tool_calls": [{"function": {"arguments": {}}}]}
    found = reply({"choices": [{"message": message, "finish_reason": "function_call"}, {}]})
    assert (found.message, found.choices, found.finish_reason) == (message, 2, "function_call")
    assert (found.problem, found.wrong) == (None, None)
    assert list(found.message) == list(message)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
WORDS = st.sampled_from(
    "role content tool_calls function_call function custom id type name arguments input text thinking reasoning summary "
    "reasoning_details reasoning_content thinking_blocks data signature index choices message delta finish_reason error "
    "audio image_url document_url assistant tool user INVALID_JSON usage object tool_call_id _x".split()
)
JSON = st.recursive(
    SCALARS | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=5),
    max_leaves=15,
)
OBJECTS = st.dictionaries(WORDS, JSON, max_size=6)
TURNS = st.builds(
    lambda role, turn: {**turn, "role": role}, st.sampled_from(["assistant", "tool", "function", "user"]), OBJECTS
)
BODIES = st.fixed_dictionaries(
    {},
    optional={"error": JSON, "choices": st.lists(st.dictionaries(WORDS, JSON, max_size=3) | JSON, max_size=2) | JSON},
)


ANSWER = {"role": "assistant", "content": "x"}
REPLIES = [
    ("without a role it is the assistant's", {"choices": [{"message": {"content": "x"}}]}, ANSWER, 1, None),
    ("a null role is none", {"choices": [{"message": {"content": "x", "role": None}}]}, ANSWER, 1, None),
    ("a role of another type", {"choices": [{"message": {"role": 5, "content": "x"}}]}, ANSWER, 1, ("response.choices[0].message.role", "a number")),
    ("a later choice of another type", {"choices": [{"message": ANSWER}, 5]}, ANSWER, 2, None),
    ("an error of nothing", {"error": {}, "choices": [{"message": ANSWER}]}, ANSWER, 1, None),
    ("an error of zero", {"error": -0.0, "choices": [{"message": ANSWER}]}, ANSWER, 1, None),
    ("an error beside choices", {"error": {"code": 1}, "choices": [{"message": ANSWER}]}, None, 0, None),
    ("an error of white space", {"error": " ", "choices": [{"message": ANSWER}]}, None, 0, None),
    ("a null choice", {"choices": [None, 1]}, None, 2, ("response.choices[0]", "null")),
    ("NaN beside the message", {"choices": [{"logprobs": float("nan"), "message": ANSWER}]}, ANSWER, 1, None),
    ("NaN in the message", {"choices": [{"message": {"n": float("nan")}}]}, None, 1, ("response.choices[0].message", "an object with the number NaN")),
    ("infinity in the message", {"choices": [{"message": {"n": [float("inf")]}}]}, None, 1, ("response.choices[0].message", "an object with the number Infinity")),
    ("a response of another type", "late", None, 0, ("response", "a string")),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "body", "message", "choices", "wrong"), REPLIES, ids=[row[0] for row in REPLIES])
def test_a_reply(sentence, body, message, choices, wrong):
    found = reply(body)
    assert (found.message, found.choices, found.wrong) == (message, choices, wrong)
    if wrong and message is None:
        assert found.problem == " is ".join(wrong)


@settings(deadline=None, derandomize=True)
@given(BODIES | JSON)
def test_a_body_has_a_reply_or_says_why_not(body):
    before = copy.deepcopy(body)
    found = reply(body)
    assert (found.message is None) is bool(found.problem)
    assert found.message is None or isinstance(found.message["role"], str)
    assert repr(body) == repr(before)


@settings(deadline=None, derandomize=True)
@given(JSON | TURNS, st.sampled_from([START, START._replace(open=(("c1", "f"), ("c2", None)))]))
def test_any_turn_is_loaded_or_refused_and_not_changed(turn, state):
    before = copy.deepcopy(turn)
    list(variants(turn))
    tools(turn)
    openai_chat.system(turn)
    try:
        loaded = load(turn, state)
    except TurnError:
        pass
    else:
        assert repr(loaded) == repr(load(copy.deepcopy(turn), state))
        (message,) = loaded.messages
        assert isinstance(message.get("content"), str | list | None)
        for made in message.get("tool_calls", []) if message["role"] == "assistant" else []:
            assert isinstance(made["id"], str)
            assert isinstance(made.get("function", {}).get("arguments", ""), str) or made["type"] == "custom"
        hash(loaded.state)
        assert repr(load(message, loaded.state).messages) == repr(loaded.messages) or message["role"] == "tool"
    assert repr(turn) == repr(before)


@settings(deadline=None, derandomize=True)
@given(
    st.lists(st.fixed_dictionaries({"choices": st.lists(st.fixed_dictionaries({"delta": OBJECTS}))}) | JSON, max_size=4)
)
def test_any_events_are_assembled_and_not_changed(events):
    before = copy.deepcopy(events)
    stream = assemble(events)
    assert isinstance(stream.body, dict)
    json.dumps(stream.body)
    reply(stream.body)
    assert repr(events) == repr(before)


@settings(deadline=None, derandomize=True)
@given(JSON.filter(lambda value: isinstance(value, dict)) | BODIES)
def test_marks_hold_for_any_object(body):
    for mark in (*openai_chat.marks.request, *openai_chat.marks.response, *openai_chat.marks.event):
        assert mark.test(body) in (True, False)


# Streams


def chunk(*deltas, finish=None, **more):
    choices = [{"index": index, "delta": delta, "finish_reason": finish} for index, delta in enumerate(deltas)]
    return {"object": "chat.completion.chunk", "id": "s1", "choices": choices, **more}


def piece(index=None, ident=None, name=None, arguments=None, **more):
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    given = {key: value for key, value in (("index", index), ("id", ident)) if value is not None}
    return {**given, **more, "function": function}


def streamed(*deltas):
    """The message of chunks with one delta each, and whether it is whole."""
    stream = assemble([*map(chunk, deltas), chunk({}, finish="stop")])
    assert stream.whole
    return reply(stream.body).message


def streamed_calls(*deltas):
    made = streamed(*({"tool_calls": pieces} for pieces in deltas))["tool_calls"]
    return [(each.get("id"), each["function"].get("name"), each["function"].get("arguments")) for each in made]


CALL_STREAMS = [
    ("arguments grow under an index", [[piece(0, "c1", "f", "")], [piece(0, arguments='{"a"')], [piece(0, arguments=":1}")]], [("c1", "f", '{"a":1}')]),
    ("calls side by side", [[piece(0, "c1", "f", "{"), piece(1, "c2", "g", "{")], [piece(1, arguments="}"), piece(0, arguments="}")]], [("c1", "f", "{}"), ("c2", "g", "{}")]),
    ("a repeated id and name are set once", [[piece(0, "c1", "f", "{")], [piece(0, "c1", "f", "}")]], [("c1", "f", "{}")]),
    ("empty ids and names change nothing", [[piece(0, "c1", "f", "{")], [piece(0, "", "", "}")]], [("c1", "f", "{}")]),
    ("another id under the same index is another call", [[piece(0, "c1", "f", "{}")], [piece(0, "c2", "f", "{}")]], [("c1", "f", "{}"), ("c2", "f", "{}")]),
    ("two whole calls in one delta with one index", [[piece(0, "c1", "f", "{}"), piece(0, "c2", "g", "{}")]], [("c1", "f", "{}"), ("c2", "g", "{}")]),
    ("without an index the place counts", [[piece(None, "c1", "f", "{"), piece(None, "c2", "g", "{")], [piece(arguments="}"), piece(arguments="}")]], [("c1", "f", "{}"), ("c2", "g", "{}")]),
    ("whole calls without index and id", [[piece(name="f", arguments="{}")], [piece(name="g", arguments="{}")]], [(None, "f", "{}"), (None, "g", "{}")]),
    ("an index that comes late stands in its place", [[piece(1, "c2", "g", "{}")], [piece(0, "c1", "f", "{}")]], [("c1", "f", "{}"), ("c2", "g", "{}")]),
    ("a name alone starts no other call", [[piece(0, "c1", "f", "")], [piece(0, name="g", arguments="{}")]], [("c1", "g", "{}")]),
    ("object arguments stay an object", [[piece(0, "c1", "f", {"a": 1})]], [("c1", "f", {"a": 1})]),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "deltas", "calls"), CALL_STREAMS, ids=[row[0] for row in CALL_STREAMS])
def test_streamed_calls(sentence, deltas, calls):
    assert streamed_calls(*deltas) == calls


def detail(index, **more):
    return {"reasoning_details": [{"type": "reasoning.text", "index": index, **more}]}


MESSAGE_STREAMS = [
    ("text is joined", [{"role": "assistant", "content": ""}, {"content": "a"}, {"content": "b"}, {"content": None}], {"content": "ab"}),
    ("refusals are joined", [{"refusal": "n"}, {"refusal": "o"}], {"content": None, "refusal": "no"}),
    ("reasoning keeps its spelling", [{"reasoning": "a"}, {"reasoning": "b"}, {"content": "x"}], {"content": "x", "reasoning": "ab"}),
    ("reasoning_content keeps its spelling", [{"reasoning_content": "a"}, {"reasoning_content": "b"}], {"content": None, "reasoning_content": "ab"}),
    ("reasoning_details grow by index", [detail(0, text="a"), detail(1, text="c"), detail(0, text="b", signature=""), detail(0, signature="s")], {"content": None, "reasoning_details": [{"type": "reasoning.text", "text": "ab", "signature": "s"}, {"type": "reasoning.text", "text": "c"}]}),
    ("another type under the same index is another detail", [detail(0, text="a"), {"reasoning_details": [{"type": "reasoning.encrypted", "index": 0, "data": "d"}]}], {"content": None, "reasoning_details": [{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.encrypted", "data": "d"}]}),
    ("thinking parts are joined", [{"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}]}, {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "b"}]}]}, {"content": "x"}, {"content": "y"}], {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "ab"}]}, {"type": "text", "text": "xy"}]}),
    ("the legacy call grows", [{"function_call": {"name": "f", "arguments": ""}}, {"function_call": {"arguments": "{}"}}], {"content": None, "function_call": {"name": "f", "arguments": "{}"}}),
    ("members that nobody knows are kept", [{"executed_tools": [1]}, {"executed_tools": [2], "channel": "final"}], {"content": None, "executed_tools": [1, 2], "channel": "final"}),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "deltas", "message"), MESSAGE_STREAMS, ids=[row[0] for row in MESSAGE_STREAMS])
def test_a_streamed_message(sentence, deltas, message):
    assert streamed(*deltas) == {"role": "assistant", **message}


def test_several_choices_stand_in_their_order():
    body = assemble([chunk({"content": "a"}, {"content": "b"}), chunk({"content": "c"}, {"content": "d"})]).body
    assert [choice["message"]["content"] for choice in body["choices"]] == ["ac", "bd"]
    assert reply(body).choices == 2


def test_a_stream_without_a_finish_reason_is_cut():
    assert not assemble([chunk({"content": "a"})]).whole
    assert not assemble([]).whole


def test_usage_without_choices_ends_a_stream_and_is_no_choice():
    stream = assemble([chunk({"content": "a"}), {"choices": [], "usage": {"total_tokens": 3}}])
    assert stream.whole
    assert stream.body["usage"] == {"total_tokens": 3}
    assert reply(stream.body).message == {"role": "assistant", "content": "a"}


def test_a_first_chunk_without_choices_and_usage_ends_nothing():
    assert not assemble([{"choices": [], "prompt_filter_results": []}, chunk({"content": "a"})]).whole


def test_a_chunk_behind_the_finish_reason_does_not_take_it_away():
    stream = assemble([chunk({"content": "a"}, finish="length"), chunk({"content": ""}), chunk({}, finish="")])
    assert (stream.whole, reply(stream.body).finish_reason) == (True, "length")


def test_an_error_event_gives_an_error_body():
    stream = assemble([chunk({"content": "a"}), {"error": {"code": 502, "message": "x"}, "choices": []}])
    assert reply(stream.body).problem == "the response is an error body"
    assert stream.body["choices"][0]["message"]["content"] == "a", "what came before it is kept"


def test_a_whole_message_among_the_chunks_is_read():
    body = assemble([{"choices": [{"message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}]}]).body
    assert reply(body).message == {"role": "assistant", "content": "x"}
