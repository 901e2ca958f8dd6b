"""Whether the records are those of the naive converter, or those of the same sessions in OpenAI's form."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import orjson

from bench.agents import FILES
from bench.bodies import BODIES
from bench.commands import FINISHED, Bench, Command, Fresh
from bench.documents import DOCUMENTS

SIMPLE = ["--no-cleanup-goose", "--no-anonymize", "--single-file", "--on-invalid", "keep", "--workers", "1", "--quiet"]
"""The options with which the records are those of ``naive.py``."""


def are_right(bench: Bench, name: str, logs: dict[str, Path]) -> bool:
    """Whether the records of a profile are what they have to be; prints where they are not.

    What agents keep has no second converter to be held to; the golden cases hold it.
    """
    if name in FILES:
        return True
    if name in DOCUMENTS:
        return _has_same_records(bench, name, logs)
    return _says_the_same(bench, name, logs) if name in BODIES else _same(bench, name, logs[name])


def _has_same_records(bench: Bench, name: str, logs: dict[str, Path]) -> bool:
    """Return whether a file of many sessions has the records of the same sessions in files of their own."""
    with Fresh(bench.out):
        by_id = ["--sessions-by", "id"]
        _run(bench, name, *(bench.convert(logs[each], *SIMPLE, *by_id, to=each) for each in ("tiny", name)))
        theirs, ours = (
            sorted((bench.out / each / "conversations.jsonl").read_bytes().splitlines()) for each in ("tiny", name)
        )
    if theirs != ours:
        print(f"{name}: {len(set(theirs) ^ set(ours))} records differ from those of tiny")
    return theirs == ours


def _same(bench: Bench, name: str, logs: Path) -> bool:
    """Whether both converters write the same bytes."""
    with Fresh(bench.out):
        _run(bench, name, bench.naive(logs), bench.convert(logs, *SIMPLE))
        with (
            (bench.out / "naive.jsonl").open("rb") as theirs,
            (bench.out / "ours/conversations.jsonl").open("rb") as ours,
        ):
            return _agree(name, logs, zip_longest(theirs, ours, fillvalue=b""))


def _says_the_same(bench: Bench, name: str, logs: dict[str, Path]) -> bool:
    """Whether the records are those of the same sessions in OpenAI's form."""
    with Fresh(bench.out):
        _run(bench, name, *(bench.convert(logs[each], *SIMPLE, to=each) for each in ("chat", name)))
        with (
            (bench.out / "chat/conversations.jsonl").open("rb") as theirs,
            (bench.out / name / "conversations.jsonl").open("rb") as ours,
        ):
            pairs = zip_longest(theirs, ours, fillvalue=b"null")
            return _agree(name, logs[name], ((_said(a), _said(b)) for a, b in pairs))


def _said(record: bytes) -> bytes:
    """A record without what a format may name otherwise: ids are numbered, keys are sorted, results have no name."""
    said = orjson.loads(record)
    ids: dict[str, str] = {}
    for message in said["messages"] if said else ():
        for call in message.get("tool_calls", ()):
            call["id"] = ids.setdefault(call["id"], f"call_{len(ids)}")
        if message["role"] == "tool":
            message["tool_call_id"] = ids.get(message["tool_call_id"])
            message.pop("name", None)
    return orjson.dumps(said, option=orjson.OPT_SORT_KEYS)


def _run(bench: Bench, name: str, *commands: Command) -> None:
    for command in commands:
        code = subprocess.run(command, env=bench.environment(), check=False).returncode
        if code not in FINISHED:
            sys.exit(f"{name}: exit code {code} of {' '.join(command)}")


def _agree(name: str, logs: Path, pairs: Iterator[tuple[bytes, bytes]]) -> bool:
    """Whether the records of both are equal; prints where they are not."""
    differing = list(_differences(logs, pairs))
    for line in differing[:5]:
        print(f"{name}: {line}")
    if differing:
        print(f"{name}: {len(differing)} records differ")
    return not differing


def _differences(logs: Path, pairs: Iterator[tuple[bytes, bytes]]) -> Iterator[str]:
    for path, (theirs, ours) in zip_longest(sorted(logs.rglob("*.jsonl")), pairs, fillvalue=(b"", b"")):
        if theirs != ours:
            at = next(
                (i for i, (a, b) in enumerate(zip(theirs, ours, strict=False)) if a != b), min(len(theirs), len(ours))
            )
            near = slice(max(0, at - 60), at + 60)
            yield f"{path}: at byte {at}\n  expected   {theirs[near]!r}\n  chatsquash {ours[near]!r}"
