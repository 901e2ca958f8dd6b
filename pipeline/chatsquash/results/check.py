"""The record checks on datasets that exist already."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice, pairwise
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from chatsquash.checks import definition_members, examine, private, reading, schemas, shapes, stored_records
from chatsquash.checks.dataset import OF_TOOLS
from chatsquash.checks.phrases import Phrases, turns
from chatsquash.checks.registry import View
from chatsquash.checks.tags import is_inlined, to_native
from chatsquash.core import chat, jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Conversation, Finding, Json, Violation
from chatsquash.core.options import FLAGGED
from chatsquash.core.text import json_type
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.formats import documents
from chatsquash.reading.identify import identify
from chatsquash.records.datasets import PARQUET, UNBOUNDED, DatasetRow, files, rows, session
from chatsquash.records.line import NotARecordError, StoredRecord
from chatsquash.records.reading import native, parse, record
from chatsquash.redaction.addresses import addresses, may_have_address
from chatsquash.redaction.hits import Value
from chatsquash.redaction.privacy import remove_beginnings
from chatsquash.redaction.redactor import Redactor, UnsearchedError
from chatsquash.results.frame import DAMAGE
from chatsquash.results.output import LONGEST, ResultFolder, is_result
from chatsquash.results.redact import tables
from chatsquash.results.redact.record import hides, look, looked
from chatsquash.session.select import flatten
from chatsquash.session.session import finding
from chatsquash.sources.open import open_file
from chatsquash.storage.folder import Folder

_FIRST = 8
"""Rows of which one is a record, or else the file may be a log."""
_SESSION = "session_id"
"""The column that names a record's session, as ``--metadata`` writes it."""


class Looks(NamedTuple):
    """What to look for beside what the rules find."""

    phrases: Phrases = Phrases(FLAGGED)
    addresses: bool = False
    """Whether e-mail addresses are left."""
    also: Callable[[StoredRecord], Iterator[Violation]] | None = None
    """Anything else, which may go on elsewhere until it is asked for."""
    overlap: Callable[[StoredRecord], Iterator[Violation]] | None = None
    """What a record has of an evaluation set."""
    arguments: bool = False
    """Whether the arguments of calls are held to the definitions."""
    shape: Callable[[Json], Iterator[Violation]] | None = None
    """What a trainer does not read in the value of a row."""
    private: Redactor | None = None
    """Finds what is private."""
    inlined: bool | None = None
    """Whether calls are in the text; ``None``: as each record looks."""


_USUAL = Looks()


def check(path: str, looks: Looks = _USUAL) -> Iterator[Finding]:
    """What is wrong with the records of a dataset; native and inlined calls are told apart record by record.

    A folder stands for the record files in it, or in its ``data`` folder.  Raises ``UsageError`` for a file that
    cannot be read, and for logs.
    """
    if looks.arguments:
        schemas.refuse_missing()
    without_tools, looks = _without_tools(path), looks._replace(inlined=_is_inlined(path))
    for file in files(path):
        _refuse_log(path, file)
        is_empty = True
        explained = without_tools.get(str(file), set())
        for row, whole in _rows(file, looks):
            data = row.data.removeprefix(BOM_UTF8)
            is_empty = False
            named: str | None = None
            masked = _Mask(looks.private)
            said = _row(data, looks, without_tools=row.number in explained)
            for violation in (*_private(data, whole, masked), *said):
                named = named or masked.text(_session(data) or row.session or "")
                yield finding(violation._replace(text=masked.text(violation.text)), named, str(row.file), row.number)
        if is_empty:
            yield finding(stored_records.empty_dataset(), session(file), str(file))


def _refuse_log(given: str, file: Path) -> None:
    """Raise ``UsageError`` for a file that begins as a log, and not with records."""
    if not file.is_file() or file.suffix.lower() == PARQUET or any(map(_is_record, islice(rows(str(file)), _FIRST))):
        return
    with open_file(file, UNBOUNDED) as log:
        seen = identify(log).seen
    if seen.format or seen.envelope == "document":
        what = f"is a log ({seen.format or seen.why}), not a dataset"
        raise UsageError(f"{file}: {what}; make one with: chatsquash convert {quote(given)}")


def _is_record(row: DatasetRow) -> bool:
    try:
        record(parse(row.data.removeprefix(BOM_UTF8)))
    except NotARecordError:
        return False
    return True


def _is_inlined(path: str) -> bool | None:
    """Whether calls of an output are in the text, as its ``run.json`` says; ``None`` for any other dataset."""
    if not is_result(Path(path)):
        return None
    try:
        with closing(Folder(Path(path))) as folder:
            return bool(ResultFolder(folder).options.get("json_tool_calls"))
    except UsageError:
        return None


def _without_tools(path: str) -> dict[str, set[int]]:
    """The rows of each file of an output whose agents keep no definitions, which ``source-without-tools`` says once."""
    rows: dict[str, set[int]] = {}
    try:
        with closing(Folder(Path(path))) as folder, folder.open_file(SESSIONS) as file:
            while line := file.readline(LONGEST):
                row = jsonio.loads(line)
                if row["row"] is not None and not documents.has_tools(row["format"]):
                    rows.setdefault(str(Path(path, row["file"])), set()).add(row["row"])
    except (OSError, KeyError, *DAMAGE):  # without the table, records are checked as any others
        return {}
    return rows


def _rows(file: Path, looks: Looks) -> Iterator[tuple[DatasetRow, Json]]:
    """The rows of a file, with all that those of a Parquet file hold where that is looked at."""
    records = rows(str(file), _SESSION)
    if looks.private and file.suffix.lower() == PARQUET:
        yield from zip(records, (row.value for row in tables.rows(file)), strict=True)
    else:
        yield from ((row, None) for row in records)


class _Mask:
    """Shows nothing of what is private in a row, where that is looked for."""

    def __init__(self, redactor: Redactor | None) -> None:
        self.redactor = redactor
        self._values: list[Value] = []

    def find(self, value: Json) -> Iterator[Violation]:
        """What is private in a row; raises ``UnsearchedError``."""
        if self.redactor:
            counts = look(value, self.redactor)
            self._values = sorted({each for _, each in counts})
            yield from looked(value, counts)

    def text(self, text: str) -> str:
        """A text with the kinds of values in the place of these; nothing is left of one that cannot be searched."""
        if not (self.redactor and text):
            return text
        try:
            hits = self.redactor.find(text, self.redactor.find_everywhere(self._values))
        except UnsearchedError:
            return ""
        pieces, done = [], 0
        for hit in hits:
            pieces += [text[done : hit.start], f"<{hit.kind}>"]
            done = hit.end
        return remove_beginnings("".join([*pieces, text[done:]]), self._values)


def _private(data: bytes, whole: Json, masked: _Mask) -> Iterator[Violation]:
    """What is private in a row, also in one that is no record."""
    if masked.redactor is None:
        return
    try:
        value = parse(data) if whole is None else whole
        if whole is None and hides(data, value):  # so that its bytes tell more than it
            value = [value, data.decode("utf-8", "surrogatepass")]
        yield from masked.find(value)
    except NotARecordError:
        return  # which is reported as no record
    except UnsearchedError as problem:
        yield private.redaction_failed(str(problem))


def _session(data: bytes) -> str | None:
    """The session id of a row, where it has one."""
    try:
        value = parse(data)
    except NotARecordError:
        return None
    named = value.get(_SESSION) if isinstance(value, dict) else None
    return named if isinstance(named, str) else None


def _row(data: bytes, looks: Looks, *, without_tools: bool) -> Iterator[Violation]:
    try:
        value = parse(data)
        stored = record(value)
    except NotARecordError as problem:
        yield stored_records.bad_record(str(problem))
        return
    yield from looks.shape(value) if looks.shape else ()
    beside = looks.also(stored) if looks.also else ()
    said = native(stored)
    explained = OF_TOOLS if without_tools and not said.tools else ()
    is_text = is_inlined(said.messages) if looks.inlined is None else looks.inlined
    for violation in _record(said, is_text=is_text, holds_arguments=looks.arguments):
        if violation.code in explained:
            continue
        if "completion" in value and violation.code == "unanswered-call" and violation.at == len(said.messages) - 1:
            continue  # a sample ends with its reply
        yield violation._replace(at=said.place(violation.at))
    yield from _behind_results(said)
    for violation in beside:
        yield violation._replace(at=stored.place(violation.at))
    for violation in looks.overlap(stored) if looks.overlap else ():
        yield violation._replace(at=stored.place(violation.at))
    yield from looks.phrases.violations(value)
    yield from _addresses_left(value) if looks.addresses else ()
    _, rounded = jsonio.encode(value)
    if rounded:
        yield reading.number_changed(rounded, len(rounded))


def _behind_results(said: StoredRecord) -> Iterator[Violation]:
    """Where the user speaks right behind a result, unless one message holds both."""
    roles = pairwise(message["role"] for message in said.messages)
    places = [at for at, pair in enumerate(roles, 1) if pair == ("tool", "user")]
    apart = [said.place(at) for at in places if said.place(at) != said.place(at - 1)]
    if apart:
        yield shapes.user_after_result(len(apart), apart[0])


def _addresses_left(value: dict[str, Json]) -> Iterator[Violation]:
    """The addresses that an anonymizer would replace, which takes no key to tell."""
    rest = {name: member for name, member in value.items() if name not in ("messages", "conversations", "system")}
    for at, member in [*turns(value), (None, rest)]:
        texts = filter(may_have_address, chat.strings(member))
        if count := sum(1 for text in texts for _ in addresses(text)):
            yield stored_records.address_not_redacted(count, at)


def _record(stored: StoredRecord, *, is_text: bool, holds_arguments: bool) -> Iterator[Violation]:
    messages, tools = stored.messages, definitions(stored.tools)
    if stored.tools is not None and not isinstance(stored.tools, list):
        yield reading.wrong_type("tools", json_type(stored.tools), 1)
    for tool, unknown in definition_members.definitions_with_unknown(
        stored.tools if isinstance(stored.tools, list) else []
    ):
        yield definition_members.tool_members(tool, unknown)
    view = View(Conversation(messages, tools))
    yield from examine(view, "tools", "record")
    if is_text:
        yield from examine(view, "inlined")
        view = View(Conversation(to_native(messages), tools))
    yield from examine(view, "native")
    if holds_arguments:
        yield from examine(view, "arguments")


def definitions(tools: Json) -> list[Any]:
    """The flattened definitions."""
    return list(map(flatten, tools if isinstance(tools, list) else []))
