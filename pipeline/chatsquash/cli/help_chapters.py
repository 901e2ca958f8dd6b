"""The help of commands with many options, in chapters: the most used options, or all."""

from __future__ import annotations

from collections.abc import Iterable

import click

from chatsquash.cli.click_options import SHOWS_ALL

_CHAPTERS = {
    "Shortcuts": (),
    "Input": ("reading", "paths", "days", "links"),
    "Sessions and conversations": ("sessions", "cleaning"),
    "Records": ("shape", "supplied"),
    "Training": ("sampling",),
    "Filters and duplicates": ("filters", "alike"),
    "Privacy": ("addresses", "privacy"),
    "Output": ("grouping", "dataset", "reports"),
    "Checks": ("checks",),
    "Limits": ("bounds",),
    "Run": ("run", "engine"),
}
"""The groups of declared options in each chapter, by task."""
_BY_NAME = {
    **dict.fromkeys(("complete", "success", "final_answers", "trainer"), "Shortcuts"),
    **dict.fromkeys(("logs", "agents", "count"), "Input"),
    **dict.fromkeys(("sessions_by", "limit"), "Sessions and conversations"),
    **dict.fromkeys(("reasoning", "json_tool_calls"), "Records"),
    **dict.fromkeys(
        ("loss", "restored_loss", "loss_model", "loss_skip", "loss_skip_failed", "loss_skip_side", "loss_labels"),
        "Training",
    ),
    **dict.fromkeys(("max_tokens", "too_long", "min_turns", "max_turns", "max_chars"), "Filters and duplicates"),
    **dict.fromkeys(("output", "single_file", "report", "force", "replace"), "Output"),
    **dict.fromkeys(("fail_on", "strict"), "Checks"),
}
"""The chapters of options that have no group, or that are listed in a different chapter from their group."""
MOST_USED = {
    "complete": ("--complete", "Keep every reply, in the context in which it was sampled."),
    "success": ("--success", "Only write conversations that are known to have ended well."),
    "final_answers": ("--final-answers", "Write one sample per conversation: its last reply."),
    "agents": ("--agent NAME", "Convert the sessions of this agent on this machine."),
    "since": ("--since DATE", "Only convert sessions from this day on."),
    "sessions_by": ("--sessions-by RULE", "Group lines into sessions by file, id or chain."),
    "conversations": ("--conversations WHICH", "Write the last, the main or all conversations."),
    "join": ("--join", "Combine a gateway's log with the agent's file."),
    "count": ("-n, --shards N", "Number of shards."),
    "preset": ("--preset NAME", "Record shape: chat, hf, mistral, openai, sharegpt, text."),
    "reasoning": ("--reasoning HOW", "Keep, inline or drop reasoning."),
    "max_tokens": ("--max-tokens N", "Only write records with at most N tokens."),
    "trainer": ("--for TRAINER[=MODEL]", "Write the dataset for a trainer, and its configuration."),
    "format": ("--format TYPE", "Write a dataset folder: jsonl[.gz|.zst] or parquet."),
    "split": ("--split SHARES", "Write splits, such as train=0.98,validation=0.02."),
    "drop": ("--drop CODE", "Skip sessions with this finding (errors: any error)."),
    "duplicates": ("--duplicates HOW", "Skip exact or near duplicates; also ids, prefix, keep."),
    "redact": ("--redact KINDS", "Replace secrets, phones, ips, paths or names:FILE."),
    "output": ("-o, --output DIR", "Write records and reports here. [default: out]"),
    "replace": ("--replace", "Replace the output of other logs."),
    "fail_on": ("--fail-on CODE,...", "Exit with 3 if one of these findings is reported."),
    "help_all": ("--help-all", "Show all options and exit."),
}
"""The most used options, one line each."""


def write_chapters(context: click.Context, options: Iterable[click.Parameter], formatter: click.HelpFormatter) -> None:
    """Write options grouped by chapter: the most used ones, or all if requested."""
    rows: dict[str, list[tuple[str, str]]] = {name: [] for name in _CHAPTERS}
    shows_all = context.meta.get(SHOWS_ALL)
    for each in options:
        name = str(each.name)
        description = each.get_help_record(context) if shows_all else MOST_USED.get(name)
        if description:
            rows[_BY_NAME.get(name) or _chapter_of(getattr(each, "group", None))].append(description)
    for name, entries in rows.items():
        if entries:
            with formatter.section(name):
                formatter.write_dl(entries)


def _chapter_of(group: str | None) -> str:
    """Return the chapter that lists the options of a group."""
    return next((name for name, groups in _CHAPTERS.items() if group in groups), "Run")
