"""A value that is known is found however it is written."""

import base64
import json
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.redaction.lists import values
from tests.conftest import cases

SECRET = "sk-Zq7Vn2+Xk9/Lp4Rt8Bw3="
KEY = "-----BEGIN EC KEY-----\nMHcCAQEEIOq7\nVn2Xk9Lp4Rt8\n-----END EC KEY-----"


def replaced(text, *known):
    pieces, done = [], 0
    for hit in values(dict.fromkeys(known, ("SECRET", "known")))(text):
        pieces += [text[done : hit.start], "<S>"]
        done = hit.end
    return "".join([*pieces, text[done:]])


def as_json(text, deep=1):
    for _ in range(deep):
        text = json.dumps(text)[1:-1]
    return text


def as_base64(data, before=b"", after=b"; that is all of it"):
    return base64.b64encode(before + data.encode("utf-8", "replace") + after).decode()


def escaped(text, form="%{:02X}"):
    return "".join(form.format(byte) for byte in text.encode("utf-8", "replace"))


MAIL = base64.encodebytes(b"user: somebody\npassword: " + SECRET.encode() + b"\n" + b"nothing else. " * 12).decode()
FORMS = [
    ("as it is", SECRET, "<S>"),
    ("within a word", f"x{SECRET}y", "x<S>y"),
    ("twice", f"{SECRET}{SECRET}", "<S><S>"),
    ("URL-encoded as far as it has to be", "sk-Zq7Vn2%2BXk9%2FLp4Rt8Bw3%3D", "<S>"),
    ("URL-encoded in lower case", "sk-Zq7Vn2%2bXk9%2fLp4Rt8Bw3%3d", "<S>"),
    ("URL-encoded twice", "sk-Zq7Vn2%252BXk9%252FLp4Rt8Bw3%253D", "<S>"),
    ("URL-encoded in every character", escaped(SECRET), "<S>"),
    ("escaped in every character", escaped(SECRET, "\\u{:04x}"), "<S>"),
    ("escaped in every character, four deep", as_json(escaped(SECRET, "\\u{:04x}"), 3), "<S>"),
    ("with slashes escaped", SECRET.replace("/", "\\/"), "<S>"),
    ("with slashes escaped, four deep", as_json(SECRET.replace("/", "\\/"), 3), "<S>"),
    ("in XML", SECRET.replace("+", "&#43;").replace("/", "&#x2F;"), "<S>"),
    ("over two lines", SECRET[:9] + "\n" + SECRET[9:], "<S>"),
    ("over two lines of Windows", SECRET[:9] + "\r\n" + SECRET[9:], "<S>"),
    ("over two lines of a text in JSON", SECRET[:9] + "\\n" + SECRET[9:], "<S>"),
    ("over two lines, indented", SECRET[:9] + "\n        " + SECRET[9:], "<S>"),
    ("over two lines of a diff", SECRET[:9] + "\n+" + SECRET[9:], "<S>"),
    ("over two lines of a diff before its own plus", SECRET[:9] + "\n+" + SECRET[9:], "<S>"),
    ("over two lines of a quote", SECRET[:12] + "\n> " + SECRET[12:], "<S>"),
    ("over two lines of a source, in quotes", SECRET[:12] + '" +\n    "' + SECRET[12:], "<S>"),
    ("with a space without width", SECRET[:12] + "\u200b" + SECRET[12:], "<S>"),
    ("over two lines with a color of a terminal", SECRET[:12] + "\x1b[0m\n" + SECRET[12:], "<S>\x1b[0m\n<S>"),
    ("in two members", SECRET[:12] + '",\n "b": "' + SECRET[12:], '<S>",\n "b": "<S>'),
    ("cut within an escape", "sk-Zq7Vn2%2\nBXk9/Lp4Rt8Bw3=", "<S>"),
    *((f"in base64 behind {at} characters", as_base64(SECRET, b"x" * at), "<S>") for at in range(3)),
    ("in base64 of URLs", base64.urlsafe_b64encode(f"~~~ {SECRET} ???".encode()).decode(), "<S>"),
    ("in base64 of UTF-16", base64.b64encode(SECRET.encode("utf-16-le")).decode(), "<S>"),
    ("in base64 of base64", as_base64(as_base64(SECRET)), "<S>"),
    ("in base64 of JSON", as_base64(json.dumps({"key": SECRET}).replace("/", "\\/")), "<S>"),
    ("in base64 behind a path", "a/path/" + as_base64(SECRET), "<S>"),
    ("in base64 over lines: those that hold it", MAIL, "dXNlcjogc29tZWJvZHkKcGFzc3dvcmQ6IHNrL"),
]


@pytest.mark.parametrize(("sentence", "written", "left"), FORMS, ids=[row[0] for row in FORMS])
def test_a_value_is_found_and_what_stands_around_it_stays(sentence, written, left):
    if sentence.endswith("hold it"):
        assert re.fullmatch(r"see '<S>\n[\w\n+/=]{150,}' and on", replaced(f"see '{written}' and on", SECRET)), sentence
    else:
        assert replaced(f"see '{written}' and on", SECRET) == f"see '{left}' and on", sentence


@cases(
    "written",
    ("as it is", KEY),
    ("in JSON", as_json(KEY)),
    ("in JSON within JSON", as_json(KEY, 4)),
    ("indented", KEY.replace("\n", "\n    ")),
    ("in a diff", KEY.replace("\n", "\n+")),
    ("on one line", KEY.replace("\n", "")),
    ("on one line with spaces", KEY.replace("\n", " ")),
)
def test_a_value_of_several_lines_is_found(written):
    assert replaced(f'key: "{written}"', KEY) == 'key: "<S>"'


@cases(
    "text, value",
    ("another value", "sk-Zq7Vn2+Xk9/Lp4Rt8Bw4=", SECRET),
    ("what has other signs", "my_secret key", "my-secret-key"),
    ("a part", SECRET[:-4], SECRET),
    ("what meets over two texts", f"{SECRET[:9]}\n\0\n{SECRET[9:]}", SECRET),
    ("a short value whose letters meet behind more than a break", "a - b\n\n* c d", "abcd"),
    ("a short value in base64 of bytes", base64.b64encode(bytes(range(256))).decode(), "ABCD"),
)
def test_what_is_no_value_stays(text, value):
    assert replaced(text, value) == text


def test_a_number_is_not_found_within_a_longer_one():
    find = values({"8.8.4.4": ("IP_ADDRESS", "ip-address"), "+493012345": ("PHONE", "phone")})
    assert [text for text in ("18.8.4.4", "8.8.4.41", "+4930123456") if find(text)] == []
    assert [hit.kind for hit in find("8.8.4.4, 8%2E8%2e4.4 and +493012345")] == ["IP_ADDRESS", "IP_ADDRESS", "PHONE"]


def test_of_values_that_meet_the_longest_is_taken_and_nothing_is_left():
    assert replaced("see abcdefgh.", "abcdef", "abcd", "cdefgh") == "see <S>."


def test_few_values_and_many_are_found_alike():
    """Which way a search goes depends on how many values there are and how long the text is."""
    many = [f"value-{at:05}x" for at in range(3000)]
    texts = [
        f"see {many[7]} é {as_json(many[2999])} {escaped(many[8])} {as_base64(many[9])}" + " 😀" * n
        for n in (0, 99_000)
    ]
    for text in texts:
        found = values(dict.fromkeys(many, ("SECRET", "known")))(text)
        alone = [values({many[at]: ("SECRET", "known")})(text) for at in (7, 2999, 8, 9)]
        assert found == [hit for hits in alone for hit in hits]
        assert len(found) == 4


LETTERS = string.ascii_letters + string.digits
VALUE = st.builds(
    "{}{}{}".format,
    st.text(LETTERS + string.punctuation + " éß日😀", min_size=3, max_size=12),
    st.text(LETTERS, min_size=8, max_size=16),
    st.text(LETTERS + string.punctuation + " é", max_size=8),
).map(str.strip)
PLACE = st.integers(1, 1000)


def split(text, place, by):
    """A text with a break anywhere but within the escape of another break, or behind a backslash that is escaped twice."""
    at = 1 + place % max(1, len(text) - 1)
    kept = "nrtu\\" if "\\u005c" in text.lower() else "nrt\\"
    while at < len(text) and text[at - 1] == "\\" and text[at] in kept:
        at += 1
    return text[:at] + by + text[at:]


def base64_split(text, place, by):
    return by.join(re.findall(f".{{1,{20 + place % 60}}}", as_base64(text, b" " * (place % 3))))


BREAK = st.sampled_from(["\n", "\r\n", "\\n", "\\r\\n", "\n    ", "\n+", "\n- ", "\n> ", "\\n\t"])
STEP = st.one_of(
    st.builds(lambda deep: lambda text: as_json(text, deep), st.integers(1, 4)),
    st.just(lambda text: as_json(text).replace("/", "\\/")),
    st.just(lambda text: escaped(text, "%{:02x}") if text.isascii() else text),
    st.just(escaped),
    st.just(lambda text: escaped(escaped(text)).replace("%32%35", "25")),
    st.just(lambda text: re.sub(r"[^A-Za-z0-9]", lambda found: escaped(found[0]), text)),
    st.just(lambda text: "".join(f"\\u{ord(each):04x}" if ord(each) < 0x10000 else each for each in text)),
    st.builds(lambda place, by: lambda text: split(text, place, by), PLACE, BREAK),
    st.builds(lambda place: lambda text: as_base64(text, b"k: " + b" " * (place % 3)), PLACE),
    st.builds(lambda place, by: lambda text: base64_split(text, place, by), PLACE, BREAK),
)


@given(VALUE, st.lists(STEP, max_size=3), st.sampled_from(["use '{}' now", 'x = "{}"', "a\n{}\nb", "{}", "é😀 ({})"]))
def test_no_encoding_of_a_value_is_left(value, steps, around):
    written = value
    for step in steps:
        written = step(written)
    text = around.format(written)
    left = replaced(text, value)
    assert written not in left
    assert "<S>" in left
    assert replaced(left, value) == left
