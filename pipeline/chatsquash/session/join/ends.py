"""How the calls of a session came out, as agents' files tell it: failures, and exit codes."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.checks.registry import View as RecordView
from chatsquash.core import chat
from chatsquash.core.blocks import FAILED, Result, Turn
from chatsquash.core.model import Conversation, Json, Message
from chatsquash.core.outcome import Record
from chatsquash.formats.base import TurnError
from chatsquash.formats.providers.openai_chat.read import turns_of_messages
from chatsquash.session.ending.commands import last_exit
from chatsquash.session.join.files import View
from chatsquash.session.join.keys import answered
from chatsquash.session.session import Snapshot


class Ends(Struct, frozen=True):
    """The results that agents' files have, by the ids of their calls."""

    contents: dict[str, Json]
    failed: set[str]
    """The calls that failed."""

    @classmethod
    def of(cls, views: Iterable[View]) -> Ends:
        """Those of some conversations."""
        contents: dict[str, Json] = {}
        failed: set[str] = set()
        for call_id, message in (each for view in views for each in view.results()):
            contents[call_id] = message.get("content")
            if message.get("is_error") is True or chat.outcome(message) in FAILED:
                failed.add(call_id)
        return cls(contents, failed)

    def marked(self, snapshot: Snapshot) -> Snapshot:
        """A snapshot whose results say which calls failed."""
        entry = snapshot.entry
        if not any(answered(each) in self.failed for each in entry.messages):
            return snapshot
        messages = [_failed(each) if answered(each) in self.failed else each for each in entry.messages]
        return replace(snapshot, entry=replace(entry, messages=messages))

    def finished(self, record: Record, snapshot: Snapshot) -> Record:
        """A record with the exit code of its last command, where the agent's results alone say it."""
        messages = snapshot.entry.messages
        if record.ending.exit is not None or not any(answered(each) in self.contents for each in messages):
            return record
        messages = [
            {**each, "content": self.contents[of]} if (of := answered(each)) in self.contents else each
            for each in messages
        ]
        code, evidence = last_exit(RecordView(Conversation(messages, [])))
        if code is None:
            return record
        ending = record.ending._replace(exit=code, exit_evidence=f"{evidence}, as the agent's file has it")
        return replace(record, ending=ending)


def _failed(message: Message) -> Message:
    """A result that says that its call failed."""
    try:
        made = chat.turn(message) or turns_of_messages([message])[0]
    except (TurnError, IndexError):
        return message
    blocks = tuple(replace(each, outcome="failed") if type(each) is Result else each for each in made.blocks)
    return {**message, chat.PRIVATE: Turn(made.role, blocks, native=made.native)}  # type: ignore[misc]
