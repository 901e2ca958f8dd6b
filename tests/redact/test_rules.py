"""The pack of rules: each finds what its shape says, and a user's own rules say what is wrong with them."""

from collections import Counter
from random import Random

import pytest

from chatsquash.core.errors import UsageError
from chatsquash.redaction.rules import builtin, documented, parse_rules
from chatsquash.redaction.secrets import Secrets, kind_of
from chatsquash.redaction.shapes import value_of
from tests.conftest import cases
from tests.redact.values import drawn

SHAPES = [rule for rule in builtin() if rule.value == "shape" and not rule.before]
TIMES = 6


@pytest.mark.parametrize("rule", SHAPES, ids=[rule.name for rule in SHAPES])
def test_a_value_of_a_shape_is_found_with_its_kind_and_no_other(rule):
    rng = Random(rule.name)
    for _ in range(TIMES):
        text = drawn(rule, rng)
        value = value_of(rule.pattern.fullmatch(text))[2]
        hits = Secrets().find(f"see {text} here")
        assert [hit.kind for hit in hits if hit.value == value] == [kind_of(value)], text
        if value == text:
            assert len(hits) == 1
            assert kind_of(value) == rule.kind, text


@pytest.mark.parametrize("rule", [rule for rule in SHAPES if not rule.anywhere], ids=lambda r: r.name)
def test_a_shape_begins_with_one_of_its_literals(rule):
    rng = Random(rule.name)
    assert all(drawn(rule, rng).startswith(rule.literals) for _ in range(TIMES))


def test_the_pack_has_rules_for_more_than_a_hundred_kinds_each_with_a_source():
    told = documented()
    assert len({rule.kind for rule in told}) > 100
    assert [rule.name for rule in told if not rule.source.startswith("https://")] == []
    assert [name for name, count in Counter(rule.name for rule in told).items() if count > 1] == []


OWN = '[[rule]]\nname = "badge"\nliterals = ["BADGE-"]\nshape = "BADGE-[0-9]{6}"\n'


def test_own_rules_have_the_form_of_those_of_the_pack():
    hits = Secrets([*builtin(), *parse_rules(OWN.encode(), "rules.toml")]).find("my BADGE-471193, and BADGE-1")
    assert [(hit.kind, hit.rule, hit.value) for hit in hits] == [("BADGE", "badge", "BADGE-471193")]


def test_own_rules_run_in_an_engine_of_linear_time_and_not_in_that_of_python():
    own = OWN.replace("BADGE-[0-9]{6}", r"BADGE-\\p{Greek}+")
    [hit] = Secrets(parse_rules(own.encode(), "rules.toml")).find("a BADGE-αβγδε")
    assert hit.value == "BADGE-αβγδε"


def test_an_own_rule_finds_nothing_that_is_far_from_its_literals():
    own = OWN.replace('["BADGE-"]', '["staff"]').replace("BADGE-", "") + "reach = 20\n"
    secrets = Secrets(parse_rules(own.encode(), "rules.toml"))
    assert [hit.value for hit in secrets.find("staff: 471193" + " " * 40 + "and 582204")] == ["471193"]


@cases(
    "told, why",
    ("no TOML", "[[rule", "not valid TOML"),
    ("something else", "a = 1", "expected only"),
    ("a rule that is no table", "rule = [1]", "rule 1: not a table"),
    ("no name", OWN.replace('name = "badge"\n', ""), "name is missing"),
    ("a name of capitals", OWN.replace("badge", "Badge"), "name is missing"),
    ("no literals", OWN.replace('["BADGE-"]', "[]"), "literals must be a list"),
    ("an empty literal", OWN.replace('"BADGE-"', '""'), "literals must be a list"),
    ("no shape", OWN.replace('"BADGE-[0-9]{6}"', "1"), "shape is missing"),
    ("look-around", OWN.replace("BADGE-[", "(?=B)["), "the pattern is invalid"),
    ("no pattern", OWN.replace("BADGE-[", "(["), "the pattern is invalid"),
    ("a kind of small letters", OWN + 'kind = "badge"', "kind must consist of capital letters"),
    ("an unknown check", OWN + 'value = "number"', "value must be one of"),
    ("a reach that is too far", OWN + "reach = 1000000", "reach must be a number"),
    ("an entropy that is none", OWN + 'entropy = "high"', "entropy must be a number"),
    ("an unknown member", OWN + 'colour = "red"', "unknown key 'colour'"),
    ("a member that only the pack has", OWN + "anywhere = true", "unknown key 'anywhere'"),
)
def test_an_own_rule_that_is_wrong_is_refused(told, why):
    with pytest.raises(UsageError, match=r"rules\.toml") as problem:
        parse_rules(told.encode(), "rules.toml")
    assert why in str(problem.value)
