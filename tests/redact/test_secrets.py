"""What is found in texts, in whatever form it stands there, and what is not, though it looks like it."""

import base64
import itertools
import json
import re
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.redaction.placeholders import blank_placeholders
from chatsquash.redaction.secrets import Secrets, kind_of
from chatsquash.redaction.values import Placeholders
from tests.conftest import cases
from tests.redact.rows import texts

SECRETS = Secrets()
TOKEN, PASSWORD = "q7Rk2mXv9LpZt4Wn8BcY3dHs", "Falcon-7193!x"
"""They stand for T and P in the rows."""
CONTEXTS = [
    *texts("contexts"),
    "[default]\naws_secret_access_key = T",
    "api_key\tT",
    'variable "token" {\n  default = "T"\n}',
    "password: >-\n  P",
    "- name: TOKEN\n  value: T",
    "- key: TOKEN\n  value: T",
    "data:\n  token: cTdSazJtWHY5THBadDRXbjhCY1kzZEhz",
    "chpasswd:\n  list: |\n    root:P",
    "Signing Secret\nT",
    "username: x\npassword: P",
]
"""Where a token or a password is known by what stands before it."""


def put(row):
    """A row with the secrets in it."""
    return re.sub(r"\bT\b", TOKEN, re.sub(r"(?<![A-Za-z0-9-])P(?![A-Za-z0-9])", PASSWORD, row))


def left(text):
    """A text without what is found in it."""
    for hit in reversed(SECRETS.find(text)):
        text = text[: hit.start] + "#" + text[hit.end :]
    return text


@pytest.mark.parametrize("row", CONTEXTS)
@pytest.mark.parametrize("written", [str, lambda text: json.dumps({"a": f"x\n{text}\ny"})], ids=["plain", "in JSON"])
def test_a_secret_is_known_by_its_context(row, written):
    text = written(put(row) + "\n")
    rest = left(text)
    encoded = (base64.b64encode(TOKEN.encode()).decode()[:12], base64.b64encode(PASSWORD.encode()).decode()[:12])
    assert [each for each in (TOKEN, PASSWORD, *encoded) if each in rest] == []
    assert rest != text


LOOKALIKES = [
    *texts("lookalikes"),
    "$ANSIBLE_VAULT;1.1;AES256\n66343963613263343761",
    "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----",
    "$ pwd\n/home/ana2/x",
]
"""What tells of secrets, and holds none."""


@pytest.mark.parametrize("row", LOOKALIKES)
@pytest.mark.parametrize("written", [str, lambda text: json.dumps({"a": text})], ids=["plain", "in JSON"])
def test_what_only_looks_like_a_secret_is_none(row, written):
    assert SECRETS.find(written(row) + "\n") == []


KEY = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hI3kL6"
LINES = "\n".join(base64.b64encode(bytes(range(at, at + 48))).decode() for at in range(0, 192, 48))
BLOCK = f"-----BEGIN RSA PRIVATE KEY-----\n{LINES}\n-----END RSA PRIVATE KEY-----"
URL = "".join(f"%{ord(char):02x}" for char in KEY)


@cases(
    "text",
    ("as it is", KEY),
    ("in base64", base64.b64encode(KEY.encode()).decode()),
    ("in base64, behind one character", base64.b64encode(f" {KEY}".encode()).decode()),
    ("in base64, behind two characters", base64.b64encode(f"a {KEY}".encode()).decode()),
    ("in base64 of URLs", base64.urlsafe_b64encode(f"??>{KEY}".encode()).decode()),
    ("in base64 of base64", base64.b64encode(base64.b64encode(KEY.encode())).decode()),
    ("in base64 behind a path", "/etc/x/" + base64.b64encode(f"key: {KEY}".encode()).decode()),
    ("in UTF-16 as PowerShell encodes commands", base64.b64encode(f"$x = '{KEY}'".encode("utf-16-le")).decode()),
    ("in a URL", quote(f"a={KEY}&b", safe="")),
    ("in a URL, all of it escaped", URL),
    ("in a URL, escaped twice", URL.replace("%", "%25")),
    ("with escapes of JSON", KEY.replace("_", "\\u005f")),
    ("behind an escaped break", f"a\\n{KEY}"),
    ("behind a color", f"\x1b[31m{KEY}"),
    ("over two lines", f"{KEY[:18]}\n{KEY[18:]}"),
    ("over two lines, indented", f"{KEY[:18]}\n        {KEY[18:]}"),
    ("over two lines of a diff", f"+{KEY[:18]}\n+{KEY[18:]}"),
    ("over two lines of a quote", f"> {KEY[:18]}\n> {KEY[18:]}"),
    ("over two lines, escaped", f"{KEY[:18]}\\n{KEY[18:]}"),
    ("over three lines", f"{KEY[:12]}\n{KEY[12:30]}\n{KEY[30:]}"),
    ("in lines of base64", "\n".join(re.findall(".{1,40}", base64.b64encode(f"a: b\nc: {KEY}\nd: e".encode()).decode()))),
    *((f"{deep} deep in JSON", KEY if not deep else json.dumps(["/" + KEY])) for deep in range(2)),
)  # fmt: skip
def test_a_key_is_found_in_every_form_and_has_the_same_value(text):
    hits = SECRETS.find(f"see\n{text} and more")
    assert [(hit.kind, hit.value) for hit in hits] == [("GITHUB_TOKEN", KEY)]


@cases(
    "text",
    ("as a file has it", BLOCK),
    ("with breaks of Windows", BLOCK.replace("\n", "\r\n")),
    ("indented", BLOCK.replace("\n", "\n      ")),
    ("with escaped breaks", BLOCK.replace("\n", "\\n")),
    ("with breaks that are escaped twice", BLOCK.replace("\n", "\\\\n")),
    ("in a diff", "+" + BLOCK.replace("\n", "\n+")),
    ("in a comment", "# " + BLOCK.replace("\n", "\n# ")),
    ("as pieces of a program", '"' + BLOCK.replace("\n", '\\n"\n    "') + '"'),
)
def test_a_block_of_a_key_has_the_same_value_however_its_lines_are_broken(text):
    [hit] = SECRETS.find(f"x\n{text}\ny")
    assert (hit.kind, hit.value) == ("PRIVATE_KEY", BLOCK)


@pytest.mark.parametrize("value", [KEY, BLOCK, TOKEN, PASSWORD])
def test_the_kind_follows_from_the_value_alone(value):
    found = [SECRETS.find(text) for text in (f"password={value}\n", f'{{"password": "{value}"}}', f"token:\t{value}\n")]
    assert {hit.kind for hits in found for hit in hits} == {kind_of(value)}


def test_what_looks_like_a_value_that_its_shape_tells_is_not_taken_for_more():
    [hit] = SECRETS.find(f"sed -i s/TOKEN=.*/TOKEN={KEY}/ .env")
    assert hit.value == KEY


def test_a_line_that_is_another_one_is_no_part_of_a_value():
    [hit] = SECRETS.find("_auth=OnRva2Vu8U8Ffcva6LmEYxWT1x1p3k7Jrf==\nalways-auth=true\n")
    assert hit.value.endswith("==")


@pytest.mark.parametrize("text", [put(row) for row in CONTEXTS] + [KEY, BLOCK])
def test_what_was_replaced_is_not_found_once_more(text):
    place = Placeholders(b"a key for tests of it").of
    for hit in reversed(SECRETS.find(text)):
        text = text[: hit.start] + place(hit) + text[hit.end :]
    assert SECRETS.find(blank_placeholders(text)) == []


PIECES = st.sampled_from(
    [
        *"aA0-_/+=.:@\"'\\ \n\0%{}<>",
        *map(put, CONTEXTS),
        KEY,
        BLOCK,
        URL,
        "\ud800",
        "\U0001f511",
        "é",
        "\\u005f",
        "token=",
    ]
)


@given(st.lists(PIECES | st.text(max_size=8), max_size=12).map("".join))
def test_hits_stand_in_order_within_the_text_and_apart(text):
    hits = SECRETS.find(text)
    assert all(0 <= hit.start < hit.end <= len(text) and hit.value for hit in hits)
    assert all(one.end <= other.start for one, other in itertools.pairwise(hits))


@pytest.mark.parametrize("char", ["a", "0", "A", "/", "\\", "%", "\n", "\0", "\ud800", "=", '"', "é", "&"])
def test_a_million_of_one_character_hold_nothing(char):
    assert SECRETS.find(char * 1_000_000) == []


@given(st.text(max_size=40))
def test_characters_that_are_not_ascii_move_nothing(before):
    hits = [hit for hit in SECRETS.find(f"{before} 🔑é {KEY} ") if hit.value == KEY]
    assert [hit.start for hit in hits] == [len(before) + 4]


OPENAI_KEY = "sk-proj-" + "aB3dE6gH9jK2" * 6 + "T3BlbkFJ" + "mN5pQ8sT1vW4" * 6
EXAMPLE = "AKIAIOSFODNN7EXAMPLE"


@cases(
    "text, values",
    ("two keys", f"A_KEY={OPENAI_KEY}\nGITHUB_TOKEN={KEY}\nDEBUG=1", [OPENAI_KEY, KEY]),
    ("two keys with breaks of Windows", f"A_KEY={OPENAI_KEY}\r\nGITHUB_TOKEN={KEY}\r\n", [OPENAI_KEY, KEY]),
    ("two keys with escaped breaks", f"A_KEY={OPENAI_KEY}\\nGITHUB_TOKEN={KEY}\\n", [OPENAI_KEY, KEY]),
    ("two flags", f"--api-key {OPENAI_KEY} \\\n  --token {KEY} \\\n", [OPENAI_KEY, KEY]),
    ("a key before a word", f"A_KEY={OPENAI_KEY}\nexport DEBUG=1", [OPENAI_KEY]),
    ("an example before a key", f"AWS_ACCESS_KEY_ID={EXAMPLE}\nGITHUB_TOKEN={KEY}\n", [KEY]),
    ("a password before a word", f"password={PASSWORD}\nRestarted9Times\n", [PASSWORD]),
    ("a port before a password", f"U=redis://h.io:6379,TOKEN={TOKEN}@x,B=1", []),
)
def test_a_value_ends_with_its_line(text, values):
    found = {text[hit.start : hit.end] for hit in SECRETS.find(text)}
    assert {each for each in found if "\n" in each or "=" in each} == set()
    assert found >= set(values)
