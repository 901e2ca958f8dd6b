"""The findings of a result: how many there are, those that the page has room for, and those of its sessions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from chatsquash.dataset.reports.findings import FINDINGS
from chatsquash.pages.result.selection import Key
from chatsquash.results.output import ResultFolder
from chatsquash.results.types import FindingRow

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
    for at, count in enumerate(ordered):
        share = left // (len(ordered) - at)
        if count > share:
            return share
        left -= count
    return most
