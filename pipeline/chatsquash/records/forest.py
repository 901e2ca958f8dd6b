"""Samples as a forest: a message that several samples of a session share is written once.

Each row is a message with the row that it follows (``parent``). The last message of a sample has the other members of
the sample in ``sample``, in which the messages are replaced by their number, and the tools by the row that has them.
``flatten`` returns the samples as they would have been written otherwise, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from xxhash import xxh3_128_digest

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.marks import FLAGS, is_of_assistant
from chatsquash.core.model import Json

COLUMNS = ("session", "node", "parent", "message", "loss", "source", "sample", "tools")
JSON_COLUMNS = ("message", "sample", "tools")
"""The columns that Parquet stores as JSON text."""
_BEGINNING = b'{"session":'
_LISTS = ("messages", "conversations")
_FLAG, _EVERYWHERE, _TRAINED = "flag", "everywhere", "trained"
RECORD = "record"
"""The member of ``sample`` with a sample that is not divided."""
_OWN_MEMBERS = {_FLAG, _EVERYWHERE, _TRAINED, RECORD}
"""Members of ``sample`` that a sample does not have."""


class StoredSample(NamedTuple):
    """A sample of a stored forest, with the arguments of ``Forest.add``."""

    line: bytes
    session: str
    source: str
    flag: str


class _Parts(NamedTuple):
    """The parts of a sample."""

    members: dict[str, Json]
    """Its members, with the number of messages in place of the messages."""
    messages: list[Json]
    """Its messages without flags."""
    losses: list[Json]
    """The loss of each message."""
    start: int
    """The index of the first message that is trained on."""


class Forest:
    """Divides the samples of a file into rows; samples of the same session share messages."""

    def __init__(self) -> None:
        self._session = ""
        self._count = 0
        self._nodes: dict[tuple[int, bytes], int] = {}
        """The row of each message, by its parent (-1 for a root) and its digest."""
        self._tools: dict[bytes, int] = {}
        """The row of each list of tools, by its digest."""

    def add(self, line: bytes, session: str, source: str, flag: str) -> Iterator[bytes]:
        """Yield the new rows of a sample, the last of which is that of the sample.

        Args:
            line: The sample as JSON.
            session: The name of its session; samples with the same name must follow each other.
            source: The file and line of its request.
            flag: The member of messages that states whether to train on them, or ``none``.
        """
        if session != self._session:
            self._session, self._nodes, self._tools = session, {}, {}
        value = jsonio.loads(line)
        parts = _divide(value, flag)
        if parts is None or jsonio.dumps(_join(parts.members, parts.messages, parts.losses)) != line:
            yield self._row(-1, None, 0, source, {"sample": {RECORD: value}})
            return
        parent = -1
        for at, message in enumerate(parts.messages):
            key = parent, xxh3_128_digest(jsonio.dumps(message))
            is_last = at == len(parts.messages) - 1
            known = self._nodes.get(key) if at < parts.start and not is_last else None
            if known is None:
                known = self._count
                self._nodes.setdefault(key, known)
                sample = self._sample(parts.members, known) if is_last else {}
                yield self._row(parent, message, parts.losses[at], source, sample)
            parent = known

    def _sample(self, members: dict[str, Json], node: int) -> dict[str, Json]:
        """Return the columns of a sample, with the tools if no earlier row of the session has them."""
        if "tools" not in members:
            return {"sample": members}
        key = xxh3_128_digest(jsonio.dumps(members["tools"]))
        first = self._tools.setdefault(key, node)
        columns: dict[str, Json] = {"sample": {**members, "tools": first}}
        return {**columns, "tools": members["tools"]} if first == node else columns

    def _row(self, parent: int, message: Json, loss: Json, source: str, sample: dict[str, Json]) -> bytes:
        node = self._count
        self._count += 1
        row = {"session": self._session, "node": node, "parent": parent if parent >= 0 else None}
        row |= {} if message is None else {"message": message, "loss": loss}
        return jsonio.dumps({**row, "source": source, **sample})


def _divide(value: dict[str, Any], flag: str) -> _Parts | None:
    """Return the parts of a sample, or ``None`` for one that is written as it is."""
    prompt, completion = value.get("prompt"), value.get("completion")
    if isinstance(prompt, list) and isinstance(completion, list) and prompt + completion:
        members = {**value, "prompt": len(prompt), "completion": len(completion)}
        return _Parts(members, prompt + completion, [0] * len(prompt) + [1] * len(completion), len(prompt))
    name = next((name for name in _LISTS if isinstance(value.get(name), list)), None)
    if name is None or not value[name] or _OWN_MEMBERS & value.keys():
        return None
    messages: list[Any] = value[name]
    members = {**value, name: len(messages)}
    if flag not in FLAGS:
        start = len(messages) - 1
        return _Parts(members, messages, [0] * start + [1], start)
    flags = [message.get(flag) for message in messages]
    start = next((at for at, each in enumerate(flags) if each), len(messages) - 1)
    members |= {_TRAINED: len(messages) - start, _FLAG: flag}
    members |= {_EVERYWHERE: True} if all(flag in message for message in messages) else {}
    bare = [{key: member for key, member in message.items() if key != flag} for message in messages]
    return _Parts(members, bare, [int(each) if each in (0, 1) else each or 0 for each in flags], start)


def _join(members: dict[str, Json], messages: list[Json], losses: list[Json]) -> dict[str, Json]:
    """Return the sample with these members and messages."""
    if isinstance(members.get("prompt"), int):
        place = members["prompt"]
        return {**members, "prompt": messages[:place], "completion": messages[place:]}
    name = next(name for name in _LISTS if name in members)
    sample = {key: member for key, member in members.items() if key not in _OWN_MEMBERS}
    flag = members.get(_FLAG)
    if flag is None:
        return {**sample, name: messages}
    start = len(messages) - members[_TRAINED]
    values = [_flag_value(flag, loss if at >= start else 0) for at, loss in enumerate(losses)]
    is_everywhere = members.get(_EVERYWHERE, False)
    pairs = zip(messages, values, strict=True)
    return {
        **sample,
        name: [{**each, flag: value} if is_everywhere or is_of_assistant(each) else each for each, value in pairs],
    }


def _flag_value(flag: str, loss: Json) -> Json:
    return FLAGS[flag][int(loss)] if loss in (0, 1) else loss


def is_row_text(data: bytes) -> bool:
    """Return whether the line of a file is a row of a forest."""
    return data.startswith(_BEGINNING) and _row(data) is not None


def _row(data: bytes) -> dict[str, Any] | None:
    """Return the row in a line, also if it has JSON as text, as in Parquet; ``None`` for another line."""
    try:
        row = jsonio.loads(data)
        if not isinstance(row, dict) or not isinstance(row.get("node"), int) or not row.keys() <= set(COLUMNS):
            return None
        if isinstance(row.get("message", row.get("sample")), str):
            row |= {name: jsonio.loads(row[name]) for name in JSON_COLUMNS if name in row}
    except (ValueError, TypeError, RecursionError):
        return None
    return row


def read_rows(lines: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a forest with their places; raise ``UsageError`` for another line."""
    for place, data in lines:
        row = _row(data)
        if row is None:
            raise UsageError(f"{place}: not a row of --samples forest; convert again")
        yield place, row


def flatten(rows: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    """Yield the samples of a forest as JSON, in order; like ``stored_samples``."""
    return (sample.line for sample in stored_samples(rows))


def stored_samples(rows: Iterable[tuple[str, bytes]]) -> Iterator[StoredSample]:
    """Yield the samples of a forest in order.

    Args:
        rows: The lines, each with its place for errors.

    Raises:
        UsageError: A line is damaged or missing.
    """
    nodes: dict[int, dict[str, Any]] = {}
    unused: dict[int, str] = {}
    """The places of the rows of the session that are in no sample yet."""
    session: Json = None
    for place, row in read_rows(rows):
        if row.get("session") != session:
            _refuse_unused(unused)
            session, nodes, unused = row.get("session"), {}, {}
        nodes[row["node"]], unused[row["node"]] = row, place
        if row.get("sample") is not None:
            try:
                path = _path(row, nodes)
                yield _stored_sample(row, path, nodes)
            except (LookupError, TypeError, ValueError, StopIteration, AttributeError):
                raise UsageError(f"{place}: rows of the sample are missing or damaged; convert again") from None
            for each in reversed(path):
                if unused.pop(each["node"], None) is None:  # then the rows before it are also in a sample
                    break
    _refuse_unused(unused)


def _refuse_unused(places: dict[int, str]) -> None:
    """Raise ``UsageError`` for rows of a session that are in no sample."""
    if places:
        place = next(iter(places.values()))
        raise UsageError(f"{place}: the last row of its sample is missing or damaged; convert again")


def _stored_sample(row: dict[str, Any], path: list[dict[str, Any]], nodes: dict[int, dict[str, Any]]) -> StoredSample:
    session, source = (each if isinstance(each, str) else "" for each in (row.get("session"), row.get("source")))
    flag = row["sample"].get(_FLAG)
    is_flagged = isinstance(flag, str) and flag in FLAGS
    return StoredSample(jsonio.dumps(_sample(row, path, nodes)), session, source, flag if is_flagged else "none")


def _path(row: dict[str, Any], nodes: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of the messages of a sample, in order; the last one is that of the sample."""
    path = [row]
    while (parent := path[-1].get("parent")) is not None:
        if parent >= path[-1]["node"]:  # a damaged file must not be an endless loop
            raise ValueError(parent)
        path.append(nodes[parent])
    path.reverse()
    return path


def _sample(row: dict[str, Any], path: list[dict[str, Any]], nodes: dict[int, dict[str, Any]]) -> Json:
    """Return the sample of a row from the rows of its messages and of its tools."""
    members = row["sample"]
    if RECORD in members:
        return members[RECORD]
    if "tools" in members:
        members = {**members, "tools": nodes[members["tools"]]["tools"]}
    return _join(members, [each["message"] for each in path], [each["loss"] for each in path])
