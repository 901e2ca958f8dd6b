"""The findings of a result by their codes, the most harmful first, with examples folded and what filters them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from chatsquash.checks import explanations, harm
from chatsquash.core.model import Severity
from chatsquash.core.text import pluralize
from chatsquash.pages.html.markup import Html, tag
from chatsquash.pages.report.advice import anchor, is_secret, label, with_code
from chatsquash.pages.report.charts import bounded
from chatsquash.results.types import FindingRow

_LONGEST = 400
"""Bytes of a finding's text that are shown."""
_CODES = 200
"""Codes that can be chosen."""
_CHUNK = 50
"""Rows that a browser lays out together, once they are near what is seen."""
_ALL = "reports/findings.jsonl"
_MOST = 1_100_000
"""Bytes of all groups."""

Codes = Mapping[tuple[Severity, str], int]
"""How many findings there are by severity and code."""


class _Group(NamedTuple):
    """The findings of a code."""

    severity: Severity
    code: str
    number: int
    rows: list[Html]
    """The examples."""


def groups(findings: Sequence[FindingRow], code_counts: Codes, links: Mapping[str, str]) -> Html:
    """The findings with what filters them; ``links`` leads from records to sessions of the page.

    ``code_counts`` also has those for which the page has no room.
    """
    if not code_counts:
        return tag("p", "No findings.")
    made = _fitting(findings, code_counts, links)
    shown, total = sum(len(group.rows) for group in made), sum(code_counts.values())
    shown_count = tag("output", _count(shown, total), id="f-count", for_="f-text f-severity f-code", data_all=total)
    listed = tag("div", *map(_group, made), id="f-rows")
    return tag("div", _filters(code_counts), tag("p", shown_count), _rest(shown, total), listed)


def _fitting(findings: Sequence[FindingRow], code_counts: Codes, links: Mapping[str, str]) -> list[_Group]:
    """The groups for which there is room, the most harmful first."""
    by_code: dict[tuple[Severity, str], list[FindingRow]] = defaultdict(list)
    for finding in findings:
        by_code[finding["severity"], finding["code"]].append(finding)
    made: list[_Group] = []
    left = _MOST
    for severity, code in sorted(code_counts, key=lambda key: (harm.rank(*key), key[1])):
        group = _Group(severity, code, code_counts[severity, code], [])
        left -= len(_group(group).encode())
        if left < 0:
            break
        made.append(group)
        for finding in by_code[severity, code]:
            row = _row(finding, links)
            left -= len(row.encode())
            if left < 0:
                break
            group.rows.append(row)
    return made


def _group(group: _Group) -> Html:
    said, remedy = explanations.meaning(group.code), explanations.remedy(group.code)
    summary = tag(
        "summary",
        label(group.severity, group.code),
        tag("span", pluralize(group.number, "finding"), class_="count"),
        tag("span", *with_code(said), class_="quiet") if said else None,
    )
    more = group.number - len(group.rows)
    explain = tag("code", f"chatsquash explain {bounded(group.code)}") if said else None
    head = tag("tr", *(tag("th", name, scope="col") for name in ("Session", "Where", "Finding")))
    chunks = (tag("tbody", *group.rows[at : at + _CHUNK]) for at in range(0, len(group.rows), _CHUNK))
    return tag(
        "details",
        summary,
        tag("p", *with_code(remedy), class_="remedy") if remedy else None,
        tag("p", explain, " says more.", class_="quiet") if explain else None,
        tag("table", tag("thead", head), *chunks, class_="findings"),
        tag("p", f"… {more:,} more in ", tag("code", _ALL), class_="cut") if more > 0 else None,
        id=anchor(group.severity, group.code),
        class_="code secret" if is_secret(group.severity, group.code) else "code",
        data_severity=group.severity,
        data_code=bounded(group.code),
    )


def _filters(code_counts: Codes) -> Html:
    severities, codes = Counter[str](), Counter[str]()
    for (severity, code), count in code_counts.items():
        severities[severity] += count
        codes[bounded(code)] += count
    ordered = {name: severities[name] for name in ("error", "warning", "info") if severities[name]}
    return tag(
        "form",
        tag("label", "Text ", tag("input", type="search", id="f-text", autocomplete="off")),
        tag("label", "Severity ", _select("f-severity", ordered)),
        tag("label", "Code ", _select("f-code", dict(sorted(codes.items())[:_CODES]))),
        id="filters",
        role="search",
        aria_label="Findings",
        hidden=True,
    )


def _count(shown: int, total: int) -> str:
    """As the script says it of what it filters."""
    return f"{total:,} of {total:,} findings" if shown == total else f"{shown:,} of {total:,} findings are on this page"


def _rest(shown: int, total: int) -> Html | None:
    if shown == total:
        return None
    figure = f"The page holds {shown:,} of {total:,}, the most harmful first and some of each code; "
    return tag("p", figure, tag("code", _ALL), " has all.", class_="quiet")


def _row(finding: FindingRow, links: Mapping[str, str]) -> Html:
    session, record = finding.get("session") or "", finding.get("record") or ""
    at = finding.get("file") or ""
    where = f"{at}:{finding['line']}" if finding.get("line") is not None else at
    link = links.get(record) or links.get(f"{at}\n{session}")
    name = bounded(session)
    return tag(
        "tr",
        tag("td", tag("a", name, href=f"#{link}") if link else name, dir="auto"),
        tag("td", bounded(where), *([tag("br"), bounded(record)] if record else []), dir="auto"),
        tag("td", bounded(finding["text"], _LONGEST), dir="auto"),
    )


def _select(name: str, choices: Mapping[str, int]) -> Html:
    """Choices, and how many findings of all there are of each."""
    options = (tag("option", f"{each} ({count:,})", value=each, data_all=count) for each, count in choices.items())
    return tag("select", tag("option", "all", value=""), *options, id=name)
