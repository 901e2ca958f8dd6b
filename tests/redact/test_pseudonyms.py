"""E-mail addresses become keyed pseudonyms, in time linear in the text, and JSON in text stays JSON."""

import base64
import copy
import hashlib
import hmac
import json
import re
import subprocess
import sys

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.redaction.addresses import may_contain_address
from chatsquash.redaction.pseudonyms import Anonymizer, fingerprint, may_change
from tests.conftest import cases

KEY = b"a key of thirty-two bytes or so."
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def digits(message, length):
    number = int(hmac.new(KEY, message.encode(), hashlib.sha256).hexdigest(), 16)
    return "".join(DIGITS[number // 36**place % 36] for place in reversed(range(length)))


def oracle(address, sign="@"):
    address = address.lower()
    return f"{digits(address, 16)}{sign}{digits('domain:' + address.partition('@')[2], 8)}.example"


def expand(marked):
    """Each «address» in an expectation stands for its pseudonym."""
    return re.sub("«([^»]*)»", lambda found: oracle(found[1]), marked)


def anonymize(text):
    return Anonymizer(KEY).text(text)


@cases(
    "text",
    ("empty text stays", ""),
    ("text without an at sign stays", "no address here, only john at corp.com"),
    ("lone at signs stay", "@ @@ @@@ a@ @b a @ b.com"),
    ("a handle has no local part", "thanks @john.smith and (@corp.com)"),
    ("a decorator is no address", "@pytest.fixture\n@app.route('/x')"),
    ("a domain has two labels", "root@host"),
    ("a top-level domain has two letters", "a@b.c"),
    ("a top-level domain has no digits", "lodash@4.17.21 python@3.11.rc1 user@10.0.0.1 song@bar.mp3 x@y.co2"),
    ("a label is not empty", "a@.com a@b..com"),
    ("a label does not start with a hyphen", "a@-b.com a@b.-com"),
    ("a label does not end in a hyphen", "a@b-.com"),
    ("a label has at most 63 characters", "a@" + "b" * 64 + ".com"),
    ("a domain has at most 255 characters", "a@" + "b1." * 90 + "com"),
    ("a local part has at most 64 characters", "a" * 65 + "@corp.com"),
    ("a local part is more than dots and hyphens", "..--@corp.com"),
    ("git is no person", "git@github.com:a/b.git GIT@corp.com ssh://git@corp.com/x"),
    ("a file is no domain", "name@2x.png logo@3x.JPG bundle@1.min.js icon@2.svg."),
    ("a file with more after it is no domain", "see name@2x.png-old, name@2x.png, name@2x.png_1"),
    ("a systemd unit is no address", "getty@tty1.service user@1000.slice x@y.timer"),
    ("reserved top-level domains stay", "a@b.example a@b.invalid a@b.test a@b.localhost a@B.EXAMPLE"),
    ("reserved domains stay", "a@example.com a@example.org a@mail.Example.NET"),
    ("a pseudonym stays, whatever follows", "0123456789abcdef@12345678.example.de x"),
    ("an escape is no local part of JSON text", r'{"a": "x\n@corp.com \u003c@corp.com \\n@corp.com"}'),
)
def test_must_not_change(text):
    anonymizer = Anonymizer(KEY)
    assert anonymizer.text(text) is text
    assert anonymizer.count == 0


@cases("text, expected",
    ("an address is hidden", "john@corp.com", "«john@corp.com»"),
    ("the same address, the same pseudonym", "a@b.de a@b.de", "«a@b.de» «a@b.de»"),
    ("case makes no difference", "John@CORP.com", "«john@corp.com»"),
    ("a full stop ends a sentence", "Mail a@b.com.", "Mail «a@b.com»."),
    ("leader dots stay", "a@b.com....... 5", "«a@b.com»....... 5"),
    ("a hyphen at the end stays", "foo@bar.com-", "«foo@bar.com»-"),
    ("what hangs on by a hyphen stays", "john@bar.com-owned", "«john@bar.com»-owned"),
    ("a last label with digits stays", "a@b.com.5", "«a@b.com».5"),
    ("an underscore ends a domain", "a@b.com_old", "«a@b.com»_old"),
    ("dots and hyphens before it stay", "--.john@bar.com", "--.«john@bar.com»"),
    ("any number of them", "-" * 300 + "john@bar.com", "-" * 300 + "«john@bar.com»"),
    ("after a long run too", "x" * 40 + "-" * 61 + "john@bar.com", "x" * 40 + "-" * 61 + "«john@bar.com»"),
    ("brackets stay", "<a@b.com>,(a@b.com)", "<«a@b.com»>,(«a@b.com»)"),
    ("mailto: and user: stay", "mailto:a@b.com me:pw@b.com", "mailto:«a@b.com» me:«pw@b.com»"),
    ("a local part may have ._%+-", "a.b_c%d+e-f@g.com", "«a.b_c%d+e-f@g.com»"),
    ("64 characters are a local part", "a" * 64 + "@b.com", f"«{'a' * 64}@b.com»"),
    ("63 characters are a label", f"a@{'b' * 63}.com", f"«a@{'b' * 63}.com»"),
    ("255 characters are a domain", f"a@{'bb.' * 84}com.x1", f"«a@{'bb.' * 84}com».x1"),
    ("of more, what fits is taken", f"a@{'bb.' * 84}com.de", f"«a@{'bb.' * 84}com».de"),
    ("but no half label", f"a@{'bb.' * 84}community", f"«a@{'bb.' * 83}bb».community"),
    ("many labels are a domain", "a@b.c.d.co.uk", "«a@b.c.d.co.uk»"),
    ("other alphabets are letters", "jürgen@müller.de ιω@ελ.ελ яна@почта.рф", "«jürgen@müller.de» «ιω@ελ.ελ» «яна@почта.рф»"),
    ("Armenian and Greek punctuation are none", "a@b.am։ a@b.gr\u037e", "«a@b.am»։ «a@b.gr»\u037e"),
    ("other scripts end an address", "请联系a@b.com谢谢", "请联系«a@b.com»谢谢"),
    ("a punycode top-level domain is one", "a@b.xn--p1ai-.", "«a@b.xn--p1ai»-."),
    ("real top-level domains stay addresses", "a@b.py a@b.md a@b.sh a@b.zip", "«a@b.py» «a@b.md» «a@b.sh» «a@b.zip»"),
    ("a reserved word elsewhere reserves nothing", "a@test.com a@example.de", "«a@test.com» «a@example.de»"),
    ("git as part of a name is a person", "git.hub@b.com", "«git.hub@b.com»"),
    ("the handle of a federated account is an address", "@jo.hn@mas.social", "@«jo.hn@mas.social»"),
    ("a domain is no local part", "a@b.com@c.com", "«a@b.com»@c.com"),
    ("nothing joins two addresses", "a@b.com%20c@d.com a@b.com_c@d.com", "«a@b.com»%«20c@d.com» «a@b.com»_«c@d.com»"),
    ("after a file comes an address", "x@2x.png-a@b.com", "x@2x.png-«a@b.com»"),
    ("after a pseudonym comes an address", "0123456789abcdef@12345678.example.de-x@c.com", "0123456789abcdef@12345678.example.«de-x@c.com»"),
    ("a path that reads like an escape", r"C:\new@corp.com", r"C:\n«ew@corp.com»"),
    ("a path that does not", r"C:\data\home@corp.com", r"C:\data\«home@corp.com»"),
    ("JSON lines", '{"a":"x\\njane@corp.com"}\n{"a":"y\\tjane@corp.com"}', '{"a":"x\\n«jane@corp.com»"}\n{"a":"y\\t«jane@corp.com»"}'),
    ("JSON inside a text", r'Output: {"a": "\njane@corp.com"}', r'Output: {"a": "\n«jane@corp.com»"}'),
    ("broken JSON", r'{"a": "\nfoo@bar.com', r'{"a": "\n«foo@bar.com»'),
    ("an escape in JSON stays", r'{"a":"x\nfoo@bar.com"}', r'{"a":"x\n«foo@bar.com»"}'),
    ("escapes of four digits too", r'["\u003cfoo@bar.com\u003e"]', r'["\u003c«foo@bar.com»\u003e"]'),
    ("and pairs of them", r'["\ud83d\ude00foo@bar.com"]', r'["\ud83d\ude00«foo@bar.com»"]'),
    ("JSON in JSON", r'{"a":"{\"b\":\"\\tfoo@bar.com\"}"}', r'{"a":"{\"b\":\"\\t«foo@bar.com»\"}"}'),
    ("a JSON string is JSON", r' "\rfoo@bar.com"', r' "\r«foo@bar.com»"'),
    ("JSON with NaN is Python's", r'[NaN, "\bfoo@bar.com"]', r'[NaN, "\b«foo@bar.com»"]'),
    ("broken JSON with NaN", r'[NaN, "\bfoo@bar.com"', r'[NaN, "\b«foo@bar.com»"'),
    ("u without digits is no escape", r'["C:\\users@corp.com"]', r'["C:\\«users@corp.com»"]'),
    ("keys inside JSON text are text", '{"a@b.com": 1}', '{"«a@b.com»": 1}'),
    ("an escape does not count as length", rf'["\u003c{"a" * 64}@b.com"]', rf'["\u003c«{"a" * 64}@b.com»"]'),
    ("JSON too deep to parse keeps its escapes", "[" * 99999 + r'"\na@b.com', "[" * 99999 + r'"\n«a@b.com»'),
    ("lone surrogates do no harm", '["\ud800\\na@b.com"]', '["\ud800\\n«a@b.com»"]'),
)  # fmt: skip
def test_is_hidden(text, expected):
    anonymizer = Anonymizer(KEY)
    assert anonymizer.text(text) == expand(expected)
    assert anonymizer.count == expected.count("«")
    assert anonymize(expand(expected)) == expand(expected)


@pytest.mark.parametrize("sign", [r"\u0040", r"\\u0040", r"\\\\u0040"])
def test_an_escaped_at_sign_counts_and_stays_escaped(sign):
    text = f'{{"a": "\\nfoo{sign}bar.com, {sign}bar.com"}}'
    assert anonymize(text) == f'{{"a": "\\n{oracle("foo@bar.com", sign)}, {sign}bar.com"}}'
    assert anonymize(anonymize(text)) == anonymize(text)


def test_a_pseudonym_of_letters_only_is_no_label_of_the_domain_before_it(monkeypatch):
    monkeypatch.setattr("chatsquash.redaction.pseudonyms._DIGITS", "abcdefghijklmnopqrstuvwxyz" * 2)
    once = anonymize("x@2x.png.5x@c.com")
    assert re.fullmatch(r"x@2x\.png\.[a-z]{16}@[a-z]{8}\.example", once)
    assert anonymize(once) == once


def test_another_key_gives_other_pseudonyms():
    assert Anonymizer(b"other").text("a@b.com") != anonymize("a@b.com")


def test_addresses_of_one_domain_share_its_label():
    one, other = (anonymize(text).partition("@") for text in ("a@b.com", "c@B.com"))
    assert one[2] == other[2]
    assert one[0] != other[0]


def test_a_fingerprint_tells_keys_apart_and_is_no_pseudonym():
    assert re.fullmatch("[0-9a-f]{16}", fingerprint(KEY))
    assert fingerprint(KEY) != fingerprint(b"other")
    assert fingerprint(KEY) not in (hmac.new(KEY, b"", "sha256").hexdigest()[:16], hashlib.sha256(KEY).hexdigest()[:16])


def test_values_are_copied_only_along_what_changes():
    value = {"a@b.com": ["a@b.com", {"x": 1}], "same": [{"y": "z"}], "n": None}
    before = copy.deepcopy(value)
    anonymizer = Anonymizer(KEY)
    after = anonymizer.value(value)
    assert after == {"a@b.com": [oracle("a@b.com"), {"x": 1}], "same": [{"y": "z"}], "n": None}
    assert value == before
    assert after["same"] is value["same"]
    assert after["a@b.com"][1] is value["a@b.com"][1]
    assert list(after) == list(value)
    assert anonymizer.count == 1


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "text", [], {}, {"a": [1, {"b@c.com": "d"}]}])
def test_a_value_without_addresses_is_the_same_object(value):
    assert Anonymizer(KEY).value(value) is value


@given(st.text() | st.text(alphabet="jane.corp-com:/ u0\\\\40"))
def test_only_a_text_with_a_sign_of_an_address_may_change(text):
    assert may_change(text) or anonymize(text) == text


def test_a_string_is_a_value():
    assert Anonymizer(KEY).value("a@b.com") == oracle("a@b.com")


def test_depth_costs_no_recursion():
    deep, expected = "a@b.com", oracle("a@b.com")
    for level in range(20000):
        deep, expected = ([deep], [expected]) if level % 2 else ({"k": deep}, {"k": expected})
    after = Anonymizer(KEY).value(deep)
    while not isinstance(after, str):
        after, expected = (after["k"], expected["k"]) if isinstance(after, dict) else (after[0], expected[0])
    assert after == expected


LOCAL = "abcxyzABC0189._%+-éß"
FRAGMENTS = [
    *[
        "@",
        "@",
        "@",
        ".",
        ".",
        "-",
        "_",
        "%2C",
        "a",
        "john.smith",
        "git",
        "b.com",
        "bar.co",
        ".com",
        "2x.png",
        "5",
        "1.2",
    ],
    *["test", ".example", "xn--p1ai", "\\", "\\n", "\\u003c", "\\u0040", "\\\\u0040", '\\"', '"', " ", "\n", "<", ">"],
    *"%40 %2540 %2e %C3%A9 %E8%B0 %5Cn % 2 :// https://u: : / & # ' {pw} %3A%2F%2F https%3A//u%3A %3a <x> /12 80,".split(),
    *r"https:\/\/u: \\/ :\u002f\u002F \u0026 \u003cx\u003E <SECRET_0123456789> ghp_0123456789abcdefABCD".split(),
    *["0" * 31 + "a", "0123456789abcdef%4012345678.example"],
    *["é", "я.яя", "a" * 63, "-" * 70, "a." * 130, "a1." * 90, "0123456789abcdef@12345678.example", "\ud800", "[", "{"],
]
soups = st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join)
values = st.recursive(
    st.none() | st.integers() | soups,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(soups, inner, max_size=4),
    max_leaves=8,
)
locals_ = st.from_regex(r"[a-zA-Z0-9é_%+][a-zA-Z0-9é._%+-]{0,20}", fullmatch=True).filter(
    lambda s: s.lower() != "git" and "%40" not in s and "%2540" not in s
)
domains = st.from_regex(r"([a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?\.){1,3}(com|de|xn--p1ai)", fullmatch=True).filter(
    lambda s: not s.endswith("example.com")
)


def skeleton(value):
    """A JSON value's structure: what is left when every string is the same; pairs keep keys that became alike."""
    if isinstance(value, list):
        return [skeleton(member) for member in value]
    if isinstance(value, tuple):
        return ("object", *(skeleton(member) for _, member in value))
    return "" if isinstance(value, str) else value


def structure(text):
    return skeleton(json.loads(text, object_pairs_hook=lambda pairs: tuple(pairs)))


@given(values, st.booleans(), st.booleans())
def test_json_text_stays_json_of_the_same_structure(value, ascii_only, nested):
    text = json.dumps(value, ensure_ascii=ascii_only)
    if nested:
        text = json.dumps({"arguments": text}, ensure_ascii=not ascii_only)
    after = anonymize(text)
    assert structure(after) == structure(text)
    if nested:
        assert structure(json.loads(after)["arguments"]) == structure(json.loads(text)["arguments"])


@given(soups)
def test_whatever_parsed_still_parses(soup):
    for text in (soup, f'"{soup}"', f'["{soup}"]'):
        try:
            before = structure(text)
        except ValueError:
            continue
        assert structure(anonymize(text)) == before


@given(soups | soups.map(json.dumps) | soups.map('"{}"'.format))
def test_a_second_time_changes_nothing(text):
    once = anonymize(text)
    assert anonymize(once) == once


@given(
    st.lists(
        st.tuples(st.sampled_from(["Mail ", "<", "(", '"', "an ", "\n", "谢", ": ", "/"]), locals_, domains), max_size=6
    ),
    st.sampled_from([" ", ", ", ".\n", ">", '"', "-", "!", "谢", "_", ": ", "/"]),
)
def test_every_address_in_prose_is_hidden(addresses, after):
    text = "".join(f"{before}{local}@{domain}{after} " for before, local, domain in addresses)
    expected = "".join(f"{before}{oracle(f'{local}@{domain}')}{after} " for before, local, domain in addresses)
    assert anonymize(text) == expected


@given(values)
def test_keys_stay_and_strings_change_as_texts_do(value):
    def naive(value):
        if isinstance(value, dict):
            return {key: naive(member) for key, member in value.items()}
        if isinstance(value, list):
            return [naive(member) for member in value]
        return anonymize(value) if isinstance(value, str) else value

    before = copy.deepcopy(value)
    assert Anonymizer(KEY).value(value) == naive(value)
    assert value == before


SIZE = 1_000_000


def every_ten(text):
    return "@".join(text[start : start + 9] for start in range(0, len(text), 9))


def hard():
    """Texts that are hard to look for addresses in, by what they are."""
    random = base64.urlsafe_b64encode(hashlib.shake_128(b"seed").digest(SIZE * 3 // 4)).decode()
    return {
        "base64url": random + "@b.com",
        "base64url after the sign": "a@" + random,
        "base64url with signs": every_ten(random),
        "a-a-a-": "a-" * (SIZE // 2) + "@b.com",
        "a-a-a- after the sign": "a@" + "a-" * (SIZE // 2),
        "a-a-a- with signs": every_ten("a-" * (SIZE // 2)),
        "a.a.a.": "a." * (SIZE // 2) + "@b.com",
        "a.a.a. after the sign": "a@" + "a." * (SIZE // 2),
        "a.a.a. with signs": every_ten("a." * (SIZE // 2)),
        "a1.a1. after the sign": "a@" + "aa.a1." * (SIZE // 6),
        "hyphens": "-" * SIZE + "@b.com",
        "a@": "a@" * (SIZE // 2),
        "@": "@" * SIZE,
        "a.a@": "a.a@" * (SIZE // 4),
        "backslashes": '["' + "\\" * SIZE + 'n@b.com"]',
        "backslashes before signs": '["' + ("\\" * 96 + "n@b.com ") * (SIZE // 104) + '"]',
        "backslashes before an escaped sign": '["a' + "\\" * SIZE + 'u0040b.com"]',
        "escaped signs": '["' + "a\\u0040" * (SIZE // 7) + '"]',
        "broken JSON": '["' + "\\na@b.png" * (SIZE // 9),
        "no separator": "a@" + "xn--" * (SIZE // 4),
        "encoded signs": "a%40" * (SIZE // 4),
        "encoded signs with domains": "a%40b.co " * (SIZE // 9),
        "escapes before an encoded sign": "%61" * (SIZE // 3) + "%40b.com",
        "escapes behind an encoded sign": "a%40" + "%61%2E" * (SIZE // 6),
        "percent signs": "%" * SIZE + "%40",
        "25 and more of it": "%" + "25" * (SIZE // 2) + "40b.com",
        "slashes and signs": "://a:" + "b@" * (SIZE // 2),
        "slashes": "://a:" * (SIZE // 5) + "@b.com",
        "passwords": "://a:b@c " * (SIZE // 9),
        "slashes of JSON": r":\u002f\u002f" * (SIZE // 13) + "@b.com",
        "escapes in a password": "://a:" + r"\u0026" * (SIZE // 6) + "@b.com",
        "slashes of URLs": "%3A%2F%2Fa" * (SIZE // 10) + "%40b.com",
        "slashes and signs of URLs": "%3A%2F%2Fa%3A" + "b%40" * (SIZE // 4),
    }


CHILD = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (100, 100))
from chatsquash.redaction.pseudonyms import Anonymizer
for shape, text in json.load(sys.stdin).items():
    print(shape, flush=True)
    Anonymizer(b"key").text(text)
"""


def test_hard_texts_take_linear_time():
    """A megabyte of each in 100 seconds of processor time: linear work needs a few, quadratic work takes hours."""
    given = json.dumps(hard())
    done = subprocess.run([sys.executable, "-c", CHILD], input=given, text=True, capture_output=True, check=False)
    shapes = done.stdout.splitlines()
    assert done.returncode == 0, f"{shapes[-1:]}: {done.stderr}"
    assert shapes == [*hard()]


@given(st.lists(st.fixed_dictionaries({"role": st.just("user"), "content": values})))
def test_messages_change_as_values_do_and_are_written_as_they_are_then(messages):
    plain, quick = Anonymizer(KEY), Anonymizer(KEY)
    expected = [plain.value(message) for message in messages]
    replaced, written = quick.messages(messages)
    assert (replaced, quick.count) == (expected, plain.count)
    assert written is None or orjson.loads(b"[%b]" % b",".join(written)) == expected


def test_a_sign_that_is_in_no_address_is_told_by_what_stands_behind_it():
    for text in ("@dataclass(frozen=True)", "npm @types/a@4.2 now", "clone git@host.internal:a.git", "no sign"):
        assert not may_contain_address(orjson.dumps(text)), text
