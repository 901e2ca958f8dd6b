"""Values that users list are found in every form; what is allowed stays, unless it is denied."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.core.errors import UsageError
from chatsquash.redaction.lists import Lists, ValueList, digest, hash_list
from tests.conftest import cases

SECRET = "hunter2-of-ours"
HASHED = f"sha256:{digest(SECRET)}".encode()


def told(hits):
    return [(hit.kind, hit.rule, hit.value) for hit in hits]


def test_a_file_lists_a_value_a_line():
    listed = ValueList(b"\xef\xbb\xbf# a comment\n\n  one value \r\nre:x+y\nsha256:" + b"AB" * 32 + b"\n", "--deny")
    assert (listed.values, listed.patterns, listed.hashes) == ({"one value"}, ["x+y"], {"ab" * 32})


WRONG = [
    (b"ok\nsha256:12", "--deny, line 2: not a SHA-256"),
    (b"\n\nre:(?=a)b", "--deny, line 3: the pattern is invalid"),
    (b"re:", "--deny, line 1: the pattern is empty"),
    (b"re:a)(b", "--deny, line 1: the pattern is invalid"),
    (b"re:(?x)a #", "--deny, line 1: the pattern is invalid"),
    (b"\xff\xfe", "--deny: the file is not valid UTF-8"),
]


@pytest.mark.parametrize("data, message", WRONG, ids=[message for _, message in WRONG])
def test_what_is_wrong_in_a_list_is_said_with_its_option_and_line(data, message):
    with pytest.raises(UsageError, match=message):
        ValueList(data, "--deny")


@cases(
    "allow, deny, allowed",
    ("a value", b"abc-123", None, True),
    ("another value", b"abc-124", None, False),
    ("a part of it", b"abc", None, False),
    ("a pattern for all of it", b"re:[a-c]+-\\d+", None, True),
    ("a pattern whose first alternative is shorter", b"re:abc|abc-123", None, True),
    ("a pattern for a part of it", b"re:[a-c]+", None, False),
    ("its hash", f"sha256:{digest('abc-123')}".encode(), None, True),
    ("a value that is denied, too", b"abc-123", b"abc-123", False),
    ("a value that a pattern denies", b"abc-123", b"re:^abc", True),
    ("a value that a pattern for all of it denies", b"abc-123", b"re:abc.*", False),
)
def test_allows(allow, deny, allowed):
    assert Lists(allow=allow, deny=deny).allows("abc-123") is allowed


def test_what_is_denied_has_the_kind_of_its_shape_and_else_that_of_secrets():
    token = "ghp_" + "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW2xY4"
    kinds = {hit.value: hit.kind for hit in Lists(deny=f"ab\n{token}".encode()).find(f"ab, {token}")}
    assert kinds["ab"] == "SECRET"
    assert kinds[token].startswith("GITHUB")


@cases(
    "text, hits",
    ("as it stands", "an id-77 here", [("SECRET", "deny", "id-77")]),
    ("in base64", base64.b64encode(b"an id-7788 is in here").decode(), [("SECRET", "deny", "id-7788")]),
    ("escaped", "id%2D7788", [("SECRET", "deny", "id-7788")]),
    ("once where it fits, elsewhere broken", "id-7788, id-\n7788", [("SECRET", "deny", "id-7788")] * 2),
)
def test_a_pattern_that_is_denied_is_found(text, hits):
    assert told(Lists(deny=rb"re:\bid-\d+\b").find(text)) == hits


@cases(
    "text, is_found",
    ("a word", f"use {SECRET}.", True),
    ("in quotes", f'x = "{SECRET}";', True),
    ("in a pair", f"PASSWORD={SECRET}", True),
    ("in a query", f"https://host/?a=1&b={SECRET}&c", True),
    ("in a URL", f"https://ana:{SECRET}@host/", True),
    ("in brackets", f"f({SECRET})", True),
    ("in base64", base64.b64encode(f"user: ana, password: {SECRET}".encode()).decode(), True),
    ("URL-encoded", f"?b={SECRET.replace('-', '%2D')}", True),
    ("in JSON within JSON", json.dumps(json.dumps({"a": SECRET})), True),
    ("broken over lines", f"a\n{SECRET[:9]}\n  {SECRET[9:]}\nb", True),
    ("once plain, once hidden", f"{SECRET} {base64.b64encode(b'so it is ' + SECRET.encode()).decode()}", True),
    ("within a longer word", f"{SECRET}x", False),
    ("a part of it", SECRET[:-1], False),
)
def test_a_value_is_found_by_its_hash(text, is_found):
    hits = Lists(known=HASHED).find(text)
    assert {hit.value for hit in hits} == ({SECRET} if is_found else set())
    assert SECRET not in "".join(text[: hit.start] + text[hit.end :] for hit in hits[:1]) or len(hits) > 1


@cases(
    "text",
    ("all between quotes", 'pass: "correct horse = battery, staple"'),
    ("all behind an equals sign", "pass=correct horse = battery, staple"),
    ("all behind a colon", "pass: correct horse = battery, staple"),
    ("all of a line", "x\n  correct horse = battery, staple \ny"),
)
def test_a_value_with_spaces_is_found_by_its_hash(text):
    phrase = "correct horse = battery, staple"
    assert told(Lists(deny=f"sha256:{digest(phrase)}".encode()).find(text)) == [("SECRET", "deny", phrase)]


@cases(
    "value, text",
    ("signs of URLs in a query", "Copper&vex=Hk@485", "https://x.corp.io/login?u=bob&p=Copper%26vex%3DHk%40485&go=1"),
    ("in a URL within a URL", "Marble&4c?Hx984", "https://sso.corp.io/?next=https%3A%2F%2Fa.io%2F%3Fp%3DMarble%25264c%253FHx984"),
    ("a quote in JSON", 'tundra"TIAEKS07', 'log: {"v":"tundra\\"TIAEKS07"}'),
    ("a quote in JSON within JSON", 'tundra"TI=EKS07', json.dumps(json.dumps({"v": 'tundra"TI=EKS07'}))),
    ("a backslash", "kettle\\JxVGje87", "received 'kettle\\\\JxVGje87'"),
    ("a quote in XML", 'walrus"qmgTJ366', "<p>pin walrus&quot;qmgTJ366</p>"),
    ("a space without width", "JO5tzfiVMQSAAUL", "JO5tzfi\u200bVMQSAAUL"),
)  # fmt: skip
def test_a_value_whose_signs_are_escaped_is_found_by_its_hash(value, text):
    lists = Lists(known=hash_list([digest(value)]))
    assert {hit.value for hit in lists.find(text)} == {value}


def test_a_key_of_several_lines_is_found_by_its_hash():
    key = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\nIOq7Vn2X\n-----END EC PRIVATE KEY-----"
    lists = Lists(known=hash_list([digest(key)]))
    assert [hit.value for hit in lists.find(json.dumps({"key": f"{key}\n"}))] == [key]


def test_what_is_written_is_read():
    hashes = {digest("one value"), digest("another")}
    assert ValueList(hash_list(hashes), "--redact-known").hashes == hashes
    assert b"value" not in hash_list(hashes)


@given(st.lists(st.text(min_size=1).map(str.strip).filter(lambda each: each and "\n" not in each and "\r" not in each)))
def test_no_value_that_is_denied_is_left(denied):
    plain = [each for each in denied if not each.startswith(("#", "re:", "sha256:"))]
    lists = Lists(deny="\n".join(plain).encode("utf-8", "surrogatepass") if plain else None)
    text = " and ".join(plain)
    left, done = [], 0
    for hit in lists.find(text):
        left.append(text[done : hit.start])
        done = hit.end
    assert not [value for value in plain if any(value in each for each in [*left, text[done:]])]
