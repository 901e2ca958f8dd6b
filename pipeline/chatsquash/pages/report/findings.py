"""The table of findings, which the page's script filters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chatsquash.pages.html.markup import Html, tag
from chatsquash.pages.report.bounds import bounded

_LONGEST = 400
"""Bytes of a finding's text that are shown."""
_CODES = 200
"""Codes that can be chosen."""
_CHUNK = 50
"""Rows that a browser lays out together, once they are near what is seen."""
_MOST = 1_100_000
"""Bytes of the table."""


def table(
    findings: Sequence[Mapping[str, Any]], found: Mapping[tuple[str, str], int], links: Mapping[str, str]
) -> Html:
    """The findings with what filters them; ``links`` leads from records to sessions of the page.

    ``found`` has how many there are by severity and code, also of those for which the page has no room.
    """
    if not found:
        return tag("p", "No findings.")
    rows, total = _fitting(findings, links), sum(found.values())
    severities, codes = Counter[str](), Counter[str]()
    for (severity, code), count in found.items():
        severities[severity] += count
        codes[bounded(code)] += count
    ordered = {name: severities[name] for name in ("error", "warning", "info") if severities[name]}
    filters = tag(
        "form",
        tag("label", "Text ", tag("input", type="search", id="f-text", autocomplete="off")),
        tag("label", "Severity ", _select("f-severity", ordered)),
        tag("label", "Code ", _select("f-code", dict(sorted(codes.items())[:_CODES]))),
        id="filters",
        role="search",
        aria_label="Findings",
        hidden=True,
    )
    shown = tag("output", _count(len(rows), total), id="f-count", for_="f-text f-severity f-code", data_all=total)
    names = ("Severity", "Code", "Session", "Where", "Finding")
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    chunks = (tag("tbody", *rows[at : at + _CHUNK]) for at in range(0, len(rows), _CHUNK))
    made = tag("table", tag("thead", head), *chunks, class_="findings", id="f-rows")
    return tag("div", filters, tag("p", shown), *_rest(len(rows), total), made)


def _count(shown: int, total: int) -> str:
    """As the script says it of what it filters."""
    return f"{total:,} of {total:,} findings" if shown == total else f"{shown:,} of {total:,} findings are on this page"


def _rest(shown: int, total: int) -> Iterable[Html]:
    if shown < total:
        told = f"The page holds {shown:,} of {total:,}, the gravest first and some of each code; "
        yield tag("p", told, tag("code", "reports/findings.jsonl"), " has all.", class_="quiet")


def _fitting(findings: Sequence[Mapping[str, Any]], links: Mapping[str, str]) -> list[Html]:
    rows: list[Html] = []
    left = _MOST
    for finding in findings:
        row = _row(finding, links)
        left -= len(row.encode())
        if left < 0:
            break
        rows.append(row)
    return rows


def _row(finding: Mapping[str, Any], links: Mapping[str, str]) -> Html:
    severity, code = str(finding["severity"]), str(finding["code"])
    session, record = finding.get("session") or "", finding.get("record") or ""
    at = finding.get("file") or ""
    where = f"{at}:{finding['line']}" if finding.get("line") is not None else at
    link = links.get(record) or links.get(f"{at}\n{session}")
    name = bounded(session)
    return tag(
        "tr",
        tag("td", severity, class_=f"severity-{severity}"),
        tag("td", tag("code", bounded(code))),
        tag("td", tag("a", name, href=f"#{link}") if link else name, dir="auto"),
        tag("td", bounded(where), *([tag("br"), bounded(record)] if record else []), dir="auto"),
        tag("td", bounded(finding["text"], _LONGEST), dir="auto"),
    )


def _select(name: str, choices: Mapping[str, int]) -> Html:
    """Choices, and how many findings of all there are of each."""
    options = (tag("option", f"{each} ({count:,})", value=each, data_all=count) for each, count in choices.items())
    return tag("select", tag("option", "all", value=""), *options, id=name)
