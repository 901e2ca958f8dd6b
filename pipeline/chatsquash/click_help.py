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
    "from_format": ("--from FORMAT", "The format of all logs; else each log tells it."),
    "since": ("--since DATE", "Only sessions from this day on."),
    "sessions_by": ("--sessions-by RULE", "What is a session: file, id or chain."),
    "conversations": ("--conversations WHICH", "Of a session: last, main or all."),
    "join": ("--join", "Join a gateway's log with the agent's own file."),
    "count": ("-n, --shards N", "How many shards."),
    "cleanup": ("--cleanup AGENT", "Remove what this agent puts around a conversation."),
    "preset": ("--preset NAME", "chat, hf, mistral, openai, sharegpt or text."),
    "reasoning": ("--reasoning HOW", "keep, inline or drop."),
    "loss": ("--loss MEMBER", "Say what is trained on: weight, training or loss."),
    "max_tokens": ("--max-tokens N", "Only records with at most so many tokens."),
    "format": ("--format KIND", "A dataset folder: jsonl, jsonl.gz, jsonl.zst, parquet."),
    "split": ("--split SHARES", "Divide it, as in train=0.98,validation=0.02."),
    "drop": ("--drop CODE", "No sessions with this finding; errors means any."),
    "redact": ("--redact KINDS", "Put placeholders for secrets, phones, paths, ..."),
    "output": ("-o, --output DIR", "Folder for records and reports; out if none is named."),
    "workers": ("--workers N", "Processes; as many as there are cores."),
    "replace": ("--replace", "Replace the result of other logs."),
    "fail_on": ("--fail-on CODE,...", "Findings with which to exit with 3."),
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
