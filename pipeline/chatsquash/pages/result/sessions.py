"""The sessions of the page with their records, findings and log entries."""

from __future__ import annotations

from collections.abc import Iterator

from chatsquash.pages.report.data import Shown
from chatsquash.pages.result.entries import entries
from chatsquash.pages.result.findings import Findings
from chatsquash.pages.result.records import place_of, records, sized
from chatsquash.pages.result.selection import Picked
from chatsquash.results.output import ResultFolder


def sessions(result: ResultFolder, picked: list[Picked], found: Findings) -> Iterator[Shown]:
    """What the page shows of the sessions that were chosen."""
    held = records(result, [each.facts for each in picked])
    told, counts = found.of({each.key for each in picked}, set(map(str, held)))
    logged = entries(result, picked)
    for each in picked:
        place = place_of(each.facts)
        yield Shown(
            facts=each.facts,
            chosen=each.why,
            held=held[place] if place else None,
            findings=told.get(each.key, []),
            count=counts[each.key],
            entries=logged[each.key],
            others=each.others,
            medium=sized,
        )
