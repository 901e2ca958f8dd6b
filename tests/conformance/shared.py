"""What several of these tests need: the recorded requests, and lazily validated values read to their end."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from pydantic import BaseModel

from chatsquash import jsonio
from chatsquash.formats import bodies, named, recognise
from tests.conftest import real_exchanges


def recorded():
    """The conversations in recorded requests, whatever their format, each with its name."""
    for path in real_exchanges():
        for number, line in enumerate(path.read_bytes().splitlines(), start=1):
            request = jsonio.loads(line)["request"]
            if name := recognise(request, None, None).name:
                yield pytest.param(name, bodies.load(named(name), request), id=f"{path.stem}:{number}")


RECORDED = list(recorded())


def forced(value):
    """A value whose lazily validated parts are all read, which is what validates them."""
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, dict):
        return {key: forced(member) for key, member in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [forced(member) for member in value]
    return value
