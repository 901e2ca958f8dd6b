"""Runs the record checks on existing datasets."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice, pairwise
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from msgspec import Struct, structs

from chatsquash.checks import definition_members, examine, private, reading, schemas, shapes, stored_records
from chatsquash.checks.dataset import OF_TOOLS
from chatsquash.checks.phrases import Phrases, turns
from chatsquash.checks.registry import View
from chatsquash.checks.tags import has_tags, is_inlined, to_native
from chatsquash.core import chat, jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.memo import Recent
from chatsquash.core.model import Conversation, Finding, Json, Violation
from chatsquash.core.options import FLAGGED
from chatsquash.core.text import json_type
from chatsquash.formats import documents
from chatsquash.reading.identify import identify
from chatsquash.records import NotARecordError, StoredRecord
from chatsquash.records.datasets import PARQUET, UNBOUNDED, DatasetRow, files, is_forest, rows, session
from chatsquash.records.reading import RowParser, native, parse, record
from chatsquash.records.stored_tokens import is_token_row, read_tokens
from chatsquash.redaction.addresses import addresses, may_have_address
from chatsquash.redaction.privacy import remove_beginnings
from chatsquash.redaction.redactor import Redactor
from chatsquash.redaction.values import UnsearchedError, Value
from chatsquash.results.frame import DAMAGE, table_lines
from chatsquash.results.output import ResultFolder, is_result
from chatsquash.results.redact import tables
from chatsquash.results.redact.record import count_values, has_duplicate_members, violations
from chatsquash.session.select import flatten
from chatsquash.session.session import finding
from chatsquash.sources.open import open_file
from chatsquash.storage.folder import Folder

_FIRST = 8
"""A file without a record in this many first rows may be a log."""
_SESSION = "session_id"
"""The column with the session id, as written by ``--metadata``."""


class Checks(NamedTuple):
    """Optional checks in addition to the rules."""

    phrases: Phrases = Phrases(FLAGGED)
    addresses: bool = False
    """Whether to report e-mail addresses."""
    further: Callable[[StoredRecord], Iterator[Violation]] | None = None
    """A further check, which may run in the background until its result is read."""
    overlap: Callable[[StoredRecord, Json], Iterator[Violation]] | None = None
    """Finds overlap of a record and its row with an evaluation set."""
    arguments: bool = False
    """Whether to validate arguments of calls against the definitions."""
    shape: Callable[[Json], Iterator[Violation]] | None = None
    """Finds what a trainer cannot read in the value of a row."""
    private: Redactor | None = None
    """Finds secrets and personal data."""
    has_inlined_calls: bool | None = None
    """Whether calls are in the text; ``None``: detected per record."""


_DEFAULT_CHECKS = Checks()


def check(path: str, checks: Checks = _DEFAULT_CHECKS) -> Iterator[Finding]:
    """Check the records of a dataset and yield the findings; native and inlined calls are distinguished per record.

    Args:
        path: A dataset file, or a folder with record files directly or in its ``data`` folder.
        checks: Optional checks.

    Raises:
        UsageError: A file cannot be read or is a log.
    """
    if checks.arguments:
        schemas.refuse_missing()
    without_tools, checks = _without_tools(path), checks._replace(has_inlined_calls=_is_inlined(path))
    parser = RowParser()
    for file in files(path):
        _refuse_log(path, file)
        is_empty = True
        without_definitions, name, file_session = without_tools.get(str(file), set()), str(file), session(file)
        for row, row_value in _rows(file, checks):
            is_empty = False
            parsed_row, mask = _parse(row.data.removeprefix(BOM_UTF8), parser), _Mask(checks.private)
            if is_token_row(parsed_row.value):
                _refuse_text_checks(row, checks)
            violations = [*_private(parsed_row, row_value, mask)] if mask.redactor else []
            violations += _row(parsed_row, checks, without_tools=row.number in without_definitions)
            if violations:
                session_id = mask.redacted(_session(parsed_row.value) or file_session)
                for violation in violations:
                    yield finding(
                        structs.replace(violation, text=mask.redacted(violation.text)), session_id, name, row.number
                    )
        if is_empty:
            yield finding(stored_records.empty_dataset(), file_session, name)


def _refuse_log(dataset: str, file: Path) -> None:
    """Raise ``UsageError`` for a file that begins like a log instead of records."""
    if not file.is_file() or file.suffix.lower() == PARQUET or any(map(_is_record, islice(rows(str(file)), _FIRST))):
        return
    with open_file(file, UNBOUNDED) as log:
        seen = identify(log).seen
    if seen.format or seen.envelope == "document":
        what = f"is a log ({seen.format or seen.why}), not a dataset"
        raise UsageError(f"{file}: {what}; create one with: chatsquash convert {quote(dataset)}")


def _is_record(row: DatasetRow) -> bool:
    try:
        value = parse(row.data)
        if not is_token_row(value):
            record(value)
    except NotARecordError:
        return False
    return True


def _is_inlined(path: str) -> bool | None:
    """Return whether calls of an output are in the text according to ``run.json``; ``None`` for any other dataset."""
    if not is_result(Path(path)):
        return None
    try:
        with closing(Folder(Path(path))) as folder:
            return bool(ResultFolder(folder).options.get("json_tool_calls"))
    except UsageError:
        return None


def _without_tools(path: str) -> dict[str, set[int]]:
    """Return the rows per file whose agents do not log definitions, reported once by ``source-without-tools``."""
    rows: dict[str, set[int]] = {}
    try:
        for line in table_lines(path, _RecordLine):
            if line.row is not None and not documents.has_tools(line.format):
                rows.setdefault(str(Path(path, line.file)), set()).add(line.row)
    except (UsageError, OSError, *DAMAGE):  # without the table, records are checked as any others
        return {}
    return rows


class _RecordLine(Struct, frozen=True):
    """The members of a line of the session table that locate its record."""

    row: int | None
    file: Any
    format: Any


def _rows(file: Path, checks: Checks) -> Iterator[tuple[DatasetRow, Json]]:
    """Yield the rows of a file; if redaction is checked, Parquet rows come with all their columns."""
    records = rows(str(file), _SESSION)
    if checks.private and file.suffix.lower() == PARQUET and not is_forest(file):
        yield from zip(records, (row.value for row in tables.rows(file)), strict=True)
    else:
        yield from ((row, None) for row in records)


class _ParsedRow(NamedTuple):
    """A row with its value, which is parsed once for all checks."""

    data: bytes
    value: Json
    problem: NotARecordError | None = None
    """The reason why it has no value."""


def _parse(data: bytes, parser: RowParser) -> _ParsedRow:
    try:
        return _ParsedRow(data, parser.parse(data))
    except NotARecordError as problem:
        return _ParsedRow(data, None, problem)


class _Mask:
    """Finds the secrets and personal data of a row and removes them from messages about it."""

    def __init__(self, redactor: Redactor | None) -> None:
        self.redactor = redactor
        self._values: list[Value] = []

    def find(self, value: Json) -> Iterator[Violation]:
        """Yield the secrets and personal data in a row; may raise ``UnsearchedError``."""
        if self.redactor:
            counts = count_values(value, self.redactor)
            self._values = sorted({each for _, each in counts})
            yield from violations(value, counts)

    def redacted(self, text: str) -> str:
        """Replace values in a text by their kinds; a text that cannot be searched becomes empty."""
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


def _private(row: _ParsedRow, row_value: Json, mask: _Mask) -> Iterator[Violation]:
    """Yield the secrets and personal data in a row, even if it is not a record."""
    if row.problem and row_value is None:
        return  # reported as a bad record
    try:
        value = row.value if row_value is None else row_value
        if row_value is None and has_duplicate_members(
            row.data, value
        ):  # the parser dropped members, so the bytes are searched too
            value = [value, row.data.decode("utf-8", "surrogatepass")]
        yield from mask.find(value)
    except UnsearchedError as problem:
        yield private.redaction_failed(str(problem))


def _session(value: Json) -> str:
    """Return the session id of a row, or an empty string if it has none."""
    session_id = value.get(_SESSION) if isinstance(value, dict) else None
    return session_id if isinstance(session_id, str) else ""


def _row(row: _ParsedRow, checks: Checks, *, without_tools: bool) -> Iterator[Violation]:
    value = row.value
    try:
        if row.problem:
            raise row.problem
        row_record = record(value)
    except NotARecordError as problem:
        yield from _tokens(value) if is_token_row(value) else (stored_records.bad_record(str(problem)),)
        return
    yield from checks.shape(value) if checks.shape else ()
    extra = checks.further(row_record) if checks.further else ()
    native_record = native(row_record)
    expected = OF_TOOLS if without_tools and not native_record.tools else ()
    texts, rounded = _encode(value)
    is_text = checks.has_inlined_calls
    if is_text is None:
        is_text = (native_record is not row_record or has_tags(texts)) and is_inlined(native_record.messages)
    for violation in _record(native_record, is_text=is_text, checks_arguments=checks.arguments):
        if violation.code in expected:
            continue
        if (
            "completion" in value
            and violation.code == "unanswered-call"
            and violation.at == len(native_record.messages) - 1
        ):
            continue  # the completion of a sample may end with a call
        yield structs.replace(violation, at=native_record.place(violation.at))
    yield from _user_after_results(native_record)
    for violation in extra:
        yield structs.replace(violation, at=row_record.place(violation.at))
    for violation in checks.overlap(row_record, value) if checks.overlap else ():
        yield structs.replace(violation, at=row_record.place(violation.at))
    yield from checks.phrases.violations(value) if checks.phrases.may_match(texts) else ()
    yield from _remaining_addresses(value) if checks.addresses else ()
    if rounded:
        yield reading.number_changed(rounded, len(rounded))


def _tokens(value: dict[str, Any]) -> Iterator[Violation]:
    try:
        read_tokens(value)
    except NotARecordError as problem:
        yield stored_records.bad_tokens(str(problem))


def _refuse_text_checks(row: DatasetRow, checks: Checks) -> None:
    """Raise ``UsageError`` if checks of texts are requested for token ids."""
    options = {
        "--template and --for": checks.further or checks.shape,
        "--against": checks.overlap,
        "--check-arguments": checks.arguments,
        "--anonymize": checks.addresses,
        "--redact": checks.private,
    }
    if names := [name for name, is_requested in options.items() if is_requested]:
        raise UsageError(f"{row.file}:{row.number}: token ids have no text for {', '.join(names)}; remove the option")


def _encode(value: dict[str, Json]) -> tuple[bytes, list[str]]:
    """Encode a row except its definitions; return it with the numbers of the row that lost digits."""
    encoded, rounded = jsonio.encode({name: member for name, member in value.items() if name != "tools"})
    if rounded or _rounded(value.get("tools")):
        _, rounded = jsonio.encode(value)
    return encoded, rounded


def _user_after_results(native_record: StoredRecord) -> Iterator[Violation]:
    """Report user messages directly after results, unless one message of the record contains both."""
    roles = pairwise(message["role"] for message in native_record.messages)
    places = [at for at, pair in enumerate(roles, 1) if pair == ("tool", "user")]
    places_in_row = [native_record.place(at) for at in places if native_record.place(at) != native_record.place(at - 1)]
    if places_in_row:
        yield shapes.user_after_result(len(places_in_row), places_in_row[0])


def _remaining_addresses(value: dict[str, Json]) -> Iterator[Violation]:
    """Report e-mail addresses that anonymization would replace; no key is needed to find them."""
    rest = {name: member for name, member in value.items() if name not in ("messages", "conversations", "system")}
    for at, member in [*turns(value), (None, rest)]:
        texts = filter(may_have_address, chat.strings(member))
        if count := sum(1 for text in texts for _ in addresses(text)):
            yield stored_records.address_not_redacted(count, at)


def _record(native_record: StoredRecord, *, is_text: bool, checks_arguments: bool) -> Iterator[Violation]:
    messages, tools = native_record.messages, definitions(native_record.tools)
    if native_record.tools is not None and not isinstance(native_record.tools, list):
        yield reading.wrong_type("tools", json_type(native_record.tools), 1)
    of_members, of_tools = _judge(native_record.tools) if tools else ((), ())
    yield from of_members
    view = View(Conversation(messages, tools))
    yield from examine(view, "record")
    yield from of_tools
    if is_text:
        yield from examine(view, "inlined")
        view = View(Conversation(to_native(messages), tools))
    yield from examine(view, "native")
    if checks_arguments:
        yield from examine(view, "arguments")


@Recent
def _rounded(tools: Json) -> list[str]:
    return jsonio.encode(tools)[1]


@Recent
def _judge(tools: list[Any]) -> tuple[list[Violation], list[Violation]]:
    """Return the findings about members of definitions, and those of the rules."""
    members = [
        definition_members.tool_members(tool, unknown)
        for tool, unknown in definition_members.definitions_with_unknown(tools)
    ]
    return members, list(examine(View(Conversation([], definitions(tools))), "tools"))


@Recent
def definitions(tools: Json) -> list[Any]:
    """Return the flattened definitions; none if ``tools`` is not a list."""
    return list(map(flatten, tools if isinstance(tools, list) else []))
