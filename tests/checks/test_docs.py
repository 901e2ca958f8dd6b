from functools import cache

import pytest

from chatsquash.checks import rules
from chatsquash.core.text import MAX_QUOTED, json_type, quote
from tests.conftest import cases

from . import (
    page,
    test_calls,
    test_contents,
    test_coverage,
    test_dataset,
    test_definitions,
    test_existing,
    test_files,
    test_private,
    test_reading,
    test_results,
    test_schemas,
    test_shapes,
    test_tags,
    test_template,
)
from .rows import found

ROWS = (
    test_calls.ROWS
    + test_contents.ROWS
    + test_definitions.ROWS
    + test_results.ROWS
    + test_schemas.ROWS
    + test_tags.ROWS
)
LOG_ROWS = test_reading.ROWS + test_files.ROWS + test_shapes.ROWS + test_dataset.ROWS + test_coverage.ROWS
LOG_ROWS += test_existing.ROWS + test_private.ROWS
RECORD_CODES = sorted(code for code, rule in rules().items() if rule.kind not in ("log", "replies", "template"))
LOG_CODES = sorted(code for code, rule in rules().items() if rule.kind in ("log", "replies"))
# Every code, with every severity that it can have.
SEVERITIES = {
    "error": """
        wrong-content empty-reply bad-line bad-entry empty-session role-sequence no-messages tool-not-object tool-parameters-type tool-properties
        tool-required tool-calls-not-list tool-call-not-object tool-call-function tool-call-name undeclared-tool
        legacy-function-call tool-result-without-call tool-result-without-id tool-call-tags tool-calls-with-markup
        tool-result-tags unreadable-log bad-record bad-tokens unreadable-by-trainer unknown-format no-assistant-turn arguments-unparsable
        integer-too-large lone-surrogate unpaired-call media-dropped unsupported-shape lost-worker cut-short
        template-error template-tool-lost template-call-lost template-text-lost template-system-lost
        template-result-lost template-arguments-twice template-python template-null calls-without-tools
        tool-parameters tool-name unknown-role
        empty-dataset truncated-by-logger archive-member truncated-archive unreadable-archive eval-overlap eval-task eval-commit unsearched-line redaction-failed no-sample output-growth joined-reply not-rendered
        unrelated-conversations""",
    "error warning": "session-id-mismatch timestamp-order",
    "warning": """
        missing-session-id missing-timestamp naive-timestamp wrong-type short-tail missing-reply extra-choices
        reply-truncated tool-conflict tool-call-id arguments-not-json unanswered-call markup-collision parts-dropped
        number-changed mixed-formats missing-history missing-parent incomplete-reply stream-interrupted unsupported-content shape-dropped float-rounded split-leak
        trace-incomplete empty-split split-share other-conversations changed-log template-tools-flat template-tools-empty
        tool-parameters-missing tool-description tool-result-failed tool-result-empty tool-result-missing
        duplicate-log-differs equal-timestamps address-not-redacted eval-repository personal-data-found secret-found placeholder-in-reply flagged-phrase unrelated-requests replies-lost replies-repeated copies-not-compared side-request-selected unknown-model
        arguments-invalid loss-not-read divided-session context-mismatch user-after-result media-replaced template-definition-lost joined-texts token-ids-missing private-tokens""",
    "info": """
        cleaned file-not-read hosted-tools context-cleared vendor-extension shape-changed filtered duplicate-record source-without-tools
        not-read client-text template-reasoning-lost no-tools tool-result-retried duplicate-log reasoning-lost
        reasoning-withheld reasoning-restored context-restored restore-ambiguous supplied-tools supplied-system arguments-unchecked
        tool-members no-verdict grouped-by-chain reordered truncated-to-fit front-truncated restore-not-applied no-exchange joined unanswered-session repeated-conversation
        grouped-by-id token-break mixed-models""",
}


def test_the_rules_are_those_of_the_contract_with_their_severities():
    expected = {code: set(severities.split()) for severities, codes in SEVERITIES.items() for code in codes.split()}
    assert {code: set(rule.severities) for code, rule in rules().items()} == expected


@pytest.mark.parametrize("code", RECORD_CODES)
def test_every_rule_over_a_record_has_a_passing_and_a_failing_row(code):
    outcomes = {code in {found_code for found_code, _, _ in row.expected} for row in ROWS if row.code == code}
    assert outcomes == {True, False}


@pytest.mark.parametrize("code", LOG_CODES)
def test_every_rule_over_a_log_has_a_row(code):
    assert code in {row[1] for row in LOG_ROWS}


@cache
def found_severities() -> set[tuple[str, str]]:
    return {(code, severity) for row in ROWS for code, severity, _ in found(row)}


@pytest.mark.parametrize("code", sorted(rules()))
def test_a_rule_yields_the_severities_that_it_declares_and_no_others(code):
    seen = {severity for found_code, severity in found_severities() if found_code == code}
    seen |= {row[2] for row in LOG_ROWS if row[1] == code}
    seen |= {row[3] for row in test_template.FAILING if row[0] == code}
    assert seen == set(rules()[code].severities)


@pytest.mark.parametrize("code", sorted(rules()))
def test_every_rule_says_when_it_is_reported(code):
    sentence = rules()[code].doc.partition("\n")[0].strip()
    assert sentence.startswith(page.START)
    assert sentence.endswith(".")


@pytest.mark.parametrize("code", sorted(rules()))
def test_one_code_has_one_severity(code):
    exceptions = {"session-id-mismatch", "timestamp-order"}
    assert (rules()[code].kept_severity is not None) == (code in exceptions), "docs/checks.md says which have two"


@cases(
    "value, shown",
    ("plain text is quoted", "grep", "'grep'"),
    ("quotes and backslashes are escaped", "a'b\\c", "'a\\'b\\\\c'"),
    ("control characters are escaped", "a\n\x1b\x00\x85", "'a\\n\\x1b\\x00\\x85'"),
    ("bidi controls and invisible characters are escaped", "\u202e\u2066\u200b", "'\\u202e\\u2066\\u200b'"),
    ("lone surrogates are escaped", "\ud800", "'\\ud800'"),
    ("letters of any script stay", "grép-日本-😀", "'grép-日本-😀'"),
    ("a value that is no string is shown as Python spells it", None, "'None'"),
)
def test_values_from_a_log_are_shown_safely(value, shown):
    assert quote(value) == shown


def test_long_and_deep_values_are_cut():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for value in ("x" * 1000, list(range(1000)), {"k" * 1000: "v" * 1000}, 10**4000, deep):
        assert len(quote(value)) <= MAX_QUOTED + 2
    assert quote("x" * 80) == f"'{'x' * 80}'"
    assert quote("x" * 81) == f"'{'x' * 79}…'"


def test_json_types_have_names():
    values = [None, True, 1, 0.5, "x", [], {}]
    words = "null, a boolean, a number, a number, a string, a list, an object"
    assert ", ".join(map(json_type, values)) == words
