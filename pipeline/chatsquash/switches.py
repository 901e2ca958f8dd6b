"""How options of the command are declared: with a variable each, and those that belong together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from chatsquash.records.presets import names

if TYPE_CHECKING:
    from collections.abc import Callable


class _Option(click.Option):
    """An option that a ``CHATSQUASH_`` variable of its name sets, too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        name = max(self.opts, key=len).lstrip("-")
        self.envvar = f"CHATSQUASH_{name.replace('-', '_').upper()}"


def option(*names: str, **settings: Any) -> Callable[..., Any]:
    """A click option with its variable."""
    return click.option(*names, cls=_Option, **settings)


class _Phrase(click.ParamType[str]):
    """A text, of which a variable holds one a line."""

    name = "text"
    envvar_list_splitter = "\n"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text without the line feed that ends its line."""
        del param, ctx
        return str(value).rstrip("\r\n")


flag_phrase = option(
    "--flag-phrase",
    type=_Phrase(),
    multiple=True,
    default=["context limit was reached"],
    show_default=True,
    metavar="TEXT",
    help="Report messages that hold this text, in any case; '' reports none.",
)


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}


class _Size(click.ParamType[int]):
    """A number of bytes, as in 64MB, or in powers of 1024 as in 64MiB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes; fails for what is no such number."""
        found = re.fullmatch(r"([0-9]{1,15})\s*((?:[kmg]i?)?)b?", str(value), re.IGNORECASE)
        if not found:
            self.fail(f"{value!r} is no size; write one as 256MB, 64kB or 1000000.", param, ctx)
        number, unit = found.groups()
        return int(number) * _UNITS[unit.lower()]


_SIZE = _Size()


def _bound(name: str, kind: click.ParamType, default: Any, text: str) -> Callable[..., Any]:  # type: ignore[type-arg]
    metavar = "SIZE" if kind is _SIZE else "SECONDS" if name.endswith("-time") else "N"
    return option(name, type=kind, default=default, show_default=True, metavar=metavar, help=text)


_BOUNDS = (
    _bound("--max-line", _SIZE, "256MiB", "Bytes of a line; a longer one is left out."),
    _bound("--max-nesting", click.IntRange(1, 800), 500, "Levels of a message; a line with more is left out."),
    _bound("--max-messages", click.IntRange(min=1), 100_000, "Messages of a request; a line with more is left out."),
    _bound("--max-rejected", click.IntRange(min=1), 10_000, "Lines that cannot be read; after more, a log ends there."),
    _bound("--max-expansion", click.IntRange(min=1), 200, "Times its size that a compressed log may expand to."),
    _bound("--max-expanded", _SIZE, "16GiB", "Bytes that a compressed log may expand to."),
    _bound("--max-memory", _SIZE, "2GB", "Memory that a line, a file or a database may take once it is read."),
    _bound("--max-database-time", click.IntRange(min=1), 60, "Time that reading a database may take."),
)
_RENDERING = (
    _bound("--render-time", click.IntRange(min=1), 10, "Time that rendering a record may take."),
    _bound("--render-memory", _SIZE, "1GB", "Memory that rendering a record may take."),
)


_SHAPES = (
    option(
        "--preset",
        type=click.Choice(names()),
        default="chat",
        show_default=True,
        help="The shape of the records: as specified, or as a family of trainers wants it.",
    ),
    option("--system", type=click.Choice(["keep", "drop"]), default="keep", show_default=True, help="System messages."),
    option("--merge-consecutive", is_flag=True, help="Join messages of one role that follow each other."),
    option("--split-parallel", is_flag=True, help="Give each of several calls in a message a message of its own."),
    option("--split-text-and-calls", is_flag=True, help="Give text beside calls a message of its own."),
    option(
        "--tool-ids",
        type=click.Choice(["keep", "short9"]),
        default="keep",
        show_default=True,
        help="Ids of calls: as logged, or nine letters and digits.",
    ),
    option(
        "--media",
        type=click.Choice(["refuse", "drop", "keep"]),
        default="refuse",
        show_default=True,
        help="Images, sounds and files: no record, one without them, or images beside it (--preset hf).",
    ),
    option(
        "--unpaired",
        type=click.Choice(["refuse", "cut", "close"]),
        default="refuse",
        show_default=True,
        help="A call without a result: no record, one that ends before it, or a result.",
    ),
    option("--unpaired-text", metavar="TEXT", help="What such a result says.  [default: [no result]]"),
)
_FOLDERS = (
    option(
        "--format",
        type=click.Choice(["jsonl", "jsonl.gz", "jsonl.zst", "parquet"]),
        help="Write a dataset folder with files of this kind.  [default: jsonl where other options ask for a folder]",
    ),
    option("--shard-size", type=_SIZE, metavar="SIZE", help="Text in one file of a dataset folder.  [default: 256MB]"),
    option("--split", metavar="SHARES", help="Divide the dataset, as in train=0.98,validation=0.02."),
    option(
        "--split-by",
        type=click.Choice(["prompt", "session", "scenario", "day"]),
        default="prompt",
        show_default=True,
        help="What is not divided: what begins with one prompt, a session, a scenario, or a day.",
    ),
    option(
        "--seed",
        type=int,
        default=0,
        show_default=True,
        metavar="N",
        help="The seed of the split; another one divides otherwise.",
    ),
    option(
        "--metadata", is_flag=True, help="Add columns on session, source, model, time and tokens to a dataset folder."
    ),
    option("--min-turns", type=click.IntRange(min=0), metavar="N", help="Only sessions with so many assistant turns."),
    option(
        "--max-turns",
        type=click.IntRange(min=0),
        metavar="N",
        help="Only sessions with at most so many assistant turns.",
    ),
    option(
        "--max-chars", type=click.IntRange(min=1), metavar="N", help="Only records with at most so many characters."
    ),
    option("--drop", multiple=True, metavar="CODE", help="No sessions with this finding; errors means any error."),
    option(
        "--only-model", multiple=True, metavar="GLOB", help="Only sessions whose last reply is of a model that fits."
    ),
    option(
        "--drop-duplicates/--no-drop-duplicates",
        default=None,
        help="Write equal records once.  [default: in a dataset folder]",
    ),
)


def bounds(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that bound what is read."""
    return _with(command, _BOUNDS)


def rendering(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that bound what a chat template may take."""
    return _with(command, _RENDERING)


def shapes(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say what records look like."""
    return _with(command, _SHAPES)


def folders(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options for dataset folders, and on which records are wanted."""
    return _with(command, _FOLDERS)


def _with(command: Callable[..., Any], options: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
    for each in reversed(options):
        command = each(command)
    return command
