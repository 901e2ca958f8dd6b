"""Whole conversations from one format to another, file by file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby
from itertools import count as counting
from pathlib import Path
from typing import BinaryIO, NamedTuple

from chatsquash import footprint, jsonio, platform
from chatsquash.errors import ChatsquashError, UsageError
from chatsquash.formats import links
from chatsquash.model import Json
from chatsquash.text import counted, escaped, shown
from chatsquash.translate import conversations, losses
from chatsquash.translate.sources import STREAM, Source, Sources
from chatsquash.write.groups import sanitised

_SHOWN = 20  # lines that cannot be read


@dataclass(frozen=True, slots=True)
class Translation:
    """What the user asked of a translation."""

    to: str
    output: str
    """A folder; with ``jsonl`` a file; or ``-``."""
    from_format: str | None = None
    all_branches: bool = False
    """Also the branches of a history that others go on from."""
    jsonl: bool = False
    lossless: bool = False
    force: bool = False


class Translated(NamedTuple):
    """What came of a translation."""

    written: int
    lost: Counter[str]
    """What the target could not hold, by the kind of its path."""
    passed_over: Counter[str]
    """What was not read, in words."""
    options: Counter[str]
    """The options of requests, which are no part of a conversation, by their names."""
    unlinked: Counter[str]
    """Calls without results and results without calls, in words; they are written as they are."""
    bad_lines: list[str]
    """The lines that cannot be read: where, and what is wrong."""
    to: str = ""
    """The format that was written."""
    complete: bool = True
    """Whether every line and every file could be read."""

    def lines(self) -> Iterator[str]:
        """What is said at the end, escaped, a line each."""
        yield from map(escaped, self.bad_lines[:_SHOWN])
        if len(self.bad_lines) > _SHOWN:
            yield f"... and {counted(len(self.bad_lines) - _SHOWN, 'more line')} that cannot be read"
        yield f"{counted(self.written, 'conversation')} written as {self.to}"
        said = {
            "not held": self.lost,
            "not read": self.passed_over,
            "request option": self.options,
            "not linked": self.unlinked,
        }
        for what, counts in said.items():
            for kind, count in sorted(counts.items()):
                yield f"{count:>9,}  {what}: {escaped(kind)}"


class LossError(ChatsquashError):
    """Something would be lost, and that was forbidden."""


class _Written(NamedTuple):
    """A document, what it is made of, and what it does not hold."""

    name: str
    document: Json
    sources: list[Source]
    lost: list[str]


def translate(found: Iterable[Source], to: str) -> Iterator[_Written]:
    """Of each conversation its document in a format; the branches of a history are one where the format holds them."""
    together = conversations.holds_branches(to)
    for of, group in groupby(found, lambda each: each.file if together and each.conversation.branch else object()):
        sources = list(group)
        if isinstance(of, tuple):
            name = of[1]
            document = _held(conversations.dump_all([each.conversation for each in sources], to))
            back = conversations.load_all([document], to, every=True)
        else:
            name = sources[0].name
            document = _held(conversations.dump(sources[0].conversation, to))
            back = [conversations.load(document, to)]
        pairs = zip(sources, back, strict=True)
        lost = [path for source, read in pairs for path in losses.differences(source.conversation, read)]
        yield _Written(name, document, sources, lost)


def _held(document: Json) -> Json:
    """A document, unless this process may not take enough memory to compare it with what it is made of."""
    if platform.memory_left() is not None:
        footprint.hold_to_machine(jsonio.dumps(document))
    return document


def _refuse_loss(each: _Written, to: str) -> None:
    """Raise ``LossError`` for a document that does not hold all, or for something that was not read."""
    missing = [what for source in each.sources for what in source.left_out]
    if not (missing or each.lost):
        return
    what = f"{to} cannot hold {each.lost[0]}" if each.lost else f"not read: {missing[0]}"
    rest = len(missing) + len(each.lost) - 1
    more = f" and {rest:,} more" if rest else ""
    raise LossError(f"{each.name}: {what}{more}; without --lossless the rest is written")


def write_all(inputs: Iterable[str], wanted: Translation, stdin: BinaryIO, stdout: BinaryIO) -> Translated:
    """Translate files, folders and globs to a folder, a file of lines or a stream.

    Raises ``UsageError`` for what cannot be read, told or written, and ``LossError``.
    """
    if wanted.force and wanted.output == STREAM:
        raise UsageError("--force has no effect with --output -: leave one of them out")
    out = None if wanted.output == STREAM else Path(wanted.output)
    sources = Sources(wanted.from_format, wanted.all_branches, out)
    done = Translated(0, Counter(), sources.passed_over, Counter(), Counter(), [], wanted.to)
    written: list[tuple[str, bytes]] = []  # all of it, since nothing is written where one cannot be
    for each in translate(chain.from_iterable(sources.read(path, stdin) for path in inputs), wanted.to):
        if wanted.lossless:
            _refuse_loss(each, wanted.to)
        spelled = shown(each.document) if out is None else jsonio.dumps(each.document)
        written.append((each.name, spelled + b"\n"))
        _count(each, done)
    if sources.failed and wanted.lossless:
        raise LossError(f"{sources.failed[0]}; without --lossless the rest is written")
    if sources.failed and not written:
        raise sources.failed[-1]
    done.passed_over.update(map(str, sources.failed))
    _write(written, wanted, stdout)
    complete = not (sources.failed or sources.cut or done.bad_lines)
    return done._replace(written=len(written), complete=complete)


def _count(each: _Written, done: Translated) -> None:
    done.lost.update(map(losses.kind, each.lost))
    for source in each.sources:
        done.passed_over.update(source.left_out)
        done.options.update(source.options)
        done.bad_lines.extend(source.bad_lines)
        done.unlinked.update(links.unlinked(source.conversation.messages))


def _write(written: list[tuple[str, bytes]], wanted: Translation, stdout: BinaryIO) -> None:
    folder = Path(wanted.output)
    if wanted.output == STREAM:
        if len(written) > 1 and not wanted.jsonl:
            raise UsageError(f"{len(written)} conversations: print them with --jsonl, or name a folder")
        stdout.writelines(data for _, data in written)
        stdout.flush()
    elif wanted.jsonl:
        _write_files(folder.parent, {folder: b"".join(data for _, data in written)}, force=wanted.force)
    else:
        _write_files(folder, _placed(folder, written), force=wanted.force)


def _placed(folder: Path, written: list[tuple[str, bytes]]) -> dict[Path, bytes]:
    """Where each document goes."""
    taken: set[str] = set()
    placed = {}
    for name, data in written:
        label = sanitised(name)
        names = chain([label], (f"{label}-{number}" for number in counting(2)))
        free = next(each for each in names if each.casefold() not in taken)
        taken.add(free.casefold())
        placed[folder / f"{free}.json"] = data
    return placed


def _write_files(folder: Path, files: dict[Path, bytes], *, force: bool) -> None:
    """Write files to a folder; raises ``UsageError`` for one that is there, before any is written."""

    def refuse(path: Path) -> None:
        if not force and os.path.lexists(path):
            raise UsageError(f"{path}: is there already; --force replaces it")

    for path in files:
        refuse(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UsageError(f"{folder}: cannot be made ({problem.strerror})") from None
    for path, data in files.items():
        refuse(path)  # again, since another process may have made it
        _write_file(path, data)


def _write_file(path: Path, data: bytes) -> None:
    """Write a file, which appears whole."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    except OSError as problem:
        raise UsageError(f"{path}: cannot be written ({problem.strerror})") from None
    finally:
        beside.unlink(missing_ok=True)
