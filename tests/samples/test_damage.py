"""Damaged samples, each by chance and the same in every run: a session is left out at worst, and nothing crashes."""

import bz2
import gzip
import lzma
import os
import random

import pytest
import zstandard

from chatsquash import Options, convert_session
from chatsquash.sources.open import open_file
from tests.samples.table import agents, exports

SAMPLES = [*agents(), *exports()]
DATABASES = (".db", ".vscdb")
OPTIONS = Options(anonymize=False, conversations="all", max_database_time=20)


COMPRESSIONS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstandard.compress}
MUTATIONS = int(os.environ.get("MUTATIONS", "0"))


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
    for number in range(MUTATIONS or usual):
        copy.write_bytes(damaged(data, chance))
        outcomes = convert_session(copy, OPTIONS)
        assert outcomes, number


@pytest.mark.parametrize("kind", COMPRESSIONS)
def test_what_a_damaged_stream_gives_does_not_depend_on_the_size_of_the_reads(kind, tmp_path):
    chance = random.Random(kind)
    repeated = b'{"role": "user", "content": "lorem ipsum dolor"}\n'
    texts = [repeated * 8000, repeated * 20 + bytes(100_000), chance.randbytes(20_000).hex().encode()]
    copy = tmp_path / f"log.jsonl.{kind}"
    for number in range(MUTATIONS or 15):
        copy.write_bytes(damaged(COMPRESSIONS[kind](chance.choice(texts)), chance))
        given = [_read(copy, size) for size in (997, 1 << 16, 1 << 24)]
        assert given == given[:1] * 3, number


def _read(path, size):
    with open_file(path, Options()) as file:
        data = b"".join(iter(lambda: file.read(size), b""))
        return data, file.tell(), file.seek(0) or file.seek(0, os.SEEK_END), getattr(file, "problem", None)
