"""The decoder of agent traces for ``datasets``: one row per conversation, with the columns of ``teich``.

``datasets`` decodes the session files of coding agents with ``teich.convert_traces_to_training_data``, which returns
one row per file and joins its branches, compactions and sub-agents. ``install`` replaces that function in the current
process::

    from datasets import load_dataset
    from chatsquash.integrations import datasets as traces

    traces.install()
    dataset = load_dataset("json", data_files="sessions/*.jsonl", split="train")
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson

from chatsquash.core import chat, jsonio
from chatsquash.core.log import Log
from chatsquash.core.model import Conversation, Message
from chatsquash.core.options import Options
from chatsquash.core.times import stamp
from chatsquash.formats.base import TurnError
from chatsquash.reading.documents import LogDocument, first_line
from chatsquash.reading.identify import read_document
from chatsquash.session.parent_sessions import name
from chatsquash.session.plan import Plan, plan, run_stages
from chatsquash.session.select import ToolUnion
from chatsquash.session.stages.compose import normalise
from chatsquash.sources.open import open_file
from chatsquash.trees.documents import FilePath, paths_of

_OPTIONS = Options(
    preset="hf", conversations="all", media="text", anonymize=False, integrity_analysis=False, duplicates="keep"
)
_AGENTS = {"claude_code": "claude-code"}
"""The names of agents in ``teich`` if they differ from those of formats."""
_ONE_PER_LINE = "hermes"
"""The agent whose files have one session per line; ``datasets`` expects one row for each of these lines, in order."""
_FORMATS = {
    "user": "claude_code",
    "assistant": "claude_code",
    "session": "pi",
    "session_meta": "codex",
    "session_start": "droid",
}
"""The formats by the types of lines from which ``datasets`` detects agents."""
_FIRST = 50
"""The number of lines in which the type is searched for."""
_SKIPPED_FOLDERS = {"partials", "failures"}
"""Folders of ``teich`` with sessions that are incomplete or failed."""
_MISSING: Any = object()
_originals: list[tuple[Any, Any, Any]] = []
"""The function of ``teich`` or, if it is not installed, its absence, and the setting of ``datasets``, if replaced."""


def convert_traces_to_training_data(
    traces_dir: str | PathLike[str], *, skip_invalid_lines: bool = False
) -> list[dict[str, Any]]:
    """Return one row per conversation in the session files of agents.

    The messages are those that ``chatsquash convert --preset hf --conversations all`` writes. A conversation for which
    it would write no record has its logged messages and the reason in ``metadata["refused"]``. Each file with any lines
    has at least one row.

    Args:
        traces_dir: A file, or a folder whose ``*.jsonl`` files are read in order.
        skip_invalid_lines: Skip lines that are not JSON instead of raising an error.

    Returns:
        Rows with ``prompt``, ``messages``, ``tools`` and ``metadata``, whose ``kind``, ``conversation`` and ``parent``
        distinguish main conversations, compactions, branches, sub-agents and side requests.

    Raises:
        OSError: A file cannot be read.
        ValueError: A line is not JSON.
    """
    return [row for path in _files(Path(traces_dir)) for row in _rows_of_file(path, skips_invalid=skip_invalid_lines)]


def install() -> None:
    """Make ``load_dataset`` decode agent traces with this module in the current process, until ``uninstall``.

    Raises:
        ImportError: ``datasets`` is not installed.
    """
    import datasets.config  # only an installed datasets can be changed

    if _originals:
        return
    try:
        import teich
    except ImportError:
        teich = _MISSING
    function = _MISSING if teich is _MISSING else teich.convert_traces_to_training_data
    _originals.append((teich, function, datasets.config.TEICH_AVAILABLE))
    if teich is _MISSING:
        teich = sys.modules["teich"] = ModuleType("teich", __doc__)
    teich.convert_traces_to_training_data = convert_traces_to_training_data
    datasets.config.TEICH_AVAILABLE = True


def uninstall() -> None:
    """Undo ``install``."""
    if not _originals:
        return
    import datasets.config

    teich, function, is_available = _originals.pop()
    if teich is _MISSING:
        del sys.modules["teich"]
    else:
        teich.convert_traces_to_training_data = function
    datasets.config.TEICH_AVAILABLE = is_available


def _files(source: Path) -> Iterator[Path]:
    if not source.is_dir():
        yield source
        return
    for path in sorted(source.rglob("*.jsonl")):
        if path.is_file() and not _SKIPPED_FOLDERS.intersection(path.relative_to(source).parts):
            yield path


def _rows_of_file(path: Path, *, skips_invalid: bool) -> list[dict[str, Any]]:
    documents = _documents(path)
    rejected = [each for document in documents for each in document.rejected_lines]
    if rejected and not skips_invalid:
        where = f"{path}:{rejected[0].line}"
        raise ValueError(f"{where}: {rejected[0].reason}; skip_invalid_lines=True skips such lines")
    rows = [row for document in documents for row in _rows(path, document)]
    if rows or not path.stat().st_size:
        return rows
    return [_empty_row(path, documents[0].problem or "no-conversation" if documents else "unknown-format")]


def _rows(path: Path, document: LogDocument) -> list[dict[str, Any]]:
    """Return the rows of a document; conversations that only repeat others are skipped."""
    if document.format == _ONE_PER_LINE:
        return _rows_by_line(path, document)
    paths = paths_of(document)
    return [_row(path, document, each) for each in [each for each in paths if not each.is_copy] or paths[:1]]


def _rows_by_line(path: Path, document: LogDocument) -> list[dict[str, Any]]:
    """Return the first conversation of each line in the order of the lines, then the others."""
    firsts: dict[int | None, FilePath] = {}
    for each in paths_of(document):
        firsts.setdefault(first_line(each.origin), each)
    rows_of_lines = [firsts[line] for line in sorted(firsts, key=lambda line: line or 0)]
    rows = [_row(path, document, each) for each in rows_of_lines]
    for each in paths_of(document):
        if firsts[first_line(each.origin)] is not each:
            row = _row(path, document, each)
            row["metadata"]["trace_type"] += f"-{each.kind}"  # datasets reads the n-th line for the n-th row of hermes
            rows.append(row)
    return rows


def _documents(path: Path) -> list[LogDocument]:
    """Return the documents in a file; its agent is detected like in ``datasets`` if its first lines are incomplete."""
    try:
        documents = _read(path, _OPTIONS)
        options = None if documents else _with_format(path)
        return _read(path, options) if options else documents
    except TurnError:
        return []


def _read(path: Path, options: Options) -> list[LogDocument]:
    with open_file(path, options) as file:
        document = read_document(file, options)
        if document is None or document.line:
            return []
        units = [read_document(file, options, unit) for unit in document.units]
    return [each for each in units if each] or [document]


def _with_format(path: Path) -> Options | None:
    """Return options with the agent that a line's type is known from."""
    with open(path, "rb") as file:
        for data in islice(file, _FIRST):
            try:
                value = jsonio.loads(data)
            except (ValueError, RecursionError):
                continue
            kind = value.get("type") if isinstance(value, dict) else None
            if isinstance(kind, str) and kind in _FORMATS:
                return replace(_OPTIONS, from_format=_FORMATS[kind])
    return None


def _row(path: Path, document: LogDocument, place: FilePath) -> dict[str, Any]:
    """Return the row of a conversation."""
    log = Log(str(path), str(path), path.name, document.size)
    messages, tools, reason = _shape(place.conversation)
    users = [message for message in messages if message["role"] == "user"]
    replies = place.origin.replies
    metadata = {
        "source_file": path.name,
        "session_id": place.origin.session_id or path.stem,
        "trace_type": _AGENTS.get(document.format, document.format),
        "model": next((each.model for each in reversed(replies) if each.model), None),
        "cli_version": document.version,
        "turn_count": len(users),
        "tool_call_count": sum(len(message.get("tool_calls", ())) for message in messages),
        "first_message_timestamp": stamp(place.origin.started_at) if place.origin.started_at is not None else None,
        "kind": place.kind,
        "conversation": name(place, log),
        "parent": name(place.parent, log) if place.parent else None,
        "line": first_line(place.origin),
        "refused": reason,
    }
    return {
        "prompt": users[0]["content"] if users else "",
        "messages": messages,
        "tools": tools,
        "metadata": {key: value for key, value in metadata.items() if value is not None},
    }


def _empty_row(path: Path, reason: str) -> dict[str, Any]:
    """Return the row of a file without conversations."""
    metadata = {"source_file": path.name, "session_id": path.stem, "trace_type": "unknown", "refused": reason}
    return {"prompt": "", "messages": [], "tools": [], "metadata": {**metadata, "turn_count": 0, "tool_call_count": 0}}


# Messages


def _shape(conversation: Conversation) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str | None]:
    """Return the messages and tools of a record, and the reason if ``convert`` would write no record."""
    steps, tools = _plan(), ToolUnion()
    tools.offer(conversation.tools, 1)
    tools.settle()
    plain = Conversation(list(map(normalise, conversation.messages)), tools.settled(), has_private=True)
    for stages in (steps.logged_stages, steps.record_stages):
        plain, _ = run_stages(stages, plain)
    line = steps.encode(plain)
    if line.data is not None:
        record = jsonio.loads(line.data)
        return record["messages"], record.get("tools", []), None
    assert line.refusal
    messages = list(map(_plain, plain.messages))
    definitions = [{"type": "function", "function": tool} for tool in plain.tools]
    try:
        orjson.dumps([messages, definitions])
    except orjson.JSONEncodeError:  # loaders reject these values
        return [], [], line.refusal.code
    return messages, definitions, line.refusal.code


@cache
def _plan() -> Plan:
    return plan(_OPTIONS, None)


def _plain(message: Message) -> dict[str, Any]:
    """Return a logged message with text as content, and with arguments as objects if they are JSON objects."""
    plain: dict[str, Any] = {**message, "content": chat.joined_text(message) or ""}
    if "tool_calls" in message:
        plain["tool_calls"] = list(map(_with_object, chat.calls(message)))
    return plain


def _with_object(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    arguments = function.get("arguments") if isinstance(function, dict) else None
    value = jsonio.value(arguments) if isinstance(arguments, str) else None
    return {**call, "function": {**function, "arguments": value}} if function and isinstance(value, dict) else call
