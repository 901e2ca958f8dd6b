r"""What stands before the host of a URL is no address: its password is replaced, whatever it has, and its host stays."""

import json
import re
from urllib.parse import quote

import orjson
from hypothesis import assume, given
from hypothesis import strategies as st

from chatsquash.redaction import userinfo
from chatsquash.redaction.addresses import addresses, may_contain_address
from chatsquash.redaction.pseudonyms import Anonymizer
from chatsquash.redaction.secrets import kind_of
from chatsquash.redaction.values import Hit, Placeholders
from tests.conftest import cases
from tests.redact.test_pseudonyms import KEY, anonymize, oracle

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


def placeholder(value):
    return Placeholders(KEY).of(Hit(0, 0, kind_of(value), "", value))


def expand(marked):
    """Each «value» in an expectation stands for its placeholder, each {address} for its pseudonym."""
    marked = re.sub("«([^»]*)»", lambda found: placeholder(found[1]), marked)
    return re.sub("{([^}]*?)(@|%40)([^}]*)}", lambda found: oracle(f"{found[1]}@{found[3]}", found[2]), marked)


@cases(
    "text",
    ("a variable", "https://me:$TOKEN@corp.com https://me:${TOKEN}@corp.com https://$U:$(get_it)@corp.com %PW%"),
    ("a variable of a template", "https://{user}:{password}@corp.com https://x:{{pw}}@corp.com"),
    ("a variable of a format", "https://%s:%s@corp.com https://me:%(pw)s@corp.com https://me:%PW%@corp.com"),
    ("several variables", "https://me:${A}-${B}@corp.com"),
    ("what takes its place", "https://me:<password>@corp.com https://me:[REDACTED]@corp.com"),
    ("a mask", "https://me:****@corp.com https://me:xxxx@corp.com https://me:ab***@corp.com https://me:...@corp.com"),
    ("a word of examples", "https://user:password@corp.com https://user:YOUR_TOKEN@corp.com https://u:change-me@corp.com"),
    ("a word of every default", "postgres://postgres:postgres@db.corp.com amqp://guest:guest@corp.com"),
    ("a pattern for one", r"re.sub('://[^:]+:[^:]+@', '://')"),
    ("none", "https://me:@corp.com https://:@corp.com"),
    ("a login for git", "ssh://git@github.com/a/b"),
    ("a key that is sent to everybody", f"https://{'0a1b2c3d' * 4}@o1.ingest.sentry.io/42"),
    ("a placeholder", "https://me:<SECRET_0123456789>@corp.com https://<API_KEY_0123456789>@corp.com"),
    ("one as JSON for web pages has it", r"https://me:\u003cpassword\u003e@corp.com"),
)  # fmt: skip
def test_stays(text):
    anonymizer = Anonymizer(KEY)
    assert anonymizer.text(text) is text
    assert anonymizer.passwords == []


@cases(
    "text, expected",
    ("a password", "https://user:tok@host/", "https://user:«tok»@host/"),
    ("the host stays", "https://user:s3cret@corp.com:80/x", "https://user:«s3cret»@corp.com:80/x"),
    ("of any scheme", "jdbc:postgresql://a:b1@h git+ssh://a:b1@h", "jdbc:postgresql://a:«b1»@h git+ssh://a:«b1»@h"),
    ("without a user", "redis://:s3cret@10.0.0.1:6379", "redis://:«s3cret»@10.0.0.1:6379"),
    ("the last sign ends it", "https://u:p@ss:w@rd@corp.com", "https://u:«p@ss:w@rd»@corp.com"),
    ("a path ends it", "https://u:pw1@host/a@corp.com", "https://u:«pw1»@host/{a@corp.com}"),
    ("a query ends it", "https://host?a=b:c@corp.com", "https://host?a=b:{c@corp.com}"),
    ("escapes are decoded", "https://u:a%26b@h https://u:a&b@h", "https://u:«a&b»@h https://u:«a&b»@h"),
    ("escapes of JSON too", r"https:\/\/u:a\u0026b\u0040h.de\/", r"https:\/\/u:«a&b»\u0040h.de\/"),
    ("JSON for web pages", r"https:\u002F\u002Fu:pw1@h.de", r"https:\u002F\u002Fu:«pw1»@h.de"),
    ("a URL in a URL", "?to=https%3A%2F%2Fu%3Apw1%40corp.com%2F", "?to=https%3A%2F%2Fu%3A«pw1»%40corp.com%2F"),
    ("with its slashes as they are", "https%3A//u%3Apw1%40corp.com/", "https%3A//u%3A«pw1»%40corp.com/"),
    ("in a URL in a URL", "https%253A%252F%252Fu%253Ap%252540w%2540h", "https%253A%252F%252Fu%253A«p@w»%2540h"),
    ("a token is the user", f"https://{TOKEN}@github.com/a", f"https://«{TOKEN}»@github.com/a"),
    ("of no known shape", "https://a1b2c3d4e5f6a7b8c9d0@corp.com", "https://«a1b2c3d4e5f6a7b8c9d0»@corp.com"),
    ("with a word for a password", f"https://{TOKEN}:x-oauth-basic@h.de", f"https://«{TOKEN}»:x-oauth-basic@h.de"),
    ("with a password", f"https://{TOKEN}:pw1@h.de", f"https://«{TOKEN}»:«pw1»@h.de"),
    ("a user is an address", "https://jane%40corp.com:pw1@host/", "https://{jane%40corp.com}:«pw1»@host/"),
    ("as it is written", "https://jane@corp.com:pw1@host/", "https://{jane@corp.com}:«pw1»@host/"),
    ("a user without a password is one", "ssh://jane@corp.com/x", "ssh://{jane@corp.com}/x"),
    ("a long name is one", "ssh://jane-maria-of-the-north@corp.com", "ssh://{jane-maria-of-the-north@corp.com}"),
    ("what follows a port is one", "http://corp.com:80,jane@corp.com", "http://corp.com:80,{jane@corp.com}"),
    ("without a scheme nothing can be told", "user:pw1@corp.com", "user:{pw1@corp.com}"),
    ("a string ends it", "'http://corp.com:80';'jane@corp.com'", "'http://corp.com:80';'{jane@corp.com}'"),
    ("and one in JSON", r'"http://h:80\",\"jane@corp.com', r'"http://h:80\",\"{jane@corp.com}'),
)
def test_is_hidden(text, expected):
    anonymizer = Anonymizer(KEY)
    assert anonymizer.text(text) == expand(expected)
    assert len(anonymizer.passwords) == expected.count("«") == len(userinfo.passwords(text))
    assert anonymizer.count == expected.count("{") == sum(1 for _ in addresses(text))
    assert anonymize(expand(expected)) == expand(expected)
    assert may_contain_address(orjson.dumps(text))


def test_a_redactor_may_do_it():
    anonymizer = Anonymizer(KEY, passwords=False)
    assert anonymizer.text("a@b.com https://me:pw1@b.com") == expand("{a@b.com} https://me:pw1@b.com")
    assert anonymizer.passwords == []
    assert userinfo.passwords("https://me:pw1@b.com") == [Hit(11, 14, "SECRET", "url-userinfo", "pw1")]


def test_what_is_counted_apart_is_not_counted():
    anonymizer = Anonymizer(KEY)
    assert anonymizer.anonymize(["a@b.com", "https://me:pw1@b.com"])[1] == 1
    assert (anonymizer.count, anonymizer.passwords) == (0, [])


PASSWORD = st.text(st.sampled_from("aZ09.:&=+%~$!*é_-@/?#<>[]{}()'\" \\"), min_size=1, max_size=30)
SPELLINGS = {
    "plain": lambda url: url,
    "JSON": json.dumps,
    "JSON in JSON": lambda url: json.dumps(json.dumps(url)),
    "JSON of PHP": lambda url: json.dumps(url).replace("/", "\\/"),
    "JSON for web pages": lambda url: json.dumps(url).replace("/", "\\u002F").replace("@", "\\u0040"),
    "in a URL": lambda url: quote(url, safe=""),
    "in a URL of Python": quote,
    "in a URL in a URL": lambda url: quote(quote(url, safe=""), safe=""),
}


@given(PASSWORD, st.sampled_from(["me", "", "a.b", "me%40corp.com"]), st.sampled_from(["h", "corp.com", "10.0.0.1:80"]))
def test_no_password_survives_and_every_spelling_has_the_same_placeholder(password, user, host):
    quoted = quote(password, safe="")
    assume(not userinfo._is_no_password(password))
    url = f"https://{user}:{quoted}@{host}/x"
    for name, spelled in SPELLINGS.items():
        after = anonymize(f"see {spelled(url)} now")
        assert placeholder(password) in after, name
        assert spelled(f"@{host}/x").strip('"\\') in after, name
        assert len(quoted) < 4 or quoted not in after.replace(placeholder(password), ""), name


@given(st.from_regex(r"[a-zA-Z0-9.:&=+~!_@é-]{1,30}", fullmatch=True))
def test_a_password_that_is_not_quoted_does_not_survive(password):
    assume(not userinfo._is_no_password(password))
    for before, after in (("https://me:", "@host/"), (r"https:\/\/me:", r"\u0040host\/")):
        assert anonymize(f"{before}{password}{after}") == f"{before}{placeholder(password)}{after}"


@given(
    st.lists(
        st.sampled_from(["://", "u:", "pw", "@", "h.de", "/", " ", '"', "\\", "u002f", "u0040", "a" * 300]), max_size=12
    )
)
def test_what_may_hold_any_is_never_told_to_hold_none(pieces):
    text = "".join(pieces)
    assert userinfo.may_have_userinfo(text) or not any(userinfo.userinfos(text))
    assert may_contain_address(orjson.dumps(text)) or not userinfo.passwords(text)
