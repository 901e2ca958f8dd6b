"""Phrases are found in any text of a message, in any case, however the record spells them."""

import json

from hypothesis import given
from hypothesis import strategies as st

from chatsquash.checks import phrases
from chatsquash.checks.phrases import Phrases
from chatsquash.core import jsonio
from chatsquash.core.options import FLAGGED
from tests.conftest import cases, examples

from .rows import assistant, call, result, tool, user

SAID = "The context limit was reached, so I begin anew."
PART = {"type": "text", "text": SAID}


def record(*messages, **members):
    return {"messages": list(messages), "tools": [], **members}


def found(phrase, value):
    """What is found, which is the same for the value, for its bytes and for those of its messages."""
    read = list(Phrases([phrase]).violations(value))
    assert list(Phrases([phrase]).violations_in(jsonio.dumps(value))) == read
    assert not read or Phrases([phrase]).may_match(jsonio.dumps(value))
    if "messages" in value:
        assert list(Phrases([phrase]).violations_in(jsonio.dumps(value["messages"]))) == read
        assert not read or Phrases([phrase]).may_be_in(map(jsonio.dumps, value["messages"]))
    return [(fact.code, fact.severity, fact.at) for fact in read]


@cases(
    "phrase, message",
    ("what the user says", "context limit was reached", user(SAID)),
    ("in any case", "CONTEXT limit Was Reached", user(SAID)),
    ("in any case of the text", "context limit was reached", user(SAID.upper())),
    ("what the assistant says", "begin anew", assistant(SAID)),
    ("reasoning", "begin anew", assistant("", reasoning_content=SAID)),
    ("details of reasoning", "begin anew", assistant("", reasoning_details=[{"summary": SAID}])),
    ("a part", "begin anew", user([{"type": "image_url", "image_url": {"url": "x"}}, PART])),
    ("a result", "begin anew", result(SAID)),
    ("arguments as text", "begin anew", assistant("", call(arguments=json.dumps({"text": SAID})))),
    ("arguments as an object", "begin anew", assistant("", call(arguments={"a": [{"text": SAID}]}))),
    ("letters of other alphabets", "ÜBER größe", user("weit über GRÖSSE hinaus")),
    ("other alphabets, escaped inside arguments", "über", assistant("", call(arguments='{"a": "\\u00dcber"}'))),
    ("quotes beside markup", 'say "no"', assistant('<tool_call>{"arguments": {"a": "say \\"no\\""}}</tool_call>')),
    ("a script without case", "上下文已满", user("错误:上下文已满。")),
    ("quotes", 'say "no"', user('They say "No" to it')),
    ("quotes inside arguments", 'say "no"', assistant("", call(arguments=json.dumps({"a": 'say "no"'})))),
    ("backslashes", "c:\\temp", user("C:\\Temp\\x")),
    ("line feeds", "one\ntwo", user("One\nTwo")),
    ("markup", "<tool_call>", user("a <tool_call> b")),
    ("nothing but quotes", '""', user('a "" b')),
    ("a lone surrogate beside it", "reached", user("\ud800 reached")),
    ("spaces that stand around it", " was ", user(SAID)),
)
def test_a_phrase_is_found_in(phrase, message):
    assert found(phrase, record(user("x"), message)) == [("flagged-phrase", "warning", 1)]


@cases(
    "phrase, messages",
    ("another text", "context limit was reached", user("The context limit was not reached.")),
    ("part of it", "context limit was reached", user("context limit was reache")),
    ("over two messages", "limit was", [user("the limit"), user(" was")]),
    ("over two parts", "limit was", user([{"type": "text", "text": "limit"}, {"type": "text", "text": " was"}])),
    ("a key", "metadata", {**user(), "metadata": 1}),
    ("white space", "  ", user(SAID)),
    ("nothing", "", user(SAID)),
)
def test_no_phrase_is_found_in(phrase, messages):
    assert found(phrase, record(*(messages if isinstance(messages, list) else [messages]))) == []


def test_definitions_are_no_messages():
    assert found("begin anew", record(user(), tools=[tool(description=SAID)])) == []


def test_a_phrase_is_reported_once_with_the_first_message_and_their_number():
    value = record(user("x"), assistant(SAID), user(SAID), assistant("ok"))
    (fact,) = Phrases(["begin anew", "begin anew"]).violations(value)
    assert (fact.at, "is in 2 messages" in fact.text) == (1, True)


def test_each_phrase_is_reported_in_the_order_in_which_they_are_named():
    value = record(user("b"), user("a"))
    assert [fact.at for fact in Phrases(["a", "nothing", "b"]).violations(value)] == [1, 0]


def test_turns_of_sharegpt_are_messages_and_its_system_prompt_stands_at_the_first():
    turns = [{"from": "human", "value": "x"}, {"from": "gpt", "value": SAID}]
    assert found("begin anew", {"conversations": turns, "system": ""}) == [("flagged-phrase", "warning", 1)]
    assert found("be brief", {"conversations": turns, "system": "Be brief."}) == [("flagged-phrase", "warning", 0)]


def test_a_record_whose_bytes_have_no_phrase_is_not_parsed(monkeypatch):
    monkeypatch.setattr(phrases.jsonio, "loads", None)
    assert (
        list(Phrases(FLAGGED).violations_in(jsonio.dumps(record(user("The limit of the context was not met."))))) == []
    )


@given(st.text('aAbBéÉ"\\<\n 界', max_size=3), st.lists(st.text('aAbBéÉ"\\<\n 界', max_size=6), max_size=3))
def test_any_phrase_is_found_as_by_looking_through_all_texts(phrase, texts):
    spellings = {phrase, json.dumps(phrase, ensure_ascii=False)[1:-1]}
    naive = (
        [at for at, text in enumerate(texts) if any(each.casefold() in text.casefold() for each in spellings)]
        if phrase.strip()
        else []
    )
    assert [at for _, _, at in found(phrase, record(*map(user, texts)))] == naive[:1]


def test_characters_that_casefold_to_ascii_are_all_known():
    characters = map(chr, (*range(128, 0xD800), *range(0xE000, 0x110000)))
    folding = {each for each in characters if any(map(str.isascii, each.casefold()))}
    assert folding == {*phrases._FOLDING_TO_ASCII}


@cases(
    "text",
    ("the Kelvin sign is a k in any case", "to\u212ayo"),
    ("a long s", "\u017fay"),
    ("a ligature", "\ufb01nd"),
)
def test_a_phrase_in_letters_that_casefold_to_ascii_is_not_ruled_out(text):
    value = record(user(f"we {text} it"))
    assert list(Phrases([text.casefold()]).violations(value))
    assert Phrases([text.casefold()]).may_match(jsonio.dumps(value))
    assert not Phrases([text.casefold()]).may_match(jsonio.dumps(record(user("naïve — nothing"))))
    assert not Phrases([text.casefold()]).may_match(
        jsonio.dumps(record(user(f"a \u212a, a ß: {text[:2]} is another word")))
    )


LETTERS = (
    "sStTfFiIkKnjhwya \u00df\u017f\u0130\u0149\u01f0\u1e96\u1e97\u1e9a\u1e9e\u212a\ufb00\ufb01\ufb03\ufb06\u0331\u02beé"
)


@given(st.text(LETTERS, min_size=1, max_size=3), st.text(LETTERS, max_size=6))
@examples(1000)
def test_a_phrase_in_any_spelling_is_not_ruled_out(phrase, text):
    value = record(user(text))
    assert Phrases([phrase]).may_match(jsonio.dumps(value)) or not list(Phrases([phrase]).violations(value))
