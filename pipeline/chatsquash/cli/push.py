"""``chatsquash push``: upload a dataset folder to the Hugging Face Hub."""

from __future__ import annotations

import sys

import click

from chatsquash.cli.click_options import argument, option
from chatsquash.cli.command import Command
from chatsquash.cli.exits import tolerate_closed_pipe


@click.command(cls=Command, epilog="Example: chatsquash push out hf://datasets/me/agents --dry-run")
@argument("output", metavar="OUT")
@argument("dataset", metavar="hf://datasets/OWNER/NAME[@BRANCH]")
@option("--public", is_flag=True, help="Create a public dataset instead of a private one.")
@option("--dry-run", is_flag=True, help="Only list what would be uploaded.")
@option("--yes", "-y", is_flag=True, help="Upload without asking.")
def push(output: str, dataset: str, *, public: bool, dry_run: bool, yes: bool) -> int:
    """Upload a dataset folder to the Hugging Face Hub: its card, data and images, and nothing else from OUT.

    Lists the files and asks first. Uploads only what the Hub does not have yet, in one commit. A new dataset is
    private.
    """
    from chatsquash.conversion.progress import Bar
    from chatsquash.core.text import escape
    from chatsquash.hub.push import PushRequest
    from chatsquash.hub.push import push as run

    if dry_run and yes:
        raise click.UsageError("--yes has no effect with --dry-run, which uploads nothing; use only one of them")
    if not (dry_run or yes or (sys.stdin and sys.stdin.isatty())):
        raise click.UsageError("push requires confirmation, but there is no terminal; add --yes or --dry-run")

    def say(lines: list[str]) -> None:
        click.echo("\n".join(map(escape, lines)))

    def agree() -> bool:
        return yes or click.confirm("Upload these files?", err=True)

    with Bar(quiet=False) as bar:
        done = run(output, dataset, PushRequest(public, dry_run, say, agree, bar.observe))
    with tolerate_closed_pipe():
        click.echo(done.message, err=True)
    return 0 if done.is_confirmed else 1
