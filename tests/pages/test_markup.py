"""Text becomes HTML by being escaped, and by nothing else."""

import sys
import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.pages.html import markup
from chatsquash.pages.html.markup import Html, tag, text, together
from tests.conftest import cases

SCOTLAND = "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"


@cases("given, expected",
    ("tags", "<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
    ("quotes stay, entities do not", "\"'&amp;", "\"'&amp;amp;"),
    ("NUL and terminal escapes", "\x00\x1b[31m\x9b", r"\x00\x1b[31m\x9b"),
    ("marks that reorder text", "\u202e\u2066\u200f", r"\u202e\u2066\u200f"),
    ("what hides text", "a\u200b\u00ad\U000e0041", r"a\u200b\xad\U000e0041"),
    ("signs without a shape", "a\u2800\u034f\u3164\U0001bca0\U00013430b", r"a\u2800\u034f\u3164\U0001bca0\U00013430b"),
    ("signs that select a shape, and nothing to select", "a\ufe0f\ufe00b\ufe0e", r"a\ufe0f\ufe00b\ufe0e"),
    ("more than one sign behind an emoji", "❤\ufe0f\ufe0f", "❤\ufe0f\\ufe0f"),
    ("a keycap of no key, a flag of no region", "a\ufe0f\u20e3🏴\U000e0061\U000e007f", "a\\ufe0f\u20e3🏴\\U000e0061\\U000e007f"),
    ("emoji of several signs stay", "❤\ufe0f 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 ☎\ufe0e ©\ufe0f", "❤\ufe0f 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 ☎\ufe0e ©\ufe0f"),
    ("flags of regions stay", SCOTLAND, SCOTLAND),
    ("lone surrogates", "\ud800", r"\ud800"),
    ("ends of lines", "a\r\nb\nc\td\re", "a\nb\nc\td\\re"),
    ("letters of any script, emoji of several, and wide spaces stay", "é日עب 👩\u200d👩\u3000", "é日עب 👩\u200d👩\u3000"),
)  # fmt: skip
def test_a_text_is_escaped(given, expected):
    assert text(given) == expected


IGNORABLE = [
    *(
        (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
        (0x200B, 0x200F),
    ),
    *((0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0)),
    *((0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
]  # fmt: skip
"""Default_Ignorable_Code_Point, as Unicode 16 has it."""
JOINERS = "\u200c\u200d"
WITH_A_SHAPE = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
"""Signs of format that are drawn."""


def test_all_that_unicode_calls_a_control_a_sign_of_format_or_ignorable_is_shown():
    ignorable = {at for first, last in IGNORABLE for at in range(first, last + 1)}
    for at in range(sys.maxunicode + 1):
        sign = chr(at)
        is_hidden = at in ignorable or unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        if is_hidden and sign not in JOINERS + WITH_A_SHAPE + "\n\t":
            assert text(sign) == ascii(sign)[1:-1], hex(at)
        elif sign.isprintable() and sign not in "&<>\u2800\ufffc\ufffd":
            assert text(sign) == sign, hex(at)


def test_an_element_escapes_its_texts_and_the_values_of_its_attributes():
    made = tag("p", "a<b", tag("b", "c"), None, 7, class_='x" onclick="y', data_code="<", hidden=True, id=None)
    assert made == '<p class="x&quot; onclick=&quot;y" data-code="&lt;" hidden>a&lt;b<b>c</b>7</p>'
    assert type(made) is Html
    assert tag("br") == "<br>"


class _Parsed(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.said = [], []

    def handle_starttag(self, name, attributes):
        self.tags.append((name, attributes))

    def handle_data(self, data):
        self.said.append(data)


@given(st.text(st.characters(exclude_categories=()), max_size=30), st.text(max_size=30))
def test_whatever_a_text_holds_a_page_has_only_our_elements(said, value):
    parsed = _Parsed()
    parsed.feed(str(tag("p", said, title=value)))
    parsed.close()
    assert [name for name, _ in parsed.tags] == ["p"]
    assert [name for name, _ in parsed.tags[0][1]] == ["title"]
    if said.isprintable() and "\\" not in text(said):
        assert "".join(parsed.said) == said


@cases(
    "attributes",
    ("an event handler", {"onclick": "x"}),
    ("an event handler in other letters", {"onClick": "x"}),
    ("a style", {"style": "x"}),
    ("a page in a page", {"srcdoc": "x"}),
    ("a script as a place", {"href": "javascript:alert(1)"}),
    ("another host", {"href": "//evil.example"}),
    ("another host, as browsers read it", {"href": "/\\evil.example"}),
    ("an address", {"src": "https://evil.example/x.png"}),
    ("an image that may hold scripts", {"src": "data:image/svg+xml;base64,PHN2Zz4="}),
    ("a page as data", {"src": "data:text/html,x"}),
    ("a name that is none", {"a b": "x"}),
)
def test_an_attribute_that_runs_styles_or_leads_elsewhere_is_an_error(attributes):
    with pytest.raises(ValueError):
        tag("a", **attributes)


@pytest.mark.parametrize("url", ["#m3", "/s/1?q=a%20b", "?page=2", "data:image/png;base64,iVBORw0KGgo=", "."])
def test_places_of_the_page_and_images_may_stand_in_an_attribute(url):
    assert f'="{url}"' in tag("a", href=url)


def test_scripts_and_styles_are_no_elements_like_others():
    for name in ("script", "style"):
        with pytest.raises(ValueError):
            tag(name, "x")
        with pytest.raises(ValueError):
            getattr(markup, name)(f"a</{name.upper()}>b")


def test_texts_and_elements_stand_one_behind_the_other():
    assert together(["<", None, tag("b")]) == "&lt;<b></b>"
