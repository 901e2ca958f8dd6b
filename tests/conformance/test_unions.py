"""What is read of every member of the SDKs' unions: nothing of it disappears, but for what a table gives a reason for.

A type that a newer SDK adds is read as all others are; what would be lost of it fails here, by its name.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from chatsquash import Options, convert_session
from chatsquash.core.chat import private
from chatsquash.formats import bodies, named
from chatsquash.formats.providers.openai_chat.read import turns_of, turns_of_messages
from tests.conformance.examples import words
from tests.conformance.sdk_unions import MEMBERS, Exchange, Member
from tests.conformance.shared import events

REASONS = tomllib.loads((Path(__file__).parent / "unions.toml").read_text("utf-8"))
"""What is not read by decision, or not yet, and why."""


def read(format_name: str, exchange: Exchange) -> Any:
    """All that is read of an exchange: turns with what is native to them, definitions, and the problem of a reply."""
    form = named(format_name)
    request = bodies.load(form, exchange.request)
    hosted = [form.tools(exchange.request[name]).hosted for name in form.TOOLS if name in exchange.request]
    body = exchange.response
    body = form.assemble(events(body["body_raw"])).body if "body_raw" in body else body
    reply = form.reply(body)
    turns = [*turns_of(request), *(turns_of_messages([reply.message]) if reply.message else [])]
    return msgspec.to_builtins([turns, request.tools, list(map(private, request.tools)), hosted]), reply.problem


def lost(value: Any, gone: set[str], path: str = "") -> Iterator[str]:
    """The paths of members with words that are gone; the places in lists are not part of a path."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from lost(each, gone, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for each in value:
            yield from lost(each, gone, path)
    elif isinstance(value, str) and words(value) & gone:
        yield path


def reasons(direction: str) -> dict[tuple[str, str], set[str]]:
    """The paths that the table has for a direction, by union and member."""
    rows = REASONS.get(direction, [])
    return {(row["union"], member): set(row["lost"]) for row in rows for member in row["members"]}


def assert_known(direction: str, member: Member, found: dict[str, str]) -> None:
    """Compare what is lost, each with an example, with the table."""
    known = reasons(direction).get((member.union.name, member.name), set())
    is_known = bool(found) if known == {"*"} else found.keys() == known
    assert is_known, f"{member.name} ({member.union.name}) loses {found}, the table has {sorted(known)}"


@pytest.mark.parametrize("member", MEMBERS)
def test_all_texts_of_a_member_are_read(member):
    found: dict[str, str] = {}
    for example in member.examples:
        exchange = member.union.exchange(example.value)
        gone = words(exchange) - words(read(member.union.format, exchange))
        for path in lost(example.value, gone):
            found.setdefault(path, example.name)
    assert_known("reading", member, found)


@pytest.mark.parametrize("member", MEMBERS)
def test_a_session_with_a_member_is_converted(member):
    for example in member.examples:
        line = json.dumps(member.union.exchange(example.value).line())
        (outcome,) = convert_session([line], Options(anonymize=False))
        assert outcome.record, (example, outcome.findings)


def test_the_table_has_only_members_that_there_are():
    known = {(each.values[0].union.name, each.values[0].name) for each in MEMBERS}
    assert {key for direction in REASONS for key in reasons(direction)} - known == set()
    assert [row for rows in REASONS.values() for row in rows if not row["why"]] == []
