"""The record checks on datasets that exist already."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline import codec
from pipeline.checks import examine, log
from pipeline.checks.registry import View, json_type
from pipeline.checks.tags import is_inlined, outlined
from pipeline.errors import UsageError
from pipeline.model import Conversation, Finding, Found
from pipeline.read.compressed import opened
from pipeline.read.discover import SUFFIXES
from pipeline.read.lines import lines
from pipeline.stages.select import flatten


def check(path: str) -> Iterator[Finding]:
    """What is wrong with the records of a JSONL dataset; native and inlined calls are told apart record by record.

    A folder stands for the record files in it.  Raises ``UsageError`` for a file that cannot be read.
    """
    for dataset in _datasets(path):
        try:
            yield from _check(dataset)
        except OSError as problem:
            raise UsageError(f"{dataset}: cannot be read ({problem.strerror})") from None


def _datasets(path: str) -> list[Path]:
    folder = Path(path)
    if not folder.is_dir():
        return [folder]
    inside = sorted(each for each in folder.iterdir() if each.suffix.lower() in SUFFIXES and each.is_file())
    if not inside:
        raise UsageError(f"{path}: no datasets (*.jsonl, *.ndjson) in this folder")
    return inside


def _check(path: Path) -> Iterator[Finding]:
    # A pipe is read as it comes.
    with opened(path) if path.is_file() else path.open("rb", buffering=0) as file:
        for line in lines(file):
            data = bytes(line.buffer[line.start : line.stop])
            if data.strip() or line.length > len(data):
                for found in _record(data.removeprefix(BOM_UTF8)):
                    yield Finding(found.code, found.severity, path.stem, str(path), line.number, found.at, found.text)


def _record(data: bytes) -> Iterator[Found]:
    try:
        record = codec.loads(data)
    except (ValueError, RecursionError) as problem:
        yield log.bad_record(f"the line is no JSON ({type(problem).__name__})")
        return
    reason = _not_a_record(record)
    if reason:
        yield log.bad_record(reason)
        return
    tools = record.get("tools")
    if tools is not None and not isinstance(tools, list):
        yield log.wrong_type("tools", json_type(tools), 1)
    messages, defined = record["messages"], list(map(flatten, tools if isinstance(tools, list) else []))
    yield from examine(View(Conversation(messages, defined)), "tools", "record")
    if is_inlined(messages):
        yield from examine(View(Conversation(messages, defined)), "inlined")
        messages = outlined(messages)
    yield from examine(View(Conversation(messages, defined)), "native")
    _, rounded = codec.encode(record)
    if rounded:
        yield log.number_changed(rounded, len(rounded))


def _not_a_record(record: Any) -> str | None:
    if not isinstance(record, dict):
        return f"the line is {json_type(record)}"
    messages = record.get("messages")
    if not isinstance(messages, list):
        return "messages is missing" if messages is None else f"messages is {json_type(messages)}"
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            return f"messages[{at}] is no object with a role"
    return None
