"""``chatsquash merge``: join shards, or several finished results, into one dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from chatsquash.cli import exits
from chatsquash.cli.click_options import argument, option, options
from chatsquash.cli.command import Command, is_typed, refuse_idle
from chatsquash.cli.conversion import make_watch, output_option, print_summary, run_output

if TYPE_CHECKING:
    from chatsquash.conversion.progress import Observer
    from chatsquash.dataset.summary import Summary


@click.command(cls=Command, epilog="Example: chatsquash merge monday tuesday --output week")
@argument("folders", nargs=-1, required=True, metavar="RESULT...")
@output_option
@options("duplicates", "replace", "force")
@option(
    "--anonymize-key-file",
    "key_file",
    metavar="FILE",
    help="File with the key of the shards, if paths were replaced.",
)
@run_output
def merge(folders: tuple[str, ...], **values: Any) -> int:
    """Join finished results into a new one, or the shards of one output folder.

    Several RESULT folders, written with the same options, are joined into one dataset in --output. With one folder, the
    shards that convert --shard wrote there become its dataset, identical to that of a run on one machine. Exit codes
    are those of convert.
    """
    from chatsquash.core.platform import collect_less

    collect_less()
    exits.refuse_unknown(values["fail_on"])
    run = _merge_results if len(folders) > 1 or is_typed("output") else _merge_shards
    with make_watch(values) as watch:
        summary = run(folders, values, watch.observer)
    return print_summary(summary, values)


def _merge_results(folders: tuple[str, ...], values: dict[str, Any], observer: Observer | None) -> Summary:
    from chatsquash.conversion.merge_results import merge_results
    from chatsquash.core.options import Options
    from chatsquash.dataset.store import place_of

    refuse_idle(["key_file"], "on finished results")
    settings = Options(**{name: values[name] for name in ("duplicates", "replace", "force")})
    return merge_results(folders, place_of(values["output"]), settings, observer)


def _merge_shards(folders: tuple[str, ...], values: dict[str, Any], observer: Observer | None) -> Summary:
    from chatsquash.conversion.shards.merge import merge as run
    from chatsquash.dataset.store import place_of
    from chatsquash.redaction.pseudonyms import load_key

    refuse_idle(["duplicates", "replace", "force"], "on shards, whose options were set by chatsquash shards")
    key = load_key(values["key_file"]) if values["key_file"] else None
    return run(place_of(folders[0]), observer, key=key, is_named=is_typed("key_file"))
