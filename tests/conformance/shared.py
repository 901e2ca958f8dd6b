"""What several of these tests need: the recorded requests, and lazily validated values read to their end."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from pydantic import BaseModel

from chatsquash.core import jsonio
from chatsquash.formats import bodies, get_format, recognise
from tests.conftest import real_exchanges
from tests.formats.kinds import KINDS
from tests.formats.table import conversation, rows


def recorded():
    """The conversations in recorded requests, whatever their format, each with its name."""
    for path in real_exchanges():
        for number, line in enumerate(path.read_bytes().splitlines(), start=1):
            request = jsonio.loads(line)["request"]
            if name := recognise(request, None, None).name:
                yield pytest.param(name, bodies.load(get_format(name), request), id=f"{path.stem}:{number}")


RECORDED = list(recorded())


def written(name):
    """The conversations that the rows of a format write and write again, and one of each kind, as cases."""
    held = {row.sentence: conversation(row.given) for row in rows("dump", name) if conversation(row.given).turns}
    again = {row.sentence: bodies.load(get_format(name), row.given) for row in rows("again", name)}
    return [pytest.param(each, id=sentence) for sentence, each in {**KINDS, **held, **again}.items()]


EACH_KIND = pytest.mark.parametrize("conversation", [pytest.param(each, id=kind) for kind, each in KINDS.items()])


def tools(name):
    """The conversations of a format's rows that have tools which are written."""
    found = [row for row in rows("dump", name) if isinstance(row.expected, dict) and row.expected.get("tools")]
    return [pytest.param(conversation(row.given), id=row.sentence) for row in found]


def forced(value):
    """A value whose lazily validated parts are all read, which is what validates them."""
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, dict):
        return {key: forced(member) for key, member in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [forced(member) for member in value]
    return value


def events(text):
    """The parsed data of server-sent events, the last one aside."""
    data = [line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:")]
    return [json.loads(each) for each in data if each != "[DONE]"]
