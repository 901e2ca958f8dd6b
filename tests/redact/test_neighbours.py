"""A secret ends where it ends, whatever secret is next to it, on the same line or on the next one."""

from functools import cache
from random import Random

import pytest

from chatsquash.core.options import Options
from chatsquash.redaction import requests
from chatsquash.redaction.rules import builtin

from .values import drawn

REDACTOR = requests.redactor(Options(redact="secrets", anonymize=False), b"a key for tests of neighbours")
FORMS = {
    "settings": "FIRST_KEY={}\nSECOND_KEY={}\nDEBUG=1",
    "settings with CRLF": "FIRST_KEY={}\r\nSECOND_KEY={}\r\nDEBUG=1",
    "YAML": "first: {}\nsecond: {}\nx: 1",
    "lines": "{}\n{}\nend",
    "one line": "{} {} end",
    "a list": "{}, {} end",
    "JSON": '{{"a": "{}", "b": "{}"}}',
    "settings in JSON": '{{"a": "FIRST={}\\nSECOND={}\\nDEBUG=1"}}',
}
_APART = 13
"""Of each kind, every thirteenth other one is its neighbour, unless all are tried."""


@cache
def values() -> dict[str, str]:
    """A value of each kind that is found by itself, as far as it has letters, digits and the usual signs alone."""
    rng, found = Random(1), {}
    for rule in builtin():
        if rule.value == "shape" and not (rule.before or rule.commands or rule.is_own or rule.kind in found):
            value = drawn(rule, rng)
            if set(value) <= PLAIN and spans(value) == [(0, len(value))]:
                found[rule.kind] = value
    return found


PLAIN = {*"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.+/="}


def spans(text):
    return sorted((hit.start, hit.end) for hit in REDACTOR.find(text))


def swallowed(form, step):
    """The pairs of kinds of which not exactly the two values are found."""
    kinds = list(values().items())
    for number, (kind, value) in enumerate(kinds):
        for other, second in kinds[number % step :: step]:
            text = FORMS[form].format(value, second)
            one = text.index(value)
            two = text.index(second, one + len(value))
            if spans(text) != [(one, one + len(value)), (two, two + len(second))]:
                yield kind, other


@pytest.mark.parametrize("form", FORMS)
def test_neighbours_are_two_values(form):
    assert len(values()) > 200
    assert list(swallowed(form, _APART * 6)) == []


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_every_pair_of_neighbours_is_two_values(form):
    assert list(swallowed(form, 1)) == []


def test_both_names_of_two_settings_stay():
    first, second = values()["SLACK_TOKEN"], values()["AWS_SESSION_TOKEN"]
    text = f"FIRST_KEY={first}\nSECOND_KEY={second}\nDEBUG=1"
    replaced = REDACTOR.text(text).splitlines()
    assert [line.partition("=")[0] for line in replaced] == ["FIRST_KEY", "SECOND_KEY", "DEBUG"]
    assert REDACTOR.text(f"FIRST_KEY={first}\nDEBUG=1").splitlines()[0] == replaced[0]
