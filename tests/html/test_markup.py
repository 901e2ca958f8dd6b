"""Text becomes HTML by being escaped, and by nothing else."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.html import policy
from chatsquash.html.markup import Html, tag, text, together

ESCAPED = [
    ("tags", "<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
    ("quotes stay, entities do not", "\"'&amp;", "\"'&amp;amp;"),
    ("NUL and terminal escapes", "\x00\x1b[31m\x9b", r"\x00\x1b[31m\x9b"),
    ("marks that reorder text", "\u202e\u2066\u200f", r"\u202e\u2066\u200f"),
    ("what hides text", "a\u200b\u00ad\U000e0041", r"a\u200b\xad\U000e0041"),
    ("lone surrogates", "\ud800", r"\ud800"),
    ("ends of lines", "a\r\nb\nc\td\re", "a\nb\nc\td\\re"),
    (
        "letters of any script, emoji of several, and wide spaces stay",
        "é日עب 👩\u200d👩\u3000",
        "é日עب 👩\u200d👩\u3000",
    ),
]


@pytest.mark.parametrize("what, given, expected", ESCAPED, ids=[row[0] for row in ESCAPED])
def test_a_text_is_escaped(what, given, expected):
    assert text(given) == expected


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
    if said.isprintable():
        assert "".join(parsed.said) == said


FORBIDDEN = [
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
]


@pytest.mark.parametrize("what, attributes", FORBIDDEN, ids=[row[0] for row in FORBIDDEN])
def test_an_attribute_that_runs_styles_or_leads_elsewhere_is_an_error(what, attributes):
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
            getattr(policy, name)(f"a</{name.upper()}>b")


def test_texts_and_elements_stand_one_behind_the_other():
    assert together(["<", None, tag("b")]) == "&lt;<b></b>"
