"""What logs define, in the form that ``--tools-file`` and ``--system-file`` read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import takewhile

from chatsquash.core import chat, jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.model import Seen
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome
from chatsquash.core.text import escaped
from chatsquash.dataset.option_rules import refuse_wrong
from chatsquash.formats import documents
from chatsquash.session.chains import each_session
from chatsquash.session.converter import Converter, EntryStream
from chatsquash.session.session import Session
from chatsquash.session.stages.supplied_definitions import as_toml


def definitions(logs: Iterable[str], options: Options) -> Iterator[str]:
    """The definitions and the system prompt of each session as a table of TOML, equal ones once.

    They are those of its record.  Raises ``UsageError`` for a file that cannot be read, and where there is none.
    """
    converter = Converter(replace(options, integrity_analysis=False))
    printed: set[str] = set()

    def converted(log: Log) -> tuple[Log, Outcome, Seen | None]:
        seeing = _Seeing()
        return log, converter.convert(log, seeing), seeing.seen

    refuse_wrong(options)
    for log, outcome, seen in each_session(logs, options, converted):
        table = _table(log, outcome, seen)
        place = f"# {escaped(log.shown)}: session {escaped(outcome.session)}"
        if not table:
            yield f"{place}: {outcome.left_out or 'no definitions and no system prompt'}\n"
        elif table not in printed:
            printed.add(table)
            yield f"{place}\n{table}\n"


class _Seeing:
    """Sees what the first lines of a log tell, and leaves its entries alone."""

    seen: Seen | None = None

    def logged(self, items: EntryStream) -> EntryStream:
        return items

    def left(self, items: EntryStream) -> EntryStream:
        return items

    def settle(self, seen: Seen | None, session: Session) -> None:
        del session
        self.seen = seen


def _table(log: Log, outcome: Outcome, seen: Seen | None) -> str:
    """The table of a session; empty where its record has neither, or it has none."""
    record = jsonio.loads(outcome.record) if outcome.record else {"messages": [], "tools": []}
    leading = takewhile(lambda message: message["role"] == "system", record["messages"])
    prompt = "\n\n".join(text for message in leading if (text := chat.joined(message)))
    if not record["tools"] and not prompt:
        return ""
    agent = seen.format if seen and seen.format in documents.names() else None
    try:
        return as_toml(agent, record["tools"], prompt or None)
    except UnicodeEncodeError:
        raise UsageError(f"{log.shown}: the system prompt has half of a UTF-16 pair, which TOML cannot hold") from None
