"""Of which days the sessions in a log are, where its path does not tell."""

from __future__ import annotations

from dataclasses import replace

from chatsquash.core.log import Log
from chatsquash.core.model import Entry
from chatsquash.core.options import Options
from chatsquash.core.times import day
from chatsquash.reading import documents
from chatsquash.reading.reader import Reader
from chatsquash.session.plan import plan
from chatsquash.sources.open import opened


def days_logged(options: Options, log: Log) -> list[str]:
    """The UTC date of the first readable time that cleaning leaves in a log: that by which it is grouped.

    Of a document that holds several sessions, the dates of all of them; of a log each of whose conversations may become
    a record, all dates.
    """
    with opened(log.path, options) as file:
        items = Reader(replace(options, sessions_by="file")).read(file, log).items
        left = (entry for entry in plan(options, None).through(items) if isinstance(entry, Entry))
        first = next((entry for entry in left if entry.origin or entry.at is not None), None)
        times = [first.at if first else None]
        if options.divides and first and not first.origin:
            times += [entry.at for entry in left]  # since any line may begin a conversation
        if first and first.origin and options.sessions_by != "file":
            held = documents.document(file, options)  # which was read just now
            times = [each.origin.started for each in held.conversations if each.origin] if held else []
        return list(dict.fromkeys(day(at) for at in times if at is not None))
