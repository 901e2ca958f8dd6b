"""The sessions of the page with their records, images, findings and log entries."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from chatsquash.core.model import Json
from chatsquash.core.outcome import Place
from chatsquash.dataset.reports.findings import FINDINGS
from chatsquash.pages.html.markup import Html, tag
from chatsquash.pages.html.record import medium, size
from chatsquash.pages.report.data import Shown
from chatsquash.pages.result.entries import entries
from chatsquash.pages.result.selection import Key, Picked
from chatsquash.records.media import FOLDER
from chatsquash.records.places import read_all
from chatsquash.records.reading import NotARecordError, StoredRecord, native, parsed, record
from chatsquash.results.output import ResultFolder, damaged
from chatsquash.results.types import FindingRow


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


_IMAGE = re.compile(rf"{FOLDER}/[A-Za-z0-9]+\.[a-z]+")


def records(result: ResultFolder, places: Iterable[dict[str, Any]]) -> dict[Place, StoredRecord]:
    """The records at places of the session table; raises ``UsageError`` where one does not stand there."""
    by_file: dict[str, list[Place]] = defaultdict(list)
    for facts in places:
        if (place := place_of(facts)) is not None:
            by_file[place.file].append(place)
    return {
        place: _read(result, place, data)
        for name, of_file in by_file.items()
        for place, data in read_all(result.folder, name, of_file)
    }


def place_of(facts: dict[str, Any]) -> Place | None:
    """Where the record of a line of the session table stands; ``None`` for one without."""
    return None if facts["file"] is None else Place(facts["file"], facts["row"], facts["offset"])


def _read(result: ResultFolder, place: Place, data: bytes) -> StoredRecord:
    try:
        value = parsed(data)
        held = record(value)
    except NotARecordError:
        raise damaged(result.folder, place.file) from None
    _with_sizes(result, value, held)
    return native(held)


def _with_sizes(result: ResultFolder, value: Json, held: StoredRecord) -> None:
    """Put sizes into the parts that stand for images in files of their own."""
    images = value.get("images")
    if not isinstance(images, list):
        return
    number = count()
    for message in held.messages:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if part == {"type": "image"}:
                part[_SIZE] = _size_of(result, images, next(number))


_SIZE = "size of the file"


def _size_of(result: ResultFolder, images: list[Json], at: int) -> int | None:
    name = images[at] if at < len(images) else None
    if not isinstance(name, str) or not _IMAGE.fullmatch(name):
        return None
    status = result.folder.status(name)
    return status.st_size if status else None


def sized(part: Json) -> Html:
    """A part that is no text as its size, also where a file holds it."""
    if isinstance(part, dict) and isinstance(part.get(_SIZE), int):
        return tag("p", f"image, {size(part[_SIZE])}", class_="medium")
    return medium(part)


MOST = 1500
"""Findings that the page may hold."""
_OF_SESSION = 60
_SEVERITIES = ("error", "warning", "info")
_SECRETS = "secret-found"


class Findings:
    """The findings of a result."""

    def __init__(self, result: ResultFolder) -> None:
        self._result = result
        self.codes: Counter[tuple[str, str]] = Counter()
        """How many there are by severity and code."""
        self.secrets: Counter[Key] = Counter()
        """Sessions in whose records secrets were found."""
        for each in self._all():
            self.codes[each["severity"], each["code"]] += 1
            if each["code"] == _SECRETS:
                self.secrets[each["file"] or "", each["session"] or ""] += 1
        self.shown = self._shown()

    def _all(self) -> Iterable[FindingRow]:
        return self._result.objects(FINDINGS, FindingRow)

    def _shown(self) -> list[FindingRow]:
        """Those that the page has room for: the first of each code, the gravest before the others."""
        most = _most_of_each(self.codes.values(), MOST)
        taken: dict[tuple[str, str], list[FindingRow]] = defaultdict(list)
        for each in self._all():
            of_code = taken[each["severity"], each["code"]]
            if len(of_code) < most:
                of_code.append(each)
        ranked = sorted(taken, key=lambda key: (_SEVERITIES.index(key[0]), key[1]))
        return [each for key in ranked for each in taken[key]]

    def of(self, keys: set[Key], places: set[str]) -> tuple[dict[Key, list[FindingRow]], Counter[Key]]:
        """The first findings of sessions, and how many each has; ``places`` are those of records that are shown.

        A session with several records has those of the one that is shown, and those of no record.
        """
        found: dict[Key, list[FindingRow]] = defaultdict(list)
        counts: Counter[Key] = Counter()
        for each in self._all():
            key = each["file"] or "", each["session"] or ""
            if key in keys and (not each["record"] or each["record"] in places):
                counts[key] += 1
                if len(found[key]) < _OF_SESSION:
                    found[key].append(each)
        for of_session in found.values():
            of_session.sort(key=lambda each: _SEVERITIES.index(each["severity"]))
        return found, counts


def _most_of_each(counts: Iterable[int], most: int) -> int:
    """How many of each kind there may be, so that all together are no more than ``most``."""
    left, ordered = most, sorted(counts)
    for at, wanted in enumerate(ordered):
        share = left // (len(ordered) - at)
        if wanted > share:
            return share
        left -= wanted
    return most
