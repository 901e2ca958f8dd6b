"""What holds for every log, however damaged."""

from __future__ import annotations

import io
import json
import re
from tempfile import NamedTemporaryFile

from chatsquash.conversion.workers import outcomes
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome
from chatsquash.formats.providers.openai_chat.members import has_foreign
from chatsquash.reading import contents, envelopes
from chatsquash.reading.endpoints import other_endpoint
from chatsquash.reading.exchange import is_blank
from chatsquash.reading.identify import as_line
from chatsquash.reading.reader import Reader
from chatsquash.session.converter import Converter
from tests import oracle

CHAT = Options(anonymize=False, from_format="openai_chat", on_invalid="keep", sessions_by="file")
"""So that lines are read as the naive reader does, which knows nothing of other formats."""
ANY = Options(
    anonymize_key=b"a key for damaged logs",
    json_tool_calls=True,
    reasoning="inline",
    tools="last",
    check_arguments=True,
)
_ENDLESS = re.compile(rb"[0-9]{4301}")  # an integer of more digits than Python's json reads
PLAIN = "request and response"


def hold(data: bytes) -> None:
    """Fail where a log breaks the reader, is not accounted for, or gives another record than the naive reader."""
    read = _as_read(data)
    naive = oracle.read(read)
    outcome = _converted(data, ANY)
    if outcome is None:
        _hold_parts(data)
    else:
        _hold_account(outcome, len(data))
    outcome = _converted(data, CHAT)
    assert outcome
    _hold_account(outcome, len(data))
    envelope = _envelope(data)
    assert outcome.account.lines == len(oracle.read(data))
    if _is_judged_whole(data) and envelope in (None, PLAIN):
        lines = read.split(b"\n")
        bad = [
            row.line
            for row in naive
            if row.kind == "bad-line" or (row.kind == "bad-entry" and not _is_aside(lines[row.line - 1]))
        ]
        deep = {each.line for each in outcome.report.rejected if "--max-nesting" in each.reason}
        if not deep:  # the naive reader has no bounds
            assert [each.line for each in outcome.report.rejected] == bad
            _hold_record(outcome, read)


def _hold_record(outcome: Outcome, read: bytes) -> None:
    """The record is that of the naive reader, which knows plain chat alone."""
    naive = oracle.convert(read, "s", CHAT)
    if outcome.left_out == "unknown-format":  # all responses are of another format
        assert naive is not None
        assert all(message["role"] != "assistant" for message in json.loads(naive)["messages"])
    elif is_plain_chat(read):
        assert outcome.record == naive


def is_plain_chat(data: bytes) -> bool:
    """Whether a log has nothing that the naive reader does not know.

    That is content of another format in a request, which is rewritten as that of chat, and a response logged as the text of
    its stream.
    """
    return not any(map(_has_foreign, data.split(b"\n")))


def _is_aside(line: bytes) -> bool:
    """Whether a line is no exchange, as its own envelope tells, and so is counted and not rejected.

    The naive reader knows one envelope.
    """
    envelope = envelopes.recognise(line) or envelopes.PLAIN
    return bool(other_endpoint(line, envelope) or envelopes.describe_non_exchange(line, envelope))


def _has_foreign(line: bytes) -> bool:
    try:
        exchange = json.loads(line.removeprefix(oracle.BOM).lstrip(b"\0"))
        request, response = exchange["request"], exchange.get("response")
    except (ValueError, TypeError, KeyError, RecursionError, AttributeError):
        return False
    is_stream = isinstance(response, str) and response.lstrip().startswith(("data:", "event:"))
    return is_stream or (isinstance(request, dict) and has_foreign(request))


def _as_read(data: bytes) -> bytes:
    """A log of one exchange on several lines with that exchange on one line; other logs as they are."""
    objects, broken, *_ = contents.parse(data)
    first = next((line for line in data.split(b"\n") if not is_blank(line)), b"")
    is_one = len(objects) == 1 and not broken and envelopes.recognise(first) is None
    return as_line(data) or data if is_one else data


def _converted(data: bytes, options: Options) -> Outcome | None:
    return Converter(options).read(io.BytesIO(data), Log("", "s.jsonl", "s.jsonl", len(data)))


def _hold_account(outcome: Outcome, size: int) -> None:
    assert sum(outcome.account.counts) == outcome.account.lines
    assert sum(outcome.account.sizes) == outcome.account.size == size
    codes = {found.code for found in outcome.findings}
    reasons = {outcome.left_out} - {None} | codes & {"repeated-conversation"}
    assert (outcome.record is None) == bool(reasons)
    assert outcome.left_out is None or outcome.left_out in codes
    assert all(found.text.isprintable() for found in outcome.findings)
    if outcome.record is not None:
        record = json.loads(outcome.record)
        assert list(record) == ["messages", "tools"]
        assert b"\n" not in outcome.record


def _hold_parts(data: bytes) -> None:
    """Each line of a log that mixes sessions belongs to one of them."""
    with NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        done = list(outcomes([Log(file.name, "s.jsonl", "s.jsonl", len(data))], ANY))
    for _, outcome in done:
        _hold_account(outcome, outcome.account.size)
    assert sum(outcome.account.size for _, outcome in done) == len(data)
    if done[0][0].part is None:  # of a document each conversation counts as a line
        assert sum(outcome.account.lines for _, outcome in done) == len(oracle.read(data))


def _is_judged_whole(data: bytes) -> bool:
    """Whether a log has nothing that passes in what nobody reads, which the naive reader judges, too."""
    if _ENDLESS.search(data):
        return False
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def _envelope(data: bytes) -> str | None:
    seen = Reader(CHAT).read(io.BytesIO(data), Log("", "s", "s", len(data))).seen
    return seen.envelope if seen else None
