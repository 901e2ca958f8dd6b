"""The table of findings, which the page's script filters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chatsquash.html.markup import Html, tag
from chatsquash.html.record import cut

_LONGEST = 400
"""Bytes of a finding's text that are shown."""
_NAME = 160
"""Bytes of a name that are shown."""
_CHUNK = 50
"""Rows that a browser lays out together, once they are near what is seen."""
_MOST = 1_100_000
"""Bytes of the table."""


def table(findings: Sequence[dict[str, Any]], found: int, links: Mapping[str, str]) -> Html:
    """The findings with what filters them; ``links`` leads from records to sessions of the page."""
    if not found:
        return tag("p", "No findings.")
    rows = _fitting(findings, links)
    kept = findings[: len(rows)]
    severities = [each for each in ("error", "warning", "info") if any(told["severity"] == each for told in kept)]
    codes = sorted({told["code"] for told in kept})
    filters = tag(
        "form",
        tag("label", "Text ", tag("input", type="search", id="f-text", autocomplete="off")),
        tag("label", "Severity ", _select("f-severity", severities)),
        tag("label", "Code ", _select("f-code", codes)),
        id="filters",
        role="search",
        aria_label="Findings",
        hidden=True,
    )
    shown = tag("output", f"{len(rows):,} of {len(rows):,}", id="f-count", for_="f-text f-severity f-code")
    names = ("Severity", "Code", "Session", "Where", "Finding")
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    chunks = (tag("tbody", *rows[at : at + _CHUNK]) for at in range(0, len(rows), _CHUNK))
    made = tag("table", tag("thead", head), *chunks, class_="findings", id="f-rows")
    return tag("div", filters, tag("p", shown, " findings", *_rest(len(rows), found)), made)


def _rest(shown: int, found: int) -> Iterable[Html]:
    if shown < found:
        told = f". The page holds {shown:,} of {found:,}, the gravest first and some of each code; "
        yield tag("span", told, tag("code", "reports/findings.jsonl"), " has all.")


def _fitting(findings: Sequence[dict[str, Any]], links: Mapping[str, str]) -> list[Html]:
    rows: list[Html] = []
    left = _MOST
    for finding in findings:
        row = _row(finding, links)
        left -= len(row.encode())
        if left < 0:
            break
        rows.append(row)
    return rows


def _row(finding: dict[str, Any], links: Mapping[str, str]) -> Html:
    severity, code = str(finding["severity"]), str(finding["code"])
    session, record = finding.get("session") or "", finding.get("record") or ""
    at = finding.get("file") or ""
    where = f"{at}:{finding['line']}" if finding.get("line") is not None else at
    link = links.get(record) or links.get(f"{at}\n{session}")
    name = _bounded(session, _NAME)
    return tag(
        "tr",
        tag("td", severity, class_=f"severity-{severity}"),
        tag("td", tag("code", code)),
        tag("td", tag("a", name, href=f"#{link}") if link else name, dir="auto"),
        tag("td", _bounded(where, _NAME), *([tag("br"), _bounded(record, _NAME)] if record else []), dir="auto"),
        tag("td", _bounded(finding["text"], _LONGEST), dir="auto"),
    )


def _bounded(text: str, most: int) -> str:
    kept, left = cut(text, most)
    return f"{kept}…" if left else kept


def _select(name: str, choices: Sequence[str]) -> Html:
    return tag("select", tag("option", "all", value=""), *(tag("option", each) for each in choices), id=name)
