"""Damaged samples, each by chance and the same in every run: a session is left out at worst, and nothing crashes."""

import os
import random

import pytest

from chatsquash import Options, convert_session
from tests.samples.table import agents, exports

SAMPLES = [*agents(), *exports()]
DATABASES = (".db", ".vscdb")
OPTIONS = Options(anonymize=False, conversations="all", max_database_time=20)


def damaged(data: bytes, chance: random.Random) -> bytes:
    """A sample with a few bytes that are others, gone, or there twice."""
    held = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(held)) if held else 0
        stop = min(len(held), at + chance.choice((1, 1, 2, 8, 200)))
        match chance.randrange(6):
            case 0:
                held[at:stop] = bytes(chance.randrange(256) for _ in range(stop - at))
            case 1:
                del held[at:stop]
            case 2:
                held[at:at] = held[at:stop]
            case 3:
                del held[at:]
            case 4:
                held[at:stop] = chance.choice((b"null", b"[]", b"{}", b'"x"', b"-1", b"1e999", b"true"))
            case 5:
                other = chance.randrange(len(held)) if held else 0
                held[at:at] = held[other : other + 100]
    return bytes(held)


@pytest.mark.parametrize("name, path", SAMPLES, ids=[f"{name}-{path.name}" for name, path in SAMPLES])
def test_a_damaged_sample_breaks_nothing(name, path, tmp_path):
    chance = random.Random(f"{name} {path.name}")
    data, copy = path.read_bytes(), tmp_path / path.name
    usual = 10 if path.suffix in DATABASES else 25  # since each of a database starts a process
    for number in range(int(os.environ.get("MUTATIONS", usual))):
        copy.write_bytes(damaged(data, chance))
        outcomes = convert_session(copy, OPTIONS)
        assert outcomes, number
