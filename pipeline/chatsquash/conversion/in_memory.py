"""Sessions without an output folder: all of one source as outcomes, or those of logs one at a time."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from msgspec import structs

from chatsquash.conversion.complete_options import with_key
from chatsquash.conversion.grouping import choose_grouping
from chatsquash.conversion.inputs import Sessions, find
from chatsquash.conversion.workers import outcomes
from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome
from chatsquash.dataset.choice import Selector, Session, session_of, stop_for
from chatsquash.dataset.filters import Filters
from chatsquash.session.converter import Converter
from chatsquash.storage.folder import Folder


def convert_session(
    source: str | PathLike[str] | Iterable[str | bytes], options: Options | None = None
) -> list[Outcome]:
    """Convert one log or document: the path of a file, or its lines.

    There is one outcome for each session that ``convert`` sees in such a file with the same options: mostly one,
    several where a document holds several conversations, or a log mixes sessions.  Options that choose logs, name files
    or divide records into splits change nothing.  Nothing is written but a temporary file that only its owner can read,
    where lines hold several sessions.

    An outcome holds the record's bytes, or none with the code of the finding for which the session was left out, all
    findings, and what became of each line.  Raises ``OSError`` for a file that cannot be opened and ``UsageError`` for
    a wrong option and for a key file that cannot be used.

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
        from chatsquash.dataset.pre_pass import run_pre_pass  # which few runs need

        pairs = list(pairs)
        run_pre_pass(pairs, filters, options, io.BytesIO)
    return [filters.apply(log, outcome).outcome for log, outcome in pairs]


def _of_path(path: Path, options: Options) -> Iterator[tuple[Log, Outcome]]:
    with path.open("rb"):  # so that what cannot be opened is an error and no outcome
        pass
    return outcomes([Log(str(path), str(path), path.name, path.stat().st_size)], options)


def _of_lines(lines: Iterable[str | bytes], options: Options) -> Iterable[tuple[Log, Outcome]]:
    if isinstance(lines, bytes | bytearray):
        raise UsageError("the source is bytes: give the lines, as in data.splitlines(), or the path of a file")
    encoded = (line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass") for line in lines)
    data = b"\n".join(line.removesuffix(b"\n") for line in encoded)
    log = Log("", "session", "session", len(data))
    if options.sessions_by not in ("id", "chain"):
        outcome = Converter(options).read(io.BytesIO(data), log)
        if outcome:
            return [(log, outcome)]
    return _split(data, log, options)


def _split(data: bytes, log: Log, options: Options) -> list[tuple[Log, Outcome]]:
    """The sessions in a file with these lines, which is there meanwhile, for its owner alone."""
    from tempfile import NamedTemporaryFile  # which takes long to import, and few sources need it

    with NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(data)
        file.flush()
        return list(outcomes([structs.replace(log, path=file.name)], options))


def read(
    logs: str | PathLike[str] | Iterable[str | PathLike[str]], options: Options | None = None
) -> Iterator[Session]:
    """Iterate over the sessions of logs, each with the records that ``convert`` would write of it.

    A session is converted when the loop gets to it, so that a loop may end early and few are in memory.  Nothing is
    written but temporary files that only their owner can read.  Options that name or arrange files change nothing.

    Args:
        logs: Directories, files, globs or URLs, in order.
        options: What to do; by default what the command does, in this process.

    Yields:
        Sessions in the order of the logs, those without a record among them: ``refused`` says why.

    Raises:
        UsageError: A wrong option, nothing to read, or a key file that cannot be used.
        StoppedError: ``strict`` or ``on_invalid="abort"`` ends the iteration.
        OSError: A temporary file cannot be written.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "s.jsonl").write_text('{"request": {"messages": [{"role": "user", "content": "hi"}]}}')
    >>> [session.records for session in read(folder, Options(anonymize=False))]
    [[{'messages': [{'role': 'user', 'content': 'hi'}], 'tools': []}]]
    """
    from tempfile import TemporaryDirectory, TemporaryFile  # not where a folder is written

    options = with_key(options or Options())
    with TemporaryDirectory(prefix="chatsquash-") as name, closing(Folder(Path(name))) as folder, ExitStack() as files:
        expanded = folder.folder("expanded")

        def scratch() -> BinaryIO:
            return files.enter_context(TemporaryFile(dir=name))

        discovery = find(logs, Path(name), options, lambda: expanded)
        options = choose_grouping(discovery, options)
        inputs = Sessions(discovery.logs, options, expanded, scratch, None)
        choice = Selector(options)
        if options.needs_all_records:
            choice.run_pre_pass(_unstopped(inputs.ahead(), options), scratch)
        choice.begin(discovery.logs)
        for log, outcome in _unstopped(inputs.sessions(), options):
            named, renamed = choice.rename(log, outcome)
            yield session_of(named, choice.select(log, named, renamed))


def _unstopped(sessions: Iterator[tuple[Log, Outcome]], options: Options) -> Iterator[tuple[Log, Outcome]]:
    """As many sessions as are asked for; raises for one that the options stop for."""
    for log, outcome in islice(sessions, options.limit):
        stop_for(outcome, log.display_path, options)
        yield log, outcome
