"""Converts very many small sessions, some of them broken, and holds the run to what it must give."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import click
import orjson

HERE = Path(__file__).parent
DATA = HERE / ".data" / "soak"
DOCS = HERE.parent / "docs" / "reliability.md"
CHATSQUASH = str(Path(sys.executable).with_name("chatsquash"))
BEGIN, END = "<!-- soak: written by make soak -->", "<!-- end of soak -->"
EVERY = 100  # sessions, one of which is broken
_PER_FOLDER = 1000
_FINISHED = 3

Lines = list[bytes]


class Way(NamedTuple):
    """A way in which a session is broken, and what becomes of it."""

    what: str
    broken: Callable[[Lines], bytes]
    left_out: str | None
    """The code for which it is left out; ``None``: it is written."""
    unreadable: int
    """Lines of it that are rejected."""
    suffix: str = ""


def _joined(lines: Lines) -> bytes:
    return b"\n".join(lines) + b"\n"


def _deep(lines: Lines) -> bytes:
    return _joined([*lines, b'{"request": {"messages": ' + b"[" * 90_000])


def _cut_gzip(lines: Lines) -> bytes:
    return gzip.compress(_joined(lines), mtime=0)[:-8]


WAYS = (
    Way("truncated last line", lambda lines: _joined(lines)[:-40], None, 1),
    Way("a line of NUL bytes", lambda lines: _joined([lines[0], b"\0" * 64, *lines[1:]]), None, 1),
    Way("text that is not UTF-8", lambda lines: _joined([*lines, lines[0].replace(b"Count", b"\xff\xfe")]), None, 1),
    Way("two objects on one line", lambda lines: _joined([*lines, lines[0] + lines[0]]), None, 1),
    Way("an endlessly nested line", _deep, None, 1),
    Way("a line without messages", lambda lines: _joined([*lines, b'{"request": {}}']), None, 1),
    Way("a truncated compressed log", _cut_gzip, None, 0, ".gz"),
    Way("an empty file", lambda _: b"", "unanswered-session", 0),
    Way("binary data", lambda _: bytes(range(256)) * 4, "unknown-format", 5),
    Way("an unknown object", lambda _: b'{"level": "info", "msg": "started"}\n', "unknown-format", 1),
    Way(
        "two session ids",
        lambda lines: _joined([lines[0], lines[1].replace(b'"id-', b'"other-')]),
        "session-id-mismatch",
        0,
    ),
    Way("timestamps in reverse order", lambda lines: _joined(lines[::-1]), "timestamp-order", 0),
)


@click.command()
@click.option("--sessions", default=100_000, show_default=True, type=click.IntRange(min=EVERY * len(WAYS)))
@click.option("--docs", default=str(DOCS), type=click.Path(path_type=Path), help="The page to write the figures to.")
def main(sessions: int, docs: Path) -> None:
    """Convert a tenth of the sessions, then all; fail where one is lost, write down what it took."""
    few, many = (_soak(count) for count in (sessions // 10, sessions))
    print(text := section(few, many, sessions))
    docs.write_text(placed(docs.read_text() if docs.exists() else "# Reliability\n", text))


def placed(page: str, text: str) -> str:
    """A page with the section in its place, or at its end."""
    found = re.compile(f"{BEGIN}.*?{END}\n", re.DOTALL)
    if found.search(page):
        return found.sub(lambda _: text, page)
    return f"{page.rstrip()}\n\n{text}"


class Took(NamedTuple):
    """What a run took, and what it said."""

    seconds: float
    peak: int
    """Bytes, of the largest process."""
    counts: dict[str, object]
    size: int


def section(few: Took, many: Took, sessions: int) -> str:
    """The figures as a section of a page."""
    outcomes: dict[str, list[str]] = {}
    for way in WAYS:
        outcomes.setdefault(way.left_out or "written", []).append(way.what)
    ways = "\n".join(f"- {outcome}: {', '.join(damages)}" for outcome, damages in outcomes.items())
    rows = "\n".join(
        f"| {count:,} | {took.size / 1e6:,.0f} MB | {took.seconds:.1f} s | {took.peak / (1 << 20):.0f} MiB |"
        for count, took in ((sessions // 10, few), (sessions, many))
    )
    grown = (many.peak - few.peak) // (sessions - sessions // 10)
    return f"""{BEGIN}
## Soak

`make soak` converts {sessions:,} small sessions, 1% of them damaged in {len(WAYS)} ways. Each intact session must be
written once, each damaged one must have the outcome below, and all lines and bytes must be accounted for. Measured
on {os.cpu_count()} cores with Python {sys.version.split()[0]}; memory grows by {grown:,} bytes per log:

| sessions | logs | time | peak memory of a process |
|---|---|---|---|
{rows}

Outcomes by damage:

{ways}
{END}
"""


def _soak(count: int) -> Took:
    shutil.rmtree(DATA, ignore_errors=True)
    expected = _generate(DATA / "logs", count)
    key = DATA / "key"
    key.write_text("a key for soaking only, of no use to anyone")
    command = [CHATSQUASH, "convert", str(DATA / "logs"), "--output", str(DATA / "out"), "--quiet"]
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-IS", str(HERE / "measure.py"), json.dumps([command])],
        env={**os.environ, "CHATSQUASH_ANONYMIZE_KEY_FILE": str(key)},
        stdout=subprocess.PIPE,
        check=True,
    )
    seconds = time.perf_counter() - started
    took = json.loads(done.stdout)
    _expect("exit codes", took["codes"], [_FINISHED])
    counts = orjson.loads((DATA / "out" / "run.json").read_bytes())["counts"]
    _hold(counts, expected, count)
    return Took(seconds, took["peak"], counts, counts["bytes"]["seen"])


def _generate(folder: Path, count: int) -> set[str]:
    """Write the logs; the texts of the sessions that have to be written."""
    written = set()
    for number, lines in enumerate(_sessions(count)):
        way = WAYS[number // EVERY % len(WAYS)] if number % EVERY == EVERY - 1 else None
        place = folder / f"{number // _PER_FOLDER:03}" / f"{number:06}.jsonl{way.suffix if way else ''}"
        if number % _PER_FOLDER == 0:
            place.parent.mkdir(parents=True)
        place.write_bytes(way.broken(lines) if way else _joined(lines))
        written |= {_text(number)} if way is None or way.left_out is None else set()
    return written


def _text(number: int) -> str:
    return f"Count {number:06}"


def _sessions(count: int) -> Iterator[Lines]:
    for number in range(count):
        messages = [{"role": "user", "content": _text(number)}]
        lines = []
        for second in range(2):
            reply = {"role": "assistant", "content": f"{number}, then {second}"}
            lines.append(
                orjson.dumps(
                    {
                        "timestamp": f"2026-01-13T10:00:{second:02}Z",
                        "session_id": f"id-{number}",
                        "request": {"model": "m", "messages": messages},
                        "response": {"choices": [{"index": 0, "message": reply}]},
                    }
                )
            )
            messages = [*messages, reply, {"role": "user", "content": "And then?"}]
        yield lines


def _hold(counts: dict[str, dict[str, int]], expected: set[str], count: int) -> None:
    broken = [WAYS[number // EVERY % len(WAYS)] for number in range(EVERY - 1, count, EVERY)]
    left_out = Counter(way.left_out for way in broken if way.left_out)
    fates = {"written": len(expected), "left_out": dict(left_out), "filtered": {}, "duplicates": 0, "joined": 0}
    _expect("sessions", counts["sessions"], {"seen": count, **fates})
    _expect("unreadable lines", counts["lines"]["unreadable"], sum(way.unreadable for way in broken))
    for what in ("lines", "bytes"):
        seen, *classes = counts[what].values()
        _expect(what, sum(classes), seen)
    cut = sum(way.what == "a truncated compressed log" for way in broken)
    _expect("logs that were cut", counts["findings"]["error"].get("cut-short", 0), cut)
    records = Counter(_texts((DATA / "out").glob("*.jsonl")))
    _expect("records", (records.keys(), records.total()), (expected, len(expected)))


def _texts(files: Iterable[Path]) -> Iterator[str]:
    for path in files:
        with path.open("rb") as file:
            yield from (orjson.loads(line)["messages"][0]["content"] for line in file)


def _expect(what: str, seen: object, expected: object) -> None:
    if seen != expected:
        sys.exit(f"{what}: {str(seen)[:2000]}, expected {str(expected)[:2000]}")


if __name__ == "__main__":
    main()
