"""Which paths are told where two conversations differ."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import chatsquash
from chatsquash.core.blocks import Block, Call, HostedResult, Media, Other, Reasoning, Result, Source, Text, Turn
from chatsquash.core.chat import PRIVATE, Private
from chatsquash.core.model import Branch, Conversation
from chatsquash.formats.base import TurnError
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.translate import conversations, losses, plain
from tests.conftest import cases
from tests.formats.kinds import ODD, VALUES, answers, asks, calling, conversation, gives, says, turn
from tests.formats.odd import CONVERSATIONS

A, B, C, D = asks("a"), says("b"), asks("c"), says("d")
TALK = [A, says(calling()), answers(), says(Reasoning("hm"), "x"), C, D]
CACHED = {"anthropic": {"cache_control": {"type": "ephemeral"}}}
SIGNED = Reasoning("hm", "anthropic", "c2ln")
PICTURE = Media("image", "image/png", "AA==")
CALLED = Media("file", file_id="file_1", provider="anthropic")


@cases("before, after, expected",
    ("nothing", TALK, TALK, []),
    ("a changed text", [A, B], [A, says("x")], ["turns[1].blocks[0].text"]),
    ("a turn that is gone marks none behind it", TALK, TALK[:2] + TALK[3:], ["turns[2]"]),
    ("nor does the first one", TALK, TALK[1:], ["turns[0]"]),
    ("nor do several", TALK, [TALK[0], *TALK[4:]], ["turns[1]", "turns[2]", "turns[3]"]),
    ("one that is gone, others that changed", TALK, [A, says(calling()), says("x"), C, D], ["turns[2]", "turns[3].blocks[0]"]),
    ("all changed and one gone", [turn("system", "s"), A, B, C, D], [asks("A"), says("B"), asks("C"), says("D")], ["turns[0]", *(f"turns[{at}].blocks[0].text" for at in (1, 2, 3, 4))]),
    ("one that is new", [A, B], [A, C, B], ["turns[+1]"]),
    ("one that is new at the end", [A, B], [A, B, C], ["turns[+2]"]),
    ("two that became one", [A, B, D], [A, says("b\n\nd")], ["turns[1].blocks[0].text", "turns[2]"]),
    ("a developer who became the system", [turn("developer", "s"), A, B], [turn("system", "s"), A], ["turns[0].role", "turns[2]"]),
    ("a turn that became one of another", [A, B], [A, asks("b")], ["turns[1].role"]),
    ("the same said twice, once gone", [A, B, A, B], [A, B, A], ["turns[3]"]),
    ("an id", TALK[:3], [A, says(calling("z")), answers(gives(to="z"))], ["turns[1].blocks[0].id", "turns[2].blocks[0].id"]),
    ("but not one that was made up", [A, says(calling("call_1", made_up=True))], [A, says(calling("call_2", made_up=True))], []),
    ("a block that is gone marks none behind it", [says("a", PICTURE, "b")], [says("a", "b")], ["turns[0].blocks[1]"]),
    ("a block that is new", [says("a", "b")], [says("a", PICTURE, "b")], ["turns[0].blocks[+1]"]),
    ("a first block that is new", [A, says()], [A, says(SIGNED, *says().blocks)], ["turns[1].blocks[+0]"]),
    ("a first block where was none", [A, turn("assistant")], [A, says("b")], ["turns[1].blocks[+0]"]),
    ("two texts that became one", [asks("a", "b")], [asks("a\nb")], ["turns[0].blocks[0].text", "turns[0].blocks[1]"]),
    ("a text that stands before a call and stood behind it", [says(calling(), "a")], [says("a", calling())], ["turns[0].blocks[0].place"]),
    ("calls that stand behind all texts", [says("a", calling("x"), "b", calling("y", "{}"), "c")], [says("a", "b", "c", calling("x"), calling("y"))], ["turns[0].blocks[1].place", "turns[0].blocks[3].place", "turns[0].blocks[3].arguments"]),
    ("an image that stands behind a text, while another one is gone", [asks(PICTURE, "a", Media("image", url="https://x.test/b.png"))], [asks("a", PICTURE)], ["turns[0].blocks[0].place", "turns[0].blocks[2]"]),
    ("a file that stands behind a text and got its type", [asks(Media("file", url="https://x.test/a.pdf"), "a", CALLED)], [asks("a", Media("file", "application/pdf", url="https://x.test/a.pdf"))], ["turns[0].blocks[0].place", "turns[0].blocks[2]"]),
    ("a turn that stands elsewhere", [A, says(calling()), asks("c"), answers()], [A, says(calling()), answers(), asks("c")], ["turns[2].place"]),
    ("a signature and its signer", [says(SIGNED)], [says(Reasoning("hm"))], ["turns[0].blocks[0].signer", "turns[0].blocks[0].signature"]),
    ("a text in a result", [answers(gives("a", "b"))], [answers(gives("a", "x"))], ["turns[0].blocks[0].content[1].text"]),
    ("a medium in a result", [answers(gives("a", PICTURE))], [answers(gives("a"))], ["turns[0].blocks[0].content[1]"]),
    ("all of a result", [answers(gives(PICTURE))], [answers(gives(""))], ["turns[0].blocks[0].content[0]"]),
    ("how a call came out", [answers(gives(outcome="failed"))], [answers(gives())], ["turns[0].blocks[0].outcome"]),
    ("that a result was JSON", [answers(gives("{}", json=True))], [answers(gives("{}"))], ["turns[0].blocks[0].json"]),
    ("the name of a result that no call tells", [answers(gives(name="f"))], [answers(gives())], ["turns[0].blocks[0].name"]),
    ("but not one that a call tells", [says(calling()), answers(gives(name="weather"))], [says(calling()), answers()], []),
    ("arguments", [says(calling(arguments='{"a":1}'))], [says(calling(arguments='{"a":2}'))], ["turns[0].blocks[0].arguments"]),
    ("but neither their white space nor their order", [says(calling(arguments='{"a":1,"b":2}'))], [says(calling(arguments='{ "b": 2, "a": 1 }'))], []),
    ("1 is not 1.0", [says(calling(arguments='{"a":1}'))], [says(calling(arguments='{"a":1.0}'))], ["turns[0].blocks[0].arguments"]),
    ("what a custom tool gets is a text", [says(calling(arguments="{}", custom=True))], [says(calling(arguments="{ }", custom=True))], ["turns[0].blocks[0].arguments"]),
    ("1 is not true", [says(HostedResult("a", "f", 1))], [says(HostedResult("a", "f", True))], ["turns[0].blocks[0].value"]),
    ("what only a provider knows of a block", [asks(Text("a", native=CACHED))], [A], ["turns[0].blocks[0].native.anthropic.cache_control"]),
    ("and of a turn", [turn("user", "a", native={"openai": {"name": "Eve"}})], [A], ["turns[0].native.openai.name"]),
    ("each member of what only holds such", [turn("user", "a", native={"openai": {"more": {"id": "m", "odd": [{}]}}})], [A], ["turns[0].native.openai.more.id", "turns[0].native.openai.more.odd"]),
    ("a member of one that is there", [turn("user", "a", native={"openai": {"b": {"c": 1, "d": {"e": 1}}}})], [turn("user", "a", native={"openai": {"b": {"c": 1, "d": {"f": 1}}}})], ["turns[0].native.openai.b.d.e"]),
    ("but not which of two spellings a log had", [asks(Text("a", native={"form": {"openai_chat": {"type": "text"}}}))], [A], []),
    ("but not what is added so", [A], [asks(Text("a", native=CACHED))], []),
    ("a value that one provider has", [says(Other("google", {"a": 1}))], [says(Other("google", {"a": 2}))], ["turns[0].blocks[0].value"]),
    ("a source that became a text", [says("a", Source("https://example.com"))], [says("a", "https://example.com")], ["turns[0].blocks[1]"]),
    ("that a prompt stood beside", [turn("system", "s", instructions=True), A], [turn("system", "s"), A], ["turns[0].instructions"]),
    ("but not that it stands there", [turn("system", "s"), A], [turn("system", "s", instructions=True), A], []),
    ("two prompts that became one", [turn("system", "s"), turn("system", "t"), A], [turn("system", "s", "t"), A], []),
    ("two prompts that became one text", [turn("system", "s"), turn("system", "t"), A], [turn("system", "s\nt"), A], ["turns[0].blocks[0].text", "turns[1].blocks[0]"]),
    ("two prompts that changed places", [turn("system", "s"), turn("system", "i", instructions=True), A], [turn("system", "i", instructions=True), turn("system", "s"), A], ["turns[0].place"]),
    ("two that had two roles", [turn("system", "s"), turn("developer", "t"), A], [turn("system", "s", "t"), A], ["turns[1].role"]),
)  # fmt: skip
def test_differences(before, after, expected):
    assert losses.differences(conversation(*before), conversation(*after)) == expected


def test_a_branch_tools_and_what_a_document_knows_are_compared_too():
    weather = {"type": "function", "function": {"name": "f", "strict": None}, PRIVATE: Private(CACHED)}
    native = {"oumi": {"configuration": {"engine": "VLLM"}, "attachments": []}}
    before = replace(conversation(A, tools=[{"function": {"name": "f"}}, weather], native=native), branch=Branch("a"))
    bare = {"type": "function", "function": {"name": "f"}}
    after = conversation(A, tools=[{"function": {"name": "f"}}, bare], native={"oumi": {"attachments": []}})
    assert losses.differences(before, after) == [
        "branch",
        "native.oumi.configuration",
        "tools[1].native.anthropic.cache_control",
    ]
    assert losses.differences(before, conversation(A))[-2:] == ["tools[0]", "tools[1]"]


def test_messages_that_were_read_from_no_other_format_are_compared_by_their_turns():
    held = [{"role": "user", "content": "a", "n": 1, "name": None}]
    assert losses.differences(Conversation(held, []), conversation(A)) == ["turns[0].native.openai_chat.n"]


def test_a_kind_is_a_path_without_its_numbers():
    paths = ["turns[3].blocks[12].id", "turns[+3]", "turns[0].blocks[+1]", "tools[0]"]
    assert list(map(losses.kind, paths)) == ["turns[].blocks[].id", "turns[+]", "turns[].blocks[+]", "tools[]"]


def test_losses_are_a_list_and_say_apart_what_is_kept_for_us():
    assert losses.Losses(["a"], ["b"]) == ["a"]
    assert losses.Losses(["a"], ["b"]).kept_for_chatsquash == ["b"]
    assert not losses.Losses(kept_for_chatsquash=["b"])


def test_a_long_conversation_is_compared_in_no_time():
    before = [turn for at in range(2000) for turn in (asks(f"a{at}"), says(f"b{at % 7}"))]
    after = [turn for turn in before if turn != asks("a1000")]
    assert losses.differences(conversation(*before), conversation(*after)) == ["turns[2000]"]


def test_nor_does_one_take_long_that_says_the_same_again_and_again():
    before = [turn for _ in range(5000) for turn in (A, says(calling()), answers(), B)]
    after = [turn for turn in before if turn in (A, B)]
    gone = [f"turns[{at}]" for at, turn in enumerate(before) if turn not in (A, B)]
    assert losses.differences(conversation(*before), conversation(*after)) == gone


def test_nor_does_a_turn_of_very_many_blocks():
    before = says(*(f"b{at % 7}" for at in range(20_000)))
    after = says(*before.blocks[:10_000], *before.blocks[10_001:])
    assert losses.differences(conversation(before), conversation(after)) == ["turns[0].blocks[10000]"]


def test_that_parameters_are_an_object_is_nothing_new():
    plain = conversation(A, tools=[{"type": "function", "function": {"name": "f", "parameters": {}}}])
    typed = conversation(A, tools=[{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}])
    listed = {"type": "object", "properties": {}}
    whole = conversation(A, tools=[{"type": "function", "function": {"name": "f", "parameters": listed}}])
    assert losses.differences(plain, typed) == losses.differences(typed, whole) == []
    assert losses.differences(typed, plain) == ["tools[0].function.parameters.type"]


PLAIN, GIVEN = turn("system", "s"), turn("system", "i", instructions=True)


@cases("name, told, lost, kept",
    ("anthropic", [GIVEN, PLAIN, turn("user", Media("image", "image/tiff", "SUkqAAgAAAA=")), turn("system", "t")], ["turns[2]"], ["turns[0].instructions"]),
    ("gemini", [PLAIN, PLAIN, says(Reasoning("", "anthropic", "c2ln")), PLAIN], ["turns[2]"], []),
    ("gemini", [PLAIN, GIVEN, A, PLAIN, D], [], ["turns[1].instructions", "turns[3].role", "turns[3].blocks[0].text"]),
)  # fmt: skip
def test_prompts_that_lead_are_told_from_those_that_moved_up(name, told, lost, kept):
    found = chatsquash.losses(conversation(*told), name)
    assert (found, found.kept_for_chatsquash) == (lost, kept)


def _with_name(value, name):
    """A document whose calls and results have another name."""
    if isinstance(value, dict):
        return {key: _with_name(inner, name) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_name(inner, name) for inner in value]
    return name if value == "weather" else value


@pytest.mark.parametrize("name", [{"a": 1}, 7, ["x"]], ids=["object", "number", "list"])
@pytest.mark.parametrize("form", ["openai_chat", "openai_responses", "anthropic", "gemini", "ollama", "oumi", "clippy"])
def test_the_name_of_a_call_that_is_no_text_is_told(form, name):
    body = chatsquash.dump(conversation(A, says(calling()), answers()), form)
    target = "gemini" if form == "anthropic" else "anthropic"
    found = chatsquash.losses(chatsquash.load(_with_name(body, name), form), target)
    assert [path for path in found if path.startswith("turns[1].blocks[0].native.") and path.endswith(".name")]


ODD_CALLS = [
    ({"id": "c", "type": "function", "function": "f"}, ["function"]),
    ({"id": "c", "type": "function", "function": {"name": "f"}, "custom": {"name": "g", "input": "x"}}, ["custom.name", "custom.input"]),
    ({"id": "c", "type": "custom", "custom": {"name": "g", "input": "x"}, "function": {"name": "f"}}, ["function.name"]),
    ({"id": "c", "type": "custom", "custom": "g", "function": ["f"]}, ["custom", "function"]),
    ({"id": {"a": 1}, "type": "function", "function": {"name": "f"}}, ["id"]),
]  # fmt: skip


@pytest.mark.parametrize("call, paths", ODD_CALLS, ids=[repr(row[0]) for row in ODD_CALLS])
def test_what_is_odd_in_a_call_of_chat_is_told_and_not_written(call, paths):
    body = {
        "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    }
    found = chatsquash.losses(chatsquash.load(body, "openai_chat"), "openai_chat")
    assert found == [f"turns[1].blocks[0].native.openai_chat.{path}" for path in paths]


def test_what_stands_beside_results_that_become_one_turn_is_told():
    def answer(call, of):
        return {"role": "user", "uuid": of, "content": [{"type": "tool_result", "tool_use_id": call, "content": "1"}]}

    calls = [{"type": "tool_use", "id": f"t{at}", "name": "f", "input": {}} for at in range(3)]
    answers_ = [answer("t0", "A"), answer("t1", "B"), answer("t2", "B")]
    told = chatsquash.load({"messages": [{"role": "assistant", "content": calls}, *answers_]}, "anthropic")
    assert turns_of(told)[1].native == {
        "anthropic": {"uuid": "A"},
        "others": {"anthropic": [{"uuid": "B"}, {"uuid": "B"}]},
    }
    assert chatsquash.losses(told, "anthropic") == ["turns[1].native.others.anthropic"]


def test_the_role_of_geminis_system_instruction_stays_and_is_lost_nowhere():
    body = {
        "systemInstruction": {"parts": [{"text": "s"}], "role": "user"},
        "contents": [{"role": "user", "parts": [{"text": "a"}]}],
    }
    told = chatsquash.load(body, "gemini")
    assert chatsquash.dump(told, "gemini") == body
    assert chatsquash.losses(told, "anthropic") == chatsquash.losses(told, "gemini") == []
    other = chatsquash.load({**body, "systemInstruction": {"parts": [{"text": "s"}], "role": "x"}}, "gemini")
    assert chatsquash.losses(other, "anthropic") == ["turns[0].native.google.role"]


# What is known of plain conversations is what is measured by writing them and reading them back


HOLDING = [name for name in conversations.writable_formats() if name != "oumi_history"]
"""The formats that hold a plain conversation; the other has no calls."""
TEXTS = st.text(min_size=1) | st.sampled_from([
    *("<think>a</think>b", "{}", '{"a": 1}', "[1]", "null", "<system>a</system>", " a\n", "a\r\n", "\ud800"),
    *("Tool call execution denied.", "<tool_call>", "ERROR: a"),
])  # fmt: skip
ARGUMENTS = st.sampled_from([
    *("{}", '{ "a" : 1 }', "{bad", '{"a":12345678901234567890123,"b":1.0,"c":1e400}', '{"a":1,"a":2}', '{"a":NaN}'),
    *('{"input":"a"}', '{"output":1}', '{"a":"\\ud800"}', '{"日":"é"}', '{"INVALID_JSON":"a"}', "[1]", ""),
]) | VALUES.filter(lambda value: isinstance(value, dict)).map(json.dumps)  # fmt: skip


@st.composite
def plain_ones(draw: Any) -> Conversation:
    turns = [Turn("system", (Text(draw(TEXTS)),))] if draw(st.booleans()) else []
    turns.append(asks(draw(TEXTS)))
    for number in range(draw(st.integers(0, 4))):
        blocks: list[Block] = [Reasoning(draw(TEXTS))] if draw(st.booleans()) else []
        ids = [f"{draw(st.sampled_from(['call', 'toolu']))}_{number}_{at}" for at in range(draw(st.integers(0, 2)))]
        blocks += [Text(draw(TEXTS))] if draw(st.booleans()) or not ids else []
        named = st.sampled_from(["f", "a.b", "g h", "web_search"])
        calls = [Call(each, draw(named), draw(ARGUMENTS)) for each in ids]
        turns.append(says(*blocks, *calls))
        if ids:
            turns.append(Turn("tool", tuple(_result(draw, each) for each in calls)))
        if not ids or draw(st.booleans()):
            turns.append(asks(draw(TEXTS)))
    return Conversation([], draw(st.lists(TOOLS, max_size=2)), turns=tuple(turns))


def _result(draw: Any, call: Call) -> Result:
    name = draw(st.sampled_from(["", call.name or "", "other"]))
    return Result(call.id, name, content=(Text(draw(TEXTS)),) if draw(st.booleans()) else ())


TOOLS = st.fixed_dictionaries({
    "type": st.just("function"),
    "function": st.fixed_dictionaries(
        {"name": st.sampled_from("fgh")},
        optional={"description": TEXTS, "strict": st.booleans(), "parameters": st.just({"type": "object"}) | VALUES},
    ),
})  # fmt: skip


@pytest.mark.parametrize("name", conversations.writable_formats())
@given(told=plain_ones() | CONVERSATIONS | ODD)
def test_what_is_known_is_what_is_measured(name, told):
    form = conversations.named_format(name)
    try:
        document = form.dump(told)
    except TurnError:
        return
    known, measured = (
        conversations.losses_of_dump([told], document, name),
        conversations.measured_losses([told], document, name),
    )
    assert known == measured
    assert known[0].kept_for_chatsquash == measured[0].kept_for_chatsquash


USUAL = conversation(asks(), says(Reasoning("b"), "c", calling()), Turn("tool", (gives(),)), says())


@pytest.mark.parametrize("name", conversations.writable_formats())
def test_of_a_plain_conversation_it_is_known(name):
    drops = name in {"anthropic", "openai_responses", "portable"}
    expected = (["turns[1].blocks[0]"] if drops else []) if name in HOLDING else None
    assert plain.plain_losses(USUAL, conversations.named_format(name)) == expected
    result = replace(gives(), name=calling().name)
    named = replace(
        USUAL, turns=tuple(Turn("tool", (result,)) if turn.role == "tool" else turn for turn in USUAL.turns)
    )
    assert plain.plain_losses(named, conversations.named_format(name)) == expected


@pytest.mark.parametrize("more", [
    says(calling(), "text behind"), says(calling(), calling()), says(calling(arguments="")), says(Reasoning("alone")),
    asks("two", "texts"), Turn("tool", (gives(),)), Turn("critic", (Text("a"),)), says(Text("a", native={"a": {"b": 1}})),
    says(""), Turn("user", (Text(""),)), says(Reasoning("a", "anthropic", "c2ln"), "b"), Turn("system", (Text("late"),)), Turn("assistant"),
])  # fmt: skip
def test_of_any_other_it_is_not(more):
    assert plain.plain_losses(conversation(asks(), more), conversations.named_format("openai_chat")) is None
