"""Conversions of played logs, by the command, as a user makes them."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from chatsquash.cli.main import cli
from chatsquash.core.options import list_options
from tests.simulator.judge import Output, judge, read
from tests.simulator.play import Played, play
from tests.simulator.score import NOTHING, Score

ARGUMENTS = (
    *("--sessions-by", "chain", "--conversations", "all", "--restore", "all", "--loss", "weight", "--trace-replies"),
    *("--preset", "hf", "--format", "jsonl", "--metadata", "--no-drop-duplicates"),
    *("--no-anonymize", "--no-integrity-analysis", "--no-tool-report", "--workers", "1", "--quiet"),
)
"""What the goals are for.  Nothing that is played ends with a call, since ``hf`` holds none without a result."""


def possible() -> bool:
    """Whether this version has the options that the goals are for."""
    known = {each.name: each for each in list_options()}
    return {"conversations", "restore", "loss"} <= known.keys() and "chain" in known["sessions_by"].choices


def write(played: Played, folder: Path) -> None:
    """Put a played log where it can be looked at."""
    for name, data in played.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def convert(played: Played, folder: Path, *more: str) -> Output:
    """What the command makes of a played log, in a new folder."""
    logs, out = folder / "logs", folder / "out"
    write(played, logs)
    said = io.StringIO()
    arguments = ["convert", str(logs), "--output", str(out), *ARGUMENTS, *more]
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code = cli.main(arguments, prog_name="chatsquash", standalone_mode=False)
        except click.ClickException as problem:  # which cannot be sent from one process to another
            raise RuntimeError(problem.format_message()) from None
    if code not in (0, None, 3):
        raise RuntimeError(f"seed {played.seed}: exit code {code}\n{said.getvalue()}")
    return read(out, str(logs))


def scores(
    seeds: Iterable[int], *, hard: bool = False, only: tuple[str, ...] = (), restored_loss: bool = False
) -> Score:
    """The score of many seeds together."""
    return scored((play(seed, hard, only) for seed in seeds), restored_loss=restored_loss)


def scored(plays: Iterable[Played], *, restored_loss: bool = False) -> Score:
    """Return the score of played logs together."""
    total = NOTHING
    more = ("--restored-loss", "1") if restored_loss else ()
    for played in plays:
        with TemporaryDirectory() as folder:
            found = judge(played, convert(played, Path(folder), *more), restored_loss=restored_loss)
        total = total.plus(found)
    return total
