"""Sample logs, cut short and damaged in ways that a seed decides."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

SAMPLES = Path(__file__).parents[2] / "sample_logs"
LINES, BYTES = 6, 20_000
"""What is taken of a sample: so many lines, of about so many bytes together."""

TOKENS = [
    b"", b"null", b"true", b"0", b"-0", b"1e400", b"-1e-400", b"NaN", b"Infinity", b"1" * 5000, b"0." + b"3" * 400,
    b"12345678901234567890123", b'""', b'"\\ud800"', b'"\\udc00\\ud800"', b'"\xed\xa0\x80"', b'"\xff"', b'"\x00"',
    b'"\\u0000"', b"[]", b"{}", b"[[]]", b'{"role":"user"}', b'[{"role":"user","content":"x"}]', b"[" * 300 + b"]" * 300,
    b"[" * 2000 + b"]" * 2000, b'{"a":' * 300 + b"1" + b"}" * 300, b"[" * 100_000, b'{"a":1,"a":2}', b"'", b"//", b",,",
    b'"' + b"a@b." * 500 + b'"', b'"' + b"<tool_call>" * 90 + b'"', b'"' + b"\\\\" * 600 + b'"', b'"../../etc/passwd"',
    b'"CON"', b'"\\u001b[2J"', b'"=1+1"', b'"' + b"x" * 5000 + b'"',
]  # fmt: skip
GAPS = [
    b"\n", b"\r\n", b"\n\n", b"\xef\xbb\xbf", b"\x00", b"\x00" * 64, b" ", b"\t", b"\x0b", b"\x1a", b"}", b"{", b'"',
]  # fmt: skip
MEMBERS = [
    b'"role"', b'"content"', b'"messages"', b'"tools"', b'"request"', b'"response"', b'"timestamp"', b'"session_id"',
]  # fmt: skip


@cache
def samples() -> list[list[bytes]]:
    """The lines of each sample log, the large ones left out."""
    found = [path.read_bytes().splitlines(keepends=True) for path in sorted(SAMPLES.rglob("*.json*"))]
    return [[line for line in lines if len(line) < BYTES] for lines in found]


def damaged(seed: int) -> bytes:
    """A log of some lines of a sample, damaged a few times."""
    random = Random(seed)
    return mutated(_some(random), random.getrandbits(64), random.choice([0, 1, 1, 2, 3, 8]))


def mutated(data: bytes, seed: int, times: int) -> bytes:
    """Bytes damaged so many times."""
    random, changed = Random(seed), bytearray(data)
    for _ in range(times):
        random.choice(WAYS)(changed, random)
    return bytes(changed)


def _some(random: Random) -> bytes:
    lines = random.choice([each for each in samples() if each])
    start = random.randrange(max(1, len(lines) - LINES))
    data = b""
    for line in lines[start : start + random.randint(1, LINES)]:
        if data and len(data) + len(line) > BYTES:
            break
        data += line
    return data


def _place(data: bytearray, random: Random) -> int:
    return random.randint(0, len(data))


def _value(data: bytearray, random: Random) -> tuple[int, int]:
    """Where a value may stand: behind a colon or a comma, up to the next one."""
    start = max(data.find(b":", _place(data, random)), 0) + 1
    ends = [at for at in (data.find(end, start) for end in (b",", b"}", b"]")) if at >= 0]
    return min(start, len(data)), min(ends, default=len(data))


def _flip(data: bytearray, random: Random) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _byte(data: bytearray, random: Random) -> None:
    if data:
        data[random.randrange(len(data))] = random.randrange(256)


def _drop(data: bytearray, random: Random) -> None:
    at = _place(data, random)
    del data[at : at + random.choice([1, 2, 10, 100, 1000])]


def _cut(data: bytearray, random: Random) -> None:
    del data[_place(data, random) :]


def _repeat(data: bytearray, random: Random) -> None:
    at = _place(data, random)
    piece = data[at : at + random.choice([1, 10, 100, 1000])]
    data[at:at] = piece * random.choice([1, 2, 9])


def _insert(data: bytearray, random: Random) -> None:
    at = _place(data, random)
    data[at:at] = random.choice([*GAPS, *TOKENS])


def _replace(data: bytearray, random: Random) -> None:
    start, stop = _value(data, random)
    data[start:stop] = random.choice(TOKENS)


def _rename(data: bytearray, random: Random) -> None:
    old, new = random.choice(MEMBERS), random.choice(MEMBERS)
    at = data.find(old, _place(data, random))
    if at >= 0:
        data[at : at + len(old)] = new


def _swap(data: bytearray, random: Random) -> None:
    lines = data.splitlines(keepends=True)
    random.shuffle(lines)
    data[:] = b"".join(lines)


def _twice(data: bytearray, random: Random) -> None:
    lines = data.splitlines(keepends=True)
    data[:] = b"".join(line * random.choice([1, 1, 2]) for line in lines)


def _glue(data: bytearray, random: Random) -> None:
    at = data.find(b"\n", _place(data, random))
    if at >= 0:
        del data[at]


def _foreign(data: bytearray, random: Random) -> None:
    at = data.find(b"\n", _place(data, random)) + 1
    data[at:at] = _some(random)


WAYS: list[Callable[[bytearray, Random], None]] = [
    _flip, _byte, _drop, _cut, _repeat, _insert, _replace, _replace, _replace, _rename, _swap, _twice, _glue, _foreign,
]  # fmt: skip
