"""``chatsquash recipe``: certify that a trainer trains on the replies of a dataset, and on nothing else."""

from __future__ import annotations

import os
from errno import EACCES, EISDIR, ENOENT
from pathlib import Path
from typing import Any

import click

from chatsquash.cli import exits
from chatsquash.cli.click_options import argument, option, rendering
from chatsquash.cli.command import Command
from chatsquash.core.errors import UsageError


@click.command(
    cls=Command, epilog="Example: chatsquash recipe out --model org/model --trainer trl -- --max_length 16384"
)
@argument("output", metavar="OUT")
@argument("words", nargs=-1, metavar="[-- ARGUMENTS]...")
@option("--model", metavar="MODEL", help="Folder of the model, or its name in the Hugging Face cache.")
@option("--trainer", metavar="TRAINER", help="Trainer to run.  [default: that of --for]")
@option("--python", metavar="FILE", help="Python of the trainer's environment.  [default: python on PATH]")
@option("--config", metavar="FOLDER", help="Folder of the trainer's configuration.  [default: OUT/trainer]")
@option("--limit", type=click.IntRange(min=1), metavar="N", help="Only run on the first N records.")
@option("--output", "-o", "certificate", metavar="FILE", help="Write the certificate to this file as JSON.")
@rendering
@option("--json", "as_json", is_flag=True, help="Print the certificate as JSON.")
def recipe(
    output: str, *, certificate: str | None, as_json: bool, render_time: int, render_memory: int, **values: Any
) -> int:
    """Certify a training run: the trainer has loss on the replies of OUT, token by token, and on nothing else.

    Runs the installed trainer on a CPU, without network, up to its first step, and compares its batches with the
    replies as the chat template of MODEL renders them. Exits with 3 and shows the first difference if there is one.
    ARGUMENTS are added to the command of the trainer.
    """
    from chatsquash.cli.printing import print_overview
    from chatsquash.core.text import printable_json
    from chatsquash.recipe.certify import Recipe, certify
    from chatsquash.recipe.labels import LabelError
    from chatsquash.templates.confined import RenderBounds

    paths = {name: Path(values[name]) if values[name] else None for name in ("python", "config")}
    bounds = RenderBounds(render_time, render_memory)
    if certificate:
        _refuse_unwritable(Path(certificate))
    try:
        done = certify(Recipe(Path(output), **{**values, **paths}, bounds=bounds))
    except LabelError as problem:
        click.echo(f"Not certified: {problem}", err=True)
        return exits.INCOMPLETE
    text = printable_json(done.as_json(), indent=True)
    if certificate:
        try:
            Path(certificate).write_bytes(text + b"\n")
        except OSError as problem:
            raise UsageError(f"{certificate}: cannot be written ({problem.strerror})") from None
    if as_json:
        click.echo(text)
    else:
        print_overview(done.overview())
    return 0


def _refuse_unwritable(file: Path) -> None:
    """Raise ``UsageError`` for a file that cannot be written; checked before the run, which may take long."""
    if file.is_dir():
        problem = EISDIR
    elif not file.parent.is_dir():
        problem = ENOENT
    elif not os.access(file if file.exists() else file.parent, os.W_OK):
        problem = EACCES
    else:
        return
    raise UsageError(f"{file}: cannot be written ({os.strerror(problem)})")
