"""Render the findings of a result by code, the most harmful first, with collapsed examples and filters."""

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
"""Maximum bytes of a finding's text."""
_CODES = 200
"""Maximum number of codes in the filter."""
_CHUNK = 50
"""Rows per table body; a browser skips the layout of bodies that are far from the viewport."""
_ALL = "reports/findings.jsonl"
_MOST = 1_100_000
"""Maximum bytes of all groups."""

Codes = Mapping[tuple[Severity, str], int]
"""Numbers of findings by severity and code."""


class _Group(NamedTuple):
    """The findings with one code."""

    severity: Severity
    code: str
    number: int
    rows: list[Html]
    """Examples as table rows."""


def groups(findings: Sequence[FindingRow], code_counts: Codes, links: Mapping[str, str]) -> Html:
    """Render the findings and their filters.

    Args:
        findings: The findings that are shown as examples.
        code_counts: The numbers of all findings, including those that are not shown.
        links: Ids of sessions on the page, by record or by log and session.
    """
    if not code_counts:
        return tag("p", "No findings.")
    page_groups = _fit_groups(findings, code_counts, links)
    on_page, total = sum(len(group.rows) for group in page_groups), sum(code_counts.values())
    shown_count = tag("output", _count(on_page, total), id="f-count", for_="f-text f-severity f-code", data_all=total)
    group_list = tag("div", *map(_group, page_groups), id="f-rows")
    return tag("div", _filters(code_counts), tag("p", shown_count), _rest(on_page, total), group_list)


def _fit_groups(findings: Sequence[FindingRow], code_counts: Codes, links: Mapping[str, str]) -> list[_Group]:
    """Return the groups that fit on the page, the most harmful first."""
    by_code: dict[tuple[Severity, str], list[FindingRow]] = defaultdict(list)
    for finding in findings:
        by_code[finding["severity"], finding["code"]].append(finding)
    page_groups: list[_Group] = []
    remaining = _MOST
    for severity, code in sorted(code_counts, key=lambda key: (harm.rank(*key), key[1])):
        group = _Group(severity, code, code_counts[severity, code], [])
        remaining -= len(_group(group).encode())
        if remaining < 0:
            break
        page_groups.append(group)
        for finding in by_code[severity, code]:
            row = _row(finding, links)
            remaining -= len(row.encode())
            if remaining < 0:
                break
            group.rows.append(row)
    return page_groups


def _group(group: _Group) -> Html:
    meaning, remedy = explanations.meaning(group.code), explanations.remedy(group.code)
    summary = tag(
        "summary",
        label(group.severity, group.code),
        tag("span", pluralize(group.number, "finding"), class_="count"),
        tag("span", *with_code(meaning), class_="quiet") if meaning else None,
    )
    more = group.number - len(group.rows)
    explain = tag("code", f"chatsquash explain {bounded(group.code)}") if meaning else None
    head = tag("tr", *(tag("th", name, scope="col") for name in ("Session", "Where", "Finding")))
    chunks = (tag("tbody", *group.rows[at : at + _CHUNK]) for at in range(0, len(group.rows), _CHUNK))
    return tag(
        "details",
        summary,
        tag("p", *with_code(remedy), class_="remedy") if remedy else None,
        tag("p", "Details: ", explain, class_="quiet") if explain else None,
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
    by_severity = {name: severities[name] for name in ("error", "warning", "info") if severities[name]}
    return tag(
        "form",
        tag("label", "Text ", tag("input", type="search", id="f-text", autocomplete="off")),
        tag("label", "Severity ", _select("f-severity", by_severity)),
        tag("label", "Code ", _select("f-code", dict(sorted(codes.items())[:_CODES]))),
        id="filters",
        role="search",
        aria_label="Findings",
        hidden=True,
    )


def _count(on_page: int, total: int) -> str:
    """Return the count in the wording that page.js uses after filtering."""
    return (
        f"{total:,} of {total:,} findings"
        if on_page == total
        else f"{on_page:,} of {total:,} findings are on this page"
    )


def _rest(on_page: int, total: int) -> Html | None:
    if on_page == total:
        return None
    figure = (
        f"This page shows {on_page:,} of {total:,}, the most harmful first, with examples of each code. All are in "
    )
    return tag("p", figure, tag("code", _ALL), ".", class_="quiet")


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
    """Render a filter whose choices have the numbers of all findings."""
    options = (tag("option", f"{each} ({count:,})", value=each, data_all=count) for each, count in choices.items())
    return tag("select", tag("option", "all", value=""), *options, id=name)
