"""What is read of every member of the SDKs' unions: nothing of it disappears, but for what a table gives a reason for.

A type that a newer SDK adds is read as all others are; what would be lost of it fails here, by its name.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from chatsquash.core.chat import private
from chatsquash.formats import bodies, get_format
from chatsquash.formats.providers.openai_chat.read import turns_of, turns_of_messages
from tests.conformance.examples import words
from tests.conformance.sdk_unions import MEMBERS, Exchange
from tests.conformance.shared import events
from tests.conformance.union_table import assert_known, lost, unknown_rows


def read(format_name: str, exchange: Exchange) -> Any:
    """All that is read of an exchange: turns with what is native to them, definitions, and the problem of a reply."""
    form = get_format(format_name)
    request = bodies.load(form, exchange.request)
    hosted = [form.tools(exchange.request[name]).hosted for name in form.TOOLS if name in exchange.request]
    body = exchange.response
    body = form.assemble(events(body["body_raw"])).body if "body_raw" in body else body
    reply = form.reply(body)
    turns = [*turns_of(request), *(turns_of_messages([reply.message]) if reply.message else [])]
    return msgspec.to_builtins([turns, request.tools, list(map(private, request.tools)), hosted]), reply.problem


@pytest.mark.parametrize("member", MEMBERS)
def test_all_texts_of_a_member_are_read(member):
    found: dict[str, str] = {}
    for example in member.examples:
        exchange = member.union.exchange(example.value)
        gone = words(exchange) - words(read(member.union.format, exchange))
        for path in lost(example.value, gone):
            found.setdefault(path, example.name)
    assert_known("reading", member, found)


def test_the_table_has_only_members_that_there_are_and_reasons():
    assert unknown_rows() == []
