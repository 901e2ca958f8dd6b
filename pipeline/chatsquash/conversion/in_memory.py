"""Conversion without an output folder: one source as outcomes, or logs as an iterator of sessions of the API."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from msgspec import structs

from chatsquash.conversion.complete_options import choose_grouping, with_key
from chatsquash.conversion.inputs import Sessions, find
from chatsquash.conversion.workers import outcomes
from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.model import Finding
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome
from chatsquash.core.text import escape
from chatsquash.dataset.choice import Selection, Selector, stop_for
from chatsquash.dataset.filters import Filters
from chatsquash.dataset.session_table import RecordOutcome, line_of
from chatsquash.session.converter import Converter
from chatsquash.storage.folder import Folder


class Session(NamedTuple):
    """A session of a log, as returned by ``read`` and passed to the ``filter`` of ``convert``.

    records: each ``{"messages": [...], "tools": [...]}``, or in the shape of the preset; empty if it was skipped.
    findings: each has ``code``, ``severity``, ``file``, ``line``, ``message`` and ``text``.
    facts: its line of ``reports/sessions.jsonl``; ``docs/output.md`` lists the columns.
    refused: the code of the finding for which it has no record, or ``None`` if it has one.
    """

    records: list[dict[str, Any]]
    findings: list[Finding]
    facts: dict[str, Any]
    refused: str | None

    def __str__(self) -> str:
        """Format the session like ``chatsquash show``: a title, then the messages of each record."""
        from chatsquash.records import printing  # rarely needed

        title = escape(f"session {self.facts['session']}")
        if not self.records:
            return f"{title}: no record ({self.refused or self.facts.get('filtered')})"
        return "\n".join([title, *map(printing.record_as_text, self.records)])


def session_of(log: Log, selection: Selection) -> Session:
    """Return a session for the API."""
    outcome = selection.outcome
    first = outcome.records[0] if outcome.records else None
    facts = line_of(log, outcome, first, selection.turns, RecordOutcome(filtered=selection.why)).as_dict()
    return Session([jsonio.loads(record.line) for record in outcome.records], outcome.findings, facts, outcome.left_out)


def convert_session(
    source: str | PathLike[str] | Iterable[str | bytes], options: Options | None = None
) -> list[Outcome]:
    """Convert one log or document, given as a path or as its lines.

    There is one outcome per session, as with ``convert`` and the same options: usually one, but several if a document
    contains several conversations or a log mixes sessions. Options that select logs, name files or divide records into
    splits have no effect. A private temporary file is written only if lines contain several sessions.

    An outcome contains the bytes of the record, or the code of the finding for which the session was skipped; all
    findings; and the outcomes of the lines.

    Raises:
        OSError: The file cannot be opened.
        UsageError: An option is invalid, or the key file cannot be used.

    >>> line = b'{"session_id": "s", "timestamp": 1.5, "request": {"messages": [{"role": "user", "content": "hi"}]}}'
    >>> [outcome.record for outcome in convert_session([line], Options(anonymize=False))]
    [b'{"messages":[{"role":"user","content":"hi"}],"tools":[]}']
    """
    options = replace(with_key(options or Options()), workers=1)
    options = replace(options, split=None, split_by="prompt", seed=0) if options.clusters else options
    filters = Filters(replace(options, since=None, until=None))
    pairs = _of_path(Path(source), options) if isinstance(source, str | PathLike) else _of_lines(source, options)
    pairs = islice(pairs, options.limit)
    if options.needs_all_records:
        from chatsquash.dataset.pre_pass import run_pre_pass  # rarely needed

        pairs = list(pairs)
        run_pre_pass(pairs, filters, options, io.BytesIO)
    return [filters.apply(log, outcome).outcome for log, outcome in pairs]


def _of_path(path: Path, options: Options) -> Iterator[tuple[Log, Outcome]]:
    with path.open("rb"):  # a file that cannot be opened is an error, not an outcome
        pass
    return outcomes([Log(str(path), str(path), path.name, path.stat().st_size)], options)


def _of_lines(lines: Iterable[str | bytes], options: Options) -> Iterable[tuple[Log, Outcome]]:
    if isinstance(lines, bytes | bytearray):
        raise UsageError("the source is bytes; pass lines, as in data.splitlines(), or the path of a file")
    encoded = (line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass") for line in lines)
    data = b"\n".join(line.removesuffix(b"\n") for line in encoded)
    log = Log("", "session", "session", len(data))
    if options.sessions_by not in ("id", "chain"):
        outcome = Converter(options).read(io.BytesIO(data), log)
        if outcome:
            return [(log, outcome)]
    return _split(data, log, options)


def _split(data: bytes, log: Log, options: Options) -> list[tuple[Log, Outcome]]:
    """Convert lines with several sessions, which are written to a temporary private file."""
    from tempfile import NamedTemporaryFile  # slow to import, and rarely needed

    with NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(data)
        file.flush()
        return list(outcomes([structs.replace(log, path=file.name)], options))


def read(
    logs: str | PathLike[str] | Iterable[str | PathLike[str]], options: Options | None = None
) -> Iterator[Session]:
    """Iterate over the sessions of logs, each with the records that ``convert`` would write.

    Each session is converted when it is reached, so that a loop can end early and few sessions are in memory. Only
    temporary private files are written. Options that name or arrange files have no effect.

    Args:
        logs: Directories, files, globs or URLs, in order.
        options: The options; by default those of the command, but in a single process.

    Yields:
        Sessions in the order of the logs, including those without a record; ``refused`` is the reason.

    Raises:
        UsageError: An option is invalid, there is nothing to read, or the key file cannot be used.
        StoppedError: ``strict`` or ``on_invalid="abort"`` ends the iteration.
        OSError: A temporary file cannot be written.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "s.jsonl").write_text('{"request": {"messages": [{"role": "user", "content": "hi"}]}}')
    >>> [session.records for session in read(folder, Options(anonymize=False))]
    [[{'messages': [{'role': 'user', 'content': 'hi'}], 'tools': []}]]
    """
    from tempfile import TemporaryDirectory, TemporaryFile  # slow to import, and not needed by convert

    options = with_key(options or Options())
    with TemporaryDirectory(prefix="chatsquash-") as name, closing(Folder(Path(name))) as folder, ExitStack() as files:
        expanded = folder.folder("expanded")

        def scratch() -> BinaryIO:
            return files.enter_context(TemporaryFile(dir=name))

        discovery = find(logs, Path(name), options, lambda: expanded)
        options = choose_grouping(discovery, options)
        inputs = Sessions(discovery.logs, options, expanded, scratch, None)
        selector = Selector(options)
        if options.needs_all_records:
            selector.run_pre_pass(_until_limit(inputs.ahead(), options), scratch)
        selector.begin(discovery.logs)
        for log, outcome in _until_limit(inputs.sessions(), options):
            display_log, display_outcome = selector.rename(log, outcome)
            yield session_of(display_log, selector.select(log, display_log, display_outcome))


def _until_limit(sessions: Iterator[tuple[Log, Outcome]], options: Options) -> Iterator[tuple[Log, Outcome]]:
    """Yield sessions up to ``--limit``; raise ``StoppedError`` as ``stop_for``."""
    for log, outcome in islice(sessions, options.limit):
        stop_for(outcome, log.display_path, options)
        yield log, outcome
