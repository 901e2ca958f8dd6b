"""The provider-neutral array as conversations, and back."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.chat import PRIVATE, Private
from chatsquash.formats.base import TurnError
from chatsquash.formats.clients.portable import conversations, dump, fits
from chatsquash.model import Conversation
from tests.formats.kinds import KINDS, ODD, PNG, VALUES, call, image, private, result, said, settled, system, text, user
from tests.formats.odd import CONVERSATIONS


def told(role, content=None, **more):
    return {"role": role, "content": content, **more}


def called(*calls, content=None):
    return told("assistant", content, toolCalls=list(calls))


def answered(*results, content=None):
    return told("user", content, toolResults=list(results))


def use(ident="call_abc", arguments=None, name="weather"):
    return {"id": ident, "name": name, "arguments": {"city": "Paris"} if arguments is None else arguments}


def gave(value="sunny, 21 degrees", ident="call_abc", name="weather"):
    return {"id": ident, "name": name, "result": value}


def made(number, **more):
    return private(call(f"call_{number}", **more), synthetic_id=True)


def answer(content="ok", ident="call_abc", **held):
    message = result(content, ident, name="weather")
    return private(message, **held) if held else message


def load(*entries):
    return conversations([list(entries)])[0].messages


def plain(value):
    """With private slots that are compared."""
    return json.loads(json.dumps(value))


READ = [
    ([told("user", "hi")], [user("hi")], "text is text"),
    ([told("system", "Be brief."), told("assistant")], [system(), said(None)], "null stays null"),
    ([{"role": "user"}], [user(None)], "no content is null"),
    ([called(use())], [said(None, call())], "arguments become text"),
    ([called(use(arguments="{bad"))], [said(None, call(arguments="{bad"))], "malformed ones stay the text that OpenAF leaves them"),
    ([called(use(arguments={"INVALID_JSON": "{bad"}))], [said(None, call(arguments="{bad"))], "ours is what it was"),
    ([called({"id": "call_abc", "name": "weather"})], [said(None, call(arguments="{}"))], "no arguments are none"),
    ([called(use(), content="I look.")], [said("I look.", call())], "text beside calls"),
    ([called(use()), answered(gave())], [said(None, call()), answer("sunny, 21 degrees")], "a result is a message of its own"),
    ([answered(gave({"t": 21}))], [answer('{"t":21}', json=True)], "an object is JSON text that says so"),
    ([answered(gave([1]), gave(0), gave(None))], [answer("[1]", json=True), answer("0", json=True), answer("")], "so is any other JSON; null is no text"),
    ([answered(gave('{"t": 21}'))], [answer('{"t": 21}')], "text that looks like JSON stays text"),
    ([answered(gave("ERROR: no"))], [answer("ERROR: no")], "nothing is stripped from a text that others wrote"),
    ([answered(gave(), content="Thanks.")], [answer("sunny, 21 degrees"), private(user("Thanks."), same_turn=True)], "text beside results follows them"),
    ([answered(gave("a", "x", ""))], [result("a", "x")], "a result whose tool is not known has no name"),
    # Ids
    ([called(use(""), use("", name="traffic")), answered(gave("jam", "", "traffic"), gave("sun", ""))],
     [said(None, made(1), made(2, name="traffic")), private(result("jam", "call_2", name="traffic"), synthetic_id=True), answer("sun", "call_1", synthetic_id=True)], "results without ids answer by name"),
    ([called(use("")), answered(gave("a", "", ""))], [said(None, made(1)), private(result("a", "call_1"), synthetic_id=True)], "else by position"),
    ([called(use("a"), use("b")), answered(gave("x", ""), gave("y", "a"))], [said(None, call("a"), call("b")), answer("x", "b", synthetic_id=True), answer("y", "a")], "never that which another one answers"),
    ([called(use("")), answered(gave("a", "")), called(use("")), answered(gave("b", ""))],
     [said(None, made(1)), answer("a", "call_1", synthetic_id=True), said(None, made(2)), answer("b", "call_2", synthetic_id=True)], "numbers run over the whole conversation"),
    ([called(use("tc_1_0")), answered(gave("a", "tc_2_0"))], [said(None, call("tc_1_0")), answer("a", "tc_1_0", synthetic_id=True, native=[{"id": "tc_2_0"}])], "ids that OpenAF made up for both do not part them"),
    ([called(use("a")), answered(gave("a", "tc_2_0", "traffic"))], [said(None, call("a")), result("a", "tc_2_0", name="traffic")], "unless it is another tool's"),
    ([answered(gave("a", ""))], [answer("a", "orphan_1", synthetic_id=True)], "a result that answers nothing"),
    ([called(use("")), called(use("", name="traffic")), answered(gave("a", ""), gave("b", "", "traffic"))],
     [said(None, made(1)), said(None, made(2, name="traffic")), answer("a", "call_1", synthetic_id=True), private(result("b", "call_2", name="traffic"), synthetic_id=True)], "calls made together, one entry each, are all open"),
    # What has no place
    ([told("user", "hi", time=1)], [private(user("hi"), native=[{"time": 1}])], "members that nobody knows are kept aside"),
    ([called({**use(), "index": 0})], [said(None, private(call(), native=[{"index": 0}]))], "those of a call, too"),
    ([answered({**gave("a"), "ms": 3})], [answer("a", native=[{"ms": 3}])], "and of a result"),
]  # fmt: skip


@pytest.mark.parametrize("entries, expected, sentence", READ, ids=[row[2] for row in READ])
def test_reading(entries, expected, sentence):
    before = copy.deepcopy(entries)
    assert plain(load(*entries)) == plain(expected), sentence
    assert entries == before


BROKEN = [
    ({"role": "user"}, r"^is an object, not a list of entries$"),
    (["hi"], r"^\[0\] is no object$"),
    ([told("user", "a"), {"content": "b"}], r"^\[1\] has no role$"),
    ([told("tool", "a")], r'^\[0\] has the role "tool", which is none of system, user, assistant$'),
    ([told(["user"], "a")], r'^\[0\] has the role \["user"\], which'),
    ([told("user", [text("a")])], r"^\[0\] has a content that is a list, not text$"),
    ([told("user", toolCalls=[use()])], r"^\[0\] has toolCalls, which only assistants have$"),
    ([told("assistant", toolResults=[gave()])], r"^\[0\] has toolResults, which only users have$"),
    ([told("assistant", toolCalls={"a": 1})], r"^\[0\] has toolCalls that are an object, not a list$"),
    ([told("user", toolResults=[gave(), 5])], r"^\[0\] has toolResults\[1\] that is no object$"),
]


@pytest.mark.parametrize("array, problem", BROKEN)
def test_what_is_broken_is_told_with_its_place(array, problem):
    with pytest.raises(TurnError, match=problem):
        conversations([array])


def test_the_place_says_which_of_several_arrays():
    assert [each.messages for each in conversations([[told("user", "a")], []])] == [[user("a")], []]
    with pytest.raises(TurnError, match=r"^conversation 2: \[0\] has no role$"):
        conversations([[], [{}]])


FITTING = [
    ([[called(use())]], True, "calls with arguments tell"),
    ([[answered(gave())]], True, "so do results"),
    ([[told("user", "a")], [answered(gave())]], True, "in one of the conversations of a file"),
    ([[told("user", "a")]], False, "without any these are plain messages"),
    ([[told("assistant", toolCalls=[{"toolName": "f", "args": {}}])]], False, "calls of others"),
    ([[called(use())], {"role": "user"}], False, "a line that is no array"),
    ([called(use())], False, "a message alone"),
    ([[called(use()), told("tool", "a")]], False, "roles that it does not have"),
    ([[]], False, "nothing"),
    ([], False, "an empty file"),
    ([[5], None, "a"], False, "no messages at all"),
]


@pytest.mark.parametrize("objects, expected, sentence", FITTING, ids=[row[2] for row in FITTING])
def test_recognising(objects, expected, sentence):
    assert bool(fits(objects)) is expected, sentence


WRITTEN = [
    ([system(), user("a"), said("b")], [told("system", "Be brief."), told("user", "a"), told("assistant", "b")], "text is text"),
    ([{"role": "developer", "content": "a"}], [told("system", "a")], "a developer is the system"),
    ([{"role": "critic", "content": "a"}, user("b")], [told("user", "b")], "other roles have no place"),
    ([said("I look.", call())], [called(use(), content="I look.")], "arguments are an object"),
    ([said(None, call(arguments="{bad"))], [called(use(arguments={"INVALID_JSON": "{bad"}))], "malformed ones, too, where OpenAF leaves a text"),
    ([said(None, call(arguments="[1]"))], [called(use(arguments={"INVALID_JSON": "[1]"}))], "and those that are no object"),
    ([said(None, call(arguments=""))], [called(use(arguments={}))], "no arguments are an empty object"),
    ([said(None, call(arguments='{"INVALID_JSON":"a"}'))], [called(use(arguments={"INVALID_JSON": '{"INVALID_JSON":"a"}'}))], "what looks like ours is told from it"),
    ([said(None, {"id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls"}})], [called({"id": "c", "name": "sh", "arguments": {"input": "ls"}})], "the input of a custom tool is an argument"),
    ([said(None, call(), call("b")), result("x"), result("y", "b")], [called(use(), use("b")), answered(gave("x"), gave("y", "b"))], "results in a row are on one entry, named after their calls"),
    ([said(None, call()), result("x"), private(user("a"), same_turn=True)], [called(use()), answered(gave("x")), told("user", "a")], "content is never on an entry with results, whose importers drop it"),
    ([said(None, call()), result("x"), said(None, call("b")), result("y", "b")], [called(use()), answered(gave("x")), called(use("b")), answered(gave("y", "b"))], "results of different turns stay apart"),
    ([result("x", "gone")], [answered(gave("x", "gone", ""))], "a result that answers nothing keeps its id"),
    ([result("x", "gone", name="f")], [answered(gave("x", "gone", "f"))], "and its name"),
    ([private(result('{"t":21}'), json=True)], [answered(gave({"t": 21}, name=""))], "JSON is the object that it was"),
    ([private(result("[21]"), json=True)], [answered(gave("[21]", name=""))], "a list is text, which importers drop"),
    ([result('{"t":21}')], [answered(gave('{"t":21}', name=""))], "text stays text"),
    ([private(result('{"t": 1e400}'), json=True)], [answered(gave('{"t": 1e400}', name=""))], "so does what would not come back the same"),
    ([result("")], [answered(gave("", name=""))], "an empty result is an empty text, not quotes"),
    ([result(None)], [answered(gave("", name=""))], "so is none"),
    ([private(result("no"), is_error=True)], [answered(gave("ERROR: no", name=""))], "an error is told in the text"),
    ([private(result("ERROR: no"), is_error=True)], [answered(gave("ERROR: no", name=""))], "once"),
    ([private(result('{"a":1}'), is_error=True, json=True)], [answered(gave('ERROR: {"a":1}', name=""))], "also before JSON"),
    ([user([text("a"), image(), text("b")])], [told("user", "a\nb")], "of parts the texts"),
    ([result([text("a"), image()])], [answered(gave("a", name=""))], "of a result, too"),
    ([said("a", reasoning_content="hm")], [told("assistant", "a")], "thoughts are no visible text"),
    ([said(None, refusal="no")], [told("assistant", "no")], "a refusal is text"),
    ([said([{"type": "refusal", "refusal": "no"}])], [told("assistant", "no")], "as a part, too"),
    ([private(said("a", call()), after=["b", "c"])], [called(use(), content="a\n\nb\n\nc")], "what is said behind calls is kept apart from what stands before"),
    ([private(said(None, call()), after=["b"])], [called(use(), content="b")], "or is all that is said"),
    ([said(None, private(call("call_1"), synthetic_id=True)), result("x", "call_1")], [called(use("call_1")), answered(gave("x", "call_1"))], "ids that were made up are written"),
    ([said(None, {**call(), "id": None}, call("call_1")), {"role": "tool", "content": "x"}], [called(use("call_2"), use("call_1")), answered(gave("x", "call_2"))], "ids that are missing are made up and linked"),
    ([], [], "nothing is an empty array"),
]  # fmt: skip


@pytest.mark.parametrize("messages, expected, sentence", WRITTEN, ids=[row[2] for row in WRITTEN])
def test_writing(messages, expected, sentence):
    assert json.dumps(dump(Conversation(messages, [])), sort_keys=True) == json.dumps(expected, sort_keys=True), (
        sentence
    )


DROPPED = {
    "developer role": "system",
    "audio": "no slot",
    "pdf": "no slot",
    "image data": "no slot",
    "image between text": "no slot",
    "image url": "no slot",
    "result image": "no slot",
    "text part bounds": "joined",
    "result parts": "joined",
    "args raw spacing": "parsed",
    "text after call": "its place",
    "result json list": "the mark",
    "is_error": "text",
    "reasoning": "no slot",
    "reasoning+call": "no slot",
    "anthropic signature": "no slot",
    "anthropic redacted": "no slot",
    "openai encrypted": "no slot",
    "gemini call sig": "no slot",
    "refusal": "text",
    "custom tool call": "a function",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_comes_back_but_for_what_has_no_place(kind):
    before = copy.deepcopy(KINDS[kind])
    back = conversations([json.loads(json.dumps(dump(KINDS[kind])))])[0]
    assert KINDS[kind] == before, "the conversation is not changed"
    assert (settled(back.messages) == settled(before.messages)) is (kind not in DROPPED), DROPPED.get(kind)


def has_private(value):
    """Whether anything private is left somewhere."""
    if isinstance(value, dict):
        return isinstance(value, Private) or any(map(has_private, value.values()))
    return isinstance(value, list) and any(map(has_private, value))


def links(array):
    """Ids of calls and of what answers them, in order."""
    calls = [each["id"] for entry in array for each in entry.get("toolCalls", [])]
    return calls, [each["id"] for entry in array for each in entry.get("toolResults", [])]


@given(ODD | CONVERSATIONS)
def test_odd_values_never_stop_it_and_the_rules_hold(conversation):
    before = copy.deepcopy(conversation)
    written = dump(conversation)
    assert conversation == before
    assert not has_private(written)
    array = json.loads(json.dumps(written))
    assert array == written == dump(conversation)
    for entry, following in zip(array, [*array, {}][1:], strict=True):
        assert entry["role"] in ("system", "user", "assistant")
        assert isinstance(entry["content"], str | None)
        assert not (entry["content"] and "toolResults" in entry)
        assert not ("toolResults" in entry and "toolResults" in following), "results in a row are on one entry"
        assert all(isinstance(each["arguments"], dict) for each in entry.get("toolCalls", []))
        assert all(isinstance(each["result"], str | dict) for each in entry.get("toolResults", []))
    assert all(isinstance(ident, str) and ident for found in links(array) for ident in found)
    assert dump(conversations([array])[0]) == array, "what was written is held whole"


def test_an_image_is_no_text():
    assert PNG not in json.dumps(dump(KINDS["image data"]))
    assert PRIVATE not in json.dumps(dump(KINDS["gemini call sig"]))


NAMES = st.sampled_from("role content toolCalls toolResults id name arguments result INVALID_JSON _x".split())
ENTRIES = st.recursive(
    VALUES | st.sampled_from(["user", "assistant", "system", "tc_1_0"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=8,
)
ARRAYS = st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"])}, optional={
    "content": st.none() | ENTRIES, "toolCalls": st.lists(ENTRIES, max_size=3), "toolResults": st.lists(ENTRIES, max_size=3)}))  # fmt: skip


@given(st.lists(ARRAYS | ENTRIES, max_size=3))
def test_whatever_a_file_holds_is_read_or_refused(objects):
    fits(objects)
    before = copy.deepcopy(objects)
    try:
        found = conversations(objects)
    except TurnError:
        return
    assert objects == before
    assert len(found) == len(objects)
    for each in found:
        assert all(message["tool_call_id"] for message in each.messages if message["role"] == "tool")
