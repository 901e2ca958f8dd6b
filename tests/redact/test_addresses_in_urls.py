"""Addresses whose at sign is spelled as in URLs have the pseudonym of the same address, and keep their sign."""

import re
from urllib.parse import quote

import orjson
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import Options
from chatsquash.core.log import Log
from chatsquash.redaction import userinfo
from chatsquash.redaction.addresses import addresses, may_contain_address
from chatsquash.redaction.pseudonyms import Anonymizer
from chatsquash.session.converter import Converter
from tests.conftest import cases
from tests.redact.test_pseudonyms import KEY, anonymize, domains, locals_, oracle


def expand(marked):
    """Each «address» or «address sign» in an expectation stands for its pseudonym."""
    return re.sub("«([^ »]*) ?([^»]*)»", lambda found: oracle(found[1], found[2] or "%40"), marked)


@cases(
    "text",
    ("a sign alone is no address", "%40 a%40 %40corp.com a%20%40corp.com"),
    ("a package is no domain", "https://registry.npmjs.org/%40types%2Fnode lodash%404.17.21"),
    ("a file is no domain", "logo%402x.png"),
    ("reserved domains stay", "a%40example.com a%40b%2Eexample"),
    ("git is no person", "git%40github.com"),
    ("what is spelled five times over is left", "jane%2525252540corp.com"),
    ("a pseudonym stays", "0123456789abcdef%4012345678.example"),
)
def test_must_not_change(text):
    assert anonymize(text) == text


def test_a_local_part_may_be_too_long():
    text = "%61" * 65 + "%40b.com"
    assert anonymize(text) == text


@cases("text, expected",
    ("an address in a query", "?to=jane%40corp.com&cc=bob%40b.de", "?to=«jane@corp.com»&cc=«bob@b.de»"),
    ("the sign stays as often spelled", "jane%2540corp.com", "«jane@corp.com %2540»"),
    ("a local part has escapes", "jane%2Bspam%40corp.com", "«jane+spam@corp.com»"),
    ("in another case too", "j%6fe%2bx%40Corp.com", "«joe+x@corp.com»"),
    ("all may be escapes", "%6A%61%6E%65%40%63%6F%72%70%2E%63%6F%6D", "«jane@corp.com»"),
    ("letters of two bytes", "j%C3%BCrgen%40m%C3%BCller.de", "«jürgen@müller.de»"),
    ("other marks end a local part", "%22jane%40corp.com%22%3Cjane%40corp.com%3E", "%22«jane@corp.com»%22%3C«jane@corp.com»%3E"),
    ("characters of other scripts too", "%E8%B0%A2jane%40corp.com%E8%B0%A2", "%E8%B0%A2«jane@corp.com»%E8%B0%A2"),
    ("what is no UTF-8 too", "%FFjane%40corp.com%C3", "%FF«jane@corp.com»%C3"),
    ("a list of them", "a%40b.com%2Cc%40d.com%20e%40f.com", "«a@b.com»%2C«c@d.com»%20«e@f.com»"),
    ("nothing joins two of them", "a%40b.com_c%40d.com", "«a@b.com»_«c@d.com»"),
    ("a local part of 64 characters", "%61" * 64 + "%40b.com", f"«{'a' * 64}@b.com»"),
    ("an escape of JSON is none of it", r'{"a": "\njane%40corp.com"}', r'{"a": "\n«jane@corp.com»"}'),
    ("one that is spelled as in URLs too", "%5Cnjane%40corp.com", "%5Cn«jane@corp.com»"),
    ("before a host", "jane%40corp.com@mail.corp.com", "«jane@corp.com»@mail.corp.com"),
    ("a sign that is none of them is of a local part", "x%40y@corp.com", "«x%40y@corp.com @»"),
)  # fmt: skip
def test_is_hidden(text, expected):
    anonymizer = Anonymizer(KEY)
    assert anonymizer.text(text) == expand(expected)
    assert anonymizer.count == expected.count("«") == sum(1 for _ in addresses(text))
    assert anonymize(expand(expected)) == expand(expected)
    assert may_contain_address(orjson.dumps(text))


@given(
    locals_.filter(lambda local: "%" not in local),
    domains,
    st.integers(1, 4),
    st.sampled_from(["/", "?to=", "%20", "%3D", " ", '"', "谢"]),
)
def test_every_address_is_found_that_is_quoted(local, domain, times, before):
    written = quote(f"{local}@{domain}", safe="")
    for _ in range(times - 1):
        written = quote(written, safe="")
    plain = f"{local}@{domain}"
    assert anonymize(f"{before}{written}&") == f"{before}{oracle(plain, quoted_sign(times))}&"


def quoted_sign(times):
    return "%" + "25" * (times - 1) + "40"


@given(st.text(st.sampled_from("a/é谢%25\ud800 "), max_size=12), st.integers(0, 3), st.integers(0, 3))
def test_a_part_is_read_as_it_is_quoted_and_keeps_its_places(text, times, margin):
    written = text
    for _ in range(times):
        written = quote(written, safe="", errors="replace")
    plain, places = userinfo.percent_decoded(f"{'x' * margin}{written}x", margin, margin + len(written))
    assert len(places) == len(plain) + 1
    assert places == sorted(places)
    assert (places[0], places[-1]) == (margin, margin + len(written)) or not plain
    if times and "%" not in text:
        assert plain == text.encode("utf-8", "replace").decode()


def test_addresses_in_urls_are_found_in_the_record(tmp_path):
    messages = [{"role": "user", "content": "see ?to=jane%40corp.com"}]
    reply = {"role": "assistant", "content": "mail bob%2540corp.com, not 100 %"}
    line = {"timestamp": "2026-01-13T10:00:01Z", "session_id": "s", "request": {"model": "m", "messages": messages}}
    path = tmp_path / "s.jsonl"
    path.write_bytes(orjson.dumps({**line, "response": {"model": "m", "choices": [{"message": reply}]}}) + b"\n")
    log = Log(str(path), path.name, path.name, path.stat().st_size)
    outcome = Converter(Options(anonymize_key=b"a key for tests")).convert(log)
    assert outcome.privacy.addresses == 2
    assert b"corp" not in outcome.records[0].line
