"""Names that a user lists are found as whole words, however they are written; what only holds their letters stays."""

import base64
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.core.errors import UsageError
from chatsquash.redaction.names import names
from tests.conftest import cases
from tests.redact import test_known as forms
from tests.redact.rows import rows

LISTED = "Ana Müller\nLi\n# a comment\nDüsseldorf\nİlayda\nGroß\nO'Brien\ndb-prod-7\n山田太郎\nMcKay-Ortega\n".encode()


def replaced(text, listed=LISTED):
    pieces, done = [], 0
    for hit in names(listed)(text):
        pieces += [text[done : hit.start], "<N>"]
        done = hit.end
    return "".join([*pieces, text[done:]])


@cases(
    "text, left",
    ("as it is listed", "for Ana Müller.", "for <N>."),
    ("in capitals", "ANA MÜLLER", "<N>"),
    ("decomposed", unicodedata.normalize("NFD", "by Ana Müller!"), "by <N>!"),
    ("with sharp s", "Herr GROSS, Herr groß", "Herr <N>, Herr <N>"),
    ("with a dotted I", "ilayda wrote, İLAYDA wrote".replace("ilayda", "i\u0307layda"), "<N> wrote, <N> wrote"),
    ("in an identifier", "anaMüller, get_ana_müller(), ANA-MÜLLER_ID", "<N>, get_<N>(), <N>_ID"),
    ("as the first word of an identifier", "liService.getLi()", "<N>Service.get<N>()"),
    ("behind an acronym", "getHTTPLi", "getHTTP<N>"),
    ("in a path", "/home/ana.müller/li/x", "/home/<N>/<N>/x"),
    ("before digits", "li42", "<N>42"),
    ("a host with a number", "db-prod-7.internal", "<N>.internal"),
    ("with another apostrophe", "O\u2019Brien, OBrien", "<N>, <N>"),
    ("in a script without spaces", "お客様は山田太郎さんです", "お客様は<N>さんです"),
    ("URL-encoded", "q=Ana%20M%C3%BCller&x", "q=<N>&x"),
    ("URL-encoded as forms are", "q=Ana+M%c3%bcller&x", "q=<N>&x"),
    ("in JSON", json.dumps("Ana Müller"), '"<N>"'),
    ("in JSON within JSON", json.dumps(json.dumps("Ana Müller")), '"\\"<N>\\""'),
    ("behind the escape of a break", "so:\\nLi", "so:\\n<N>"),
    ("in base64", base64.b64encode("dear Ana Müller, hello".encode()).decode(), "<N>"),
    ("over two lines", "dear Ana\n  Müller,", "dear <N>,"),
    ("over two lines of a diff", "+dear Ana\n+Müller,", "+dear <N>,"),
    ("cut by a line", "dear Ana Mül\nler,", "dear <N>,"),
    ("behind other letters of its own script", "É Li é", "É <N> é"),
)
def test_a_name_is_found(text, left):
    assert replaced(text) == left


@cases("text", *rows("names.what_is_no_name_stays"))
def test_what_is_no_name_stays(text):
    assert replaced(text) == text


def test_a_name_has_one_value_however_it_is_written():
    text = (
        "Ana Müller, ana_müller, ANAMÜLLER, Ana%20M%C3%BCller, " + base64.b64encode("by Ana Müller".encode()).decode()
    )
    assert {(hit.kind, hit.rule, hit.value) for hit in names(LISTED)(text)} == {("NAME", "name", "anamüller")}


def test_of_two_names_that_begin_alike_each_is_found():
    listed = b"Ana\nAna Linda\nAna Li"
    assert replaced("Ana Lindau, Ana Linda, Ana Li, Ana", listed) == "<N> Lindau, <N>, <N>, <N>"


WRONG = [
    (b"", "the file contains no names"),
    (b"# none\n\n", "the file contains no names"),
    (b"\xff", "the file is not valid UTF-8"),
    (b"Ana\n--", "--redact names, line 2: a name must contain a letter or a digit"),
]


@pytest.mark.parametrize("data, message", WRONG, ids=[message for _, message in WRONG])
def test_what_is_wrong_in_the_list_is_said(data, message):
    with pytest.raises(UsageError, match=message):
        names(data)


def test_thousands_of_names_are_found_as_few_are():
    many = [f"person{at:05}x" for at in range(5000)]
    text = " é ".join((many[3], json.dumps(many[4999].upper()), forms.escaped(many[17]), forms.as_base64(many[40])))
    found = names("\n".join(many).encode())(text)
    assert [hit.value for hit in found] == [many[3], many[4999], many[17], many[40]]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@cases("name", *rows("names.a_name_of_any_script_is_found_in_any_case_and_form"))
def test_a_name_of_any_script_is_found_in_any_case_and_form(name, form):
    for case in (str, str.upper, str.lower, str.casefold):
        text = unicodedata.normalize(form, case(name))
        assert replaced(f"see {text}, now", name.encode()) == "see <N>, now"


NAME = st.from_regex(r"[A-ZÄÉŁ][a-zäéßł]{3,9}( [A-ZÖ][a-zñ]{3,9}){0,2}", fullmatch=True)


@given(NAME, st.lists(forms.STEP, max_size=3), st.sampled_from([str, str.upper, str.casefold, str.title]))
def test_no_encoding_of_a_name_is_left(name, steps, case):
    written = unicodedata.normalize("NFC", case(name))
    for step in steps:
        written = step(written)
    left = replaced(f"see '{written}' now", name.encode())
    assert written not in left
    assert "<N>" in left
    assert replaced(left, name.encode()) == left


@given(st.text(max_size=60))
def test_any_text_is_searched_and_offsets_are_its_own(text):
    for hit in names(LISTED)(f"{text} Li"):
        assert 0 <= hit.start < hit.end <= len(text) + 3
    assert names(LISTED)(f"{text} Li")[-1].end == len(text) + 3
