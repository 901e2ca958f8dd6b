"""Values are replaced in the texts of JSON values, wherever they stand, and nothing else changes."""

import copy
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.core import jsonio
from chatsquash.redaction.forms import merge_overlapping
from chatsquash.redaction.lists import Lists, values
from chatsquash.redaction.placeholders import PLACEHOLDER
from chatsquash.redaction.redactor import Redactor
from chatsquash.redaction.texts import Texts
from chatsquash.redaction.values import Hit, Placeholders, UnsearchedError, Value
from tests.conftest import cases

KEY = b"a key for tests of it"
SECRET = "sk-" + "Zq7Vn2" * 4


def found(text):
    """Keys, and numbers behind ``pin``."""
    keys = [Hit(*each.span(), "AWS_ACCESS_KEY_ID", "aws", each[0]) for each in re.finditer(r"AKIA[A-Z0-9]{16}", text)]
    keys += [Hit(*each.span(), "API_KEY", "api-key", each[0]) for each in re.finditer(r"sk-[A-Za-z0-9]{24}", text)]
    pins = re.finditer(r'"pin": "?(\d{6,})', text)
    return sorted([*keys, *(Hit(*each.span(1), "PIN", "pin", each[1]) for each in pins)])


def known(values):
    """Values as they are."""
    return lambda text: [
        Hit(each.start(), each.end(), *told, value)
        for value, told in values.items()
        for each in re.finditer(re.escape(value), text)
    ]


def redactor(*finders):
    return Redactor(finders or [found], Placeholders(KEY), known=known)


UPPER = "AKIA" + "QYLPMN5HHHFPZAM2"
PLACE = Placeholders(KEY).of(Hit(0, 0, "API_KEY", "api-key", SECRET))
UPPER_PLACE = Placeholders(KEY).of(Hit(0, 0, "AWS_ACCESS_KEY_ID", "aws", UPPER))


@cases("before, after",
    ("a text", f"use {SECRET} now", f"use {PLACE} now"),
    ("a text within lists and objects", {"a": [{"b": SECRET}]}, {"a": [{"b": PLACE}]}),
    ("the key of an object", {SECRET: 1, "b": 2}, {PLACE: 1, "b": 2}),
    ("JSON in a text", f'{{"cmd": "echo {SECRET}", "n": 1.50}}', f'{{"cmd": "echo {PLACE}", "n": 1.50}}'),
    ("JSON in JSON", json.dumps({"x": json.dumps({"y": SECRET})}), json.dumps({"x": json.dumps({"y": PLACE})})),
    ("an image", {"url": f"data:image/png;base64,{SECRET}"}, {"url": f"data:image/png;base64,{SECRET}"}),
    ("a signature", {"type": "thinking", "signature": SECRET}, {"type": "thinking", "signature": SECRET}),
    ("what is called a signature and is none", {"signature": f"f({SECRET!r})"}, {"signature": f"f({PLACE!r})"}),
    ("a column that is called a signature", {"signature": SECRET}, {"signature": PLACE}),
    ("a text that begins with an image", f"data:image/png;base64,iVBO= {SECRET}", f"data:image/png;base64,iVBO= {PLACE}"),
    ("a script that is called data", {"filename": "x", "data": f"run {SECRET}"}, {"filename": "x", "data": f"run {PLACE}"}),
    ("a file in base64", {"media_type": "a/b", "data": SECRET}, {"media_type": "a/b", "data": SECRET}),
    ("what has the form of a placeholder and is a secret", f"<{UPPER}_0123456789>", f"<{UPPER_PLACE}_0123456789>"),
    ("inlined calls", f"<tool_call>[1]</tool_call>{SECRET}<tool_call>{{}}</tool_call>", f"<tool_call>[1]</tool_call>{PLACE}<tool_call>{{}}</tool_call>"),
    ("JSON that is none for us", f'{{"a": 1e999, "k": "{SECRET}", "pin": 1234567}}', None),
    ("the id of a call", {"id": SECRET, "function": {"name": "f"}}, {"id": SECRET, "function": {"name": "f"}}),
    ("an id in arguments", {"arguments": {"id": SECRET}}, {"arguments": {"id": PLACE}}),
    ("what is across two texts", [SECRET[:9], SECRET[9:]], [SECRET[:9], SECRET[9:]]),
    ("no other placeholder", "<API_KEY_0123456789>", "<API_KEY_0123456789>"),
)  # fmt: skip
def test_replaces(before, after):
    value = {"content": copy.deepcopy(before)}
    redactor().replace([value])
    is_number = after is None
    if is_number:
        after = re.sub(r"\d{7}", lambda found: Placeholders(KEY).number(found[0]), before.replace(SECRET, PLACE))
    assert value == {"content": after}
    assert is_number or redactor().replace([value]) == {}
    redactor().replace([value])
    assert value == {"content": after}, "a second time changes nothing"


def test_a_number_stays_a_number_of_the_same_length_and_is_known_once_more():
    value = {"arguments": '{"pin": 123456789, "n": [1, 2.50]}', "other": {"pin": -123456789}}
    redactor().replace([value])
    pin = json.loads(value["arguments"])["pin"]
    assert pin != 123456789
    assert len(str(pin)) == 9
    assert value["other"]["pin"] == -pin
    assert json.loads(value["arguments"])["n"] == [1, 2.5]
    before = copy.deepcopy(value)
    redactor().replace([value])
    assert value == before


def test_an_inlined_call_stays_json():
    value = {"content": 'Sure.\n<tool_call>\n{"name": "f", "arguments": {"pin": 1234567}}\n</tool_call>'}
    redactor().replace([value])
    inside = re.search(r"<tool_call>\n(.*)\n</tool_call>", value["content"])[1]
    assert json.loads(inside)["arguments"]["pin"] != 1234567


def test_what_is_found_once_is_replaced_wherever_it_stands():
    value = [{"pin": "secret1234567"}, {"content": "it was 1234567, or 1234567."}]
    counts = redactor(_pins).replace(value)
    assert value[1]["content"].count("1234567") == 0
    assert sum(counts.values()) == 3


def _pins(text):
    return [Hit(*each.span(1), "PIN", "pin", each[1]) for each in re.finditer(r"secret(\d+)", text)]


def test_of_hits_that_meet_nothing_is_left():
    hits = [Hit(0, 5, "A", "a", "x"), Hit(3, 9, "B", "b", "y"), Hit(4, 6, "C", "c", "z"), Hit(9, 10, "D", "d", "w")]
    assert [(hit.start, hit.end) for hit in merge_overlapping(hits)] == [(0, 9), (9, 10)]


def test_a_text_on_which_a_search_fails_is_searched_in_pieces():
    def fails(text):
        if len(text) > 30_000:
            raise MemoryError
        return found(text)

    value = {"content": "x" * 16_370 + SECRET + " " * 20_000}
    redactor(fails).replace([value])
    assert SECRET not in value["content"]


def test_what_cannot_be_searched_is_an_error_and_changes_nothing():
    def fails(text):
        raise ValueError(text)

    value = {"content": SECRET}
    with pytest.raises(UnsearchedError, match="ValueError"):
        redactor(fails).replace([value])
    assert value == {"content": SECRET}


def test_counts_say_which_value_they_are_of():
    counts = redactor().replace([{"a": SECRET}, {"a": "x"}, {"a": f"{SECRET} {SECRET}"}])
    value = Value("API_KEY", "api-key", SECRET)
    assert counts == {(0, value): 1, (2, value): 2}


TEXT = st.one_of(st.text(max_size=20), st.just(SECRET), st.builds("{}{}".format, st.text(max_size=5), st.just(SECRET)))
JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), TEXT, TEXT.map(lambda text: json.dumps({"a": text, "pin": 7654321}))
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=4)),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["a", "content", "arguments", "pin"]), JSON))
def test_no_secret_is_left_and_twice_is_once(value):
    redactor().replace([value])
    texts = Texts([value])
    assert not [hit for hit in found(texts.joined) if not PLACEHOLDER.search(hit.value) and hit.kind == "API_KEY"]
    again = copy.deepcopy(value)
    assert redactor().replace([again]) is not None
    assert json.dumps(again) == json.dumps(value)


@cases(
    "number, expected",
    ("a number of three digits", 123, r"[1-9]\d\d"),
    ("a fraction", 3.14159, r"[1-9]\.\d{5}"),
    ("a negative one", -42.5, r"-[1-9]\d\.\d"),
    ("a small fraction", 1.25e-07, r"[1-9](\.\d+)?e-07"),
    ("a large one", 12345678901234567890, r"[1-9]\d{19}"),
)
def test_a_listed_number_is_replaced_and_stays_a_number_of_its_length(number, expected):
    listed = jsonio.dumps(abs(number)).decode()
    finder = Lists(deny=f"{listed}\n".encode()).find
    value = {"arguments": jsonio.dumps({"n": number}).decode(), "other": {"n": number}}
    Redactor([finder], Placeholders(KEY), known=values).replace([value])
    assert value["other"]["n"] != number
    assert type(value["other"]["n"]) is type(number)
    assert re.fullmatch(expected, json.dumps(value["other"]["n"]))
    assert json.loads(value["arguments"]) == {"n": value["other"]["n"]}


def test_two_forms_of_a_value_as_keys_lose_no_member():
    twice = {SECRET: 1, f"{SECRET}": 2, PLACE: 3}
    redactor().replace([{"arguments": twice}])
    assert sorted(twice.values()) == [2, 3]
    assert SECRET not in json.dumps(twice)


def test_what_goes_on_over_the_end_of_a_text_is_replaced_up_to_that():
    def over(text):
        at = text.index("sk-")
        return [Hit(at, len(text), "API_KEY", "api-key", SECRET), *found(text)]

    value = {"content": [f"key {SECRET}", "another text"]}
    redactor(over).replace([value])
    assert value == {"content": [f"key {PLACE}", "another text"]}


def test_words_of_formats_are_no_names():
    def all_words(text):
        return [Hit(*each.span(), "NAME", "name", each[0]) for each in re.finditer(r"user|string", text)]

    value = {"role": "user", "content": "user", "parameters": {"type": "string"}}
    redactor(all_words).replace([value])
    assert value["role"] == "user"
    assert value["content"].startswith("name_")
    assert value["parameters"] == {"type": "string"}


def test_what_json_has_no_place_for_is_not_written():
    def member(text):
        return [Hit(*each.span(), "PIN", "pin", each[0]) for each in re.finditer(r'"pin": "[a-z]+"', text)]

    value = {"content": json.dumps({"pin": "abc"})}
    with pytest.raises(UnsearchedError, match="does not fit into the JSON"):
        redactor(member).replace([value])
    assert json.loads(value["content"]) == {"pin": "abc"}


def test_different_numbers_stay_different():
    numbers = [10**18 + 7 * at for at in range(200)]
    made = {Placeholders(KEY).number(str(number)) for number in numbers}
    assert len(made) == 200
    assert all(len(each) == 19 and int(each) < 2**63 for each in made)
    assert all(Placeholders(KEY).number(each) == each for each in made)
