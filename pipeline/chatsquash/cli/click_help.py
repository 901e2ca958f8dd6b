"""What ``--help`` shows of commands with many options: those that are used most; ``--help-all`` shows all."""

from __future__ import annotations

from collections.abc import Iterable

import click

MANY = 25
"""Options above which a command shows the most used ones first."""
_CHAPTERS = {
    "Input": ("reading", "paths", "days", "links"),
    "Sessions": ("sessions", "cleaning"),
    "Record": ("shape", "supplied", "sampling"),
    "Dataset": ("dataset", "alike", "filters", "grouping"),
    "Privacy": ("addresses", "privacy"),
    "Run": ("run", "checks", "reports", "bounds", "engine"),
}
"""The groups of declared options in each chapter."""
_BY_NAME = {"agents": "Input", "single_file": "Dataset", "count": "Run"}
"""The chapters of options that belong to one command."""
_USED = {
    "agents": ("--agent NAME", "Convert what this agent keeps on this machine."),
    "from_format": ("--from FORMAT", "Read all logs as this format."),
    "since": ("--since DATE", "Only convert sessions from this day on."),
    "sessions_by": ("--sessions-by RULE", "Take a file, an id or a chain as a session."),
    "conversations": ("--conversations WHICH", "Which of a session to write: last, main or all."),
    "join": ("--join", "Make one session of a gateway's log and the agent's file."),
    "count": ("-n, --shards N", "How many shards to make."),
    "cleanup": ("--cleanup AGENT", "Remove the texts that this agent adds, as in claude-code."),
    "preset": ("--preset NAME", "Shape of records: chat, hf, mistral, openai, sharegpt, text."),
    "reasoning": ("--reasoning HOW", "Keep, inline or drop reasoning."),
    "loss": ("--loss MEMBER", "Flag what to train on, with weight, training or loss."),
    "max_tokens": ("--max-tokens N", "Only write records with at most so many tokens."),
    "format": ("--format KIND", "Write a dataset folder of jsonl[.gz|.zst] or parquet."),
    "split": ("--split SHARES", "Divide it into splits, as in train=0.98,validation=0.02."),
    "drop": ("--drop CODE", "Leave out sessions with this finding (errors: any error)."),
    "redact": ("--redact KINDS", "Replace secrets, phones, ips, paths or names:FILE."),
    "output": ("-o, --output DIR", "Write records and reports to this folder. [default: out]"),
    "workers": ("--workers N", "Use so many processes. [default: one a core]"),
    "replace": ("--replace", "Replace the result of other logs."),
    "fail_on": ("--fail-on CODE,...", "Exit with 3 if one of these findings is made."),
    "help_all": ("--help-all", "Show all options and exit."),
}
"""Those that are used most, each in a line."""
ALL = "chatsquash.help_all"
"""Set in a context where all options are shown."""


def help_all() -> click.Option:
    """The option that shows all options."""

    def show(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
        if is_asked and not context.resilient_parsing:
            context.meta[ALL] = True
            click.echo(context.get_help())
            context.exit()

    told = "Show all options and exit."
    return click.Option(["--help-all"], is_flag=True, expose_value=False, is_eager=True, callback=show, help=told)


def chapter(group: str) -> str:
    """The chapter of the options of a group."""
    return next(name for name, groups in _CHAPTERS.items() if group in groups)


def write(context: click.Context, options: Iterable[click.Parameter], formatter: click.HelpFormatter) -> None:
    """Write options by chapters."""
    rows: dict[str, list[tuple[str, str]]] = {name: [] for name in _CHAPTERS}
    shows_all = context.meta.get(ALL)
    for each in options:
        name = str(each.name)
        told = each.get_help_record(context) if shows_all else _USED.get(name)
        if told:
            rows[getattr(each, "chapter", None) or _BY_NAME.get(name, "Run")].append(told)
    for name, shown in rows.items():
        if shown:
            with formatter.section(name):
                formatter.write_dl(shown)
