"""``chatsquash stats``: count messages, tokens, tools and duplicates of datasets."""

from __future__ import annotations

from typing import Any

import click

from chatsquash.cli import exits
from chatsquash.cli.click_options import argument, option, rendering
from chatsquash.cli.command import Command, refuse_without_template


@click.command(cls=Command, epilog="Example: chatsquash stats out")
@argument("datasets", nargs=-1, required=True)
@option(
    "--tokenizer",
    metavar="MODEL",
    help="Also count tokens, with a tokenizer.json: the file, a model's folder, or the name of a model in the local "
    "Hugging Face cache.",
)
@option("--template", metavar="MODEL", help="Count the tokens of records as this chat template renders them.")
@rendering
@option("--json", "as_json", is_flag=True, help="Print the statistics as JSON.")
def stats(
    datasets: tuple[str, ...], *, tokenizer: str | None, template: str | None, as_json: bool, **render: Any
) -> int:
    """Count messages, lengths, tools and duplicates in datasets: JSONL or Parquet files, or folders of them.

    Exits with 3 if a line is not a record.
    """
    from chatsquash.core.text import printable_json
    from chatsquash.results import stats as counting
    from chatsquash.results import stats_table as report

    refuse_without_template(template, render)
    statistics = counting.stats(datasets, counting.token_counter(tokenizer, template, **render))
    if as_json:
        click.echo(printable_json(report.as_json(statistics), indent=True))
    else:
        click.echo(str(statistics))
    return exits.INCOMPLETE if statistics.unreadable else 0
