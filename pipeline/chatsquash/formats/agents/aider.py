"""Aider's chat histories (Markdown) and its logs of prompts and answers (text), both without tool calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import BinaryIO

from msgspec.structs import replace

from chatsquash.core.model import Conversation, Json, Origin, RepeatedViolation
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import assistant_message
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, entries, load_conversation, moment
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.retention import never
from chatsquash.formats.threads import with_unread
from chatsquash.formats.values import Object, count

NAME = "aider"
HAS_TOOLS = False
MEMBERS = ("aider",)
LOCATIONS = ()
SUFFIXES = (".md",)
IN_PROJECTS = (".aider.chat.history.md",)
RETENTION = never("aider", "aider-chat 0.86.2 on PyPI")

_START = "# aider chat started at "
_BEGINS = re.compile(rb"\s*+(?:# aider chat started at|TO LLM) \d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_LONGEST = 256 << 20
_MODEL = re.compile(r"> (?:Main )?[Mm]odel: (\S+)")
_USER, _OUTPUT = "#### ", "> "
_RESTORED = "> Restored previous conversation history."
_SHORT = 3 * 1024
"""A size in bytes that is always below 1024 tokens, the lowest limit for histories."""
_PROMPT, _REPLY, _RULE = "TO LLM ", "LLM RESPONSE ", "-------"
_BREAK = "  "
"""The end of each line of a prompt, which distinguishes it from Markdown headings in replies."""
_THOUGHT = re.compile(r"<(thinking-content-[0-9a-f]{32})>\n(.*?)(?:</\1>|\Z)", re.DOTALL)
"""Reasoning between aider's tags; the closing tag is missing if no text follows the reasoning."""
_ROLE = re.compile(r"(SYSTEM|USER|ASSISTANT)(?: (.*))?", re.DOTALL)


def fits(values: list[Json]) -> str | None:
    """Check for the objects that ``objects`` returns."""
    is_aider = values and all(isinstance(each, dict) and isinstance(each.get("aider"), str) for each in values)
    return "runs of aider" if is_aider else None


def may_split(head: bytes) -> bool:
    """Return whether a file with these first bytes may be a history or a log."""
    return _BEGINS.match(head) is not None


def split(file: BinaryIO) -> list[bytes] | None:
    """Return the complete file as the only unit."""
    del file
    return [b""]


def objects(file: BinaryIO, unit: bytes) -> list[Json]:
    """Return the runs of a history or the exchanges of a log; raise ``TurnError`` if the file is too large."""
    del unit
    file.seek(0)
    pieces, remaining = list[bytes](), _LONGEST
    # Read in pieces to stop at the limit.
    while remaining > 0 and (piece := file.read(1 << 20)):
        pieces.append(piece)
        remaining -= len(piece)
    if remaining <= 0:
        raise TurnError(f"file is larger than {_LONGEST:,} bytes")
    return list(_blocks(b"".join(pieces).decode("utf-8", "replace")))


def _blocks(data: str) -> Iterator[Object]:
    block_type, first_line_prefix = ("run", _START) if data.lstrip().startswith(_START) else ("exchange", _PROMPT)
    block, first = list[str](), 1
    for number, raw_line in enumerate(data.split("\n"), 1):
        line = raw_line.removesuffix("\r")
        if line.startswith(first_line_prefix):
            if block:
                yield {"aider": block_type, "line": first, "lines": block}
            block, first = [line], number
        elif block:
            block.append(line)
    if block:
        yield {"aider": block_type, "line": first, "lines": block}


def session(path: str, origin: Origin) -> str | None:
    """Return a session id that consists of the project's folder and the place of the run in the history."""
    *_, folder, name = ("", *path.split("/"))
    return f"{folder}/{origin.id or 1}" if name in IN_PROJECTS and folder else None


def conversations(values: list[Json]) -> list[Conversation]:
    """Return a conversation for each run, or for each exchange that no later exchange continues.

    There are no calls, because aider's edits are text.  Aider's own output is excluded, and histories have no system
    prompt.
    """
    unread, converted = Unread(), list[Conversation]()
    several, earlier = len(values) > 1, _EarlierRuns()
    exchanges = list[tuple[str, list[LoggedTurn]]]()
    for place, _, value in entries(values, None):
        run_lines = value.get("lines")
        if not isinstance(run_lines, list) or not run_lines or not all(isinstance(line, str) for line in run_lines):
            raise TurnError(f"entry {place} has no lines")
        line = count(value.get("line")) or 1
        if value.get("aider") == "exchange":
            exchanges.append((str(place), _exchange(run_lines, line, unread)))
        else:
            converted += _run(run_lines, line, str(place) if several else "", earlier, unread)
    converted += _unrepeated_exchanges(exchanges)
    return with_unread(converted, unread)


class _Speech:
    """A collector for lines; consecutive lines of a speaker become a turn."""

    def __init__(self, line: int) -> None:
        self.turns = list[LoggedTurn]()
        self.role = ""
        self.known = Evidence()
        """The evidence for the following assistant turns."""
        self._lines, self._began = list[str](), line

    def to(self, role: str, line: int) -> None:
        """Start a turn of another speaker at a line; do nothing for the same speaker."""
        if role != self.role:
            self.close()
            self.role, self._began = role, line

    def add(self, line: str) -> None:
        self._lines.append(line)

    def close(self) -> None:
        """End the turn."""
        words = "\n".join(self._lines).strip("\n")
        if self.role and words.strip():
            known = self.known if self.role == "assistant" else Evidence(time=self.known.time)
            turn = {"role": self.role, "content": words}
            self.turns.append(LoggedTurn(f"line {self._began}", turn, replace(known, line=self._began)))
        self.role = ""
        self._lines.clear()


def _with_reasoning(turn: Object) -> Object:
    """Move the reasoning of a reply to a separate member; other turns are returned unchanged."""
    words = turn["content"]
    thoughts = [match[2].strip() for match in _THOUGHT.finditer(words)] if turn["role"] == "assistant" else []
    if not thoughts:
        return turn
    return assistant_message(_THOUGHT.sub("", words).strip("\n"), [], "\n\n".join(thoughts))


class _EarlierRuns:
    """The turns of the earlier runs in a history, which are sent again with ``--restore-chat-history``."""

    def __init__(self) -> None:
        self.turns = list[LoggedTurn]()
        self._bytes = 0

    @property
    def is_short(self) -> bool:
        """Whether aider sends the complete history; above a limit that depends on the model, aider summarizes it."""
        return self._bytes <= _SHORT

    def add(self, turn: LoggedTurn) -> None:
        """Add a turn."""
        self._bytes += len(turn.turn["content"].encode("utf-8", "surrogatepass"))
        if self.is_short:
            self.turns.append(replace(turn, evidence=replace(turn.evidence, is_sampled=False)))


def _run(lines: list[str], line: int, name: str, earlier: _EarlierRuns, unread: Unread) -> list[Conversation]:
    time = moment(lines[0].removeprefix(_START).strip())
    speaking = _Speech(line)
    speaking.known = Evidence(time=time, is_sampled=True)
    # If the lines of prompts end with a break, lines without a break are headings in replies.
    has_breaks = any(each.startswith(_USER) and each.endswith(_BREAK) for each in lines)
    for number, each in enumerate(lines[1:], line + 1):
        is_asked = each.startswith(_USER) or each.rstrip() == _USER.rstrip()
        if is_asked and (each.endswith(_BREAK) or not has_breaks):
            speaking.to("user", number)
            speaking.add(each[len(_USER) :].rstrip())
        elif each.startswith(_OUTPUT) or each == _OUTPUT.rstrip():
            if match := _MODEL.match(each):
                speaking.known = replace(speaking.known, model=match[1])
            unread.count("line that aider printed")
        elif each.strip():
            speaking.to("assistant", number)
            speaking.add(each)
        # Blank lines are part of replies, but not of prompts.
        elif speaking.role == "assistant":
            speaking.add(each)
    speaking.close()
    if not speaking.turns:
        return []
    known: Object = {"id": name}
    restored = list(earlier.turns) if _is_restored(lines) else []
    if restored and not earlier.is_short:
        restored = []  # the model saw a summary that is not in the file
        known |= {"lacks_context": True, "findings": ((line, RepeatedViolation("missing-history")),)}
    turns = [replace(each, turn=_with_reasoning(each.turn)) for each in speaking.turns]
    for turn in turns:
        earlier.add(turn)
    return [load_conversation(openai_chat, [*restored, *turns], **known)]


def _is_restored(lines: list[str]) -> bool:
    """Return whether the header of a run shows that the history was restored."""
    header = takewhile(lambda each: not each.startswith(_USER), lines)
    return any(each.startswith(_RESTORED) for each in header)


def _exchange(lines: list[str], line: int, unread: Unread) -> list[LoggedTurn]:
    speaking = _Speech(line)
    speaking.known = Evidence(time=moment(lines[0].removeprefix(_PROMPT).strip()))
    for number, each in enumerate(lines[1:], line + 1):
        if each.startswith(_REPLY):
            speaking.close()
            time = moment(each.removeprefix(_REPLY).strip()) or speaking.known.time
            speaking.known = Evidence(time=time, is_sampled=True)
        elif each == _RULE:
            speaking.close()
        elif match := _ROLE.fullmatch(each):
            speaking.to(match[1].lower(), number)
            speaking.add(match[2] or "")
        elif each.strip():
            unread.count("line with another role")
    speaking.close()
    return [replace(each, turn=_with_reasoning(each.turn)) for each in speaking.turns]


def _unrepeated_exchanges(exchanges: list[tuple[str, list[LoggedTurn]]]) -> list[Conversation]:
    """Return the exchanges that the next exchange does not repeat; each contains the complete history."""
    conversations_of = list[Conversation]()
    for number, (name, turns) in enumerate(exchanges):
        later = exchanges[number + 1][1] if number + 1 < len(exchanges) else []
        own_turns = [each.turn for each in turns]
        if not turns or [each.turn for each in later[: len(own_turns)]] == own_turns:
            continue
        conversations_of.append(load_conversation(openai_chat, turns, id=name))
    return conversations_of
