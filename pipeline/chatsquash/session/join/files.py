"""The replies of the agents' files that a session is joined with."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator
from itertools import groupby

from msgspec import Struct

from chatsquash.core.log import Log
from chatsquash.core.model import Message, Sampled
from chatsquash.core.options import Options
from chatsquash.core.outcome import Relative
from chatsquash.formats.base import TurnError
from chatsquash.reading import documents
from chatsquash.reading.lineage import Key, Place
from chatsquash.session.join.keys import Keys, answered, keys
from chatsquash.sources import relatives
from chatsquash.sources.open import opened


class View(Struct, eq=False):
    """A conversation in an agent's file."""

    number: int
    """Which of the agents of the session it is."""
    file: int
    """The number of the first conversation of its file."""
    place: Place

    @property
    def messages(self) -> list[Message]:
        """What is said in it."""
        return self.place.conversation.messages

    def key(self, number: int) -> tuple[int, Key]:
        """What tells one of its replies from all others, whichever conversations of its file hold it."""
        return self.file, self.place.keys[number]

    def reply(self, number: int) -> Sampled:
        """What the file says of one of its replies."""
        return self.place.origin.replies[number]

    def said(self, number: int) -> Message | None:
        """The message of one of its replies."""
        at = self.reply(number).at
        return self.messages[at] if at is not None else None

    def keys(self, number: int) -> Keys | None:
        """By what a reply is known in other files."""
        message = self.said(number)
        return keys(message, self.reply(number).response_id) if message is not None else None

    def results(self) -> Iterator[tuple[str, Message]]:
        """The results in it, by the ids of their calls."""
        for message in self.messages:
            if call_id := answered(message):
                yield call_id, message


def views(agents: Iterable[Log], options: Options) -> list[View]:
    """The conversations that are joined; of a file that cannot be read any more there are none."""
    found: list[View] = []
    numbered = enumerate(agents)
    for _, group in groupby(numbered, key=lambda each: (each[1].path, each[1].unit)):
        logs = [*group]
        number, log = logs[0]
        places = _places(log, options)
        parts = ((at, each.part or 0) for at, each in logs)
        found += [View(at, number, places[part]) for at, part in parts if part < len(places)]
    return found


def looked_at(agents: Iterable[Log]) -> list[Relative]:
    """The files of agents, as they are now."""
    paths = dict.fromkeys(relatives.absolute(each.shown) for each in agents)
    return [relatives.look(glob.escape(path)) for path in paths]


def _places(log: Log, options: Options) -> list[Place]:
    try:
        with opened(log.path, options) as file:
            held = documents.document(file, options, log.unit)
    except (OSError, TurnError):
        return []
    return held.places if held else []
