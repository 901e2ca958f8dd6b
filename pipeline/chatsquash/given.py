"""What was typed, as the options of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from chatsquash.click_options import is_typed, without_idle

if TYPE_CHECKING:
    from chatsquash.options import GroupBy, Options


def options_of(given: dict[str, Any]) -> Options:
    """The options of ``convert``; the key, and what files hold, are their names until it is known what is needed."""
    from dataclasses import replace

    from chatsquash.options import Options, declared
    from chatsquash.platform import cores
    from chatsquash.redact.keys import load_key

    for each in declared():
        if each.secret or each.content:
            given[each.name] = given[each.name] or None  # no name is none
    asked = without_idle(Options(**{each.name: given[each.name] for each in declared()}))
    group_by = _group_by(asked.group_by) if given["single_file"] else asked.group_by
    key = load_key(given["anonymize_key"]) if asked.anonymize else None
    return replace(asked, group_by=group_by, anonymize_key=key, workers=asked.workers or cores(), **_contents(asked))


def _contents(asked: Options) -> dict[str, Any]:
    """What the files hold that options name."""
    if not asked.tools_file and not asked.system_file:
        return {}
    from chatsquash.stages import supplied

    readers = {"tools_file": supplied.tools, "system_file": supplied.system}
    named = {name: getattr(asked, name) for name in readers if getattr(asked, name)}
    return {name: supplied.read(path, readers[name]) for name, path in named.items()}


def _group_by(group_by: GroupBy) -> GroupBy:
    """The grouping beside ``--single-file``; what stands on the command line wins over a variable."""
    if group_by == "none" or not is_typed("group_by"):
        return "none"
    if is_typed("single_file"):
        raise click.UsageError(f"--single-file and --group-by {group_by} exclude each other.")
    return group_by
