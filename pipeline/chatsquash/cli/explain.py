"""``chatsquash explain``: a page for each finding, and the columns of ``--where``."""

from __future__ import annotations

import click

from chatsquash.checks import explanations, refuse_unknown, rules
from chatsquash.cli.click_options import Codes, argument
from chatsquash.cli.command import Command
from chatsquash.cli.exits import tolerate_closed_pipe
from chatsquash.core.extras import with_add_command

_COLUMNS = "columns"
_OLD_CODES = {
    "address-left": "address-not-redacted",
    "chosen-chain": "grouped-by-chain",
    "context-not-held": "context-mismatch",
    "cut-archive": "truncated-archive",
    "cut-by-logger": "truncated-by-logger",
    "cut-to-fit": "truncated-to-fit",
    "not-held": "unsupported-content",
    "private-found": "personal-data-found",
    "second-copy": "duplicate-log",
    "second-copy-differs": "duplicate-log-differs",
    "sent-context": "restore-not-applied",
    "shape-not-held": "unsupported-shape",
    "stream-cut": "stream-interrupted",
    "tool-calls-beside-markup": "tool-calls-with-markup",
    "user-behind-result": "user-after-result",
    "vendor-form": "vendor-extension",
}
"""Codes of earlier versions, with the codes that replaced them."""


@click.command(cls=Command, epilog="Example: chatsquash explain no-tools")
@argument("codes", nargs=-1, type=Codes(), metavar="[CODE]...")
def explain(codes: tuple[str, ...]) -> None:
    """Explain findings: their meaning, why they matter, an example, and what to do. Without CODE, list all findings.

    explain columns lists the columns of the session table, which --where uses.
    """
    pages = [list_columns() if code == _COLUMNS else page(code) for code in codes]
    with tolerate_closed_pipe():
        click.echo("\n".join(pages).rstrip("\n") if pages else list_findings())


def page(code: str) -> str:
    """Return the page of a finding as Markdown; a code of an earlier version is accepted.

    Raises:
        UsageError: No finding has this code.
    """
    code = _OLD_CODES.get(code, code)
    refuse_unknown(code)
    return with_add_command(explanations.page(code))


def list_findings() -> str:
    """Return the codes of all findings, one per line, each with its severities and a sentence."""
    width = max(map(len, rules()))
    meanings = {code: explanations.meaning(code) for code in rules()}
    severities = {code: "/".join(rule.severities) for code, rule in rules().items()}
    longest = max(map(len, severities.values()))
    return "\n".join(f"{code:<{width}}  {severities[code]:<{longest}}  {meanings[code]}" for code in sorted(rules()))


def list_columns() -> str:
    """Return the columns of the session table, one per line, each with its type and an example condition."""
    from chatsquash.core.text import align_columns
    from chatsquash.dataset.session_table import COLUMNS, EXAMPLE

    rows = [("column", "type", "example"), *((each.name, each.kind, each.example) for each in COLUMNS)]
    values = [f"{each.name} has {each.values}." for each in COLUMNS if each.kind == "text" and each.values != "text"]
    late_columns = ", ".join(each.name for each in COLUMNS if each.known_late)
    notes = [
        "",
        *values,
        f"Only known after writing, so not available in convert --where: {late_columns}.",
        f'Combine conditions, as in --where "{EXAMPLE}". A null value meets no condition.',
        "docs/output.md describes each column.",
    ]
    return "\n".join([*(line.rstrip() for line in align_columns(rows)), *notes])
