"""Records have every text of every member of the SDKs' unions, or a finding says what they do not have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase

from chatsquash import Options, convert_session
from chatsquash.core.outcome import Outcome
from tests.conformance.examples import Example, words
from tests.conformance.sdk_unions import MEMBERS, Member
from tests.conformance.union_table import TABLE, lost

REPORTED = {
    "context-cleared", "hosted-tools", "media-dropped", "media-replaced", "missing-reply", "unsupported-content", "shape-changed", "shape-dropped",
    "unpaired-call",
}  # fmt: skip
"""The findings that say that something is not in a record."""
PATTERNS = {pattern: row["why"] for row in TABLE["records"] for pattern in row["lost"]}
"""Paths of members that records never have, for which there is no finding."""
PRESETS = ("hf", "openai", "text", "mistral")


def converted(member: Member, example: Example, preset: str) -> Outcome:
    line = json.dumps(member.union.exchange(example.value).line())
    (outcome,) = convert_session([line], Options(anonymize=False, preset=preset))
    return outcome


def silent(member: Member, example: Example, preset: str) -> Iterator[str]:
    """The paths of what is not in the record and in no finding."""
    outcome = converted(member, example, preset)
    if outcome.record and not REPORTED & {finding.code for finding in outcome.findings}:
        shown = words(outcome.record.decode())
        yield from lost(example.value, words(example.value) - shown)
    else:
        assert outcome.findings


def cases() -> Iterator[tuple[Member, Example, str]]:
    """Every example with the default preset, and one of each member with the others."""
    for case in MEMBERS:
        (member,) = case.values
        yield from ((member, example, "chat") for example in member.examples)
        yield from ((member, member.examples[0], preset) for preset in PRESETS)


def test_nothing_of_a_member_is_missing_from_records_without_a_finding():
    used, wrong = set[str](), dict[str, str]()
    for member, example, preset in cases():
        for path in silent(member, example, preset):
            known = {pattern for pattern in PATTERNS if fnmatchcase(path, pattern)}
            used |= known
            if not known:
                wrong.setdefault(f"{member.union.name}: {member.name}: {path}", f"{preset}: {example.name}")
    assert wrong == {}
    assert PATTERNS.keys() - used == set(), "rows of the table that no longer apply"
