"""A redacted text differs from its original only inside replaced spans, and each of these is a value."""

import re

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.redact.planted.corpus import samples
from chatsquash.core.options import Options
from chatsquash.redaction import requests
from tests.conftest import cases

REDACTOR = requests.redactor(Options(redact="secrets,phones,paths", anonymize=False), b"a key for tests of it")
PLACE = re.compile(r"<[A-Z_0-9]+_[0-9a-f]{10}>|user-[0-9a-f]{10}")
PLAIN = [each for each in samples() if each.group in ("plain", "phones", "paths") and each.value]


def redacted(text):
    record = {"messages": [{"role": "user", "content": text}]}
    REDACTOR.replace([record])
    return record["messages"][0]["content"]


def spans(before, after):
    """What placeholders replaced, by the texts between them, which have to be those of the original."""
    kept = PLACE.split(after)
    match = re.fullmatch("(.+?)".join(map(re.escape, kept)), before, re.DOTALL)
    assert match, (before, after)
    return match.groups()


@pytest.mark.parametrize("sample", PLAIN[::7], ids=lambda each: each.name)
def test_only_what_was_found_is_replaced(sample):
    hits = REDACTOR.find(sample.text)
    after = redacted(sample.text)
    pieces, done = [], 0
    for hit in hits:
        pieces.append(re.escape(sample.text[done : hit.start]))
        done = hit.end
    pieces.append(re.escape(sample.text[done:]))
    assert re.fullmatch(f"(?:{PLACE.pattern})".join(pieces), after)


@cases(
    "text, values",
    ("a setting", "export API_TOKEN=q8Zr7Vn2Lx8Wd4Rt6Yb3Kc # old", ("q8Zr7Vn2Lx8Wd4Rt6Yb3Kc",)),
    ("a connection string", "Server=db;User Id=app;Password=Zq7!Vn2Lx;Encrypt=True", ("Zq7!Vn2Lx",)),
    ("a URL", "postgres://app:Zq7Vn2Lx8@db:5432/shop?sslmode=on", ("Zq7Vn2Lx8",)),
    ("a DSN of Sentry", f"https://{'0a1b2c3d' * 4}@o1.ingest.sentry.io/42", ("0a1b2c3d" * 4,)),
    ("a driver's login", "app:Zq7Vn2Lx8@tcp(db:3306)/shop", ("Zq7Vn2Lx8",)),
    ("a cookie", "Cookie: lang=en; sessionid=q8Zr7Vn2Lx8Wd4Rt6Yb3Kc; tz=UTC", ("q8Zr7Vn2Lx8Wd4Rt6Yb3Kc",)),
    ("a phone number", "Call (212) 736-5000 before noon.", ("(212) 736-5000",)),
    ("a number after a label", 'x = {"phone": "2127365000", "id": 2127365000}', ("2127365000",)),
    ("a home", "cd /home/asilva/app && ls", ("asilva",)),
    ("a home of a domain", "cd /home/corp.io/asilva/app", ("corp.io", "asilva")),
    ("a placeholder of a template", "mysql://user:<password>@host/db", ()),
    ("pieces in code", 'pw = "Zq7Vn2Lx8Wd4"\nx = "Zq7Vn2" + "Lx8Wd4";', ("Zq7Vn2Lx8Wd4", "Zq7Vn2", "Lx8Wd4")),
    (
        "pieces in a stream",
        'PASSWORD=Zq7Vn2Lx8Wd4\n\ndata: {"delta":{"text":"Zq7Vn2"}}\n\ndata: {"delta":{"text":"Lx8Wd4"}}\n',
        ("Zq7Vn2Lx8Wd4", "Zq7Vn2", "Lx8Wd4"),
    ),
)
def test_a_replaced_span_is_a_value_and_nothing_around_it(text, values):
    assert spans(text, redacted(text)) == values


@settings(max_examples=60)
@given(st.lists(st.sampled_from([each.text for each in PLAIN]) | st.text(max_size=30), max_size=3).map("\n".join))
def test_all_of_a_text_but_what_was_found_stays(text):
    if PLACE.search(text):
        return
    after = redacted(text)
    position = 0
    for kept in PLACE.split(after):
        position = text.find(kept, position)
        assert position >= 0
        position += len(kept)


def test_redacting_twice_changes_nothing():
    for sample in PLAIN[::25]:
        once = redacted(sample.text)
        assert redacted(once) == once


def test_records_stay_json():
    for sample in PLAIN[::25]:
        arguments = orjson.dumps({"content": sample.text}).decode()
        assert orjson.loads(redacted(arguments)).keys() == {"content"}
