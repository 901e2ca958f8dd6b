"""The replies that a trainer should train on, as the chat template of the model renders them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from os.path import commonprefix
from typing import Any, NamedTuple

from chatsquash.core import chat, marks
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Message
from chatsquash.core.options import Options
from chatsquash.core.text import shorten
from chatsquash.records import NotARecordError, StoredRecord, places
from chatsquash.records.reading import parse, record
from chatsquash.storage.folder import Folder
from chatsquash.templates.confined import Template


class TrainedReply(NamedTuple):
    """A reply to train on."""

    place: str
    """The file and row of its record, and its message."""
    prompt: str
    """The prompt that the template renders before it at inference."""
    header: str
    """The end of the prompt, which the template adds to begin a reply."""
    text: str
    """The reply with the end of its turn."""
    preceding: tuple[str, ...]
    """The texts of the messages between the previous reply to train on and this one."""
    is_last: bool
    """Whether no message follows it."""


class Replies:
    """The replies to train on in each of some records, rendered whenever they are needed.

    The prompts of all replies would need too much memory, since each repeats the conversation so far.
    """

    def __init__(self, rows: Iterable[tuple[str, bytes]], options: Options, template: Template) -> None:
        """Read the records.

        Args:
            rows: The place and the line of each record.
            options: The options of the run that wrote them.
            template: The chat template of the model.
        """
        self._rows = [(place, zlib.compress(line, 1)) for place, line in rows]
        self._options, self._template = options, template
        self._last: tuple[int, list[TrainedReply]] = -1, []

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[list[TrainedReply]]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, row: int) -> list[TrainedReply]:
        """Return the replies of a record; raise ``UsageError`` if it is not a record, or cannot be rendered."""
        if row != self._last[0]:
            place, line = self._rows[row]
            self._last = row, _replies(zlib.decompress(line), place, self._options, self._template)
        return self._last[1]


def replies_of(folder: Folder, files: list[str], options: Options, template: Template, limit: int | None) -> Replies:
    """Return the replies to train on in each of the first ``limit`` records of some files."""
    rows = ((f"{name}:{row.number}", row.data) for name in files for row in places.rows(folder, name))
    return Replies(islice(rows, limit), options, template)


def _replies(line: bytes, place: str, options: Options, template: Template) -> list[TrainedReply]:
    try:
        value = parse(line)
        sample = record(value)
    except NotARecordError as problem:
        raise UsageError(f"{place}: {problem}") from None
    replies, start = [], 0
    for at in _trained(value, sample, options):
        replies.append(_reply(sample, at, start, f"{place}, message {at + 1}", template))
        start = at + 1
    return replies


def _trained(value: dict[str, Any], sample: StoredRecord, options: Options) -> list[int]:
    """Return the indices of the messages to train on."""
    assistant = [at for at, message in enumerate(sample.messages) if message["role"] == "assistant"]
    turns: Any = value.get("messages", value.get("conversations"))
    if options.flag != "none" and isinstance(turns, list):
        return [at for at in assistant if marks.is_trained(turns[sample.place(at) or 0], options.flag)]
    if "completion" in value:
        first = len(sample.messages) - len(value["completion"])
        return [at for at in assistant if at >= first]
    if options.samples != "session":
        first = next((at for at in range(len(sample.messages), 0, -1) if at - 1 not in assistant), 0)
        return [at for at in assistant if at >= first]
    return assistant


def _reply(sample: StoredRecord, at: int, start: int, place: str, template: Template) -> TrainedReply:
    before, through = sample.messages[:at], sample.messages[: at + 1]
    prompt = _render(template, before, sample.tools, place, generation=True)
    plain = _render(template, before, sample.tools, place) if before else ""
    full = _render(template, through, sample.tools, place)
    begin = len(same_start(prompt, full))  # some templates begin replies with tags that they do not render later
    header = len(same_start(prompt, plain))
    if begin < header:
        raise UsageError(f"{place}: the template renders the messages before the reply differently in a prompt")
    return TrainedReply(
        place,
        prompt[:begin],
        prompt[header:begin],
        full[begin:],
        _texts(before[start:]),
        at + 1 == len(sample.messages),
    )


def same_start(first: str, second: str) -> str:
    """Return the longest common prefix of two texts."""
    return commonprefix([first, second])  # noqa: RUF071 - of characters


def _texts(messages: list[Message]) -> tuple[str, ...]:
    return tuple(text.strip() for message in messages if (text := chat.text(message)) and text.strip())


def _render(template: Template, messages: list[Message], tools: Any, place: str, *, generation: bool = False) -> str:
    rendering = template.render(messages, tools, generation=generation)
    if rendering.text is None:
        raise UsageError(f"{place}: the chat template cannot render it ({shorten(rendering.problem)})")
    return rendering.text
