"""Every regular expression of the package takes time linear in the text, whatever the text.

What is timed takes long, and runs with `make fuzz-fixed`; `make test` holds every pattern to be known here.
"""

import ast
import re
from collections import deque
from functools import cache

import pytest

from chatsquash.core.registry import declaration, items
from chatsquash.formats.agents.claude_code import texts as client_texts
from chatsquash.formats.service import Service
from chatsquash.reading import replies
from chatsquash.records.presets import text
from chatsquash.redaction import addresses, encodings, forms, ips, lists, names, phones, rules, secrets, userinfo
from chatsquash.redaction import shapes as shapes_of_rules
from chatsquash.session import ending, private_texts
from chatsquash.session.cleaning.goose import _INFO, _is_info
from chatsquash.sources import compression as compressed
from chatsquash.sources import unfold
from chatsquash.storage.stores import _HOSTS
from chatsquash.storage.stores.objects import _WHY
from tests.conftest import cases
from tests.patterns import modules, nodes, patterns_in, shapes, sites, worse_than_linear

# Patterns that only the running code knows, by what stands there: what they may be.
KINDS = [re.compile(kind.begins) for kind in compressed.KINDS.values()]
ADDRESSES = [addresses._ADDRESS, addresses._ADDRESS_IN_SOURCE, addresses._ADDRESS_IN_URL]
OF_ADDRESSES = [addresses._PSEUDONYM, addresses._DOMAIN, addresses._DOMAIN_IN_URL]
USERINFO = [userinfo._USERINFO, userinfo._LITERAL, userinfo._NESTED]
CREDENTIALS = [
    private_texts._START,
    private_texts._QUOTE,
    private_texts._SENT_END,
    private_texts._QUERY_END,
    rb"(?<=\])",
]
FORMS = [*patterns_in([encodings._ESCAPE, *encodings.BREAKS, *encodings._BREAKS_IN_RUN, forms._JOINT])]
IN_FORMS = [*(pattern.pattern for pattern in FORMS), "some-value", "[A-Za-z0-9+/]{20,}", "(?:c29tZS12YWx1ZSBpcyBo)*"]
PACK = [("finditer" if rule.anywhere or rule.run else "match", rule.pattern) for rule in rules.builtin()]
SECRETS = secrets.Secrets()
WORDS = [*SECRETS.rules_by_word]
LISTED_WORDS = [*patterns_in([SECRETS._words._any, SECRETS._telling, SECRETS._shapes._within])]
WORDS_OF_USERS = [*patterns_in([ending._COMPLAINT, ending._CORRECTION, ending._THANK, ending._ENGLISH])]
BEGINS = [ast.literal_eval(declaration(item, "BEGINS")) for item in sorted(items(unfold.__path__))]
RUNNING = {
    (
        "chatsquash.templates.counting",
        "'|'.join((text if takes_more else f'({text})' for text, takes_more in patterns))",
    ): [("finditer", re.compile(r"(<\|im_start\|>)|(<\|im_end\|>)|<mask>|(<s>)"))],
    ("chatsquash.reading.ancestry", "b'\"uuid\": ?\"(' + b'|'.join((re.escape(each.encode()) for each in ids)) + b')\"'"): [
        ("finditer", re.compile(b'"uuid": ?"(' + b"|".join((b"some-id", b"some-other-id", b"another-id")) + b')"'))
    ],
    ("chatsquash.core.lazy", "self._text"): [
        ("finditer", pattern) for pattern in (*LISTED_WORDS, *WORDS_OF_USERS, *FORMS, names._PIECED)
    ],
    ("chatsquash.sources.compression", "kind.begins"): [("match", kind) for kind in KINDS],
    ("chatsquash.sources.compression", "self._kind.begins"): [("match", kind) for kind in KINDS],
    ("chatsquash.sources.arrays", "b'\\\\}[ \\\\t\\\\r\\\\n]*+,[ \\\\t\\\\r\\\\n]*+' + re.escape(match[0])"): [
        ("search", re.compile(rb"\}[ \t\r\n]*+,[ \t\r\n]*+" + re.escape(b'{"id":')))
    ],
    ("chatsquash.storage.stores", "_HOSTS[scheme]"): [("fullmatch", re.compile(pattern)) for pattern in _HOSTS.values()],
    ("chatsquash.storage.stores.objects", "words"): [("search", re.compile(words)) for words, *_ in _WHY],
    ("chatsquash.redaction.addresses", "re.compile"): [
        *(("search", re.compile(pattern)) for pattern in ADDRESSES),
        *(("match", re.compile(pattern)) for pattern in OF_ADDRESSES),
    ],
    ("chatsquash.redaction.lists", "pattern"): [("findall", pattern) for pattern in lists._TOKENS],
    ("chatsquash.redaction.lists", "quote"): [("split", pattern) for pattern in lists._JSON_QUOTES],
    ("chatsquash.redaction.rules", "self.full_shape"): PACK,
    ("chatsquash.redaction.shapes", "f\"{pivot}{gate}(?:{'|'.join(groups) or '(?!)'})\".encode()"): [
        ("finditer", shapes_of_rules._around(pivot, [word for word in WORDS if pivot in word])[0])
        for pivot in shapes_of_rules._PIVOTS
    ],
    ("chatsquash.redaction.userinfo", "re.compile"): [
        ("finditer", re.compile(userinfo._USERINFO)),
        *(("search", re.compile(f":|%{again}3[aA]")) for again in ("", "25", "2525", "252525")),
        ("fullmatch", re.compile(userinfo._NOT_A_PASSWORD)),
    ],
    ("chatsquash.sources.unfold", "pattern"): [("match", re.compile(pattern)) for pattern in BEGINS],
    ("chatsquash.sources.unfold", "b'|'.join((b'(?:%b)' % pattern for pattern, _ in patterns))"): [
        ("match", re.compile(b"|".join(b"(?:%b)" % pattern for pattern in BEGINS)))
    ],
    ("chatsquash.session.private_texts", "pattern"): [("search", re.compile(pattern, re.IGNORECASE)) for pattern in CREDENTIALS],
}  # fmt: skip
# What goes through a whole text with several patterns, or with one time after time.


@cache
def works():
    """Every pattern of the package, once for each way it is used, with where that is."""
    found = {}
    for module in modules():
        for site in sites(module):
            ways = [(site.way, site.pattern)] if site.pattern else RUNNING[site.module, site.source]
            for way, pattern in ways:
                found.setdefault((way, pattern), f"{site.module}: {site.source}")
        for name, value in vars(module).items():
            for letters in filter(None, (value.names, value.ids) if isinstance(value, Service) else ()):
                found.setdefault(("sub", letters.forbidden), f"{module.__name__}: {name}.unfit")
                found.setdefault(("match", letters.start), f"{module.__name__}: {name}.starts")
    return found


def work(way, pattern):
    """What uses a pattern in one way, on the whole of a text."""
    if way in ("search", "findall", "finditer"):
        return lambda text: deque(pattern.finditer(text), maxlen=0)
    if way in ("sub", "subn"):
        return lambda text: pattern.sub(lambda found: found[0], text)
    return getattr(pattern, way)


def pytest_generate_tests(metafunc):
    """The patterns, if somebody wants to time them: to find all of them takes long."""
    if metafunc.function is test_a_text_twice_as_long_takes_a_pattern_at_most_three_times_as_long:
        found = {} if "not long" in metafunc.config.option.markexpr else works()
        metafunc.parametrize("way, pattern", found, ids=found.values())


@pytest.mark.long
def test_a_text_twice_as_long_takes_a_pattern_at_most_three_times_as_long(way, pattern):
    assert worse_than_linear(work(way, pattern), shapes(pattern)) is None


@pytest.mark.long
@cases("walk, patterns, flags",
    ("addresses", lambda text: deque(addresses.addresses_and_secrets(text), maxlen=0), [*ADDRESSES, *OF_ADDRESSES, *USERINFO], 0),
    ("passwords", userinfo.passwords, USERINFO, 0),
    ("known values", lists.values({"some-value": ("SECRET", "known")}), IN_FORMS, 0),
    ("names", names.names(b"Some Body"), [*IN_FORMS, names._FILLER_RUN.pattern], 0),
    ("hashes", lists.Lists(known=b"sha256:" + b"0" * 64).find, [*IN_FORMS, *(each.pattern for each in lists._TOKENS)], 0),
    ("phones", phones.phones("US"), [phones._WITH_CODE.pattern, phones._LOCAL.pattern], 0),
    ("IP addresses", ips.ips, [ips._IPV4.pattern, ips._IPV6.pattern], 0),
    ("paths", names.paths, [names._HOME.pattern, names._DASHED.pattern, names._PROMPT.pattern, names._LS_LINE.pattern], 0),
    ("without_credentials", lambda data: deque(private_texts.without_credentials([data]), maxlen=0), CREDENTIALS, re.IGNORECASE),
    ("secrets", SECRETS.find, [r"(?:password=|token: |://a:b@|aGVsbG8gd29ybGQ|%41|a1b2c3d4e5f6a7b8\n)*"], 0),
    ("_is_info", _is_info, [_INFO.pattern, "(?:<info-msg>x</info-msg>)*"], 0),
    ("is_command_echo", client_texts.is_command_echo, ["(?:<command-name>(?:</command-name>)?)*"], 0),
    ("without_reminders", client_texts.without_reminders, ["(?:<system-reminder>(?:</system-reminder>)?)*"], 0),
    ("events, lines", replies.events, [r"(?:data: {}\r\n|\n|event: \s|: )*"], 0),
    ("events, an array", lambda text: replies.events("[" + text), [r"(?:(?:1|\[|{}|\"[^\"]*\"), ?)*"], 0),
    ("_defined", text._definitions, [r"(?:<tools>\n{}\n)*(?:\n</tools>)*"], 0),
)  # fmt: skip
def test_a_text_twice_as_long_takes_what_walks_through_it_at_most_three_times_as_long(walk, patterns, flags):
    assert worse_than_linear(walk, [shape for each in patterns for shape in shapes(re.compile(each, flags))]) is None


def test_every_pattern_of_the_package_is_held_to_it():
    """What a module holds compiled is used at a site, and what is compiled while running stands in the table."""
    known = {pattern for _, pattern in works()}
    beside = [
        f"{module.__name__}.{name}: {pattern.pattern!r}"
        for module in modules()
        for name, value in vars(module).items()
        for pattern in patterns_in(value)
        if pattern not in known
    ]
    assert beside == []
    assert {(site.module, site.source) for module in modules() for site in sites(module) if not site.pattern} == {
        *RUNNING
    }
    assert not any(isinstance(node, ast.ImportFrom) and node.module == "re" for node in nodes()), "sites are re.…"


SECRET = rb"[\w-]*(?:authorization|cookie|api[-_]?key|token|secret)"
OLD = (
    rb'(?P<name>\\*"' + SECRET + rb'\\*"\s*[:,]\s*(?:\\*"value\\*"\s*:\s*)?)'
    rb'(?:(?P<quote>\\+")[^"\\]*(?:\\+"|\Z)|"(?:[^"\\]|\\.)*"?|\[[^\]]*\]?)'
    rb"|(?P<sent>\b" + SECRET + rb':[ \t]*)[^"\\\r\n]+|(?P<query>[?&](?:api_?)?key=)[^&"\\\s]+'
)
QUADRATIC = [
    ("search", re.compile(OLD, re.IGNORECASE), "what took credentials out of lines before"),
    ("search", re.compile(r"<tools>\n(.*?)\n</tools>", re.DOTALL), "an opening tag looks for the end each time"),
    ("sub", re.compile(r"'(?:[^'\\]|\\.)*'"), "an escaped quote is tried as the first"),
    ("search", re.compile(r"\s*<think>"), "white space is tried from each of its characters"),
    ("search", re.compile(r"[a-z0-9.]+@"), "an address is tried from each of its characters"),
    ("search", re.compile(rb'\\*+"'), "a run of backslashes is tried from each of them, possessive or not"),
    ("match", re.compile(r"\d*\d*x"), "two repeats share what they take"),
    ("match", re.compile(r"\s*,?\s*,?\s*x"), "three repeats share what they take, behind something"),
    ("fullmatch", re.compile(r"(?:a|b|ab)*c"), "alternatives that overlap: exponential"),
]


@pytest.mark.long
@pytest.mark.parametrize("way, pattern, why", QUADRATIC, ids=[why for *_, why in QUADRATIC])
def test_a_pattern_that_is_not_linear_is_found_out(way, pattern, why):
    assert worse_than_linear(work(way, pattern), shapes(pattern))


@pytest.mark.long
@pytest.mark.parametrize("way", ["match", "search"])
def test_what_decides_is_how_a_pattern_is_used(way):
    pattern = re.compile(r"\s*<think>")
    assert (worse_than_linear(work(way, pattern), shapes(pattern)) is None) is (way == "match")
